"""Did members leave cleanly, or did they die and time out? Were static members replaced?

A clean leave and a timeout leave the same records: only how long the member had been silent tells them apart. A member's signs of
life are its joining, the generations it took part in, and commits of its partitions; heartbeats are in no log.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from offsets_tool.expiry.causes import Confidence
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import at_time, named, span
from offsets_tool.history.change_labels import STATIC_LEFT_EPOCH
from offsets_tool.history.rows import MemberEndCause, MemberHistoryRow
from offsets_tool.replay.changes import GroupKind
from offsets_tool.wire.longs import difference

TIMED_OUT: Final = FindingKind(
    "member_timed_out",
    Severity.NOTICE,
    "A member was removed after it had been silent for its session timeout or longer: it seems to have died or hung.",
    "Look at the member's host and log of that time: a crash or a long pause; Kafka Streams closes without leaving, which looks "
    "the same.",
)
REPLACED: Final = FindingKind(
    "static_member_replaced",
    Severity.NOTICE,
    "A member with the same group.instance.id took the place of a static member, which was fenced if it still ran.",
    "A restart does this once; if it repeats, two running instances share a group.instance.id: give each its own.",
)
CLEAN: Final = "left"
"""The alternative: the member left, and had just been idle before."""
DEFAULT_SESSION_TIMEOUT_MS: Final = 45_000
"""group.consumer.session.timeout.ms of brokers, for members whose records do not say their timeout."""
HEARTBEATS: Final = 3
"""Heartbeats within a session timeout, at least, as clients are set up: the others of the group learn of a rebalance within one."""
DEFAULT_HEARTBEAT_MS: Final = 5_000
"""group.consumer.heartbeat.interval.ms of brokers."""
AT_ONCE_MS: Final = 100
"""How late a broker removes a member that was never heard again, at most; the longer, the more clean leaves look the same."""
STEADY: Final = 5
"""Commits that a member has made, at least, if it committed steadily."""


class _Departure(NamedTuple):
    """A member's last row, and how long it had been silent then; milliseconds."""

    row: MemberHistoryRow
    sign_offset: int
    sign_at: int
    timeout: int
    is_away: bool
    """Whether it was a static member that had said it would be back."""
    sooner: int
    """By how much its last heartbeat can have been before that sign, if it is a commit that prolongs no session."""

    @property
    def silence(self) -> int:
        """Milliseconds from its last sign of life to its removal; none where the records have no times."""
        is_timed = self.sign_at >= 0 and (self.row.to_timestamp or -1) >= 0
        return difference(self.row.to_timestamp or 0, self.sign_at) if is_timed else -1


