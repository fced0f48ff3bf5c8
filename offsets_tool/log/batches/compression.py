"""Decompresses one batch as Kafka's readers do, and never past a limit: a few bytes may claim to inflate to many gigabytes.

gzip with concatenated members, snappy raw and in the framing of snappy-java (xerial), LZ4 frames with Kafka's restrictions,
zstd. Header checksums of LZ4 frames are not looked at: magic 0 has them wrong (KAFKA-3160), and the batch's own CRC covers them.
Knows nothing about batches; every failure is a DecodeError.
"""

import struct
import zlib
from collections.abc import Callable, Generator, Iterator
from typing import Final, NamedTuple

import cramjam

from offsets_tool.errors import DecodeError
from offsets_tool.log.batches.limits import MAX_BATCH_BYTES, REMEDY
from offsets_tool.log.holes import Fetch, all_there
from offsets_tool.rows import Codec

_INT_BE: Final = struct.Struct(">i")
_INT_LE: Final = struct.Struct("<I")


def inflate(codec: Codec, data: memoryview, limit: int = MAX_BATCH_BYTES) -> bytes:
    """Return the content of a compressed batch; DecodeError when it is malformed or longer than `limit` bytes."""
    if codec is Codec.NONE:
        return bytes(data)
    reader = _READERS.get(codec)
    if reader is None:
        raise DecodeError("its compression codec is one that Kafka does not know")
    return reader(data, limit)


def _too_long(codec: Codec, data: memoryview, limit: int) -> DecodeError:
    return DecodeError(f"its {len(data)} bytes of {codec} inflate to more than {limit}, {REMEDY}")


_GZIP_PIECE: Final = 4096
"""Bytes fed at once: zlib copies what follows a member, so a batch of many tiny members must not be fed whole."""


def _gunzip(data: memoryview, limit: int) -> bytes:
    """Return the content of concatenated gzip members, as java.util.zip.GZIPInputStream reads them: other bytes after one are
    ignored.
    """
    parts: list[bytes] = []
    at = 0
    while at == 0 or bytes(data[at : at + 3]) == b"\x1f\x8b\x08":
        part, at = _gunzip_member(data, at, limit)
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


def _gunzip_member(data: memoryview, at: int, limit: int) -> tuple[bytes, int]:
    """Return the content of one member of a gzip stream, and where the member ends."""
    member = zlib.decompressobj(wbits=31)
    parts: list[bytes] = []
    left = limit
    while not member.eof:
        piece = data[at : at + _GZIP_PIECE]
        if not piece:
            raise DecodeError("gzip: the stream ends early")
        try:
            parts.append(member.decompress(piece, left + 1))
        except zlib.error as error:
            raise DecodeError(f"gzip: {error}") from error
        left -= len(parts[-1])
        if left < 0:
            raise _too_long(Codec.GZIP, data, limit)
        at += len(piece) - len(member.unused_data)
    return b"".join(parts), at


_XERIAL: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER_SIZE: Final = 16
_XERIAL_HEAD: Final = _INT_BE.unpack_from(_XERIAL)[0]


def _unsnappy(data: memoryview, limit: int) -> bytes:
    if bytes(data[:8]) != _XERIAL:
        return _unsnappy_block(data, limit)
    parts: list[bytes] = []
    for chunk in _xerial_chunks(data):
        parts.append(_unsnappy_block(chunk, limit))
        limit -= len(parts[-1])
    return b"".join(parts)


def _xerial_chunks(data: memoryview) -> Iterator[memoryview]:
    """Yield the chunks that xerial's SnappyInputStream reads: each after its length; a second header may be between them."""
    at = _XERIAL_HEADER_SIZE
    while at < len(data):
        if len(data) - at < 4:
            raise DecodeError("snappy: the stream ends inside a chunk's length")
        size: int = _INT_BE.unpack_from(data, at)[0]
        if size == _XERIAL_HEAD:
            at += _XERIAL_HEADER_SIZE
            continue
        at += 4
        if not 0 <= size <= len(data) - at:
            raise DecodeError(f"snappy: a chunk of {size} bytes where {len(data) - at} are left")
        yield data[at : at + size]
        at += size


