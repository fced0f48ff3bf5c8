"""The assignors sticky and cooperative-sticky where all members ask for the same topics, as releases from 3.0 on compute them.

Which of several members keeps one partition more than the others depends on the order of Java's hash tables: that choice is read
from the recorded assignment, and everything else follows from it. Source: AbstractStickyAssignor (constrained assignment).
"""

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from offsets_tool.assignors.claims import Claims
from offsets_tool.assignors.subscriptions import Assignment, Partition, Subscriptions, java_order


class _Quota(NamedTuple):
    """How many partitions each member gets, and how many members get one more."""

    least: int
    with_more: int

    def has_more(self, size: int) -> bool:
        return size > self.least


def complete(given: Subscriptions, claims: Claims, assigned: Assignment) -> Assignment | None:
    """Return the assignment of `sticky` in which members keep what they keep in `assigned`.

    None where `sticky` would let members keep other numbers of partitions; ValueError without members.
    """
    if not given.members:
        raise ValueError("an assignment needs members")
    quota = _Quota(*divmod(sum(given.counts[topic] for topic in given.topics), len(given.members)))
    kept = {member_id: own & assigned.get(member_id, frozenset()) for member_id, own in claims.kept.items()}
    return _filled(given, kept, claims, quota) if _keeps_enough(kept, claims, quota) else None


def complete_cooperative(given: Subscriptions, claims: Claims, assigned: Assignment) -> Assignment | None:
    """Return the assignment of `cooperative-sticky`, as `complete` does for `sticky`, without partitions that others still own."""
    filled = complete(given, claims, assigned)
    if filled is None:
        return None
    owners = {partition: member_id for member_id, own in claims.kept.items() for partition in own}
    return {
        member_id: frozenset(
            partition
            for partition in partitions
            if partition not in claims.contested and owners.get(partition, member_id) == member_id
        )
        for member_id, partitions in filled.items()
    }


def _keeps_enough(kept: Mapping[str, frozenset[Partition]], claims: Claims, quota: _Quota) -> bool:
    """Return whether each member keeps as much as it may, and as many as can keep one partition more."""
    with_more = able = 0
    for member_id, own in claims.kept.items():
        size = len(kept[member_id])
        with_more += quota.has_more(size)
        able += quota.has_more(len(own))
        if size < min(len(own), quota.least) or size > quota.least + 1:
            return False
    return with_more == min(able, quota.with_more)


def _filled(
    given: Subscriptions, kept: Mapping[str, frozenset[Partition]], claims: Claims, quota: _Quota
) -> Assignment:
    """Return the assignment completed by partitions that no member keeps: first to members below the quota, then one to others."""
    filled = {member_id: set(own) for member_id, own in kept.items()}
    taken = {partition for own in kept.values() for partition in own}
    in_order = sorted(kept, key=java_order)
    short = deque(member_id for member_id in in_order if len(kept[member_id]) < quota.least)
    is_open = sum(quota.has_more(len(own)) for own in kept.values()) < quota.with_more
    full = deque(m for m in in_order if is_open and len(kept[m]) == quota.least)
    for partition in given.partitions:
        if partition in taken:
            continue
        member_id = short.popleft() if short else full.popleft()
        filled[member_id].add(partition)
        if len(filled[member_id]) < quota.least:
            short.append(member_id)
        elif len(filled[member_id]) == quota.least:
            full.append(member_id)
    return {member_id: frozenset(partitions) for member_id, partitions in filled.items()}
