"""Audits of assignments: compared with a computed one where the assignor's answer is fixed, else checked by its guarantees.

An audit says which of the two it used. Only Kafka's own assignors are known; other clients have others under the same names.

Guarantees hold for every assignment that an assignor may choose: complete, even, no needless moves. Each of their functions returns
the first violation of its guarantee, as words that follow "but", or None.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from offsets_tool.assignors.claims import claims_by_generation, claims_by_partition
from offsets_tool.assignors.fixed import assign_ranges, assign_round_robin
from offsets_tool.assignors.sticky import complete, complete_cooperative
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


class Agreement(StrEnum):
    """How an assignment agrees with its assignor."""

    EQUAL = "equal"
    """The assignor gives exactly this."""
    CONSISTENT = "consistent"
    """The assignor may give this: everything that it guarantees is so."""
    DIFFERS = "differs"
    """Kafka's assignor of this name does not give this."""
    UNDECIDED = "undecided"
    """The log does not say enough, or nothing is known of the assignor."""


class AuditBasis(StrEnum):
    """What an agreement rests on."""

    RECOMPUTED = "recomputed"
    GUARANTEES = "guarantees"


class Audit(NamedTuple):
    """Whether an assignment agrees with its assignor, the basis of that (None if undecided), and the reason in words."""

    agreement: Agreement
    basis: AuditBasis | None
    detail: str


Auditor = Callable[[Subscriptions, Assignment], Audit]


def audit(assignor: str, given: Subscriptions, assigned: Assignment, *, is_target: bool = False) -> Audit:
    """Return what became of holding an assignment against the assignor of this name; `is_target`: a broker's assignor made it."""
    auditor = (_OF_BROKERS if is_target else _OF_CLIENTS).get(assignor)
    if auditor is None:
        return Audit(
            Agreement.UNDECIDED,
            None,
            f"{assignor} is none of the assignors that are known: {', '.join(_OF_BROKERS if is_target else _OF_CLIENTS)}",
        )
    besides = _given_back(given) if assignor in _STICKY and not is_target else {}
    if wrong := misplaced(given, assigned, besides):
        return _differs(wrong)
    found, stray = auditor(given, assigned), misplaced(given, assigned)
    if stray is None:
        return found
    because = f"{stray}; so Kafka gives back what a member owned in an older generation"
    if found.agreement is Agreement.DIFFERS:
        return Audit(Agreement.UNDECIDED, None, f"{because}, and guarantees nothing then: {found.detail}")
    return found._replace(detail=because)


def _given_back(given: Subscriptions) -> Assignment:
    """Return what sticky assignors may give back where subscriptions differ, by member id: what it owned in an older generation.

    They do not look whether the member still asks for it (AbstractStickyAssignor.performReassignments).
    """
    newest = max((member.generation for member in given.members), default=-1)
    return {
        member.member_id: member.claims
        for member in given.members
        if member.generation < newest and not given.are_equal
    }


def _differs(detail: str) -> Audit:
    return Audit(Agreement.DIFFERS, AuditBasis.GUARANTEES, detail)


def _fixed(assignor: Callable[[Subscriptions], Assignment]) -> Auditor:
    """Return an auditor of an assignor whose answer is fixed."""

    def audited(given: Subscriptions, assigned: Assignment) -> Audit:
        expected, found = by_owner(assignor(given)), by_owner(assigned)
        if expected == found:
            return Audit(
                Agreement.EQUAL, AuditBasis.RECOMPUTED, "each partition went where the assignor puts it"
            )
        others = sorted(partition for partition, owner in expected.items() if found.get(partition) != owner)
        partition = others[0]
        has = f"member {found[partition]} has it" if partition in found else "nobody has it"
        detail = f"{partition_text(partition)} belongs to member {expected[partition]}, and {has}"
        many = f"so with {len(others)} of {len(expected)} partitions"
        return Audit(Agreement.DIFFERS, AuditBasis.RECOMPUTED, f"{detail}; {many}")

    return audited


def _range_of_clients(given: Subscriptions, assigned: Assignment) -> Audit:
    """Audit `range`; where members say racks, releases from 3.5 on may match them with replicas, whose racks are not in the log."""
    found = _fixed(assign_ranges)(given, assigned)
    if found.agreement is Agreement.EQUAL or not given.have_racks:
        return found
    return _even_by_topic(
        given, assigned, "as rack-aware range may; the racks of replicas are not in the log"
    )


