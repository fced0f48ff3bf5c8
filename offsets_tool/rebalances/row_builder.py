"""Makes the row of a Rebalance: log offsets, times and durations, members by their names, partitions in numbers.

Partitions are counted that were owned, that moved, that had to, and that had no owner meanwhile. The fewest that had to change
hands follow from who owned what and who may own what: each member ends with as many partitions as it was given, and owns only
topics that it may own. A partition without an owner before does not move. The number is exact: a flow of least cost, by successive
shortest paths.
"""

import itertools
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from offsets_tool.history.rows import GroupHistoryRow, MemberHistoryRow
from offsets_tool.rebalances.histories import GroupHistories
from offsets_tool.rebalances.holdings import COOPERATIVE, EAGER, StepHoldings, topic_of
from offsets_tool.rebalances.rebalance import Rebalance, rebalances_of
from offsets_tool.rebalances.rows import (
    DurationMethod,
    HeldBack,
    MemberName,
    RebalanceOutcome,
    RebalanceRow,
)
from offsets_tool.rebalances.steps import SETTLED
from offsets_tool.replay.changes import GroupKind
from offsets_tool.replay.member_records import CONSUMER_PROTOCOL
from offsets_tool.server_log.join import NO_SERVER_LOG, ServerLog
from offsets_tool.wire.longs import difference

_FAR: Final = 1 << 30
"""More than any path costs."""
_MEMBER, _POOL = 0, 1
_Node = tuple[int, int]
"""A member or a pool, by its number."""


TakersOf = Callable[[str], frozenset[str]]
"""From a partition to the members that may hold it."""


class Moves(NamedTuple):
    """How many partitions another member owns than before, and how many of them had to move."""

    moved: int
    least: int


def moves_of(old: Mapping[str, str], new: Mapping[str, str], takers_of: TakersOf) -> Moves:
    """Return the moves from old owners to new ones, both by partition.

    A partition that only one of them has is no move. Whoever holds a partition in `new` may hold it, whatever `takers_of` says.
    """
    moved = sum(old.get(each, member) != member for each, member in new.items())
    if moved == (least := _least_of_any(old, new)):
        return Moves(moved, least)
    return Moves(moved, _least(old, new, takers_of))


def _least_of_any(old: Mapping[str, str], new: Mapping[str, str]) -> int:
    """Return the fewest moves if every member may own every partition: each keeps what it had, up to its new number."""
    capacity = Counter(new.values())
    owned = Counter(old[each] for each in new if each in old)
    return owned.total() - sum(min(count, capacity[member]) for member, count in owned.items())


def _least(old: Mapping[str, str], new: Mapping[str, str], takers_of: TakersOf) -> int:
    members = {member: number for number, member in enumerate(sorted(set(new.values())))}
    capacity = Counter(members[member] for member in new.values())
    pools: dict[frozenset[str], int] = {}
    supply: Counter[int] = Counter()
    owned: Counter[tuple[int, int]] = Counter()
    homeless = 0
    for each, holder in new.items():
        takers = takers_of(each)
        pool = pools.setdefault(takers if holder in takers else takers | {holder}, len(pools))
        owner = old.get(each)
        if owner in members and (owner in takers or owner == holder):
            owned[pool, members[owner]] += 1
        else:
            supply[pool] += 1
            homeless += owner is not None
    if len(pools) == 1:
        # Whoever holds one of them may hold each of them.
        return _least_of_any(old, new)
    takers_by_pool = [frozenset(members[each] for each in takers if each in members) for takers in pools]
    return homeless + _Flow(takers_by_pool, capacity, owned, supply).least()