def _unsnappy_block(block: memoryview, limit: int) -> bytes:
    try:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > limit:
            raise _too_long(Codec.SNAPPY, block, limit)
        # An element of at most 3 bytes yields at most 64: more is a lie that need not be allocated.
        if size > 64 * len(block):
            raise DecodeError(f"snappy: {len(block)} bytes cannot inflate to {size}")
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise DecodeError(f"snappy: {error}") from error


_LZ4_MAGIC: Final = 0x184D2204
_LZ4_VERSION: Final = 0x40
_LZ4_INDEPENDENT: Final = 0x20
_LZ4_BLOCK_CHECKSUM: Final = 0x10
_LZ4_CONTENT_SIZE: Final = 0x08
_LZ4_CONTENT_CHECKSUM: Final = 0x04
_LZ4_DICTIONARY: Final = 0x01
_LZ4_HEADER: Final = 19
_LZ4_STORED: Final = 0x80000000


def _unlz4(data: memoryview, limit: int) -> bytes:
    """Decompress as Kafka's Lz4BlockInputStream: one frame of independent blocks; what follows the end mark is not read."""
    flags, block_size, at = _lz4_descriptor(data)
    checksum = 4 if flags & _LZ4_BLOCK_CHECKSUM else 0
    # No element of LZ4 yields more than 255 times its size.
    scratch = bytearray(min(block_size, 255 * len(data)))
    parts: list[bytes] = []
    left = limit
    while True:
        if len(data) - at < 4:
            raise DecodeError("lz4: the frame ends without its end mark")
        word: int = _INT_LE.unpack_from(data, at)[0]
        if word == 0:
            return b"".join(parts)
        size = word & ~_LZ4_STORED
        at += 4
        if size > min(block_size, len(data) - at):
            raise DecodeError(f"lz4: a block of {size} bytes where {min(block_size, len(data) - at)} can be")
        block = data[at : at + size]
        parts.append(bytes(block) if word & _LZ4_STORED else _lz4_block(block, scratch))
        left -= len(parts[-1])
        if left < 0:
            raise _too_long(Codec.LZ4, data, limit)
        at += size + checksum


def _lz4_descriptor(data: memoryview) -> tuple[int, int, int]:
    """Return an LZ4 frame's flags, its largest block, and where the first block begins."""
    if len(data) < 7 or _INT_LE.unpack_from(data)[0] != _LZ4_MAGIC:
        raise DecodeError("lz4: the frame does not begin with its magic number")
    flags, largest = data[4], data[5] >> 4 & 7
    if flags & 0xC0 != _LZ4_VERSION or largest < 4:
        raise DecodeError(f"lz4: frame descriptor {flags:#04x} {data[5]:#04x} is unknown")
    if not flags & _LZ4_INDEPENDENT:
        raise DecodeError("lz4: blocks that depend on each other, which Kafka does not read")
    return flags, 1 << (8 + 2 * largest), 15 if flags & _LZ4_CONTENT_SIZE else 7


def _lz4_block(block: memoryview, scratch: bytearray) -> bytes:
    try:
        return bytes(scratch[: cramjam.lz4.decompress_block_into(block, scratch)])
    except cramjam.DecompressionError as error:
        raise DecodeError(f"lz4: {error}") from error


def _unzstd(data: memoryview, limit: int) -> bytes:
    bound = zstd_bound(data)
    # Zeros that nothing is written to take no memory.
    content = bytearray(min(bound, limit))
    try:
        size = cramjam.zstd.decompress_into(data, content)
    except cramjam.DecompressionError as error:
        if bound > limit and "whole buffer" in str(error):
            raise _too_long(Codec.ZSTD, data, limit) from error
        raise DecodeError(f"zstd: {error}") from error
    return bytes(memoryview(content)[:size])


_ZSTD_MAGIC: Final = 0xFD2FB528
_ZSTD_HEADER: Final = 18
_SKIPPABLE: Final = 0x184D2A50
_ZSTD_BLOCK: Final = 128 << 10


class _Frames(NamedTuple):
    """A codec's frames: magic number, longest header, and what gives the bounds of a frame's blocks and returns where it ends."""

    codec: Codec
    magic: int
    header: int
    blocks: Callable[[memoryview, int, Fetch], Generator[int, None, int]]


