"""Writes batches of magic 2 as a broker does: framed records, a codec, a checksum. Knows nothing of what keys and values mean."""

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

import cramjam
import crc32c

_TAIL: Final = struct.Struct(">hiqqqhii")
_HEAD: Final = struct.Struct(">qiibI")
_OFFSET: Final = struct.Struct(">q")
_PLACE: Final = struct.Struct(">qi")
_LAST_DELTA: Final = struct.Struct(">i")
_LAST_DELTA_AT: Final = 23
HEADER: Final = _HEAD.size + _TAIL.size
_TRANSACTIONAL: Final = 16
_CONTROL: Final = 32
_XERIAL: Final = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
_SNAPPY_BLOCK: Final = 1 << 15
_LZ4_FRAME: Final = bytes.fromhex("04224d18604082")
"""The header of an LZ4 frame: magic, independent blocks of 64 KiB, no checksums, and the descriptor's own checksum."""
_LZ4_BLOCK: Final = 1 << 16
_LZ4_RAW: Final = 1 << 31


class Record(NamedTuple):
    """A key and its value; None is a tombstone."""

    key: bytes
    value: bytes | None


class Batch(NamedTuple):
    """Records that a broker appends at once: of one time (ms), and of one producer (id, epoch, first sequence) if they have one."""

    records: list[Record]
    timestamp: int
    producer: tuple[int, int, int] = (-1, -1, -1)
    is_transactional: bool = False
    is_control: bool = False


def write_batches(batches: Iterable[Batch], size: int, codec: str = "none") -> bytes:
    """Return batches as the bytes of a segment from offset 0 on, until `size` bytes before compression are written."""
    written: list[bytes] = []
    held, offset = 0, 0
    for batch in batches:
        if held >= size:
            break
        content = b"".join(map(_framed, range(len(batch.records)), batch.records))
        written.append(_batch(batch, offset, codec, content))
        held += len(content) + HEADER
        offset += len(batch.records)
    return b"".join(written)


def repeated(segment: bytes, times: int) -> Iterator[bytes]:
    """Yield a segment `times` times, with continuous offsets: a batch's checksum does not cover its first offset."""
    starts = list(_starts(segment))
    if not starts:
        yield from [segment] * times
        return
    base, _ = _PLACE.unpack_from(segment, starts[-1])
    step = base + _LAST_DELTA.unpack_from(segment, starts[-1] + _LAST_DELTA_AT)[0] + 1
    for turn in range(times):
        copy = bytearray(segment)
        for start in starts:
            _OFFSET.pack_into(copy, start, _OFFSET.unpack_from(segment, start)[0] + turn * step)
        yield bytes(copy)


def _starts(segment: bytes) -> Iterator[int]:
    at = 0
    while at < len(segment):
        yield at
        at += _PLACE.size + _PLACE.unpack_from(segment, at)[1]


def _batch(batch: Batch, base_offset: int, codec: str, content: bytes) -> bytes:
    flags = CODECS.index(codec) | _TRANSACTIONAL * batch.is_transactional | _CONTROL * batch.is_control
    count, time = len(batch.records), batch.timestamp
    tail = _TAIL.pack(flags, count - 1, time, time, *batch.producer, count) + _PACK[codec](content)
    return _HEAD.pack(base_offset, len(tail) + 9, 0, 2, crc32c.crc32c(tail)) + tail


def _varint(value: int) -> bytes:
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


_VARINTS: Final = tuple(map(_varint, range(1 << 14)))
_NULL: Final = _varint(-1)


def _framed(number: int, record: Record) -> bytes:
    key, value = record
    held = _NULL if value is None else _VARINTS[len(value)] + value
    # No attributes, no time after the batch's, no headers.
    body = b"\0\0" + _VARINTS[number] + _VARINTS[len(key)] + key + held + b"\0"
    return _VARINTS[len(body)] + body


def _gzip(content: bytes) -> bytes:
    packer = zlib.compressobj(wbits=31)
    return packer.compress(content) + packer.flush()


def _snappy(content: bytes) -> bytes:
    starts = range(0, len(content), _SNAPPY_BLOCK)
    blocks = [bytes(cramjam.snappy.compress_raw(content[at : at + _SNAPPY_BLOCK])) for at in starts]
    return _XERIAL + b"".join(len(block).to_bytes(4, "big") + block for block in blocks)


def _lz4(content: bytes) -> bytes:
    blocks = [_lz4_block(content[at : at + _LZ4_BLOCK]) for at in range(0, len(content), _LZ4_BLOCK)]
    return _LZ4_FRAME + b"".join(blocks) + bytes(4)


def _lz4_block(content: bytes) -> bytes:
    packed = bytes(cramjam.lz4.compress_block(content, store_size=False))
    if len(packed) < len(content):
        return len(packed).to_bytes(4, "little") + packed
    return (len(content) | _LZ4_RAW).to_bytes(4, "little") + content


def _zstd(content: bytes) -> bytes:
    return bytes(cramjam.zstd.compress(content))


_PACK: Final[dict[str, Callable[[bytes], bytes]]] = {
    "none": bytes,
    "gzip": _gzip,
    "snappy": _snappy,
    "lz4": _lz4,
    "zstd": _zstd,
}
CODECS: Final = tuple(_PACK)
"""The codecs by the number that a batch's attributes hold."""
