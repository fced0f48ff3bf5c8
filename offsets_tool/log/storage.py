"""Paths in object storage (s3://, gs://, abfs://), HDFS (hdfs://) and what else Hadoop knows, used like paths on disk.

Kinds, listings, bytes by range. A StoredPath is a Path whose text is its URI, so callers need to know nothing more. Credentials
and endpoints are found as the clients of the storage find them, and never in a URI: one that has any is refused, and never shown.
For paths on disk nothing of this is used, and Arrow is not loaded. Knows nothing about logs and lakes.
"""

import os
import re
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from fnmatch import fnmatchcase
from pathlib import Path, PosixPath
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, cast
from urllib.parse import unquote, urlsplit

from offsets_tool.errors import SourceError
from offsets_tool.log.buckets import bucket_of
from offsets_tool.log.refusals import answer_of, credentials_of, refusals_of

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo

_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://+(.*)", re.DOTALL)
_SCHEMES: Final = {
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gs",
    "gcs": "gs",
    "abfs": "abfs",
    "abfss": "abfs",
    "hdfs": "hdfs",
}
_FORMS: Final = {
    "s3": "s3://BUCKET/KEY",
    "gs": "gs://BUCKET/KEY",
    "abfs": "abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/KEY",
    "hdfs": "hdfs://NAMENODE:PORT/PATH",
}
_OBJECTS: Final = ("s3", "gs", "abfs")
_NO_FOLDERS: Final = ("http", "https", "ftp", "ftps")
"""Schemes of places that do not say what they have, though some are file systems to Hadoop."""
_UNSAYABLE: Final = (
    "its key has an empty part, a dot or a question mark, which no path can say; copy it to another name"
)


class StoredPath(PosixPath):
    """The URI of an object or folder in object storage as a Path, such as `s3://bucket/key`; never relative, never a link."""

    __slots__ = ()

    def __str__(self) -> str:
        text = super().__str__()
        return text if "://" in text else text.replace(":/", "://", 1)

    def as_posix(self) -> str:
        return str(self)

    def resolve(self, strict: bool = False) -> Self:
        return self

    def absolute(self) -> Self:
        return self

    def is_symlink(self) -> bool:
        return False

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Do nothing: in storage a folder is there once something is in it."""

    def iterdir(self) -> Generator[Self, None, None]:
        return (cast("Self", entry.path) for entry in stored_in(self))

    def glob(self, pattern: str) -> Generator[Self, None, None]:  # one level is enough
        return (path for path in self.iterdir() if fnmatchcase(path.name, pattern))

    def read_bytes(self) -> bytes:
        bucket = bucket_of(self)

        def read() -> bytes:
            with bucket.system.open_input_file(bucket.name(self)) as file:
                return bytes(file.readall())

        with refusals_of(self):
            return answer_of(read)

    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
        return self.read_bytes().decode(encoding or "utf-8", errors or "strict")

    def write_bytes(self, data: Any) -> int:
        """Write an object as a whole; return its size. If writing fails, there is no object."""
        bucket = bucket_of(self)
        with refusals_of(self), bucket.system.open_output_stream(bucket.name(self), compression=None) as file:
            file.write(data)
        return len(data)

    def unlink(self, missing_ok: bool = False) -> None:
        with refusals_of(self), suppress(*[FileNotFoundError] if missing_ok else []):
            bucket_of(self).system.delete_file(bucket_of(self).name(self))

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Return kind, size and time. FileNotFoundError if nothing has this path; other errors as `refusals_of` raises them."""
        return stored_at(self).stat()

    def exists(self, *, follow_symlinks: bool = True) -> bool:
        return look_for(self) is not None

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return (found := look_for(self)) is not None and found.is_folder

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return (found := look_for(self)) is not None and not found.is_folder


