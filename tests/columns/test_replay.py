"""Replay by column is replay one at a time: the same state, the same changes by what is no plain commit, however rows are cut."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.columns.decode import decode_batches, log_batches
from offsets_tool.columns.origin import Origin
from offsets_tool.columns.reading import RowReader, RowsRead
from offsets_tool.columns.replay import COLUMNS, ColumnCoordinator, with_raw
from offsets_tool.events import decode
from offsets_tool.log.discover import find_segments
from offsets_tool.log.names import Segment, SegmentKind
from offsets_tool.replay.changes import Change, ChangeKind
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.rows import LogRecord
from tests import plain_rows
from tests.cases import FIXTURES
from tests.replay.sequences import logs
from tests.replay.test_checkpoint import RULES, facts

PARTITIONS = sorted((FIXTURES / "corpora").glob("*/segments/__consumer_offsets-*"))


def rows_of(records: Iterable[LogRecord]) -> list[pa.RecordBatch]:
    """Records as rows, texts without dictionaries, as Spark hands them over."""
    log = list(log_batches(records, cluster="", source="s", run=1))
    return [with_raw(*both).select(COLUMNS) for both in zip(log, decode_batches(log), strict=True)]


def live_segments(partition: Path) -> list[Segment]:
    """Those that Kafka has not set aside: no offset is there twice."""
    return [segment for segment in find_segments([partition.resolve()]) if segment.kind is SegmentKind.LOG]


def read_rows(partition: Path, *, fast: bool) -> Iterator[pa.RecordBatch]:
    """A partition's segments as RowReader gives them, texts in dictionaries where the lane reads."""
    reader = RowReader(fast=fast)
    for segment in live_segments(partition):
        for item in reader.read(segment, Origin("", "s", segment.log_partition, 1)):
            if isinstance(item, RowsRead) and item.log is not None and item.events is not None:
                yield with_raw(item.log, item.events)


def cut(batches: Iterable[pa.RecordBatch], sizes: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of these sizes, again and again."""
    number = 0
    for batch in batches:
        at = 0
        while at < batch.num_rows:
            size = sizes[number % len(sizes)]
            yield batch.slice(at, size)
            at, number = at + size, number + 1


def one_at_a_time(
    records: Iterable[LogRecord], rules: Rules | None
) -> tuple[Coordinator, dict[int, tuple[Change, ...]]]:
    coordinator = Coordinator(0, rules)
    return coordinator, {record.log_offset: coordinator.replay(decode(record)) for record in records}


def check(records: list[LogRecord], batches: Iterable[pa.RecordBatch], rules: Rules | None) -> int:
    """How many of the records were replayed by column."""
    expected, changes = one_at_a_time(records, rules)
    columns = ColumnCoordinator(Coordinator(0, rules))
    for batch in batches:
        for event, did in columns.replay(batch):
            assert did == changes.pop(event.record.log_offset)
    settled = columns.settle()
    assert settled.state == expected.state
    assert {k: v for k, v in facts(settled).items() if k != "subjects"} == {
        k: v for k, v in facts(expected).items() if k != "subjects"
    }
    assert all(change.kind is ChangeKind.SET for did in changes.values() for change in did)
    return len(changes)


@given(logs(), st.sampled_from(RULES), st.lists(st.integers(1, 20), min_size=1, max_size=4))
def test_any_log_in_any_cut(log: list[LogRecord], rules: Rules | None, sizes: list[int]) -> None:
    check(log, cut(rows_of(log), sizes), rules)


@pytest.mark.parametrize("partition", PARTITIONS, ids=lambda path: "/".join(path.parts[-3::2]))
def test_real_logs(partition: Path) -> None:
    records = list(plain_rows.records([Path(segment.path) for segment in live_segments(partition)]))
    for fast in (True, False):
        rows = list(read_rows(partition, fast=fast))
        for rules in RULES:
            check(records, cut(rows, [1 << 20] if fast else [7, 1, 100]), rules)
            check(records, cut(rows, [50]), rules)
