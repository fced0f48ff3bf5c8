"""Did a group stop, for good or for a while, or only commit and never move? What there was to read is in no commit.

A partition without new records looks the same, and so these are ambiguous unless another group has read on, or its end is known.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from operator import attrgetter, sub
from statistics import median
from typing import Final, NamedTuple

from offsets_tool.expiry.causes import Cause, Confidence
from offsets_tool.findings.commit_sums import PartitionSums
from offsets_tool.findings.context import Furthest, LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import at_time, count, from_time, in_partitions, named, span
from offsets_tool.history.rows import OffsetHistoryRow
from offsets_tool.log_clock import age_at
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.wire.longs import difference

STALLED: Final = FindingKind(
    "stalled",
    Severity.NOTICE,
    "A group that has members stopped committing, or committed again and again without moving, while it used to move.",
    "Compare with the end of the partition (`offsets-tool lag`); if there is something to read, look for a record that its "
    "consumer cannot get past.",
)
IDLE: Final = FindingKind(
    "idle_commits",
    Severity.NOTICE,
    "A group committed the same offsets again and again: the records change nothing and cost the topic space.",
    "Raise auto.commit.interval.ms, or commit only what has changed.",
)
ENDED: Final = FindingKind(
    "stall_ended",
    Severity.NOTICE,
    "A group that had members stood still for minutes, far longer than usual, and then caught up with a leap.",
    "Look at its consumers' logs of that time for a record that took long, a call that hung, or a long pause.",
)
BACKLOG: Final = 10
"""How many times its usual step a group moves ahead, at least, if records waited for it."""
SOON: Final = 2
"""Within how many commits it must do so: the first may come when it has just begun to read."""
STALL_MS: Final = 300_000
"""How long nothing must move, at least: max.poll.interval.ms, after which a consumer that hangs is removed."""
USUAL: Final = 10
"""How many times its usual pause between two commits a group must be silent."""
LEAST_COMMITS: Final = 5
"""How many commits a partition must have had before its usual pause is known."""
SAME: Final = 50
"""How many commits of one offset in a row are worth a notice."""
NEAR: Final = 10
"""How far apart two groups may be that have both read everything: by transactions' markers, or by committing the last record."""
NO_RECORDS: Final = "no_new_records"
"""The alternative: there was nothing to read."""


class _Stall(NamedTuple):
    """A partition whose offset did not move from a commit on, and how far another group has read it."""

    at: TopicPartition
    first: OffsetHistoryRow
    last: OffsetHistoryRow
    commits: int
    ahead: Furthest | None


