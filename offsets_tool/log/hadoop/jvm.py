"""Any file system that Hadoop knows, through Hadoop's own classes in a JVM of this process (JPype).

The classes are those that Spark brings, if it is installed, and what HADOOP_CLASSPATH names: there a file system's own jars belong.
Settings are those of HADOOP_CONF_DIR; users, tickets and tokens are found by Hadoop. Of a JVM there is one a process, for good.
"""

import atexit
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EEXIST, ENOENT
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from typing import Any, Final, NamedTuple

import jpype
import jpype.config
from pyarrow import fs

from offsets_tool.errors import SetupError
from offsets_tool.log.hadoop.system import HadoopClient, HadoopReader, HadoopStatus, HadoopWriter, file_system

_OPTIONS: Final = (
    # Python's own handlers of signals stay.
    "-Xrs",
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dlog4j2.statusLoggerLevel=OFF",
)
_HADOOP: Final = "org.apache.hadoop.fs."
_ONE_AT_A_TIME: Final = RLock()
"""Held while classes of Java's may be met first: of one that two threads meet at the same time, one has half (JPype 1.7)."""
_PIECE: Final = 4 << 20
"""Bytes that cross from the JVM, or to it, at once: they are held twice."""


def hadoop(scheme: str, authority: str) -> fs.FileSystem:
    """Return the file system of a scheme at an authority, which is what a URI has between `//` and the path.

    SetupError where there is no JVM, or no Hadoop in it; OSError for a scheme that Hadoop does not know, or what cannot be reached.
    """
    with _ONE_AT_A_TIME:
        _start()
        with _asking():
            return file_system(_Client(scheme, authority))


def _start() -> None:
    """Start the JVM, unless it runs."""
    try:
        if not jpype.isJVMStarted():
            jpype.startJVM(*_OPTIONS, classpath=_classpath(), interrupt=False)
            atexit.register(_end)
        jpype.JClass(_HADOOP + "FileSystem")
    except (OSError, TypeError, ValueError, RuntimeError, jpype.JException) as error:
        raise SetupError(
            "Hadoop's classes cannot be loaded: set JAVA_HOME to a JDK 17, and install pyspark or name the jars in HADOOP_CLASSPATH"
        ) from error


def _end() -> None:
    """Let the process end: whoever waits for Java's end waits for each thread of Hadoop's, and of ours, that was in Java.

    JPype's own thread, which lets go of Python's objects, must not find Python gone: that aborts the process.
    """
    jpype.config.destroy_jvm = False
    jpype.JClass("org.jpype.ref.JPypeReferenceQueue").getInstance().stop()


def _classpath() -> list[str]:
    """Return where classes and settings are, the settings first."""
    named = [os.environ.get(name, "") for name in ("HADOOP_CONF_DIR", "HADOOP_CLASSPATH")]
    spark = os.environ.get("SPARK_HOME") or _folder_of_pyspark()
    named.append(str(Path(spark) / "jars" / "*") if spark else "")
    return [part for each in named for part in each.split(os.pathsep) if part]


def _folder_of_pyspark() -> Path | None:
    found = find_spec("pyspark")
    return Path(found.origin).parent if found and found.origin else None


class _Classes(NamedTuple):
    """Classes of Java's and Hadoop's."""

    path: Any
    not_found: Any
    already_there: Any
    byte_array: Any


@cache
def _classes() -> _Classes:
    path, already_there = (jpype.JClass(_HADOOP + name) for name in ("Path", "FileAlreadyExistsException"))
    not_found = jpype.JClass("java.io.FileNotFoundException")
    # What reading and writing, which hold no lock, may raise.
    jpype.JClass("java.io.EOFException")
    return _Classes(path, not_found, already_there, jpype.JArray(jpype.JByte))


@contextmanager
def _asking() -> Iterator[None]:
    """Ask Java inside of a `with` block, one thread at a time; what it raises becomes an OSError."""
    with _ONE_AT_A_TIME, _raising():
        yield


@contextmanager
def _raising() -> Iterator[None]:
    """Turn what Java raises inside of a `with` block into an OSError, without Java's stack, which would keep the JVM's objects."""
    try:
        yield
    except jpype.JException as error:
        with _ONE_AT_A_TIME:
            raise _as_os_error(error) from None


def _as_os_error(error: Any) -> OSError:
    said = str(error)
    if isinstance(error, _classes().not_found):
        return FileNotFoundError(ENOENT, said)
    if isinstance(error, _classes().already_there):
        return FileExistsError(EEXIST, said)
    return OSError(said)


class _Status(NamedTuple):
    path: str
    isdir: bool
    length: int
    modification_time: int


class _Reader:
    """A file that is open for reading, by any number of threads."""

    def __init__(self, opened: Any, length: int) -> None:
        self._opened, self._length = opened, length

    def __len__(self) -> int:
        return self._length

    def read_range(self, offset: int, length: int) -> bytes:
        found = bytearray()
        while len(found) < length:
            with _raising():
                piece = _classes().byte_array(min(_PIECE, length - len(found)))
                self._opened.readFully(offset + len(found), piece, 0, len(piece))
                found += memoryview(piece).cast("B")
        return bytes(found)


class _Writer:
    """A file that is being written."""

    def __init__(self, opened: Any) -> None:
        self._opened = opened

    def write(self, data: Any) -> int:
        written = memoryview(data).cast("B")
        for at in range(0, len(written), _PIECE):
            with _raising():
                self._opened.write(_classes().byte_array(bytes(written[at : at + _PIECE])))
        return len(written)

    def close(self) -> None:
        with _asking():
            self._opened.close()


class _Client(HadoopClient):
    """Asks Hadoop's FileSystem; of names, which only writing needs, FileContext, whose rename says whether it overwrites."""

    def __init__(self, scheme: str, authority: str) -> None:
        self._at = scheme, authority
        configuration = jpype.JClass("org.apache.hadoop.conf.Configuration")()
        root = self._path("/").toUri()
        self._system = jpype.JClass(_HADOOP + "FileSystem").get(root, configuration)
        self._names: Callable[[], Any] = cache(
            lambda: jpype.JClass(_HADOOP + "FileContext").getFileContext(root, configuration)
        )
        self._rename = jpype.JClass(_HADOOP + "Options").Rename

    def _path(self, path: str) -> Any:
        return _classes().path(*self._at, "/" + path.removeprefix("/"))

    def get_file_info(self, path: str) -> HadoopStatus:
        with _asking():
            return _status(self._system.getFileStatus(self._path(path)))

    def list_status(self, path: str, recursive: bool) -> Iterator[HadoopStatus]:
        folders = [path]
        while folders:
            with _asking():
                found = [_status(each) for each in self._system.listStatus(self._path(folders.pop()))]
            yield from found
            folders += [each.path for each in found if each.isdir and recursive]

    def read(self, path: str) -> HadoopReader:
        with _asking():
            where = self._path(path)
            return _Reader(self._system.open(where), int(self._system.getFileStatus(where).getLen()))

    def create(self, path: str) -> HadoopWriter:
        with _asking():
            return _Writer(self._system.create(self._path(path), False))

    def rename(self, src: str, dst: str, overwrite: bool = False) -> None:
        how = self._rename.OVERWRITE if overwrite else self._rename.NONE
        with _asking():
            self._names().rename(self._path(src), self._path(dst), how)

    def delete(self, path: str) -> bool:
        with _asking():
            return bool(self._system.delete(self._path(path), False))


def _status(found: Any) -> _Status:
    path = str(found.getPath().toUri().getPath())
    return _Status(path, bool(found.isDirectory()), int(found.getLen()), int(found.getModificationTime()))
