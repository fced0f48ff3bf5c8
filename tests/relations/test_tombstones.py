"""Writes of tombstones, removed at once, make the histories and removals that their changes make one by one.

Few groups lose offsets of few topics between commits, transactions and rebalances, with clocks that stand still now and then.
"""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.snapshot import Snapshot, replay_events
from offsets_tool.events import Key, Value, decode, encode_key, encode_value
from offsets_tool.records import RECORD_TYPES
from offsets_tool.records.classic import GroupMetadataKey, GroupMetadataValue
from offsets_tool.records.kinds import GROUP_METADATA
from offsets_tool.records.offsets import OffsetCommitKey
from offsets_tool.relations.histories import replay_batches
from offsets_tool.relations.replays import Start
from offsets_tool.replay.rules import Rules
from offsets_tool.replay.topic_names import TopicNames
from offsets_tool.rows import LogRecord
from tests.cases import TOPIC_ID, commit
from tests.relations.test_histories import (
    COMMIT_KEY_TYPE,
    OWN_BATCH,
    expected,
    in_turns,
    parts,
    rows_of,
    sorted_rows,
)
from tests.relations.test_moments import MOMENTS
from tests.relations.test_partitions import check, removals
from tests.replay.hostile_sequences import Writing, marker, written
from tests.test_checkpoint import RULES

GROUPS = ("orders", "refunds")
TOPICS = ("t", "u")
PARTITIONS = range(4)
COMMITTED_AT = 1_700_000_000_000


class Drawn(NamedTuple):
    """One batch: how long after the one before it, who writes it, and its records, of which control records have no batch."""

    later: int
    writing: Writing
    records: list[tuple[bytes, bytes | None]]
    is_control: bool = False


def offset_key(group: str, topic: str, partition: int) -> bytes:
    key = OffsetCommitKey(group=group, topic=topic, partition=partition)
    return encode_key(Key(RECORD_TYPES[COMMIT_KEY_TYPE], key))


def commit_value(offset: int, at: int, retention: int | None, has_id: bool) -> bytes:
    expires = -1 if retention is None else COMMITTED_AT + at + retention
    version = 4 if has_id else 3 if retention is None else 1
    fields = {"offset": offset, "metadata": "", "commit_timestamp": COMMITTED_AT + at}
    more = {} if version == 3 else {"expire_timestamp": expires} if version == 1 else {"topic_id": TOPIC_ID}
    return encode_value(Value(version, "", commit(version, **{**fields, **more})))


def group_value(generation: int) -> bytes:
    said = {"protocol_type": "consumer", "generation": generation, "protocol": None, "leader": None}
    return encode_value(
        Value(3, "", GroupMetadataValue(**said, current_state_timestamp=COMMITTED_AT, members=()))
    )


def _batches() -> st.SearchStrategy[Drawn]:
    names, later = st.sampled_from(GROUPS), st.sampled_from((1, 1, 1, 5, 0))
    keys = st.builds(offset_key, names, st.sampled_from(TOPICS), st.sampled_from(PARTITIONS))
    values = st.builds(
        commit_value,
        st.integers(0, 9),
        st.integers(0, 3),
        st.sampled_from((None, None, 5, 7)),
        st.booleans(),
    )
    own, new = st.just(OWN_BATCH), st.just(Writing(-1, False, True, 5))
    pending = st.sampled_from((7, 8)).map(lambda producer: Writing(producer, True, True, 0))
    commits = st.lists(st.tuples(keys, values), min_size=1, max_size=6)
    tombstones = st.lists(keys, min_size=1, max_size=4).map(lambda some: [(key, None) for key in some])
    markers = st.sampled_from((0, 1, 1)).map(lambda type_id: [marker(0, type_id)])
    of_groups = st.tuples(names, st.none() | st.integers(1, 4)).map(
        lambda each: [
            (
                encode_key(Key(RECORD_TYPES[GROUP_METADATA], GroupMetadataKey(group=each[0]))),
                None if each[1] is None else group_value(each[1]),
            )
        ]
    )
    return st.one_of(
        st.builds(Drawn, later, own, commits),
        st.builds(Drawn, later, own, commits),
        st.builds(Drawn, later, own, tombstones),
        st.builds(Drawn, later, own, tombstones),
        st.builds(Drawn, later, own | new, tombstones),
        st.builds(Drawn, later, pending, commits | tombstones),
        st.builds(Drawn, later, pending, markers, st.just(True)),
        st.builds(Drawn, later, own, of_groups),
    )


@st.composite
def logs(draw: st.DrawFn) -> list[LogRecord]:
    """Draw a log that begins with commits of all offsets, or not."""
    all_ = [offset_key(group, topic, at) for group in GROUPS for topic in TOPICS for at in PARTITIONS]
    begin = Drawn(1, OWN_BATCH, [(key, commit_value(1, 0, None, has_id=False)) for key in all_])
    batches = draw(st.lists(_batches(), min_size=8, max_size=30))
    records: list[LogRecord] = []
    timestamp = COMMITTED_AT
    for later, writing, content, is_control in [begin, *batches] if draw(st.integers(0, 3)) else batches:
        timestamp += later
        base = len(records)
        records += (
            written(writing, base, base + at, timestamp, key, value, is_control)
            for at, (key, value) in enumerate(content)
        )
    return records


@given(logs(), st.sampled_from(RULES), st.lists(st.integers(1, 90), max_size=3))
def test_histories_of_writes_at_once_and_change_by_change(
    log: list[LogRecord], rules: Rules | None, cuts: list[int]
) -> None:
    wanted, rows = expected(log, rules, 0), rows_of(log)
    assert sorted_rows(list(replay_batches(Start(0, {}, rules), [rows]))) == wanted
    assert sorted_rows(in_turns(parts(rows, cuts), rules, 0)) == wanted


@given(logs(), MOMENTS, st.sampled_from(RULES), st.lists(st.integers(20, 90), min_size=1, max_size=3))
def test_removals_at_once_and_change_by_change(
    log: list[LogRecord], as_of: AsOf, rules: Rules | None, sizes: list[int]
) -> None:
    check(removals, log, as_of, rules, sizes)


@pytest.mark.parametrize("is_control", [True, False])
def test_a_control_record_proves_no_coordinator_whatever_its_key_begins_with(is_control: bool) -> None:
    """A tombstone without a sequence proves the classic one; the same bytes in a control batch have no record type."""
    key = encode_key(
        Key(RECORD_TYPES[COMMIT_KEY_TYPE], OffsetCommitKey(group="orders", topic="t", partition=0))
    )
    log = [written(OWN_BATCH, 0, 0, 5, key, None, is_control=is_control)]
    check(removals, log, AsOf(), Rules.CLASSIC, [1])
    at_once = Snapshot(AsOf(), TopicNames(), Rules.CLASSIC)
    replay_events((at_once,), 0, map(decode, log))
    assert [partition.proved_classic for partition in at_once] == [not is_control]
