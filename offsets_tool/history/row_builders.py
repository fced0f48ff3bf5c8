"""The row of history that begins with a Change, made from the value that the Change sets.

Knows no past: how rows follow each other is known by History.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from offsets_tool.history.owners import NameOf, Owner
from offsets_tool.history.rows import (
    AnomalyRow,
    GroupHistoryRow,
    MemberHistoryRow,
    OffsetBeginCause,
    OffsetHistoryRow,
)
from offsets_tool.records.classic import MemberMetadata
from offsets_tool.replay.changes import (
    Change,
    CommittedOffset,
    Group,
    GroupKind,
    GroupOf,
    Member,
    MemberOf,
    OffsetOf,
    PendingOf,
)
from offsets_tool.replay.classic import kept_size
from offsets_tool.replay.member_records import (
    Client,
    OwnedOfTopic,
    Timeouts,
    assigned_by_topic,
    client_of,
    subscribed_regex,
    subscription,
    target_by_topic,
    timeouts_of,
    to_give_up_by_topic,
)
from offsets_tool.replay.member_state import member_epoch, member_state
from offsets_tool.wire.json import uuid_text
from offsets_tool.wire.kept import Kept


def offset_row(
    change: Change, subject: OffsetOf, commit: CommittedOffset, owner: Owner, delta: int | None
) -> OffsetHistoryRow:
    """Return the row of a plain commit, with the partition's owner and the distance to the commit before it."""
    return OffsetHistoryRow(
        group=subject.group,
        topic=subject.topic,
        partition=subject.partition,
        is_effective=True,
        committed_offset=commit.committed_offset,
        delta=delta,
        leader_epoch=commit.leader_epoch,
        metadata=commit.metadata,
        commit_timestamp=commit.commit_timestamp,
        expire_timestamp=commit.expire_timestamp,
        topic_id=None if commit.topic_id is None else uuid_text(commit.topic_id),
        log_partition=change.log_partition,
        commit_log_offset=commit.log_offset,
        from_log_offset=change.log_offset,
        from_timestamp=change.timestamp,
        to_log_offset=None,
        to_timestamp=None,
        begin_cause=OffsetBeginCause.COMMIT,
        end_cause=None,
        producer_id=None,
        noop_tombstone_log_offset=None,
        group_kind=owner.kind,
        generation=owner.generation,
        group_epoch=owner.group_epoch,
        member_epoch=owner.member_epoch,
        is_owner_known=owner.is_known,
        member_id=owner.member_id,
        instance_id=owner.client.instance_id,
        client_id=owner.client.client_id,
        client_host=owner.client.client_host,
    )


def group_row(change: Change, group: Group, previous_kind: str | None) -> GroupHistoryRow:
    """Return the row of a group that begins with this change."""
    return GroupHistoryRow(
        group=group.group,
        kind=group.kind,
        state=group.state,
        generation=group.generation,
        epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        protocol_type=group.protocol_type,
        protocol=group.protocol,
        leader=group.leader,
        current_state_timestamp=group.current_state_timestamp,
        members=group.members,
        log_partition=change.log_partition,
        log_offset=group.log_offset,
        from_log_offset=change.log_offset,
        from_timestamp=change.timestamp,
        to_log_offset=None,
        to_timestamp=None,
        previous_kind=previous_kind,
        end_cause=None,
    )


def member_row(
    change: Change, subject: MemberOf, member: Member, group: Group | None, name_of: NameOf
) -> MemberHistoryRow:
    """Return the row of a member that begins with this change; `group` is its group as it is then."""
    protocol_type = group.protocol_type if group else None
    is_task = group is not None and group.kind is GroupKind.STREAMS
    has_epoch = member.is_member and (group is None or group.kind is not GroupKind.CLASSIC)
    said = member_columns(member, protocol_type, name_of, is_task)
    return MemberHistoryRow(
        group=subject.group,
        member_id=subject.member_id,
        instance_id=said.client.instance_id,
        client_id=said.client.client_id,
        client_host=said.client.client_host,
        group_kind=group.kind if group else None,
        generation=group.generation if group else None,
        member_epoch=member_epoch(member) if has_epoch else None,
        member_state=member_state(member) if has_epoch else None,
        session_timeout_ms=said.timeouts.session_timeout_ms,
        rebalance_timeout_ms=said.timeouts.rebalance_timeout_ms,
        subscription=said.subscription,
        subscribed_regex=said.subscribed_regex,
        assignment=said.assignment,
        pending_revocation=said.pending_revocation,
        target_assignment=said.target_assignment,
        log_partition=change.log_partition,
        from_log_offset=change.log_offset,
        from_timestamp=change.timestamp,
        to_log_offset=None,
        to_timestamp=None,
        end_cause=None,
    )


