"""The guarantees of assignors, which hold for every assignment that they may choose: complete, even, no needless moves.

Each function returns the first violation of its guarantee, as words that follow "but", or None.
"""

from collections import defaultdict
from collections.abc import Iterable
from types import MappingProxyType
from typing import Final

from offsets_tool.assignors.subscriptions import Assignment, Partition, Subscriptions, sizes

_NOTHING_BESIDES: Final[Assignment] = MappingProxyType({})


def misplaced(
    given: Subscriptions, assigned: Assignment, besides: Assignment = _NOTHING_BESIDES
) -> str | None:
    """Return, in words, a partition that is assigned to no member of the group, to one that does not ask for it, or twice.

    `besides` are partitions that members may get without asking.
    """
    asked = {member.member_id: member.topics for member in given.members}
    owners: dict[Partition, str] = {}
    for member_id, partitions in assigned.items():
        if partitions and member_id not in asked:
            return f"member {member_id} is not in the group"
        for partition in sorted(partitions):
            if partition[0] not in asked[member_id] and partition not in besides.get(member_id, ()):
                return f"{partition_text(partition)} went to member {member_id}, which does not ask for its topic"
            if owners.setdefault(partition, member_id) != member_id:
                return f"{partition_text(partition)} went to two members, {owners[partition]} and {member_id}"
    return None


def unassigned(given: Subscriptions, assigned: Assignment) -> list[Partition]:
    """Return the partitions that no member got, though some member asks for their topic."""
    taken = {partition for partitions in assigned.values() for partition in partitions}
    return [partition for partition in given.partitions if partition not in taken]


def uneven(given: Subscriptions, assigned: Assignment) -> str | None:
    """Return a member that could have had a partition of one that has two or more partitions more."""
    size = sizes(assigned)
    for poor in given.members:
        for rich, partitions in assigned.items():
            if size[rich] - size[poor.member_id] < 2:
                continue
            for partition in sorted(partitions):
                if partition[0] in poor.topics:
                    return (
                        f"member {rich} has {size[rich]} partitions and member {poor.member_id} has {size[poor.member_id]}, "
                        f"which asks for {partition_text(partition)} too"
                    )
    return None


def uneven_by_topic(given: Subscriptions, assigned: Assignment) -> str | None:
    """Return a topic of which one of its subscribers has two or more partitions more than another."""
    for topic in given.topics:
        has = {
            member.member_id: sum(partition[0] == topic for partition in assigned.get(member.member_id, ()))
            for member in given.members
            if topic in member.topics
        }
        if max(has.values()) - min(has.values()) > 1:
            rich, poor = max(has, key=lambda each: has[each]), min(has, key=lambda each: has[each])
            return (
                f"of topic {topic} member {rich} has {has[rich]} partitions and member {poor} has {has[poor]}"
            )
    return None


def needless(kept: Iterable[tuple[str, frozenset[Partition]]], assigned: Assignment) -> str | None:
    """Return a member that gave up partitions that it could keep, and got others instead; `kept` is what each member could keep."""
    for member_id, own in kept:
        now = assigned.get(member_id, frozenset())
        if own - now and now - own:
            lost, got = min(own - now), min(now - own)
            return f"member {member_id} gave up {partition_text(lost)} and got {partition_text(got)} instead"
    return None


def by_owner(assigned: Assignment) -> dict[Partition, str]:
    """Return the member that each partition is assigned to."""
    owners = defaultdict[Partition, str](str)
    for member_id, partitions in assigned.items():
        for partition in partitions:
            owners[partition] = member_id
    return owners


def partition_text(partition: Partition) -> str:
    """Return a partition as `topic-partition`."""
    return f"{partition[0]}-{partition[1]}"
