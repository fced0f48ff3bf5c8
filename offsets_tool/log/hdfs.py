"""HDFS as one of Arrow's file systems, through the client hdfs-native, which needs neither a JVM nor Hadoop's own library.

Loaded only where a path is in HDFS. Configuration (HADOOP_CONF_DIR), user (HADOOP_USER_NAME) and Kerberos tickets are found by the
client. What cannot be listed or opened is an error: fsspec takes it for something that is not there.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hdfs_native.fsspec import HdfsFileSystem
from pyarrow import fs

if TYPE_CHECKING:
    from hdfs_native import Client, FileStatus


class _Handler(fs.FSSpecHandler):  # type: ignore[misc]  # Arrow's has no types
    """Asks the client itself for what tells whether something is there."""

    @property
    def _client(self) -> "Client":
        client: Client = self.fs.client
        return client

    def get_file_info(self, paths: Iterable[str]) -> list[fs.FileInfo]:
        return [self._info(path) for path in paths]

    def _info(self, path: str) -> fs.FileInfo:
        try:
            return _described(self._client.get_file_info(path))
        except FileNotFoundError:
            return fs.FileInfo(path, fs.FileType.NotFound)

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        try:
            return [
                _described(each)
                for each in self._client.list_status(selector.base_dir, recursive=selector.recursive)
            ]
        except FileNotFoundError:
            if selector.allow_not_found:
                return []
            raise

    def open_input_file(self, path: str) -> pa.PythonFile:
        return pa.PythonFile(self.fs.open(path), mode="r")

    def delete_file(self, path: str) -> None:
        if not self._client.delete(path, recursive=False):
            raise FileNotFoundError(2, "No such file or directory", path)


def _described(status: "FileStatus") -> fs.FileInfo:
    changed = {"mtime": status.modification_time / 1e3}
    if status.isdir:
        return fs.FileInfo(status.path, fs.FileType.Directory, **changed)
    return fs.FileInfo(status.path, fs.FileType.File, size=status.length, **changed)


def hdfs(authority: str) -> fs.FileSystem:
    """Return the file system of a name node, given as `HOST` or `HOST:PORT`, or of a name service; its root is HDFS's root."""
    host, _, port = authority.partition(":")
    # Whoever wants a client kept keeps it: fsspec would do so whatever becomes of the environment.
    options: dict[str, Any] = {"skip_instance_cache": True}
    client = HdfsFileSystem(host, int(port) if port else None, **options)
    return fs.SubTreeFileSystem("/", fs.PyFileSystem(_Handler(client)))
