"""Reads a segment's records as rows of `log` and `events`: by the fast lane where it is installed, else by the reference reader.

Both make the same rows, ranges and ledger; the lane's texts are dictionary-encoded. Spark's tasks, and the commands that count or
print many records, loop over them. `rows_in_order` leaves out misplaced records and those that go back behind earlier ones.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.decode import ROWS, Origin, count_outcomes, decode_batches, log_batches
from offsets_tool.columns.lane.availability import lane_problem
from offsets_tool.log.batches.batch import read_content
from offsets_tool.log.batches.limits import LIMITS, Limits
from offsets_tool.log.ledger import Ledger
from offsets_tool.log.names import Segment
from offsets_tool.log.segment import SegmentReading
from offsets_tool.rows import Batch, BatchRead, LogRecord, Unreadable

if TYPE_CHECKING:
    from offsets_tool.columns.assembly.assembler import Assembler
    from offsets_tool.columns.lane.chunks import Chunk
    from offsets_tool.columns.lane.interned import InternedKeys


_ENOUGH: Final = 8 << 20
"""Bytes of a file whose records are enough for a batch of rows, however few they are: memory stays flat where values are large."""


class RowsRead(NamedTuple):
    """Batches from byte `start` to byte `end`, and their records; no rows where the batches are empty or unreadable."""

    start: int
    end: int
    log: pa.RecordBatch | None
    events: pa.RecordBatch | None


class RowReader:
    """Reads segments one after another; what repeats from file to file (keys, names, compiled code) is kept."""

    def __init__(self, *, log: bool = True, fast: bool = True) -> None:
        """Read rows of `events`; `log=False` leaves out the rows of `log`, `fast=False` reads by the reference reader alone."""
        self._log = log
        self._assembler = _assembler() if fast and lane_problem() is None else None
        self._interned: InternedKeys | None = None

    def read(
        self,
        segment: Segment | str | Path,
        origin: Origin,
        *,
        start: int = 0,
        end: int | None = None,
        resume: bool = False,
        limits: Limits = LIMITS,
        ledger: Ledger | None = None,
    ) -> Iterator[RowsRead | Unreadable]:
        """Yield the rows of a segment, or of a range of it that `read_segment` would cut; their outcomes are counted in the ledger
        too.
        """
        ledger = ledger or Ledger(origin.source, origin.log_partition)
        reading = SegmentReading(
            segment,
            log_partition=origin.log_partition,
            start=start,
            end=end,
            resume=resume,
            limits=limits,
            ledger=ledger,
        )
        gathered = _GatheredBatches(origin, ledger, log=self._log)
        for item in self._items(reading):
            if isinstance(item, BatchRead):
                yield from gathered.add(item)
                continue
            yield from gathered.rest()
            yield (
                self._unreadable(item, ledger)
                if isinstance(item, Unreadable)
                else self._rows(item, origin, ledger)
            )
        yield from gathered.rest()
        reading.finish()

    def _items(self, reading: SegmentReading) -> "Iterator[Chunk | BatchRead | Unreadable]":
        if reading.first >= reading.last:
            return
        if self._assembler is None:
            yield from _by_reference(reading)
            return
        from offsets_tool.columns.lane.chunks import Lane  # noqa: PLC0415 - Numba

        lane = Lane.of(reading, self._interned)
        yield from lane.read(reading.first, reading.last)
        self._interned = lane.interned

    def _unreadable(self, item: Unreadable, ledger: Ledger) -> Unreadable:
        ledger.add(item)
        return item

    def _rows(self, chunk: "Chunk", origin: Origin, ledger: Ledger) -> RowsRead:
        from offsets_tool.columns.lane.sums import run_of  # noqa: PLC0415 - NumPy, where there is a lane

        assert self._assembler is not None
        ledger.add_run(run_of(chunk))
        log, events = self._assembler.rows(chunk, origin, log=self._log)
        count_outcomes(events, ledger)
        return RowsRead(chunk.start, chunk.end, log, events)


class _GatheredBatches:
    """Batches of the reference reader, until their records are enough for a batch of rows."""

    def __init__(self, origin: Origin, ledger: Ledger, *, log: bool) -> None:
        self._origin = origin
        self._ledger = ledger
        self._log = log
        self._start: int | None = None
        self._end = 0
        self._records: list[LogRecord] = []

    def add(self, read: BatchRead) -> Iterator[RowsRead]:
        self._ledger.add(read)
        batch = read.batch
        self._start = batch.position if self._start is None else self._start
        self._end = batch.position + batch.size
        self._records += read.records
        if len(self._records) >= ROWS or self._end - self._start >= _ENOUGH:
            yield from self.rest()

    def rest(self) -> Iterator[RowsRead]:
        """Yield the rows of the records that were gathered, if there are any."""
        if self._start is None:
            return
        start, end = self._start, self._end
        if not self._records:
            yield RowsRead(start, end, None, None)
        for log in log_batches(
            self._records, cluster=self._origin.cluster, source=self._origin.source, run=self._origin.run
        ):
            (events,) = decode_batches([log])
            count_outcomes(events, self._ledger)
            yield RowsRead(start, end, log if self._log else None, events)
        self._start, self._records = None, []


def _by_reference(reading: SegmentReading) -> "Iterator[BatchRead | Unreadable]":
    source, partition = reading.segment.source, reading.segment.log_partition
    verdict = reading.verdict()
    for item in reading.walker.walk(reading.first):
        if item.position >= reading.last:
            break
        if isinstance(item, Batch):
            why = verdict.get(item.position)
            yield read_content(reading.data, item, source, partition, limits=reading.limits, misplacement=why)
        else:
            yield item


def _assembler() -> "Assembler":
    from offsets_tool.columns.assembly.assembler import Assembler  # noqa: PLC0415 - Numba

    return Assembler()


class RowsInOrder(NamedTuple):
    """Rows whose offsets rise, up to `end`, and the offsets of those that go back, in their order."""

    read: RowsRead
    end: int
    back: Array


def rows_in_order(read: RowsRead, end: int) -> RowsInOrder:
    """Return the rows of `read` whose offsets rise above `end`, the last offset so far; misplaced records are left out."""
    if read.events is None:
        return RowsInOrder(read, end, np.empty(0, np.int64))
    offsets = read.events.column("log_offset").to_numpy()
    placed = read.events.column("misplaced").is_null().to_numpy(zero_copy_only=False)
    reached = np.maximum.accumulate(np.concatenate(([end], np.where(placed, offsets, -1))))
    goes_on = placed & (offsets > reached[:-1])
    back = offsets[placed & ~goes_on]
    return RowsInOrder(read if goes_on.all() else _only(read, goes_on), int(reached[-1]), back)


def _only(read: RowsRead, rows: Array) -> RowsRead:
    if not rows.any():
        return read._replace(log=None, events=None)
    log, events = (table and table.filter(pa.array(rows)) for table in (read.log, read.events))
    return read._replace(log=log, events=events)