class MemberColumns(NamedTuple):
    """The columns of a member's row that come from the member's own records."""

    client: Client
    timeouts: Timeouts
    subscription: tuple[str, ...]
    subscribed_regex: str | None
    assignment: tuple[str, ...]
    pending_revocation: tuple[str, ...]
    target_assignment: tuple[str, ...]


_CLASSIC: Final[Kept[tuple[MemberMetadata, MemberColumns]]] = Kept(8 << 20)
"""What classic members say, by the identity of their part of a group's record, which generations share (wire.walk); it is kept too,
so that nothing else gets its identity."""


def member_columns(
    member: Member, protocol_type: str | None, name_of: NameOf, is_task: bool
) -> MemberColumns:
    """Return the columns that a member's own records say; of a classic member, what was kept."""
    metadata = member.metadata
    has_more = is_task or member.current is not None or member.target is not None
    if has_more or not isinstance(metadata, MemberMetadata):
        return _make_member_columns(member, protocol_type, name_of, is_task)
    key = id(metadata), protocol_type
    found = _CLASSIC.get(key)
    if found is None:
        found = metadata, _make_member_columns(member, protocol_type, name_of, is_task)
        _CLASSIC.put(key, found, kept_size(metadata))
    return found[1]


def _make_member_columns(
    member: Member, protocol_type: str | None, name_of: NameOf, is_task: bool
) -> MemberColumns:
    return MemberColumns(
        *client_columns(member, protocol_type),
        *held_columns(member, protocol_type, name_of, is_task),
        target_column(member, name_of, is_task),
    )


def client_columns(
    member: Member, protocol_type: str | None
) -> tuple[Client, Timeouts, tuple[str, ...], str | None]:
    """Return the columns that a member's metadata says: client, timeouts, subscription and regular expression."""
    return (
        client_of(member),
        timeouts_of(member),
        subscription(member, protocol_type),
        subscribed_regex(member),
    )


def held_columns(
    member: Member, protocol_type: str | None, name_of: NameOf, is_task: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return assignment and pending revocation, which the current assignment says; of a classic member, its metadata."""
    return (
        _parts(assigned_by_topic(member, protocol_type), name_of, is_task),
        _parts(to_give_up_by_topic(member), name_of, is_task),
    )


def target_column(member: Member, name_of: NameOf, is_task: bool) -> tuple[str, ...]:
    """Return the target assignment, which its own record says."""
    return _parts(target_by_topic(member), name_of, is_task)


_TEXTS: Final[Kept[tuple[str, ...]]] = Kept(4 << 20)
"""Partitions of one topic as texts, which members pass on to each other."""


def _parts(by_topic: Iterable[OwnedOfTopic], name_of: NameOf, is_task: bool) -> tuple[str, ...]:
    """Return partitions as `topic-partition`; tasks of streams groups as `subtopology_partition`."""
    between = "_" if is_task else "-"
    texts: list[str] = []
    for of, numbers in by_topic:
        texts += _of_topic(of if isinstance(of, str) else name_of(of), between, numbers)
    return tuple(texts)


def _of_topic(name: str, between: str, numbers: tuple[int, ...]) -> tuple[str, ...]:
    key = name, between, numbers
    texts = _TEXTS.get(key)
    if texts is None:
        begin = name + between
        texts = tuple([f"{begin}{number}" for number in numbers])
        _TEXTS.put(key, texts, sum(map(len, texts)))
    return texts


def anomaly_row(change: Change) -> AnomalyRow:
    """Return the row of an anomaly."""
    match change.subject:
        case OffsetOf(group, topic, partition) | PendingOf(_, group, topic, partition):
            about: tuple[str | None, str | None] = (group, f"{topic}-{partition}")
        case MemberOf(group, member_id):
            about = (group, member_id)
        case GroupOf(group):
            about = (group, None)
        case _:
            about = (None, None)
    return AnomalyRow(*about, change.log_partition, change.log_offset, change.timestamp, change.note or "")
