"""Looks for what is damaged in a Delta table's folder, once a reader has failed: which file it is, and what is wrong with it.

Readers say what failed and seldom where. This module reads the log, then the data files that the log names, and stops at the first
damaged one. It relies only on Delta's file names, and decides nothing about remedies.
"""

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from stat import S_ISREG
from typing import Final, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from offsets_tool.log.batches.limits import LIMITS, Limits
from offsets_tool.log.storage import is_stored
from offsets_tool.log.stored_bytes import for_arrow

DELTA_LOG: Final = "_delta_log"
FILE_ACTIONS: Final = ("add", "remove")
"""What of a commit names a data file."""
UNREADABLE: Final = (pa.ArrowException, OSError, UnicodeDecodeError)
"""What Arrow raises of damaged files; UnicodeDecodeError where a name or text becomes Python's."""
_DIGITS: Final = 20
"""How many digits a version has in a file's name."""
_COMMIT: Final = re.compile(r"\d{20}\.json")
_CHECKPOINT: Final = re.compile(r"\d{20}\.checkpoint\..*parquet")
_PART: Final = re.compile(r"\d{20}\.checkpoint\.\d{10}\.(\d{10})\.parquet")
_NO_FILE: Final = "is not a file"
"""Of a pipe or a device in a file's place, which readers would wait for without an end."""
_MOST_BYTES: Final = 1 << 63
"""More than any file has."""
_MOST_ROWS: Final = 8192
_FEWEST_ROWS: Final = 32
"""With fewer rows at once, reading takes noticeably longer."""
_HELD_BYTES: Final = 1 << 30
LAST_CHECKPOINT: Final = "_last_checkpoint"
"""The name of the file that names the newest checkpoint."""


class Damage(NamedTuple):
    """A file or folder, and what is wrong with it."""

    path: Path
    reason: str


def _bytes_of(path: Path) -> bytes:
    return path.read_bytes()


def damage_of_log(table: Path, read: Callable[[Path], bytes] = _bytes_of) -> Damage | None:
    """Return the first damage in a table's log; None where all of it can be read. `read` returns the bytes of a commit."""
    return next(_of_log(table / DELTA_LOG, read), None)


def damage_of_data(table: Path, files: Iterable[tuple[str, int]]) -> Damage | None:
    """Return the first of the table's files (paths in its folder, sizes by its log) that is missing, not whole or has no footer."""
    files = list(files)
    if found := damage_of_sizes(table, files):
        return found
    for name, _ in files:
        if reason := why_no_parquet(table / name, is_whole=False):
            return Damage(table / name, reason)
    return None


def damage_of_sizes(table: Path, files: Iterable[tuple[str, int]]) -> Damage | None:
    """Return the first of the table's files that is missing or not as long as its log says. Opens no file."""
    for name, size in files:
        if reason := _why_not_whole(table / name, size):
            return Damage(table / name, reason)
    return None


def is_file(path: Path) -> bool:
    """Return whether a path is that of a file, on disk or in storage; False for a name that no file can have."""
    try:
        return path.is_file()
    except OSError:
        return False


def is_commit(name: str) -> bool:
    """Return whether a file of a log is a commit, by its name."""
    return _COMMIT.fullmatch(name) is not None


def is_of_log(name: str) -> bool:
    """Return whether a file of a log is a commit or a checkpoint, by its name: other files there are not Delta's, or not needed."""
    return is_commit(name) or _CHECKPOINT.fullmatch(name) is not None


def since_checkpoint(sizes: Mapping[str, int], before: int, known: str | None) -> list[str]:
    """Return the files of a log that who opens the table reads: of its newest whole checkpoint, and the commits from there on.

    And so many commits `before` it, or all behind the one that is `known`. Without a checkpoint, all. `sizes` has commits and
    checkpoints alone.
    """
    newest = _newest_checkpoint(sizes, sizes.__getitem__)
    version = int(newest) if newest else -1
    since = min(version - before, version if known is None else int(known[:_DIGITS]))
    return [
        name
        for name in sizes
        if (int(name[:_DIGITS]) >= since if is_commit(name) else name[:_DIGITS] == newest)
    ]


