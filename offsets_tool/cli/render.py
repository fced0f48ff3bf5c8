"""Write rows as tables on a terminal, as JSON lines or CSV in a pipe; write notes and progress to stderr.

A closed pipe (`| head`) ends the program quietly. Text goes out as UTF-8 whatever the locale.
How names are written is decided in cli.texts.
"""

import csv
import io
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from errno import ENOENT
from itertools import chain, islice
from pathlib import Path
from tempfile import mkstemp
from typing import TYPE_CHECKING, Any, BinaryIO

from offsets_tool.cli.layout import lay_out, wrap
from offsets_tool.cli.styles import is_stdout, pen_for
from offsets_tool.cli.table import PrintedTable
from offsets_tool.cli.texts import ShowText, cell_text, csv_text, json_line
from offsets_tool.errors import SetupError, UsageError
from offsets_tool.evidence.listener import CommandStep, during, items_during
from offsets_tool.rows import Row
from offsets_tool.wire.text import ABSENT, in_cell, shown, visible

if TYPE_CHECKING:
    from rich.progress import Progress

TABLE_ROWS = 10_000
"""The rows of one table at most: a table is laid out in memory, and longer results become several tables."""


def default_format(path: str | None = None) -> str:
    """Return "table" where stdout is a terminal and --output gives no `path`, otherwise "jsonl"."""
    return "table" if path is None and sys.stdout is not None and sys.stdout.isatty() else "jsonl"


@contextmanager
def output(path: str | None, evidence: Iterable[str] = ()) -> Iterator[BinaryIO]:
    """Open stdout, or the file at `path`, for writing; a closed pipe ends the program without a message.

    UsageError where that file is one of the `evidence`, which writing would destroy; SetupError where it cannot be written.
    """
    if path:
        refuse_evidence(path, evidence)
        with during(CommandStep.SHOW), _writing(path), _opened(path) as file:
            yield file
        return
    if sys.stdout is None:
        raise SetupError("there is no stdout to write to: name a file with --output")
    with during(CommandStep.SHOW), _writing("stdout"):
        yield sys.stdout.buffer
        sys.stdout.flush()


def refuse_evidence(path: str, evidence: Iterable[str]) -> None:
    """Raise UsageError where the file at `path` is one of the `evidence`, which writing would destroy."""
    if any(_is_same_file(path, source) for source in evidence):
        raise UsageError(f"--output {path} is part of the evidence: name another file")


def refuse_missing_folder(path: str) -> None:
    """Raise SetupError where the folder of the file at `path` is not there, before an answer is made in vain."""
    if not Path(path).resolve().parent.is_dir():
        raise _unwritable(path, os.strerror(ENOENT))


def _unwritable(path: str, reason: str | None) -> SetupError:
    return SetupError(f"{path} cannot be written ({reason}): name another file with --output")


def write_whole(path: str, data: bytes) -> None:
    """Write a file so that its old content stays until the new one is complete. SetupError where it cannot be written."""
    at = Path(path).resolve()
    try:
        if at.exists() and not at.is_file():
            at.write_bytes(data)
        else:
            _replace_file(at, data)
    except OSError as error:
        raise _unwritable(path, error.strerror) from error


def _replace_file(at: Path, data: bytes) -> None:
    """Replace a file by a new one, which is written in the same folder first, so that the old one stays until then."""
    number, temporary = mkstemp(prefix=".offsets-tool.", dir=at.parent)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
        Path(temporary).chmod(_mode(at))
        Path(temporary).replace(at)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _mode(path: Path) -> int:
    """Return the permissions of an existing file, or those that a new file gets."""
    if path.exists():
        return path.stat().st_mode & 0o777
    os.umask(mask := os.umask(0))
    return 0o666 & ~mask


