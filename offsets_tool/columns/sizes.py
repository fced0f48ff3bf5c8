"""Sizes of segments through the fast lane: runs of records of one key summed up from its tables, as sizes.tally takes them.

What the lane does not read is handed to the caller. Which bytes are a record's is known to sizes.own_bytes, what compaction leaves
to sizes.cleaning.
"""

from collections.abc import Iterator
from operator import itemgetter
from typing import Any, Final, NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.lane.chunks import Chunk
from offsets_tool.columns.lane.interned import InternedKeys
from offsets_tool.columns.lane.layout import AttributeBit, BatchField, RecordField
from offsets_tool.columns.lane.segments import ChunkRead, SegmentReader
from offsets_tool.columns.lane.sums import offsets_of
from offsets_tool.log.batches.header import HEADER_SIZE_V2
from offsets_tool.log.batches.limits import LIMITS, Limits
from offsets_tool.log.ledger import Ledger
from offsets_tool.log.names import Segment
from offsets_tool.log.segment import SegmentReading
from offsets_tool.rows import NO_TIMESTAMP, BatchRead, LogRecord, Unreadable
from offsets_tool.sizes.cleaning import BatchFacts, Kept
from offsets_tool.sizes.own_bytes import RECORD_OVERHEAD, VARINT_STEPS
from offsets_tool.sizes.tally import COMMIT, NO_KEY, Run, Tally

_OF_BATCH: Final = (
    BatchField.BASE_OFFSET,
    BatchField.LAST_OFFSET,
    BatchField.SIZE,
    BatchField.BASE_TIMESTAMP,
    BatchField.PRODUCER_ID,
    BatchField.PRODUCER_EPOCH,
)
_LATEST: Final = int(np.iinfo(np.int64).max)
_EARLIEST: Final = int(np.iinfo(np.int64).min)


class ChunkSized(NamedTuple):
    """Bytes of a file, as many as `size`, that are in the tally; `pieces` is empty."""

    size: int
    pieces: Iterator[LogRecord]


class Sizer:
    """Sizes segments one after another; what repeats from file to file is kept."""

    def __init__(self) -> None:
        self._segments = SegmentReader()
        self._numbers: tuple[Tally, InternedKeys, Array] | None = None
        """For the keys of a lane, their numbers in a tally; -1 for those not asked for yet."""

    def read(
        self, segment: Segment, ledger: Ledger, tally: Tally, limits: Limits = LIMITS
    ) -> Iterator[ChunkSized | BatchRead | Unreadable]:
        """Tally a whole segment: yield what the caller has to add to the tally; all else is in it."""
        reading = SegmentReading(segment, limits=limits, ledger=ledger)
        for item in self._segments.read(reading, ledger):
            if isinstance(item, ChunkRead):
                tally.reach(*offsets_of(item.chunk))
                self._add(item.chunk, tally)
                yield ChunkSized(item.size, iter(()))
            else:
                yield item

    def _add(self, chunk: Chunk, tally: Tally) -> None:
        keys = self._key_numbers(chunk, tally)
        steps = _Steps(chunk, keys)
        for _, kind, _, step in sorted(steps.all(), key=itemgetter(0, 1, 2)):
            if kind == _RUN:
                tally.add_run(step)
            elif kind == _BATCH:
                tally.add_batch(*step[:2], is_transactional=step[2])
            else:
                tally.add_marker(*step[:2], commits=step[2], records=step[3])
        tally.add_no_key(*steps.no_key())
        tally.add_empty(steps.empty())

    def _key_numbers(self, chunk: Chunk, tally: Tally) -> Array:
        """Return the number in the tally of each record's key; NO_KEY where it has none, or is a marker."""
        keys = chunk.records[RecordField.KEY]
        is_marker = _of_batch(chunk, AttributeBit.CONTROL)
        known = self._numbers
        if known is None or known[0] is not tally or known[1] is not chunk.interned:
            known = (tally, chunk.interned, np.full(1 << 12, NO_KEY, np.int64))
        numbers = known[2]
        if len(chunk.interned) > len(numbers):
            more = np.full(2 * len(chunk.interned) - len(numbers), NO_KEY, np.int64)
            numbers = np.concatenate((numbers, more))
        self._numbers = (tally, chunk.interned, numbers)
        there = (keys >= 0) & ~is_marker
        for key in np.unique(keys[there]).tolist():
            if numbers[key] == NO_KEY:
                numbers[key] = tally.key_number(chunk.interned.key(key))
        return np.where(there, numbers[np.maximum(keys, 0)], NO_KEY)


