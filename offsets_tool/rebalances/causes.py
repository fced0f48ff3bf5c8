"""Infers why a group rebalanced: from the members that came and went, their subscriptions, and the partitions to assign.

The broker's reason is in no record. What the members of the new generation show is certain; departures judges whether a member left
or timed out; of several causes that come together, the first is not known.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from offsets_tool.expiry.causes import Confidence
from offsets_tool.history.rows import MemberEndCause, MemberHistoryRow
from offsets_tool.rebalances.departures import (
    Departure,
    departure_of,
    has_been_silent,
    is_timed_out,
    timeout_confidence,
)
from offsets_tool.rebalances.histories import GroupHistories
from offsets_tool.rebalances.holdings import COOPERATIVE, EAGER, MemberRows, StepHoldings, topic_of
from offsets_tool.rebalances.steps import GroupStep
from offsets_tool.replay.changes import GroupKind
from offsets_tool.server_log.join import NO_SERVER_LOG, ServerLog, TimeSpan
from offsets_tool.server_log.reasons import Reason, RebalanceCause
from offsets_tool.wire.longs import difference


class RebalanceWhy(NamedTuple):
    """The cause of a rebalance, how sure it is, and which others fit."""

    cause: RebalanceCause
    confidence: Confidence = Confidence.CERTAIN
    alternatives: tuple[RebalanceCause, ...] = ()


class Comings(NamedTuple):
    """The members that came and went since the previous rebalance, by member id."""

    joined: tuple[str, ...]
    """Members that are new, without those that took the place of a static member."""
    left: tuple[str, ...]
    """Members that are gone, without those that were replaced."""
    replaced: tuple[str, ...]
    """Static members of which another took the place."""
    resubscribed: tuple[str, ...]
    """Members that asked for other topics than before."""


class Causes:
    """Finds the causes of one group's rebalances."""

    def __init__(
        self, rows: GroupHistories, session_timeout_ms: int | None, server_log: ServerLog = NO_SERVER_LOG
    ) -> None:
        """Judge by these rows, and by the brokers' own logs where they state a reason.

        `session_timeout_ms` is that of members whose records do not say theirs, None for the default.
        """
        self._rows = rows
        self._session_timeout_ms = session_timeout_ms
        self._server_log = server_log

    def stated(
        self, step: GroupStep, comings: Comings, inferred: RebalanceWhy, *, number: int, skipped: int
    ) -> RebalanceWhy:
        """Return the cause that the broker's own log states for a generation or epoch; without a line, the inferred one.

        A line that only says that a member joined again leaves open why: the records say more then, where they prove it, and also
        for a conversion, which a member triggers.
        """
        reasons = [
            each
            for each in self._reasons(step, comings, number, skipped)
            if each.cause is not RebalanceCause.UNKNOWN
        ]
        causes = dict.fromkeys(each.cause for each in reasons)
        if not causes:
            return inferred
        if inferred.cause in causes or inferred.cause is RebalanceCause.CONVERTED:
            return RebalanceWhy(inferred.cause)
        if causes.keys() == {RebalanceCause.REJOINED} and _is_rejoining(inferred, reasons):
            return RebalanceWhy(inferred.cause)
        return RebalanceWhy(next(iter(causes)))

    def _reasons(self, step: GroupStep, comings: Comings, number: int, skipped: int) -> list[Reason]:
        since = None if step.before is None else step.before.from_timestamp
        within, group = TimeSpan(since, step.until), self._rows.group
        if step.after is not None and step.after.epoch is None:
            return self._server_log.generations(group, range(number - 1 - skipped, number), within)
        numbers = range(number - skipped, number + 1)
        changed = frozenset(chain(*comings)) if step.is_proven else None
        return self._server_log.epochs(group, numbers, within, comings.joined, changed, left=comings.left)

    def of(self, step: GroupStep, comings: Comings, holdings: StepHoldings, *, skipped: int) -> RebalanceWhy:
        """Return why a step began a generation or epoch; the log has no records of the `skipped` ones right before it."""
        if step.is_conversion:
            return RebalanceWhy(RebalanceCause.CONVERTED)
        by_members = self._of_members(step, comings)
        if by_members is not None and _is_second_half(step, holdings, self._rows):
            others = (*by_members.alternatives, RebalanceCause.GIVEN_UP)
            by_members = RebalanceWhy(by_members.cause, Confidence.AMBIGUOUS, others)
        found = by_members or _of_conversion(step) or _of_partitions(step, holdings, self._rows)
        if skipped and found.cause in _UNSEEN and found.confidence is not Confidence.CERTAIN:
            came = (RebalanceCause.JOINED, RebalanceCause.LEFT)
            found = RebalanceWhy(found.cause, Confidence.AMBIGUOUS, came)
        return found

    def _of_members(self, step: GroupStep, comings: Comings) -> RebalanceWhy | None:
        """Return the cause that members gave, with other fitting causes as alternatives; None if no member gave one."""
        causes = [
            *self._of_leaving(step, comings.left),
            *_if(comings.joined, RebalanceCause.JOINED),
            *_if(comings.resubscribed, RebalanceCause.RESUBSCRIBED),
            *_if(comings.replaced, RebalanceCause.REPLACED),
        ]
        if not causes:
            return None
        first, *others = causes
        if not others:
            return first
        alternatives = (*first.alternatives, *(each.cause for each in others))
        return RebalanceWhy(first.cause, Confidence.AMBIGUOUS, tuple(dict.fromkeys(alternatives)))

    def _of_leaving(self, step: GroupStep, left: Sequence[str]) -> Iterator[RebalanceWhy]:
        """Yield the cause for members that went; if some left and others timed out at once, only the timeout."""
        found = [self._of_departure(each) for each in self._departed(step, left)]
        yield from sorted(found, key=lambda each: each.cause != RebalanceCause.EXPIRED)[:1]

    def _departed(self, step: GroupStep, left: Sequence[str]) -> Iterator[list[MemberHistoryRow]]:
        """Yield the rows of each member that went, up to its last row."""
        for member_id in left:
            rows = self._rows.by_member[member_id]
            yield [row for row in rows if row.from_log_offset <= step.last]

    def _of_departure(self, member_rows: list[MemberHistoryRow]) -> RebalanceWhy:
        if member_rows[-1].end_cause != MemberEndCause.LEFT:
            return RebalanceWhy(RebalanceCause.LEFT)
        departure = departure_of(self._rows, member_rows, self._session_timeout_ms)
        if _is_too_slow(member_rows):
            return RebalanceWhy(RebalanceCause.TOO_SLOW, Confidence.LIKELY, (RebalanceCause.LEFT,))
        if is_timed_out(self._rows, departure):
            confidence = timeout_confidence(self._rows, departure)
            return RebalanceWhy(RebalanceCause.EXPIRED, confidence, (RebalanceCause.LEFT,))
        if has_been_silent(self._rows, departure):
            return RebalanceWhy(RebalanceCause.LEFT, Confidence.AMBIGUOUS, (RebalanceCause.EXPIRED,))
        return _of_leave(departure)


