"""Makes the row of a Rebalance: log offsets, times and durations, members by their names, partitions in numbers."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from offsets_tool.history.rows import GroupHistoryRow
from offsets_tool.rebalances.histories import GroupHistories
from offsets_tool.rebalances.holdings import topic_of
from offsets_tool.rebalances.partition_counts import partition_counts
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
from offsets_tool.server_log.join import NO_SERVER_LOG, ServerLog
from offsets_tool.wire.longs import difference


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
