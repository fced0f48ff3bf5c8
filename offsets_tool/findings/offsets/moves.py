"""Did committed offsets move back, or by a leap ahead, and who moved them: a member, an admin, a client beside the group?

findings.committers decides who can have made a commit; here is decided what moved, how far, and how sure that is.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from offsets_tool.expiry.causes import Confidence
from offsets_tool.findings.commit_sums import PartitionSums
from offsets_tool.findings.committers import CommitOrigin, Committer, origin_of
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows, is_simple
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import (
    at_time,
    count,
    from_time,
    in_partitions,
    named,
    of_topics,
    only,
    was,
)
from offsets_tool.history.rows import GroupHistoryRow, OffsetBeginCause, OffsetHistoryRow
from offsets_tool.wire.longs import MAX_LONG, difference

RESET: Final = FindingKind(
    "reset",
    Severity.WARNING,
    "Somebody outside of the group set its offsets while it had no members (--reset-offsets, alterConsumerGroupOffsets).",
    "If nobody meant it, set the offsets back: `offsets-tool offsets --as-of` gives those from before.",
)
REWIND: Final = FindingKind(
    "rewind",
    Severity.NOTICE,
    "A committed offset moved back: records are read again.",
    "Look at the clients of that time for a seek, for auto.offset.reset, or for two that commit the same partition.",
)
JUMP: Final = FindingKind(
    "jump",
    Severity.NOTICE,
    "A committed offset leapt ahead by far more than ever before: records may have been skipped.",
    "Look at the clients of that time for a seek to the end, or for auto.offset.reset=latest after records had expired.",
)
LEAP: Final = 100
"""How many times its largest step so far a commit must move ahead to count as a leap."""
LEAST_STEPS: Final = 5
"""How many steps ahead a partition must have made before a leap can be told from its usual pace."""
OFTEN: Final = 5
"""How often a group must have moved back for that to be told once: its clients do it all the time."""
NO_EPOCH: Final = -1


_COMMITTED: Final = (OffsetBeginCause.COMMIT, OffsetBeginCause.TRANSACTION)
_LOOKED_AT: Final = ("commit_log_offset", "delta", "begin_cause")
"""The fields of OffsetHistoryRow by which it is decided whether more is asked of a commit."""
SERIES: Final = 3
"""Commits from outside of one partition, each further than the one before, that are somebody's work and no reset."""
AT_ONCE_MS: Final = 100
"""How soon after the last member left its own commit may still come: brokers up to 0.11 wrote it outside of the group's lock."""


class _Move(NamedTuple):
    """A commit that moved an offset, and what the group was then."""

    row: OffsetHistoryRow
    origin: CommitOrigin
    is_late: bool = False
    """Whether it may be the commit of the member that had just left."""
    is_series: bool = False
    """Whether whoever commits from outside goes on step by step: a client that reads, or a copy of another cluster's offsets."""