def own_sizes(chunk: Chunk) -> Array:
    """Return the own bytes of each record of a chunk, as sizes.own_bytes does; the lane reads no record with headers."""
    records, batches = chunk.records, chunk.batches
    keys, batch_of = records[RecordField.KEY], records[RecordField.BATCH]
    starts, _ = chunk.interned.spans()
    key_sizes = np.where(keys < 0, -1, np.diff(starts)[np.maximum(keys, 0)] if len(starts) > 1 else -1)
    value_sizes = records[RecordField.VALUE_SIZE]
    times = records[RecordField.TIMESTAMP] - batches[BatchField.BASE_TIMESTAMP][batch_of]
    times[_of_batch(chunk, AttributeBit.LOG_APPEND_TIME)] = 0
    offsets = records[RecordField.LOG_OFFSET] - batches[BatchField.BASE_OFFSET][batch_of]
    body = RECORD_OVERHEAD + np.maximum(key_sizes, 0) + np.maximum(value_sizes, 0)
    for number in (times, offsets, key_sizes, value_sizes):
        body += _varint_bytes(number)
    found: Array = body + _varint_bytes(body)
    return found


def _varint_bytes(values: Array) -> Array:
    zigzag = ((values << 1) ^ (values >> 63)).view(np.uint64)
    highest = int(zigzag.max(initial=0))
    found = np.ones(len(values), np.int64)
    for step in VARINT_STEPS:
        if highest < step:
            break
        found += zigzag >= np.uint64(step)
    return found


def shared_sizes(totals: Array, weights: Array, whole: Array, batch_of: Array) -> Array:
    """Return how many bytes of its batch each record has, as sizes.own_bytes.shared does; `whole` are the batches' weights."""
    parts = totals[batch_of] * weights
    found = parts // whole[batch_of]
    left = totals - np.bincount(batch_of, found, len(totals)).astype(np.int64)
    several = np.flatnonzero(left[batch_of] > 0)
    if len(several):
        rests = (parts - found * whole[batch_of])[several]
        order = several[np.lexsort((several, -rests, batch_of[several]))]
        of = batch_of[order]
        rank = np.arange(len(of)) - np.searchsorted(of, of)
        found[order[rank < left[of]]] += 1
    return found


def _of_batch(chunk: Chunk, bit: AttributeBit) -> Array:
    """Return for each record whether its batch has an attribute."""
    found: Array = (chunk.batches[BatchField.ATTRIBUTES] & bit != 0)[chunk.records[RecordField.BATCH]]
    return found


_BATCH, _RUN, _MARKER = range(3)
_Step = tuple[int, int, int, Any]
"""How many markers stand before it; the kind of step; the place of it; what is told to the tally."""


def _run(told: tuple[int, ...], newest: Kept, is_transactional: bool) -> Run:
    key, records, size, tombstones, first, last = told
    return Run(key, records, size, tombstones, first, last, newest, is_transactional)


