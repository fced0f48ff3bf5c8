"""Opens files of evidence and reads them at a position; a failure of the operating system is a SourceError with a sentence.

Objects in storage are files too (stored_file.py). Of what is on disk, only regular files are opened: a pipe or a device would never
end. Nothing is mapped: a mapped file ends the process when it shrinks or its disk fails. Knows nothing of what files hold.
"""

import io
import os
import stat
from codecs import getincrementaldecoder
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from offsets_tool.errors import MissingSource, SourceError
from offsets_tool.log.names import NO_FILE
from offsets_tool.log.storage import StoredPath, as_path

PIECE: Final = 1 << 20
SMALL_FILE: Final = 64 << 20
"""Bytes up to which a file that is wanted whole is read: no list, index or checkpoint comes near."""
GIVEN_TEXT: Final = 256 << 20


def why(error: Exception) -> str:
    """Return why the operating system refused, without the path."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


class OpenFile:
    """A file that is open for reading; it is closed when nobody uses it any more."""

    def __init__(self, path: str, descriptor: int) -> None:
        """Take the descriptor over. `path` is for messages only."""
        self.path: Final = path
        self.size: int = os.fstat(descriptor).st_size
        self._descriptor = descriptor

    def __del__(self) -> None:
        os.close(self._descriptor)

    def size_now(self) -> int:
        """Return how many bytes the file has by now."""
        return os.fstat(self._descriptor).st_size

    def read_into(self, buffer: memoryview, position: int) -> int:
        """Fill a buffer from a position on, as far as one read goes; return how many bytes, 0 at the end. Raises OSError."""
        return os.preadv(self._descriptor, [buffer], position)

    def read(self, position: int, size: int) -> bytes:
        """Return at most `size` bytes from a position on, none at the end; SourceError if they cannot be read."""
        try:
            return os.pread(self._descriptor, size, position)
        except OSError as error:
            raise SourceError(
                self.path, f"cannot be read at byte {position}: {why(error)}; copy it again"
            ) from error

    def pieces(self, start: int, size: int) -> Iterator[bytes]:
        """Yield the bytes of a range, piece by piece. SourceError if they cannot be read, or are not all there."""
        position, end = start, start + size
        while position < end:
            piece = self.read(position, min(PIECE, end - position))
            if not piece:
                raise SourceError(self.path, f"ends at byte {position} of {end}; copy it again")
            yield piece
            position += len(piece)


def open_file(path: str) -> OpenFile:
    """Open a regular file, or an object in storage. MissingSource where there is none, SourceError for what cannot be opened."""
    there = as_path(path)
    try:
        if isinstance(there, StoredPath):
            from offsets_tool.log.files.stored_file import stored_file  # noqa: PLC0415 - with Arrow, for storage alone

            return stored_file(there)
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        is_missing = isinstance(error, FileNotFoundError | NotADirectoryError)
        raise (MissingSource if is_missing else SourceError)(
            path, f"cannot be opened ({why(error)}); check the path and its permissions"
        ) from error
    opened = OpenFile(path, descriptor)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise MissingSource(path, NO_FILE)
    return opened


def read_whole(path: str | Path, limit: int = SMALL_FILE) -> bytes:
    """Return the content of a file that is small by nature. SourceError if it cannot be read, or is longer than `limit` bytes."""
    opened = open_file(str(path))
    content = bytearray()
    while piece := opened.read(len(content), PIECE):
        content += piece
        if len(content) > limit:
            raise SourceError(
                str(path), f"is longer than {limit} bytes, which no such file is; check the path"
            )
    return bytes(content)


def read_text(path: str | Path) -> str:
    """Return the content of a small text file. SourceError if it cannot be read, is longer than SMALL_FILE, or is no text."""
    try:
        return read_whole(path).decode()
    except UnicodeDecodeError as error:
        raise SourceError(str(path), f"cannot be read as text ({error}); check the path") from error


def read_given_text(path: str | Path) -> str:
    """Return the text of a file that the user names, perhaps a pipe of their shell; without a byte order mark.

    SourceError if it cannot be read, is no text, or goes on after GIVEN_TEXT characters.
    """
    decoder = getincrementaldecoder("utf-8-sig")()
    text = io.StringIO()
    try:
        for piece in _given_pieces(str(path)):
            if b"\0" in piece:
                raise SourceError(str(path), "cannot be read as text (it has zero bytes); check the path")
            text.write(decoder.decode(piece))
            if text.tell() > GIVEN_TEXT:
                raise SourceError(str(path), f"goes on after {GIVEN_TEXT} characters; give a part of it")
        text.write(decoder.decode(b"", final=True))
    except (OSError, ValueError) as error:
        raise SourceError(str(path), f"cannot be read as text ({_reason(error)}); check the path") from error
    return text.getvalue()


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, UnicodeDecodeError) else why(error)


def _given_pieces(path: str) -> Iterator[bytes]:
    # A pipe that nobody writes to is at its end, instead of opening it once somebody does.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        os.set_blocking(descriptor, True)
        while piece := os.read(descriptor, PIECE):
            yield piece
    finally:
        os.close(descriptor)
