"""The input and output of an assignor: members with the topics that they ask for, and partitions by member id.

Members are ordered as Kafka orders them: static ones by instance id, then the others by member id, both as Java compares strings.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

Partition = tuple[str, int]
"""A partition of a topic: its name and the number."""
Assignment = Mapping[str, frozenset[Partition]]
"""Partitions by member id; a member without partitions need not be there."""


class Subscriber(NamedTuple):
    """A member as an assignor sees it; `claims` are the partitions that it owned in `generation` (-1: none is said)."""

    member_id: str
    topics: frozenset[str]
    instance_id: str | None = None
    rack_id: str | None = None
    claims: frozenset[Partition] = frozenset()
    generation: int = -1


class Subscriptions(NamedTuple):
    """The members of a group, and how many partitions each topic has; topics without a count do not exist."""

    members: tuple[Subscriber, ...]
    counts: Mapping[str, int]

    @property
    def topics(self) -> list[str]:
        """The topics that members ask for and that exist, in Java's order of strings."""
        asked = {topic for member in self.members for topic in member.topics}
        return sorted((topic for topic in asked if self.counts.get(topic)), key=java_order)

    @property
    def partitions(self) -> Iterator[Partition]:
        """All partitions of the topics that members ask for, by topic and number."""
        return ((topic, number) for topic in self.topics for number in range(self.counts[topic]))

    @property
    def are_equal(self) -> bool:
        """Whether all members ask for the same topics."""
        return len({member.topics for member in self.members}) <= 1

    @property
    def have_racks(self) -> bool:
        """Whether a member says its rack: then the racks of replicas, which no record of a classic group has, may count too."""
        return any(member.rack_id for member in self.members)

    def in_order(self) -> list[Subscriber]:
        """Return the members in the order in which range and roundrobin go through them (AbstractPartitionAssignor.MemberInfo)."""
        return sorted(self.members, key=_member_order)


def java_order(text: str) -> bytes:
    """Return a key that sorts texts as String.compareTo does: by UTF-16 units."""
    return text.encode("utf-16-be", "surrogatepass")


def _member_order(member: Subscriber) -> tuple[bool, bytes]:
    is_dynamic = member.instance_id is None
    return is_dynamic, java_order(member.member_id if member.instance_id is None else member.instance_id)


def sizes(assigned: Assignment) -> Counter[str]:
    """Return how many partitions each member has; 0 for a member without an entry in `assigned`."""
    return Counter({member_id: len(partitions) for member_id, partitions in assigned.items()})