class StoredEntry(NamedTuple):
    """What a path in storage leads to: a file (an object) with its size and time, or a folder (a prefix of keys)."""

    path: StoredPath
    is_folder: bool
    size: int = 0
    modified_ns: int = 0
    problem: str = ""

    def stat(self) -> os.stat_result:
        """Return the entry as Path.stat does for a path on disk; device and inode change when the object is replaced."""
        kind = stat.S_IFDIR if self.is_folder else stat.S_IFREG
        seconds = self.modified_ns / 1e9
        times = (int(seconds),) * 3 + (seconds,) * 3 + (self.modified_ns,) * 3
        return os.stat_result((kind | 0o444, self.modified_ns, self.size, 1, 0, 0, self.size, *times))


def as_path(path: str | os.PathLike[str]) -> Path:
    """Return the Path that a path or URI names. SourceError for URIs of web servers, without a bucket, with credentials or options.

    Of a scheme that is not known here, Hadoop's classes are asked when something is read.
    """
    text = os.fspath(path)
    if isinstance(path, Path) or (found := _URI.fullmatch(text)) is None:
        return path if isinstance(path, Path) else Path(text)
    scheme, rest = found[1].lower(), found[2]
    if scheme == "file":
        return Path("/", unquote(rest.removeprefix("localhost/")))
    known = _SCHEMES.get(scheme, scheme)
    form = _FORMS.get(known, f"{known}://AUTHORITY/PATH")
    authority, _, key = rest.partition("/")
    shown = f"{scheme}://{authority.rpartition('@')[2]}/{key.partition('?')[0]}"
    if scheme in _NO_FOLDERS:
        raise SourceError(
            shown,
            "is of a scheme that is not read; s3://, gs://, abfs://, hdfs:// and file:// are, what else Hadoop knows, and paths",
        )
    # Of abfs://CONTAINER@ACCOUNT, what stands before the @ is no user.
    container, _, host = authority.rpartition("@")
    is_default = text.lower().startswith(f"{scheme}:///")
    if known == "hdfs" and (is_default or not _is_name_node(authority)):
        raise SourceError(shown, f"names no name node; give {form}")
    if known not in _FORMS and is_default:
        raise SourceError(shown, f"names no file system; give {form}")
    if not authority or (known == "abfs" and not (container and "." in host)):
        raise SourceError(shown, f"names no bucket; give {form}")
    if "?" in rest or (container and (known != "abfs" or ":" in container)):
        raise SourceError(
            shown,
            f"has credentials or options in its URI, where others see them; set {credentials_of(known)} instead",
        )
    return StoredPath(f"{known}:/", authority, key)


def _is_name_node(authority: str) -> bool:
    """Return whether the URI of a file in HDFS names a host, or a name service, and a port only behind it."""
    try:
        there = urlsplit(f"//{authority}")
        host, _ = there.hostname, there.port
    except ValueError:
        return False
    return bool(host)


