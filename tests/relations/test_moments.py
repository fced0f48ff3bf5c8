"""A moment by rows is the moment event by event: state, cut, proof, what was learnt; wherever it lies among the rows."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.snapshot import Snapshot, replay_events
from offsets_tool.events import Key, Value, decode, encode_key, encode_value
from offsets_tool.records import RECORD_TYPES
from offsets_tool.records.offsets import OffsetCommitKey
from offsets_tool.relations.moments import replay_rows
from offsets_tool.relations.row_events import COLUMNS, COMMIT, RAW, MomentRows
from offsets_tool.replay import topic_names
from offsets_tool.replay.rules import Rules
from offsets_tool.replay.topic_candidates import derive_names
from offsets_tool.replay.topic_names import TopicNames
from offsets_tool.rows import LogRecord
from tests import plain_rows
from tests.cases import commit
from tests.depth import sample
from tests.relations.log_rows import PARTITIONS, cut, live_segments, read_rows, rows_of
from tests.replay.hostile_sequences import Writing, logs, written
from tests.test_checkpoint import RULES, facts


def comparable(moment: Snapshot) -> list[dict[str, Any]]:
    """Return all fields of a snapshot, partition by partition, in a comparable form."""
    known = []
    for partition in moment:
        told = {
            name: getattr(partition, name) for name in ("begins", "proved_classic", "proved_later", "end")
        }
        coordinator = facts(partition.coordinator) | {"subjects": partition.state}
        proof = {name: value for name, value in vars(partition.coverage).items() if name != "keys"}
        keys = partition.coverage.keys - {None}
        known.append(told | coordinator | proof | vars(partition.cut) | {"keys": keys})
    names = moment.names
    derived = derive_names(names.candidates.snapshots(), names._names)
    return [*known, {"names": names._names, "derived": derived, "again": moment.to_replay_again()}]


def both(log: list[LogRecord], as_of: AsOf, rules: Rules | None) -> tuple[Snapshot, Snapshot]:
    by_events, by_rows = Snapshot(as_of, TopicNames(), rules), Snapshot(as_of, TopicNames(), rules)
    replay_events((by_events,), 0, map(decode, log), begins=3)
    return by_events, by_rows


def naming(*topics: str) -> list[LogRecord]:
    """Return commits of these topics, all with one topic id."""
    log = []
    for at, topic in enumerate(topics):
        key = Key(RECORD_TYPES[1], OffsetCommitKey(group="orders", topic=topic, partition=0))
        value = Value(4, "", replace(commit(4, offset=at), topic_id=UUID(int=1)))
        place = at, at, 1_700_000_000_000 + at
        log.append(written(Writing(-1, False, True, -1), *place, encode_key(key), encode_value(value), False))
    return log


def test_names_that_commits_have_wait_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_names, "MOST_LATER", 1_000)
    moment = Snapshot(AsOf(), TopicNames(), None)
    replay_rows((moment,), 0, cut(rows_of(naming(*["orders"] * 30)), [1]))
    assert len(moment.names._later) < 10
    assert moment.names.name(UUID(int=1)) == "orders"


@pytest.mark.parametrize("topics", ["aba", "bab", "abab", "cabba"])
def test_of_names_that_contradict_each_other_the_last_one_stays(topics: str) -> None:
    for sizes in ([1], [2], [9]):
        by_events, by_rows = both(naming(*topics), AsOf(), None)
        replay_rows((by_rows,), 0, cut(rows_of(naming(*topics)), sizes), begins=3)
        assert comparable(by_rows) == comparable(by_events)
        assert by_rows.names.name(UUID(int=1)) == topics[-1]


@pytest.mark.parametrize("sizes", [[1], [9]])
def test_a_classic_value_that_converts_its_group_does_not_wait(sizes: list[int]) -> None:
    of_consumer = b"\x00\x03\x00\x06refund", bytes.fromhex("00000000000500")
    of_classic = (
        b"\x00\x02\x00\x06refund",
        bytes.fromhex("00000008") + b"consumer" + bytes.fromhex("00000003ffffffff00000000"),
    )
    log = [
        written(Writing(-1, False, True, -1), at, at, 1_700_000_000_000 + at, key, value, False)
        for at, (key, value) in enumerate((of_consumer, of_classic, of_consumer))
    ]
    by_events, by_rows = both(log, AsOf(), Rules.NEW)
    replay_rows((by_rows,), 0, cut(rows_of(log), sizes), begins=3)
    assert comparable(by_rows) == comparable(by_events)


MOMENTS = st.one_of(
    st.just(AsOf()),
    st.integers(0, 60).map(lambda end: AsOf(ends={0: end})),
    st.just(AsOf(ends={1: 5})),
    st.integers(1_699_999_999_800, 1_700_000_001_000).map(lambda time: AsOf(time=time)),
)


@given(logs(), MOMENTS, st.sampled_from(RULES), st.lists(st.integers(1, 20), min_size=1, max_size=4))
def test_any_log_at_any_moment(
    log: list[LogRecord], as_of: AsOf, rules: Rules | None, sizes: list[int]
) -> None:
    by_events, by_rows = both(log, as_of, rules)
    replay_rows((by_rows,), 0, cut(rows_of(log), sizes), begins=3)
    assert comparable(by_rows) == comparable(by_events)


@pytest.mark.parametrize("partition", sample(PARTITIONS, 5), ids=lambda path: "/".join(path.parts[-3::2]))
def test_real_logs(partition: Path) -> None:
    log = list(plain_rows.records([Path(segment.path) for segment in live_segments(partition)]))
    middle = log[len(log) // 2]
    for as_of in (AsOf(), AsOf(ends={0: middle.log_offset}), AsOf(time=middle.timestamp)):
        by_events, by_rows = both(log, as_of, None)
        replay_rows((by_rows,), 0, read_rows(partition, fast=True), begins=3)
        assert comparable(by_rows) == comparable(by_events)


def as_a_lake_has_them(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Of a commit that reads the columns of `events` alone, of any other record those of `log`."""
    is_commit = pc.and_(pc.is_valid(rows.column("topic")), pc.is_null(rows.column("problem")))
    made = {}
    for name in COLUMNS:
        column = rows.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if name in RAW:
            column = pc.if_else(is_commit, pa.scalar(None, column.type), column)
        elif name in (*COMMIT, "problem"):
            column = pc.if_else(is_commit, column, pa.scalar(None, column.type))
        made[name] = column
    return pa.RecordBatch.from_pydict(made)


@pytest.mark.parametrize("partition", sample(PARTITIONS, 5), ids=lambda path: "/".join(path.parts[-3::2]))
def test_rows_of_a_lake_prove_what_whole_rows_prove(partition: Path) -> None:
    """But for names of topics, which a lake has in a table of their own, and formats before 2, which only `log` has of a commit."""
    whole = list(read_rows(partition, fast=True))
    offsets = [offset for rows in whole for offset in rows.column("log_offset").to_pylist()]
    if any(pc.any(pc.less(rows.column("magic"), 2)).as_py() for rows in whole):
        pytest.skip("the log is of a format before 2")
    as_of, made = AsOf(ends={0: offsets[len(offsets) // 2]}), MomentRows()
    one, other = Snapshot(as_of, TopicNames()), Snapshot(as_of, TopicNames())
    replay_rows((one,), 0, whole)
    replay_rows((other,), 0, (made.rows(as_a_lake_has_them(rows)) for rows in whole))
    assert comparable(other)[:-1] == comparable(one)[:-1]
