"""The assignors whose assignment depends only on the subscriptions: range and roundrobin.

`range` is RangeAssignor of clients up to 4.x as long as no racks count, and RangeAssignor of brokers from 3.9 on. `roundrobin` is
RoundRobinAssignor. Both forget who owned what.
"""

from collections import defaultdict
from itertools import cycle

from offsets_tool.assignors.subscriptions import Assignment, Partition, Subscriptions


def assign_ranges(given: Subscriptions) -> Assignment:
    """Return the assignment of `range`: of each topic, every member in turn gets the next partitions; the first get one more."""
    assigned = defaultdict[str, list[Partition]](list)
    members = given.in_order()
    for topic in given.topics:
        begin = 0
        subscribers = [member for member in members if topic in member.topics]
        each, more = divmod(given.counts[topic], len(subscribers))
        for rank, member in enumerate(subscribers):
            end = begin + each + (rank < more)
            assigned[member.member_id] += ((topic, number) for number in range(begin, end))
            begin = end
    return _frozen(assigned)


def assign_round_robin(given: Subscriptions) -> Assignment:
    """Return the assignment of `roundrobin`: partition by partition, the next member that asks for the topic."""
    assigned = defaultdict[str, list[Partition]](list)
    turns = cycle(given.in_order())
    for partition in given.partitions:
        member = next(member for member in turns if partition[0] in member.topics)
        assigned[member.member_id].append(partition)
    return _frozen(assigned)


def _frozen(assigned: dict[str, list[Partition]]) -> Assignment:
    return {member_id: frozenset(partitions) for member_id, partitions in assigned.items()}
