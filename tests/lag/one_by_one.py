"""Lag of one commit at one moment, by plain Python: the oracle that the columns are held against."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, pairwise
from typing import Any, Final, NamedTuple

from offsets_tool.lag import ends as product
from offsets_tool.lag.commits import LogCommits
from offsets_tool.lag.lags import Position, lags_of
from offsets_tool.lag.rows import CountedFrom, LagConfidence, LagMethod, LagRow, TimeMethod
from offsets_tool.lag.samples import EndMethod, EndSample, Written
from offsets_tool.log_clock import LogClock
from offsets_tool.replay.changes import OffsetOf, TopicPartition
from offsets_tool.rows import NO_TIMESTAMP
from offsets_tool.wire.longs import difference

_AT_SAMPLE: Final = -1
"""In place of a number of bounds: what a sample says of its own moment stands."""
GRID_REACH_MS: Final = 366 * 86_400_000
_MOST_TIMES: Final = 1 << 22


class CommitAt(NamedTuple):
    """An offset that a group committed, and when (epoch ms)."""

    at: int
    committed_offset: int
    topic_id: str | None = None

    @property
    def is_offset(self) -> bool:
        """Whether the number is an offset: below 0 it is none, as a broker answers for what was never committed (KAFKA-12926)."""
        return self.committed_offset >= 0


def committed_ends(topic: str, partition: int, commits: Iterable[CommitAt]) -> Iterator[EndSample]:
    """Yield a lower bound of a partition's end wherever a commit goes beyond all earlier ones; commits come in the order of time.

    No broker checks a commit against the log, so a client may commit any offset: Ends weighs these bounds against real samples.
    """
    highest: dict[str | None, int] = {}
    for commit in commits:
        if commit.committed_offset > highest.get(commit.topic_id, -1):
            highest[commit.topic_id] = commit.committed_offset
            yield EndSample(
                topic,
                partition,
                commit.at,
                end_offset=commit.committed_offset,
                method=EndMethod.COMMITTED,
                source="commits",
                topic_id=commit.topic_id,
            )


class EndAt(NamedTuple):
    """The end at a moment: not below `low` (None: nothing is known), not above `high` (None: open).

    `methods` are those of the samples around the moment, and of the commit that implies `low`.
    """

    low: int | None
    high: int | None
    estimate: int | None
    methods: tuple[EndMethod, ...] = ()


class TopicLifetime:
    """The lifetime of a topic, asked for an end at one moment after the other."""

    def __init__(self, known: product.TopicLifetime | None = None) -> None:
        known = known or product.TopicLifetime()
        self.topic_id, self.begins = known.topic_id, known.begins
        self.times, self.ends, self.methods = known.times, known.ends, known.methods
        self.start_times, self.starts = known.start_times, known.starts
        self.bound_times: list[int] = []
        self.bounds: list[int] = []

    def add_bound(self, at: int, end: int) -> None:
        """Add a lower bound of the end from a commit, which a later sample of a lower end refutes."""
        later = bisect_left(self.times, at)
        if later < len(self.ends) and self.ends[later] < end:
            return
        if not self.bounds or end > self.bounds[-1]:
            self.bound_times.append(at)
            self.bounds.append(end)

    def log_start_at(self, at: int) -> int | None:
        """Return the latest log start seen up to a moment (epoch milliseconds); the true one is not lower. None if none was."""
        i = bisect_right(self.start_times, at)
        return self.starts[i - 1] if i else None

    def first_log_start(self) -> int | None:
        """Return the earliest log start that was seen; before it, the true one was not higher. None if none was."""
        return self.starts[0] if self.starts else None

    def end_at(self, at: int) -> EndAt:
        """Return the end at a moment, in epoch milliseconds."""
        i = bisect_right(self.times, at)
        b = bisect_right(self.bound_times, at)
        if i and self.times[i - 1] == at:
            b = _AT_SAMPLE
        known = self._at_sample(i) if b == _AT_SAMPLE else self._behind(i, b)
        low, high = known.low, known.high
        if low is None or high is None or low == high:
            return known
        return EndAt(low, high, max(low, self._between(at, i)), known.methods)

    def _at_sample(self, i: int) -> EndAt:
        end = self.ends[i - 1]
        return EndAt(end, end, end, (self.methods[i - 1],))

    def _behind(self, i: int, b: int) -> EndAt:
        """Return the end after the first `i` samples and the first `b` bounds; the estimate is the least that it can be."""
        low = left = self.ends[i - 1] if i else None
        methods = tuple(self.methods[max(0, i - 1) : i + 1])
        bound = self.bounds[b - 1] if b else None
        if bound is not None and (left is None or bound > left):
            low, methods = bound, (*methods, EndMethod.COMMITTED)
        return EndAt(low, self.ends[i] if i < len(self.ends) else None, low, methods)

    def _between(self, at: int, i: int) -> int:
        """Return the end on a straight line between sample i and the one before it; before the first sample, from the first commit
        on.
        """
        since, low = (self.times[i - 1], self.ends[i - 1]) if i else (self.bound_times[0], self.bounds[0])
        return low + (self.ends[i] - low) * (at - since) // (self.times[i] - since)


class Ends:
    """The ends of one partition over time, with the samples that they are made of."""

    def __init__(self, samples: Iterable[EndSample] = (), *, is_last_stable: bool = False) -> None:
        self.samples, self.is_last_stable = list(samples), is_last_stable
        made = product.Ends.of(self.samples, is_last_stable=is_last_stable)
        self.lifetimes = tuple(map(TopicLifetime, made.lifetimes))
        bounds = [sample for sample in self.samples if sample.method is EndMethod.COMMITTED]
        bounds.sort(key=lambda sample: (sample.at, sample.end_offset))
        for sample, number in zip(bounds, made.of_commits, strict=False):
            assert sample.end_offset is not None
            self.lifetimes[number].add_bound(sample.at, sample.end_offset)

    def number_at(self, at: int) -> int:
        """Return the number of the topic (counted from 0, in time) that had the partition's name at a moment; 0 if nothing is
        known of it.
        """
        if len(self.lifetimes) < 2:
            return 0
        return max(
            sum(lifetime.begins is not None and lifetime.begins <= at for lifetime in self.lifetimes) - 1, 0
        )

    def lifetime_at(self, at: int) -> TopicLifetime:
        """Return the lifetime at a time; an empty one where nothing is known."""
        if len(self.lifetimes) == 1:
            return self.lifetimes[0]
        return self.lifetimes[self.number_at(at)] if self.lifetimes else TopicLifetime()


class Lag(NamedTuple):
    """Offsets between `counted_from` and `end_offset`; None is what cannot be known.

    `data_lost` offsets below the log start were deleted before the group had read them (compaction is not counted). `beyond_end`
    is how far, at least, the commit is beyond the end: a wrong commit, a log that lost its tail, a topic created anew. Who
    fetches there is refused (OFFSET_OUT_OF_RANGE) and begins elsewhere, so that nobody knows what is left to read.
    """

    lag: int | None
    end_offset: int | None
    lag_min: int
    lag_max: int | None
    method: LagMethod
    confidence: LagConfidence
    counted_from: CountedFrom
    log_start_offset: int | None
    data_lost: int | None
    beyond_end: int
    is_topic_recreated: bool


class EndsAtMoment(NamedTuple):
    """The end of a partition at a moment, and whether a commit was for an earlier topic of the same name."""

    lifetime: TopicLifetime
    end: EndAt
    is_topic_recreated: bool
    is_last_stable: bool = False
    """Whether the end is the last stable offset."""


def ends_at_moment(committed: CommitAt | None, ends: Ends, at: int) -> EndsAtMoment:
    """Return the end of a partition at a moment (epoch ms), and whether its topic was created anew since the commit.

    `committed` is the effective commit at that moment; None for a group that has committed nothing.
    """
    lifetime = ends.lifetime_at(at)
    recreated = committed is not None and _is_of_another(committed, ends, lifetime, at)
    return EndsAtMoment(lifetime, lifetime.end_at(at), recreated, ends.is_last_stable)


def lag_of(committed: CommitAt | None, known: EndsAtMoment, at: int) -> Lag:
    """Return the lag of a commit at a moment (epoch milliseconds), given `ends_at_moment` of that moment.

    `committed` is None for a group without a commit. Nothing fails: what cannot be known is None, and `method` says why.
    """
    lifetime, end, recreated, _ = known
    log_start_offset = lifetime.log_start_at(at)
    base = _base(committed, lifetime, log_start_offset)
    beyond_end = _above(base, end.high) or 0
    # Behind the last stable offset records of open transactions may be, which others read.
    is_outside = beyond_end > 0 and not known.is_last_stable
    lag_min, lag_max = _above(end.low, base) or 0, None if is_outside else _above(end.high, base or 0)
    settled = base is not None and lag_min == lag_max
    return Lag(
        None if is_outside else _above(end.estimate, base),
        end.estimate,
        lag_min,
        lag_max,
        _method(end),
        LagConfidence.NONE
        if base is None or is_outside
        else _confidence(end, settled=settled, doubtful=recreated),
        CountedFrom.LOG_START if committed is None else CountedFrom.COMMITTED,
        log_start_offset,
        data_lost=None if committed is None or recreated else _above(log_start_offset, base),
        beyond_end=beyond_end,
        is_topic_recreated=recreated,
    )


def _is_of_another(committed: CommitAt, ends: Ends, lifetime: TopicLifetime, at: int) -> bool:
    """Return whether a commit was for an earlier topic than the one that has its name at the moment."""
    if committed.topic_id and lifetime.topic_id:
        return committed.topic_id != lifetime.topic_id
    return len(ends.lifetimes) > 1 and ends.number_at(committed.at) != ends.number_at(at)


def _base(committed: CommitAt | None, lifetime: TopicLifetime, log_start_offset: int | None) -> int | None:
    """Return the offset that lag is counted from; None where nobody knows where the group would begin."""
    if committed is None:
        return _earliest(lifetime, log_start_offset)
    return committed.committed_offset if committed.is_offset else None


def _earliest(lifetime: TopicLifetime, log_start_offset: int | None) -> int | None:
    return lifetime.first_log_start() if log_start_offset is None else log_start_offset


def _above(end: int | None, base: int | None) -> int | None:
    if end is None or base is None:
        return None
    return difference(end, base) if end > base else 0


def _method(end: EndAt) -> LagMethod:
    if end.low is None:
        return LagMethod.NONE if end.high is None else LagMethod.UPPER_BOUND
    if end.high is None:
        return LagMethod.LOWER_BOUND
    if end.low < end.high:
        return LagMethod.INTERPOLATED
    return LagMethod.INDEX if EndMethod.INDEX in end.methods else LagMethod.SAMPLED


def _confidence(end: EndAt, *, settled: bool, doubtful: bool) -> LagConfidence:
    if end.estimate is None:
        return LagConfidence.NONE
    if doubtful or end.high is None:
        return LagConfidence.LOW
    if EndMethod.INDEX in end.methods and (settled or set(end.methods) == {EndMethod.INDEX}):
        return LagConfidence.HIGH
    if settled:
        return LagConfidence.EXACT
    return LagConfidence.MEDIUM


class TimeLag(NamedTuple):
    """A time lag with its bounds in milliseconds; `time_lag_max_ms` None means open, `time_lag_ms` None unknown."""

    time_lag_ms: int | None
    time_lag_min_ms: int
    time_lag_max_ms: int | None
    method: TimeMethod
    confidence: LagConfidence


_NOTHING_LEFT = TimeLag(0, 0, 0, TimeMethod.CAUGHT_UP, LagConfidence.EXACT)
_UNKNOWN = TimeLag(None, 0, None, TimeMethod.NONE, LagConfidence.NONE)


def written_at(offset: int, lifetime: TopicLifetime) -> Written:
    """Return when the record at an offset was written, as the ends of its partition imply.

    If the offset is the last end that was seen, no record there is known: the result is a bound.
    """
    i = bisect_right(lifetime.ends, offset)
    earliest = lifetime.times[i - 1] if i else None
    b = bisect_right(lifetime.bounds, offset)
    implied = lifetime.bound_times[b] if b < len(lifetime.bounds) else None
    latest = lifetime.times[i] if i < len(lifetime.ends) else None
    if implied is not None and (latest is None or implied < latest):
        latest = implied
    if earliest is not None and i < len(lifetime.ends):
        method, at = TimeMethod.INTERPOLATED, _between(offset, lifetime, i - 1, i)
    elif len(lifetime.ends) > 1 and lifetime.ends[0] < lifetime.ends[-1] and lifetime.ends[-1] != offset:
        method, at = TimeMethod.EXTRAPOLATED, _between(offset, lifetime, 0, -1)
    else:
        return Written(
            None, earliest, latest, TimeMethod.NONE if earliest is latest is None else TimeMethod.BOUND
        )
    return Written(_clipped(at, earliest, latest), earliest, latest, method)


def _between(offset: int, lifetime: TopicLifetime, first: int, last: int) -> int:
    """Return the time of an offset on the straight line through two samples of the end."""
    grown = lifetime.ends[last] - lifetime.ends[first]
    took = lifetime.times[last] - lifetime.times[first]
    return difference(lifetime.times[last], round((lifetime.ends[last] - offset) * took / grown))


def _clipped(at: int, low: int | None, high: int | None) -> int:
    if high is not None and at > high:
        return high
    return low if low is not None and at < low else at


def time_lag_of(
    committed: CommitAt | None, there: EndsAtMoment, at: int, written: Written | None = None
) -> TimeLag:
    """Return the time lag of a commit at a moment (epoch milliseconds), given `ends_at_moment` of that moment.

    `written` is when the record at the committed offset was written, where its log says so; else that is estimated from the ends.
    """
    if committed is None or not committed.is_offset or there.is_topic_recreated:
        return _UNKNOWN
    end, offset = there.end, committed.committed_offset
    if end.high is not None and offset >= end.high:
        return _NOTHING_LEFT if offset == end.high or there.is_last_stable else _UNKNOWN
    if written is not None and _reads_nothing(written, end):
        return _NOTHING_LEFT
    known = written_at(offset, there.lifetime) if written is None else written
    low = 0 if known.latest is None else max(0, difference(at, known.latest))
    high = None if known.earliest is None else max(0, difference(at, known.earliest))
    if known.method is TimeMethod.NONE:
        return _UNKNOWN
    may_be_caught_up = end.high is None and end.low is not None and offset >= end.low
    if known.at is None or (may_be_caught_up and known.method is not TimeMethod.RECORD):
        return TimeLag(low, low, high, TimeMethod.BOUND, LagConfidence.LOW)
    # A record that may have come after the moment, or did, is not behind at all.
    lag = _clipped(max(0, difference(at, known.at)), low, high)
    return TimeLag(lag, low, high, known.method, _time_confidence(known))


def _reads_nothing(written: Written, end: EndAt) -> bool:
    """Return whether markers are all that lies between the offset and the end."""
    return written.next_offset is not None and end.high is not None and end.high <= written.next_offset


def _time_confidence(known: Written) -> LagConfidence:
    if known.method is TimeMethod.RECORD:
        return LagConfidence.EXACT if known.earliest == known.latest else LagConfidence.HIGH
    return LagConfidence.MEDIUM if known.method is TimeMethod.INTERPOLATED else LagConfidence.LOW


class Bounds:
    """Commits by the partition that they are for."""

    def __init__(self) -> None:
        self._commits: dict[TopicPartition, dict[int | None, list[CommitAt]]] = {}
        self._clocks: dict[tuple[TopicPartition, int | None], LogClock] = {}
        self.is_whole = False
        """Whether all commits of the logs are here, with the times of their records."""

    def add(self, log_partition: int | None, partition: TopicPartition, commit: CommitAt) -> None:
        """Add a commit; commits of one log partition come in their order. `log_partition` None: of no particular log partition."""
        # One clock that stood in another year does not date the ends that others committed.
        clock = self._clocks.setdefault((partition, log_partition), LogClock())
        commit = commit._replace(at=clock.dated(0, commit.at))
        kept = self._commits.setdefault(partition, {}).setdefault(log_partition, [])
        last = kept[-1] if kept else None
        if (
            last is None
            or last.topic_id != commit.topic_id
            or commit.committed_offset > last.committed_offset
        ):
            kept.append(commit)

    def samples(self, partition: TopicPartition) -> Iterator[EndSample]:
        """Return what the commits of a partition say of its end, as samples in the order of time."""
        by_log = self._commits.get(partition, {}).values()
        commits = sorted((commit for kept in by_log for commit in kept), key=lambda commit: commit.at)
        yield from committed_ends(*partition, commits)


class EffectiveCommit(NamedTuple):
    """A commit with the time from which it was effective, and until when (None: it still is), in epoch milliseconds."""

    commit: CommitAt
    since: int
    until: int | None = None


def lag_row(
    of: OffsetOf,
    commit: CommitAt | None,
    ends: Ends,
    at: int,
    written_of: Callable[[int], Written | None] | None = None,
) -> LagRow:
    """Return the row of a commit's lag at a moment; `commit` None is a group without one."""
    written = written_of(commit.committed_offset) if written_of and commit and commit.is_offset else None
    known = ends_at_moment(commit, ends, at)
    found = lag_of(commit, known, at)
    time_lag = time_lag_of(commit, known, at, written)
    return LagRow(
        of.group,
        of.topic,
        of.partition,
        at,
        at,
        commit.committed_offset if commit else None,
        found.end_offset,
        found.lag,
        found.lag_min,
        found.lag_max,
        time_lag.time_lag_ms,
        time_lag.time_lag_min_ms,
        time_lag.time_lag_max_ms,
        found.method._value_,
        found.confidence._value_,
        time_lag.method._value_,
        time_lag.confidence._value_,
        found.counted_from._value_,
        found.log_start_offset,
        found.data_lost,
        found.beyond_end,
        found.is_topic_recreated,
    )


