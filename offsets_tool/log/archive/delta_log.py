"""Looks for what is damaged in a Delta table's folder, once a reader has failed: which file it is, and what is wrong with it.

Readers say what they stumbled over, and seldom where. Reads the log, then the data files that it names, and stops at the first that
is not as it must be. Takes nothing for granted but Delta's file names; decides nothing about remedies.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

DELTA_LOG: Final = "_delta_log"
UNREADABLE: Final = (pa.ArrowException, OSError, UnicodeDecodeError)
"""What Arrow raises of damaged files; UnicodeDecodeError where a name or text becomes Python's."""
_COMMIT: Final = re.compile(r"(\d{20})\.json")
_CHECKPOINT: Final = re.compile(r"(\d{20})\.checkpoint\..*parquet")
_LAST_CHECKPOINT: Final = "_last_checkpoint"


class Damage(NamedTuple):
    """A file or folder, and what is wrong with it."""

    path: Path
    reason: str


def damage_of_log(table: Path) -> Damage | None:
    """The first thing wrong with a table's log; None where all of it reads."""
    return next(_of_log(table / DELTA_LOG), None)


def damage_of_data(table: Path, files: Iterable[tuple[str, int]]) -> Damage | None:
    """The first of the table's files (paths in its folder, and sizes by its log) that is not there, not whole or does not read."""
    files = list(files)
    for name, size in files:
        if reason := _why_not_whole(table / name, size):
            return Damage(table / name, reason)
    return next(_of_parquet(table / name for name, _ in files), None)


def _of_log(log: Path) -> Iterator[Damage]:
    try:
        names = sorted(path.name for path in log.iterdir())
    except OSError as error:
        yield Damage(log, f"cannot be opened ({error.strerror})")
        return
    commits = {int(found[1]) for name in names if (found := _COMMIT.fullmatch(name))}
    checkpoints = {int(found[1]) for name in names if (found := _CHECKPOINT.fullmatch(name))}
    if not commits and not checkpoints:
        yield Damage(log, "holds no commit")
        return
    for version in sorted(commits):
        yield from _of_lines(log / f"{version:020}.json")
    if _LAST_CHECKPOINT in names:
        yield from _of_lines(log / _LAST_CHECKPOINT)
    yield from _of_parquet(log / name for name in names if _CHECKPOINT.fullmatch(name))
    first = max(checkpoints, default=-1) + 1
    for version in range(first, max(commits, default=-1)):
        if version not in commits:
            yield Damage(log / f"{version:020}.json", "is missing, though later commits are there")


def _of_lines(path: Path) -> Iterator[Damage]:
    """JSON objects, one a line, and at least one."""
    try:
        lines = [line for line in path.read_bytes().splitlines() if line.strip()]
    except OSError as error:
        yield Damage(path, f"cannot be read ({error.strerror})")
        return
    if not lines:
        yield Damage(path, "is empty")
    for number, line in enumerate(lines, 1):
        if not _is_object(line):
            yield Damage(path, f"is cut off or not JSON (line {number})")


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _why_not_whole(path: Path, size: int) -> str | None:
    try:
        there = path.stat().st_size
    except FileNotFoundError:
        return "is missing, though the table's log names it"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return None if there == size else f"has {there} bytes, where the table's log says {size}"


def _of_parquet(paths: Iterable[Path]) -> Iterator[Damage]:
    """Those that do not read from their first row to their last."""
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                for _ in file.iter_batches():
                    pass
        except UNREADABLE as error:
            yield Damage(path, f"is not a Parquet file that can be read ({first_line(error)})")


def first_line(error: BaseException) -> str:
    """What an error says, without the stack or backtrace below it."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