def lost_commit(table: Path, version: int | None = None, *, is_opened: bool = True) -> Damage | None:
    """Return a commit that is empty, as a power cut leaves one, or missing before others: what readers do not always see, and
    then take the table for one that never had its rows. None if there is none.

    It looks at names and sizes alone, of the newest checkpoint (up to `version`, where an older version is opened) and of the
    commits from there on: nobody reads the others to open the table. A pipe in a file's place would have readers wait for ever,
    and of a checkpoint the footer says what it inflates to: it is read for a table that is then opened.
    """
    if is_stored(table):
        # What is put there is complete or not there.
        return None
    log = table / DELTA_LOG
    try:
        with os.scandir(log) as entries:
            found = {entry.name: entry for entry in entries}
        newest = _newest_checkpoint(found, lambda name: _size(found[name]), version)
        # A comparison of texts first: a log may have thousands of names. A power cut may take the commit with its checkpoint.
        commits = [name for name in found if name >= newest + ".json" and is_commit(name)]
        sizes = {name: _size(found[name]) for name in sorted(commits)}
        pipes = [name for name, entry in found.items() if not (entry.is_file() or entry.is_dir())]
    except OSError:
        # Whoever opens the table meets the same, and says it.
        return None
    if pipes:
        return Damage(log / min(pipes), _NO_FILE)
    newest_checkpoint = (name for name in found if newest and is_opened and name.startswith(newest))
    for name in filter(_CHECKPOINT.fullmatch, newest_checkpoint):
        if reason := _why_no_checkpoint(log / name):
            return Damage(log / name, reason)
    for name, size in sizes.items():
        if size <= 0:
            return Damage(log / name, "is empty" if size == 0 else _NO_FILE)
    return next(_gaps(log, _versions(commits), {int(newest)} if newest else set()), None)


def _newest_checkpoint(names: Iterable[str], size: Callable[[str], int], version: int | None = None) -> str:
    """Return the digits of the newest checkpoint (up to `version`) that is whole; an empty text if there is none."""
    parts: dict[str, list[str]] = {}
    for name in names:
        if _CHECKPOINT.fullmatch(name) and (version is None or int(name[:_DIGITS]) <= version):
            parts.setdefault(name[:_DIGITS], []).append(name)
    return next((each for each in sorted(parts, reverse=True) if _is_whole(parts[each], size)), "")


def _is_whole(parts: Sequence[str], size: Callable[[str], int]) -> bool:
    """Return whether no part of a checkpoint is empty, or missing where their names say how many there are."""
    numbered = [found for found in map(_PART.fullmatch, parts) if found]
    is_complete = len(numbered) < len(parts) or len(numbered) == int(numbered[0][1])
    return is_complete and all(size(name) > 0 for name in parts)


def _size(entry: "os.DirEntry[str]") -> int:
    """Return the bytes of a file; -1 of what is none."""
    return entry.stat().st_size if entry.is_file() else -1


def _versions(names: Iterable[str]) -> set[int]:
    return {int(name[:_DIGITS]) for name in names}


def _of_log(log: Path, read: Callable[[Path], bytes]) -> Iterator[Damage]:
    try:
        names = sorted(path.name for path in log.iterdir())
    except OSError as error:
        yield Damage(log, f"cannot be opened ({error.strerror})")
        return
    commits = [name for name in names if is_commit(name)]
    checkpoints = [name for name in names if _CHECKPOINT.fullmatch(name)]
    if not commits and not checkpoints:
        yield Damage(log, "holds no commit")
        return
    for name in [*commits, *(name for name in names if name == LAST_CHECKPOINT)]:
        yield from _of_lines(log / name, read) if is_file(log / name) else [Damage(log / name, _NO_FILE)]
    for name in checkpoints:
        if reason := why_no_parquet(log / name):
            yield Damage(log / name, reason)
    yield from _gaps(log, _versions(commits), _versions(checkpoints))


def _gaps(log: Path, commits: set[int], checkpoints: set[int]) -> Iterator[Damage]:
    """Yield the commits that are missing behind the newest checkpoint and before the newest commit."""
    for version in range(max(checkpoints, default=-1) + 1, max(commits, default=-1)):
        if version not in commits:
            yield Damage(log / f"{version:0{_DIGITS}}.json", "is missing, though later commits are there")


def _of_lines(path: Path, read: Callable[[Path], bytes]) -> Iterator[Damage]:
    """Yield a damage where a file is not what it must be: JSON objects, one a line, and at least one."""
    try:
        lines = [line for line in read(path).splitlines() if line.strip()]
    except OSError as error:
        yield Damage(path, f"cannot be read ({error.strerror})")
        return
    if not lines:
        yield Damage(path, "is empty")
    for number, line in enumerate(lines, 1):
        if reason := _why_no_action(line):
            yield Damage(path, f"{reason} (line {number})")


