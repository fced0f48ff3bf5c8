"""Both lanes over the same bytes, as tables that can be compared: what the fast lane gives must be what the reference gives."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from offsets_tool.columns.decode import decode_batches, log_batches
from offsets_tool.columns.fast.assemble import Assembler
from offsets_tool.columns.fast.lane import Chunk, Lane
from offsets_tool.columns.origin import Origin
from offsets_tool.log.batch import read_content
from offsets_tool.log.walk import Walker
from offsets_tool.rows import Batch, BatchRead, LogRecord, Unreadable
from offsets_tool.table_rows import EventRow, LogRow
from offsets_tool.wire.arrow import arrow_schema
from tests.cases import FIXTURES

LOG, EVENTS = arrow_schema(LogRow), arrow_schema(EventRow)
ORIGIN = Origin(cluster="c", source="s", log_partition=3, run=1)
SEGMENTS = sorted(
    p for p in FIXTURES.rglob("*.log*") if ".log" in p.name and p.suffix != ".gz" and p.stat().st_size
)


class Tables:
    """Rows of `log` and `events`, and what was unreadable."""

    def __init__(self) -> None:
        self._log: list[pa.RecordBatch] = []
        self._events: list[pa.RecordBatch] = []
        self.unreadable: list[Unreadable] = []
        self.rows_in_lane = 0
        self.declined = 0

    def add(self, log: pa.RecordBatch, events: pa.RecordBatch) -> None:
        self._log.append(log.cast(LOG))
        self._events.append(events.cast(EVENTS))

    def add_records(self, records: list[LogRecord]) -> None:
        log = list(log_batches(records, cluster="c", source="s", run=1))
        for rows, events in zip(log, decode_batches(log), strict=True):
            self.add(rows, events)

    def tables(self) -> tuple[pa.Table, pa.Table, list[Unreadable]]:
        log = pa.Table.from_batches(self._log, LOG).combine_chunks()
        return log, pa.Table.from_batches(self._events, EVENTS).combine_chunks(), self.unreadable


def by_reference(data: bytes) -> Tables:
    """The whole of the bytes through the reference reader and decoder."""
    tables, view = Tables(), memoryview(data)
    for item in Walker(view, "s").walk():
        read = read_content(view, item, "s", 3) if isinstance(item, Batch) else item
        _keep(tables, read)
    return tables


def by_lane(data: bytes, lane: Lane | None = None) -> Tables:
    """The same through the fast lane."""
    tables, assembler = Tables(), Assembler()
    for item in (lane or Lane(memoryview(data), "s", 3)).read():
        if isinstance(item, Chunk):
            tables.rows_in_lane += item.records.shape[1]
            log, events = assembler.rows(item, ORIGIN)
            assert log is not None
            tables.add(log, events)
        else:
            tables.declined += isinstance(item, BatchRead)
            _keep(tables, item)
    return tables


def _keep(tables: Tables, item: BatchRead | Unreadable) -> None:
    if isinstance(item, Unreadable):
        tables.unreadable.append(item)
    elif item.unreadable is not None:
        tables.unreadable.append(item.unreadable)
    else:
        tables.add_records(list(item.records))


def assert_same(data: bytes) -> Tables:
    """The lane's tables, after they were found equal to the reference's."""
    reference, lane = by_reference(data), by_lane(data)
    for ours, theirs in zip(lane.tables(), reference.tables(), strict=True):
        if isinstance(ours, pa.Table):
            assert ours.num_rows == theirs.num_rows
            for name in theirs.column_names:
                assert ours.column(name).equals(theirs.column(name)), name
        else:
            assert ours == theirs
    return lane


def segments() -> Iterator[Path]:
    yield from SEGMENTS