class _Flow:
    """Partitions in pools, one for each set of members that may hold them; those that stay where they were cost nothing."""

    def __init__(
        self,
        takers: list[frozenset[int]],
        capacity: Mapping[int, int],
        owned: Mapping[tuple[int, int], int],
        supply: Mapping[int, int],
    ) -> None:
        """Start with each member keeping what it may, in any order; the other partitions are in their pools.

        `owned` counts partitions by pool and owner, `supply` those of each pool without an owner.
        """
        self._takers = takers
        self._free = dict(capacity)
        self._kept: Counter[tuple[int, int]] = Counter()
        self._left: Counter[tuple[int, int]] = Counter()
        self._given: Counter[tuple[int, int]] = Counter()
        self._supply: Counter[int] = Counter(supply)
        for (pool, owner), count in owned.items():
            kept = min(count, self._free[owner])
            self._free[owner] -= kept
            self._kept[pool, owner] = kept
            self._left[pool, owner] = count - kept
            self._supply[pool] += count - kept

    def least(self) -> int:
        """Return how many partitions move at least, of those that had an owner who may still hold them."""
        for pool in range(len(self._takers)):
            while self._supply[pool]:
                self._augment(self._path(pool))
        return self._left.total()

    def _edges(self, node: _Node) -> Iterator[tuple[_Node, int]]:
        """Yield where one partition can go from a pool, or which pool one of a member can go back to; with what that costs."""
        kind, number = node
        if kind == _POOL:
            for member in self._takers[number]:
                yield (_MEMBER, member), -1 if self._left[number, member] else 0
            return
        for pool, takers in enumerate(self._takers):
            if number in takers and self._given[pool, number]:
                yield (_POOL, pool), 0
            elif self._kept[pool, number]:
                yield (_POOL, pool), 1

    def _path(self, pool: int) -> list[_Node]:
        """Return the cheapest way for a partition of a pool to a member that has room, along which others make room."""
        cost: dict[_Node, int] = {(_POOL, pool): 0}
        came: dict[_Node, _Node] = {}
        waiting = [(_POOL, pool)]
        while waiting:
            node = waiting.pop(0)
            for after, price in self._edges(node):
                if cost[node] + price < cost.get(after, _FAR):
                    cost[after], came[after] = cost[node] + price, node
                    if after not in waiting:
                        waiting.append(after)
        free = [node for node in cost if node[0] == _MEMBER and self._free[node[1]]]
        path = [min(free, key=cost.__getitem__)]
        while path[-1] != (_POOL, pool):
            path.append(came[path[-1]])
        return path[::-1]

    def _augment(self, path: list[_Node]) -> None:
        self._supply[path[0][1]] -= 1
        self._free[path[-1][1]] -= 1
        for (kind, number), (_, after) in itertools.pairwise(path):
            if kind == _POOL:
                self._take(number, after)
            else:
                self._give_back(after, number)

    def _take(self, pool: int, member: int) -> None:
        """Assign a partition of a pool to a member, if possible one that it had before."""
        if self._left[pool, member]:
            self._left[pool, member] -= 1
            self._kept[pool, member] += 1
        else:
            self._given[pool, member] += 1

    def _give_back(self, pool: int, member: int) -> None:
        if self._given[pool, member]:
            self._given[pool, member] -= 1
        else:
            self._kept[pool, member] -= 1
            self._left[pool, member] += 1


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


def rebalance_rows(
    rows: GroupHistories, session_timeout_ms: int | None, server_log: ServerLog = NO_SERVER_LOG
) -> Iterator[RebalanceRow]:
    """Yield a row for each rebalance of a group, in the order of the log; the arguments are those of `rebalances_of`."""
    for each in rebalances_of(rows, session_timeout_ms, server_log):
        yield _row(rows, each)


class _Span(NamedTuple):
    """The begin and end of a rebalance, each as (log offset, epoch milliseconds), and the method by which they are known."""

    began: tuple[int, int] | None
    ended: tuple[int, int] | None
    method: DurationMethod
    outcome: RebalanceOutcome

    @property
    def duration_ms(self) -> int | None:
        """Milliseconds between both; None if one is not known or has no time."""
        if self.began is None or self.ended is None or min(self.began[1], self.ended[1]) < 0:
            return None
        return max(difference(self.ended[1], self.began[1]), 0)


def _row(rows: GroupHistories, each: Rebalance) -> RebalanceRow:
    step, after = each.step, each.step.after
    assert after is not None
    began = _began(rows, each, after)
    span = _classic_span(rows, each) if after.epoch is None else _epoch_span(each, after, began)
    duration_ms = span.duration_ms
    counts = partition_counts(each)
    before = step.before
    return RebalanceRow(
        group=rows.group,
        kind=after.kind,
        generation=after.generation,
        epoch=after.epoch,
        skipped=each.skipped,
        **_end_columns("from", span.began),
        **_end_columns("to", span.ended),
        duration_ms=duration_ms,
        duration_method=None if duration_ms is None else span.method.value,
        outcome=span.outcome.value,
        assignment_ms=_assignment_ms(rows, each, after, began),
        cause=each.why.cause.value,
        confidence=each.why.confidence.value,
        alternatives=tuple(cause.value for cause in each.why.alternatives),
        joined=_names(rows, each.comings.joined),
        left=_names(rows, each.comings.left),
        replaced=_names(rows, each.comings.replaced),
        resubscribed=_names(rows, each.comings.resubscribed),
        members=after.members,
        leader=after.leader,
        previous_leader=_other(before.leader if before else None, after.leader),
        protocol=after.protocol,
        previous_protocol=_other(before.protocol if before else None, after.protocol),
        topics=_topics(each),
        **counts._asdict(),
        held_back=tuple(_held_back(each)),
        log_partition=rows.log_partition,
        log_offset=began[0],
    )


