"""Names of topic ids that no record says, derived from subscriptions: which topics an id can be, and where only one is left.

When a group's target assignment of its present epoch is complete, each id in it is a topic that its member subscribes to at that
moment, and no two ids are one topic. What follows is certain unless records of the partition are missing (unreadable, misplaced):
compaction removes a record only with all that it replaced. Names that records state are left to topic_names. Source:
GroupMetadataManager.updateTargetAssignment, TargetAssignmentBuilder (KIP-848); share groups alike (KIP-932).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from offsets_tool.events import Event, Key
from offsets_tool.records.kinds import Family, Role, types_of
from offsets_tool.wire.schema import Message

_FIELD_OF_KEY: Final = {
    Role.MEMBER: "member_id",
    Role.TARGET: "member_id",
    Role.EXPRESSION: "regular_expression",
}
OBSERVED_TYPES: Final = types_of(
    Role.GROUP, Role.TARGET_METADATA, *_FIELD_OF_KEY, family=(Family.CONSUMER, Family.SHARE)
)
"""The record types that say what members subscribe to and what the target assignment gives them."""

TargetTopics = frozenset[tuple[UUID, frozenset[str]]]
"""The ids in a complete target assignment, each with the topics that it can be; no two ids are one topic."""


@dataclass(slots=True)
class _Group:
    """The newest values of one group and its members, as Kafka's message classes; `epoch` is None where no record says it."""

    epoch: int | None = None
    newest: dict[Role, dict[str, Any]] = field(default_factory=lambda: {role: {} for role in _FIELD_OF_KEY})

    def snapshot(self) -> TargetTopics:
        """Return the topics that each id of the target assignment can be.

        Ids of members whose subscriptions are not all known are left out.
        """
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
        """Return the topics that a member subscribes to, by name and by regular expression; None if a record of it is missing."""
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
    """Facts of one log partition: its groups, and every distinct complete target assignment of any time."""

    next_offset: int = 0
    groups: dict[str, _Group] = field(default_factory=dict)
    snapshots: set[TargetTopics] = field(default_factory=set)


class TopicCandidates:
    """The topics that each topic id can be, learned from the records that were observed."""

    def __init__(self) -> None:
        self._partitions: dict[int | None, _Partition] = {}
        self._distrusted: set[int | None] = set()

    def observe(self, event: Event, known: Collection[UUID] = ()) -> None:
        """Observe an event; events of a partition come in the order of their offsets, and one that goes back starts it over.

        A target assignment whose ids are all `known` is ignored.
        """
        if event.key is not None:
            value = event.value.data if event.value else None
            self.observe_value(event.record.log_partition, event.record.log_offset, event.key, value, known)

    def observe_value(
        self, place: int | None, log_offset: int, key: Key, value: Any, known: Collection[UUID]
    ) -> None:
        """Observe a record, as `observe` does an event, given its key, its value (None: a tombstone) and its log offset."""
        if key.type.id not in OBSERVED_TYPES:
            return
        partition = self._partitions.get(place)
        if partition is None or log_offset < partition.next_offset:
            snapshots = partition.snapshots if partition else set()
            partition = self._partitions[place] = _Partition(snapshots=snapshots)
        partition.next_offset = log_offset + 1
        group = partition.groups.setdefault(key.data.group_id, _Group())
        role = key.type.role
        if role is Role.GROUP:
            group.epoch = None if value is None else value.epoch
        elif role is not Role.TARGET_METADATA:
            _put(group, role, key.data, value)
        # An assignment of an earlier epoch was made of earlier subscriptions.
        elif value is not None and value.assignment_epoch == group.epoch:
            snapshot = group.snapshot()
            if not all(id_ in known for id_, _ in snapshot):
                partition.snapshots.add(snapshot)

    def distrust(self, log_partition: int | None) -> None:
        """Derive nothing from a partition, because records of it are missing."""
        self._distrusted.add(log_partition)

    def snapshots(self) -> Iterator[TargetTopics]:
        """Yield every distinct assignment of the trusted partitions."""
        return (snapshot for place, snapshot in self.placed_snapshots() if place not in self._distrusted)

    def placed_snapshots(self) -> Iterator[tuple[int | None, TargetTopics]]:
        """Yield every distinct assignment of all partitions, with its log partition."""
        for place, partition in self._partitions.items():
            yield from ((place, snapshot) for snapshot in partition.snapshots)


def _put(group: _Group, role: Role, key: Message, value: Any) -> None:
    """Keep the newest value of a record; a tombstone, or a value that could not be decoded, removes it."""
    newest = group.newest[role]
    if value is None:
        newest.pop(getattr(key, _FIELD_OF_KEY[role]), None)
    else:
        newest[getattr(key, _FIELD_OF_KEY[role])] = value


def derive_names(snapshots: Iterable[TargetTopics], known: Mapping[UUID, str]) -> dict[UUID, str]:
    """Return names of ids that are not `known`, where the assignments with the id leave one topic that it can be."""
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
    """Remove the topics of ids that can be only one from all other ids of the assignment; return whether anything was removed."""
    has_changed = False
    for snapshot in assignments:
        certain = {id_: next(iter(topics[id_])) for id_, _ in snapshot if len(topics[id_]) == 1}
        for id_, _ in snapshot:
            others = {name for other, name in certain.items() if other != id_}
            if len(topics[id_]) > 1 and topics[id_] & others:
                topics[id_] -= others
                has_changed = True
    return has_changed