def zstd_bound(data: memoryview) -> int:
    """Return how many bytes zstd frames inflate to at most, from their block headers alone; DecodeError if these are no frames."""
    return sum(zstd_sizes(data, all_there))


def zstd_sizes(data: memoryview, fetch: Fetch) -> Iterator[int]:
    """Yield for each block of zstd frames how many bytes it inflates to at most (RFC 8878, 3.1.1); DecodeError where they end
    early.
    """
    return _block_sizes(data, fetch, _Frames(Codec.ZSTD, _ZSTD_MAGIC, _ZSTD_HEADER, _zstd_frame))


def _block_sizes(data: memoryview, fetch: Fetch, frames: _Frames) -> Iterator[int]:
    """Yield the bounds of all blocks of frames that follow each other; zstd and LZ4 share the skippable ones."""
    at = 0
    while at < len(data):
        fetch(at, at + frames.header)
        if len(data) - at < 8:
            raise DecodeError(f"{frames.codec}: the stream ends inside a frame's header")
        found: int = _INT_LE.unpack_from(data, at)[0]
        if found & 0xFFFFFFF0 == _SKIPPABLE:
            at += 8 + int(_INT_LE.unpack_from(data, at + 4)[0])
        elif found == frames.magic:
            at = yield from frames.blocks(data, at, fetch)
        else:
            raise DecodeError(f"{frames.codec}: a frame does not begin with its magic number")


def _zstd_frame(data: memoryview, at: int, fetch: Fetch) -> Generator[int, None, int]:
    """Yield the bounds of the blocks of a zstd frame; return where the frame ends."""
    at += 4
    descriptor = data[at]
    single_segment = descriptor >> 5 & 1
    content_size = (single_segment, 2, 4, 8)[descriptor >> 6]
    at += 1 + (1 - single_segment) + (0, 1, 2, 4)[descriptor & 3] + content_size
    last = False
    while not last:
        fetch(at, at + 3)
        if len(data) - at < 3:
            raise DecodeError("zstd: the stream ends inside a frame")
        word = int.from_bytes(data[at : at + 3], "little")
        last, kind, size = bool(word & 1), word >> 1 & 3, word >> 3
        yield _ZSTD_BLOCK if kind == 2 else size
        at += 3 + (1 if kind == 1 else size)
    return at + (4 if descriptor & 4 else 0)


def lz4_sizes(data: memoryview, fetch: Fetch) -> Iterator[int]:
    """Yield for each block of LZ4 frames how many bytes it inflates to at most; DecodeError where they end early."""
    return _block_sizes(data, fetch, _Frames(Codec.LZ4, _LZ4_MAGIC, _LZ4_HEADER, _lz4_frame))


def _lz4_frame(data: memoryview, at: int, fetch: Fetch) -> Generator[int, None, int]:
    """Yield the bounds of the blocks of an LZ4 frame; return where the frame ends."""
    flags, largest = data[at + 4], 1 << (8 + 2 * (data[at + 5] >> 4 & 7))
    checksum = 4 if flags & _LZ4_BLOCK_CHECKSUM else 0
    at += 7 + (8 if flags & _LZ4_CONTENT_SIZE else 0) + (4 if flags & _LZ4_DICTIONARY else 0)
    while True:
        fetch(at, at + 4)
        if len(data) - at < 4:
            raise DecodeError("lz4: the stream ends inside a frame")
        word: int = _INT_LE.unpack_from(data, at)[0]
        if word == 0:
            return at + 4 + (4 if flags & _LZ4_CONTENT_CHECKSUM else 0)
        size = word & ~_LZ4_STORED
        # No element of LZ4 yields more than 255 times its size.
        yield size if word & _LZ4_STORED else min(largest, 255 * size)
        at += 4 + size + checksum


_READERS: Final[dict[Codec, Callable[[memoryview, int], bytes]]] = {
    Codec.GZIP: _gunzip,
    Codec.SNAPPY: _unsnappy,
    Codec.LZ4: _unlz4,
    Codec.ZSTD: _unzstd,
}
