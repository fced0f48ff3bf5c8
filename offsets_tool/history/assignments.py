"""Who owned which partition from when to when: rows of member_history, split and joined again by partition.

A row goes on through generations and epochs as long as the member keeps the partition; it keeps what it was asked to give up until
it does. Knows no replay: it takes rows of a history. The view `assignments` of a lake makes the same rows of them.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

from offsets_tool.history.rows import (
    FromOffset,
    FromTimestamp,
    Group,
    InstanceId,
    MemberEndCause,
    MemberHistoryRow,
    ToOffset,
    ToTimestamp,
)
from offsets_tool.replay.changes import GroupKind
from offsets_tool.table_rows import LogPartition
from offsets_tool.wire.schema import Int32, String


class AssignmentEndCause(StrEnum):
    """Why a member does not hold a partition any more."""

    REVOKED = "revoked"
    """The member went on without it."""
    LEFT = "left"
    REPLACED = "replaced"
    GROUP_DELETED = "group deleted"
    ABSENT = "absent"
    """Another copy of the log, compacted later, no longer has the member: it left before."""


class AssignmentRow(NamedTuple):
    """A partition, or a task of a streams group, from the record that gave it to a member to the one that took it away."""

    group: Group
    topic: Annotated[
        String | None,
        "Topic of the partition, its id if no name is known; null for a task of a streams group.",
    ]
    subtopology: Annotated[String | None, "Subtopology of a streams group's task; null for a partition."]
    partition: Annotated[Int32, "Partition of that topic, or of that subtopology."]
    member_id: Annotated[String, "The member that holds it."]
    instance_id: InstanceId
    client_id: Annotated[String | None, "Client id of that member; null if no record says it."]
    client_host: Annotated[String | None, "Host of that member; null if no record says it."]
    group_kind: Annotated[String | None, "Kind of the group; null if no record says it."]
    generation: Annotated[Int32 | None, "Generation of the classic group that gave it; null for other kinds."]
    member_epoch: Annotated[
        Int32 | None, "Epoch that the member had reached when it got it; null in classic groups."
    ]
    log_partition: LogPartition
    from_log_offset: FromOffset
    from_timestamp: FromTimestamp
    to_log_offset: ToOffset
    to_timestamp: ToTimestamp
    end_cause: Annotated[
        String | None, "revoked, left, replaced, group deleted or absent; null while it holds."
    ]


_Key = tuple[str, int | None, str, str]
"""Group, log partition, member and partition as text."""
_Write = tuple[str, int | None, str, int]
"""Group, log partition, member and the time of a record."""
_CLIENT: Final = ("instance_id", "client_id", "client_host", "group_kind", "generation", "member_epoch")


def assignment_rows(members: Sequence[MemberHistoryRow]) -> list[AssignmentRow]:
    """Return who owned what, from the rows of members' histories, those of each member in the order of the log.

    Rows are by group, topic or subtopology, partition, and the place where they begin.
    """
    causes = {write: str(row.end_cause) for row in members if (write := _end_of(row)) is not None}
    held: dict[_Key, AssignmentRow] = {}
    ended: list[AssignmentRow] = []
    for member in members:
        for text in dict.fromkeys(member.held):
            key = (member.group, member.log_partition, member.member_id, text)
            before = held.get(key)
            if before is not None and before.to_log_offset != member.from_log_offset:
                ended.append(before)
                before = None
            held[key] = _until(before or _begun(member, text), member, causes)
    return sorted((*ended, *held.values()), key=_order)


def _end_of(member: MemberHistoryRow) -> _Write | None:
    """Return the write (batch or time) with which a row ended: Kafka removes a member's assignment and the member in one write."""
    if member.to_timestamp is None or member.to_timestamp < 0:
        return None
    return member.group, member.log_partition, member.member_id, member.to_timestamp


def _begun(member: MemberHistoryRow, text: str) -> AssignmentRow:
    is_task = member.group_kind == GroupKind.STREAMS
    of, _, number = text.rpartition("_" if is_task else "-")
    return AssignmentRow(
        group=member.group,
        topic=None if is_task else of,
        subtopology=of if is_task else None,
        partition=int(number),
        member_id=member.member_id,
        **{name: getattr(member, name) for name in _CLIENT},
        log_partition=member.log_partition,
        from_log_offset=member.from_log_offset,
        from_timestamp=member.from_timestamp,
        to_log_offset=None,
        to_timestamp=None,
        end_cause=None,
    )


def _until(row: AssignmentRow, member: MemberHistoryRow, causes: Mapping[_Write, str]) -> AssignmentRow:
    write = _end_of(member)
    cause = member.end_cause if write is None else causes[write]
    return row._replace(
        to_log_offset=member.to_log_offset,
        to_timestamp=member.to_timestamp,
        end_cause=AssignmentEndCause.REVOKED if cause == MemberEndCause.CHANGED else cause,
    )


def _order(row: AssignmentRow) -> tuple[str, str, int, int, str]:
    return row.group, row.topic or row.subtopology or "", row.partition, row.from_log_offset, row.member_id
