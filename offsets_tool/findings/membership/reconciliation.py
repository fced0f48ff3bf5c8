"""Did a rebalance take long: of the consumer or streams protocol to reach its target, of a classic group until all had joined?

A classic group prepares a rebalance in memory alone: only that nothing was committed meanwhile shows it, or the broker's log.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from offsets_tool.expiry.causes import Confidence
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.offsets.stalls import NO_RECORDS, STALL_MS, StandStill, stand_stills
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import SAID, at_time, from_time, listed, named, span
from offsets_tool.history.rows import GroupHistoryRow, MemberHistoryRow
from offsets_tool.log_clock import age_at
from offsets_tool.replay.changes import GroupState
from offsets_tool.replay.member_state import WAITING
from offsets_tool.server_log.join import ServerLog, TimeSpan
from offsets_tool.server_log.server_line import LineKind, ServerLine
from offsets_tool.wire.longs import difference

SLOW: Final = FindingKind(
    "slow_reconciliation",
    Severity.WARNING,
    "Members took minutes to hand over partitions after the target assignment had changed (KIP-848).",
    "Look at the members that are named: they poll rarely, or their rebalance listener takes long.",
)
STOOD_STILL: Final = FindingKind(
    "slow_rebalance",
    Severity.NOTICE,
    "A classic group with members committed nothing for minutes, until a generation began: a rebalance waits for each member.",
    "Look at what its members did at that time: a rebalance waits until each polls again (max.poll.interval.ms), and for one that "
    "is gone until its session times out.",
)
SLOW_MS: Final = 60_000
"""How long a reconciliation takes at most where members poll: some heartbeats of five seconds each."""
MOST: Final = 2
"""A member is named that kept its partitions for at least one such part of the longest time."""
_RECONCILING: Final = (GroupState.RECONCILING, GroupState.ASSIGNING)


class _Stretch(NamedTuple):
    """The rows of a group between two stable states, and when they ended; None if they did not."""

    first: GroupHistoryRow
    last: GroupHistoryRow
    until: int | None
    is_reached: bool
    """Whether the group became stable: not if its log ends, all members go, or its newest record was not understood."""


@finder(SLOW)
def find_slow_reconciliations(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for each stretch between two stable states that lasted too long."""
    for stretch in _stretches(rows):
        until = context.newest_at if stretch.until is None else stretch.until
        if until is not None and (age_at(until, stretch.first.from_timestamp) or 0) >= SLOW_MS:
            yield _slow(rows, stretch, until)


def _stretches(rows: GroupRows) -> Iterator[_Stretch]:
    first: GroupHistoryRow | None = None
    last: GroupHistoryRow | None = None
    for row in rows.groups:
        if row.state in _RECONCILING:
            first, last = first or row, row
        elif first is not None and last is not None:
            yield _Stretch(first, last, row.from_timestamp, row.state == GroupState.STABLE)
            first = None
    if first is not None and last is not None and last.to_log_offset is None:
        yield _Stretch(first, last, None, is_reached=False)


def _slow(rows: GroupRows, stretch: _Stretch, until: int) -> Finding:
    holding = _holding(rows, stretch, until)
    by = f"; it waited for {listed(rows.name_of(row) for row in holding)}" if holding else ""
    first = stretch.first
    took = difference(until, first.from_timestamp)
    return found(
        SLOW,
        rows,
        Places(
            (first.from_log_offset, *(row.from_log_offset for row in holding)),
            first.from_timestamp,
            stretch.until,
        ),
        f"Group {named(rows.group)} {_result(stretch, took)}{from_time(first.from_timestamp)}{by}",
    )


def _result(stretch: _Stretch, took: int) -> str:
    """Return how long a group took to reach its assignment, or had not reached it."""
    return (
        f"took {span(took)} to reach its assignment"
        if stretch.is_reached
        else f"had not reached its assignment for {span(took)}"
    )


def _holding(rows: GroupRows, stretch: _Stretch, until: int) -> list[MemberHistoryRow]:
    """Return the members that kept partitions they had to give up, the longest first; else those behind the group's epoch."""
    begin, end = stretch.first.from_log_offset, stretch.last.to_log_offset
    there = [
        row
        for row in rows.members
        if (end is None or row.from_log_offset < end)
        and (row.to_log_offset is None or row.to_log_offset > begin)
    ]
    kept = [(_lasted(row, until), row) for row in there if row.pending_revocation]
    if kept:
        longest = max(lasted for lasted, _ in kept)
        return [row for lasted, row in kept if lasted * MOST >= longest]
    return [row for row in there if row.to_log_offset in (None, end) and _is_behind(row, stretch.last)]


def _lasted(row: MemberHistoryRow, until: int) -> int:
    """Return how long the row of a member held, in milliseconds."""
    return difference(until if row.to_timestamp is None else row.to_timestamp, row.from_timestamp)


def _is_behind(row: MemberHistoryRow, last: GroupHistoryRow) -> bool:
    """Return whether a member is behind the group's epoch by its own fault: not because others have yet to give up partitions."""
    return row.member_state not in WAITING and (row.member_epoch or 0) < (last.epoch or 0)


@finder(STOOD_STILL)
def find_slow_rebalances(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for each silence of a classic group that a generation ended, and after which it moved on at once."""
    for still in stand_stills(rows):
        yield _stood_still(rows, still, context)


def _stood_still(rows: GroupRows, still: StandStill, context: LogContext) -> Finding:
    began = still.began
    lines = _lines(rows, still, context.server_log)
    waited = difference(lines[1].at or 0, lines[0].at or 0) if lines else 0
    stated = f"; the rebalance took {span(waited)}{SAID}" if lines else ", though it had members"
    return found(
        STOOD_STILL,
        rows,
        Places((began.from_log_offset, still.last_log_offset), still.pace.last, began.from_timestamp),
        f"Group {named(rows.group)} stood still for {span(still.silence)}{from_time(still.pace.last)}: nothing was committed until "
        f"generation {began.generation} began{at_time(began.from_timestamp)}{stated}",
        confidence=Confidence.CERTAIN if lines else Confidence.AMBIGUOUS,
        alternatives=() if lines else (NO_RECORDS,),
        severity=Severity.WARNING if lines else Severity.NOTICE,
        lines=lines,
    )


def _lines(rows: GroupRows, still: StandStill, server_log: ServerLog) -> list[ServerLine]:
    """Return the broker's lines that a rebalance began and that all had joined, if it took most of the silence; else none."""
    within = TimeSpan(still.pace.last, still.began.from_timestamp)
    joined = server_log.stabilized(rows.group, still.began.generation or 0, within)
    begun = [
        each
        for each in server_log.of_group(rows.group, LineKind.PREPARING)
        if each.number == (still.began.generation or 0) - 1 and within.has(each.at)
    ]
    if joined is None or joined.at is None or not begun or begun[-1].at is None:
        return []
    took = difference(joined.at, begun[-1].at)
    return [begun[-1], joined] if took >= STALL_MS and took * MOST >= still.silence else []
