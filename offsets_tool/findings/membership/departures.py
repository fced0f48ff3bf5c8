"""Did members leave cleanly, or did they die and time out? Were static members replaced?

rebalances.departures decides what is a timeout and what a clean leave.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.runs import runs
from offsets_tool.findings.sentences import at_time, from_time, listed, named, span
from offsets_tool.history.rows import MemberEndCause, MemberHistoryRow
from offsets_tool.rebalances.departures import (
    Departure,
    departure_of,
    is_away,
    is_timed_out,
    timeout_confidence,
)
from offsets_tool.server_log.join import TimeSpan
from offsets_tool.server_log.server_line import LineKind, ServerLine
from offsets_tool.wire.longs import difference

TIMED_OUT: Final = FindingKind(
    "member_timed_out",
    Severity.NOTICE,
    "A member was removed after it had been silent for its session timeout or longer: it seems to have died or hung, or it did not "
    "come back.",
    "Look at the member's host and log of that time: a crash or a long pause; Kafka Streams closes without leaving, which looks "
    "the same.",
)
REPLACED: Final = FindingKind(
    "static_member_replaced",
    Severity.NOTICE,
    "A member with the same group.instance.id took the place of a static member, which was fenced if it still ran.",
    "A restart does this once; if it repeats, two running instances share a group.instance.id: give each its own.",
)
NOT_BACK: Final = (
    "If it was stopped for good, remove it from the group at once (removeMembersFromConsumerGroup of Kafka's Admin): until its "
    "session ends nobody reads its partitions. If not, look at why it was not started again in time."
)
"""What to do about a static member that had said it would be back: it did not die."""
RENAMED: Final = FindingKind(
    "static_members_renamed",
    Severity.NOTICE,
    "All static members of a group went, and others with other instance ids came: a deployment seems to give them new ones.",
    "Give each instance the same group.instance.id at every start, as a StatefulSet's ordinal is: one that is new waits until the "
    "session of the old one is over.",
)
RENAMED_LEAST: Final = 2
"""The fewest static members that go, and come, for others to have taken their places: one may be taken out and another put in."""
RENAMED_APART_MS: Final = 600_000
"""How far apart they go and come at most in one deployment: a session timeout of a static member and some time to start."""
CLEAN: Final = "left"
"""The alternative: the member left, and had just been idle before."""
NOT_IN_TIME: Final = {
    "joined": "it did not join a rebalance in time (max.poll.interval.ms)",
    "sent their sync request": "it did not fetch its assignment in time",
    "sent their sync requests": "it did not fetch its assignment in time",
}
"""What a broker says of members that it removes, in the words of its line, and what that means."""


@finder(TIMED_OUT, REPLACED)
def find_departures(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for each member that was replaced, or was removed after a silence that its session does not outlive."""
    for member_rows in rows.by_member.values():
        for at, row in enumerate(member_rows):
            if row.to_log_offset is None or row.to_timestamp is None:
                continue
            if row.end_cause == MemberEndCause.REPLACED and not is_away(member_rows[: at + 1]):
                yield _replaced(rows, row)
            elif row.end_cause == MemberEndCause.LEFT:
                departure = departure_of(rows, member_rows[: at + 1], context.session_timeout_ms)
                line = _line(context, row)
                if line is not None:
                    yield from _by_line(rows, departure, line)
                elif is_timed_out(rows, departure):
                    yield _timed_out(rows, departure)


def _timed_out(rows: GroupRows, departure: Departure) -> Finding:
    return _removed(
        rows,
        departure,
        _why(departure),
        confidence=timeout_confidence(rows, departure),
        alternatives=(CLEAN,),
    )


def _removed(rows: GroupRows, departure: Departure, why: str, **more: Any) -> Finding:
    """Return the finding of a member that was removed; `why` says for which reason, `more` are further fields of Finding."""
    row = departure.row
    who = named(rows.name_of(row))
    return found(
        TIMED_OUT,
        rows,
        Places((row.to_log_offset or 0, departure.sign_offset), departure.sign_at, row.to_timestamp),
        f"Member {who} of group {named(rows.group)} was removed{at_time(row.to_timestamp)}: {why}",
        remedy=NOT_BACK if departure.is_away else TIMED_OUT.remedy,
        **more,
    )


