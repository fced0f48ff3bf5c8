"""KIP-932 share groups: record types 9 to 15. Source: ShareGroup and GroupMetadataManager.replay of 4.x."""

from typing import Final

from offsets_tool.replay.changes import Group, GroupKind, GroupState
from offsets_tool.replay.epoch_groups import Family, Members, Replays


def state_of(group: Group, members: Members) -> GroupState:
    """ShareGroup knows two states."""
    return GroupState.STABLE if group.members else GroupState.EMPTY


_REPLAYS: Final = Replays(Family(GroupKind.SHARE, state_of, replaces_simple=False))

REPLAYS: Final = {
    9: _REPLAYS.part("topics"),
    10: _REPLAYS.member,
    11: _REPLAYS.group,
    12: _REPLAYS.target_metadata,
    13: _REPLAYS.target,
    14: _REPLAYS.current,
    15: _REPLAYS.part("share_partitions"),
}