class _Steps:
    """A chunk in steps of a tally: in an order that means what the log's own order means.

    Only a marker changes what others mean, so batches and runs need no order but on either side of it.
    """

    def __init__(self, chunk: Chunk, keys: Array) -> None:
        batches = self._batches = chunk.batches
        self._chunk = chunk
        self._keys = keys
        self._batch_of = chunk.records[RecordField.BATCH]
        self._own = own_sizes(chunk)
        self._whole = np.bincount(self._batch_of, self._own, batches.shape[1]).astype(np.int64)
        self._sizes = shared_sizes(batches[BatchField.SIZE], self._own, self._whole, self._batch_of)
        attributes = batches[BatchField.ATTRIBUTES]
        self._is_control = attributes & AttributeBit.CONTROL != 0
        self._is_transactional = (attributes & AttributeBit.TRANSACTIONAL != 0) & ~self._is_control
        self._is_marker = self._is_control & (batches[BatchField.COUNT] > 0)
        self._stages = np.cumsum(self._is_marker) - self._is_marker

    def all(self) -> Iterator[_Step]:
        """Yield batches, runs and markers, in no order."""
        yield from self._batch_steps()
        yield from self._run_steps()
        yield from self._marker_steps()

    def no_key(self) -> tuple[int, int]:
        """Return records and bytes of what has no key and is no marker."""
        rows = (self._keys == NO_KEY) & ~self._is_control[self._batch_of]
        return int(rows.sum()), int(self._sizes[rows].sum())

    def empty(self) -> int:
        """Return the bytes of batches without records."""
        batches = self._batches
        return int(batches[BatchField.SIZE][batches[BatchField.COUNT] == 0].sum())

    def _batch_steps(self) -> Iterator[_Step]:
        """Yield the batches of producers, and the last: of others nothing is to be known but their records."""
        of_producers = (self._batches[BatchField.PRODUCER_ID] >= 0) & ~self._is_control
        of_producers[np.flatnonzero(~self._is_control)[-1:]] = True
        told = np.flatnonzero(of_producers)
        columns = (self._stages, self._batches[BatchField.MAX_TIMESTAMP], self._is_transactional)
        rows = zip(
            told.tolist(), self._facts(told), *(column[told].tolist() for column in columns), strict=True
        )
        for at, facts, stage, timestamp, is_transactional in rows:
            yield stage, _BATCH, at, (facts, timestamp, is_transactional)

    def _marker_steps(self) -> Iterator[_Step]:
        told = np.flatnonzero(self._is_marker)
        keys = self._chunk.records[RecordField.KEY][np.searchsorted(self._batch_of, told)].tolist()
        columns = (self._stages, self._batches[BatchField.MAX_TIMESTAMP], self._batches[BatchField.COUNT])
        rows = zip(
            told.tolist(),
            self._facts(told),
            keys,
            *(column[told].tolist() for column in columns),
            strict=True,
        )
        for at, facts, key, stage, timestamp, records in rows:
            commits = key >= 0 and self._chunk.interned.key(key) == COMMIT
            yield stage, _MARKER, at, (facts, timestamp, commits, records)

    def _run_steps(self) -> Iterator[_Step]:
        rows = np.flatnonzero(self._keys != NO_KEY)
        if not len(rows):
            return
        code = self._codes(rows)
        order = rows[np.argsort(code, kind="stable")]
        begins = np.flatnonzero(np.diff(np.sort(code), prepend=-1))
        newest = order[np.append(begins[1:], len(order)) - 1]
        batches = self._batch_of[newest]
        is_transactional = self._is_transactional[batches]
        stages = np.where(is_transactional, self._stages[batches], 0)
        sums = self._sums(order, begins, newest)
        for row, stage, kept, is_pending, told in zip(
            newest.tolist(),
            stages.tolist(),
            self._kept(newest, batches),
            is_transactional.tolist(),
            sums,
            strict=True,
        ):
            yield stage, _RUN, row, _run(told, kept, is_pending)

    def _codes(self, rows: Array) -> Array:
        """Return a number for each row that is the same for those of one key; of one transaction too, where it is in one."""
        batches = self._batch_of[rows]
        _, producers = np.unique(self._batches[BatchField.PRODUCER_ID], return_inverse=True)
        transactions = 1 + self._stages * (int(producers.max()) + 1) + producers
        codes: Array = np.where(self._is_transactional, transactions, 0)[batches]
        codes *= int(self._keys.max()) + 1
        codes += self._keys[rows]
        return codes

    def _sums(self, order: Array, begins: Array, newest: Array) -> Iterator[tuple[int, ...]]:
        """Yield key, records, bytes, tombstones, first and last time of each run."""
        records = self._chunk.records
        times = records[RecordField.TIMESTAMP][order]
        is_none = times == NO_TIMESTAMP
        first = np.minimum.reduceat(np.where(is_none, _LATEST, times), begins)
        last = np.maximum.reduceat(np.where(is_none, _EARLIEST, times), begins)
        columns = (
            self._keys[newest],
            np.diff(begins, append=len(order)),
            np.add.reduceat(self._sizes[order], begins),
            np.add.reduceat((records[RecordField.VALUE_SIZE][order] < 0).astype(np.int64), begins),
            np.where(first == _LATEST, NO_TIMESTAMP, first),
            np.where(last == _EARLIEST, NO_TIMESTAMP, last),
        )
        return zip(*(column.tolist() for column in columns), strict=True)

    def _kept(self, rows: Array, batches: Array) -> Iterator[Kept]:
        told, at = np.unique(batches, return_inverse=True)
        facts = self._facts(told)
        records = self._chunk.records
        columns = (records[RecordField.LOG_OFFSET], self._own, records[RecordField.VALUE_SIZE] < 0)
        for number, offset, own, is_tombstone in zip(
            at.tolist(), *(column[rows].tolist() for column in columns), strict=True
        ):
            yield Kept(offset, own, is_tombstone, facts[number])

    def _facts(self, batches: Array) -> list[BatchFacts]:
        table = self._batches[:, batches]
        has_horizon = table[BatchField.ATTRIBUTES] & AttributeBit.DELETE_HORIZON != 0
        columns = [table[field].tolist() for field in _OF_BATCH]
        rows = zip(*columns, self._whole[batches].tolist(), has_horizon.tolist(), strict=True)
        return [
            BatchFacts(base, last, size, HEADER_SIZE_V2, whole, horizon if has else None, producer, epoch)
            for base, last, size, horizon, producer, epoch, whole, has in rows
        ]
