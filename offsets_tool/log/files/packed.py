"""Expands a compressed file, once, into a file without a name in the system's temporary directory (TMPDIR): memory stays flat.

The only place where whole files are decompressed (what a batch holds is log/batches/compression.py's), and so where they are
bounded: a few bytes can inflate to any number. Knows nothing about logs and tars.
"""

import bz2
import errno
import lzma
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import IO, Final, NamedTuple, Protocol

import cramjam

from offsets_tool.errors import DecodeError, SourceError
from offsets_tool.log.batches.compression import lz4_sizes, zstd_sizes
from offsets_tool.log.files.on_demand import PAGE, BytesOnDemand
from offsets_tool.log.files.open_file import PIECE, OpenFile
from offsets_tool.log.holes import Fetch
from offsets_tool.log.names import Packing

LONGEST_SEGMENT: Final = 1 << 31
"""Bytes: `log.segment.bytes` is an int."""
_UNBOUNDED: Final = 1 << 63
_XZ_MEMORY: Final = 256 << 20
"""Four times what xz -9 asks for."""
_BROKEN: Final = (
    EOFError,
    zlib.error,
    lzma.LZMAError,
    cramjam.DecompressionError,
    DecodeError,
    OSError,
    ValueError,
)


class Expanded(NamedTuple):
    """The decompressed bytes, and what was wrong with the rest of them; None if they are all."""

    file: OpenFile
    problem: str | None


def expand(
    packed: OpenFile,
    packing: Packing,
    source: str,
    start: int = 0,
    size: int | None = None,
    *,
    most: int = _UNBOUNDED,
) -> Expanded:
    """Decompress a file, or a range of it, as far as it goes. SourceError for more bytes than `most`, or than there is room for."""
    part = _Part(packed, start, packed.size - start if size is None else size)
    with tempfile.NamedTemporaryFile(prefix="offsets-tool-") as file:
        room = min(most, shutil.disk_usage(file.name).free // 2)
        problem = None
        try:
            _INFLATE[packing](part, file, room)
        except _NoRoom as error:
            if room == most:
                reason = f"is not decompressed: more than {most} bytes come out, and no log segment has so many; look at it by hand"
            else:
                reason = f"cannot be decompressed ({error}); set TMPDIR to a larger disk"
            raise SourceError(source, reason) from error
        except SourceError as error:
            problem = error.reason
        except _BROKEN as error:
            problem = str(error) or type(error).__name__
        return Expanded(OpenFile(source, os.dup(file.fileno())), problem)


def expand_segment(
    packed: OpenFile, packing: Packing, source: str, start: int = 0, size: int | None = None
) -> OpenFile:
    """Decompress a log segment, or a range of a file that is one. SourceError for one that is cut off or damaged too."""
    expanded = expand(packed, packing, source, start, size, most=LONGEST_SEGMENT)
    if expanded.problem is not None:
        raise SourceError(
            source,
            f"cannot be decompressed ({expanded.problem}); copy it again if it is cut off, or decompress it yourself as far as"
            " it goes",
        )
    return expanded.file


class _NoRoom(Exception):
    """The decompressed copy would fill the disk."""

    def __init__(self, room: int) -> None:
        super().__init__(f"more than half of the free space, {room} bytes, in {tempfile.gettempdir()}")


class _Part:
    """A range of an open file, read from front to back."""

    def __init__(self, file: OpenFile, start: int, size: int) -> None:
        self.file: Final = file
        self.start: Final = start
        self.size: Final = size
        self._at = 0

    def read(self, size: int) -> bytes:
        left = self.size - self._at
        piece = self.file.read(self.start + self._at, min(size, left)) if left else b""
        self._at += len(piece)
        return piece


def _write(pieces: Iterator[bytes], file: IO[bytes], room: int) -> None:
    try:
        for piece in pieces:
            if file.tell() + len(piece) > room:
                raise _NoRoom(room)
            file.write(piece)
    finally:
        _flush(file, room)


def _flush(file: IO[bytes], room: int) -> None:
    try:
        file.flush()
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _NoRoom(room) from error
        raise


def _gunzip(packed: _Part, file: IO[bytes], room: int) -> None:
    _write(_streams(packed, _Gzip), file, room)


class _Stream(Protocol):
    """A decompressor of the standard library: of bz2 or of lzma."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Gzip:
    """zlib's own, alike."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def needs_input(self) -> bool:
        return not self._stream.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        return self._stream.decompress(self._stream.unconsumed_tail + data, max_length)


def _unbzip2(packed: _Part, file: IO[bytes], room: int) -> None:
    _write(_streams(packed, bz2.BZ2Decompressor), file, room)


def _unxz(packed: _Part, file: IO[bytes], room: int) -> None:
    _write(_streams(packed, lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY)), file, room)


def _streams(packed: _Part, make: Callable[[], _Stream]) -> Iterator[bytes]:
    """Yield the decompressed content of a file's streams, one after another; zeros between them are skipped, as xz allows."""
    data = packed.read(PIECE)
    while data:
        stream = make()
        while not stream.eof:
            if stream.needs_input and not data and not (data := packed.read(PIECE)):
                raise EOFError("the compressed stream ends early")
            yield stream.decompress(data, PIECE)
            data = b""
        data = stream.unused_data.lstrip(b"\0") or packed.read(PIECE).lstrip(b"\0")


def _unzstd(packed: _Part, file: IO[bytes], room: int) -> None:
    _by_cramjam(packed, file, room, zstd_sizes, cramjam.zstd.decompress_into)


def _unlz4(packed: _Part, file: IO[bytes], room: int) -> None:
    _by_cramjam(packed, file, room, lz4_sizes, cramjam.lz4.decompress_into)


def _by_cramjam(
    packed: _Part,
    file: IO[bytes],
    room: int,
    sizes: Callable[[memoryview, Fetch], Iterator[int]],
    inflate: Callable[[cramjam.File, cramjam.File], int],
) -> None:
    """Decompress into a file by cramjam, which cannot be stopped midway: so the headers of blocks are held against `room` first."""
    with tempfile.NamedTemporaryFile(prefix="offsets-tool-") as copy:
        # What cannot be read is an error here, and a range of a tar a file of its own.
        for piece in packed.file.pieces(packed.start, packed.size):
            copy.write(piece)
        _flush(copy, room)
        _check_room(OpenFile(copy.name, os.dup(copy.fileno())), sizes, room)
        if packed.size:
            inflate(cramjam.File(copy.name), cramjam.File(file.name, read=True, write=True, truncate=True))


def _check_room(copy: OpenFile, sizes: Callable[[memoryview, Fetch], Iterator[int]], room: int) -> None:
    headers = BytesOnDemand(copy, block=PAGE)
    bound = 0
    # A file that is cut off is inflated as far as it goes; whoever does it says what is wrong.
    with suppress(DecodeError):
        for size in sizes(headers.data, headers.fetch):
            bound += size
            if bound > room:
                raise _NoRoom(room)


_INFLATE: Final[dict[Packing, Callable[[_Part, IO[bytes], int], None]]] = {
    Packing.GZIP: _gunzip,
    Packing.ZSTD: _unzstd,
    Packing.BZIP2: _unbzip2,
    Packing.XZ: _unxz,
    Packing.LZ4: _unlz4,
}