@finder(RESET, REWIND, JUMP)
def find_moves(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for all offsets that were moved by one request, whose commits have the same time."""
    moves = sorted(_moves(rows), key=lambda move: move.row.from_log_offset)
    series = [move for move in moves if move.is_series]
    if series:
        yield _series(rows, series)
    single = (move for move in moves if not move.is_series)
    requests = [list(together) for _, together in groupby(single, _request)]
    back = [request for request in requests if _judged(request).kind is REWIND]
    if len(back) < OFTEN:
        yield from (_finding(rows, request) for request in requests)
        return
    yield from (_finding(rows, request) for request in requests if _judged(request).kind is not REWIND)
    yield _back_often(rows, back)


def _request(move: _Move) -> tuple[int, int, bool]:
    back = (move.row.delta or 0) < 0
    return move.row.commit_timestamp, move.row.from_timestamp, _is_from_outside(move) or back


def _moves(rows: GroupRows) -> Iterator[_Move]:
    """Yield the commits that moved an offset back, leapt, or came from outside."""
    empty = [row for row in rows.groups if row.members == 0 and not is_simple(row)]
    looked_at = rows.effective_fields(lambda sums: _may_have_moved(sums, empty), *_LOOKED_AT)
    by_partition = ((at, dict(_asked(commits, rows.proven_from, empty))) for at, commits in looked_at)
    asked = {at: numbers for at, numbers in by_partition if numbers}
    for at, commits in rows.effective_at({at: list(numbers) for at, numbers in asked.items()}):
        outside = list[_Move]()
        for is_odd, row in zip(asked[at].values(), commits, strict=True):
            move = _move(rows, row)
            if _is_reset(move):
                outside.append(move)
            elif is_odd:
                yield move
        yield from _with_series(outside)


def _asked(
    commits: Iterable[tuple[Any, ...]], proven_from: int, empty: Sequence[GroupHistoryRow]
) -> Iterator[tuple[int, bool]]:
    """Yield the numbers of a partition's commits that moved back or leapt, and of others that moved while the group was empty; each
    with whether it moved oddly.

    Most commits move on as usual, in a group that has members: nothing is asked of them.
    """
    began = [row.from_log_offset for row in empty]
    ended = [MAX_LONG if row.to_log_offset is None else row.to_log_offset for row in empty]
    largest, steps = 0, 0
    for number, (log_offset, delta, begin_cause) in enumerate(commits):
        if not delta or begin_cause not in _COMMITTED:
            continue
        is_odd = delta < 0 or (steps >= LEAST_STEPS and delta > LEAP * largest > 0)
        if is_odd or ((at := bisect_right(began, log_offset)) and log_offset < ended[at - 1]):
            yield number, is_odd
        if delta > 0 and log_offset >= proven_from:
            largest, steps = max(largest, delta), steps + 1


def _may_have_moved(sums: PartitionSums, empty: Sequence[GroupHistoryRow]) -> bool:
    """Return whether a partition moved back, may have leapt, or moved both before the end and after the begin of an empty state."""
    if sums.least_delta < 0 or sums.steepest >= LEAP:
        return True
    if sums.first_move is None or sums.last_move is None:
        return False
    return any(
        row.from_log_offset <= sums.last_move
        and (row.to_log_offset is None or row.to_log_offset > sums.first_move)
        for row in empty
    )


def _with_series(outside: list[_Move]) -> Iterator[_Move]:
    """Yield the commits of one partition from outside the group; mark those as a series that only move on, if they are many."""
    for is_ahead, some in groupby(outside, lambda move: (move.row.delta or 0) > 0):
        run = list(some)
        is_series = is_ahead and len(run) >= SERIES
        yield from (move._replace(is_series=is_series) for move in run)


def _move(rows: GroupRows, row: OffsetHistoryRow) -> _Move:
    group = rows.state_at(row.commit_log_offset)
    is_late = group is not None and 0 <= difference(row.from_timestamp, group.from_timestamp) <= AT_ONCE_MS
    return _Move(row, origin_of(rows, row), is_late and (row.delta or 0) > 0)


def _is_reset(move: _Move) -> bool:
    """Return whether a move comes from outside of a group that had members before; commits of transactions need no member."""
    return _is_from_outside(move) and move.row.begin_cause == OffsetBeginCause.COMMIT


def _is_from_outside(move: _Move) -> bool:
    return move.origin.is_outside and not move.origin.is_simple


def _series(rows: GroupRows, moves: list[_Move]) -> Finding:
    first, last = moves[0].row, moves[-1].row
    topics = [move.row.topic for move in moves]
    where = f"{of_topics(topics)} {in_partitions([move.row.partition for move in moves])}"
    return found(
        RESET,
        rows,
        Places(
            tuple(move.row.commit_log_offset for move in moves), first.from_timestamp, last.from_timestamp
        ),
        f"Offsets of group {named(rows.group)} {where} were moved on {count(len(moves), 'time')} from outside"
        f"{from_time(first.from_timestamp)}, while the group had no members: a client that reads without joining, or "
        "offsets that are copied from another cluster",
        confidence=Confidence.AMBIGUOUS,
        alternatives=("simple_client", "offset_sync"),
        severity=Severity.NOTICE,
        topic=only(topics),
    )


def _finding(rows: GroupRows, moves: list[_Move]) -> Finding:
    first = moves[0].row
    judged = _judged(moves)
    places = tuple(move.row.commit_log_offset for move in moves)
    return found(
        judged.kind,
        rows,
        Places(places, first.from_timestamp, first.from_timestamp),
        _title(rows, judged.kind, moves),
        confidence=judged.confidence,
        alternatives=judged.alternatives,
        topic=only(move.row.topic for move in moves),
        partition=first.partition if len(moves) == 1 else None,
    )


def _back_often(rows: GroupRows, requests: list[list[_Move]]) -> Finding:
    """Return one finding for all times that the group moved back; the farthest is named."""
    moves = [move for request in requests for move in request]
    farthest = min(moves, key=lambda move: move.row.delta or 0)
    first, last, row = moves[0].row, moves[-1].row, farthest.row
    return found(
        REWIND,
        rows,
        Places(
            (row.commit_log_offset, *(move.row.commit_log_offset for move in moves)),
            first.from_timestamp,
            last.from_timestamp,
        ),
        f"Group {named(rows.group)} moved back {count(len(requests), 'time')} {of_topics([move.row.topic for move in moves])}, "
        f"farthest by {-(row.delta or 0):,} in topic {named(row.topic)} partition {row.partition}{at_time(row.from_timestamp)}, "
        f"by {_who(farthest)}",
        topic=only(move.row.topic for move in moves),
    )


class _Judged(NamedTuple):
    """The kind of finding for some commits, its confidence, and its alternatives."""

    kind: FindingKind
    confidence: Confidence = Confidence.CERTAIN
    alternatives: tuple[str, ...] = ()


def _judged(moves: list[_Move]) -> _Judged:
    """Return the judgement on the commits of one request."""
    move = moves[0]
    if _is_reset(move):
        # An admin's commit has no leader epoch (kafka-consumer-groups); a client that reads commits its own.
        is_admins = all(
            each.row.leader_epoch == NO_EPOCH and each.origin.is_known and not each.is_late for each in moves
        )
        return _Judged(RESET, Confidence.LIKELY if is_admins else Confidence.AMBIGUOUS, ("simple_client",))
    if (move.row.delta or 0) < 0:
        return _Judged(REWIND)
    return _Judged(JUMP, Confidence.LIKELY, ("burst",))


def _title(rows: GroupRows, kind: FindingKind, moves: list[_Move]) -> str:
    topics = [move.row.topic for move in moves]
    where = f"{of_topics(topics)} {in_partitions([move.row.partition for move in moves])}"
    back = -sum(move.row.delta or 0 for move in moves if (move.row.delta or 0) < 0)
    ahead = sum(move.row.delta or 0 for move in moves if (move.row.delta or 0) > 0)
    moved = " and ".join(text for text in (back and f"{back:,} back", ahead and f"{ahead:,} ahead") if text)
    what = f"{count(len(moves), 'offset')} of group {named(rows.group)} {where}"
    when = at_time(moves[0].row.from_timestamp)
    if kind is RESET:
        return f"{what} {was(len(moves))} set from outside{when}, {moved}, while the group had no members"
    return f"{what} moved {moved}{when}, by {_who(moves[0])}"


def _who(move: _Move) -> str:
    """Return who committed, as far as the log tells."""
    row, committer = move.row, move.origin.committer(move.row)
    if committer is Committer.TRANSACTION:
        return f"a transaction of producer {row.producer_id}"
    if committer is not Committer.MEMBER:
        return _NO_MEMBER[committer]
    if row.member_id is None:
        return "a member of the group; nobody owned the partition"
    return f"a member of the group; {named(row.instance_id or row.member_id)} owned the partition"


_NO_MEMBER: Final = {
    Committer.UNKNOWN: "a client that is no member, as far as the log tells: records of the group may be missing",
    Committer.SIMPLE_CLIENT: "a client that is no member",
    Committer.OUTSIDE: "an admin or a simple client: the group had no members",
}
