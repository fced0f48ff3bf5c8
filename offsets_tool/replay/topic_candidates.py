"""Names of topic ids that no record says, derived from subscriptions: which topics an id can be, and where only one is left.

When a group's target assignment of its present epoch is complete, each id in it is a topic that its member subscribes to at that
moment, and no two ids are one topic. What follows from that is certain as long as no record of the partition is lacking
(unreadable, misplaced): compaction takes a record only with all that it replaced. Knows nothing about names that records say.
Source: GroupMetadataManager.updateTargetAssignment, TargetAssignmentBuilder (KIP-848); share groups alike (KIP-932).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from offsets_tool.events import Event
from offsets_tool.records.kinds import Family, Role, types_of

_FIELD_OF_KEY: Final = {
    Role.MEMBER: "member_id",
    Role.TARGET: "member_id",
    Role.EXPRESSION: "regular_expression",
}
OBSERVED_TYPES: Final = types_of(
    Role.GROUP, Role.TARGET_METADATA, *_FIELD_OF_KEY, family=(Family.CONSUMER, Family.SHARE)
)
"""The record types that tell what members subscribe to and are to be assigned."""

TargetTopics = frozenset[tuple[UUID, frozenset[str]]]
"""The ids of a target assignment, each with the topics that it can be: all different."""


@dataclass(slots=True)
class _Group:
    """The newest values of one group and its members, as Kafka's message classes; `epoch` None where no record says it."""

    epoch: int | None = None
    newest: dict[Role, dict[str, Any]] = field(default_factory=lambda: {role: {} for role in _FIELD_OF_KEY})

    def snapshot(self) -> TargetTopics:
        """What the assignment says of each id; nothing of ids whose members' subscriptions are not all known."""
        found: dict[UUID, frozenset[str]] = {}
        unsure: set[UUID] = set()
        for member_id, target in self.newest[Role.TARGET].items():
            topics = self._topics(member_id)
            for entry in target.topic_partitions:
                if topics is None:
                    unsure.add(entry.topic_id)
                else:
                    found[entry.topic_id] = found.get(entry.topic_id, topics) & topics
        return frozenset((id_, topics) for id_, topics in found.items() if topics or id_ not in unsure)

    def _topics(self, member_id: str) -> frozenset[str] | None:
        """What a member subscribes to, by name and by regular expression; None where a record of it is not there."""
        member = self.newest[Role.MEMBER].get(member_id)
        if member is None:
            return None
        named = frozenset(member.subscribed_topic_names)
        regex = getattr(member, "subscribed_topic_regex", None)
        if not regex:
            return named
        resolved = self.newest[Role.EXPRESSION].get(regex)
        return None if resolved is None else named | frozenset(resolved.topics)


@dataclass(slots=True)
class _Partition:
    """One log partition: its groups, and every different target assignment that was complete at some time."""

    next_offset: int = 0
    groups: dict[str, _Group] = field(default_factory=dict)
    snapshots: set[TargetTopics] = field(default_factory=set)


class TopicCandidates:
    """Which topics each id can be, going by the records that were observed."""

    def __init__(self) -> None:
        self._partitions: dict[int | None, _Partition] = {}
        self._distrusted: set[int | None] = set()

    def observe(self, event: Event, known: Collection[UUID] = ()) -> None:
        """Learn from an event; events of a partition in the order of their offsets, from the first one again where they go back.

        A target assignment of which all ids are `known` tells nothing.
        """
        if event.type_id not in OBSERVED_TYPES or event.key is None:
            return
        place, log_offset = event.record.log_partition, event.record.log_offset
        partition = self._partitions.get(place)
        if partition is None or log_offset < partition.next_offset:
            snapshots = partition.snapshots if partition else set()
            partition = self._partitions[place] = _Partition(snapshots=snapshots)
        partition.next_offset = log_offset + 1
        group = partition.groups.setdefault(event.key.data.group_id, _Group())
        value = event.value.data if event.value else None
        role = event.key.type.role
        if role is Role.GROUP:
            group.epoch = None if value is None else value.epoch
        elif role is not Role.TARGET_METADATA:
            _put(group, role, event.key.data, value)
        # An assignment of an earlier epoch was made of earlier subscriptions.
        elif value is not None and value.assignment_epoch == group.epoch:
            snapshot = group.snapshot()
            if not all(id_ in known for id_, _ in snapshot):
                partition.snapshots.add(snapshot)

    def distrust(self, log_partition: int | None) -> None:
        """Derive nothing from a partition: records of it are lacking."""
        self._distrusted.add(log_partition)

    def snapshots(self) -> Iterator[TargetTopics]:
        """Every different assignment of the partitions that are trusted."""
        return (snapshot for place, snapshot in self.placed_snapshots() if place not in self._distrusted)

    def placed_snapshots(self) -> Iterator[tuple[int | None, TargetTopics]]:
        """Every different assignment, with its log partition."""
        for place, partition in self._partitions.items():
            yield from ((place, snapshot) for snapshot in partition.snapshots)


def _put(group: _Group, role: Role, key: Any, value: Any) -> None:
    """Keep the newest value; a tombstone, and a value that does not read, leave nothing that is known."""
    newest = group.newest[role]
    if value is None:
        newest.pop(getattr(key, _FIELD_OF_KEY[role]), None)
    else:
        newest[getattr(key, _FIELD_OF_KEY[role])] = value


def derive_names(snapshots: Iterable[TargetTopics], known: Mapping[UUID, str]) -> dict[UUID, str]:
    """Names of ids that are not `known`, where every assignment with the id leaves one topic that it can be."""
    assignments = list(snapshots)
    topics: dict[UUID, set[str]] = {}
    for snapshot in assignments:
        for id_, can_be in snapshot:
            topics[id_] = topics.get(id_, set(can_be)) & can_be
    topics |= {id_: {name} for id_, name in known.items() if id_ in topics}
    while _strike_out(assignments, topics):
        pass
    return {id_: next(iter(left)) for id_, left in topics.items() if len(left) == 1 and id_ not in known}


def _strike_out(assignments: Iterable[TargetTopics], topics: dict[UUID, set[str]]) -> bool:
    """Take the topics of ids that can be only one from all others of the same assignment; whether there was one to take."""
    has_changed = False
    for snapshot in assignments:
        certain = {id_: next(iter(topics[id_])) for id_, _ in snapshot if len(topics[id_]) == 1}
        for id_, _ in snapshot:
            others = {name for other, name in certain.items() if other != id_}
            if len(topics[id_]) > 1 and topics[id_] & others:
                topics[id_] -= others
                has_changed = True
    return has_changed