def _range_of_brokers(given: Subscriptions, assigned: Assignment) -> Audit:
    """Audit `range` of brokers, which up to 3.8 kept what members had."""
    found = _fixed(assign_ranges)(given, assigned)
    if found.agreement is Agreement.EQUAL:
        return found
    return _even_by_topic(given, assigned, "as brokers up to 3.8 may; later ones would give something else")


def _even_by_topic(given: Subscriptions, assigned: Assignment, because: str) -> Audit:
    if missing := unassigned(given, assigned):
        return _differs(f"nobody got {partition_text(missing[0])}")
    if wrong := uneven_by_topic(given, assigned):
        return _differs(wrong)
    return Audit(Agreement.CONSISTENT, AuditBasis.GUARANTEES, f"each topic is shared out evenly, {because}")


def _sticky(given: Subscriptions, assigned: Assignment) -> Audit:
    if missing := unassigned(given, assigned):
        return _differs(f"nobody got {partition_text(missing[0])}")
    return _recomputed(given, assigned, complete) or _even(given, assigned)


def _cooperative(given: Subscriptions, assigned: Assignment) -> Audit:
    """Audit `cooperative-sticky`: partitions that somebody has yet to give up are assigned to nobody."""
    claimed = {partition for member in given.members for partition in member.claims}
    held_back = unassigned(given, assigned)
    if missing := [partition for partition in held_back if partition not in claimed]:
        return _differs(f"nobody got {partition_text(missing[0])}, which nobody has to give up")
    found = _recomputed(given, assigned, complete_cooperative)
    if found is not None or not held_back:
        return found or _even(given, assigned)
    return Audit(
        Agreement.CONSISTENT,
        AuditBasis.GUARANTEES,
        f"{len(held_back)} partition(s) wait for the members that give them up, and whose they will be is not in the log",
    )


def _recomputed(
    given: Subscriptions, assigned: Assignment, completed: "Callable[..., Assignment | None]"
) -> Audit | None:
    """Return EQUAL if the computed assignment equals this one, given what members keep of what they owned; else None."""
    if not given.are_equal or not given.members:
        return None
    for claims_of in (claims_by_partition, claims_by_generation):
        expected = completed(given, claims_of(given), assigned)
        if expected is not None and by_owner(expected) == by_owner(assigned):
            return Audit(
                Agreement.EQUAL,
                AuditBasis.RECOMPUTED,
                "given what members keep of what they owned, all else went where the assignor puts it",
            )
    return None


def _even(given: Subscriptions, assigned: Assignment) -> Audit:
    """Audit an assignment by evenness, which is guaranteed always, and by moves, which are few and not fewest in every release."""
    if given.have_racks:
        return Audit(
            Agreement.UNDECIDED, None, "members say racks, and the racks of replicas are not in the log"
        )
    if wrong := uneven(given, assigned):
        return _differs(wrong)
    moved = [
        needless(claims_of(given).kept.items(), assigned)
        for claims_of in (claims_by_partition, claims_by_generation)
    ]
    if given.are_equal and all(moved):
        return Audit(
            Agreement.CONSISTENT,
            AuditBasis.GUARANTEES,
            f"even, as before 2.6 with more moves than needed: {moved[0]}",
        )
    also = ", and no member gave up what it could keep" if not all(moved) else ""
    return Audit(Agreement.CONSISTENT, AuditBasis.GUARANTEES, f"as even as subscriptions allow{also}")


def _uniform(given: Subscriptions, assigned: Assignment) -> Audit:
    """Audit `uniform` of brokers: even; and where all ask for the same topics, no member loses one partition and gets another."""
    if missing := unassigned(given, assigned):
        return _differs(f"nobody got {partition_text(missing[0])}")
    if wrong := uneven(given, assigned):
        return _differs(wrong)
    kept = [
        (
            member.member_id,
            frozenset(partition for partition in member.claims if partition[0] in member.topics),
        )
        for member in given.members
    ]
    moved = needless(kept, assigned)
    if moved and given.are_equal and not given.have_racks:
        return _differs(moved)
    also = "" if moved else ", and no member gave up what it could keep"
    return Audit(Agreement.CONSISTENT, AuditBasis.GUARANTEES, f"as even as subscriptions allow{also}")


_STICKY: Final = ("sticky", "cooperative-sticky")
_OF_CLIENTS: Final[Mapping[str, Auditor]] = {
    "range": _range_of_clients,
    "roundrobin": _fixed(assign_round_robin),
    "sticky": _sticky,
    "cooperative-sticky": _cooperative,
}
_OF_BROKERS: Final[Mapping[str, Auditor]] = {"range": _range_of_brokers, "uniform": _uniform}
