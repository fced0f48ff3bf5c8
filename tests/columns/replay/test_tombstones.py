"""Writes of tombstones, removed at once, make the histories and removals that their changes make one by one.

Few groups lose offsets of few topics between commits, transactions and rebalances, with clocks that stand still now and then.
"""

from collections.abc import Iterable
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.columns.replay.compiled import growing_tables
from offsets_tool.columns.replay.compiled.tables import NONE, GroupCell, OffsetCell
from offsets_tool.columns.replay.groups.groups_replay import GroupsReplay
from offsets_tool.columns.replay.history import Start, replay_batches
from offsets_tool.events import Key, Value, encode_key, encode_value
from offsets_tool.expiry.removal_log import RemovalLog
from offsets_tool.history.history import History
from offsets_tool.history.transactions import TransactionLog
from offsets_tool.records import RECORD_TYPES
from offsets_tool.records.classic import GroupMetadataKey, GroupMetadataValue
from offsets_tool.records.kinds import GROUP_METADATA
from offsets_tool.records.offsets import OffsetCommitKey
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.rows import LogRecord
from tests.cases import TOPIC_ID, commit
from tests.columns.replay.test_history import (
    COMMIT_KEY_TYPE,
    OWN_BATCH,
    expected,
    in_turns,
    parts,
    rows_of,
    sorted_rows,
)
from tests.relations.test_moments import MOMENTS
from tests.relations.test_partitions import check
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
    check(log, as_of, rules, sizes)


def test_what_goes_at_once() -> None:
    """Writes of several tombstones of groups that keep some: not the last of a group, nor where commits are pending."""
    keys = [offset_key("orders", "t", at) for at in PARTITIONS]
    pending = Writing(7, True, True, 0)
    value = commit_value(1, 0, None, has_id=False)
    batches = [
        (OWN_BATCH, [(key, value) for key in keys], False),
        (OWN_BATCH, [(key, None) for key in keys[:2]], False),
        (OWN_BATCH, [(key, value) for key in keys[:2]], False),
        (pending, [(keys[3], value)], False),
        (OWN_BATCH, [(key, None) for key in keys[:2]], False),
        (pending, [marker(0, 1)], True),
        (OWN_BATCH, [(keys[0], value)], False),
        (OWN_BATCH, [(key, None) for key in keys[2:]], False),
        (OWN_BATCH, [(keys[0], value)], False),
        (OWN_BATCH, [(key, None) for key in keys], False),
        (OWN_BATCH, [(keys[0], value)], False),
    ]
    log = list[LogRecord]()
    for when, (writing, content, is_control) in enumerate(batches):
        base = len(log)
        log += (
            written(writing, base, base + at, when, *record, is_control) for at, record in enumerate(content)
        )
    replay = GroupsReplay(Coordinator(0), History(), RemovalLog(0), TransactionLog())
    alone = []
    for event, changes in replay.replay(rows_of(log)):
        replay.observe(event, changes)
        alone.append(event.record.log_offset)
    assert alone == [9, 10, 11, 16, 17, 18, 19]


def _of_writes(writes: Iterable[Iterable[tuple[bytes, bytes | None]]]) -> list[LogRecord]:
    """Return a log of these writes, one a millisecond."""
    log = list[LogRecord]()
    for when, content in enumerate(writes):
        base = len(log)
        log += (
            written(OWN_BATCH, base, base + at, when, *record, is_control=False)
            for at, record in enumerate(content)
        )
    return log


@pytest.fixture
def small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables have so few lines at first that they fill at once."""
    monkeypatch.setattr(growing_tables, "_FIRST", 2)


@pytest.mark.usefixtures("small_tables")
def test_what_there_is_no_room_for_at_first() -> None:
    """A write of more tombstones than rows that end have room for, and more writes than there is room for what they leave."""
    value = commit_value(1, 0, None, has_id=False)
    keys = [offset_key("orders", "t", at) for at in range(30)]
    others = [offset_key("refunds", f"t{at}", 0) for at in range(8)]
    writes = [[(key, value) for key in (*keys, *others)], [(key, None) for key in keys[1:]]]
    for _ in range(200):
        writes += [[(others[0], None)], [(others[0], value)]]
    log = _of_writes(writes)
    rows, wanted = rows_of(log), expected(log, None, 0)
    assert sorted_rows(list(replay_batches(Start(0), [rows]))) == wanted
    check(log, AsOf(), None, [len(log)])


@pytest.mark.usefixtures("small_tables")
def test_what_writes_leave_makes_no_table_grow_that_has_room() -> None:
    """Each write leaves more than half of what the table of such offsets has room for, and ends one row."""
    value = commit_value(1, 0, None, has_id=False)
    keys = [offset_key("orders", f"t{at}", 0) for at in range(40)]
    writes = [[(key, value) for key in keys]]
    for at in range(200):
        writes += [[(keys[at % 40], None)], [(keys[at % 40], value)]]
    log = _of_writes(writes)
    rows = rows_of(log)
    replay = GroupsReplay(Coordinator(0), History(), RemovalLog(0), TransactionLog())
    for page in parts(rows, range(0, rows.num_rows, 20)):
        for event, changes in replay.replay(page):
            replay.observe(event, changes)
    tables = replay.store.tables
    assert len(tables.left) == len(tables.offsets) == len(keys)
    assert len(tables.ended) <= 2 * 20
    assert sorted_rows(list(replay_batches(Start(0), [rows]))) == expected(log, None, 0)


def test_offsets_that_are_gone_are_not_looked_at_again() -> None:
    """Of a group with many topics that each lived shortly, a tombstone looks at what is there; some come back."""
    value = commit_value(1, 0, None, has_id=False)
    keys = [offset_key("orders", f"t{at}", 0) for at in range(60)]
    writes = [[(keys[0], value)]]
    for key in keys[1:]:
        writes += [[(key, value)], [(key, None)]]
    pages = [[*writes, [(keys[0], value)]], [[(key, value) for key in keys[10:20]], [(keys[10], None)]] * 2]
    replay = GroupsReplay(Coordinator(0), History(), RemovalLog(0), TransactionLog())
    log = _of_writes([*pages[0], *pages[1], [(keys[0], value)]])
    first, second = parts(rows_of(log), [len(pages[0])])
    assert [*replay.replay(first)] == []
    assert _looked_at(replay) == [0]
    assert [*replay.replay(second)] == []
    assert _looked_at(replay) == [0, *range(11, 20)]
    for cuts in ([40], [len(pages[0]), len(log) - 2], range(len(log))):
        assert sorted_rows(in_turns(parts(rows_of(log), cuts), None, 0)) == expected(log, None, 0)


def _looked_at(replay: GroupsReplay) -> list[int]:
    """Return at which of its topics a tombstone of the only group looks."""
    [group] = replay.store.tables.groups[:1].tolist()
    found, at = list[int](), group[GroupCell.HEAD]
    while at != NONE:
        found.append(int(replay.store.subjects.offsets[at].topic[1:]))
        at = int(replay.store.tables.offsets[at, OffsetCell.NEXT_OF_GROUP])
    return sorted(found)
