"""Replay of what consumer, share and streams groups have in common: a group epoch, members, target and current assignments.

Each of these has records of its own. A value creates the group, and the member, that it is about, because compaction may have
taken what came before; what Kafka's replay checks besides becomes an anomaly. Source: GroupMetadataManager.replay(...) of 4.x.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from offsets_tool.events import Event, Value
from offsets_tool.records.kinds import Role
from offsets_tool.replay.changes import (
    LEFT_EPOCH,
    Group,
    GroupKind,
    GroupOf,
    GroupState,
    Member,
    MemberOf,
)
from offsets_tool.replay.classic import drop_members
from offsets_tool.replay.handling import (
    Handling,
    Replaces,
    StateOf,
    ValueRules,
)
from offsets_tool.replay.member_state import is_any_behind, member_epoch
from offsets_tool.replay.state import GroupPart
from offsets_tool.replay.step import Step
from offsets_tool.wire.schema import Message

Members = Mapping[str, Member]

_NO_MEMBERS: Final[Members] = {}
_DELETED_EPOCH: Final = -1
_LOG_OFFSET: Final = Group._fields.index("log_offset")


class FamilyRules(NamedTuple):
    """How a kind of group differs from the others.

    `state_of` computes the state of a group; `replaces_simple` tells whether such a group may take the place of a group that only
    has offsets.
    """

    kind: GroupKind
    state_of: StateOf
    replaces_simple: bool


def open_group(step: Step, family: FamilyRules, group: str) -> Group:
    """Return the group of this kind; create it if it is not there, in the place of a group of another kind."""
    known = step.state.groups.get(group)
    if known is not None and known.kind is family.kind:
        return known
    if known is not None:
        _check_gives_way(step, family, known)
        drop_members(step, group)
        # Nothing is left of what a group of another kind had that was not understood.
        step.state.unread.take(GroupOf(group))
    made = new_group(family.kind, group, step.record.log_offset)
    step.set(GroupOf(group), made)
    return made


def new_group(kind: GroupKind, group: str, log_offset: int) -> Group:
    """Return a group as its first record, at this offset of the log, finds it."""
    return Group(group, kind, GroupState.EMPTY, log_offset, epoch=0, assignment_epoch=0)


def _check_gives_way(step: Step, family: FamilyRules, known: Group) -> bool:
    """Return whether a group of another kind may be replaced: only one without a record of its own. Report an anomaly if not."""
    if family.replaces_simple and _only_has_offsets(known):
        return True
    note = f"a record of a {family.kind} group for a {known.kind} group: Kafka refuses to load it"
    step.anomaly(GroupOf(known.group), note)
    return False


def _only_has_offsets(group: Group) -> bool:
    return group.kind is GroupKind.SIMPLE or (
        group.kind is GroupKind.CLASSIC and not group.protocol_type and not group.members
    )


def existing_group(step: Step, family: FamilyRules, group: str) -> Group | None:
    """Return the group that a tombstone is for; None if there is none.

    A tombstone too takes the place of a group that only has offsets.
    """
    known = step.state.groups.get(group)
    if known is None or known.kind is family.kind:
        return known
    if group in step.state.unread.groups:
        # Whether it would give way is unknown.
        return None
    return open_group(step, family, group) if _check_gives_way(step, family, known) else None


def lose_part(step: Step, kind: GroupKind, group: str, part: GroupPart) -> None:
    """Make the state of a group unknown, as the record of a part of it was not understood; create the group if it is not there."""
    known, at = step.state.groups.get(group), step.record.log_offset
    if known is None or known.kind is not kind:
        drop_members(step, group)
        step.state.unread.take(GroupOf(group))
        known = new_group(kind, group, at)
        if kind is GroupKind.CLASSIC:
            known = known._replace(generation=0, epoch=None, assignment_epoch=None)
    step.set(GroupOf(group), known._replace(state=GroupState.UNKNOWN, log_offset=at))
    step.state.unread.groups.setdefault(group, {})[part] = at


def update_group(step: Step, family: FamilyRules | ValueRules, group: Group) -> None:
    """Compute a group's state and number of members, and set it if anything but its log offset has changed."""
    members = step.state.members.get(group.group, _NO_MEMBERS)
    count = sum([member.is_member for member in members.values()])
    counted = group if count == group.members else group._replace(members=count)
    state = GroupState.UNKNOWN
    if group.group not in step.state.unread.groups:
        state = family.state_of(
            counted, lambda: is_any_behind(members.values(), counted.assignment_epoch or 0)
        )
    after = changed_group(step.state.groups.get(group.group), counted, state, step.record.log_offset)
    if after is not None:
        step.set(GroupOf(group.group), after)


