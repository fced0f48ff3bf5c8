"""Replay by column is replay one at a time: the same state, the same changes by what is no plain commit, however rows are cut."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.columns.decode import decode_batches, log_batches
from offsets_tool.columns.origin import Origin
from offsets_tool.columns.reading import RowReader, RowsRead
from offsets_tool.columns.replay.row_events import COLUMNS, with_raw
from offsets_tool.columns.replay.rows_replay import RowsReplay
from offsets_tool.columns.replay.store import ReplayStore
from offsets_tool.events import Key, Value, decode, encode_key, encode_value
from offsets_tool.log.discover import find_segments
from offsets_tool.log.names import Segment, SegmentKind
from offsets_tool.records import RECORD_TYPES
from offsets_tool.replay.changes import Change, GroupKind
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.rows import LogRecord
from tests import plain_rows
from tests.cases import CASES
from tests.corpora import partitions
from tests.depth import DEEP, sample
from tests.replay.hostile_sequences import Writing, logs, written
from tests.replay.random_logs import READERS, RandomLog, segment
from tests.test_checkpoint import RULES, facts

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


def one_at_a_time(
    records: Iterable[LogRecord], rules: Rules | None
) -> tuple[Coordinator, dict[int, tuple[Change, ...]]]:
    coordinator = Coordinator(0, rules)
    return coordinator, {record.log_offset: coordinator.replay(decode(record)) for record in records}


def assert_equal(ours: Coordinator, expected: Coordinator) -> None:
    """Assert that two states are equal but for the order of their entries; that of members with records of their own is the same.

    A classic group's members are all in its last record, and one at a time those that earlier ones had stay before others.
    """
    assert ours.state == expected.state
    for group, members in expected.state.members.items():
        if expected.state.groups[group].kind is not GroupKind.CLASSIC:
            assert list(ours.state.members[group]) == list(members)
    assert facts(ours) | {"subjects": None} == facts(expected) | {"subjects": None}


def check(records: list[LogRecord], batches: Iterable[pa.RecordBatch], rules: Rules | None) -> None:
    """Assert that replay by column equals replay by event."""
    expected, changes = one_at_a_time(records, rules)
    batches = list(batches)
    of_all = Coordinator(0, rules)
    whole = RowsReplay(of_all, ReplayStore(of_all.state))
    for batch in batches:
        for event, did in whole.replay(batch):
            # Where several transactions wait for one offset, nothing depends on which is told first.
            assert sorted(did, key=repr) == sorted(changes[event.record.log_offset], key=repr)
    assert_equal(whole.materialize(), expected)


@given(logs(), st.sampled_from(RULES), st.lists(st.integers(1, 20), min_size=1, max_size=4))
def test_any_log_in_any_cut(log: list[LogRecord], rules: Rules | None, sizes: list[int]) -> None:
    check(log, cut(rows_of(log), sizes), rules)


@pytest.mark.parametrize("partition", sample(PARTITIONS, 5), ids=lambda path: "/".join(path.parts[-3::2]))
def test_real_logs(partition: Path) -> None:
    records = list(plain_rows.records([Path(live.path) for live in live_segments(partition)]))
    for fast in (True, False):
        rows = list(read_rows(partition, fast=fast))
        for rules in RULES:
            check(records, cut(rows, [1 << 20] if fast else [7, 1, 100]), rules)
            check(records, cut(rows, [50]), rules)


@pytest.mark.parametrize("seed", range(8) if DEEP else (1,))
@pytest.mark.parametrize("release", ["2.8.2", "3.9.2", "4.3.1"])
def test_lives_of_groups(release: str, seed: int, tmp_path: Path) -> None:
    log = RandomLog(seed, READERS[release], disorder=0.1 * (seed % 2)).grow(250 if DEEP else 120)
    path = tmp_path / "__consumer_offsets-0" / "00000000000000000000.log"
    path.parent.mkdir()
    path.write_bytes(segment(log.placed))
    records, rows = list(plain_rows.records([path])), list(read_rows(path.parent, fast=True))
    for rules in RULES:
        check(records, cut(rows, [1 << 20]), rules)
        check(records, cut(rows, [17, 40]), rules)


def generations(*numbers: int, sequence: int = -1) -> list[LogRecord]:
    """A classic group's record for each generation, and a commit of the group after each."""
    of_group, of_offset = (case for case in CASES if case.name in ("group_v3", "commit_v3"))
    if of_group.type != 2:
        of_group, of_offset = of_offset, of_group
    records = []
    for number in numbers:
        value = encode_value(Value(3, "0.9", replace(of_group.value, generation=number)))
        for case, data, first in (
            (of_group, value, sequence),
            (of_offset, bytes.fromhex(of_offset.value_hex or ""), -1),
        ):
            key, at = encode_key(Key(RECORD_TYPES[case.type], case.key)), len(records)
            records.append(
                written(Writing(-1, False, True, first), at, at, 1_700_000_000_000, key, data, False)
            )
    return records


@pytest.mark.parametrize(
    "log", [generations(3, 4, sequence=0), generations(3, 4) + generations(0, sequence=7)[:1]]
)
def test_what_proves_the_new_coordinator_is_seen_where_it_stands(log: list[LogRecord]) -> None:
    log = [replace(record, log_offset=at) for at, record in enumerate(log)]
    expected, _ = one_at_a_time(log, None)
    assert expected.proved_at is not None
    check(log, rows_of(log), None)
