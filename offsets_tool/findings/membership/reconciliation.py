"""Did a group of the consumer or streams protocol take long to reach its target assignment, and who held it back?"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import from_time, listed, named, span
from offsets_tool.history.rows import GroupHistoryRow, MemberHistoryRow
from offsets_tool.log_clock import age_at
from offsets_tool.replay.changes import GroupState
from offsets_tool.replay.member_state import WAITING
from offsets_tool.wire.longs import difference

SLOW: Final = FindingKind(
    "slow_reconciliation",
    Severity.WARNING,
    "Members took minutes to hand over partitions after the target assignment had changed (KIP-848).",
    "Look at the members that are named: they poll rarely, or their rebalance listener takes long.",
)
SLOW_MS: Final = 60_000
"""How long a reconciliation takes at most where members poll: some heartbeats of five seconds each."""
MOST: Final = 2
"""A member is named that kept its partitions for at least one such part of the longest time."""
_RECONCILING: Final = (GroupState.RECONCILING, GroupState.ASSIGNING)


class _Stretch(NamedTuple):
    """The rows of a group between two stable states, and when it became stable again; None if it did not."""

    first: GroupHistoryRow
    last: GroupHistoryRow
    until: int | None


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
            yield _Stretch(first, last, row.from_timestamp)
            first = None
    if first is not None and last is not None and last.to_log_offset is None:
        yield _Stretch(first, last, None)


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
        f"Group {named(rows.group)} took {span(took)} to reach its assignment{from_time(first.from_timestamp)}{by}",
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