def changed_group(before: Group | None, counted: Group, state: GroupState, log_offset: int) -> Group | None:
    """Return a group in its new state, as a record at `log_offset` leaves it; None if only its log offset would change."""
    after = counted if state == counted.state else counted._replace(state=state)
    if after is before:
        return None
    # Written out: `_replace` takes most of the time that a value's replay does.
    first, others = after[:_LOG_OFFSET], after[_LOG_OFFSET + 1 :]
    if before is not None and first == before[:_LOG_OFFSET] and others == before[_LOG_OFFSET + 1 :]:
        return None
    return Group._make((*first, log_offset, *others))


def _with_epoch(group: Group, _key: Message, value: Value) -> Group:
    return group._replace(epoch=value.data.epoch, metadata=value)


def _with_target_epoch(group: Group, _key: Message, value: Value) -> Group:
    return group._replace(assignment_epoch=value.data.assignment_epoch, target_metadata=value)


def _with_expression(group: Group, key: Message, value: Value | None) -> Group:
    expressions = dict(group.expressions)
    expressions.pop(key.regular_expression, None)
    if value is not None:
        expressions[key.regular_expression] = value
    return group._replace(expressions=tuple(sorted(expressions.items())))


_OF_GROUP: Final[Mapping[Role, Callable[[Group, Message, Value], Group]]] = {
    Role.GROUP: _with_epoch,
    Role.TOPICS: lambda group, _, value: group._replace(topics=value),
    Role.TARGET_METADATA: _with_target_epoch,
    Role.EXPRESSION: _with_expression,
    Role.SHARE_PARTITIONS: lambda group, _, value: group._replace(share_partitions=value),
    Role.TOPOLOGY: lambda group, _, value: group._replace(topology=value),
}
"""What a value makes of its group, by role."""
_OF_MEMBER: Final[Mapping[Role, Callable[[Member, Value], Member]]] = {
    Role.MEMBER: lambda member, value: Member(value, member.current, member.target, member.has_left),
    Role.TARGET: lambda member, value: Member(member.metadata, member.current, value, member.has_left),
    Role.CURRENT: lambda member, value: Member(member.metadata, value, member.target),
}
"""What a value makes of its member, by role."""


