"""What a person sees: tables on a terminal, JSON lines or CSV in a pipe, notes and progress on stderr.

The only module that uses rich. A closed pipe (`| head`) ends the program quietly. Text goes out as UTF-8 whatever the locale.
"""

import csv
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from offsets_tool.errors import SetupError, UsageError

if TYPE_CHECKING:
    from rich.progress import Progress

Row = Mapping[str, Any]
WIDE = 1_000
"""Columns of a table that no terminal shows: no line is broken there."""

TABLE_ROWS = 10_000
"""A table is laid out in memory: longer results are shown in tables of this many rows."""


def default_format(path: str | None = None) -> str:
    """A table for a person, JSON lines for a program; `path` is that of --output."""
    return "table" if path is None and sys.stdout is not None and sys.stdout.isatty() else "jsonl"


@contextmanager
def output(path: str | None, evidence: Iterable[str] = ()) -> Iterator[BinaryIO]:
    """stdout, or the file of --output; a reader that has gone away ends the program without a word.

    UsageError where that file is one of the evidence: writing would destroy what is to be read.
    """
    if path:
        if any(_is_same_file(path, source) for source in evidence):
            raise UsageError(f"--output {path} is part of the evidence: name another file")
        with _writing(path), _opened(path) as file:
            yield file
        return
    if sys.stdout is None:
        raise SetupError("there is no stdout to write to: name a file with --output")
    with _writing("stdout"):
        yield sys.stdout.buffer
        sys.stdout.flush()


@contextmanager
def _writing(name: str) -> Iterator[None]:
    """What goes wrong with the output itself: a closed pipe is an end, a full disk one sentence."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SetupError(
            f"{name} cannot be written ({error.strerror}): make room, or name another file"
        ) from error


def _opened(path: str) -> BinaryIO:
    try:
        return Path(path).open("wb")
    except OSError as error:
        raise SetupError(
            f"{path} cannot be written ({error.strerror}): name another file with --output"
        ) from error


def _is_same_file(path: str, source: str) -> bool:
    try:
        return Path(path).samefile(source)
    except OSError:
        return False


def write_rows(
    out: BinaryIO, rows: Iterable[Row], format_: str, columns: tuple[str, ...], *, header: bool = True
) -> None:
    """Rows as `jsonl` (all fields), or as `table` or `csv` (the named columns); `header` False: CSV without their names."""
    if format_ == "jsonl":
        _write_jsonl(out, rows)
    elif format_ == "csv":
        _write_csv(out, rows, columns, header=header)
    else:
        _write_tables(out, rows, columns)


def json_line(row: Row) -> bytes:
    """One JSON object and a newline, non-ASCII text as it is."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def _write_jsonl(out: BinaryIO, rows: Iterable[Row]) -> None:
    for row in rows:
        out.write(json_line(row))


def _write_csv(out: BinaryIO, rows: Iterable[Row], columns: tuple[str, ...], *, header: bool) -> None:
    text = io.TextIOWrapper(out, encoding="utf-8", errors="replace", newline="", write_through=True)
    writer = csv.writer(_LineFeeds(text), lineterminator="\r\n")
    if header:
        writer.writerow(columns)
    writer.writerows([_plain(row.get(column)) for column in columns] for row in rows)
    text.flush()
    text.detach()


class _LineFeeds:
    """Ends lines with \\n. The writer quotes what its own line ends are made of: a name with \\r would else begin a new line."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text

    def write(self, line: str) -> None:
        self._text.write(line.removesuffix("\r\n") + "\n")


def _plain(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value


def _write_tables(out: BinaryIO, rows: Iterable[Row], columns: tuple[str, ...]) -> None:
    from rich.console import Console  # noqa: PLC0415 - slow to load, and for people only
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    width = None if out is sys.stdout.buffer and sys.stdout.isatty() else WIDE
    # Not straight to `out`: rich would answer a closed pipe itself, with exit code 1.
    text = io.StringIO()
    console = Console(file=text, width=width, force_terminal=width is None, soft_wrap=False)
    left = iter(rows)
    while page := list(islice(left, TABLE_ROWS)):
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in page:
            table.add_row(*(Text(_cell(row.get(column))) for column in columns))
        console.print(table)
        out.write(text.getvalue().encode("utf-8", "replace"))
        text.seek(0)
        text.truncate()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    # A table cell is one line: control characters in names and metadata are shown escaped.
    text = str(_plain(value))
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def note(text: str) -> None:
    """A sentence for the person at the terminal."""
    print(text, file=sys.stderr)


class ProgressBar:
    """Bytes read of bytes to read, on stderr, where that is a terminal; silent otherwise."""

    def __init__(self, total: int, *, shown: bool) -> None:
        """`shown` False: the terminal is where the rows go."""
        self._progress = _bar(total) if shown and sys.stderr.isatty() else None

    def advance(self, size: int) -> None:
        if self._progress is not None:
            self._progress.advance(self._progress.task_ids[0], size)

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()


def _bar(total: int) -> "Progress":
    from rich.console import Console  # noqa: PLC0415 - slow to load, and for people only
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    progress.add_task("reading", total=total)
    progress.start()
    return progress