def _is_rejoining(inferred: RebalanceWhy, reasons: Iterable[Reason]) -> bool:
    """Return whether records tell why a member joined again, as lines say that it did."""
    if inferred.cause is not RebalanceCause.TOPICS_CHANGED:
        return inferred.cause in _OF_REJOINING
    return inferred.confidence is Confidence.CERTAIN or any(each.is_about_topics for each in reasons)


def _is_too_slow(member_rows: Sequence[MemberHistoryRow]) -> bool:
    """Return whether a member of KIP-848 had partitions to give up for as long as its rebalance timeout when it went."""
    last = member_rows[-1]
    kept = next((row for row in reversed(member_rows[-_REMOVAL:]) if row.pending_revocation), None)
    timeout = last.rebalance_timeout_ms or 0
    if kept is None or timeout <= 0 or last.to_timestamp is None or kept.from_timestamp < 0:
        return False
    return difference(last.to_timestamp, kept.from_timestamp) >= timeout


def _of_leave(departure: Departure) -> RebalanceWhy:
    """Return the cause for a member that left: it had not been silent for long enough to time out."""
    row = departure.row
    if row.session_timeout_ms is None or departure.silence < 0:
        is_soon = 0 <= departure.silence * _SOON < departure.timeout
        confidence = Confidence.LIKELY if is_soon else Confidence.AMBIGUOUS
        return RebalanceWhy(RebalanceCause.LEFT, confidence, (RebalanceCause.EXPIRED,))
    if 0 < (row.rebalance_timeout_ms or 0) <= departure.silence:
        return RebalanceWhy(RebalanceCause.LEFT, Confidence.LIKELY, (RebalanceCause.TOO_SLOW,))
    return RebalanceWhy(RebalanceCause.LEFT)


_REMOVAL: Final = 4
"""The rows in which the removal of a member of KIP-848 ends, and the one before them."""
_OF_REJOINING: Final = (RebalanceCause.GIVEN_UP, RebalanceCause.RESUBSCRIBED, RebalanceCause.REPLACED)
"""Why a member may have joined again, as far as the records tell."""
_UNSEEN: Final = (RebalanceCause.REJOINED, RebalanceCause.TOPICS_CHANGED)
"""Causes that stand for all that no row shows."""
_SOON: Final = 2
"""A member that went within such a part of the time that sessions seem to last hardly timed out."""
UNKNOWN: Final = RebalanceWhy(RebalanceCause.UNKNOWN, Confidence.AMBIGUOUS)
"""The cause where records before are missing."""
MEMBERS_WENT: Final = RebalanceWhy(RebalanceCause.LEFT, Confidence.AMBIGUOUS, (RebalanceCause.EXPIRED,))
"""The cause where it is only known that the last members went."""
NOBODY_CAME: Final = Comings((), (), (), ())
"""Nobody that is known of."""