@contextmanager
def _writing(name: str) -> Iterator[None]:
    """End the program on errors of writing: SystemExit with 0 for a closed pipe, SetupError for others such as a full disk."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except OSError as error:
        if error.errno is None:
            # Of storage that the rows come from: no file on disk fails so.
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SetupError(
            f"{name} cannot be written ({error.strerror}): make room, or name another file"
        ) from error


def _opened(path: str) -> BinaryIO:
    try:
        return Path(path).open("wb")
    except OSError as error:
        raise _unwritable(path, error.strerror) from error


def _is_same_file(path: str, source: str) -> bool:
    try:
        return Path(path).samefile(source)
    except OSError:
        return False


def write_rows(
    out: BinaryIO, rows: Iterable[Any], format_: str, table: PrintedTable, *, texts: ShowText = shown
) -> None:
    """Write rows as `jsonl` (all fields), or as `table` or `csv` (the table's columns).

    For `jsonl`, lines that are text already may stand among rows.
    `texts` makes text of the rows visible; give `str` for rows of a lake, whose texts are visible already.
    """
    rows = items_during(CommandStep.ASK, iter(rows))
    if format_ == "jsonl":
        _write_jsonl(out, rows, texts)
    elif format_ == "csv":
        cells = ([csv_text(value, texts) for value in table.cells(row)] for row in rows)
        write_cells(out, chain([table.titles], cells))
    else:
        _write_tables(out, rows, table, texts)


def _write_jsonl(out: BinaryIO, rows: Iterable[Row | memoryview], texts: ShowText) -> None:
    for row in rows:
        out.write(row if isinstance(row, memoryview) else json_line(row, texts))


def write_caption(out: BinaryIO, format_: str, texts: Iterable[str]) -> None:
    """Write lines above a table that say how its moments were understood; nothing for other formats."""
    if format_ == "table":
        out.writelines(f"{text}\n".encode() for text in texts)


def write_cells(out: BinaryIO, rows: Iterable[Iterable[Any]]) -> None:
    """Write CSV without a heading and with unchanged cells, for a program that reads names byte for byte."""
    text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
    csv.writer(_LineFeeds(text), lineterminator="\r\n").writerows(rows)
    text.flush()
    text.detach()


class _LineFeeds:
    """A text file that ends lines with \\n where csv ends them with \\r\\n.

    csv quotes a cell only for the characters of its own line end: with \\n alone, a name with \\r would begin a new line.
    """

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text

    def write(self, line: str) -> None:
        self._text.write(line.removesuffix("\r\n") + "\n")


def _write_tables(out: BinaryIO, rows: Iterable[Any], table: PrintedTable, texts: ShowText) -> None:
    width = shutil.get_terminal_size().columns if is_stdout(out) and sys.stdout.isatty() else None
    left, narrowed, pen = iter(rows), table, pen_for(out)
    while some := list(islice(left, TABLE_ROWS)):
        cells = [[_cell(value, texts) for value in narrowed.drawn(row)] for row in some]
        page = lay_out(narrowed, cells, width, pen)
        lines = [page.heading, *page.lines, ""]
        out.write("\n".join(lines).encode())
        # A column that one page has no room for stays away from all later pages.
        narrowed = narrowed._replace(columns=tuple(c for c in narrowed.columns if c.title in page.shown))
    if len(narrowed.columns) < len(table.columns):
        out.flush()
        note_left_out([title for title in table.titles if title not in narrowed.titles])


def note_left_out(titles: list[str]) -> None:
    """Write a note on columns that a table has no room for, and how to see them."""
    many = f"{len(titles)} columns" if len(titles) > 1 else "1 column"
    note(f"{many} left out: {', '.join(titles)}; --wide shows all, --show a,b chooses")


def _cell(value: Any, texts: ShowText = shown) -> str:
    """Return a value as one line of visible text, in which a missing value and an empty text look different."""
    return ABSENT if value is None else in_cell(cell_text(value, texts))


def note(text: str) -> None:
    """Write a sentence to stderr as one visible line, whatever characters the names in it have; on a terminal, wrapped."""
    seen = visible(text)
    if sys.stderr is not None and sys.stderr.isatty():
        seen = "\n".join(wrap(seen, shutil.get_terminal_size().columns, is_rigid=False))
    print(seen, file=sys.stderr)


def note_all(texts: Iterable[str]) -> None:
    """Write sentences to stderr, each as `note` does."""
    for text in texts:
        note(text)


class ProgressBar:
    """A progress bar on stderr; invisible where stderr is no terminal."""

    def __init__(self, total: int, *, shown: bool, name: str = "reading", is_bytes: bool = True) -> None:
        """Show a bar for `total` bytes, or else pieces of work; `shown` is False where rows go to the same terminal."""
        self._progress = _bar(total, name, is_bytes=is_bytes) if shown and sys.stderr.isatty() else None

    def advance(self, size: int) -> None:
        """Move the bar on by `size` bytes or pieces."""
        if self._progress is not None:
            self._progress.advance(self._progress.task_ids[0], size)

    def close(self) -> None:
        """Take the bar off the terminal."""
        if self._progress is not None:
            self._progress.stop()


def _bar(total: int, name: str, *, is_bytes: bool) -> "Progress":
    from rich.console import Console  # noqa: PLC0415 - slow to load, and for people only
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    count = DownloadColumn() if is_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), count, TimeRemainingColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    progress.add_task(name, total=total)
    progress.start()
    return progress
