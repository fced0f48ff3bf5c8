"""Batches and their records as columns of numbers, of what the reference reader has read, and the bytes that are a record's.

A record's own bytes are those that Kafka writes for it, uncompressed (DefaultRecord.sizeInBytes, LegacyRecord.recordSize). A
batch's bytes, header included, belong to its records in proportion to these: so an uncompressed record has its own and a part of
the header, and what compression saves is shared alike. Knows nothing of groups.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.log.batches.header import HEADER_SIZE_V2
from offsets_tool.rows import Batch, BatchRead, Codec, Header, LogRecord, TimestampType

NO_KEY: Final = -1
COMMIT: Final = b"\0\0\0\1"
"""The key of a marker that commits."""
LATEST: Final = int(np.iinfo(np.int64).max)
"""The delete horizon of batches that have none."""
_VARINT_STEPS: Final = tuple(1 << 7 * more for more in range(1, 10))
"""A number below the first of these takes one byte as a variable-length integer, and one more for each that it reaches."""
_LEGACY_OVERHEAD: Final = {0: 26, 1: 34, 2: 0}
"""Bytes of a message of magic 0 and 1 without its key and value, by magic; a wrapper has as many."""
_RECORD_OVERHEAD: Final = 2
"""Bytes of a record of magic 2 that no length changes: its attributes, and how many headers it has, where there are few."""


class SizedBatches(NamedTuple):
    """Facts of batches that are summed up and that the cleaner looks at."""

    base_offset: Array
    last_offset: Array
    size: Array
    overhead: Array
    """Bytes that stay whichever of its records go: its header, or that of a wrapper."""
    delete_horizon: Array
    timestamp: Array
    """The newest time of its records."""
    producer_id: Array
    producer_epoch: Array
    records: Array
    is_control: Array
    is_transactional: Array
    commits: Array
    """Whether it is the marker of a committed transaction."""
    is_misplaced: Array


class SizedRecords(NamedTuple):
    """The records of SizedBatches, in the order of the log."""

    batch: Array
    """The place of a record's batch."""
    log_offset: Array
    timestamp: Array
    key: Array
    """The number of its key; NO_KEY without one, and of markers."""
    own: Array
    is_tombstone: Array


_FLAGS: Final = ("is_control", "is_transactional", "commits", "is_misplaced")


class Sized(NamedTuple):
    """Batches, and their records."""

    batches: SizedBatches
    records: SizedRecords


class GatheredRecords:
    """Batches that the reference reader has read, and rows of an archive, of which each is a batch of its own."""

    def __init__(self, key_number: Callable[[bytes], int]) -> None:
        """Start without any; `key_number` returns the number of a key."""
        self._key_number = key_number
        self._batches: list[tuple[int, ...]] = []
        self._records: list[tuple[int, ...]] = []

    def __len__(self) -> int:
        return len(self._batches) + len(self._records)

    def add(self, item: BatchRead | LogRecord) -> None:
        """Add a batch or a row."""
        records = (item,) if isinstance(item, LogRecord) else item.records
        place = len(self._batches)
        self._records += ((place, *_record_facts(record, self._key_number)) for record in records)
        self._batches.append(_row_facts(item) if isinstance(item, LogRecord) else _batch_facts(item))

    def take(self) -> Sized:
        """Return what was added as columns, and start anew."""
        batches = SizedBatches._make(_columns(self._batches, len(SizedBatches._fields)))
        batches = batches._replace(**{name: getattr(batches, name) > 0 for name in _FLAGS})
        batch, log_offset, timestamp, key, key_size, value_size, headers, base_timestamp, legacy = _columns(
            self._records, 9
        )
        self._batches, self._records = [], []
        offsets, times = log_offset - batches.base_offset[batch], timestamp - base_timestamp
        own = own_sizes(key_size, value_size, offsets, times, headers)
        own = np.where(legacy > 0, legacy + np.maximum(key_size, 0) + np.maximum(value_size, 0), own)
        size = np.where(batches.size < 0, sums_by(batch, own, len(batches.size)), batches.size)
        records = SizedRecords(batch, log_offset, timestamp, key, own, value_size < 0)
        return Sized(batches._replace(size=size), records)


def _columns(rows: Sequence[tuple[int, ...]], count: int) -> Array:
    return np.array(rows, np.int64).reshape(-1, count).T


