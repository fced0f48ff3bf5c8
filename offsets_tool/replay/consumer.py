"""KIP-848 consumer groups: record types 3 to 8 and 16. Source: ConsumerGroup and GroupMetadataManager.replay of 4.x."""

from typing import Any, Final

from offsets_tool.events import Event
from offsets_tool.replay.changes import Group, GroupKind, GroupState
from offsets_tool.replay.epoch_groups import (
    Family,
    Members,
    Replays,
    existing_group,
    open_group,
    update_group,
)
from offsets_tool.replay.member_state import is_reconciled
from offsets_tool.replay.step import Step


def state_of(group: Group, members: Members) -> GroupState:
    """ConsumerGroup.maybeUpdateGroupState."""
    if not group.members:
        return GroupState.EMPTY
    assignment_epoch = group.assignment_epoch or 0
    if (group.epoch or 0) > assignment_epoch:
        return GroupState.ASSIGNING
    behind = any(member.known and not is_reconciled(member, assignment_epoch) for member in members.values())
    return GroupState.RECONCILING if behind else GroupState.STABLE


_FAMILY: Final = Family(GroupKind.CONSUMER, state_of, replaces_simple=True)
_REPLAYS: Final = Replays(_FAMILY)


def _replay_expression(step: Step, key: Any, event: Event) -> None:
    """Type 16: the topics that a regular expression resolved to."""
    known = existing_group(step, _FAMILY, key.group_id)
    group = known if event.value is None else open_group(step, _FAMILY, key.group_id)
    if group is None:
        return
    expressions = dict(group.expressions)
    expressions.pop(key.regular_expression, None)
    if event.value is not None:
        expressions[key.regular_expression] = event.value
    update_group(step, _FAMILY, group._replace(expressions=tuple(sorted(expressions.items()))))


REPLAYS: Final = {
    3: _REPLAYS.group,
    4: _REPLAYS.part("topics"),
    5: _REPLAYS.member,
    6: _REPLAYS.target_metadata,
    7: _REPLAYS.target,
    8: _REPLAYS.current,
    16: _replay_expression,
}
