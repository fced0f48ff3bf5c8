"""A file system of Hadoop's as one of Arrow's, through a client of it.

What fails is an OSError, and never taken for something that is not there. A file has its name once it is complete.
"""

import atexit
import io
import time
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Any, Final, NoReturn, Protocol
from uuid import uuid4
from weakref import WeakSet

import pyarrow as pa
from pyarrow import fs


class HadoopStatus(Protocol):
    """What a path leads to; `modification_time` is in milliseconds, `length` in bytes."""

    @property
    def path(self) -> str: ...
    @property
    def isdir(self) -> bool: ...
    @property
    def length(self) -> int: ...
    @property
    def modification_time(self) -> int: ...


class HadoopReader(Sized, Protocol):
    """A file that is open for reading; its length is in bytes."""

    def read_range(self, offset: int, length: int) -> bytes: ...


class HadoopWriter(Protocol):
    """A file that is being written."""

    def write(self, data: Any) -> int: ...
    def close(self) -> None: ...


class HadoopClient(Protocol):
    """Asks a file system, in the terms of hdfs-native's client: paths begin at its root, and what fails raises.

    FileNotFoundError if there is no such file, FileExistsError where `rename` would overwrite and must not.
    """

    def get_file_info(self, path: str) -> HadoopStatus: ...
    def list_status(self, path: str, recursive: bool) -> Iterator[HadoopStatus]: ...
    def read(self, path: str) -> HadoopReader: ...
    def create(self, path: str) -> HadoopWriter: ...
    def rename(self, src: str, dst: str, overwrite: bool = False) -> None: ...
    def delete(self, path: str) -> bool: ...


@contextmanager
def asking() -> Iterator[None]:
    """Turn what hdfs-native raises inside of a `with` block, where it is no OSError, into one."""
    try:
        yield
    except RuntimeError as error:
        raise OSError(str(error)) from error


_OPEN: Final[WeakSet["_Reading"]] = WeakSet()
_PATIENCE_AT_THE_END: Final = 2.0
"""Seconds."""


@atexit.register
def _let_threads_end() -> None:
    """Wait a moment for threads of Arrow's that still hold a file: one that lets go of it after Python's end aborts the process."""
    until = time.monotonic() + _PATIENCE_AT_THE_END
    while len(_OPEN) and time.monotonic() < until:
        time.sleep(0.01)


class _Reading(io.RawIOBase):
    """A file that is read."""

    def __init__(self, opened: HadoopReader) -> None:
        super().__init__()
        self._opened, self._at = opened, 0
        _OPEN.add(self)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = max(0, min(len(buffer), len(self._opened) - self._at))
        with asking():
            buffer[:count] = self._opened.read_range(self._at, count) if count else b""
        self._at += count
        return count

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: len(self._opened)}[whence]
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        return self._at


class _Staged(io.RawIOBase):
    """A file that is written beside its place, and put there when all of it is written: Hadoop shows files while they grow."""

    def __init__(self, client: HadoopClient, path: str) -> None:
        super().__init__()
        self._client, self._path, self._is_sound = client, path, True
        self._staged = f"{path}.{uuid4()}.writing"
        with asking():
            self._opened = client.create(self._staged)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._is_sound = False
        with asking():
            count = self._opened.write(data)
        self._is_sound = True
        return count

    def close(self) -> None:
        if self.closed:
            return
        super().close()
        with asking():
            self._opened.close()
            if self._is_sound:
                self._client.rename(self._staged, self._path, overwrite=True)
            else:
                self._client.delete(self._staged)


class Handler(fs.FileSystemHandler):  # type: ignore[misc]  # Arrow's has no types
    """Answers what Arrow asks when paths are looked up, listed, read, written and removed."""

    def __init__(self, client: HadoopClient) -> None:
        self.client = client

    def get_type_name(self) -> str:
        return "hadoop"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: Iterable[str]) -> list[fs.FileInfo]:
        return [self._info(path) for path in paths]

    def _info(self, path: str) -> fs.FileInfo:
        try:
            with asking():
                return _described(self.client.get_file_info(path))
        except FileNotFoundError:
            return fs.FileInfo(path, fs.FileType.NotFound)

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        base = selector.base_dir
        try:
            with asking():
                return [_described(each) for each in self.client.list_status(base, selector.recursive)]
        except FileNotFoundError as error:
            if self._info(base).type is not fs.FileType.NotFound:
                # Nobody knows what else of it was not seen.
                raise OSError(f"a folder in {base} went away while it was listed") from error
            if selector.allow_not_found:
                return []
            raise

    def open_input_file(self, path: str) -> pa.PythonFile:
        with asking():
            return pa.PythonFile(_Reading(self.client.read(path)), mode="r")

    open_input_stream = open_input_file

    def open_output_stream(self, path: str, metadata: object) -> pa.PythonFile:
        return pa.PythonFile(_Staged(self.client, path), mode="w")

    def delete_file(self, path: str) -> None:
        with asking():
            if not self.client.delete(path):
                raise FileNotFoundError(2, "No such file or directory", path)

    def move(self, src: str, dest: str) -> None:
        """Give a file another name, unless something has that name: then FileExistsError."""
        with asking():
            self.client.rename(src, dest, overwrite=False)

    def _never_asked(self, *_: object) -> NoReturn:
        raise NotImplementedError

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _never_asked
    copy_file = open_append_stream = _never_asked


def _described(status: HadoopStatus) -> fs.FileInfo:
    changed = {"mtime": status.modification_time / 1e3}
    if status.isdir:
        return fs.FileInfo(status.path, fs.FileType.Directory, **changed)
    return fs.FileInfo(status.path, fs.FileType.File, size=status.length, **changed)


def file_system(client: HadoopClient) -> fs.FileSystem:
    """Return the file system that a client asks; its root is Hadoop's root."""
    return fs.SubTreeFileSystem("/", fs.PyFileSystem(Handler(client)))
