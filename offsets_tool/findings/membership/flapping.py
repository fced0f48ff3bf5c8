"""Did one client join and leave again and again, or did two clients fight for one group.instance.id?"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from offsets_tool.expiry.causes import Confidence
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.runs import runs
from offsets_tool.findings.sentences import SAID, count, from_time, listed, named, span
from offsets_tool.history.rows import MemberEndCause, MemberHistoryRow
from offsets_tool.rebalances.departures import departure_of, is_timed_out, timeout_confidence
from offsets_tool.server_log.join import ServerLog, TimeSpan
from offsets_tool.server_log.server_line import LineKind, ServerLine
from offsets_tool.wire.longs import difference

FLAPPING: Final = FindingKind(
    "flapping_member",
    Severity.NOTICE,
    "One client left and joined its group again and again within minutes: each time the group rebalances.",
    "Look at the client's own log: it is restarted, loses its connection, or exceeds max.poll.interval.ms.",
)
CONFLICT: Final = FindingKind(
    "instance_conflict",
    Severity.WARNING,
    "Members with one group.instance.id replaced each other again and again: each fences the one before.",
    "Give every running instance a group.instance.id of its own.",
)
LINES: Final = 5
"""How many lines of a broker's log are evidence of a client that crashes again and again."""
RESTARTS: Final = "restarts"
"""The alternative: one instance that crashed and was started again."""
TIMES: Final = 4
"""How often a client must have left to be said to flap: one restart, or two, are everyday."""
APART_MS: Final = 600_000
"""How far two departures of one client are apart at most if they belong together."""


class _Departure(NamedTuple):
    """A member that left or was replaced, and the client or instance that it was."""

    row: MemberHistoryRow
    host: str
    joined: int
    """Where in the log it was first seen."""


