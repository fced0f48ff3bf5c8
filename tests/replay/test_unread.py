"""A record that was not understood: what it is about is unknown from there on, what it is not about stays proven.

The value may have been anything: what is said to be proven must hold in a log that has another value there.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.snapshot import PartitionSnapshot, Snapshot, replay_events
from offsets_tool.as_of.views_groups import group_rows
from offsets_tool.as_of.views_members import member_rows
from offsets_tool.as_of.views_offsets import offset_rows
from offsets_tool.checkpoint import restore, save
from offsets_tool.events import Event, decode
from offsets_tool.history.history import History
from offsets_tool.history.rows import OffsetHistoryRow
from offsets_tool.replay.changes import CommittedOffset, Group
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.replay.topic_names import TopicNames
from offsets_tool.rows import LogRecord
from offsets_tool.wire.json import uuid_text
from tests.replay.hostile_sequences import logs
from tests.replay.stories.consumer_records import epoch, joined, owns, target_epoch, topics, wants
from tests.replay.story import (
    StoryRecord,
    commit,
    group_metadata,
    group_tombstone,
    marker,
    member,
    txn_commit,
)

_UNKNOWN_VERSION: Final = b"\0\x63"
_FOO0, _FOO1 = ("foo", "foo", 0), ("foo", "foo", 1)


def _snapshot(events: Iterable[Event], rules: Rules) -> tuple[Snapshot, PartitionSnapshot]:
    snapshot = Snapshot(AsOf(), TopicNames(), rules)
    replay_events((snapshot,), 7, events)
    [partition] = snapshot
    return snapshot, partition


def _torn(record: LogRecord) -> LogRecord:
    """Return a record whose value has a version that nobody knows; a tombstone or a marker as it is."""
    is_kept = record.value is None or record.is_control
    return record if is_kept else replace(record, value=_UNKNOWN_VERSION + (record.value or b"")[2:])


def _proven(partition: PartitionSnapshot) -> dict[Any, Any]:
    """Return all that a snapshot says is proven of offsets and groups."""
    unknown = partition.unknown
    return {
        subject: _without_place(value)
        for subject, value in partition.state.subjects()
        if isinstance(value, CommittedOffset | Group) and subject not in unknown
    }


def _without_place(value: Any) -> Any:
    """Return what is said of a group without where it was said first: a value that is not understood may have said the same."""
    return value._replace(log_offset=0) if isinstance(value, Group) else value


@given(logs(), st.sets(st.integers(0, 60), max_size=8), st.sampled_from(Rules))
def test_what_is_proven_holds_whatever_the_value_was(
    log: list[LogRecord], places: set[int], rules: Rules
) -> None:
    events = [decode(record) for record in log]
    torn = [decode(_torn(record)) if at in places else decode(record) for at, record in enumerate(log)]
    _, known = _snapshot(events, rules)
    _, partition = _snapshot(torn, rules)
    for subject, value in _proven(partition).items():
        assert _without_place(known.state.get(subject)) == value, subject
    unknown = partition.unknown
    for subject, value in _proven(known).items():
        assert subject in unknown or _without_place(partition.state.get(subject)) == value, subject


@given(logs(), st.sampled_from(Rules))
def test_a_checkpoint_keeps_what_was_not_understood(log: list[LogRecord], rules: Rules) -> None:
    coordinator = Coordinator(7, rules)
    for record in log:
        coordinator.replay(decode(record))
    assert restore(save(coordinator, 0)).coordinator.state.unread == coordinator.state.unread


class _Case(NamedTuple):
    """Records of which some are torn, and the committed offset of foo-0 then, None where it is unknown; "" where there is none."""

    records: tuple[StoryRecord, ...]
    committed: int | str | None
    rules: tuple[Rules, ...] = (Rules.CLASSIC, Rules.NEW)


def _unread(record: StoryRecord) -> StoryRecord:
    return record._replace(value=_UNKNOWN_VERSION + (record.value or b"")[2:])


def _tombstone(record: StoryRecord) -> StoryRecord:
    return record._replace(value=None)


_NO_KEY: Final = StoryRecord(b"\0\x63key", b"value")
CASES: Final = {
    "the newest commit": _Case((commit(*_FOO0, 5), _unread(commit(*_FOO0, 6))), None),
    "the only commit": _Case((_unread(commit(*_FOO0, 6)),), None),
    "a value cut short": _Case((commit(*_FOO0, 5), commit(*_FOO0, 6)._replace(value=b"\0\3\0")), None),
    "another partition's": _Case((commit(*_FOO0, 5), _unread(commit(*_FOO1, 6))), 5),
    "a later one reads": _Case((_unread(commit(*_FOO0, 5)), commit(*_FOO0, 6)), 6),
    "a tombstone reads always": _Case(
        (commit(*_FOO0, 4), _unread(commit(*_FOO0, 5)), _tombstone(commit(*_FOO0, 6))), ""
    ),
    "pending: what is committed stays": _Case((commit(*_FOO0, 4), _unread(txn_commit(5, *_FOO0, 5))), 4),
    "pending, then committed": _Case(
        (commit(*_FOO0, 4), _unread(txn_commit(5, *_FOO0, 5)), marker(1, 5)), None
    ),
    "pending, then aborted": _Case((commit(*_FOO0, 4), _unread(txn_commit(5, *_FOO0, 5)), marker(0, 5)), 4),
    "pending, a newer commit wins": _Case(
        (_unread(txn_commit(5, *_FOO0, 5)), commit(*_FOO0, 6), marker(1, 5)), 6
    ),
    "pending, of the same producer again": _Case(
        (_unread(txn_commit(5, *_FOO0, 5)), txn_commit(5, *_FOO0, 6), marker(1, 5)), 6
    ),
    "pending, the later one is not understood": _Case(
        (txn_commit(5, *_FOO0, 5), _unread(txn_commit(5, *_FOO0, 6)), marker(1, 5)), None
    ),
    "pending, a newer commit that was not understood wins": _Case(
        (txn_commit(5, *_FOO0, 5), _unread(commit(*_FOO0, 6)), marker(1, 5)), None
    ),
    "pending, and a tombstone ends what waits": _Case(
        (_unread(txn_commit(5, *_FOO0, 5)), _tombstone(commit(*_FOO0, 6)), marker(1, 5)), "", (Rules.NEW,)
    ),
    "no key: all from before": _Case((commit(*_FOO0, 5), _NO_KEY), None),
    "no key: what comes later is proven": _Case((_NO_KEY, commit(*_FOO0, 5)), 5),
}


by_rules: Final = pytest.mark.parametrize(
    ("case", "rules"),
    [
        pytest.param(case, rules, id=f"{name}, {rules}")
        for name, case in CASES.items()
        for rules in case.rules
    ],
)


def _placed(records: Iterable[StoryRecord]) -> list[Event]:
    return [
        decode(
            LogRecord(
                source="s",
                log_partition=7,
                log_offset=at,
                timestamp=at,
                key=each.key,
                value=each.value,
                producer_id=None if each.producer_id == -1 else each.producer_id,
                is_transactional=bool(each.attributes & 0x10),
                is_control=bool(each.attributes & 0x20),
            )
        )
        for at, each in enumerate(records)
    ]


@by_rules
def test_an_offset_is_unknown_until_a_later_record_reads(case: _Case, rules: Rules) -> None:
    snapshot, partition = _snapshot(_placed(case.records), rules)
    rows = {row["partition"]: row for row in offset_rows(snapshot)}
    if case.committed == "":
        assert 0 not in rows
        return
    assert rows[0]["is_proven"] is (case.committed is not None)
    assert case.committed is None or rows[0]["committed_offset"] == case.committed
    assert rows[0]["proven_again_from"] is None
    assert partition.unread_records == sum(event.kept_raw is not None for event in _placed(case.records))


@by_rules
def test_a_history_holds_no_offset_that_is_unknown_by_name(case: _Case, rules: Rules) -> None:
    coordinator, history = Coordinator(7, rules), History(uuid_text)
    for event in _placed(case.records):
        for change in coordinator.replay(event):
            history.observe_change(change)
    history.flush()
    held = [
        row.committed_offset
        for row in history.open_rows()
        if isinstance(row, OffsetHistoryRow) and row.partition == 0 and row.is_effective
    ]
    if coordinator.state.unread.log is None:
        assert held == ([] if case.committed in (None, "") else [case.committed])


@pytest.mark.parametrize(
    "unread", [commit(*_FOO0, 5), txn_commit(5, *_FOO0, 5)], ids=["effective", "pending"]
)
def test_a_simple_group_is_there_as_long_as_it_has_an_offset_that_is_unknown(unread: StoryRecord) -> None:
    events = _placed((_unread(unread), commit(*_FOO1, 6), _tombstone(commit(*_FOO1, 6))))
    for rules in Rules:
        snapshot, _ = _snapshot(events, rules)
        assert [row["group"] for row in group_rows(snapshot)] == ["foo"]
        assert [row["is_proven"] for row in offset_rows(snapshot)] == [False] * (unread.producer_id == -1)


SIMPLE: Final = {
    "its only commit": ((_unread(commit(*_FOO0, 5)),), False, None),
    "each of its commits": ((_unread(commit(*_FOO0, 5)), _unread(commit(*_FOO1, 5))), False, None),
    "its only commit, in a transaction": ((_unread(txn_commit(7, *_FOO0, 5)),), False, 0),
    "one of its commits": ((_unread(commit(*_FOO0, 5)), commit(*_FOO1, 6)), True, None),
    "its only commit, and then one that reads": ((_unread(commit(*_FOO0, 5)), commit(*_FOO0, 6)), True, 1),
    "its newest commit": ((commit(*_FOO0, 5), _unread(commit(*_FOO0, 6))), False, None),
    "nothing": ((commit(*_FOO0, 5), commit(*_FOO1, 6)), True, 2),
}
"""Records of a group that has offsets alone, what of them does not read, whether it is proven, and how many offsets it has."""


@pytest.mark.parametrize("rules", Rules)
@pytest.mark.parametrize(("records", "is_proven", "offsets"), SIMPLE.values(), ids=SIMPLE)
def test_a_simple_group_is_proven_by_what_reads(
    records: tuple[StoryRecord, ...], is_proven: bool, offsets: int | None, rules: Rules
) -> None:
    snapshot, _ = _snapshot(_placed(records), rules)
    [row] = group_rows(snapshot)
    assert (row["is_proven"], row["offsets"]) == (is_proven, offsets)
    assert (row["state"] is not None) == is_proven


_CLASSIC: Final = (group_metadata("foo", 5, member("m1")), commit(*_FOO0, 1))
_CONSUMER: Final = (
    epoch("foo", 1),
    topics("foo"),
    joined("foo", "m1"),
    joined("foo", "m2"),
    target_epoch("foo", 1),
    wants("foo", "m1", 0),
    owns("foo", "m1", 1, 0),
    owns("foo", "m2", 1),
)
GROUPS: Final = {
    "a generation": ((*_CLASSIC, _unread(group_metadata("foo", 6, member("m1")))), False, {"m1": False}),
    "a generation, and then one that reads": (
        (*_CLASSIC, _unread(group_metadata("foo", 6, member("m1"))), group_metadata("foo", 7, member("m2"))),
        True,
        {"m2": True},
    ),
    "a generation, and then the group's tombstone": (
        (_unread(group_metadata("foo", 6, member("m1"))), group_tombstone("foo")),
        None,
        {},
    ),
    "an epoch": ((*_CONSUMER, _unread(epoch("foo", 2))), False, {"m1": True, "m2": True}),
    "an epoch, and then one that reads": (
        (*_CONSUMER, _unread(epoch("foo", 2)), epoch("foo", 3)),
        True,
        {"m1": True, "m2": True},
    ),
    "an epoch, and then a generation": (
        (_unread(epoch("foo", 2)), group_metadata("foo", 1, member("m1"))),
        True,
        {"m1": True},
    ),
    "an epoch, and then something else that reads": (
        (*_CONSUMER, _unread(epoch("foo", 2)), topics("foo")),
        False,
        {"m1": True, "m2": True},
    ),
    "what a member owns": ((*_CONSUMER, _unread(owns("foo", "m1", 2, 0))), False, {"m1": False, "m2": True}),
    "what a member owns, and then the same as before": (
        (*_CONSUMER, _unread(owns("foo", "m1", 2, 0)), owns("foo", "m1", 1, 0)),
        True,
        {"m1": True, "m2": True},
    ),
    "a member that joins": ((*_CONSUMER, _unread(joined("foo", "m3"))), False, {"m1": True, "m2": True}),
    "a member that joins, and then another": (
        (*_CONSUMER, _unread(joined("foo", "m3")), joined("foo", "m4")),
        False,
        {"m1": True, "m2": True, "m4": True},
    ),
    "nothing": (_CONSUMER, True, {"m1": True, "m2": True}),
}
"""Records, whether the group is proven then (None: it is gone), and whether each of its members is."""


@pytest.mark.parametrize(("records", "is_proven", "members"), GROUPS.values(), ids=GROUPS)
def test_a_group_is_unknown_until_a_later_record_of_the_same_part_reads(
    records: tuple[StoryRecord, ...], is_proven: bool | None, members: dict[str, bool]
) -> None:
    snapshot, partition = _snapshot(_placed(records), Rules.NEW)
    rows = group_rows(snapshot)
    assert [row["is_proven"] for row in rows] == ([] if is_proven is None else [is_proven])
    assert all(
        (row["state"] is not None, row["members"] is not None) == (is_proven, is_proven) for row in rows
    )
    assert {row["member_id"]: row["is_proven"] for row in member_rows(snapshot)} == members
    states = [group.state for group in partition.state.groups.values()]
    assert (states == ["Unknown"]) is (is_proven is False)