def _batch_facts(read: BatchRead) -> tuple[int, ...]:
    batch = read.batch
    return (
        batch.base_offset,
        batch.last_offset,
        batch.size,
        _overhead(batch),
        LATEST if batch.delete_horizon_ms is None else batch.delete_horizon_ms,
        batch.max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        len(read.records),
        batch.is_control,
        batch.is_transactional,
        batch.is_control and bool(read.records) and read.records[0].key == COMMIT,
        read.misplaced is not None,
    )


def _overhead(batch: Batch) -> int:
    if batch.magic == 2:
        return HEADER_SIZE_V2
    return 0 if batch.codec is Codec.NONE else _LEGACY_OVERHEAD[batch.magic]


def _row_facts(row: LogRecord) -> tuple[int, ...]:
    """Return the facts of a row of an archive as of a batch that has it alone, and as many bytes as are its own."""
    place, time = row.log_offset, row.timestamp
    return (place, place, -1, 0, LATEST, time, -1, -1, 1, row.is_control, False, False, False)


def _record_facts(record: LogRecord, key_number: Callable[[bytes], int]) -> tuple[int, ...]:
    """Return the facts of a record from which its own bytes are told.

    The time difference from the batch's is not known where the broker set the time, and in a row of an archive; it is taken for
    one byte.
    """
    key, batch = record.key, record.batch
    has_times = batch is not None and batch.timestamp_type is not TimestampType.LOG_APPEND_TIME
    return (
        record.log_offset,
        record.timestamp,
        NO_KEY if key is None or record.is_control else key_number(key),
        _length(key),
        _length(record.value),
        _header_bytes(record.headers) if record.headers else 0,
        batch.base_timestamp if batch is not None and has_times else record.timestamp,
        0 if batch is None else _LEGACY_OVERHEAD[batch.magic],
    )


def _length(field: bytes | None) -> int:
    return -1 if field is None else len(field)


def _header_bytes(headers: Sequence[Header]) -> int:
    """Return the bytes of a record's headers, and those by which their number is longer than one byte."""
    lengths = [_length(field) for header in headers for field in header]
    return int(_varint_bytes(np.array([len(headers), *lengths])).sum()) - 1 + sum(max(0, n) for n in lengths)


def own_sizes(key_sizes: Array, value_sizes: Array, offsets: Array, times: Array, headers: Array) -> Array:
    """Return the own bytes of records of magic 2: `offsets` and `times` are differences from the batch's, sizes -1 where null."""
    body = _RECORD_OVERHEAD + np.maximum(key_sizes, 0) + np.maximum(value_sizes, 0) + headers
    for number in (times, offsets, key_sizes, value_sizes):
        body += _varint_bytes(number)
    return body + _varint_bytes(body)


def _varint_bytes(values: Array) -> Array:
    """Return how many bytes zig-zag integers take."""
    zigzag = ((values << 1) ^ (values >> 63)).view(np.uint64)
    highest = int(zigzag.max(initial=0))
    size = np.ones(len(values), np.int64)
    for step in _VARINT_STEPS:
        if highest < step:
            break
        size += zigzag >= np.uint64(step)
    return size


def shared(totals: Array, weights: Array, batch: Array) -> Array:
    """Share totals of batches among records in proportion to weights, in whole numbers that add up: by largest remainder.

    `batch` is the place of a record's batch; of equal remainders the first comes first.

    >>> shared(np.array([100]), np.ones(3, np.int64), np.zeros(3, np.int64)).tolist()
    [34, 33, 33]
    """
    whole = sums_by(batch, weights, len(totals))
    products = totals[batch] * weights
    parts = products // whole[batch]
    lacking = totals - sums_by(batch, parts, len(totals))
    rows = np.flatnonzero(lacking[batch] > 0)
    if len(rows):
        remainders = (products - parts * whole[batch])[rows]
        order = rows[np.lexsort((rows, -remainders, batch[rows]))]
        its_batch = batch[order]
        rank = np.arange(len(order)) - np.searchsorted(its_batch, its_batch)
        parts[order[rank < lacking[its_batch]]] += 1
    return parts


def sums_by(places: Array, numbers: Array, count: int) -> Array:
    """Return the sums of numbers by their places, which are below `count`."""
    return np.bincount(places, numbers, count).astype(np.int64)