def _why(departure: Departure) -> str:
    silence = span(departure.silence)
    if departure.is_away:
        return f"it had said that it would be back, and had stayed away for {silence}"
    whose = (
        "its session times" if departure.row.session_timeout_ms is not None else "sessions here seem to time"
    )
    return f"nothing was heard of it for {silence}, and {whose} out after {span(departure.timeout)}"


def _line(context: LogContext, row: MemberHistoryRow) -> ServerLine | None:
    """Return the broker's line that says how a member left; None if there is none."""
    within = TimeSpan(row.from_timestamp, row.to_timestamp)
    return context.server_log.departure(row.group, row.member_id, within)


def _by_line(rows: GroupRows, departure: Departure, line: ServerLine) -> Iterator[Finding]:
    """Yield a finding for a member whose removal a broker's line states; nothing if the member asked to leave."""
    if line.kind is LineKind.LEFT:
        return
    stated = f"the broker's log says that {_stated_reason(departure, line)}"
    yield _removed(
        rows, departure, f"{_why(departure)}; {stated}" if departure.is_away else stated, lines=(line,)
    )


def _stated_reason(departure: Departure, line: ServerLine) -> str:
    if line.kind is LineKind.EXPIRED and departure.is_away:
        return "its session timed out then"
    if line.kind is LineKind.EXPIRED:
        timeout = departure.row.session_timeout_ms
        return f"its session timed out{'' if timeout is None else f' after {span(timeout)}'}"
    if line.reason in NOT_IN_TIME:
        return NOT_IN_TIME[line.reason]
    return f"{line.reason or 'it was too slow'}"


def _replaced(rows: GroupRows, row: MemberHistoryRow) -> Finding:
    return found(
        REPLACED,
        rows,
        Places((row.to_log_offset or 0, row.from_log_offset), row.to_timestamp, row.to_timestamp),
        f"Static member {named(rows.name_of(row))} of group {named(rows.group)} was replaced"
        f"{at_time(row.to_timestamp)} by another member with its group.instance.id",
    )


class _Event(NamedTuple):
    """A static member's coming or going, by its instance id."""

    at: int
    log_offset: int
    instance_id: str
    is_coming: bool


@finder(RENAMED)
def find_renamed(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for each time at which all static members went and others with instance ids of their own came."""
    for run in runs(_comings_and_goings(rows), _is_next):
        came = {event.instance_id for event in run if event.is_coming}
        went = {event.instance_id for event in run if not event.is_coming}
        old, new = went - came, came - went
        if min(len(old), len(new)) >= RENAMED_LEAST and _static_before(rows, run[0]) == old:
            yield _renamed(rows, run, sorted(old), sorted(new))


def _comings_and_goings(rows: GroupRows) -> list[_Event]:
    """Return the first coming and the last going of each instance id; a static member that was replaced did not go."""
    first: dict[str, MemberHistoryRow] = {}
    last: dict[str, MemberHistoryRow] = {}
    for row in rows.members:
        if row.instance_id is not None:
            first.setdefault(row.instance_id, row)
            last[row.instance_id] = row
    # Those with which the group began took nobody's place.
    begin = max(min((row.from_log_offset for row in first.values()), default=0) + 1, rows.proven_from)
    came = [
        _Event(row.from_timestamp, row.from_log_offset, name, True)
        for name, row in first.items()
        if row.from_log_offset >= begin
    ]
    went = [
        _Event(row.to_timestamp, row.to_log_offset, name, False)
        for name, row in last.items()
        if row.to_log_offset is not None
        and row.to_timestamp is not None
        and row.end_cause == MemberEndCause.LEFT
    ]
    return sorted(event for event in (*came, *went) if event.at >= 0)


def _is_next(before: _Event, after: _Event) -> bool:
    return difference(after.at, before.at) <= RENAMED_APART_MS


def _static_before(rows: GroupRows, event: _Event) -> set[str]:
    """Return the instance ids that were in the group before the record of an event."""
    return {
        row.instance_id
        for row in rows.members
        if row.instance_id is not None
        and row.from_log_offset < event.log_offset
        and (row.to_log_offset is None or row.to_log_offset >= event.log_offset)
    }


def _renamed(rows: GroupRows, run: list[_Event], old: list[str], new: list[str]) -> Finding:
    return found(
        RENAMED,
        rows,
        Places(tuple(event.log_offset for event in run), run[0].at, run[-1].at),
        f"All {len(old)} static members of group {named(rows.group)} ({listed(old)}) went, and {len(new)} with other instance ids "
        f"({listed(new)}) came{from_time(run[0].at)}",
    )
