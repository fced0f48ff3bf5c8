"""A position's facts two ways: from the coordinator's state there, and from the rows of history that hold there.

And the reading of fixtures that the tests of history share. Transactions as such have no rows: their commits do.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from offsets_tool.events import Event, decode
from offsets_tool.history.history import History
from offsets_tool.history.rows import (
    AnomalyRow,
    GroupHistoryRow,
    HistoryRow,
    MemberHistoryRow,
    OffsetBeginCause,
    OffsetHistoryRow,
)
from offsets_tool.replay.changes import Change, CommittedOffset, Group, GroupKind, Member, PendingCommit
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.member_records import (
    Owned,
    assigned,
    client_of,
    subscribed_regex,
    subscription,
    target,
    to_give_up,
)
from offsets_tool.replay.member_state import member_epoch, member_state
from offsets_tool.replay.rules import Rules
from offsets_tool.replay.state import State
from offsets_tool.replay.topic_names import TopicNames
from offsets_tool.wire.json import uuid_text
from tests import plain_rows
from tests.corpora import folder_of, partitions

Facts = dict[tuple[Any, ...], tuple[Any, ...]]


@cache
def events_of(corpus: str) -> dict[int, list[Event]]:
    """Return the events of a fixture, by log partition."""
    return {
        int(path.name.rpartition("-")[2]): [
            decode(record) for record in plain_rows.records(path.glob("*.log"))
        ]
        for path in partitions([folder_of(corpus)])
    }


@cache
def rows_of(corpus: str) -> tuple[HistoryRow, ...]:
    """All rows of a fixture, topics by name where its log has them."""
    names = TopicNames()
    for events in events_of(corpus).values():
        for event in events:
            names.learn(event)
    rows: list[HistoryRow] = []
    for log_partition, events in events_of(corpus).items():
        rows += folded(changes_of(events, log_partition), History(names.name))
    return tuple(rows)


def changes_of(
    events: Iterable[Event], log_partition: int | None = 0, rules: Rules | None = None
) -> list[Change]:
    """Return the changes that a replay of the events gives."""
    coordinator = Coordinator(log_partition, rules)
    return [change for event in events for change in coordinator.replay(event)]


def folded(changes: Iterable[Change], history: History | None = None) -> list[HistoryRow]:
    """Return all rows of a history: those that ended, and those that still hold."""
    history = history or History()
    rows = [row for change in changes for row in history.observe_change(change)]
    return [*rows, *history.flush(), *history.open_rows()]


def facts_of_state(state: State) -> Facts:
    """Return the facts that a coordinator's state holds."""
    facts: Facts = {}
    for subject, value in state.subjects():
        match value:
            case CommittedOffset():
                facts["offset", *subject] = (*_commit(value), None)
            case PendingCommit(commit, deleted_at):
                facts["pending", *subject] = (*_commit(commit), deleted_at)
            case Group():
                facts["group", *subject] = _group(value)
            case Member():
                facts["member", *subject] = _member(value, state.groups[subject[0]])
    return facts


def _commit(commit: CommittedOffset) -> tuple[Any, ...]:
    topic_id = None if commit.topic_id is None else uuid_text(commit.topic_id)
    return (*commit._replace(topic_id=None), topic_id)


def _group(group: Group) -> tuple[Any, ...]:
    return tuple(getattr(group, name) for name in _GROUP)


_GROUP = (
    "kind",
    "state",
    "generation",
    "epoch",
    "assignment_epoch",
    "protocol_type",
    "protocol",
    "leader",
    "current_state_timestamp",
    "members",
    "log_offset",
)


def _member(member: Member, group: Group) -> tuple[Any, ...]:
    client = client_of(member)
    has_epoch = group.kind is not GroupKind.CLASSIC and member.is_member
    return (
        *client,
        *((member_epoch(member), member_state(member)) if has_epoch else (None, None)),
        subscription(member, group.protocol_type),
        subscribed_regex(member),
        *(
            _texts(parts, group.kind)
            for parts in (assigned(member, group.protocol_type), to_give_up(member), target(member))
        ),
    )


def _texts(parts: Iterable[Owned], kind: GroupKind) -> tuple[str, ...]:
    between = "_" if kind is GroupKind.STREAMS else "-"
    return tuple(f"{of if isinstance(of, str) else uuid_text(of)}{between}{number}" for of, number in parts)


def facts_of_rows(rows: Sequence[HistoryRow], end: int) -> Facts:
    """Return the facts that rows of history give for the state behind the records below `end`."""
    facts: Facts = {}
    for row in rows:
        if isinstance(row, AnomalyRow) or not row.from_log_offset < end:
            continue
        if row.to_log_offset is None or end <= row.to_log_offset:
            key, fact = _fact(row)
            assert key not in facts, "two rows hold at once"
            facts[key] = fact
    return facts


def effective_by_state(state: State) -> set[tuple[str, str, int]]:
    """The offsets that the coordinator would answer with."""
    return {
        (group, *at) for group, offsets in state.offsets.items() if state.answers(group) for at in offsets
    }


def effective_by_rows(rows: Iterable[HistoryRow]) -> set[tuple[str, str, int]]:
    """Return the effective offsets by the rows of history that hold at the end of the log."""
    return {
        (row.group, row.topic, row.partition)
        for row in rows
        if isinstance(row, OffsetHistoryRow) and row.is_effective and row.to_log_offset is None
    }


def _fact(
    row: OffsetHistoryRow | GroupHistoryRow | MemberHistoryRow,
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    match row:
        case OffsetHistoryRow():
            place = (row.group, row.topic, row.partition)
            said = (row.committed_offset, row.leader_epoch, row.metadata, row.commit_timestamp)
            rest = (
                row.expire_timestamp,
                None,
                row.commit_log_offset,
                row.topic_id,
                row.noop_tombstone_log_offset,
            )
            if row.is_effective or row.begin_cause is OffsetBeginCause.HIDDEN:
                return ("offset", *place), (*said, *rest[:-1], None)
            return ("pending", row.producer_id, *place), (*said, *rest)
        case GroupHistoryRow():
            return ("group", row.group), tuple(getattr(row, name) for name in _GROUP)
        case MemberHistoryRow():
            return ("member", row.group, row.member_id), (
                *(row.instance_id, row.client_id, row.client_host, row.member_epoch, row.member_state),
                *(
                    row.subscription,
                    row.subscribed_regex,
                    row.assignment,
                    row.pending_revocation,
                    row.target_assignment,
                ),
            )
