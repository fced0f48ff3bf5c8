"""Both lanes over the same bytes, as tables that can be compared: what the fast lane gives must be what the reference gives."""

from collections.abc import Iterable
from itertools import groupby

import pyarrow as pa

from offsets_tool.columns.assembly.assembler import Assembler
from offsets_tool.columns.decode import Origin, count_outcomes, decode_batches, log_batches
from offsets_tool.columns.lane.chunks import Chunk, Lane
from offsets_tool.columns.lane.sums import run_of
from offsets_tool.log.batches.batch import read_content
from offsets_tool.log.batches.walk import Walker
from offsets_tool.log.ledger import Ledger
from offsets_tool.rows import Batch, BatchRead, LogRecord, Unreadable
from offsets_tool.table_rows import EventRow, LogRow
from offsets_tool.wire.arrow import arrow_schema
from tests.corpora import REPLICATED, corpora
from tests.depth import DEEP

LOG, EVENTS = arrow_schema(LogRow), arrow_schema(EventRow)
ORIGIN = Origin(cluster="c", source="s", log_partition=3, run=1)
SEGMENTS = sorted(
    path
    for folder in (*corpora(), *(REPLICATED.iterdir() if DEEP else ()))
    for path in folder.rglob("*.log*")
    if path.suffix != ".gz" and path.stat().st_size
)


class Tables:
    """Rows of `log` and `events`, what was unreadable, and the ledger of it all."""

    def __init__(self) -> None:
        self._log: list[pa.RecordBatch] = []
        self._events: list[pa.RecordBatch] = []
        self._waiting: list[LogRecord] = []
        self.unreadable: list[Unreadable] = []
        self.ledger = Ledger("s", 3)
        self.rows_in_lane = 0
        self.declined = 0

    def add(self, log: pa.RecordBatch, events: pa.RecordBatch) -> None:
        self.settle()
        self._add(log, events)

    def _add(self, log: pa.RecordBatch, events: pa.RecordBatch) -> None:
        self._log.append(log)
        self._events.append(events)
        count_outcomes(events, self.ledger)

    def add_records(self, records: Iterable[LogRecord]) -> None:
        """Add records, whose rows are made later for many records at once, because tables of few rows are costly."""
        self._waiting += records

    def settle(self) -> None:
        """Rows of the records that wait."""
        log = list(log_batches(self._waiting, cluster="c", source="s", run=1))
        self._waiting = []
        for rows, events in zip(log, decode_batches(log), strict=True):
            self._add(rows, events)

    def tables(self) -> tuple[pa.Table, pa.Table, list[Unreadable]]:
        return _whole(self._log, LOG), _whole(self._events, EVENTS), self.unreadable


def _whole(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """Return batches as one table of this schema, without the dictionaries that a lane makes."""
    alike = groupby(batches, lambda batch: batch.schema)
    tables = [pa.Table.from_batches(some).cast(schema) for _, some in alike]
    return pa.concat_tables([schema.empty_table(), *tables]).combine_chunks()


def by_reference(data: bytes) -> Tables:
    """Return the tables of some bytes, read by the reference reader and decoder."""
    tables, view = Tables(), memoryview(data)
    for item in Walker(view, "s").walk():
        read = read_content(view, item, "s", 3) if isinstance(item, Batch) else item
        _keep(tables, read)
    tables.settle()
    return tables


def by_lane(data: bytes, lane: Lane | None = None) -> Tables:
    """Return the tables of some bytes, read by the fast lane."""
    tables, assembler = Tables(), Assembler()
    for item in (lane or Lane(memoryview(data), "s", 3)).read():
        if isinstance(item, Chunk):
            tables.rows_in_lane += item.records.shape[1]
            tables.ledger.add_run(run_of(item))
            log, events = assembler.rows(item, ORIGIN)
            assert log is not None
            tables.add(log, events)
        else:
            tables.declined += isinstance(item, BatchRead)
            _keep(tables, item)
    tables.settle()
    return tables


def _keep(tables: Tables, item: BatchRead | Unreadable) -> None:
    tables.ledger.add(item)
    if isinstance(item, Unreadable):
        tables.unreadable.append(item)
    elif item.unreadable is not None:
        tables.unreadable.append(item.unreadable)
    else:
        tables.add_records(item.records)


def assert_same(data: bytes) -> Tables:
    """Assert that the lane's tables of some bytes equal the reference's, and return them."""
    reference, lane = by_reference(data), by_lane(data)
    assert lane.ledger.entry() == reference.ledger.entry()
    for ours, theirs in zip(lane.tables(), reference.tables(), strict=True):
        if isinstance(ours, pa.Table):
            assert ours.num_rows == theirs.num_rows
            for name in theirs.column_names:
                assert ours.column(name).equals(theirs.column(name)), name
        else:
            assert ours == theirs
    return lane
