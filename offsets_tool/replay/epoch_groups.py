"""Replay of what consumer, share and streams groups have in common: a group epoch, members, target and current assignments.

Each of these has records of its own. A value creates the group, and the member, that it is about, because compaction may have
taken what came before; what Kafka's replay checks besides becomes an anomaly. Source: GroupMetadataManager.replay(...) of 4.x.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from offsets_tool.events import Event
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
from offsets_tool.replay.handling import Handling, Reach, Replaces, ReplayRecord, reach_of_group
from offsets_tool.replay.member_state import member_epoch
from offsets_tool.replay.step import Step
from offsets_tool.wire.schema import Message

Members = Mapping[str, Member]

_NO_MEMBERS: Final[Members] = {}
_DELETED_EPOCH: Final = -1


class FamilyRules(NamedTuple):
    """How a kind of group differs from the others.

    `state_of` computes the state of a group from its epochs and members; `replaces_simple` tells whether such a group may take the
    place of a group that only has offsets.
    """

    kind: GroupKind
    state_of: Callable[[Group, Members], GroupState]
    replaces_simple: bool


def open_group(step: Step, family: FamilyRules, group: str) -> Group:
    """Return the group of this kind; create it if it is not there, in the place of a group of another kind."""
    known = step.state.groups.get(group)
    if known is not None and known.kind is family.kind:
        return known
    if known is not None:
        _check_gives_way(step, family, known)
        drop_members(step, group)
    made = Group(group, family.kind, GroupState.EMPTY, step.record.log_offset, epoch=0, assignment_epoch=0)
    step.set(GroupOf(group), made)
    return made


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
    return open_group(step, family, group) if _check_gives_way(step, family, known) else None


def update_group(step: Step, family: FamilyRules, group: Group) -> None:
    """Compute a group's state and number of members, and set it if anything but its log offset has changed."""
    members = step.state.members.get(group.group, _NO_MEMBERS)
    count = sum([member.is_member for member in members.values()])
    counted = group if count == group.members else group._replace(members=count)
    state = family.state_of(counted, members)
    after = counted if state == counted.state else counted._replace(state=state)
    before = step.state.groups.get(group.group)
    if after is before:
        return
    if before is None or after._replace(log_offset=before.log_offset) != before:
        step.set(GroupOf(group.group), after._replace(log_offset=step.record.log_offset))


class Replays:
    """How the records of one kind of group are replayed, by role."""

    def __init__(self, family: FamilyRules) -> None:
        self._family = family
        self.by_role: Final[Mapping[Role, Handling]] = {
            Role.GROUP: Handling(self.group, _reach_of_group_record, Replaces.FACT),
            Role.TOPICS: self._handling(self.part("topics")),
            Role.MEMBER: self._handling(self.member, Replaces.PART),
            Role.TARGET_METADATA: self._handling(self.target_metadata),
            Role.TARGET: self._handling(self.target, Replaces.PART),
            Role.CURRENT: self._handling(self.current, Replaces.PART),
            Role.EXPRESSION: self._handling(self.expression),
            Role.SHARE_PARTITIONS: self._handling(self.part("share_partitions")),
            Role.TOPOLOGY: self._handling(self.part("topology")),
        }

    @staticmethod
    def _handling(replay: ReplayRecord, replaces: Replaces = Replaces.FACT) -> Handling:
        return Handling(replay, reach_of_group, replaces)

    def group(self, step: Step, key: Message, event: Event) -> None:
        """Replay the group's own record: set the group epoch, or delete the group."""
        if event.value is None:
            self._delete_group(step, key.group_id)
            return
        group = open_group(step, self._family, key.group_id)
        update_group(step, self._family, group._replace(epoch=event.value.data.epoch, metadata=event.value))

    def _delete_group(self, step: Step, group_id: str) -> None:
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

    def target_metadata(self, step: Step, key: Message, event: Event) -> None:
        """Replay the record of the target assignment's epoch."""
        if event.value is not None:
            group = open_group(step, self._family, key.group_id)
            epoch = event.value.data.assignment_epoch
        else:
            known = existing_group(step, self._family, key.group_id)
            if known is None:
                return
            group, epoch = known, _DELETED_EPOCH
            self._check_no_targets(step, key.group_id)
        update_group(step, self._family, group._replace(assignment_epoch=epoch, target_metadata=event.value))

    def _check_no_targets(self, step: Step, group_id: str) -> None:
        members = step.state.members.get(group_id, _NO_MEMBERS)
        if any(member.target for member in members.values()):
            step.anomaly(
                GroupOf(group_id),
                "the target assignment is deleted while members have targets: Kafka refuses to load it",
            )

    def member(self, step: Step, key: Message, event: Event) -> None:
        """Replay the record of a member's identity and subscription; a tombstone removes the member."""
        if event.value is None:
            self._delete_member(step, key)
        else:
            self._set_member(step, key, metadata=event.value)

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

    def current(self, step: Step, key: Message, event: Event) -> None:
        """Replay the record of what a member owns; after a tombstone the member is leaving."""
        if event.value is not None:
            self._set_member(step, key, current=event.value, has_left=False)
            return
        group, known = existing_group(step, self._family, key.group_id), _member(step, key)
        if group is not None and known is not None and known.is_member:
            self._set_member(step, key, current=None, has_left=True)

    def target(self, step: Step, key: Message, event: Event) -> None:
        """Replay the record of what the assignor wants a member to own."""
        if event.value is not None:
            self._set_member(step, key, target=event.value)
            return
        group, known = existing_group(step, self._family, key.group_id), _member(step, key)
        if group is None or known is None:
            return
        if known.is_member:
            self._set_member(step, key, target=None)
        else:
            step.delete(MemberOf(key.group_id, key.member_id))

    def _set_member(self, step: Step, key: Message, **parts: Any) -> None:
        group = open_group(step, self._family, key.group_id)
        before = _member(step, key) or Member()
        after = before._replace(**parts)
        if after == before:
            return
        step.set(MemberOf(key.group_id, key.member_id), after)
        update_group(step, self._family, group)

    def expression(self, step: Step, key: Message, event: Event) -> None:
        """Replay the record of the topics that a regular expression stands for."""
        known = existing_group(step, self._family, key.group_id)
        group = known if event.value is None else open_group(step, self._family, key.group_id)
        if group is None:
            return
        expressions = dict(group.expressions)
        expressions.pop(key.regular_expression, None)
        if event.value is not None:
            expressions[key.regular_expression] = event.value
        update_group(step, self._family, group._replace(expressions=tuple(sorted(expressions.items()))))

    def part(self, field: str) -> ReplayRecord:
        """Return the handler of a record about the whole group, which keeps the record's value in this field of Group."""

        def replay(step: Step, key: Message, event: Event) -> None:
            known = existing_group(step, self._family, key.group_id)
            group = known if event.value is None else open_group(step, self._family, key.group_id)
            if group is not None:
                changed: dict[str, Any] = {field: event.value}
                update_group(step, self._family, group._replace(**changed))

        return replay


def _reach_of_group_record(event: Event) -> Reach:
    """Return what the group's own record reads: its tombstone deletes the group, whatever offsets it has."""
    is_tombstone = event.value is None
    return reach_of_group(event)._replace(asks_for_all=is_tombstone, may_delete=is_tombstone)


def _member(step: Step, key: Message) -> Member | None:
    return step.state.members.get(key.group_id, _NO_MEMBERS).get(key.member_id)
