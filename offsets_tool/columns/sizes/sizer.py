"""Sizes of segments through the fast lane: runs of records of one key summed up from its tables, as sizes.tally takes them.

What the lane does not read is handed to the caller. Which bytes are a record's is known to sizes.own_bytes, what compaction leaves
to sizes.cleaning.
"""

from collections.abc import Iterator
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.lane.chunks import Chunk
from offsets_tool.columns.lane.interned import InternedKeys
from offsets_tool.columns.lane.layout import AttributeBit, BatchField, RecordField, has_any
from offsets_tool.columns.lane.segments import ChunkRead, SegmentReader
from offsets_tool.columns.lane.sums import offsets_of
from offsets_tool.columns.sizes.runs import ChunkRuns, GatheredRuns, RunField, runs
from offsets_tool.columns.sizes.shares import of_batch
from offsets_tool.log.batches.limits import LIMITS, Limits
from offsets_tool.log.ledger import Ledger
from offsets_tool.log.names import Segment
from offsets_tool.log.segment import SegmentReading
from offsets_tool.rows import BatchRead, LogRecord, Unreadable
from offsets_tool.sizes.tally import COMMIT, NO_KEY, Tally


class ChunkSized(NamedTuple):
    """Bytes of a file, as many as `size`, that are in the tally; `pieces` is empty."""

    size: int
    pieces: Iterator[LogRecord]


class Sizer:
    """Sizes segments one after another; what repeats from file to file is kept."""

    def __init__(self) -> None:
        self._segments = SegmentReader()
        self._gathered = GatheredRuns()
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
                if isinstance(item, BatchRead) and item.misplaced is not None:
                    # It may have offsets that came before.
                    self._add_gathered(tally)
                yield item
        self._add_gathered(tally)

    def _add_gathered(self, tally: Tally) -> None:
        for run in self._gathered.take():
            tally.add_run(run)

    def _add(self, chunk: Chunk, tally: Tally) -> None:
        keys = self._key_numbers(chunk, tally)
        steps = _Steps(chunk, keys)
        self._gathered.add(steps.plain())
        for _, kind, _, step in sorted(steps.in_order(), key=itemgetter(0, 1, 2)):
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
        is_marker = of_batch(chunk, AttributeBit.CONTROL)
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


_BATCH, _RUN, _MARKER = range(3)
_Step = tuple[int, int, int, Any]
"""How many markers stand before it; the kind of step; the place of it; what the tally gets."""


class _Steps:
    """The steps by which a chunk enters a tally, in an order that has the same result as the log's own order.

    Only a marker changes what others mean, and only of transactions: these need an order on either side of it.
    """

    def __init__(self, chunk: Chunk, keys: Array) -> None:
        self._chunk = chunk
        self._keys = keys
        self._runs = ChunkRuns(chunk, keys)
        attributes = chunk.batches[BatchField.ATTRIBUTES]
        self._is_control = has_any(attributes, AttributeBit.CONTROL)
        self._is_transactional = has_any(attributes, AttributeBit.TRANSACTIONAL) & ~self._is_control
        self._is_marker = self._is_control & (chunk.batches[BatchField.COUNT] > 0)
        self._stages = np.cumsum(self._is_marker) - self._is_marker

    def plain(self) -> Array:
        """Return the runs of records that are effective at once, outside of transactions: one for each key."""
        rows = np.flatnonzero((self._keys != NO_KEY) & ~self._is_transactional[self._runs.batch_of])
        return self._runs.table(rows, self._keys[rows])

    def no_key(self) -> tuple[int, int]:
        """Return records and bytes of what has no key and is no marker."""
        rows = (self._keys == NO_KEY) & ~self._is_control[self._runs.batch_of]
        return int(rows.sum()), int(self._runs.sizes[rows].sum())

    def empty(self) -> int:
        """Return the bytes of batches without records."""
        batches = self._chunk.batches
        return int(batches[BatchField.SIZE][batches[BatchField.COUNT] == 0].sum())

    def in_order(self) -> Iterator[_Step]:
        """Yield the steps of batches of producers, of runs of transactions and of markers; the caller sorts them."""
        yield from self._batch_steps()
        if self._is_transactional.any():
            yield from self._run_steps()
        if self._is_marker.any():
            yield from self._marker_steps()

    def _batch_steps(self) -> Iterator[_Step]:
        """Yield a step for each batch of a producer and for the chunk's last batch; of other batches only the records count."""
        batches = self._chunk.batches
        of_producers = (batches[BatchField.PRODUCER_ID] >= 0) & ~self._is_control
        of_producers[np.flatnonzero(~self._is_control)[-1:]] = True
        chosen = np.flatnonzero(of_producers)
        columns = (
            chosen,
            self._stages[chosen],
            batches[BatchField.MAX_TIMESTAMP, chosen],
            self._is_transactional[chosen],
        )
        facts = self._runs.facts(chosen)
        for each, at, stage, timestamp, is_in in zip(facts, *(c.tolist() for c in columns), strict=True):
            yield stage, _BATCH, at, (each, timestamp, is_in)

    def _marker_steps(self) -> Iterator[_Step]:
        batches, chosen = self._chunk.batches, np.flatnonzero(self._is_marker)
        keys = self._chunk.records[RecordField.KEY][np.searchsorted(self._runs.batch_of, chosen)]
        columns = (
            chosen,
            self._stages[chosen],
            batches[BatchField.MAX_TIMESTAMP, chosen],
            batches[BatchField.COUNT, chosen],
            keys,
        )
        facts = self._runs.facts(chosen)
        for each, at, stage, timestamp, records, key in zip(
            facts, *(c.tolist() for c in columns), strict=True
        ):
            commits = key >= 0 and self._chunk.interned.key(key) == COMMIT
            yield stage, _MARKER, at, (each, timestamp, commits, records)

    def _run_steps(self) -> Iterator[_Step]:
        rows = np.flatnonzero((self._keys != NO_KEY) & self._is_transactional[self._runs.batch_of])
        batches = self._runs.batch_of[rows]
        _, producers = np.unique(self._chunk.batches[BatchField.PRODUCER_ID], return_inverse=True)
        transactions = self._stages * (int(producers.max()) + 1) + producers
        codes = transactions[batches] * (int(self._keys.max()) + 1) + self._keys[rows]
        table = self._runs.table(rows, codes)
        first = self._stages[batches[np.argsort(codes, kind="stable")]]
        stages = first[np.append(0, np.cumsum(table[RunField.RECORDS])[:-1])] if len(rows) else first
        for at, (stage, run) in enumerate(
            zip(stages.tolist(), runs(table, is_transactional=True), strict=True)
        ):
            yield stage, _RUN, at, run
