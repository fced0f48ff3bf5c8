"""Replay of streams groups (KIP-1071).

Source: StreamsGroup and GroupMetadataManager.replay of 4.x.
"""

from collections.abc import Callable
from typing import Final

from offsets_tool.replay import consumer
from offsets_tool.replay.changes import Group, GroupKind, GroupState
from offsets_tool.replay.epoch_groups import FamilyRules, Replays

_NOT_VALIDATED: Final = -1
_AT_FIRST: Final = 0
"""The topology epoch that StreamsGroup takes as validated before a record says one."""


def state_of(group: Group, is_any_behind: Callable[[], bool]) -> GroupState:
    """Return the state of a streams group, as StreamsGroup.maybeUpdateGroupState computes it.

    It is that of a consumer group, but NotReady as long as no topology was validated.
    """
    if not group.members:
        return GroupState.EMPTY
    if not _is_ready(group):
        return GroupState.NOT_READY
    return consumer.state_of(group, is_any_behind)


def _is_ready(group: Group) -> bool:
    """Return whether the group's topology was validated.

    4.1 does not write which topology it validated, so any counts. Later releases always write a configuration with it.
    """
    if group.topology is None:
        return False
    if group.metadata is None:
        return bool(group.topology.data.epoch == _AT_FIRST)
    value = group.metadata.data
    if value.validated_topology_epoch == _NOT_VALIDATED and not value.last_assignment_configs:
        return True
    return bool(value.validated_topology_epoch == group.topology.data.epoch)


REPLAYS: Final = Replays(FamilyRules(GroupKind.STREAMS, state_of, replaces_simple=True)).by_role
"""How records of streams groups are replayed, by role."""