@finder(FLAPPING, CONFLICT)
def find_flapping(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for each client, and each instance id, that left often enough within a short time."""
    left, replaced = defaultdict[str, list[_Departure]](list), defaultdict[str, list[_Departure]](list)
    for row in sorted(rows.members, key=lambda row: row.to_log_offset or -1):
        if row.end_cause == MemberEndCause.LEFT:
            left[f"{row.client_id or row.member_id} {row.client_host or ''}"].append(_departure(rows, row))
        elif row.end_cause == MemberEndCause.REPLACED and row.instance_id is not None:
            replaced[row.instance_id].append(_departure(rows, row))
    flapping = [run for some in left.values() for run in _runs(some)]
    if flapping:
        yield _flapping(rows, sorted(flapping, key=len, reverse=True), context)
    for some in replaced.values():
        yield from (_conflict(rows, run, context.server_log) for run in _runs(some))


def _departure(rows: GroupRows, row: MemberHistoryRow) -> _Departure:
    return _Departure(row, row.client_host or "", rows.by_member[row.member_id][0].from_log_offset)


def _runs(departures: Iterable[_Departure]) -> Iterator[list[_Departure]]:
    """Yield runs of enough departures that follow each other closely."""
    yield from (run for run in runs(_apart(departures), _is_next) if len(run) >= TIMES)


def _apart(departures: Iterable[_Departure]) -> Iterator[_Departure]:
    """Yield the departures that have a time, without those that belong to one shutdown or restart of many consumers."""
    last: _Departure | None = None
    for each in departures:
        if each.row.to_timestamp is None or each.row.to_timestamp < 0:
            continue
        if last is None or not _is_together(last, each):
            last = each
            yield each


def _is_together(before: _Departure, after: _Departure) -> bool:
    # Members that left with one record are a shutdown of many consumers of one name.
    if after.row.to_log_offset == before.row.to_log_offset:
        return True
    # Who had joined before the other left is another consumer of that name: a rolling restart of many on one host.
    is_other = after.joined < (before.row.to_log_offset or 0)
    return is_other and after.row.end_cause == MemberEndCause.LEFT


def _is_next(before: _Departure, after: _Departure) -> bool:
    return abs(difference(after.row.to_timestamp or 0, before.row.to_timestamp or 0)) <= APART_MS


def _flapping(rows: GroupRows, flapping: list[list[_Departure]], context: LogContext) -> Finding:
    """Return one finding for all clients of the group that flap, which names the worst: one that crashes again and again."""
    lost = [[each for each in run if _is_lost(rows, each.row, context)] for run in flapping]
    most = max(range(len(flapping)), key=lambda number: len(lost[number]))
    is_loop = len(lost[most]) >= TIMES
    worst, crashes = flapping[most if is_loop else 0], lost[most]
    lines = [line for each in crashes if is_loop and (line := _line(each.row, context)) is not None]
    stated = (
        f"; {count(len(crashes), 'time')} its session had timed out{SAID if lines else ''}" if is_loop else ""
    )
    others = f"; so did {count(len(flapping) - 1, 'other client')}" if len(flapping) > 1 else ""
    first = worst[0].row
    return found(
        FLAPPING,
        rows,
        _places(worst),
        f"Client {named(first.client_id or first.member_id)} of group {named(rows.group)} left {count(len(worst), 'time')} "
        f"{_when(worst)}{stated}{others}",
        severity=Severity.WARNING if is_loop else Severity.NOTICE,
        lines=lines[:LINES],
    )


def _line(row: MemberHistoryRow, context: LogContext) -> ServerLine | None:
    """Return the broker's line that says how a member left; None if there is none."""
    return context.server_log.departure(
        row.group, row.member_id, TimeSpan(row.from_timestamp, row.to_timestamp)
    )


def _is_lost(rows: GroupRows, row: MemberHistoryRow, context: LogContext) -> bool:
    """Return whether a member that left was lost to its session timeout, as a line says, or as is likely by its silence."""
    line = _line(row, context)
    if line is not None:
        return line.kind is LineKind.EXPIRED
    member_rows = [
        each for each in rows.by_member[row.member_id] if each.from_log_offset <= row.from_log_offset
    ]
    departure = departure_of(rows, member_rows, context.session_timeout_ms)
    if departure.is_away or not is_timed_out(rows, departure):
        return False
    return timeout_confidence(rows, departure) is Confidence.LIKELY


def _conflict(rows: GroupRows, run: list[_Departure], server_log: ServerLog) -> Finding:
    """Return a finding for one instance id: two clients fight for it if their hosts alternate, else one client crashes."""
    hosts = [host for host, _ in groupby(each.host for each in run)]
    is_in_turn = len(hosts) > len(set(hosts))
    lines = server_log.fenced(
        run[0].row.instance_id or "",
        (each.row.member_id for each in run),
        TimeSpan(run[0].row.to_timestamp, run[-1].row.to_timestamp),
    )
    return found(
        CONFLICT,
        rows,
        _places(run),
        f"Static member {named(run[0].row.instance_id or '')} of group {named(rows.group)} was replaced "
        f"{count(len(run), 'time')} {_when(run)}{_still_ran(lines)}",
        confidence=Confidence.CERTAIN if lines else Confidence.LIKELY if is_in_turn else Confidence.AMBIGUOUS,
        alternatives=() if lines else (RESTARTS,),
        lines=lines,
    )


def _still_ran(lines: Sequence[ServerLine]) -> str:
    """Return a text on lines that show replaced members still at work, which rules out a restart; empty without such lines."""
    return f"; {count(len(lines), 'time')} one that still ran was refused{SAID}" if lines else ""


def _places(run: list[_Departure]) -> Places:
    log_offsets = tuple(each.row.to_log_offset or 0 for each in run)
    return Places(log_offsets, run[0].row.to_timestamp, run[-1].row.to_timestamp)


def _when(run: list[_Departure]) -> str:
    """Return a text: within which span, since when, and on which hosts these departures were."""
    first, last = run[0].row, run[-1].row
    hosts = [each.host for each in run if each.host]
    on = f", on {listed(hosts)}" if hosts else ""
    took = span(difference(last.to_timestamp or 0, first.to_timestamp or 0))
    return f"within {took}{from_time(first.to_timestamp)}{on}"
