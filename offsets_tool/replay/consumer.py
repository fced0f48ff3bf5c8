"""Replay of consumer groups (KIP-848).

Source: ConsumerGroup and GroupMetadataManager.replay of 4.x.
"""

from typing import Final

from offsets_tool.replay.changes import Group, GroupKind, GroupState
from offsets_tool.replay.epoch_groups import FamilyRules, Members, Replays
from offsets_tool.replay.member_state import is_reconciled


def state_of(group: Group, members: Members) -> GroupState:
    """Return the state of a consumer group, as ConsumerGroup.maybeUpdateGroupState computes it from epochs and members."""
    if not group.members:
        return _EMPTY
    assignment_epoch = group.assignment_epoch or 0
    if (group.epoch or 0) > assignment_epoch:
        return _ASSIGNING
    # Members mostly follow in the order in which they came: who is behind is found sooner from the end.
    for member in reversed(tuple(members.values())):
        if not is_reconciled(member, assignment_epoch) and member.is_member:
            return _RECONCILING
    return _STABLE


# Python 3.11 looks members of an enumeration up slowly; this is asked for each record.
_EMPTY: Final = GroupState.EMPTY
_ASSIGNING: Final = GroupState.ASSIGNING
_RECONCILING: Final = GroupState.RECONCILING
_STABLE: Final = GroupState.STABLE


REPLAYS: Final = Replays(FamilyRules(GroupKind.CONSUMER, state_of, replaces_simple=True)).by_role
"""How records of consumer groups are replayed, by role."""
