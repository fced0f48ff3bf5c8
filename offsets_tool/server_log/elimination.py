"""Conclude why a rebalance began that a line announces without a reason, as before 2.1: times rule out all but a leave.

Classic groups only. A member is gone after a rebalance because it asked to leave, because its session was over, or because nobody
waited for it any longer than its rebalance timeout.
"""

from collections.abc import Iterable

from offsets_tool.history.rows import MemberHistoryRow
from offsets_tool.server_log.join import ServerLog
from offsets_tool.server_log.server_line import LineKind, ServerLine


def can_only_have_left(
    server_log: ServerLog, line: ServerLine, row: MemberHistoryRow, commit_at: int | None
) -> bool:
    """Return whether a member that was gone after a rebalance can only have asked to leave.

    `line` announces the rebalance, `row` is the member's last, `commit_at` the time of its last commit, epoch milliseconds.
    """
    ended = _ended(server_log, line)
    if ended is None or line.own_at is None or row.session_timeout_ms is None:
        return False
    if ended - line.own_at >= _rebalance_timeout(row):
        return False
    # From 0.11 on, when lines have the log partition, a line says that a session was over.
    return line.log_partition is not None or _is_within_session(server_log, line, row, commit_at, ended)


def is_about_leaving(server_log: ServerLog, line: ServerLine, gone: Iterable[MemberHistoryRow]) -> bool:
    """Return whether a rebalance that nobody joined can only have begun because a member asked to leave."""
    some = list(gone)
    return bool(some) and all(
        line.own_at is not None and _is_within_session(server_log, line, row, None, line.own_at)
        for row in some
    )


def _rebalance_timeout(row: MemberHistoryRow) -> int:
    """Return how long a rebalance waits for a member: before 0.10.1, as long as its session."""
    given = row.rebalance_timeout_ms
    return given if given is not None and given > 0 else row.session_timeout_ms or 0


def _is_within_session(
    server_log: ServerLog, line: ServerLine, row: MemberHistoryRow, commit_at: int | None, until: int
) -> bool:
    """Return whether a line or commit of a member is less than its session timeout before `until`, by the clock of the file."""
    signs = [_own(server_log, line, line.number, LineKind.STABILIZED)]
    if commit_at is not None and commit_at >= 0 and line.at is not None and line.own_at is not None:
        signs.append(commit_at + line.own_at - line.at)
    heard = [sign for sign in signs if sign is not None]
    return bool(heard) and row.session_timeout_ms is not None and until - max(heard) < row.session_timeout_ms


def _ended(server_log: ServerLog, line: ServerLine) -> int | None:
    """Return when the rebalance that a line announces had ended, by the clock of its file; None if no line says so."""
    after = None if line.number is None else line.number + 1
    found = _own(server_log, line, after, LineKind.STABILIZED, LineKind.EMPTIED)
    return _own(server_log, line, line.number, LineKind.DEAD) if found is None else found


def _own(server_log: ServerLog, line: ServerLine, number: int | None, *kinds: LineKind) -> int | None:
    """Return when a line of the same file and group says so of a generation, by the file's clock: the nearest to this line."""
    some = [
        each.own_at
        for each in server_log.of_group(line.group or "", *kinds)
        if each.number == number and each.file == line.file and each.own_at is not None
    ]
    return min(some, key=lambda at: abs(at - (line.own_at or 0)), default=None)