def is_stored(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is in object storage, by its text."""
    return isinstance(as_path(path), StoredPath)


def is_of_hadoop(path: str | os.PathLike[str]) -> bool:
    """Return whether only Hadoop's own classes know where a path is."""
    there = as_path(path)
    return isinstance(there, StoredPath) and there.parts[0].removesuffix(":") not in _FORMS


def has_objects(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is in object storage, whose files are put whole, and not in a file system of Hadoop's."""
    there = as_path(path)
    return isinstance(there, StoredPath) and there.parts[0].removesuffix(":") in _OBJECTS


def real_path(path: str | os.PathLike[str]) -> str:
    """Return the name by which equal paths are equal: on disk the path without links, in storage the URI."""
    there = as_path(path)
    return str(there) if isinstance(there, StoredPath) else os.path.realpath(there)


def folder_around(folder: Path) -> Path:
    """Return the folder around a folder, which may be called "." or ".."; in storage nothing is."""
    return folder.parent if isinstance(folder, StoredPath) else Path(os.path.normpath(folder / ".."))


def stored_at(path: StoredPath) -> StoredEntry:
    """Return what a path in storage leads to; FileNotFoundError if it leads to nothing."""
    if (found := look_for(path)) is None:
        raise FileNotFoundError(2, "No such file or directory", str(path))
    return found


def look_for(path: StoredPath) -> StoredEntry | None:
    """Return what a path in storage leads to, None for nothing. SourceError if there is no such bucket, or no permission."""
    for top, tree in (_LISTINGS.get() or {}).items():
        if path == top:
            return StoredEntry(path, is_folder=True)
        if path.is_relative_to(top):
            return tree.get(path.parent, {}).get(path.name)
    if len(path.parts) < 2:
        return None
    bucket = bucket_of(path)
    with refusals_of(path):
        found = _stored(bucket.system.get_file_info(bucket.name(path)), path)
        if found is None and len(path.parts) > 2:
            around = bucket.system.get_file_info(bucket.base) if bucket.base else None
            if around is not None and around.type.name == "NotFound":
                raise OSError("bucket does not exist")
    return found


def _stored(info: "FileInfo", path: StoredPath) -> StoredEntry | None:
    if info.type.name == "NotFound":
        return None
    is_folder = info.type.name == "Directory"
    return StoredEntry(path, is_folder, 0 if is_folder else info.size, info.mtime_ns or 0)


_Tree = dict[Path, dict[str, StoredEntry]]
"""By folder, what is in it, by name."""
_LISTINGS: Final[ContextVar[dict[StoredPath, _Tree] | None]] = ContextVar("listings", default=None)
"""What was listed inside of the `with` block that is open, by its top; None outside of any."""
_KEPT: Final[ContextVar[dict[StoredPath, _Tree] | None]] = ContextVar("kept", default=None)
"""What was listed inside of any such block, where that is kept."""


@contextmanager
def one_listing() -> Iterator[None]:
    """Inside of a `with` block, list each folder in storage once, with all folders below it, and answer from that listing."""
    around = _KEPT.get() if _LISTINGS.get() is None else _LISTINGS.get()
    token = _LISTINGS.set({} if around is None else around)
    try:
        yield
    finally:
        _LISTINGS.reset(token)


@contextmanager
def listings_kept() -> Iterator[None]:
    """Have all blocks of `one_listing` inside of a `with` block answer from the listings that one of them has made."""
    token = _KEPT.set({})
    try:
        yield
    finally:
        _KEPT.reset(token)


def stored_in(folder: StoredPath) -> list[StoredEntry]:
    """Return the entries of a folder in storage, in the order of their names. SourceError if it cannot be listed."""
    listings = _LISTINGS.get()
    for top, tree in (listings or {}).items():
        if folder.is_relative_to(top):
            return _in_order(tree, folder)
    tree = _listed(folder, is_deep=listings is not None)
    if listings is not None:
        listings[folder] = tree
    return _in_order(tree, folder)


def _in_order(tree: _Tree, folder: Path) -> list[StoredEntry]:
    return [stored for _, stored in sorted(tree.get(folder, {}).items())]


def _listed(top: StoredPath, *, is_deep: bool) -> _Tree:
    """List a folder; if it is deep, all that is below it in one pass: a thousand keys an answer, whatever folders they are in."""
    bucket = bucket_of(top)
    base = bucket.name(top)
    infos = bucket.below(top, is_deep=is_deep)
    tree: _Tree = {}
    for info in infos:
        parts = info.path[len(base) :].removeprefix("/").split("/")
        path = top.joinpath(*filter(None, parts))
        if info.type.name == "File":
            odd = _UNSAYABLE if {"", ".", ".."}.intersection(parts) or "?" in info.path else ""
            _plant(tree, top, StoredEntry(path, False, info.size, info.mtime_ns or 0, odd))
        elif path != top:
            _plant(tree, top, StoredEntry(path, is_folder=True))
    return tree


def _plant(tree: _Tree, top: StoredPath, stored: StoredEntry) -> None:
    """Put a file into its folder, and each folder around it into its own."""
    while stored.path != top:
        beside = tree.setdefault(stored.path.parent, {})
        if stored.path.name in beside and stored.is_folder:
            return
        beside[stored.path.name] = stored
        stored = StoredEntry(stored.path.parent, is_folder=True)
