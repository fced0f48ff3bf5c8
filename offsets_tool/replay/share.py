"""Replay of share groups (KIP-932).

Source: ShareGroup and GroupMetadataManager.replay of 4.x.
"""

from collections.abc import Callable
from typing import Final

from offsets_tool.replay.changes import Group, GroupKind, GroupState
from offsets_tool.replay.epoch_groups import FamilyRules, Replays


def state_of(group: Group, _is_any_behind: Callable[[], bool]) -> GroupState:
    """Return the state of a share group: Stable with members, Empty without."""
    return GroupState.STABLE if group.members else GroupState.EMPTY


REPLAYS: Final = Replays(FamilyRules(GroupKind.SHARE, state_of, replaces_simple=False)).by_role
"""How records of share groups are replayed, by role."""
