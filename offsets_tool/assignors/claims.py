"""What members may keep by a sticky assignor: the partitions that they owned, where no other member has a better claim.

Source: AbstractStickyAssignor.allSubscriptionsEqual. Up to 3.4 only members of the newest generation kept anything; from 3.5 on
(KAFKA-14639) each partition goes to the newest generation that claims it. What two members of one generation claim, nobody keeps.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final, NamedTuple

from offsets_tool.assignors.subscriptions import Place, Subscriber, Subscriptions


class Claims(NamedTuple):
    """What each member may keep, by member id, and partitions that several members claimed alike."""

    kept: Mapping[str, frozenset[Place]]
    contested: frozenset[Place]


_NO_CLAIM: Final[frozenset[Place]] = frozenset()


def claims_by_partition(given: Subscriptions) -> Claims:
    """Return what each member may keep by the rule of 3.5 and later."""
    return _claims(given, given.members)


def claims_by_generation(given: Subscriptions) -> Claims:
    """Return what each member may keep by the rule of 2.6 to 3.4."""
    newest = max((member.generation for member in given.members), default=-1)
    return _claims(given, tuple(member for member in given.members if member.generation == newest))


def _claims(given: Subscriptions, members: tuple[Subscriber, ...]) -> Claims:
    claimants = defaultdict[Place, list[Subscriber]](list)
    for member in members:
        for place in member.claims:
            if place[0] in given.counts:
                claimants[place].append(member)
    kept = defaultdict[str, set[Place]](set)
    contested: set[Place] = set()
    for place, some in claimants.items():
        newest = max(member.generation for member in some)
        best = [member for member in some if member.generation == newest]
        if len(best) == 1:
            kept[best[0].member_id].add(place)
        else:
            contested.add(place)
    return Claims(
        {m.member_id: frozenset(kept.get(m.member_id, _NO_CLAIM)) for m in given.members},
        frozenset(contested),
    )
