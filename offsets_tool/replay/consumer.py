"""Replay of consumer groups (KIP-848).

Source: ConsumerGroup and GroupMetadataManager.replay of 4.x.
"""

from collections.abc import Callable
from typing import Final

from offsets_tool.replay.changes import Group, GroupKind, GroupState
from offsets_tool.replay.epoch_groups import FamilyRules, Replays


def state_of(group: Group, is_any_behind: Callable[[], bool]) -> GroupState:
    """Return the state of a consumer group, as ConsumerGroup.maybeUpdateGroupState computes it from epochs and members."""
    if not group.members:
        return _EMPTY
    if (group.epoch or 0) > (group.assignment_epoch or 0):
        return _ASSIGNING
    return _RECONCILING if is_any_behind() else _STABLE


# Python 3.11 looks members of an enumeration up slowly; this is asked for each record.
_EMPTY: Final = GroupState.EMPTY
_ASSIGNING: Final = GroupState.ASSIGNING
_RECONCILING: Final = GroupState.RECONCILING
_STABLE: Final = GroupState.STABLE


REPLAYS: Final = Replays(FamilyRules(GroupKind.CONSUMER, state_of, replaces_simple=True)).by_role
"""How records of consumer groups are replayed, by role."""
