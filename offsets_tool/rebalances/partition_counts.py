"""A rebalance in numbers of partitions: owned ones, those that moved, those that had to, and those without an owner meanwhile."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from offsets_tool.history.rows import MemberHistoryRow
from offsets_tool.rebalances.holdings import COOPERATIVE, EAGER, StepHoldings, topic_of
from offsets_tool.rebalances.moves import TakersOf, moves_of
from offsets_tool.rebalances.rebalance import Rebalance
from offsets_tool.replay.changes import GroupKind
from offsets_tool.replay.member_records import CONSUMER_PROTOCOL


class PartitionCounts(NamedTuple):
    """Fields of the same names of a rebalance's row."""

    partitions: int | None = None
    new_partitions: int | None = None
    moved: int | None = None
    least_moves: int | None = None
    unowned: int | None = None


def partition_counts(each: Rebalance) -> PartitionCounts:
    """Return a rebalance in numbers; all None where members share partitions, or where assignments are in an unknown format."""
    after, before, holdings = each.step.after, each.step.before, each.holdings
    assert after is not None
    types = [row.protocol_type for row in (after, before) if row is not None and row.protocol_type]
    if after.kind == GroupKind.SHARE or (after.epoch is None and CONSUMER_PROTOCOL not in types[:1]):
        return PartitionCounts()
    moves = moves_of(holdings.had, holdings.has, _takers_of(after.kind, holdings))
    is_recorded = after.epoch is not None or each.step.is_conversion
    unowned = len(holdings.unheld) if is_recorded else _unowned_in_generation(each)
    is_new = len(holdings.has.keys() - holdings.known)
    return PartitionCounts(len(holdings.has), is_new, moves.moved, moves.least, unowned)


def _takers_of(kind: str, holdings: StepHoldings) -> TakersOf:
    """Return who may own a partition: the members that ask for its topic; all members, if no subscription is known."""
    members = holdings.after
    everyone = frozenset(members)
    if kind == GroupKind.STREAMS:
        return lambda partition: everyone
    asking = _asking(members.values(), holdings)

    @cache
    def takers(topic: str) -> frozenset[str]:
        return frozenset(asking[topic]) if topic in asking else everyone

    return lambda partition: takers(topic_of(partition))


def _asking(members: Iterable[MemberHistoryRow], holdings: StepHoldings) -> Mapping[str, set[str]]:
    """Return the members that ask for each topic, by its name or by a regular expression by which some member owns it."""
    by_regex = _topics_by_regex(holdings)
    asking: dict[str, set[str]] = defaultdict(set)
    for row in members:
        for topic in (*row.subscription, *by_regex.get(row.subscribed_regex, ())):
            asking[topic].add(row.member_id)
    return asking


def _topics_by_regex(holdings: StepHoldings) -> Mapping[str | None, set[str]]:
    """Return, by regular expression, the topics that are owned by members which ask by that expression."""
    regexes = {
        row.member_id: row.subscribed_regex
        for row in (*holdings.before.values(), *holdings.after.values())
        if row.subscribed_regex is not None
    }
    held: dict[str | None, set[str]] = defaultdict(set)
    for partition, member in (*holdings.had.items(), *holdings.has.items()) if regexes else ():
        if member in regexes:
            held[regexes[member]].add(topic_of(partition))
    return held


def _unowned_in_generation(each: Rebalance) -> int | None:
    """Return how many partitions nobody held while a classic group rebalanced: that is in no record, but follows from its protocol.

    None for protocols of which nobody knows whether members give all up before.
    """
    holdings, after, before = each.holdings, each.step.after, each.step.before
    assert after is not None
    protocol = after.protocol or (before.protocol if before else None)
    if not holdings.held:
        return 0
    if not after.members or protocol in EAGER or _is_passed_on(holdings):
        return len(holdings.held)
    if protocol not in COOPERATIVE:
        return None
    left = each.comings.left
    return sum(holdings.had.get(name) in left or name not in holdings.has for name in holdings.held)


def _is_passed_on(holdings: StepHoldings) -> bool:
    """Return whether a partition went from one member to another, both of which stayed: both had given all up before."""
    return any(
        name in holdings.held and owner != holdings.had.get(name) and holdings.had.get(name) in holdings.after
        for name, owner in holdings.has.items()
    )
