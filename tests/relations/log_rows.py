"""Rows of logs for replays by column, cut anywhere, and what two states must have in common."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from offsets_tool.columns.decode import Origin, decode_batches, log_batches
from offsets_tool.columns.reading import RowReader, RowsRead
from offsets_tool.log.discover import find_segments
from offsets_tool.log.names import Segment, SegmentKind
from offsets_tool.relations.row_events import COLUMNS, with_raw
from offsets_tool.replay.changes import GroupKind
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.rows import LogRecord
from tests.corpora import partitions
from tests.test_checkpoint import facts

PARTITIONS = partitions()


def rows_of(records: Iterable[LogRecord]) -> list[pa.RecordBatch]:
    """Return records as rows, texts without dictionaries, as Spark passes them."""
    log = list(log_batches(records, cluster="", source="s", run=1))
    return [with_raw(*both).select(COLUMNS) for both in zip(log, decode_batches(log), strict=True)]


def live_segments(partition: Path) -> list[Segment]:
    """Return the segments of a partition that Kafka has not set aside, so that no offset occurs twice."""
    return [found for found in find_segments([partition.resolve()]) if found.kind is SegmentKind.LOG]


def read_rows(partition: Path, *, fast: bool) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a partition's segments by RowReader, with dictionaries where the lane reads."""
    reader = RowReader(fast=fast)
    for live in live_segments(partition):
        for item in reader.read(live, Origin("", "s", live.log_partition, 1)):
            if isinstance(item, RowsRead) and item.log is not None and item.events is not None:
                yield with_raw(item.log, item.events)


def cut(batches: Iterable[pa.RecordBatch], sizes: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """Yield the rows in batches whose lengths go through `sizes` again and again."""
    number = 0
    for batch in batches:
        at = 0
        while at < batch.num_rows:
            size = sizes[number % len(sizes)]
            yield batch.slice(at, size)
            at, number = at + size, number + 1


def assert_equal(ours: Coordinator, expected: Coordinator) -> None:
    """Assert that two states are equal but for the order of their entries; that of members with records of their own is the same.

    A classic group's members are all in its last record, and one at a time those that earlier ones had stay before others.
    """
    assert ours.state == expected.state
    for group, members in expected.state.members.items():
        if expected.state.groups[group].kind is not GroupKind.CLASSIC:
            assert list(ours.state.members[group]) == list(members)
    assert facts(ours) | {"subjects": None} == facts(expected) | {"subjects": None}