@finder(STALLED, IDLE)
def find_stalls(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for each topic whose partitions stand still at the end, and for each with many idle commits."""
    stalls, idle = defaultdict[str, list[_Stall]](list), defaultdict[str, list[_Stall]](list)
    is_alive = bool(rows.groups) and rows.groups[-1].to_log_offset is None and rows.groups[-1].members > 0

    def is_looked_at(sums: PartitionSums) -> bool:
        return sums.longest_run >= SAME or (is_alive and _still(sums.moved_at, context) >= STALL_MS)

    for at, commits in rows.effective_where(is_looked_at):
        longest = last = None
        for last in _runs(at, commits):
            longest = last if longest is None or last.commits > longest.commits else longest
        stall = None if last is None else _standing(last, commits, context)
        if is_alive and stall is not None and _is_owned(rows, at):
            stalls[at.topic].append(stall)
        if longest is not None and longest.commits >= SAME:
            idle[at.topic].append(longest)
    for topic, some in stalls.items():
        yield _stalled(rows, topic, some, context)
    for topic, some in idle.items():
        yield _idle(rows, topic, some)


def _is_owned(rows: GroupRows, at: TopicPartition) -> bool:
    """Return whether a member has the partition at the end, as far as the log tells: others no longer ask for its topic."""
    there = [row for row in rows.members if row.to_log_offset is None]
    owned = {name for row in there for name in (*row.assignment, *row.pending_revocation)}
    return not owned or f"{at.topic}-{at.partition}" in owned


def _standing(run: _Stall, commits: Sequence[OffsetHistoryRow], context: LogContext) -> _Stall | None:
    """Return the last run of a partition as its stall at the end of the log; None if it moved lately, measured by its pace."""
    is_moving = len(commits) > run.commits and run.last.to_log_offset is None
    still = _still(run.first.from_timestamp, context)
    if (
        not is_moving
        or still < STALL_MS
        or context.newest_at is None
        or len(commits) < LEAST_COMMITS
        or run.last.from_timestamp < 0
    ):
        return None
    times = map(attrgetter("from_timestamp"), commits)
    pauses = array("q", (difference(after, before) for before, after in pairwise(times)))
    if still < USUAL * median(pauses):
        return None
    ahead = context.furthest.get(run.at)
    return run._replace(ahead=_if_ahead(ahead, run.last.committed_offset))


def _still(moved_at: int, context: LogContext) -> int:
    """Return for how long nothing has moved, up to the newest record, milliseconds."""
    return age_at(context.newest_at, moved_at) or 0


def _if_ahead(furthest: Furthest | None, committed_offset: int) -> Furthest | None:
    is_ahead = furthest is not None and difference(furthest.committed_offset, committed_offset) > NEAR
    return furthest if is_ahead else None


def _runs(at: TopicPartition, commits: Iterable[OffsetHistoryRow]) -> Iterator[_Stall]:
    """Yield the runs of commits of one offset, in the order of the commits."""
    return (_run(at, run) for _, run in groupby(commits, attrgetter("committed_offset")))


def _run(at: TopicPartition, commits: Iterator[OffsetHistoryRow]) -> _Stall:
    first = last = next(commits)
    number = 1
    for commit in commits:
        last, number = commit, number + 1
    return _Stall(at, first, last, number, None)


def _stalled(rows: GroupRows, topic: str, stalls: list[_Stall], context: LogContext) -> Finding:
    first = min(stalls, key=lambda stall: stall.first.from_log_offset).first
    is_deleted = any(row.topic == topic and row.cause == Cause.TOPIC_DELETED for row in rows.removed)
    # What others committed for a topic of the same name that was deleted says nothing.
    ahead = None if is_deleted else next((stall for stall in stalls if stall.ahead is not None), None)
    still = _still(first.from_timestamp, context)
    title = (
        f"Group {named(rows.group)} has not moved in topic {named(topic)} {in_partitions([s.at.partition for s in stalls])}"
        f"{at_time(first.from_timestamp, 'since')}, for {span(still)} up to the newest record"
    )
    if ahead is not None and ahead.ahead is not None:
        behind = ahead.ahead.committed_offset - ahead.last.committed_offset
        title += f"; group {named(ahead.ahead.group)} has read {behind:,} further in partition {ahead.at.partition}"
    return found(
        STALLED,
        rows,
        Places(tuple(stall.last.commit_log_offset for stall in stalls), first.from_timestamp),
        title,
        topic=topic,
        partition=stalls[0].at.partition if len(stalls) == 1 else None,
        confidence=Confidence.AMBIGUOUS if ahead is None else Confidence.LIKELY,
        severity=Severity.NOTICE if ahead is None else Severity.WARNING,
        alternatives=(NO_RECORDS,) if ahead is None else ("read_from_elsewhere",),
    )


def _idle(rows: GroupRows, topic: str, runs: list[_Stall]) -> Finding:
    commits = sum(run.commits for run in runs)
    first = min(runs, key=lambda run: run.first.from_log_offset).first
    last = max(runs, key=lambda run: run.last.from_log_offset).last
    return found(
        IDLE,
        rows,
        Places((first.commit_log_offset, last.commit_log_offset), first.from_timestamp, last.from_timestamp),
        f"Group {named(rows.group)} committed the same offset of topic {named(topic)} "
        f"{in_partitions([run.at.partition for run in runs])} again and again{from_time(first.from_timestamp)}: "
        f"{count(commits, 'commit')} that changed nothing",
        topic=topic,
        partition=runs[0].at.partition if len(runs) == 1 else None,
    )


class _Pause(NamedTuple):
    """Two commits that moved a partition, with a long pause between, and how far the second moved it."""

    before: OffsetHistoryRow
    after: OffsetHistoryRow
    step: int

    @property
    def lasted(self) -> int:
        """How long nothing moved, milliseconds."""
        return difference(self.after.from_timestamp, self.before.from_timestamp)


@finder(ENDED)
def find_ended_stalls(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for each topic of which partitions stood still and caught up, with the longest pause of each."""
    by_topic = defaultdict[str, list[_Pause]](list)
    has_ever_members = any(row.members for row in rows.groups)
    for at, commits in rows.effective_where(lambda sums: has_ever_members and _may_pause(sums)):
        pauses = [pause for pause in _pauses(commits) if _is_stall(rows, pause)]
        if pauses:
            by_topic[at.topic].append(max(pauses, key=lambda pause: pause.lasted))
    for topic, some in by_topic.items():
        yield _ended(rows, topic, some)


def _may_pause(sums: PartitionSums) -> bool:
    return sums.commits > LEAST_COMMITS and sums.longest_rest >= STALL_MS


def _pauses(commits: Sequence[OffsetHistoryRow]) -> Iterator[_Pause]:
    """Yield pauses that are long for a partition's pace and after which it moved by more than usual."""
    # Most partitions never pause: little is asked of them.
    if len(commits) <= LEAST_COMMITS or commits[-1].from_timestamp - commits[0].from_timestamp < STALL_MS:
        return
    # Numbers of all that moved, not rows: there may be millions.
    places, times, offsets = array("q"), array("q"), array("q")
    for place, row in enumerate(commits):
        if not offsets or row.committed_offset != offsets[-1]:
            places.append(place)
            times.append(row.from_timestamp)
            offsets.append(row.committed_offset)
    lasted = list(map(sub, times[1:], times))
    if len(places) <= LEAST_COMMITS or max(lasted) < STALL_MS or min(times) < 0:
        return
    steps = list(map(sub, offsets[1:], offsets))
    long, far = max(STALL_MS, USUAL * median(lasted)), BACKLOG * median(map(abs, steps))
    for number, (before, after) in enumerate(pairwise(places)):
        step = max(steps[number : number + SOON])
        if lasted[number] >= long and step >= far:
            yield _Pause(commits[before], commits[after], step)


def _is_stall(rows: GroupRows, pause: _Pause) -> bool:
    """Return whether the group had members all the time, and no record of that time can be missing."""
    first, last = pause.before.from_log_offset, pause.after.from_log_offset
    if first < rows.proven_from or not rows.has_members_at(first):
        return False
    return all(row.members for row in rows.groups if first < row.from_log_offset < last)


def _ended(rows: GroupRows, topic: str, pauses: list[_Pause]) -> Finding:
    longest = max(pauses, key=lambda pause: pause.lasted)
    partitions = sorted(pause.before.partition for pause in pauses)
    return found(
        ENDED,
        rows,
        Places(
            (longest.after.commit_log_offset, *(pause.before.commit_log_offset for pause in pauses)),
            longest.before.from_timestamp,
            longest.after.from_timestamp,
        ),
        f"Group {named(rows.group)} did not move in topic {named(topic)} {in_partitions(partitions)} for "
        f"{span(longest.lasted)}{from_time(longest.before.from_timestamp)}, though it had members, and then moved "
        f"{count(longest.step, 'record')} ahead with one commit",
        topic=topic,
        partition=partitions[0] if len(partitions) == 1 else None,
        confidence=Confidence.AMBIGUOUS,
        alternatives=(NO_RECORDS,),
    )
