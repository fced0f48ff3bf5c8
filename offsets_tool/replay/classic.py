"""Replay of classic groups, whose one record is the whole group: generation, protocol, leader, members with their assignments.

Source: GroupMetadataManager (classic coordinator), GroupMetadataManager.replay(GroupMetadataKey, ...) (new coordinator).
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from offsets_tool.events import Event, Value
from offsets_tool.records.classic import GroupMetadataValue, MemberMetadata
from offsets_tool.records.kinds import Role
from offsets_tool.replay.changes import Group, GroupKind, GroupOf, GroupState, Member, MemberOf
from offsets_tool.replay.handling import Handling, Replaces
from offsets_tool.replay.offsets import holds_offsets, simple_group
from offsets_tool.replay.state import State
from offsets_tool.replay.step import Step
from offsets_tool.wire.kept import Kept
from offsets_tool.wire.schema import Message


def _replay_group(step: Step, key: Message, event: Event) -> None:
    # It is the whole group.
    step.state.unread.take(GroupOf(key.group))
    if event.value is None:
        _replay_tombstone(step, key.group)
        return
    before = step.state.groups.get(key.group)
    after = _group(key.group, event.value, event.record.log_offset)
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


def _group(group: str, written: Value, log_offset: int) -> Group:
    value: GroupMetadataValue = written.data
    timestamp = value.current_state_timestamp
    return Group(
        group,
        GroupKind.CLASSIC,
        GroupState.STABLE if value.members else GroupState.EMPTY,
        log_offset,
        len(value.members),
        generation=value.generation,
        protocol_type=value.protocol_type or None,
        protocol=value.protocol,
        leader=value.leader,
        current_state_timestamp=None if timestamp == -1 else timestamp,
        metadata=written,
    )


_LEAST_OF_MEMBER: Final = 128
"""For so many bytes a member counts besides what it says: about those of its ids and its host."""


def kept_size(member: MemberMetadata) -> int:
    """Return for how many bytes a member counts where it is kept; one that says nothing takes memory too."""
    return _LEAST_OF_MEMBER + len(member.subscription) + len(member.assignment)


_MEMBERS: Final[Kept[tuple[tuple[MemberMetadata, ...], dict[str, Member]]]] = Kept(8 << 20)
"""Members by the identity of their list, which generations share (wire.walk); it is kept too, so that nothing else gets its
identity."""


def members_of(value: GroupMetadataValue) -> dict[str, Member]:
    """Return the members of a classic group by member id, from the value of the group's record; do not change them."""
    key = id(value.members)
    found = _MEMBERS.get(key)
    if found is None:
        found = value.members, {member.member_id: Member(member) for member in value.members}
        _MEMBERS.put(key, found, sum(map(kept_size, value.members)))
    return found[1]


def _replace_members(step: Step, group: str, value: GroupMetadataValue) -> None:
    gone, written = _compared(step.state.members.get(group, {}), value)
    for member_id in gone:
        step.delete(MemberOf(group, member_id))
    for member_id, member in written.items():
        step.set(MemberOf(group, member_id), member)


def _compared(
    before: Mapping[str, Member], value: GroupMetadataValue
) -> tuple[dict[str, Member], dict[str, Member]]:
    """Return the members that a group no longer has, and those that are new or changed, each in their order."""
    now = members_of(value)
    if before.keys().isdisjoint(now):
        return dict(before), now
    gone = {member_id: member for member_id, member in before.items() if member_id not in now}
    written = {member_id: member for member_id, member in now.items() if before.get(member_id) != member}
    # Of all members, the dictionary that generations share: what others keep by its identity is found again.
    return gone, now if len(written) == len(now) else written


class Generation(NamedTuple):
    """What a record made of a classic group: the group before and after, and members that are gone, new or changed."""

    before: Group | None
    after: Group
    gone: dict[str, Member]
    written: dict[str, Member]


def next_generation(state: State, group: str, value: Value, log_offset: int) -> Generation | None:
    """Return what the record of a classic group at an offset of the log does to a state, if it does that and nothing else.

    The state stays as it is. None where the record converts a group, or Kafka's code rules it out.
    """
    made = generation_of(state, group, value, log_offset)
    before = made.before
    if before is not None and (before.kind is not GroupKind.CLASSIC or _goes_back(before, made.after)):
        return None
    return made


def generation_of(state: State, group: str, value: Value, log_offset: int) -> Generation:
    """Return what the record of a group that is classic, or not there, does to a state, whatever Kafka's code says of it."""
    before, after = state.groups.get(group), _group(group, value, log_offset)
    return Generation(before, after, *_compared(state.members.get(group, {}), value.data))


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


def drop_members(step: Step, group: str) -> None:
    """Delete all members of a group, as its own deletion does."""
    for member_id in list(step.state.members.get(group, ())):
        step.delete(MemberOf(group, member_id))


REPLAYS: Final = {Role.GROUP: Handling(_replay_group, Replaces.GROUP)}
"""How records of classic groups are replayed, by role."""
