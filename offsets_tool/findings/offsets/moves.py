"""Did committed offsets move back, or by a leap ahead, and who moved them: a member, an admin, a client beside the group?

findings.committers decides who can have made a commit, `handovers` whether it belongs to a rebalance; here is decided what moved,
how far, and how sure that is.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from enum import Enum
from itertools import groupby, islice
from typing import Any, Final, NamedTuple

from offsets_tool.columns.arrays import Array, are_within
from offsets_tool.expiry.causes import Confidence
from offsets_tool.findings.committers import CommitOrigin, Committer, origin_of
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows, is_simple
from offsets_tool.findings.offsets.handovers import HANDOVER, Begin, Handover, Handovers
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.runs import runs
from offsets_tool.findings.sentences import (
    at_time,
    count,
    from_time,
    in_partitions,
    named,
    of_topics,
    only,
    partitions_text,
    sum_text,
    was,
)
from offsets_tool.history.rows import OffsetBeginCause, OffsetHistoryRow
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
HANDOVER_LEAP: Final = 10
"""The same of the first commit after a rebalance, if it is as far beyond the group's pace, and not the only one."""
LEAST_STEPS: Final = 5
"""How many steps ahead a partition must have made before a leap can be told from its usual pace."""
OFTEN: Final = 5
"""How often a group must have moved back, or leapt, for that to be told once: its clients do it all the time."""
MANY: Final = 10_000
"""The fewest records, skipped or read again, that are no mere notice, if they are more than a few of the group's steps."""
FEW_STEPS: Final = 10
"""How many of its largest steps so far an offset moves if that is more than a few."""
NO_EPOCH: Final = -1


_COMMITTED: Final = (OffsetBeginCause.COMMIT, OffsetBeginCause.TRANSACTION)
_LOOKED_AT: Final = ("commit_log_offset", "delta", "begin_cause", "from_timestamp")
"""The fields of OffsetHistoryRow by which it is decided whether more is asked of a commit."""
SERIES: Final = 3
"""Commits from outside of one partition, each further than the one before, that are somebody's work and no reset."""
AGAIN: Final = 3
"""After how many rebalances an offset must have leapt, if it was one partition's alone each time."""
TOGETHER_MS: Final = 60_000
"""How far the first commits after one rebalance are apart at most: members commit within seconds of each other."""
AT_ONCE_MS: Final = 100
"""How soon after the last member left its own commit may still come: brokers up to 0.11 wrote it outside of the group's lock."""


class _Oddity(Enum):
    """Why a commit is looked at."""

    MOVED = "moved"
    """It moved back, or leapt."""
    LEAPT_AT_HANDOVER = "leapt at handover"
    """It leapt less far, as the first commit after a rebalance."""
    OUTSIDE = "outside"
    """It moved as usual, while the group was empty."""


class _Asked(NamedTuple):
    """A commit that is looked at, and what its partition's commits before it came to."""

    oddity: _Oddity
    before: int
    """Log offset of the commit before; -1 without."""
    usual: int
    """The largest step so far, or, of one ahead, what the time since the commit before holds at the pace if that is more."""


class _Move(NamedTuple):
    """A commit that moved an offset, and what the group was then."""

    row: OffsetHistoryRow
    origin: CommitOrigin
    asked: _Asked
    is_late: bool = False
    """Whether it may be the commit of the member that had just left."""
    is_series: bool = False
    """Whether whoever commits from outside goes on step by step: a client that reads, or a copy of another cluster's offsets."""
    handover: Handover | None = None
    """The rebalance that it belongs to."""

    @property
    def delta(self) -> int:
        """How far it moved, negative for back."""
        return self.row.delta or 0

    @property
    def is_back(self) -> bool:
        """Whether it moved back."""
        return self.delta < 0


