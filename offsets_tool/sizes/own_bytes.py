"""The bytes of a record, and of its batch shared among its records: whole numbers that add up to the bytes of the log.

A record's own bytes are those that Kafka writes for it, uncompressed (DefaultRecord.sizeInBytes, LegacyRecord.recordSize). A
batch's bytes, header included, belong to its records in proportion to these: so an uncompressed record has its own and a part of
the header, and what compression saves is shared alike. Knows nothing of groups.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from offsets_tool.log.batches.header import HEADER_SIZE_V2
from offsets_tool.rows import Batch, Codec, LogRecord, TimestampType

VARINT_STEPS: Final = tuple(1 << 7 * more for more in range(1, 10))
"""A number below the first of these takes one byte as a variable-length integer, and one more for each that it reaches."""
LEGACY_OVERHEAD: Final = {0: 26, 1: 34}
"""Bytes of a message of magic 0 and 1 without its key and value, by magic; a wrapper has as many."""
RECORD_OVERHEAD: Final = 2
"""Bytes of a record of magic 2 that no length changes: its attributes, and how many headers it has, where there are few."""


def own_bytes(record: LogRecord) -> int:
    """Return the bytes that Kafka writes for a record, uncompressed and without its batch's header.

    The time difference from the batch's is not known where the broker set the time; it is taken for one byte. A record of an
    archive, which keeps no batches, counts as one alone in a batch of magic 2.
    """
    data = len(record.key or b"") + len(record.value or b"")
    batch = record.batch
    if batch is not None and batch.magic < 2:
        return LEGACY_OVERHEAD[batch.magic] + data
    lengths = sum(_varint_bytes(_length(field)) for field in (record.key, record.value))
    headers = sum(_header_bytes(key, value) for key, value in record.headers)
    counted = _varint_bytes(len(record.headers)) - 1 + headers
    body = RECORD_OVERHEAD + data + lengths + counted + _delta_bytes(record, batch)
    return _varint_bytes(body) + body


def _header_bytes(key: bytes, value: bytes | None) -> int:
    fields = (key, value)
    return sum(_varint_bytes(_length(field)) + len(field or b"") for field in fields)


def _length(field: bytes | None) -> int:
    return -1 if field is None else len(field)


def _delta_bytes(record: LogRecord, batch: Batch | None) -> int:
    if batch is None:
        return 2
    is_known = batch.timestamp_type is not TimestampType.LOG_APPEND_TIME
    time = _varint_bytes(record.timestamp - batch.base_timestamp) if is_known else 1
    return time + _varint_bytes(record.log_offset - batch.base_offset)


def _varint_bytes(value: int) -> int:
    """Return how many bytes a zig-zag integer takes."""
    zigzag = value << 1 if value >= 0 else (-value << 1) - 1
    return 1 + sum(zigzag >= step for step in VARINT_STEPS)


def overhead_of(batch: Batch) -> int:
    """Return the bytes of a batch that stay whichever of its records go: its header, or that of a wrapper."""
    if batch.magic == 2:
        return HEADER_SIZE_V2
    return 0 if batch.codec is Codec.NONE else LEGACY_OVERHEAD[batch.magic]


def shared(total: int, weights: Sequence[int]) -> list[int]:
    """Share a total in proportion to weights, in whole numbers that add up to it: by largest remainder, of equal ones the first.

    >>> shared(100, [1, 1, 1])
    [34, 33, 33]
    """
    if len(weights) == 1:
        return [total]
    whole = sum(weights)
    parts = [divmod(total * weight, whole) for weight in weights]
    left = total - sum(part for part, _ in parts)
    most = sorted(range(len(parts)), key=lambda at: -parts[at][1])[:left]
    more = set(most)
    return [part + (at in more) for at, (part, _) in enumerate(parts)]


def left_bytes(size: int, overhead: int, whole: int, kept: Iterable[int]) -> int:
    """Return the bytes of a batch of `size` once only records with these own bytes are left, of `whole` that it had.

    Exact where it is not compressed; of a compressed one the content shrinks in proportion.
    """
    return overhead + (size - overhead) * sum(kept) // whole
