"""Finds the owner of a partition for each commit, by the assignments in the log: it follows the Changes of groups and members.

A classic group's assignment is that of its latest generation; in other kinds of groups each member's record has its own. It never
guesses: a partition that is assigned to no member has no owner, whoever committed. Where a topic id without a name may hide the
partition, its owner is unknown.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple
from uuid import UUID

from offsets_tool.replay.changes import (
    Change,
    Group,
    GroupKind,
    GroupOf,
    GroupState,
    MemberOf,
    TopicPartition,
)
from offsets_tool.replay.member_records import NOBODY, Client, Owned, client_of, has_unread_assignment, owned
from offsets_tool.replay.member_state import member_epoch
from offsets_tool.replay.state import State
from offsets_tool.wire.json import uuid_text
from offsets_tool.wire.schema import ZERO_UUID

NameOf = Callable[[UUID], str]
"""Return the name of a topic id, or the id as text where there is no name (TopicNames.name)."""


class Owner(NamedTuple):
    """Who owned a partition, and under which generation or epoch. All None where there is no group or no owner.

    `is_known` is False if a member may be the owner: it holds this partition of a topic known by its id alone, a task whose topics
    are unknown, or what its assignment says in bytes that do not read. `generation` is a classic group's, `group_epoch` that of
    other kinds, `member_epoch` the owner's.
    """

    kind: GroupKind | None = None
    generation: int | None = None
    group_epoch: int | None = None
    member_epoch: int | None = None
    member_id: str | None = None
    client: Client = NOBODY
    is_known: bool = True


_UNNAMED: Final = ZERO_UUID
"""Stands for any topic whose name is not known."""
_UNREAD: Final[Owned] = ("", -1)
"""Stands for whatever a member holds whose assignment does not read."""


class Owners:
    """The groups and members of one log partition, as far as ownership goes."""

    def __init__(self, name_of: NameOf, state: State | None = None) -> None:
        """Start without groups, or from those of a `state`. `name_of` returns the name of a topic id."""
        self._name_of = name_of
        self.state = state or State()
        self._holders: dict[str, dict[Owned, str]] = {}

    def follow(self, change: Change) -> None:
        """Observe a Change of a group or a member; the owners follow it."""
        subject = change.subject
        if isinstance(subject, GroupOf | MemberOf) and not change.is_anomaly:
            self.state.put(subject, change.after)
            self._holders.pop(subject.group, None)

    def forget_holders(self, group: str) -> None:
        """Find anew who holds what in a group, of which `state` was changed without a Change."""
        self._holders.pop(group, None)

    def group(self, group: str) -> Group | None:
        """Return the group as it is now; None if it is not there."""
        return self.state.groups.get(group)

    def of(self, group: str, at: TopicPartition, topic_id: UUID | None) -> Owner:
        """Return the owner of a partition now; `topic_id` is that of the commit, if it has one."""
        known, holders = self.state.groups.get(group), self._holders_in(group)
        if known is not None and known.state is GroupState.UNKNOWN:
            return self.nobody(group)._replace(is_known=False)
        if known is None or not holders:
            return self.nobody(group)
        # Where both say the id, the name does not count: a topic that was made anew has its old one.
        by_id = topic_id if known.kind is GroupKind.CONSUMER else None
        member_id = holders.get(at if by_id is None else (by_id, at.partition))
        owner = self.nobody(group)
        if member_id is not None:
            return self._with_member(owner, group, member_id)
        may_be_unnamed = by_id is None and (_UNNAMED, at.partition) in holders
        return owner._replace(is_known=not may_be_unnamed and _UNREAD not in holders)

    def has_any(self, group: str) -> bool:
        """Return whether any partition of a group may have an owner; all others belong to `nobody`."""
        known = self.state.groups.get(group)
        return bool(self._holders_in(group)) or (known is not None and known.state is GroupState.UNKNOWN)

    def nobody(self, group: str) -> Owner:
        """Return the owner of a group's partition that surely is assigned to no member."""
        known = self.state.groups.get(group)
        return Owner() if known is None else Owner(known.kind, known.generation, known.epoch)

    def _with_member(self, owner: Owner, group: str, member_id: str) -> Owner:
        member = self.state.members[group][member_id]
        epoch = None if owner.kind is GroupKind.CLASSIC else member_epoch(member)
        return owner._replace(member_id=member_id, member_epoch=epoch, client=client_of(member))

    def _holders_in(self, group: str) -> dict[Owned, str]:
        """Return the member that holds each partition of a group, by all keys that the partition is looked up by."""
        holders = self._holders.get(group)
        if holders is None:
            known = self.state.groups.get(group)
            holders = self._holders[group] = {} if known is None else self._find_holders(known)
        return holders

    def _find_holders(self, group: Group) -> dict[Owned, str]:
        """Return the member that holds each partition; of two that hold it, the one that has been there longer."""
        holders: dict[Owned, str] = {}
        for member_id, member in self.state.members.get(group.group, {}).items():
            if has_unread_assignment(member, group.protocol_type):
                holders.setdefault(_UNREAD, member_id)
            for part in owned(member, group.protocol_type):
                for place in self._lookup_keys(group, part):
                    holders.setdefault(place, member_id)
        return holders

    def _lookup_keys(self, group: Group, part: Owned) -> Iterator[Owned]:
        """Yield a partition under all keys that it is looked up by: id and name; for a streams task, the topics that it reads."""
        of, partition = part
        if isinstance(of, UUID):
            name = self._name_of(of)
            yield part
            yield _UNNAMED if name == uuid_text(of) else name, partition
        elif group.kind is GroupKind.STREAMS:
            yield from ((topic, partition) for topic in _source_topics(group, of))
        else:
            yield part


def _source_topics(group: Group, subtopology_id: str) -> Iterator[str | UUID]:
    """Yield the topics of a subtopology; _UNNAMED where it is missing or subscribes by regular expression."""
    subtopologies = group.topology.data.subtopologies if group.topology else ()
    found = [each for each in subtopologies if each.subtopology_id == subtopology_id]
    for subtopology in found:
        yield from subtopology.source_topics
        yield from (topic.name for topic in subtopology.repartition_source_topics)
    if not found or any(each.source_topic_regex for each in found):
        yield _UNNAMED
