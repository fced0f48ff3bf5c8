"""The bytes of an object in storage, read by range, or through a Python file object that reads ahead.

Knows nothing about what objects hold.
"""

import errno
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from offsets_tool.log.buckets import bucket_of
from offsets_tool.log.refusals import answer_of, refusals_of
from offsets_tool.log.storage import StoredPath

if TYPE_CHECKING:
    from pyarrow import NativeFile

_READ_AHEAD: Final = 2 << 20
"""Bytes that a file that is read from front to back asks for at once."""


class StoredBytes:
    """An object opened for reading by range, by any number of threads; its `version` changes when the object is replaced."""

    def __init__(self, path: StoredPath) -> None:
        """Open the object at a path. FileNotFoundError if there is none; other errors as `refusals_of` raises them."""
        bucket = bucket_of(path)
        self.path: Final = path
        with refusals_of(path):
            name = bucket.name(path)
            self._file: NativeFile = bucket.system.open_input_file(name)
            self.size: Final[int] = self._file.size()
            # Of a file in HDFS an open one says nothing.
            facts = self._file.metadata() or bucket.system.get_file_info(name).mtime_ns
            self.version: Final = f"{facts} {self.size}"

    def read(self, position: int, size: int) -> bytes:
        """Return the bytes of a range, fewer at the end."""
        count = min(size, max(0, self.size - position))
        with refusals_of(self.path):
            return answer_of(lambda: bytes(self._file.read_at(count, position)))


class _Reader(io.RawIOBase):
    """An object as a file of Python's."""

    def __init__(self, path: StoredPath) -> None:
        super().__init__()
        self._bytes = StoredBytes(path)
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._bytes.read(self._at, len(buffer))
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._bytes.size}[whence]
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        return self._at


def open_binary(path: Path) -> io.BufferedReader:
    """Open a file on disk or in storage for reading bytes, from front to back or by range. OSError as `Path.open`, and for a
    pipe or a device, which would have the reader wait.
    """
    if isinstance(path, StoredPath):
        return io.BufferedReader(_Reader(path), _READ_AHEAD)
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is not a file", str(path))
    return path.open("rb")


def for_arrow(path: Path) -> Path | io.RawIOBase:
    """Return what Arrow can read a file from: its path on disk, or an open file for an object, with errors of `refusals_of`."""
    return _Reader(path) if isinstance(path, StoredPath) else path