def lag_at_commits(
    of: OffsetOf,
    commits: Iterable[EffectiveCommit],
    ends: Ends,
    written_of: Callable[[int], Written | None] | None = None,
) -> Iterator[LagRow]:
    """Yield the lag at the moment of each commit."""
    for one in commits:
        yield lag_row(of, one.commit, ends, one.since, written_of)


def grid_times(commits: Iterable[int], grid: range) -> Iterator[int]:
    """Yield the times of a grid up to a year after each commit, so that one absurd time does not make rows without end."""
    since = sorted({max(each, grid.start) for each in commits if each < grid.stop})
    times = (
        at
        for begin, end in pairwise([*since, grid.stop])
        for at in range(_first(begin, grid.step), min(end, begin + GRID_REACH_MS), grid.step)
    )
    return islice(times, _MOST_TIMES)


def _first(begin: int, step: int) -> int:
    return -(-begin // step) * step


def lag_on_grid(
    of: OffsetOf,
    commits: Iterable[EffectiveCommit],
    ends: Ends,
    grid: Iterable[int],
    written_of: Callable[[int], Written | None] | None = None,
) -> Iterator[LagRow]:
    """Yield the lag at each time of a rising `grid` (epoch milliseconds) at which one of the commits was effective."""
    rest = iter(commits)
    present, following = None, next(rest, None)
    for at in grid:
        while following is not None and following.since <= at:
            present, following = following, next(rest, None)
        if present is not None and (present.until is None or at < present.until):
            yield lag_row(of, present.commit, ends, at, written_of)


def commit_of(row: Any) -> CommitAt:
    """Return the commit of a row of an offset history, at the time of its record."""
    at = row.commit_timestamp if row.from_timestamp == NO_TIMESTAMP else row.from_timestamp
    return CommitAt(at, row.committed_offset, row.topic_id)


def effective_commits(rows: Iterable[Any]) -> Iterator[EffectiveCommit]:
    """Yield the effective commits of one group's offset in one partition, in the order of the log."""
    for row in rows:
        if row.is_effective:
            commit = commit_of(row)
            until = None if row.to_timestamp == NO_TIMESTAMP else row.to_timestamp
            yield EffectiveCommit(commit, commit.at, until)


PARTITION: Final = TopicPartition("t", 0)


def lag_at(commit: CommitAt | None, ends: Ends, at: int) -> Lag:
    """Return the lag of a commit at a moment (epoch milliseconds), which is the same both ways; `commit` None: without one."""
    row = row_at(commit, ends, at)._asdict()
    words = {"method": LagMethod, "confidence": LagConfidence, "counted_from": CountedFrom}
    return Lag(**{name: words.get(name, lambda value: value)(row[name]) for name in Lag._fields})


def time_lag_at(commit: CommitAt | None, ends: Ends, at: int, written: Written | None = None) -> TimeLag:
    """Return the time lag of a commit at a moment; `written` is when its record was written, where its log says so."""
    row = row_at(commit, ends, at, written)
    words = TimeMethod(row.time_method), LagConfidence(row.time_confidence)
    return TimeLag(row.time_lag_ms, row.time_lag_min_ms, row.time_lag_max_ms, *words)


def row_at(commit: CommitAt | None, ends: Ends, at: int, written: Written | None = None) -> LagRow:
    """Return the row of a commit's lag at a moment, by columns, and hold it against plain Python."""
    of, commits = OffsetOf("g", *PARTITION), LogCommits()
    for number, sample in enumerate(ends.samples):
        if sample.method is EndMethod.COMMITTED:
            assert sample.end_offset is not None
            # Each of a log of its own: in one log, its clock would be asked.
            commits.add(number, PARTITION, sample.at, sample.end_offset, sample.topic_id)
    seen = [sample for sample in ends.samples if sample.method is not EndMethod.COMMITTED]
    known = commit or CommitAt(at, 0)
    position = Position(of, at, commit and commit.committed_offset, known.at, known.topic_id)
    (row,) = lags_of(
        [position],
        {PARTITION: seen},
        commits,
        written and (lambda _partition, _offset: written),
        is_last_stable=ends.is_last_stable,
    )
    assert row == lag_row(of, commit, ends, at, written and (lambda _: written))
    return row