def _end_columns(end: str, place: tuple[int, int] | None) -> dict[str, Any]:
    log_offset, at = place or (None, None)
    return {f"{end}_log_offset": log_offset, f"{end}_at": None if at is None or at < 0 else at}


def _other(before: str | None, after: str | None) -> str | None:
    return None if before == after else before


def _began(rows: GroupHistories, each: Rebalance, after: GroupHistoryRow) -> tuple[int, int]:
    """Return the record with which the generation or epoch began: in a step, members may come before it."""
    states = rows.states_within(each.step.first, each.step.last)
    numbered = (row for row in states if (row.generation, row.epoch) == (after.generation, after.epoch))
    first = next(numbered, after)
    return first.from_log_offset, first.from_timestamp


def _classic_span(rows: GroupHistories, each: Rebalance) -> _Span:
    step = each.step
    began: tuple[int, int] | None = None
    if step.before is not None and step.before.members:
        commits = rows.commits_of_members
        at = bisect_left(commits, (step.first, -1))
        sign = (step.before.from_log_offset, step.before.from_timestamp)
        began = max([sign, *commits[max(at - 1, 0) : at]])
    return _Span(began, (step.first, step.at), DurationMethod.LAST_SIGN, RebalanceOutcome.SETTLED)


def _epoch_span(each: Rebalance, after: GroupHistoryRow, began: tuple[int, int]) -> _Span:
    """Return the span of an epoch; that of a share group has no end, because no record says when its members have their part."""
    if after.kind == GroupKind.SHARE:
        return _Span(began, None, DurationMethod.RECORDS, RebalanceOutcome.SETTLED)
    if after.state in SETTLED:
        ended = (each.step.last, each.step.until)
        return _Span(began, ended, DurationMethod.RECORDS, RebalanceOutcome.SETTLED)
    if after.to_log_offset is None or after.to_timestamp is None:
        return _Span(began, None, DurationMethod.RECORDS, RebalanceOutcome.OPEN)
    ended = (after.to_log_offset, after.to_timestamp)
    return _Span(began, ended, DurationMethod.RECORDS, RebalanceOutcome.SUPERSEDED)


def _assignment_ms(
    rows: GroupHistories, each: Rebalance, after: GroupHistoryRow, began: tuple[int, int]
) -> int | None:
    if after.epoch is None:
        since: int | None = after.current_state_timestamp if after.members else None
        given: int | None = began[1]
    else:
        states = rows.states_within(each.step.first, each.step.last)
        since, given = (
            began[1],
            next((row.from_timestamp for row in states if row.assignment_epoch == after.epoch), None),
        )
    if since is None or given is None or min(since, given) < 0:
        return None
    return max(difference(given, since), 0)


def _names(rows: GroupHistories, member_ids: Iterable[str]) -> tuple[MemberName, ...]:
    last = (rows.by_member[each][-1] for each in member_ids)
    return tuple(MemberName(row.member_id, row.instance_id, row.client_id) for row in last)


def _topics(each: Rebalance) -> tuple[str, ...]:
    holdings = each.holdings
    asked = (
        topic for row in (*holdings.before.values(), *holdings.after.values()) for topic in row.subscription
    )
    held = (topic_of(name) for name in (*holdings.held, *holdings.has))
    return tuple(sorted({*asked, *held}))


def _held_back(each: Rebalance) -> list[HeldBack]:
    """Return the members that had partitions to give up, the longest first; those that still have them before all."""
    found: dict[str, HeldBack] = {}
    began: dict[str, int] = {}
    for row in each.holdings.revoking:
        since = began.setdefault(row.member_id, row.from_timestamp)
        before = found.get(row.member_id)
        partitions = dict.fromkeys((*(before.partitions if before else ()), *row.pending_revocation))
        held_ms = None if row.to_timestamp is None else max(difference(row.to_timestamp, since), 0)
        found[row.member_id] = HeldBack(
            row.member_id, row.instance_id, row.client_id, tuple(partitions), held_ms
        )
    return sorted(found.values(), key=lambda held: (held.held_ms is not None, -(held.held_ms or 0)))