@finder(TIMED_OUT, REPLACED)
def find_departures(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for each member that was replaced, or was removed after a silence that its session does not outlive."""
    for member_rows in rows.by_member.values():
        for at, row in enumerate(member_rows):
            if row.to_log_offset is None or row.to_timestamp is None:
                continue
            if row.end_cause == MemberEndCause.REPLACED and not _is_away(member_rows[: at + 1]):
                yield _replaced(rows, row)
            elif row.end_cause == MemberEndCause.LEFT:
                departure = _departure(rows, member_rows[: at + 1], context)
                if _is_timed_out(rows, departure):
                    yield _timed_out(rows, departure)


def _departure(rows: GroupRows, member_rows: Sequence[MemberHistoryRow], context: LogContext) -> _Departure:
    row = member_rows[-1]
    signs = [
        (each.from_log_offset, each.from_timestamp)
        for each in member_rows
        if each.from_log_offset != row.to_log_offset and each.from_timestamp != row.to_timestamp
    ] or [(row.from_log_offset, row.from_timestamp)]
    sign_offset, sign_at = max(*signs, *_commits(rows, row, signs[0][0]), key=lambda sign: sign[0])
    timeout = row.session_timeout_ms or context.session_timeout_ms or DEFAULT_SESSION_TIMEOUT_MS
    sooner = _sooner(rows, row, sign_offset, timeout)
    return _Departure(row, sign_offset, sign_at, timeout, _is_away(member_rows), sooner)


def _sooner(rows: GroupRows, row: MemberHistoryRow, sign_offset: int, timeout: int) -> int:
    """Return by how much the last heartbeat can have been before the last sign; 0 where that sign is one itself.

    A commit prolongs the session of classic members (GroupCoordinator.doCommitOffsets), unless a transaction makes it.
    """
    commits = rows.commits_of.get(row.member_id, [])
    at = bisect_left(commits, (sign_offset, -1))
    if at == len(commits) or commits[at][0] != sign_offset:
        return 0
    if row.group_kind != GroupKind.CLASSIC:
        return DEFAULT_HEARTBEAT_MS
    return timeout // HEARTBEATS if sign_offset in rows.in_transactions else 0


def _is_timed_out(rows: GroupRows, departure: _Departure) -> bool:
    """Return whether the member was silent for its session timeout, counted from the last heartbeat that it can have sent."""
    if departure.silence >= departure.timeout:
        return True
    return departure.silence >= departure.timeout - departure.sooner and _is_steady(rows, departure)


def _commits(rows: GroupRows, row: MemberHistoryRow, first: int) -> Iterator[tuple[int, int]]:
    """Yield the place and time of the last commit of the member's partitions, from an offset of the log on."""
    commits = rows.commits_of.get(row.member_id, [])
    at = bisect_left(commits, (row.to_log_offset or 0, 0))
    yield commits[at - 1] if at and commits[at - 1][0] >= first else (first, -1)


def _is_away(member_rows: Sequence[MemberHistoryRow]) -> bool:
    """Return whether a static member had said that it would be back: in the row before those that its removal wrote."""
    return any(row.member_epoch == STATIC_LEFT_EPOCH for row in member_rows[-4:])


def _timed_out(rows: GroupRows, departure: _Departure) -> Finding:
    row = departure.row
    who = named(row.instance_id or row.client_id or row.member_id)
    return found(
        TIMED_OUT,
        rows,
        Places((row.to_log_offset or 0, departure.sign_offset), departure.sign_at, row.to_timestamp),
        f"Member {who} of group {named(rows.group)} was removed{at_time(row.to_timestamp)}: {_why(departure)}",
        confidence=_confidence(rows, departure),
        alternatives=(CLEAN,),
    )


def _why(departure: _Departure) -> str:
    silence = span(departure.silence)
    if departure.is_away:
        return f"it had said that it would be back, and had stayed away for {silence}"
    whose = (
        "its session times" if departure.row.session_timeout_ms is not None else "sessions here seem to time"
    )
    return f"nothing was heard of it for {silence}, and {whose} out after {span(departure.timeout)}"


def _confidence(rows: GroupRows, departure: _Departure) -> Confidence:
    """Return how sure it is: who was silent for just its session timeout, or for that long for the first time, hardly left.

    Where compaction has taken records, later signs of life may be gone.
    """
    if departure.sign_offset < rows.proven_from:
        return Confidence.AMBIGUOUS
    if departure.is_away:
        # An admin may remove it as well, at any time: only Kafka's own time speaks for the broker.
        late = departure.silence - DEFAULT_SESSION_TIMEOUT_MS
        return Confidence.LIKELY if 0 <= late <= AT_ONCE_MS else Confidence.AMBIGUOUS
    late = departure.silence - departure.timeout
    if late < 0:
        return Confidence.AMBIGUOUS
    is_exact = late <= AT_ONCE_MS
    is_soon = late <= _latest(rows, departure) and _is_steady(rows, departure)
    is_known = departure.row.session_timeout_ms is not None
    return Confidence.LIKELY if is_known and (is_exact or is_soon) else Confidence.AMBIGUOUS


def _latest(rows: GroupRows, departure: _Departure) -> int:
    """Return how late a broker removes a member that committed steadily and died.

    Its last heartbeat came within a pause after its last commit. If others are there, the record waits for them to join again.
    """
    joining = departure.timeout // HEARTBEATS if rows.has_members_at(departure.row.to_log_offset or 0) else 0
    return max(_pauses(rows, departure), default=0) + joining + AT_ONCE_MS


def _is_steady(rows: GroupRows, departure: _Departure) -> bool:
    """Return whether the member had committed so often that a silence as long as its session timeout was none of its pauses."""
    pauses = _pauses(rows, departure)
    return len(pauses) >= STEADY - 1 and max(pauses) * HEARTBEATS < departure.timeout


def _pauses(rows: GroupRows, departure: _Departure) -> list[int]:
    """Return the times between two commits of the member, up to its last sign of life."""
    commits = [
        at for place, at in rows.commits_of.get(departure.row.member_id, ()) if place <= departure.sign_offset
    ]
    return [difference(after, before) for before, after in pairwise(commits)]


def _replaced(rows: GroupRows, row: MemberHistoryRow) -> Finding:
    return found(
        REPLACED,
        rows,
        Places((row.to_log_offset or 0, row.from_log_offset), row.to_timestamp, row.to_timestamp),
        f"Static member {named(row.instance_id or row.member_id)} of group {named(rows.group)} was replaced"
        f"{at_time(row.to_timestamp)} by another member with its group.instance.id",
    )
