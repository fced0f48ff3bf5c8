"""KIP-932 share groups. Source: ShareGroup and GroupMetadataManager.replay of 4.x."""

from typing import Final

from offsets_tool.replay.changes import Group, GroupKind, GroupState
from offsets_tool.replay.epoch_groups import FamilyRules, Members, Replays


def state_of(group: Group, members: Members) -> GroupState:
    """ShareGroup knows two states."""
    return GroupState.STABLE if group.members else GroupState.EMPTY


REPLAYS: Final = Replays(FamilyRules(GroupKind.SHARE, state_of, replaces_simple=False)).by_role
