"""Rows of one group, made for a finder: fields that a case does not name have everyday values."""

from itertools import pairwise
from typing import Any, Final

from offsets_tool.expiry.rows import ExpiryRow
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finders import find_all
from offsets_tool.findings.group_rows import GroupRow, LogStretch, gather
from offsets_tool.findings.rows import Finding
from offsets_tool.history.rows import AnomalyRow, GroupHistoryRow, MemberHistoryRow, OffsetHistoryRow
from offsets_tool.history.transactions import TransactionRow

GROUP: Final = "orders"
TOPIC: Final = "payments"
LOG_PARTITION: Final = 7
START: Final = 1_700_000_000_000
SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000


def _made(row: Any, given: dict[str, Any], fields: dict[str, Any]) -> Any:
    empty = dict.fromkeys(row._fields)
    return row(**{**empty, "group": GROUP, "log_partition": LOG_PARTITION, **fields, **given})


def _times(log_offset: int, after: int) -> dict[str, Any]:
    return {"from_log_offset": log_offset, "from_timestamp": START + after}


def commit(log_offset: int, after: int, committed_offset: int, **given: Any) -> OffsetHistoryRow:
    """Return a commit, so many milliseconds after the start; of partition 0 unless `given` says another."""
    fields = {
        "topic": TOPIC,
        "partition": 0,
        "is_effective": True,
        "committed_offset": committed_offset,
        "leader_epoch": -1,
        "metadata": "",
        "commit_timestamp": START + after,
        "expire_timestamp": -1,
        "commit_log_offset": log_offset,
        "begin_cause": "commit",
        "is_owner_known": True,
        **_times(log_offset, after),
    }
    return _made(OffsetHistoryRow, given, fields)


def commits(first: int, after: int, apart: int, *offsets: int, **given: Any) -> list[OffsetHistoryRow]:
    """Return commits of one partition, each with its distance from the one before; only the last one holds."""
    rows: list[OffsetHistoryRow] = []
    for number, offset in enumerate(offsets):
        delta = offset - offsets[number - 1] if number else None
        rows.append(commit(first + number, after + number * apart, offset, delta=delta, **given))
    ends = [{"to_log_offset": row.from_log_offset, "to_timestamp": row.from_timestamp} for row in rows[1:]]
    return [row._replace(**end, end_cause="superseded") for row, end in zip(rows, ends, strict=False)] + rows[
        -1:
    ]


def group(log_offset: int, after: int, members: int, **given: Any) -> GroupHistoryRow:
    """Return a state of a classic group of consumers; Empty without members."""
    fields = {
        "kind": "classic",
        "state": "Stable" if members else "Empty",
        "generation": 1,
        "protocol_type": "consumer",
        "members": members,
        "log_offset": log_offset,
        **_times(log_offset, after),
    }
    return _made(GroupHistoryRow, given, fields)


def states(*rows: GroupHistoryRow) -> list[GroupHistoryRow]:
    """Return states of one group, each until the next one begins."""
    ended = [
        row._replace(
            to_log_offset=after.from_log_offset, to_timestamp=after.from_timestamp, end_cause="changed"
        )
        for row, after in pairwise(rows)
    ]
    return [*ended, *rows[-1:]]


def member(log_offset: int, after: int, member_id: str = "m-1", **given: Any) -> MemberHistoryRow:
    """Return a state of a member that asks for the topic and owns its partition 0."""
    fields = {
        "member_id": member_id,
        "client_id": "client",
        "client_host": "/10.0.0.1",
        "group_kind": "classic",
        "generation": 1,
        "session_timeout_ms": 10 * SECOND,
        "subscription": (TOPIC,),
        "assignment": (f"{TOPIC}-0",),
        "pending_revocation": (),
        "target_assignment": (),
        **_times(log_offset, after),
    }
    return _made(MemberHistoryRow, given, fields)


def until(row: MemberHistoryRow, log_offset: int, after: int, end_cause: str = "left") -> MemberHistoryRow:
    """Return a member's row with its end."""
    return row._replace(to_log_offset=log_offset, to_timestamp=START + after, end_cause=end_cause)


def transaction(log_offset: int, after: int, **given: Any) -> TransactionRow:
    """Return an open transaction of producer 5 with one commit; `given` may end it."""
    fields = {
        "producer_id": 5,
        "producer_epoch": 0,
        "outcome": "open",
        "commits": 1,
        "first_log_offset": log_offset,
        "first_timestamp": START + after,
        "last_log_offset": log_offset,
        "last_timestamp": START + after,
    }
    return _made(TransactionRow, given, fields)


def aborted(
    log_offset: int, after: int, marker_after: int, marker_epoch: int, **given: Any
) -> TransactionRow:
    """Return an aborted transaction, its marker in the next record."""
    marker = {
        "outcome": "aborted",
        "marker_log_offset": log_offset + 1,
        "marker_timestamp": START + marker_after,
        "marker_epoch": marker_epoch,
    }
    return transaction(log_offset, after, **{**marker, **given})


def removed(log_offset: int, after: int, cause: str, **given: Any) -> ExpiryRow:
    """Return an offset that was removed, certainly by this cause."""
    fields = {
        "topic": TOPIC,
        "partition": 0,
        "status": "removed",
        "removed_at": START + after,
        "cause": cause,
        "confidence": "certain",
        "alternatives": (),
        "committed_offset": 100,
        "evidence": (f"{LOG_PARTITION}:{log_offset}",),
        "log_offset": log_offset,
        "release": "3.9",
        "retention_ms": 7 * 24 * HOUR,
        "check_interval_ms": 10 * MINUTE,
    }
    return _made(ExpiryRow, given, fields)


def live(log_offset: int, expires_in: int | None, **given: Any) -> ExpiryRow:
    """Return a live offset, which expires in so many milliseconds."""
    fields = {
        "topic": TOPIC,
        "partition": 0,
        "status": "live",
        "expires_in_ms": expires_in,
        "expires_at": None if expires_in is None else START + expires_in,
        "rule": "retention_since_commit",
        "committed_offset": 100,
        "alternatives": (),
        "evidence": (),
        "log_offset": log_offset,
        "retention_ms": 7 * 24 * HOUR,
        "check_interval_ms": 10 * MINUTE,
    }
    return _made(ExpiryRow, given, fields)


def anomaly(log_offset: int, after: int, note: str) -> AnomalyRow:
    """Return an anomaly with this note."""
    return AnomalyRow(GROUP, None, LOG_PARTITION, log_offset, START + after, note)


def found(
    rows: list[GroupRow],
    *,
    until_after: int = HOUR,
    own_until_after: int | None = None,
    proven_from: int = 0,
    **context: Any,
) -> list[Finding]:
    """Return all that is found in the group, in a log and a partition of it that end so many milliseconds after the start."""
    own = None if own_until_after is None else START + own_until_after
    gathered = gather(rows, LogStretch(LOG_PARTITION, proven_from, newest_at=own))
    of_log = LogContext(newest_at=START + until_after, **{"has_raised_epochs": False, **context})
    return [finding for each in gathered.values() for finding in find_all(each, of_log)]
