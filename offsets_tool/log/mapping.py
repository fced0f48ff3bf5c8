"""Maps a file's bytes into memory without reading them: plain, compressed, or a member of a tar.

Compressed copies are decompressed once, to a file without a name in the system's temporary directory (TMPDIR), so that
memory stays flat whatever the size. A live log that its broker truncates while it is read ends the process, as with any
mapped file: copy a running broker's directory first. Knows nothing about logs. Raises SourceError for what cannot be opened.
"""

import errno
import gzip
import hashlib
import mmap
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import IO, Final

import cramjam

from offsets_tool.errors import DecodeError, SourceError
from offsets_tool.log.compression import zstd_bound
from offsets_tool.log.names import NO_FILE, Packing, member_source, segment_name, tar_name

_PIECE: Final = 1 << 20
_RELEASE_EVERY: Final = 16 << 20


class MappedFile:
    """The bytes of one file; `release` gives memory back while a long file is read from front to back."""

    def __init__(
        self,
        mapped: mmap.mmap | bytes,
        start: int = 0,
        size: int | None = None,
        *,
        is_as_on_disk: bool = True,
    ) -> None:
        size = len(mapped) - start if size is None else size
        self.data: Final = memoryview(mapped)[start : start + size]
        self.is_as_on_disk: Final = is_as_on_disk
        self._mapped = mapped
        self._start = start
        self._released = 0

    def release(self, position: int) -> None:
        """Bytes before `position` will hardly be wanted again; reading them again stays possible."""
        if position - self._released < _RELEASE_EVERY or not isinstance(self._mapped, mmap.mmap):
            return
        self._released = position
        if hasattr(mmap, "MADV_DONTNEED"):
            end = (self._start + position) // mmap.PAGESIZE * mmap.PAGESIZE
            self._mapped.madvise(mmap.MADV_DONTNEED, 0, end)


def map_file(path: str, member: str = "") -> MappedFile:
    """The log's bytes: decompressed, and taken out of its tar."""
    name = PurePosixPath(path).name
    if not member:
        packing = _packing(name)
        return MappedFile(_unpacked(path, packing), is_as_on_disk=packing is Packing.NONE)
    archive = _archive(path)
    start, size = _member_range(archive, path, member)
    packing = _packing(PurePosixPath(member).name)
    if packing is Packing.NONE:
        return MappedFile(archive, start, size)
    inside = memoryview(archive)[start : start + size]
    return MappedFile(_inflated(inside, member_source(path, member), packing), is_as_on_disk=False)


def raw_pieces(path: str, member: str = "") -> Iterator[memoryview]:
    """The bytes as they lie on disk (of the member, in a tar), piece by piece: what a SHA-256 of the evidence is of."""
    if not member:
        mapped = MappedFile(_map(path))
    else:
        archive = _archive(path)
        mapped = MappedFile(archive, *_member_range(archive, path, member))
    for start in range(0, len(mapped.data), _PIECE):
        yield mapped.data[start : start + _PIECE]
        mapped.release(start)


def sha256(path: str, member: str = "") -> str:
    """Hexadecimal, of the file as it lies on disk."""
    digest = hashlib.sha256()
    for piece in raw_pieces(path, member):
        digest.update(piece)
    return digest.hexdigest()


@contextmanager
def open_tar(path: str) -> Iterator[tarfile.TarFile]:
    """A tar, decompressed if need be. SourceError too where it does not end as a tar does: members may be missing."""
    archive = _archive(path)
    with _tar_errors(path), tarfile.open(fileobj=_seekable(archive), mode="r:") as opened:
        opened.getmembers()
        _check_end(memoryview(archive), opened.offset)
        yield opened


def _check_end(archive: memoryview, end: int) -> None:
    """tarfile stops at any header that it cannot read, without a word; only zeros, a block of them at least, are an end."""
    if len(archive) - end < tarfile.BLOCKSIZE:
        raise tarfile.ReadError(f"its end is missing, it breaks off at byte {end}")
    for start in range(end, len(archive), _PIECE):
        if any(archive[start : start + _PIECE]):
            raise tarfile.ReadError(f"something else than members follows byte {end}")


def _archive(path: str) -> mmap.mmap | bytes:
    tar = tar_name(PurePosixPath(path).name)
    return _unpacked(path, tar.packing if tar else Packing.NONE)


def _packing(name: str) -> Packing:
    log = segment_name(name)
    return log.packing if log else Packing.NONE


