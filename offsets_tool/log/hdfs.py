"""HDFS as one of Arrow's file systems, through the client hdfs-native, which needs neither a JVM nor Hadoop's own library.

Loaded only where a path is in HDFS. Configuration (HADOOP_CONF_DIR), user (HADOOP_USER_NAME) and Kerberos tickets are found by the
client. What fails is an OSError, and never taken for something that is not there. A file has its name once it is complete.
"""

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn
from uuid import uuid4

import pyarrow as pa
from hdfs_native import Client, FileReader, FileStatus, FileWriter
from pyarrow import fs


@contextmanager
def _asking() -> Iterator[None]:
    """Turn what the client raises inside of a `with` block, where it is no OSError, into one."""
    try:
        yield
    except RuntimeError as error:
        raise OSError(str(error)) from error


class _Reading(io.RawIOBase):
    """A file that is read."""

    def __init__(self, opened: FileReader) -> None:
        super().__init__()
        self._opened, self._at = opened, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = max(0, min(len(buffer), len(self._opened) - self._at))
        with _asking():
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
    """A file that is written beside its place, and put there when all of it is written: HDFS shows files while they grow."""

    def __init__(self, client: Client, path: str) -> None:
        super().__init__()
        self._client, self._path, self._is_sound = client, path, True
        self._staged = f"{path}.{uuid4()}.writing"
        with _asking():
            self._opened: FileWriter = client.create(self._staged)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._is_sound = False
        with _asking():
            count: int = self._opened.write(data)
        self._is_sound = True
        return count

    def close(self) -> None:
        if self.closed:
            return
        super().close()
        with _asking():
            self._opened.close()
            if self._is_sound:
                self._client.rename(self._staged, self._path, overwrite=True)
            else:
                self._client.delete(self._staged)


class _Handler(fs.FileSystemHandler):  # type: ignore[misc]  # Arrow's has no types
    """Answers what Arrow asks when paths are looked up, listed, read, written and removed."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def get_type_name(self) -> str:
        return "hdfs"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: Iterable[str]) -> list[fs.FileInfo]:
        return [self._info(path) for path in paths]

    def _info(self, path: str) -> fs.FileInfo:
        try:
            with _asking():
                return _described(self.client.get_file_info(path))
        except FileNotFoundError:
            return fs.FileInfo(path, fs.FileType.NotFound)

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        base = selector.base_dir
        try:
            with _asking():
                return [_described(each) for each in self.client.list_status(base, selector.recursive)]
        except FileNotFoundError as error:
            if self._info(base).type is not fs.FileType.NotFound:
                # Nobody knows what else of it was not seen.
                raise OSError(f"a folder in {base} went away while it was listed") from error
            if selector.allow_not_found:
                return []
            raise

    def open_input_file(self, path: str) -> pa.PythonFile:
        with _asking():
            return pa.PythonFile(_Reading(self.client.read(path)), mode="r")

    open_input_stream = open_input_file

    def open_output_stream(self, path: str, metadata: object) -> pa.PythonFile:
        return pa.PythonFile(_Staged(self.client, path), mode="w")

    def delete_file(self, path: str) -> None:
        with _asking():
            if not self.client.delete(path):
                raise FileNotFoundError(2, "No such file or directory", path)

    def _never_asked(self, *_: object) -> NoReturn:
        raise NotImplementedError

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _never_asked
    move = copy_file = open_append_stream = _never_asked


def _described(status: FileStatus) -> fs.FileInfo:
    changed = {"mtime": status.modification_time / 1e3}
    if status.isdir:
        return fs.FileInfo(status.path, fs.FileType.Directory, **changed)
    return fs.FileInfo(status.path, fs.FileType.File, size=status.length, **changed)


def hdfs(authority: str) -> fs.FileSystem:
    """Return the file system of a name node, given as `HOST` or `HOST:PORT`, or of a name service; its root is HDFS's root."""
    with _asking():
        handler = _Handler(Client(f"hdfs://{authority}"))
    return fs.SubTreeFileSystem("/", fs.PyFileSystem(handler))
