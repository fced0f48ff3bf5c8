"""Runs of records of one key, as tables of numbers: of one chunk, and of a segment until its end.

A table has a line for each of RunField and a column for each run. What a run means is known to sizes.tally.
"""

from collections.abc import Iterator
from enum import IntEnum
from typing import Final

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.lane.chunks import Chunk
from offsets_tool.columns.lane.layout import AttributeBit, BatchField, RecordField
from offsets_tool.columns.sizes.shares import own_sizes, shared_sizes
from offsets_tool.log.batches.header import HEADER_SIZE_V2
from offsets_tool.rows import NO_TIMESTAMP
from offsets_tool.sizes.cleaning import BatchFacts, SizedRecord
from offsets_tool.sizes.tally import Run


class RunField(IntEnum):
    """Fields of a run; those from LOG_OFFSET on are of its newest record and of the batch of that."""

    KEY = 0
    RECORDS = 1
    SIZE = 2
    TOMBSTONES = 3
    FIRST_TIMESTAMP = 4
    LAST_TIMESTAMP = 5
    LOG_OFFSET = 6
    OWN = 7
    IS_TOMBSTONE = 8
    BATCH = 9


_BATCH_FIELDS: Final = (
    BatchField.BASE_OFFSET,
    BatchField.LAST_OFFSET,
    BatchField.SIZE,
    BatchField.BASE_TIMESTAMP,
    BatchField.PRODUCER_ID,
    BatchField.PRODUCER_EPOCH,
    BatchField.ATTRIBUTES,
)
"""What a table has of a batch, from RunField.BATCH on; behind them the sum of its records' own bytes."""
_FIELDS: Final = RunField.BATCH + len(_BATCH_FIELDS) + 1
_LATEST: Final = int(np.iinfo(np.int64).max)
_EARLIEST: Final = int(np.iinfo(np.int64).min)


class ChunkRuns:
    """The records of a chunk, from which runs are made; `sizes` are their shares of their batches."""

    def __init__(self, chunk: Chunk, keys: Array) -> None:
        """Compute the records' shares of their batches; `keys` are the numbers of the records' keys in a tally."""
        self.batch_of = chunk.records[RecordField.BATCH]
        self._batches = chunk.batches
        self._records = chunk.records
        self._keys = keys
        self._own = own_sizes(chunk)
        self._whole = np.bincount(self.batch_of, self._own, chunk.batches.shape[1]).astype(np.int64)
        self.sizes = shared_sizes(chunk.batches[BatchField.SIZE], self._own, self._whole, self.batch_of)

    def table(self, rows: Array, codes: Array) -> Array:
        """Return the runs of some rows, one for each of the codes that tell them apart, in the order of the codes."""
        found = np.zeros((_FIELDS, 0), np.int64)
        if not len(rows):
            return found
        places = np.argsort(codes, kind="stable")
        order = rows[places]
        begins = np.flatnonzero(np.diff(codes[places], prepend=-1))
        found = np.empty((_FIELDS, len(begins)), np.int64)
        newest = order[np.append(begins[1:], len(order)) - 1]
        times = self._records[RecordField.TIMESTAMP][order]
        is_none = times == NO_TIMESTAMP
        is_tombstone = self._records[RecordField.VALUE_SIZE] < 0
        found[RunField.KEY] = self._keys[newest]
        found[RunField.RECORDS] = np.diff(begins, append=len(order))
        found[RunField.SIZE] = np.add.reduceat(self.sizes[order], begins)
        found[RunField.TOMBSTONES] = np.add.reduceat(is_tombstone[order].astype(np.int64), begins)
        found[RunField.FIRST_TIMESTAMP] = np.minimum.reduceat(np.where(is_none, _LATEST, times), begins)
        found[RunField.LAST_TIMESTAMP] = np.maximum.reduceat(np.where(is_none, _EARLIEST, times), begins)
        found[RunField.LOG_OFFSET] = self._records[RecordField.LOG_OFFSET][newest]
        found[RunField.OWN] = self._own[newest]
        found[RunField.IS_TOMBSTONE] = is_tombstone[newest]
        found[RunField.BATCH :] = self._facts(self.batch_of[newest])
        return found

    def _facts(self, batches: Array) -> Array:
        table = self._batches[:, batches]
        return np.stack((*(table[field] for field in _BATCH_FIELDS), self._whole[batches]))

    def facts(self, batches: Array) -> Iterator[BatchFacts]:
        """Yield what the cleaner looks at of some batches."""
        return map(_batch, zip(*self._facts(batches).tolist(), strict=True))


def runs(table: Array, *, is_transactional: bool) -> Iterator[Run]:
    """Yield the runs of a table."""
    first, last = table[RunField.FIRST_TIMESTAMP], table[RunField.LAST_TIMESTAMP]
    # Records may have these very times.
    is_none = first > last
    sums = (
        *table[: RunField.FIRST_TIMESTAMP].tolist(),
        np.where(is_none, NO_TIMESTAMP, first).tolist(),
        np.where(is_none, NO_TIMESTAMP, last).tolist(),
    )
    batches = map(_batch, zip(*table[RunField.BATCH :].tolist(), strict=True))
    newest = zip(*table[RunField.LOG_OFFSET : RunField.BATCH].tolist(), batches, strict=True)
    for key, records, size, tombstones, begin, end, (offset, own, is_tombstone, batch) in zip(
        *sums, newest, strict=True
    ):
        kept = SizedRecord(offset, own, bool(is_tombstone), batch)
        yield Run(key, records, size, tombstones, begin, end, kept, is_transactional)


def _batch(facts: tuple[int, ...]) -> BatchFacts:
    base, last, size, timestamp, producer, epoch, attributes, whole = facts
    horizon = timestamp if attributes & AttributeBit.DELETE_HORIZON else None
    return BatchFacts(base, last, size, HEADER_SIZE_V2, whole, horizon, producer, epoch)


class GatheredRuns:
    """Runs of records that are effective at once, joined by key until `take` yields them."""

    def __init__(self) -> None:
        self._table = _empty(1 << 12)

    def add(self, table: Array) -> None:
        """Join runs of a table that has one of each key."""
        keys = table[RunField.KEY]
        if not len(keys):
            return
        most = int(keys.max()) + 1
        if most > self._table.shape[1]:
            self._table = np.concatenate((self._table, _empty(2 * most - self._table.shape[1])), axis=1)
        held = self._table
        for field in (RunField.RECORDS, RunField.SIZE, RunField.TOMBSTONES):
            held[field, keys] += table[field]
        first, last = RunField.FIRST_TIMESTAMP, RunField.LAST_TIMESTAMP
        held[first, keys] = np.minimum(held[first, keys], table[first])
        held[last, keys] = np.maximum(held[last, keys], table[last])
        newer = table[:, table[RunField.LOG_OFFSET] > held[RunField.LOG_OFFSET, keys]]
        held[RunField.LOG_OFFSET :, newer[RunField.KEY]] = newer[RunField.LOG_OFFSET :]

    def take(self) -> Iterator[Run]:
        """Yield the joined runs, and start empty."""
        table = self._table
        there = np.flatnonzero(table[RunField.RECORDS])
        table[RunField.KEY, there] = there
        yield from runs(table[:, there], is_transactional=False)
        self._table = _empty(table.shape[1])


def _empty(keys: int) -> Array:
    table: Array = np.zeros((_FIELDS, keys), np.int64)
    table[RunField.FIRST_TIMESTAMP] = _LATEST
    table[RunField.LAST_TIMESTAMP] = _EARLIEST
    table[RunField.LOG_OFFSET] = -1
    return table
