"""How members went: were they replaced, did they leave, or were they silent for as long as their session lasts?

A clean leave and a timeout leave the same records: only how long the member had been silent tells them apart. A member's signs of
life are its joining, the generations it took part in, and commits of its partitions; heartbeats are in no log.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from offsets_tool.expiry.causes import Confidence
from offsets_tool.history.change_labels import STATIC_LEFT_EPOCH
from offsets_tool.history.rows import MemberHistoryRow
from offsets_tool.rebalances.histories import GroupHistories
from offsets_tool.replay.changes import GroupKind
from offsets_tool.wire.longs import difference

DEFAULT_SESSION_TIMEOUT_MS: Final = 45_000
"""group.consumer.session.timeout.ms of brokers, for members whose records do not say their timeout."""
HEARTBEATS: Final = 3
"""Heartbeats within a session timeout, at least, as clients are set up: the others of the group learn of a rebalance within one."""
DEFAULT_HEARTBEAT_MS: Final = 5_000
"""group.consumer.heartbeat.interval.ms of brokers."""
AT_ONCE_MS: Final = 100
"""How late a broker removes a member that was never heard again, at most; the longer, the more clean leaves look the same."""
HARDLY: Final = 2
"""Within how many session timeouts after its last sign of life a member is removed that was not heard again, at most."""
STEADY: Final = 5
"""Commits that a member has made, at least, if it committed steadily."""


class Departure(NamedTuple):
    """A member's departure: its last row, and for how many milliseconds it had been silent then."""

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


def departure_of(
    rows: GroupHistories, member_rows: Sequence[MemberHistoryRow], session_timeout_ms: int | None
) -> Departure:
    """Return how long a member had been silent when it went: `member_rows` are its rows up to the one that ended then.

    `session_timeout_ms` stands for the timeout of members whose records do not say theirs; None for the broker's default.
    """
    row = member_rows[-1]
    signs = [
        (each.from_log_offset, each.from_timestamp)
        for each in member_rows
        if each.from_log_offset != row.to_log_offset and each.from_timestamp != row.to_timestamp
    ] or [(row.from_log_offset, row.from_timestamp)]
    sign_offset, sign_at = max(*signs, *_commits(rows, row, signs[0][0]), key=lambda sign: sign[0])
    timeout = row.session_timeout_ms or session_timeout_ms or DEFAULT_SESSION_TIMEOUT_MS
    sooner = _sooner(rows, row, sign_offset, timeout)
    return Departure(row, sign_offset, sign_at, timeout, is_away(member_rows), sooner)


def _sooner(rows: GroupHistories, row: MemberHistoryRow, sign_offset: int, timeout: int) -> int:
    """Return how long before its last sign of life a member's last heartbeat can have been; 0 if the sign counts as a heartbeat.

    A commit prolongs the session of classic members (GroupCoordinator.doCommitOffsets), unless a transaction makes it.
    """
    commits = rows.commits_of.get(row.member_id, [])
    at = bisect_left(commits, (sign_offset, -1))
    if at == len(commits) or commits[at][0] != sign_offset:
        return 0
    if row.group_kind != GroupKind.CLASSIC:
        return DEFAULT_HEARTBEAT_MS
    return timeout // HEARTBEATS if sign_offset in rows.in_transactions else 0


def is_timed_out(rows: GroupHistories, departure: Departure) -> bool:
    """Return whether a member seems to have timed out: it was silent for its session timeout, and such a silence says something.

    Only commits are signs of life. Of a member that never commits, as a worker of Connect, or more rarely than its session times
    out, any silence is usual: the records do not tell whether it left.
    """
    if not has_been_silent(rows, departure):
        return False
    is_exact = 0 <= departure.silence - departure.timeout <= AT_ONCE_MS
    is_often = _is_often(rows, departure) or _is_new(rows, departure)
    return is_exact or departure.is_away or is_often


def has_been_silent(rows: GroupHistories, departure: Departure) -> bool:
    """Return whether the member was silent for its session timeout, counted from the last heartbeat that it can have sent."""
    if departure.silence >= departure.timeout:
        return True
    return departure.silence >= departure.timeout - departure.sooner and _is_steady(rows, departure)


def _commits(rows: GroupHistories, row: MemberHistoryRow, first: int) -> Iterator[tuple[int, int]]:
    """Yield the place and time of the last commit of the member's partitions, from an offset of the log on."""
    commits = rows.commits_of.get(row.member_id, [])
    at = bisect_left(commits, (row.to_log_offset or 0, 0))
    yield commits[at - 1] if at and commits[at - 1][0] >= first else (first, -1)


def is_away(member_rows: Sequence[MemberHistoryRow]) -> bool:
    """Return whether a static member had said that it would be back: in the row before those that its removal wrote."""
    return any(row.member_epoch == STATIC_LEFT_EPOCH for row in member_rows[-4:])


def timeout_confidence(rows: GroupHistories, departure: Departure) -> Confidence:
    """Return how sure it is that a member timed out: likely if it was silent for its session timeout and hardly longer.

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


def _latest(rows: GroupHistories, departure: Departure) -> int:
    """Return how late a broker removes a member that committed steadily and died.

    Its last heartbeat came within a pause after its last commit. If others are there, the record waits for them to join again.
    """
    joining = departure.timeout // HEARTBEATS if rows.has_members_at(departure.row.to_log_offset or 0) else 0
    return max(_pauses(rows, departure), default=0) + joining + AT_ONCE_MS


def _is_steady(rows: GroupHistories, departure: Departure) -> bool:
    """Return whether the member had committed so often that a silence as long as its session timeout was none of its pauses."""
    return _is_often(rows, departure, HEARTBEATS)


def _is_often(rows: GroupHistories, departure: Departure, times: int = 1) -> bool:
    """Return whether the longest of the member's pauses between commits fits so many times into its session timeout."""
    pauses = _pauses(rows, departure)
    return len(pauses) >= STEADY - 1 and max(pauses) * times < departure.timeout


def _is_new(rows: GroupHistories, departure: Departure) -> bool:
    """Return whether a member of a group that commits was new: silent for hardly longer than its session since it joined or began.

    One that was heard of again after its joining, and had not committed, may never do so.
    """
    commits = _commit_times(rows, departure)
    first = rows.by_member[departure.row.member_id][0]
    is_begun = bool(commits) or (bool(rows.commits_of) and departure.sign_offset == first.from_log_offset)
    if not is_begun or len(commits) >= STEADY or departure.silence >= departure.timeout * HARDLY:
        return False
    signs = pairwise((first.from_timestamp, *commits))
    return all(difference(after, before) < departure.timeout for before, after in signs)


def _pauses(rows: GroupHistories, departure: Departure) -> list[int]:
    """Return the times between two commits of the member, up to its last sign of life."""
    return [difference(after, before) for before, after in pairwise(_commit_times(rows, departure))]


def _commit_times(rows: GroupHistories, departure: Departure) -> list[int]:
    """Return the times of the member's commits, up to its last sign of life."""
    commits = rows.commits_of.get(departure.row.member_id, ())
    return [at for log_offset, at in commits if log_offset <= departure.sign_offset]
