"""The header of one batch: where it ends, what it says about itself, and whether its checksum is right.

Magic 0 and 1 (one message, perhaps a wrapper around others) and magic 2 (a record batch). Knows nothing about records:
for a wrapper, `base_offset` and `count` are the wrapper's own until its content has been read.
Source: Kafka's DefaultRecordBatch, LegacyRecord and FileLogInputStream.
"""

import struct
from typing import Final, NamedTuple

from offsets_tool.errors import DecodeError
from offsets_tool.log.batches.crc import Checksums
from offsets_tool.log.batches.draft import draft_of
from offsets_tool.log.holes import Fetch, all_there
from offsets_tool.rows import NO_TIMESTAMP, Batch, Codec, TimestampType
from offsets_tool.wire.longs import MAX_LONG

LOG_OVERHEAD: Final = 12
MAGIC_AT: Final = 16
SHORTEST_HEADER: Final = MAGIC_AT + 1
HEADER_SIZE_V2: Final = 61
MAX_INT: Final = 2**31 - 1

_V2: Final = struct.Struct(">qiiBIhiqqqhii")
_OFFSETS_V2: Final = struct.Struct(">qiiBIhi")
_LEGACY: Final = struct.Struct(">qiIBB")
_LONG: Final = struct.Struct(">q")
_INT: Final = struct.Struct(">i")
_SMALLEST_SIZE: Final = {0: 14, 1: 22, 2: HEADER_SIZE_V2 - LOG_OVERHEAD}
CODECS: Final = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD, *[Codec.UNKNOWN] * 3)

_Draft: Final = draft_of(Batch)


class TornBatch(DecodeError):
    """Raised where the bytes end before the batch does."""


def increment_sequence(sequence: int, increment: int) -> int:
    """Return a sequence number plus `increment`, wrapping from 2^31 - 1 to 0 (Kafka's DefaultRecordBatch.incrementSequence)."""
    if sequence > MAX_INT - increment:
        return increment - (MAX_INT - sequence) - 1
    return sequence + increment


def read_header(data: memoryview, position: int, checksums: Checksums | None = None) -> Batch:
    """Read the header at `position` and compute its checksum.

    DecodeError when no header can be there, TornBatch when one may be there but the bytes end before the batch.
    """
    if len(data) - position < SHORTEST_HEADER:
        raise TornBatch(f"{max(0, len(data) - position)} bytes are too few for a header", position)
    magic = data[position + MAGIC_AT]
    size = _size(data, position, magic)
    if position + size > len(data):
        offset = _LONG.unpack_from(data, position)[0]
        have = len(data) - position
        raise TornBatch(f"a batch at offset {offset} of {size} bytes, of which {have} are there", position)
    checksums = checksums or Checksums(data)
    if magic == 2:
        return _read_v2(data, position, size, checksums)
    return _read_legacy(data, position, size, magic, checksums)


class Span(NamedTuple):
    """The size in bytes of a batch of magic 2, and its first and last offset."""

    size: int
    first: int
    last: int


def read_span(data: memoryview, position: int, checksums: Checksums) -> Span | None:
    """Return the size and offsets of a sound batch of magic 2 at `position`, more quickly than `read_header`; None for all else."""
    if len(data) - position < HEADER_SIZE_V2 or data[position + MAGIC_AT] != 2:
        return None
    first, length, _, _, crc, _, delta = _OFFSETS_V2.unpack_from(data, position)
    end = position + LOG_OVERHEAD + length
    if length < _SMALLEST_SIZE[2] or end > len(data) or first < 0 or not 0 <= delta <= MAX_LONG - first:
        return None
    if checksums.crc32c(position + 21, end) != crc or _INT.unpack_from(data, position + 57)[0] < 0:
        return None
    return Span(length + LOG_OVERHEAD, first, first + delta)


def key_at(magic: int) -> int:
    """Return where a legacy message's key length is, in bytes from the start of its entry."""
    return 18 if magic == 0 else 26


def lengths_fill(data: memoryview, position: int, fetch: Fetch = all_there) -> bool:
    """Return whether a legacy message's key and value fill it exactly, which is cheaper to ask than its checksum."""
    at = position + key_at(data[position + MAGIC_AT])
    end = position + LOG_OVERHEAD + int(_INT.unpack_from(data, position + 8)[0])
    if end > len(data):
        return False
    for _ in ("key", "value"):
        if at + 4 > end:
            return False
        fetch(at, at + 4)
        at += 4 + max(0, _INT.unpack_from(data, at)[0])
    return at == end


def _size(data: memoryview, position: int, magic: int) -> int:
    smallest = _SMALLEST_SIZE.get(magic)
    if smallest is None:
        raise DecodeError(f"magic {magic} is none of 0, 1, 2", position + MAGIC_AT)
    size: int = _INT.unpack_from(data, position + 8)[0]
    if size < smallest:
        raise DecodeError(f"size {size} is below {smallest}, the least for magic {magic}", position + 8)
    return size + LOG_OVERHEAD


def _read_v2(data: memoryview, position: int, size: int, checksums: Checksums) -> Batch:
    (
        base_offset,
        _,
        partition_leader_epoch,
        magic,
        crc,
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    ) = _V2.unpack_from(data, position)
    _check_offsets(base_offset, last_offset_delta, position)
    if count < 0:
        raise DecodeError(f"record count {count} is negative", position + 57)
    draft = _Draft(
        position=position,
        size=size,
        magic=magic,
        codec=CODECS[attributes & 7],
        crc=crc,
        crc_valid=crc == checksums.crc32c(position + 21, position + size),
        base_offset=base_offset,
        last_offset=base_offset + last_offset_delta,
        timestamp_type=TimestampType.LOG_APPEND_TIME if attributes & 8 else TimestampType.CREATE_TIME,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        count=count,
        partition_leader_epoch=partition_leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=bool(attributes & 16),
        is_control=bool(attributes & 32),
        delete_horizon_ms=base_timestamp if attributes & 64 else None,
    )
    draft.__class__ = Batch
    batch: Batch = draft
    return batch


def _check_offsets(base_offset: int, last_offset_delta: int, position: int) -> None:
    if base_offset < 0:
        raise DecodeError(f"base offset {base_offset} is negative", position)
    if last_offset_delta < 0 or base_offset + last_offset_delta > MAX_LONG:
        raise DecodeError(f"last offset delta {last_offset_delta} is impossible", position + 23)


def _read_legacy(data: memoryview, position: int, size: int, magic: int, checksums: Checksums) -> Batch:
    offset, _, crc, _, attributes = _LEGACY.unpack_from(data, position)
    _check_offsets(offset, 0, position)
    timestamp = NO_TIMESTAMP if magic == 0 else _LONG.unpack_from(data, position + 18)[0]
    return Batch(
        position=position,
        size=size,
        magic=magic,
        codec=CODECS[attributes & 7],
        crc=crc,
        crc_valid=crc == checksums.crc32(position + MAGIC_AT, position + size),
        base_offset=offset,
        last_offset=offset,
        timestamp_type=legacy_timestamp_type(magic, attributes),
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        count=1,
    )


def legacy_timestamp_type(magic: int, attributes: int) -> TimestampType:
    """Return who set a legacy message's time: magic 0 has no times, in magic 1 bit 3 says that the broker did."""
    if magic == 0:
        return TimestampType.NO_TIMESTAMP
    return TimestampType.LOG_APPEND_TIME if attributes & 8 else TimestampType.CREATE_TIME