@contextmanager
def _tar_errors(path: str) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError, ValueError) as error:
        # ValueError: the mmap's, where a tar is cut off inside a member and is asked for what follows.
        raise SourceError(
            path,
            f"this is not a tar that can be read ({error}); copy it again if it is cut off, or unpack it as far as it goes and"
            " give the folder",
        ) from error


def _seekable(archive: mmap.mmap | bytes) -> IO[bytes]:
    if isinstance(archive, bytes):
        raise tarfile.ReadError("it is empty")
    archive.seek(0)
    return archive  # type: ignore[return-value]  # a mmap reads, seeks and tells, which is all that tarfile asks


def _member_range(archive: mmap.mmap | bytes, path: str, member: str) -> tuple[int, int]:
    with _tar_errors(path), tarfile.open(fileobj=_seekable(archive), mode="r:") as opened:
        try:
            info = resolve_link(opened, opened.getmember(member))
        except KeyError:
            raise SourceError(path, f"it has no member {member}; list it with tar -tf") from None
    if info.issparse():
        raise SourceError(
            path, f"member {member} is stored as a sparse file; unpack the tar and give the folder"
        )
    return info.offset_data, info.size


def resolve_link(opened: tarfile.TarFile, info: tarfile.TarInfo) -> tarfile.TarInfo:
    """A hard link inside a tar stands for an earlier member; KeyError if that is not there."""
    return opened.getmember(info.linkname) if info.islnk() else info


def _map(path: str) -> mmap.mmap | bytes:
    try:
        if not Path(path).is_file() and Path(path).exists():
            raise SourceError(path, NO_FILE)
        with Path(path).open("rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return b""
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise SourceError(
            path, f"cannot be opened ({error.strerror}); check the path and its permissions"
        ) from error


def _unpacked(path: str, packing: Packing) -> mmap.mmap | bytes:
    if packing is Packing.NONE:
        return _map(path)
    try:
        stat = Path(path).stat()
    except OSError as error:
        raise SourceError(
            path, f"cannot be opened ({error.strerror}); check the path and its permissions"
        ) from error
    return _unpacked_once(path, packing, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=2)
def _unpacked_once(path: str, packing: Packing, _mtime: int, _size: int) -> mmap.mmap | bytes:
    """One archive holds many segments; it is not decompressed for each."""
    return _inflated(memoryview(_map(path)), path, packing)


def _inflated(packed: memoryview, source: str, packing: Packing) -> mmap.mmap | bytes:
    with tempfile.NamedTemporaryFile(prefix="offsets-tool-") as file:
        room = shutil.disk_usage(file.name).free // 2
        inflate = _gunzip_into if packing is Packing.GZIP else _unzstd_into
        try:
            inflate(packed, file, room)
        except (
            EOFError,
            gzip.BadGzipFile,
            zlib.error,
            cramjam.DecompressionError,
            DecodeError,
            OSError,
        ) as error:
            raise SourceError(
                source,
                f"cannot be decompressed ({error}); copy it again if it is cut off, set TMPDIR to a larger disk if it lacks"
                " room, or decompress it yourself as far as it goes",
            ) from error
        return _map(file.name)


def _no_room(room: int) -> OSError:
    # A few bytes can inflate to any number: half of what is free is left to others.
    return OSError(
        errno.ENOSPC, f"more than half of the free space, {room} bytes, in {tempfile.gettempdir()}"
    )


def _gunzip_into(packed: memoryview, file: IO[bytes], room: int) -> None:
    with gzip.GzipFile(fileobj=_BufferReader(packed)) as unzipped:
        while piece := unzipped.read(_PIECE):
            if file.tell() > room:
                raise _no_room(room)
            file.write(piece)
    file.flush()


def _unzstd_into(packed: memoryview, file: IO[bytes], room: int) -> None:
    if zstd_bound(packed) > room:
        raise _no_room(room)
    if len(packed):
        cramjam.zstd.decompress_into(packed, cramjam.File(file.name, read=True, write=True, truncate=True))


class _BufferReader:
    """Just enough of a file for gzip, over bytes that are mapped anyway."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._at = 0

    def read(self, size: int = -1) -> bytes:
        end = len(self._data) if size < 0 else self._at + size
        piece = bytes(self._data[self._at : end])
        self._at += len(piece)
        return piece

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, len(self._data))[whence]
        return self._at

    def tell(self) -> int:
        return self._at
