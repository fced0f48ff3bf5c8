"""Were there partitions that no member owned, members that owned none, or times at which the group had no members at all?

Ownership is what members were assigned; while a group rebalances nobody need own anything, so only what lasts counts.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from offsets_tool.expiry.causes import Cause, Confidence
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows, is_simple
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import count, from_time, listed, named, span
from offsets_tool.history.rows import MemberHistoryRow
from offsets_tool.log_clock import age_at
from offsets_tool.replay.member_records import CONSUMER_PROTOCOL
from offsets_tool.wire.longs import difference

UNOWNED: Final = FindingKind(
    "unowned_partitions",
    Severity.WARNING,
    "Partitions that a member had owned before were owned by nobody for minutes, though members asked for their topic.",
    "Look at the group's assignor and at the members' subscriptions of that time; nothing of these partitions was read.",
)
IDLE: Final = FindingKind(
    "idle_members",
    Severity.NOTICE,
    "Members of the group own no partition: there are more members than partitions, or the assignor left them out.",
    "Stop the members that have nothing to do, or give the topic more partitions.",
)
DOWN: Final = FindingKind(
    "group_without_members",
    Severity.NOTICE,
    "The group had no members for minutes, and then had some again: nothing was read in between.",
    "Look at why all of its clients were stopped at that time.",
)
LASTS_MS: Final = 300_000
"""How long something must last to count: max.poll.interval.ms, within which every rebalance is over."""


class _Stretch(NamedTuple):
    """A stretch of the log: from one record to another, or to its end; times in epoch milliseconds."""

    from_offset: int
    from_at: int
    to_offset: int | None
    to_at: int | None

    def lasts(self, newest_at: int | None) -> int:
        """Return how long it lasted, milliseconds."""
        until = newest_at if self.to_at is None else self.to_at
        return age_at(until, self.from_at) or 0


@finder(UNOWNED, IDLE, DOWN)
def find_ownership(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield findings for partitions without an owner, for members without partitions, and for pauses of the whole group."""
    gaps = defaultdict[tuple[_Stretch, str], list[str]](list)
    owned = _owned(rows)
    for name, stretches in owned.items():
        for gap in _gaps(stretches):
            if gap.lasts(context.newest_at) >= LASTS_MS:
                gaps[gap, name.rpartition("-")[0]].append(name)
    asked_for = defaultdict[_Stretch, list[str]](list)
    for (gap, topic), names in gaps.items():
        if _is_asked_for(rows, topic, gap):
            asked_for[gap] += names
    for gap, names in asked_for.items():
        yield _unowned(rows, gap, names, context, _is_whole_topic(owned, set(names)))
    idle = [row for row in rows.members if _is_idle(row, context)]
    if idle:
        yield _idle(rows, idle)
    yield from _down(rows)


def _owned(rows: GroupRows) -> dict[str, list[_Stretch]]:
    """Return, by partition as text, the stretches in which a member owned it."""
    owned = defaultdict[str, list[_Stretch]](list)
    for row in rows.members:
        stretch = _Stretch(row.from_log_offset, row.from_timestamp, row.to_log_offset, row.to_timestamp)
        for name in (*row.assignment, *row.pending_revocation):
            owned[name].append(stretch)
    return owned


def _gaps(stretches: Iterable[_Stretch]) -> Iterator[_Stretch]:
    """Yield the gaps between stretches, in the order of the log."""
    until: _Stretch | None = None
    for stretch in sorted(stretches, key=lambda each: each.from_offset):
        if until is not None and until.to_offset is not None and stretch.from_offset > until.to_offset:
            yield _Stretch(until.to_offset, until.to_at or 0, stretch.from_offset, stretch.from_at)
        if until is None or _ends_later(stretch, until):
            until = stretch
    if until is not None and until.to_offset is not None:
        yield _Stretch(until.to_offset, until.to_at or 0, None, None)


def _ends_later(one: _Stretch, other: _Stretch) -> bool:
    return other.to_offset is not None and (one.to_offset is None or one.to_offset > other.to_offset)


def _is_asked_for(rows: GroupRows, topic: str, gap: _Stretch) -> bool:
    """Return whether some member subscribed to a topic throughout a gap."""
    return any(
        topic in row.subscription
        and row.from_log_offset <= gap.from_offset
        and (row.to_log_offset is None or (gap.to_offset is not None and row.to_log_offset >= gap.to_offset))
        for row in rows.members
    )


def _is_whole_topic(owned: Iterable[str], names: Collection[str]) -> bool:
    """Return whether these are all partitions of their topics that anybody ever owned: then the topic may have been deleted."""
    topics = {name.rpartition("-")[0] for name in names}
    return all(name in names for name in owned if name.rpartition("-")[0] in topics)


def _unowned(
    rows: GroupRows, gap: _Stretch, names: list[str], context: LogContext, is_whole_topic: bool
) -> Finding:
    topics = {name.rpartition("-")[0] for name in names}
    return found(
        UNOWNED,
        rows,
        Places(
            (gap.from_offset, *([] if gap.to_offset is None else [gap.to_offset])), gap.from_at, gap.to_at
        ),
        f"No member of group {named(rows.group)} owned {count(len(names), 'partition')} ({listed(names)}) for "
        f"{span(gap.lasts(context.newest_at))}{from_time(gap.from_at)}",
        topic=topics.pop() if len(topics) == 1 else None,
        severity=Severity.NOTICE if is_whole_topic else Severity.WARNING,
        confidence=Confidence.AMBIGUOUS if is_whole_topic else Confidence.CERTAIN,
        # Its members may still ask for it.
        alternatives=(Cause.TOPIC_DELETED.value,) if is_whole_topic else (),
    )


def _is_idle(row: MemberHistoryRow, context: LogContext) -> bool:
    """Return whether a member has owned nothing for long at the end of the log, though it subscribes to topics."""
    if row.to_log_offset is not None or row.assignment or row.pending_revocation:
        return False
    lasts = _Stretch(row.from_log_offset, row.from_timestamp, None, None).lasts(context.newest_at)
    return bool(row.subscription or row.subscribed_regex) and lasts >= LASTS_MS


def _idle(rows: GroupRows, idle: list[MemberHistoryRow]) -> Finding:
    of = rows.groups[-1].members if rows.groups else len(idle)
    first = idle[0]
    return found(
        IDLE,
        rows,
        Places(tuple(row.from_log_offset for row in idle), first.from_timestamp),
        f"{len(idle)} of {count(of, 'member')} of group {named(rows.group)} own no partition at the end of the log: "
        f"{listed(row.instance_id or row.client_id or row.member_id for row in idle)}",
    )


def _down(rows: GroupRows) -> Iterator[Finding]:
    """Yield a finding for each pause in which a group of consumers had no members."""
    empty: _Stretch | None = None
    for row in rows.groups:
        if row.protocol_type not in (None, CONSUMER_PROTOCOL) or is_simple(row):
            continue
        if row.members:
            if empty is not None and difference(row.from_timestamp, empty.from_at) >= LASTS_MS:
                yield _pause(rows, empty._replace(to_offset=row.from_log_offset, to_at=row.from_timestamp))
            empty = None
        elif empty is None:
            empty = _Stretch(row.from_log_offset, row.from_timestamp, None, None)


def _pause(rows: GroupRows, pause: _Stretch) -> Finding:
    return found(
        DOWN,
        rows,
        Places((pause.from_offset, pause.to_offset or 0), pause.from_at, pause.to_at),
        f"Group {named(rows.group)} had no members for {span(pause.lasts(None))}{from_time(pause.from_at)}",
    )
