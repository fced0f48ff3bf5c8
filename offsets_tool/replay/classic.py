"""Replay of classic groups, whose one record is the whole group: generation, protocol, leader, members with their assignments.

Source: GroupMetadataManager (classic coordinator), GroupMetadataManager.replay(GroupMetadataKey, ...) (new coordinator).
"""

from typing import Final

from offsets_tool.events import Event
from offsets_tool.records.classic import GroupMetadataValue
from offsets_tool.records.kinds import Role
from offsets_tool.replay.changes import Group, GroupKind, GroupOf, GroupState, Member, MemberOf
from offsets_tool.replay.handling import Handling, Reach, Replaces
from offsets_tool.replay.offsets import holds_offsets, simple_group
from offsets_tool.replay.step import Step
from offsets_tool.wire.schema import Message


def _replay_group(step: Step, key: Message, event: Event) -> None:
    if event.value is None:
        _replay_tombstone(step, key.group)
        return
    before, after = step.state.groups.get(key.group), _group(key.group, event)
    if _goes_back(before, after):
        assert before is not None
        step.anomaly(
            GroupOf(key.group), f"generation goes back from {before.generation} to {after.generation}"
        )
    step.set(GroupOf(key.group), after)
    _replace_members(step, key.group, event.value.data)


def _goes_back(before: Group | None, after: Group) -> bool:
    if before is None or before.generation is None or after.generation is None:
        return False
    return before.kind is GroupKind.CLASSIC and after.generation < before.generation


def _group(group: str, event: Event) -> Group:
    assert event.value is not None
    value: GroupMetadataValue = event.value.data
    timestamp = value.current_state_timestamp
    return Group(
        group,
        GroupKind.CLASSIC,
        GroupState.STABLE if value.members else GroupState.EMPTY,
        event.record.log_offset,
        len(value.members),
        generation=value.generation,
        protocol_type=value.protocol_type or None,
        protocol=value.protocol,
        leader=value.leader,
        current_state_timestamp=None if timestamp == -1 else timestamp,
        metadata=event.value,
    )


def members_of(value: GroupMetadataValue) -> dict[str, Member]:
    """Return the members of a classic group by member id, from the value of the group's record."""
    return {member.member_id: Member(member) for member in value.members}


def _replace_members(step: Step, group: str, value: GroupMetadataValue) -> None:
    now = members_of(value)
    before = step.state.members.get(group, {})
    for gone in [member_id for member_id in before if member_id not in now]:
        step.delete(MemberOf(group, gone))
    for member_id, member in now.items():
        if before.get(member_id) != member:
            step.set(MemberOf(group, member_id), member)


def _replay_tombstone(step: Step, group: str) -> None:
    """Delete the group; the rules differ where offsets are left.

    The new coordinator deletes a group of any kind and hides the offsets that it keeps. To the classic one they make a simple
    group.
    """
    known = step.state.groups.get(group)
    if known is None:
        return
    drop_members(step, group)
    if known.kind is not GroupKind.SIMPLE and holds_offsets(step, group):
        step.differs = True
        if not step.is_new:
            step.set(GroupOf(group), simple_group(group, step.record.log_offset))
            return
    elif known.kind is GroupKind.SIMPLE:
        step.differs = True
        if not step.is_new:
            # Nothing that the classic coordinator knows: its simple groups have no record of their own.
            return
    step.delete(GroupOf(group))


def _reach(event: Event) -> Reach:
    """Return what a record of a classic group reads; only its tombstone asks whether the group has offsets."""
    assert event.key is not None
    is_tombstone = event.value is None
    return Reach(event.key.data.group, asks_for_all=is_tombstone, may_delete=is_tombstone)


def drop_members(step: Step, group: str) -> None:
    """Delete all members of a group, as its own deletion does."""
    for member_id in list(step.state.members.get(group, ())):
        step.delete(MemberOf(group, member_id))


REPLAYS: Final = {Role.GROUP: Handling(_replay_group, _reach, Replaces.GROUP)}
"""How records of classic groups are replayed, by role."""
