"""Did a group stop, for good or for a while, or only commit and never move? What there was to read is in no commit.

A partition without new records looks the same, and so these are ambiguous unless another group has read on, or its end is known.
"""

from array import array
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby, pairwise
from operator import attrgetter, sub
from statistics import median
from typing import Final, NamedTuple

from offsets_tool.expiry.causes import Cause, Confidence
from offsets_tool.findings.context import Furthest, LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import at_time, count, from_time, in_partitions, named, span, was
from offsets_tool.history.rows import GroupHistoryRow, OffsetHistoryRow
from offsets_tool.log_clock import age_at
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.wire.longs import difference

STALLED: Final = FindingKind(
    "stalled",
    Severity.NOTICE,
    "A group with members stopped committing, or committed again and again without moving, while it used to move.",
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
GOES_ON: Final = 3
"""How many times its longest pause between commits a group is silent, at least, if that is no usual pause."""
BACKLOG: Final = 10
"""How many times its usual step a group moves ahead, at least, if records waited for it."""
OF_PAUSE: Final = 2
"""A silence of the whole group is what a partition's pause comes from if it is at least one such part of it."""
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
STUCK_MS: Final = 1_800_000
"""How long a partition must not have moved, at least, while the others of its topic did, if the group has ended since."""
LONGER: Final = 3
"""How many times its longest rest before it must then not have moved: partitions of few keys rest often."""
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
    ahead: Furthest | None = None
    unread: int | None = None
    """How many offsets wait there, by its known end; None unknown."""


class _Life(NamedTuple):
    """The last stretch of the log in which the group had members: to its last state with any, or to the end of the log."""

    last: GroupHistoryRow
    until: int | None
    """When it ended, epoch milliseconds; the time of the newest record where the group is alive."""

    @property
    def is_alive(self) -> bool:
        """Whether the group has members at the end of the log."""
        return self.last.to_log_offset is None


@finder(STALLED, IDLE)
def find_stalls(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for each topic whose partitions stand still, at the end or until the group ended, and for idle commits."""
    stalls = defaultdict[tuple[str, bool], list[_Stall]](list)
    idle = defaultdict[str, list[_Stall]](list)
    life, by_partition = _last_life(rows, context), rows.offsets.by_partition
    is_idle = set(by_partition.where(by_partition.run_lengths() >= SAME))
    looked_at = (at for at, time in by_partition.moved_at.items() if at in is_idle or _may_stand(time, life))
    for at, commits in by_partition.rows_of(looked_at):
        longest = last = None
        for last in _runs(at, commits):
            longest = last if longest is None or last.commits > longest.commits else longest
        stall = None if last is None or life is None else _stall(rows, life, last, commits, context)
        if stall is not None:
            stalls[at.topic, bool(stall.unread)].append(stall)
        if longest is not None and longest.commits >= SAME:
            idle[at.topic].append(longest)
    for (topic, _), some in stalls.items():
        assert life is not None
        yield _stalled(rows, topic, some, context) if life.is_alive else _stuck(rows, topic, some, context)
    for topic, some in idle.items():
        yield _idle(rows, topic, some)


def _last_life(rows: GroupRows, context: LogContext) -> _Life | None:
    last = next((row for row in reversed(rows.groups) if row.members), None)
    if last is None:
        return None
    return _Life(last, context.newest_at if last.to_log_offset is None else last.to_timestamp)


def _may_stand(moved_at: int, life: _Life | None) -> bool:
    """Return whether a partition that moved last at a time may count as one that stands still."""
    if life is None or life.until is None or moved_at < 0:
        return False
    return (age_at(life.until, moved_at) or 0) >= (STALL_MS if life.is_alive else STUCK_MS)


def _stall(
    rows: GroupRows, life: _Life, run: _Stall, commits: Sequence[OffsetHistoryRow], context: LogContext
) -> _Stall | None:
    """Return the last run of a partition as its stall; None if it moved lately, measured by its pace, or all was read."""
    if not _may_stand(run.first.from_timestamp, life) or len(commits) < LEAST_COMMITS:
        return None
    is_moving = len(commits) > run.commits and run.last.from_timestamp >= 0
    if not is_moving or (life.is_alive and run.last.to_log_offset is not None):
        return None
    is_standing = (
        _is_standing(rows, run, commits, life) if life.is_alive else _is_stuck(rows, run, commits, life)
    )
    if not is_standing:
        return None
    unread = _unread(run, context)
    ahead = _if_ahead(context.furthest.get(run.at), run.last.committed_offset)
    return None if unread == 0 else run._replace(ahead=ahead, unread=unread)


def _unread(run: _Stall, context: LogContext) -> int | None:
    """Return how many offsets waited in a partition that stands still; None where no end of that time is known, or some are few."""
    end, newest_at = context.ends.offsets.get(run.at), context.newest_at
    if end is None or newest_at is None or difference(context.ends.at, newest_at) > STALL_MS:
        return None
    unread = difference(end, run.last.committed_offset)
    return unread if unread == 0 or unread > NEAR else None


def _is_standing(rows: GroupRows, run: _Stall, commits: Sequence[OffsetHistoryRow], life: _Life) -> bool:
    """Return whether a partition of a group that is alive has stood still for long by its pace, and a member has it."""
    times = map(attrgetter("from_timestamp"), commits)
    pauses = array("q", (difference(after, before) for before, after in pairwise(times)))
    still = age_at(life.until, run.first.from_timestamp) or 0
    return still >= USUAL * median(pauses) and _is_owned(rows, run.at, None)


def _is_stuck(rows: GroupRows, run: _Stall, commits: Sequence[OffsetHistoryRow], life: _Life) -> bool:
    """Return whether a partition stood still until the group ended, while a member had it and most others of its topic went on."""
    began = run.first.from_log_offset
    moved_at = _others_moved_at(rows, run.at)
    went_on = [time for time in moved_at if difference(time, run.first.from_timestamp) >= STUCK_MS]
    if 2 * len(went_on) <= len(moved_at) or began < rows.proven_from:
        return False
    has_members = rows.had_members(began, life.last.from_log_offset)
    moves = [stall.first.from_timestamp for stall in _runs(run.at, commits)]
    rests = array("q", map(sub, moves[1:], moves))
    still = difference(max(went_on), run.first.from_timestamp)
    return has_members and still >= LONGER * max(rests) and _is_owned(rows, run.at, max(went_on))


def _others_moved_at(rows: GroupRows, at: TopicPartition) -> list[int]:
    """Return when each other partition of a topic moved last."""
    return [moved_at for partition, moved_at in rows.moved_at[at.topic].items() if partition != at.partition]


def _is_owned(rows: GroupRows, at: TopicPartition, moment: int | None) -> bool:
    """Return whether a member has the partition at a time, None for the end of the log, as far as the log tells.

    Where a member has others and nobody has it, nobody asks for its topic any more.
    """
    owned = rows.held_at_end if moment is None else _held_at(rows, moment)
    return not owned or f"{at.topic}-{at.partition}" in owned


def _held_at(rows: GroupRows, moment: int) -> set[str]:
    """Return the partitions that members had at a time, as texts of the histories."""
    return {
        name
        for row in rows.members
        if row.from_timestamp <= moment and (row.to_timestamp is None or moment <= row.to_timestamp)
        for name in row.held
    }


def _if_ahead(furthest: Furthest | None, committed_offset: int) -> Furthest | None:
    is_ahead = furthest is not None and difference(furthest.committed_offset, committed_offset) > NEAR
    return furthest if is_ahead else None


def _runs(at: TopicPartition, commits: Iterable[OffsetHistoryRow]) -> Iterator[_Stall]:
    """Yield the runs of commits of one offset, in the order of the commits."""
    # Below 0 is no offset: whoever commits it again and again stands nowhere.
    runs = groupby(commits, attrgetter("committed_offset"))
    return (_run(at, run) for committed_offset, run in runs if committed_offset >= 0)


def _run(at: TopicPartition, commits: Iterator[OffsetHistoryRow]) -> _Stall:
    first = last = next(commits)
    number = 1
    for commit in commits:
        last, number = commit, number + 1
    return _Stall(at, first, last, number)


def _stalled(rows: GroupRows, topic: str, stalls: list[_Stall], context: LogContext) -> Finding:
    """Return the finding for partitions of a topic that stand still at the end of the log."""
    latest = max(stall.first.from_timestamp for stall in stalls)
    still = span(age_at(context.newest_at, latest))
    title = (
        f"Group {named(rows.group)} has not moved in topic {named(topic)} {in_partitions([s.at.partition for s in stalls])}"
        f"{at_time(latest, 'since')}, for {still} up to the newest record{_earlier(stalls)}"
    )
    return _standing_still(rows, stalls, context, title)


def _stuck(rows: GroupRows, topic: str, stalls: list[_Stall], context: LogContext) -> Finding:
    """Return the finding for partitions of a topic that stood still until the group ended."""
    latest = max(stall.first.from_timestamp for stall in stalls)
    stuck = {stall.at.partition for stall in stalls}
    went_on = [
        moved_at
        for partition, moved_at in rows.moved_at[topic].items()
        if partition not in stuck and moved_at > latest
    ]
    title = (
        f"Group {named(rows.group)} did not move in topic {named(topic)} {in_partitions([s.at.partition for s in stalls])}"
        f"{from_time(latest)}, for {span(difference(max(went_on), latest))} in which {count(len(went_on), 'other partition')} "
        f"moved on, until the group had no members{_earlier(stalls)}"
    )
    return _standing_still(rows, stalls, context, title, max(went_on))


def _earlier(stalls: list[_Stall]) -> str:
    """Return since when the first of several partitions stands still, if that is earlier than what holds for all."""
    first = min(stalls, key=lambda stall: stall.first.from_log_offset)
    latest = max(stall.first.from_timestamp for stall in stalls)
    if first.first.from_timestamp // 1000 == latest // 1000:
        return ""
    return f"; in partition {first.at.partition}{at_time(first.first.from_timestamp, 'since')}"


def _standing_still(
    rows: GroupRows, stalls: list[_Stall], context: LogContext, title: str, until: int | None = None
) -> Finding:
    """Return the finding for partitions that stand still, with what tells that there was something to read."""
    first = min(stalls, key=lambda stall: stall.first.from_log_offset).first
    topic = stalls[0].at.topic
    is_deleted = any(row.topic == topic and row.cause == Cause.TOPIC_DELETED for row in rows.removed)
    # What others committed for a topic of the same name that was deleted says nothing.
    ahead = None if is_deleted else next((stall for stall in stalls if stall.ahead is not None), None)
    unread = sum(stall.unread or 0 for stall in stalls)
    confidence, alternatives = Confidence.AMBIGUOUS, tuple[str, ...]((NO_RECORDS,))
    if unread:
        in_all = " in all" if len(stalls) > 1 else ""
        title += (
            f"; {count(unread, 'offset')}{in_all} {was(unread)} left to read there{at_time(context.ends.at)}"
        )
        confidence, alternatives = Confidence.LIKELY, ()
    elif ahead is not None and ahead.ahead is not None:
        behind = ahead.ahead.committed_offset - ahead.last.committed_offset
        title += f"; group {named(ahead.ahead.group)} has read {behind:,} further in partition {ahead.at.partition}"
        confidence, alternatives = Confidence.LIKELY, ("read_from_elsewhere",)
    return found(
        STALLED,
        rows,
        Places(tuple(stall.last.commit_log_offset for stall in stalls), first.from_timestamp, until),
        title,
        topic=topic,
        partition=stalls[0].at.partition if len(stalls) == 1 else None,
        confidence=confidence,
        severity=Severity.NOTICE if confidence is Confidence.AMBIGUOUS else Severity.WARNING,
        alternatives=alternatives,
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


class _Pace(NamedTuple):
    """The pace of a group's commits: at how many times there were any, the first and last of these, and the longest pause."""

    times: int
    first: int
    last: int
    longest: int

    def with_commit(self, at: int) -> "_Pace":
        """Return the pace with one commit more; several of one time are one."""
        if at <= self.last:
            return self
        return _Pace(self.times + 1, self.first, at, max(self.longest, at - self.last))

    @property
    def usual(self) -> float:
        """The mean pause between two commits."""
        return (self.last - self.first) / max(self.times - 1, 1)

    def is_unusual(self, silence: int) -> bool:
        """Return whether the group was silent for far longer than it ever is between two commits."""
        is_steady = self.times >= LEAST_COMMITS
        return is_steady and silence >= max(STALL_MS, USUAL * self.usual, GOES_ON * self.longest)


class StandStill(NamedTuple):
    """A silence of a group that ended with the record of a generation; its pace before, and when it moved on."""

    pace: _Pace
    last_log_offset: int
    began: GroupHistoryRow

    @property
    def silence(self) -> int:
        """How long nothing was committed, up to the record of the generation, milliseconds."""
        return difference(self.began.from_timestamp, self.pace.last)


def _may_have_waited(before: GroupHistoryRow, after: GroupHistoryRow) -> bool:
    is_generation = (
        None not in (before.generation, after.generation) and before.generation != after.generation
    )
    is_long = difference(after.from_timestamp, before.from_timestamp) >= STALL_MS
    return is_generation and is_long and before.members > 0 and after.members > 0


def stand_stills(rows: GroupRows) -> Iterator[StandStill]:
    """Yield the silences of a classic group that a generation ended and after which it moved on at once, in the order of the log.

    Each has the last generation that began before the group moved on.
    """
    may_have_waited = any(_may_have_waited(before, after) for before, after in pairwise(rows.groups))
    if may_have_waited and (rows.offsets.by_partition.rests() >= STALL_MS).any():
        yield from _silences(rows)


def _silences(rows: GroupRows) -> Iterator[StandStill]:
    states = deque(_states(rows))
    pace: _Pace | None = None
    last, still = -1, None
    fields = ("from_log_offset", "from_timestamp", "delta")
    commits = rows.offsets.fields(*fields, where=rows.offsets.is_commit)
    for log_offset, at, delta in commits:
        while states and states[0].from_log_offset < log_offset:
            began = states.popleft()
            if began.generation is None or not began.members or last < rows.proven_from:
                pace = still = None
            elif pace is not None and pace.is_unusual(difference(began.from_timestamp, pace.last)):
                still = StandStill(pace, last, began)
        if still is not None and delta and delta > 0:
            # A generation whose time is ahead of that of the next commit tells nothing: one of the clocks is wrong.
            was_silent = still.pace.is_unusual(difference(at, still.pace.last))
            if was_silent and difference(at, still.began.from_timestamp) <= USUAL * still.pace.usual:
                yield still
            pace = still = None
        if at >= 0 and still is None:
            pace = _Pace(1, at, at, 0) if pace is None else pace.with_commit(at)
        last = log_offset


def _states(rows: GroupRows) -> Iterator[GroupHistoryRow]:
    """Yield the group at the beginning of each generation, and where it has no members or none that is known."""
    before: GroupHistoryRow | None = None
    for row in rows.groups:
        is_same = before is not None and before.generation == row.generation is not None and row.members
        if not is_same:
            yield row
        before = row


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
    waits = cache(lambda: list(stand_stills(rows)))
    by_partition = rows.offsets.by_partition
    rested = by_partition.where(by_partition.rests() >= STALL_MS) if has_ever_members else ()
    for at, commits in by_partition.rows_of(rested):
        pauses = [pause for pause in _pauses(commits) if _is_stall(rows, pause)]
        pauses = [pause for pause in pauses if not any(_is_wait(pause, wait) for wait in waits())]
        if pauses:
            by_topic[at.topic].append(max(pauses, key=lambda pause: pause.lasted))
    for topic, of_topic in by_topic.items():
        yield _ended(rows, topic, of_topic)


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
    return first >= rows.proven_from and rows.had_members(first, last)


def _is_wait(pause: _Pause, wait: StandStill) -> bool:
    """Return whether a pause of a partition is a silence of the whole group, which a generation ended: that is told as such."""
    is_within = pause.before.from_log_offset <= wait.last_log_offset < pause.after.from_log_offset
    return is_within and OF_PAUSE * wait.silence >= pause.lasted


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
        f"{'' if len(pauses) == 1 else 'up to '}{span(longest.lasted)}{from_time(longest.before.from_timestamp)}, though it had "
        f"members, and then moved {count(longest.step, 'record')} ahead with one commit"
        f"{'' if len(pauses) == 1 else f' of partition {longest.before.partition}'}",
        topic=topic,
        partition=partitions[0] if len(partitions) == 1 else None,
        confidence=Confidence.AMBIGUOUS,
        alternatives=(NO_RECORDS,),
    )