class Replays:
    """How the records of one kind of group are replayed, by role."""

    def __init__(self, family: FamilyRules) -> None:
        self._family = family
        self.by_role: Final[Mapping[Role, Handling]] = {
            Role.GROUP: self._handling(Role.GROUP, self._delete_group),
            Role.TOPICS: self._handling(Role.TOPICS, self._without("topics")),
            Role.MEMBER: self._handling(Role.MEMBER, self._delete_member),
            Role.TARGET_METADATA: self._handling(Role.TARGET_METADATA, self._delete_target_epoch),
            Role.TARGET: self._handling(Role.TARGET, self._delete_target),
            Role.CURRENT: self._handling(Role.CURRENT, self._delete_current),
            Role.EXPRESSION: self._handling(Role.EXPRESSION, self._delete_expression),
            Role.SHARE_PARTITIONS: self._handling(Role.SHARE_PARTITIONS, self._without("share_partitions")),
            Role.TOPOLOGY: self._handling(Role.TOPOLOGY, self._without("topology")),
        }

    def _handling(self, role: Role, delete: Callable[[Step, Message], None]) -> Handling:
        """Return the handler of records of a role, of which `delete` replays the tombstones."""
        family = self._family
        rules = ValueRules(family.kind, family.state_of, _OF_GROUP.get(role), _OF_MEMBER.get(role))

        def replay(step: Step, key: Message, event: Event) -> None:
            if event.value is None:
                delete(step, key)
            else:
                self._put(step, key, event.value, rules)

        return Handling(replay, Replaces.PART if rules.of_member else Replaces.FACT, rules)

    def _put(self, step: Step, key: Message, value: Value, rules: ValueRules) -> None:
        """Replay a value: it creates its group if that is not there."""
        group = open_group(step, self._family, key.group_id)
        known = None if rules.of_member is None else _member(step, key)
        replayed = rules.replayed(group, known, key, value)
        if replayed is None:
            return
        after, member = replayed
        if member is not None:
            step.set(MemberOf(key.group_id, key.member_id), member)
        update_group(step, self._family, after)

    def _set_member(self, step: Step, key: Message, group: Group, before: Member, after: Member) -> None:
        if after != before:
            step.set(MemberOf(key.group_id, key.member_id), after)
            update_group(step, self._family, group)

    def _delete_group(self, step: Step, key: Message) -> None:
        group_id = key.group_id
        group = existing_group(step, self._family, group_id)
        if group is None:
            return
        members = step.state.members.get(group_id, _NO_MEMBERS)
        if members or group.assignment_epoch != _DELETED_EPOCH:
            step.anomaly(
                GroupOf(group_id),
                f"deleted with {len(members)} member(s) or targets left, at assignment epoch {group.assignment_epoch}: "
                "Kafka refuses to load it",
            )
        drop_members(step, group_id)
        step.delete(GroupOf(group_id))

    def _delete_target_epoch(self, step: Step, key: Message) -> None:
        group = existing_group(step, self._family, key.group_id)
        if group is not None:
            self._check_no_targets(step, key.group_id)
            update_group(
                step,
                self._family,
                group._replace(assignment_epoch=_DELETED_EPOCH, target_metadata=None),
            )

    def _check_no_targets(self, step: Step, group_id: str) -> None:
        members = step.state.members.get(group_id, _NO_MEMBERS)
        if any(member.target for member in members.values()):
            step.anomaly(
                GroupOf(group_id),
                "the target assignment is deleted while members have targets: Kafka refuses to load it",
            )

    def _delete_member(self, step: Step, key: Message) -> None:
        subject = MemberOf(key.group_id, key.member_id)
        group, known = existing_group(step, self._family, key.group_id), _member(step, key)
        if group is None or known is None or not known.is_member:
            return
        if not self._has_left(known) or known.target:
            step.anomaly(
                subject,
                "a member is removed that has not left, or still has a target: Kafka refuses to load it",
            )
        step.delete(subject)
        if known.target:
            step.set(subject, Member(target=known.target))
        update_group(step, self._family, group)

    def _has_left(self, member: Member) -> bool:
        # 3.9 wrote no assignments of share groups' members: their own tombstone was all.
        unassigned_share = self._family.kind is GroupKind.SHARE and member.current is None
        return unassigned_share or member_epoch(member) == LEFT_EPOCH

    def _delete_current(self, step: Step, key: Message) -> None:
        """Replay the tombstone of what a member owns: it is leaving."""
        group, known = existing_group(step, self._family, key.group_id), _member(step, key)
        if group is not None and known is not None and known.is_member:
            self._set_member(step, key, group, known, known._replace(current=None, has_left=True))

    def _delete_target(self, step: Step, key: Message) -> None:
        group, known = existing_group(step, self._family, key.group_id), _member(step, key)
        if group is None or known is None:
            return
        if known.is_member:
            self._set_member(step, key, group, known, known._replace(target=None))
        else:
            step.delete(MemberOf(key.group_id, key.member_id))

    def _delete_expression(self, step: Step, key: Message) -> None:
        group = existing_group(step, self._family, key.group_id)
        if group is not None:
            update_group(step, self._family, _with_expression(group, key, None))

    def _without(self, field: str) -> Callable[[Step, Message], None]:
        """Return what replays the tombstone of a record about the whole group, whose value this field of Group has."""

        def delete(step: Step, key: Message) -> None:
            group = existing_group(step, self._family, key.group_id)
            if group is not None:
                nothing: dict[str, Any] = {field: None}
                update_group(step, self._family, group._replace(**nothing))

        return delete


def _member(step: Step, key: Message) -> Member | None:
    return step.state.members.get(key.group_id, _NO_MEMBERS).get(key.member_id)