def _if(members: Sequence[str], cause: RebalanceCause) -> Iterator[RebalanceWhy]:
    if members:
        yield RebalanceWhy(cause)


def _of_conversion(step: GroupStep) -> RebalanceWhy | None:
    """Return the cause of the first rebalance of a group that was converted: its members join again by the other protocol."""
    if step.before is None or step.before.previous_kind in (None, GroupKind.SIMPLE):
        return None
    return RebalanceWhy(RebalanceCause.CONVERTED, Confidence.LIKELY)


def _of_partitions(step: GroupStep, holdings: StepHoldings, rows: GroupHistories) -> RebalanceWhy:
    """Return why a group with the same members rebalanced, by the partitions that there were to hand out."""
    is_classic = step.after is not None and step.after.kind == GroupKind.CLASSIC
    has = frozenset(holdings.has) if is_classic else _targets(holdings.after) or frozenset(holdings.has)
    if is_classic and any(name in holdings.had and name not in holdings.held for name in has):
        return RebalanceWhy(RebalanceCause.GIVEN_UP, Confidence.LIKELY)
    known = holdings.known | _targets(holdings.before)
    added, lost = _topics(has - known), _topics(holdings.held) - _topics(has)
    if added and added <= _topics(known):
        if is_classic and _may_be_second_half(step, rows):
            return RebalanceWhy(RebalanceCause.GIVEN_UP, Confidence.LIKELY, (RebalanceCause.TOPICS_CHANGED,))
        confidence = Confidence.CERTAIN if _hands_out_all(step) else Confidence.LIKELY
        return RebalanceWhy(RebalanceCause.TOPICS_CHANGED, confidence)
    is_same = not lost and _are_brought(added, step, holdings, rows)
    if is_classic and is_same:
        # A leader learns the partitions of a topic that a member brought after it has assigned, and joins again for them.
        return RebalanceWhy(RebalanceCause.REJOINED, Confidence.LIKELY, (RebalanceCause.TOPICS_CHANGED,))
    return RebalanceWhy(RebalanceCause.TOPICS_CHANGED, Confidence.LIKELY)


def _is_second_half(step: GroupStep, holdings: StepHoldings, rows: GroupHistories) -> bool:
    """Return whether the generation before took partitions from a member that is still there: it joins again at once (KIP-429).

    Who comes or goes while the others join is told with the same generation, and may not have begun it.
    """
    before, after = step.before, step.after
    if before is None or after is None or after.generation is None or after.protocol in EAGER:
        return False
    return any(
        row.to_log_offset == before.from_log_offset
        and _topics(frozenset(row.held) - holdings.held) & _asked(last)
        for member_id, last in holdings.before.items()
        if member_id in holdings.after
        for row in rows.by_member[member_id]
    )


def _asked(row: MemberHistoryRow) -> frozenset[str]:
    """Return the topics that a member asks for: partitions of others it gives up before it joins."""
    return frozenset(row.subscription)


def _may_be_second_half(step: GroupStep, rows: GroupHistories) -> bool:
    """Return whether partitions that are new in these records may have been given up in the generation before, the first here.

    The second half of a cooperative rebalance hands out what members had held before the first (KIP-429).
    """
    first, after = step.before, step.after
    if first is None or after is None or after.protocol in EAGER or first.generation == 1:
        return False
    return all(row.from_log_offset >= first.from_log_offset for row in rows.members)


def _hands_out_all(step: GroupStep) -> bool:
    """Return whether each partition of the group's topics had an owner before, so that one without is a partition that was added.

    An assignor of the user's may leave partitions out, and a subtopology of a streams group has more tasks also where its topology
    was changed, which no row has.
    """
    after = step.after
    if after is None or after.kind == GroupKind.STREAMS:
        return False
    return after.kind != GroupKind.CLASSIC or after.protocol in (*EAGER, *COOPERATIVE)


def _are_brought(
    topics: frozenset[str], step: GroupStep, holdings: StepHoldings, rows: GroupHistories
) -> bool:
    """Return whether members of a group ask for each of these topics, and only since the rebalance before."""
    since = -1 if step.before is None else step.before.from_log_offset
    asked_from = [rows.asked_from[member_id] for member_id in holdings.before] if topics else []
    asked = frozenset[str]().union(*(row.subscription for row in holdings.before.values() if topics))
    return topics <= asked and all(
        first.get(topic, since) >= since for topic in topics for first in asked_from
    )


def _targets(members: MemberRows) -> frozenset[str]:
    return frozenset(name for row in members.values() for name in row.target_assignment)


def _topics(partitions: frozenset[str]) -> frozenset[str]:
    """Return the topics of partitions, or the subtopologies of tasks."""
    return frozenset(map(topic_of, partitions))
