"""Rows of a JSON-lines archive, each with the byte range of its line: one object a line, or a JSON array of them.

A line that does not hold what it should is an Unreadable, and the next line is read. Knows nothing about column names; memory is
bounded by the longest line it accepts.
"""

import bz2
import gzip
import json
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from io import BufferedIOBase, BufferedReader
from pathlib import Path
from typing import Final, NamedTuple

from offsets_tool.errors import SourceError
from offsets_tool.log.archive.columns import ColumnPath, Columns
from offsets_tool.log.files.open_file import why
from offsets_tool.log.stored_bytes import open_binary
from offsets_tool.rows import Row, Unreadable, UnreadableKind

LONGEST_LINE: Final = 64 << 20
_PROBED_LINES: Final = 1000
_PROBED_BYTES: Final = 1 << 20
_TEXT_PROBED: Final = 1 << 16


_GZIP: Final = b"\x1f\x8b"
_BZIP2: Final = b"BZh"
_XZ: Final = b"\xfd7zX"
_BY_ARROW: Final = {b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4"}
_ARROW_PIECE: Final = 4096
_TORN: Final = (OSError, EOFError, zlib.error, lzma.LZMAError, MemoryError)
"""What the end of a cut file raises, pyarrow's (an OSError) included; MemoryError: of an xz file that asks for too much."""


class RowRead(NamedTuple):
    """One row and its position: the bytes of its line in the decompressed file, or its row number in a table.

    `row` is None for bytes of JSON lines that hold no row of their own: blank lines, brackets, a line that several rows shared.
    """

    position: int
    size: int
    row: Row | None


class RowSource(NamedTuple):
    """A file (or Delta table) opened far enough to know its columns; `read` gives its rows, of the columns that are wanted.

    `size` is its bytes on disk, None where the bytes are counted as they are read (JSON lines).
    """

    source: str
    names: Mapping[str, ColumnPath]
    read: Callable[[Columns], Iterator[RowRead | Unreadable]]
    size: int | None = None


def line_source(path: Path) -> RowSource:
    """Return a file of JSON lines as rows; none without any name in it, as in an empty file. SourceError as `first_rows`."""
    source = path.as_posix()

    def read(columns: Columns) -> Iterator[RowRead | Unreadable]:
        with _open(path) as stream:
            yield from _read_lines(stream, source, "latin-1" if columns.raw_text else "utf-8")

    return RowSource(source, names_of(first_rows(path)), read)


@contextmanager
def _open(path: Path) -> Iterator[BufferedIOBase]:
    """Return the decompressed bytes of a file; its first bytes tell how it is compressed, not its name."""
    with open_binary(path) as file, ExitStack() as stack:
        magic = file.read(4)
        file.seek(0)
        if magic.startswith(_GZIP):
            yield stack.enter_context(gzip.GzipFile(fileobj=file))
        elif magic.startswith(_BZIP2):
            yield stack.enter_context(bz2.BZ2File(file))
        elif magic == _XZ:
            yield stack.enter_context(lzma.LZMAFile(file))
        elif magic in _BY_ARROW:
            import pyarrow as pa  # noqa: PLC0415 - a tenth of a second, for this alone

            inflating = stack.enter_context(pa.CompressedInputStream(file, _BY_ARROW[magic]))
            # In small pieces, because a piece in which the file turns out to be cut off is lost as a whole.
            yield stack.enter_context(BufferedReader(inflating, _ARROW_PIECE))
        else:
            yield file


def first_rows(path: Path) -> list[Row]:
    """Return the rows in the first lines; none if it is no JSON lines. Several, because writers leave null fields out (Spark's do).

    Raises SourceError for a file that cannot be opened, or not be decompressed up to its first row.
    """
    rows: list[Row] = []
    try:
        with _open(path) as stream:
            for line in _first_lines(stream):
                rows += _rows(line, "latin-1") or ()
    except _TORN as error:
        if not rows:
            reason = f"cannot be read up to its first line ({why(error)}); copy it again if it is cut off"
            raise SourceError(path.as_posix(), reason) from error
    return rows


def is_text(path: Path) -> bool:
    """Return whether a file, decompressed, begins with a line of text in UTF-8; SourceError for one that cannot be read so far."""
    try:
        with _open(path) as stream:
            line = stream.readline(_TEXT_PROBED)
    except _TORN as error:
        raise SourceError(path.as_posix(), f"cannot be read up to its first line ({why(error)})") from error
    try:
        return b"\0" not in line and bool(line.decode("utf-8").strip())
    except UnicodeDecodeError:
        return False


def names_of(rows: Iterable[Row]) -> dict[str, ColumnPath]:
    """Return the names in rows, in the order of their appearance, those of structs as `outer.inner` too."""
    names: dict[str, ColumnPath] = {}
    for row in rows:
        names |= _names(row)
    return names


def _first_lines(stream: BufferedIOBase) -> Iterator[bytes]:
    """Yield the first lines of a file, as many as are probed; stop at binary data, and at JSON that spans many lines."""
    read = 0
    for number in range(_PROBED_LINES):
        line = stream.readline(LONGEST_LINE)
        read += len(line)
        laid_out = line.strip() == b"{"
        if not line or laid_out or b"\0" in line[:_PROBED_BYTES] or (number and read > _PROBED_BYTES):
            return
        yield line


def _names(row: Row) -> dict[str, ColumnPath]:
    names: dict[str, ColumnPath] = {name: (name,) for name in row}
    names |= {
        f"{outer}.{name}": (outer, name)
        for outer, value in row.items()
        if isinstance(value, dict)
        for name in value
    }
    return names


def _read_lines(stream: BufferedIOBase, source: str, encoding: str) -> Iterator[RowRead | Unreadable]:
    """Yield every row, and an Unreadable for every line that is no row and for what could not be decompressed."""
    position = 0
    while True:
        try:
            line, size = _line(stream)
        except _TORN as error:
            # Size 0: how much the rest would have been is not known.
            reason = f"the file ends early or is damaged: {why(error)}"
            yield Unreadable(source, position, 0, reason, UnreadableKind.TORN_TAIL)
            return
        if not size:
            return
        yield from _read_line(line, position, size, source, encoding)
        position += size


def _line(stream: BufferedIOBase) -> tuple[bytes, int]:
    """Return the next line and its size; of a line longer than LONGEST_LINE, which is passed over, no bytes and its size."""
    line = stream.readline(LONGEST_LINE)
    if len(line) < LONGEST_LINE or line.endswith(b"\n"):
        return line, len(line)
    size = len(line)
    while not line.endswith(b"\n") and (line := stream.readline(LONGEST_LINE)):
        size += len(line)
    return b"", size


def _read_line(
    line: bytes, position: int, size: int, source: str, encoding: str
) -> Iterator[RowRead | Unreadable]:
    if not line:
        reason = f"a line of {size} bytes, longer than {LONGEST_LINE}"
        yield Unreadable(source, position, size, reason, UnreadableKind.CONTENT)
        return
    rows = _rows(line, encoding)
    if rows is None:
        torn = not line.endswith(b"\n")
        kind = UnreadableKind.TORN_TAIL if torn else UnreadableKind.CONTENT
        reason = "the last line is cut off" if torn else "a line that is not a JSON object"
        yield Unreadable(source, position, size, reason, kind)
        return
    if len(rows) == 1:
        yield RowRead(position, size, rows[0])
        return
    # Bytes are counted once: of a line with several rows (an array), a row that is bad does not make the others' bytes bad.
    yield from (RowRead(position, 0, row) for row in rows)
    yield RowRead(position, size, None)


def _rows(line: bytes, encoding: str) -> list[Row] | None:
    """Return the objects in a line: none in a blank one or in the brackets and commas of an array over many lines."""
    text = line.strip().rstrip(b",")
    if text in (b"", b"[", b"]"):
        return []
    try:
        parsed = json.loads(text.decode(encoding))
    except (ValueError, RecursionError):
        return None
    rows = parsed if isinstance(parsed, list) else [parsed]
    return rows if all(isinstance(row, dict) for row in rows) else None