def _why_no_action(line: bytes) -> str | None:
    """Return why a line of a commit cannot be understood; None where it can, as all that we read of it is as Delta has it."""
    try:
        action = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return "is cut off or not JSON"
    if not isinstance(action, dict):
        return "is cut off or not JSON"
    for name in FILE_ACTIONS:
        if name in action and (reason := _why_no_file_action(action[name])):
            return f"has an action {name!r} that names no file: {reason}"
    info = action.get("commitInfo")
    is_told = info is None or (isinstance(info, dict) and isinstance(info.get("userMetadata"), str | None))
    return None if is_told else "has a commitInfo that is not one of Delta's"


def _why_no_file_action(file: object) -> str | None:
    if not isinstance(file, dict):
        return "it is no object"
    path, size = file.get("path"), file.get("size")
    if not isinstance(path, str) or not path or "\0" in unquote(path):
        return "it has no path" if path is None else "its path can be no file's"
    is_size = size is None or (type(size) is int and 0 <= size < _MOST_BYTES)
    return None if is_size else "its size can be no file's"


def _refuse_constant(text: str) -> object:
    raise ValueError(text)  # Python takes NaN and Infinity, which are not JSON


def _why_not_whole(path: Path, size: int) -> str | None:
    try:
        there = path.stat()
    except FileNotFoundError:
        return "is missing, though the table's log names it"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    except ValueError as error:
        return f"cannot be read ({error})"
    if not (is_stored(path) or S_ISREG(there.st_mode)):
        return _NO_FILE
    return None if there.st_size == size else f"has {there.st_size} bytes, where the table's log says {size}"


def why_no_parquet(path: Path, *, is_whole: bool = True) -> str | None:
    """Return why a Parquet file cannot be read, None if it can: all its rows, or (not `is_whole`) its footer alone."""
    if os.path.lexists(path) and not is_file(path):
        return _NO_FILE
    try:
        with pq.ParquetFile(for_arrow(path)) as file:
            if reason := why_inflated(file.metadata):
                return reason
            for _ in file.iter_batches() if is_whole else ():
                pass
    except UNREADABLE as error:
        return f"is not a Parquet file that can be read ({first_line(error)})"
    return None


def _why_no_checkpoint(checkpoint: Path) -> str | None:
    """Return why a checkpoint must not be given to who opens the table; None too for one without a footer, whose readers say so."""
    try:
        footer = pq.read_metadata(checkpoint)
    except UNREADABLE:
        return None
    # deltalake takes them for numbers of bytes, and panics.
    if any(number < 0 for chunk in _chunks(footer) for number in _places(chunk)):
        return "is not a Parquet file that can be read (its footer names a place before its begin)"
    reason = why_inflated(footer)
    return reason and f"{reason}, which no log needs; copy the table again from where it was written"


def _chunks(footer: pq.FileMetaData) -> Iterator[pq.ColumnChunkMetaData]:
    for group in map(footer.row_group, range(footer.num_row_groups)):
        yield from map(group.column, range(group.num_columns))


def _places(chunk: pq.ColumnChunkMetaData) -> tuple[int, ...]:
    return chunk.data_page_offset, chunk.dictionary_page_offset or 0, chunk.total_compressed_size


def why_inflated(
    footer: pq.FileMetaData,
    limits: Limits = LIMITS,
    columns: Collection[str] | None = None,
    groups: Iterable[int] | None = None,
) -> str | None:
    """Return why a Parquet file would inflate to more than `limits` let it, by its footer; None if it would not.

    Of all columns, or some that are read, and of all row groups, or some.
    """
    for number in range(footer.num_row_groups) if groups is None else groups:
        group = footer.row_group(number)
        for index in range(group.num_columns):
            column = group.column(index)
            name = column.path_in_schema.partition(".")[0]
            size, inflated = column.total_compressed_size, column.total_uncompressed_size
            if (columns is None or name in columns) and inflated > limits.column(size, group.num_rows):
                return (
                    f"column {name} of row group {number} claims to inflate from {size} to {inflated} bytes"
                )
    return None


def rows_at_once(group: pq.RowGroupMetaData, columns: Collection[str]) -> int:
    """Return how many rows of some columns of a row group may be held: each may have the longest value of a dictionary."""
    chunks = map(group.column, range(group.num_columns))
    sizes = [
        int(chunk.total_uncompressed_size)
        for chunk in chunks
        if chunk.path_in_schema.partition(".")[0] in columns
    ]
    return min(_MOST_ROWS, max(_FEWEST_ROWS, _HELD_BYTES // max((1, *sizes))))


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, without the stack or backtrace below it."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
