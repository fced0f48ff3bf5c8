"""A member's epoch and state, read from its records in every layout that Kafka has written.

Source: MemberState of consumer, share and streams groups; CurrentAssignmentBuilder for the early-access layouts of 3.5 to 3.7.
"""

from collections.abc import Iterable
from typing import Final

from offsets_tool.events import Value
from offsets_tool.records.consumer import (
    ConsumerGroupCurrentMemberAssignmentValueV35,
    ConsumerGroupCurrentMemberAssignmentValueV36,
)
from offsets_tool.records.streams import (
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataValue,
)
from offsets_tool.replay.changes import LEFT_EPOCH, Member
from offsets_tool.wire.schema import Message

STABLE: Final = "STABLE"

_STATES: Final = {0: STABLE, 1: "UNREVOKED_PARTITIONS", 2: "UNRELEASED_PARTITIONS"}
_STREAMS_STATES: Final = {1: STABLE, 2: "UNREVOKED_TASKS", 3: "UNRELEASED_TASKS"}
_ASSIGNING: Final = "ASSIGNING"
WAITING: Final = frozenset({_STATES[2], _STREAMS_STATES[3], _ASSIGNING})
"""States of a member that waits for what other members have to give up."""


def member_epoch(member: Member) -> int:
    """Return the epoch that the member has reached: 0 before its first assignment, LEFT_EPOCH when it is leaving."""
    if member.current is None:
        return LEFT_EPOCH if member.has_left else 0
    epoch: int = member.current.data.member_epoch
    return epoch


def member_state(member: Member) -> str:
    """Return the name of the member's state in Kafka's MemberState; UNKNOWN for a number that Kafka does not define."""
    if member.current is None:
        return STABLE
    data = member.current.data
    if isinstance(data, ConsumerGroupCurrentMemberAssignmentValueV36):
        return _early_state(data)
    if isinstance(data, ConsumerGroupCurrentMemberAssignmentValueV35):
        return STABLE
    states = _STREAMS_STATES if isinstance(data, StreamsGroupCurrentMemberAssignmentValue) else _STATES
    return states.get(data.state, "UNKNOWN")


def _early_state(data: Message) -> str:
    if data.partitions_pending_revocation:
        return "REVOKING"
    return _ASSIGNING if data.partitions_pending_assignment else STABLE


def is_reconciled(member: Member, assignment_epoch: int) -> bool:
    """Return whether the member owns what the target assignment of this epoch wants (ConsumerGroupMember.isReconciledTo)."""
    if member.current is None:
        return (
            not _is_uninitialized(member)
            and member_epoch(member) == assignment_epoch
            and member_state(member) == STABLE
        )
    data = member.current.data
    early = isinstance(data, ConsumerGroupCurrentMemberAssignmentValueV36)
    epoch = data.target_member_epoch if early else data.member_epoch
    return bool(epoch == assignment_epoch) and member_state(member) == STABLE


def is_behind(member: Member, assignment_epoch: int) -> bool:
    """Return whether a member of the group is not yet reconciled to the target assignment of this epoch."""
    return not is_reconciled(member, assignment_epoch) and member.is_member


def is_any_behind(members: Iterable[Member], assignment_epoch: int) -> bool:
    """Return whether `is_behind` holds for one of a group's members."""
    # Members mostly follow in the order in which they came: who is behind is found sooner from the end.
    return any(is_behind(member, assignment_epoch) for member in reversed(tuple(members)))


def _is_uninitialized(member: Member) -> bool:
    """Return whether a member, of which there is no current assignment, is a streams member without an assignment yet.

    Such a member has no epoch (StreamsGroup.getOrCreateUninitializedMember).
    """
    if member.has_left or not isinstance(member.metadata, Value):
        return False
    return isinstance(member.metadata.data, StreamsGroupMemberMetadataValue)
