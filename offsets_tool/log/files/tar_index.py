"""What is in a tar and where, from one pass over its headers; a compressed tar is decompressed once, as far as it goes.

Kept for the process, so that many segments of one tar cost one pass. What ends the pass early (a cut, damage) is said beside the
members before it. Knows nothing about logs.
"""

import tarfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePosixPath
from typing import IO, Final, NamedTuple, cast

from offsets_tool.errors import MissingSource, SourceError
from offsets_tool.log.files.open_file import OpenFile, open_file, why
from offsets_tool.log.files.packed import expand
from offsets_tool.log.names import Packing, tar_name
from offsets_tool.log.storage import as_path

_LONGEST_HEADER: Final = 1 << 20
"""Bytes of extended headers: names and times are far shorter."""
_TARS_KEPT: Final = 8
_BROKEN: Final = (
    tarfile.TarError,
    EOFError,
    ValueError,
    OverflowError,
    IndexError,
    RecursionError,
    SourceError,
)
"""ValueError, OverflowError, IndexError: numbers and texts of headers that are none; RecursionError: headers of headers."""
_KINDS: Final = {
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe",
}


class TarMember(NamedTuple):
    """A member that is no folder: where its bytes are in the tar, or why there are none of its own."""

    name: str
    start: int
    size: int
    problem: str = ""


class TarIndex(NamedTuple):
    """The members of a tar by name, and its decompressed bytes; of several members of one name the last, as in unpacking."""

    file: OpenFile
    members: dict[str, TarMember]
    replaced: tuple[TarMember, ...]
    """Members that a later one of the same name replaces."""
    problem: str | None
    """Why the rest of it cannot be listed; None if it was read to its end."""

    def find(self, path: str, name: str) -> TarMember:
        """Return a member by its name. MissingSource if the tar has no such member, or the member has no bytes."""
        member = self.members.get(plain_name(name))
        if member is None:
            raise MissingSource(path, f"it has no member {name}; list it with tar -tf")
        if member.problem:
            raise MissingSource(path, f"member {name} is {member.problem}")
        return member


def plain_name(name: str) -> str:
    """Return a member's name without what makes no difference where it is unpacked: `./`, doubled slashes."""
    return PurePosixPath(name).as_posix()


def tar_index(path: str) -> TarIndex:
    """List a tar. SourceError for one that cannot be opened, or of which not even a first member can be read."""
    try:
        stat = as_path(path).stat()
    except (OSError, ValueError) as error:
        raise SourceError(
            path, f"cannot be opened ({why(error)}); check the path and its permissions"
        ) from error
    return _index(path, stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size)


@lru_cache(maxsize=_TARS_KEPT)
def _index(path: str, *_changed: int) -> TarIndex:
    file = open_file(path)
    tar = tar_name(PurePosixPath(path).name)
    problem = None
    if tar and tar.packing is not Packing.NONE:
        file, problem = expand(file, tar.packing, path)
    members: dict[str, TarMember] = {}
    replaced = []
    try:
        for member in _members(file):
            key = plain_name(member.name)
            if key in members:
                replaced.append(members.pop(key))
            members[key] = member
    except _BROKEN as error:
        # Where it was cut, what was lost in decompressing is the reason.
        problem = problem or (
            error.reason if isinstance(error, SourceError) else str(error) or "its headers have no end"
        )
    if problem is not None and not members:
        raise SourceError(
            path, f"this is not a tar that can be read ({problem}); copy it again if it is cut off"
        )
    return TarIndex(file, members, tuple(replaced), problem)


def _members(file: OpenFile) -> Iterator[TarMember]:
    """Yield the members of a tar in their order. Raises one of _BROKEN if the tar does not end as it should."""
    if not file.size:
        raise tarfile.ReadError("it is empty")
    with tarfile.open(
        fileobj=cast("IO[bytes]", _Headers(file)), mode="r:", errors="surrogateescape"
    ) as opened:
        earlier: dict[str, tarfile.TarInfo] = {}
        end = -1
        while (info := opened.next()) is not None:
            if opened.offset <= end:
                raise tarfile.ReadError(f"the size of {info.name} leads back")
            end = opened.offset
            # Or it would hold all of them once more.
            opened.members = []  # type: ignore[attr-defined]
            earlier[info.name] = info
            if not info.isdir():
                yield _member(info, earlier)
        _check_end(file, opened.offset)


def _member(info: tarfile.TarInfo, earlier: dict[str, tarfile.TarInfo]) -> TarMember:
    if info.type in _KINDS:
        kind = _KINDS[info.type] + (f" to {info.linkname}" if info.issym() else "")
        return TarMember(info.name, 0, 0, f"{kind}, which has no bytes of its own in the tar")
    there = earlier.get(info.linkname) if info.islnk() else info
    if there is None or not there.isreg():
        return TarMember(info.name, 0, 0, f"a hard link to {info.linkname}, which is not in the tar")
    if there.issparse():
        reason = "stored as a sparse file; unpack the tar and give the folder"
        return TarMember(info.name, 0, there.size, reason)
    return TarMember(info.name, there.offset_data, there.size)


def _check_end(file: OpenFile, end: int) -> None:
    """Raise ReadError unless the tar ends in a block of zeros: tarfile stops silently at any header that it cannot read."""
    if file.size - end < tarfile.BLOCKSIZE:
        raise tarfile.ReadError(f"its end is missing, it breaks off at byte {end}")
    if any(map(any, file.pieces(end, file.size - end))):
        raise tarfile.ReadError(f"something else than members follows byte {end}")


class _Headers:
    """Just enough of a file for tarfile, which reads headers by it and nothing else."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self._at = 0

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _LONGEST_HEADER:
            raise tarfile.ReadError(f"a header of {size} bytes at byte {self._at}")
        piece = self._file.read(self._at, size) if self._at < self._file.size else b""
        self._at += len(piece)
        return piece

    def seek(self, position: int) -> int:
        self._at = position
        return position

    def tell(self) -> int:
        return self._at