@finder(RESET, REWIND, JUMP)
def find_moves(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for all offsets that were moved by one deed: by one request, or by their new owners after one rebalance."""
    moves = sorted(_moves(rows, Handovers(rows, context.server_log)), key=_place)
    series = [move for move in moves if move.is_series]
    if series:
        yield _series(rows, series)
    by_kind = defaultdict[str, list[list[_Move]]](list)
    for deed in _deeds(move for move in moves if not move.is_series):
        by_kind[_judged(deed).kind.name].append(deed)
    for kind in (RESET, REWIND, JUMP):
        deeds = by_kind[kind.name]
        if kind is not RESET and len(deeds) >= OFTEN:
            yield _often(rows, kind, deeds)
        else:
            yield from (_finding(rows, deed) for deed in deeds)


def _place(move: _Move) -> int:
    return move.row.from_log_offset


def _deeds(moves: Iterable[_Move]) -> Iterator[list[_Move]]:
    """Yield the moves of one deed together, in the order of the log."""
    by_deed = defaultdict[Hashable, list[_Move]](list)
    for move in moves:
        by_deed[_deed(move)].append(move)
    deeds = [deed for of_deed in by_deed.values() for deed in runs(of_deed, _is_soon)]
    yield from sorted(deeds, key=lambda deed: _place(deed[0]))


def _deed(move: _Move) -> Hashable:
    """Return what moves of one deed share: the rebalance that they belong to, or the times of one request's commits."""
    row = move.row
    direction = None if _is_from_outside(move) else move.is_back
    if move.handover is not None:
        return direction, row.generation, row.group_epoch
    return direction, row.commit_timestamp, row.from_timestamp, row.producer_id


def _is_soon(before: _Move, after: _Move) -> bool:
    return abs(difference(after.row.from_timestamp, before.row.from_timestamp)) <= TOGETHER_MS


def _moves(rows: GroupRows, handovers: Handovers) -> Iterator[_Move]:
    """Yield the commits that moved an offset back, leapt, or came from outside."""
    empty, effective = _EmptyStates(rows), rows.offsets.by_partition
    by_partition = {
        at: dict(_asked(commits, _Pace(rows, handovers.begins_of(at)), empty))
        for at, commits in effective.fields_of(effective.where(_may_be_odd(rows, empty)), _LOOKED_AT)
    }
    asked = {at: numbers for at, numbers in by_partition.items() if numbers}
    leaps = list[_Move]()
    for at, commits in effective.rows_at({at: list(numbers) for at, numbers in asked.items()}):
        outside = list[_Move]()
        for about, row in zip(asked[at].values(), commits, strict=True):
            move = _move(rows, handovers, row, about)
            if _is_reset(move):
                outside.append(move)
            elif about.oddity is not _Oddity.OUTSIDE and not (move.is_back or move.handover is None):
                leaps.append(move)
            elif about.oddity is _Oddity.MOVED:
                yield move
        yield from _with_series(outside)
    yield from _not_alone(leaps)


def _not_alone(leaps: Iterable[_Move]) -> Iterator[_Move]:
    """Yield the leaps at rebalances, without short ones of a single partition that are not repeated after others: a burst."""
    together = list(runs(sorted(leaps, key=lambda move: move.row.from_timestamp), _is_soon))
    for burst in together:
        partitions = {(move.row.topic, move.row.partition) for move in burst}
        is_told = len(partitions) > 1 or len(together) >= AGAIN
        yield from (move for move in burst if is_told or move.asked.oddity is _Oddity.MOVED)


class _EmptyStates:
    """The states in which a group that can have members had none."""

    def __init__(self, rows: GroupRows) -> None:
        empty = [row for row in rows.groups if row.members == 0 and not is_simple(row)]
        self._began = [row.from_log_offset for row in empty]
        self._ended = [MAX_LONG if row.to_log_offset is None else row.to_log_offset for row in empty]

    def has(self, log_offset: int) -> bool:
        """Return whether the group was empty at a record."""
        number = bisect_right(self._began, log_offset)
        return bool(number) and log_offset < self._ended[number - 1]

    def are_there(self, log_offsets: Array) -> Array:
        """Return at which records the group was empty."""
        return are_within(log_offsets, self._began, self._ended)


class _Pace:
    """What the commits of one partition came to so far: how far they moved it, and how soon. Leaps at rebalances do not count."""

    def __init__(self, rows: GroupRows, begins: Sequence[Sequence[Begin]]) -> None:
        """Begin before the first commit of a partition of this group; `begins` says when members got the partition, as lists."""
        self._rows, self._begins, self._next = rows, begins, [0] * len(begins)
        self.log_offset, self._at = -1, -1
        self.largest = self.usual = self.steps = 0
        self._since, self._moved = -1, 0

    def begin_before(self, log_offset: int) -> Begin | None:
        """Return the last time that a member got the partition between the latest commit and this one, which are in order."""
        latest = list[Begin]()
        for number, begins in enumerate(self._begins):
            first = self._next[number]
            following = bisect_right(begins, log_offset, first, key=lambda begin: begin.log_offset)
            latest += begins[max(first, following - 1) : following]
            self._next[number] = following
        return None if self.log_offset < 0 else max(latest, default=None)

    def expected(self, since: int, until: int) -> int:
        """Return how far the partition moves between two times, at its pace so far; 0 if nobody knows."""
        elapsed, span = difference(self._at, self._since), difference(until, since)
        return self._moved * span // elapsed if self._since >= 0 and elapsed > 0 < span else 0

    def expected_since_commit(self, until: int) -> int:
        """Return how far the partition moves from the latest commit to a time."""
        return self.expected(self._at, until)

    def is_leap(self, begin: Begin, log_offset: int, delta: int, timestamp: int) -> bool:
        """Return whether the first commit after a member got the partition moved it by far more than was to be expected.

        Where the group was there all the time, nothing waited because it was down: then the owner's own time counts.
        """
        if (
            self.steps < LEAST_STEPS
            or not 0 < HANDOVER_LEAP * self.usual <= delta
            or min(timestamp, begin.at) < 0
        ):
            return False
        if delta >= HANDOVER_LEAP * self.expected_since_commit(timestamp):
            return True
        is_alive = self._rows.had_members(self.log_offset, log_offset)
        return is_alive and delta >= 2 * self.expected(begin.at, timestamp)

    def observe(self, log_offset: int, timestamp: int, delta: int, *, is_leap: bool) -> None:
        """Add a commit."""
        if delta > 0 and log_offset >= self._rows.proven_from:
            self.steps += 1
            self.largest = max(self.largest, delta)
            if not is_leap:
                self.usual = max(self.usual, delta)
                self._moved += delta
        if self._since < 0:
            self._since = timestamp
        self.log_offset, self._at = log_offset, timestamp


def _asked(
    commits: Iterable[tuple[Any, ...]], pace: _Pace, empty: _EmptyStates
) -> Iterator[tuple[int, _Asked]]:
    """Yield the numbers of a partition's commits that moved back or leapt, and of others that moved while the group was empty.

    Most commits move on as usual, in a group that has members: nothing is asked of them. A leap at a rebalance counts only if the
    partition then goes on in small steps again: a new owner that is faster, and reads what had waited, takes several large ones.
    """
    leap: tuple[int, _Asked] | None = None
    for number, (log_offset, delta, begin_cause, timestamp) in enumerate(commits):
        if begin_cause not in _COMMITTED:
            continue
        oddity = _oddity(pace, log_offset, delta or 0, timestamp)
        if leap is not None and delta:
            if delta < HANDOVER_LEAP * pace.usual:
                yield leap
            leap = None
        usual = max(pace.largest, pace.expected_since_commit(timestamp) if (delta or 0) > 0 else 0)
        about = _Asked(oddity or _Oddity.OUTSIDE, pace.log_offset, usual)
        if oddity is _Oddity.LEAPT_AT_HANDOVER:
            leap = number, about
        elif oddity is not None or (delta and empty.has(log_offset)):
            yield number, about
        pace.observe(log_offset, timestamp, delta or 0, is_leap=oddity is _Oddity.LEAPT_AT_HANDOVER)
    if leap is not None:
        yield leap


def _oddity(pace: _Pace, log_offset: int, delta: int, timestamp: int) -> _Oddity | None:
    begin = pace.begin_before(log_offset)
    if delta < 0 or (pace.steps >= LEAST_STEPS and delta > LEAP * pace.largest > 0):
        return _Oddity.MOVED
    is_leap = begin is not None and pace.is_leap(begin, log_offset, delta, timestamp)
    return _Oddity.LEAPT_AT_HANDOVER if is_leap else None


def _may_be_odd(rows: GroupRows, empty: _EmptyStates) -> Array:
    """Return which commits moved back, may be the first of their partition that leapt, or moved while the group was empty."""
    effective = rows.offsets.by_partition
    delta, log_offsets = effective.numbers("delta"), effective.numbers("commit_log_offset")
    largest = effective.greatest_before(delta * ((log_offsets >= rows.proven_from) & (delta > 0)))
    # Divided, as a step may be so large that its multiple is none of 64 bits.
    is_leap = (largest > 0) & (delta // HANDOVER_LEAP >= largest)
    is_odd: Array = (delta < 0) | is_leap | ((delta != 0) & empty.are_there(log_offsets))
    return is_odd


def _with_series(outside: list[_Move]) -> Iterator[_Move]:
    """Yield the commits of one partition from outside the group; mark those as a series that only move on, if they are many."""
    for is_ahead, some in groupby(outside, lambda move: (move.row.delta or 0) > 0):
        run = list(some)
        is_series = is_ahead and len(run) >= SERIES
        yield from (move._replace(is_series=is_series) for move in run)


def _move(rows: GroupRows, handovers: Handovers, row: OffsetHistoryRow, asked: _Asked) -> _Move:
    group = rows.state_at(row.commit_log_offset)
    is_late = group is not None and 0 <= difference(row.from_timestamp, group.from_timestamp) <= AT_ONCE_MS
    origin = origin_of(rows, row)
    is_members = origin.committer(row) is Committer.MEMBER
    return _Move(
        row,
        origin,
        asked,
        is_late and (row.delta or 0) > 0,
        handover=handovers.of(row, asked.before) if is_members else None,
    )


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
    first, last = moves[0].row, moves[-1].row
    judged = _judged(moves)
    handovers = [move.handover for move in moves if move.handover is not None]
    commits = (move.row.commit_log_offset for move in moves)
    return found(
        judged.kind,
        rows,
        Places(
            (*commits, *(handover.log_offset for handover in handovers)),
            first.from_timestamp,
            last.from_timestamp,
        ),
        _title(rows, judged.kind, moves),
        severity=_severity(judged.kind, moves),
        confidence=judged.confidence,
        alternatives=judged.alternatives,
        topic=only(move.row.topic for move in moves),
        partition=first.partition if len(moves) == 1 else None,
        remedy=HANDOVER if handovers else judged.kind.remedy,
        lines=[handover.line for handover in handovers if handover.line is not None],
    )


def _often(rows: GroupRows, kind: FindingKind, deeds: list[list[_Move]]) -> Finding:
    """Return one finding for all times that the group moved back, or leapt; the farthest is named."""
    moves = sorted((move for deed in deeds for move in deed), key=_place)
    farthest = max(moves, key=lambda move: abs(move.delta))
    first, last, row = moves[0].row, moves[-1].row, farthest.row
    of_rebalances = sum(deed[0].handover is not None for deed in deeds)
    worst = next((deed for deed in deeds if _severity(kind, deed) is not kind.severity), deeds[0])
    return found(
        kind,
        rows,
        Places(
            (row.commit_log_offset, *(move.row.commit_log_offset for move in moves)),
            first.from_timestamp,
            last.from_timestamp,
        ),
        f"Group {named(rows.group)} {_OFTEN[kind.name]} {count(len(deeds), 'time')} "
        f"{of_topics([move.row.topic for move in moves])}{from_time(first.from_timestamp)}, farthest by {abs(farthest.delta):,} in "
        f"topic {named(row.topic)} partition {row.partition}{at_time(row.from_timestamp)}, by {_who(rows, [farthest])}"
        f"{_at_rebalances(of_rebalances, len(deeds))}",
        severity=_severity(kind, worst),
        confidence=min((_judged(deed).confidence for deed in deeds), key=_WEAKEST.index),
        alternatives=_judged(deeds[0]).alternatives,
        remedy=HANDOVER if 2 * of_rebalances > len(deeds) else kind.remedy,
        topic=only(move.row.topic for move in moves),
    )


_OFTEN: Final = {REWIND.name: "moved back", JUMP.name: "leapt ahead"}
_WEAKEST: Final = (Confidence.AMBIGUOUS, Confidence.LIKELY, Confidence.CERTAIN)


def _at_rebalances(number: int, deeds: int) -> str:
    if not number:
        return ""
    return f"; {'each time' if number == deeds else count(number, 'time')} at a rebalance"


def _severity(kind: FindingKind, moves: list[_Move]) -> Severity:
    """Return how much the moves of one deed matter: many records that are skipped or read again are more than a notice."""
    is_far = any(abs(move.delta) >= FEW_STEPS * move.asked.usual > 0 for move in moves)
    is_much = kind is not RESET and is_far and sum(abs(move.delta) for move in moves) >= MANY
    return Severity.WARNING if is_much else kind.severity


class _Judged(NamedTuple):
    """The kind of finding for some commits, its confidence, and its alternatives."""

    kind: FindingKind
    confidence: Confidence = Confidence.CERTAIN
    alternatives: tuple[str, ...] = ()


def _judged(moves: list[_Move]) -> _Judged:
    """Return the judgement on the commits of one deed."""
    move = moves[0]
    if _is_reset(move):
        # An admin's commit has no leader epoch (kafka-consumer-groups); a client that reads commits its own.
        is_admins = all(
            each.row.leader_epoch == NO_EPOCH and each.origin.is_known and not each.is_late for each in moves
        )
        return _Judged(RESET, Confidence.LIKELY if is_admins else Confidence.AMBIGUOUS, ("simple_client",))
    if move.is_back:
        return _Judged(REWIND)
    is_leap = any(each.asked.oddity is _Oddity.MOVED for each in moves)
    return _Judged(JUMP, Confidence.LIKELY if is_leap else Confidence.AMBIGUOUS, ("burst",))


def _title(rows: GroupRows, kind: FindingKind, moves: list[_Move]) -> str:
    topics = [move.row.topic for move in moves]
    where = f"{of_topics(topics)} {in_partitions([move.row.partition for move in moves])}"
    what = f"{count(len(moves), 'offset')} of group {named(rows.group)} {where}"
    moved, when = _moved(moves), _when(moves)
    if kind is RESET:
        return f"{what} {was(len(moves))} set from outside{when}, {moved}, while the group had no members"
    return f"{what} moved {moved}{when}, by {_who(rows, moves)}{_handed_over(moves)}"


def _moved(moves: list[_Move]) -> str:
    """Return how far offsets moved; of several, a sum says that it is one."""
    back = [move.delta for move in moves if move.is_back]
    ahead = [move.delta for move in moves if not move.is_back]
    texts = [sum_text(deltas, word) for deltas, word in ((back, "back"), (ahead, "ahead")) if deltas]
    if len(texts) == 1:
        return texts[0]
    return f"{len(back):,} of them {texts[0]} and {len(ahead):,} {texts[1]}"


def _when(moves: list[_Move]) -> str:
    first, last = moves[0].row.from_timestamp, moves[-1].row.from_timestamp
    if first // 1000 == last // 1000:
        return at_time(first)
    return f"{at_time(first, 'from')}{at_time(last, 'to')}"


def _who(rows: GroupRows, moves: list[_Move]) -> str:
    """Return who committed, as far as the log tells."""
    row, committer = moves[0].row, moves[0].origin.committer(moves[0].row)
    if committer is Committer.TRANSACTION:
        return f"a transaction of producer {row.producer_id}"
    if committer is not Committer.MEMBER:
        return _NO_MEMBER[committer]
    owners = _owners(rows, moves)
    return f"{'a member' if len(owners) == 1 else 'members'} of the group; {_owned(owners)}"


def _owners(rows: GroupRows, moves: list[_Move]) -> dict[str | None, list[OffsetHistoryRow]]:
    """Return the commits by the name of the member that owned their partitions; None stands for nobody, "" for an unknown one."""
    owners = defaultdict[str | None, list[OffsetHistoryRow]](list)
    for move in moves:
        name = rows.owner_of(move.row)
        owners["" if name is None and not move.row.is_owner_known else name].append(move.row)
    return dict(owners)


def _owned(owners: dict[str | None, list[OffsetHistoryRow]]) -> str:
    """Return which member owned which partitions."""
    if len(owners) == 1:
        ((name, commits),) = owners.items()
        partitions = "the partition" if len(commits) == 1 else "the partitions"
        if name == "":
            return f"who owned {partitions} is not known"
        return f"{'nobody' if name is None else named(name)} owned {partitions}"
    is_one_topic = len({row.topic for commits in owners.values() for row in commits}) == 1
    texts = [
        f"{_OWNER.get(name) or named(name or '')} {'' if number else 'owned '}"
        f"{partitions_text([row.partition for row in commits]) if is_one_topic else count(len(commits), 'partition')}"
        for number, (name, commits) in enumerate(islice(owners.items(), _NAMED))
    ]
    more = [f"{len(owners) - _NAMED} others the rest"] if len(owners) > _NAMED else []
    return ", ".join([*texts, *more])


_NAMED: Final = 3
"""How many owners are named before the rest is only counted."""
_OWNER: Final = {None: "nobody", "": "unknown members"}


def _handed_over(moves: list[_Move]) -> str:
    """Return how the commits belong to a rebalance; nothing where they do not."""
    handovers = [move.handover for move in moves if move.handover is not None]
    if not handovers:
        return ""
    if len(moves) == 1:
        return f": {handovers[0].text}"
    texts = ", ".join(dict.fromkeys(handover.text_of_many for handover in handovers))
    return f": {texts}"


_NO_MEMBER: Final = {
    Committer.UNKNOWN: "a client that is no member, as far as the log tells: records of the group may be missing",
    Committer.SIMPLE_CLIENT: "a client that is no member",
    Committer.OUTSIDE: "an admin or a simple client: the group had no members",
}
