"""The claims of members to partitions: those that they owned, where no other member has a better claim by a sticky assignor.

Source: AbstractStickyAssignor.allSubscriptionsEqual. Up to 3.4 only members of the newest generation kept anything; from 3.5 on
(KAFKA-14639) each partition goes to the newest generation that claims it. What two members of one generation claim, nobody keeps.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final, NamedTuple

from offsets_tool.assignors.subscriptions import Partition, Subscriber, Subscriptions


class Claims(NamedTuple):
    """What each member may keep, by member id, and partitions that several members claimed alike."""

    kept: Mapping[str, frozenset[Partition]]
    contested: frozenset[Partition]


_NO_CLAIM: Final[frozenset[Partition]] = frozenset()


def claims_by_partition(given: Subscriptions) -> Claims:
    """Return what each member may keep by the rule of 3.5 and later."""
    return _claims(given, given.members)


def claims_by_generation(given: Subscriptions) -> Claims:
    """Return what each member may keep by the rule of 2.6 to 3.4."""
    newest = max((member.generation for member in given.members), default=-1)
    return _claims(given, tuple(member for member in given.members if member.generation == newest))


def _claims(given: Subscriptions, members: tuple[Subscriber, ...]) -> Claims:
    claimants = defaultdict[Partition, list[Subscriber]](list)
    for member in members:
        for partition in member.claims:
            if partition[0] in given.counts:
                claimants[partition].append(member)
    kept = defaultdict[str, set[Partition]](set)
    contested: set[Partition] = set()
    for partition, some in claimants.items():
        newest = max(member.generation for member in some)
        best = [member for member in some if member.generation == newest]
        if len(best) == 1:
            kept[best[0].member_id].add(partition)
        else:
            contested.add(partition)
    return Claims(
        {m.member_id: frozenset(kept.get(m.member_id, _NO_CLAIM)) for m in given.members},
        frozenset(contested),
    )
