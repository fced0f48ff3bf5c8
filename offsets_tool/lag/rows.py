"""A row of the table `lag`, declared once, and how it is made: at each commit, and on a grid of times.

One group and one partition of a topic at a time, its commits in the order of time. Null means what the column's sentence says.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice, pairwise
from typing import Annotated, Final, NamedTuple, Protocol

from offsets_tool.lag.ends import Ends
from offsets_tool.lag.lag import ends_at_moment, lag_of
from offsets_tool.lag.samples import CommitAt, committed_at
from offsets_tool.lag.time_lag import Written, time_lag_of
from offsets_tool.replay.changes import OffsetOf
from offsets_tool.rows import NO_TIMESTAMP
from offsets_tool.wire.schema import Int32, Int64, String
from offsets_tool.wire.times import UtcTime

WrittenOf = Callable[[int], Written | None]
"""When the record at an offset was written, where its log is there; None where that does not say it."""
GRID_REACH_MS: Final = 366 * 86_400_000
"""How far behind a commit a grid goes on: a year."""
_MOST_TIMES: Final = 1 << 22
"""Eight years of minutes, for one group's offset in one partition."""


class LagRow(NamedTuple):
    """How far behind a group was in one partition at a moment, in offsets and in time, and how that is known."""

    group: Annotated[String, "The group."]
    topic: Annotated[String, "Topic of the committed offset."]
    partition: Annotated[Int32, "Partition of that topic."]
    moment_at: Annotated[
        UtcTime | None,
        "The moment: a commit's, or a time of the grid; null if timestamp is no time of the calendar.",
    ]
    timestamp: Annotated[Int64, "The moment as the commit's record has it, epoch milliseconds."]
    committed_offset: Annotated[
        Int64 | None,
        "The committed position at that moment; null if nothing was committed. Below 0 it is none.",
    ]
    end_offset: Annotated[Int64 | None, "End of the partition, as method says; null if it is not known."]
    lag: Annotated[
        Int64 | None,
        "Offsets left to read, never negative; null if it cannot be told, as of a commit beyond the end.",
    ]
    lag_min: Annotated[Int64, "What lag was at least."]
    lag_max: Annotated[Int64 | None, "What lag was at most; null if that is open."]
    time_lag_ms: Annotated[
        Int64 | None,
        "How long ago the record at the committed offset was written, milliseconds; 0 if none is left; null if unknown.",
    ]
    time_lag_min_ms: Annotated[Int64, "What that was at least."]
    time_lag_max_ms: Annotated[Int64 | None, "What that was at most; null if that is open."]
    method: Annotated[
        String, "How the end is known: sampled, index, interpolated, lower bound, upper bound or none."
    ]
    confidence: Annotated[String, "How sure lag is: exact, high, medium, low or none."]
    time_method: Annotated[
        String,
        "How the time is known: record, interpolated, extrapolated, bound, caught up or none.",
    ]
    time_confidence: Annotated[String, "How sure time_lag_ms is: exact, high, medium, low or none."]
    counted_from: Annotated[String, "committed offset, or log start where nothing was committed."]
    log_start_offset: Annotated[
        Int64 | None, "Latest log start seen up to that moment; null if none was. It may have been higher."
    ]
    data_lost: Annotated[
        Int64 | None,
        "Offsets that retention deleted before the group had read them, at least; null if log_start_offset is.",
    ]
    beyond_end: Annotated[
        Int64,
        "Offsets that the commit is beyond the end: a wrong commit, or a log that lost its tail; else 0.",
    ]
    is_topic_recreated: Annotated[
        bool, "Whether the topic was created anew between the commit and that moment."
    ]


class EffectiveCommit(NamedTuple):
    """A commit with the time from which it was effective, and until when (None: it still is), in epoch milliseconds."""

    commit: CommitAt
    since: int
    until: int | None = None


class CommittedRow(Protocol):
    """The fields of an OffsetHistoryRow that lag is computed from."""

    @property
    def is_effective(self) -> bool: ...
    @property
    def committed_offset(self) -> int: ...
    @property
    def topic_id(self) -> str | None: ...
    @property
    def commit_timestamp(self) -> int: ...
    @property
    def from_timestamp(self) -> int: ...
    @property
    def to_timestamp(self) -> int | None: ...


def commit_of(row: CommittedRow) -> CommitAt:
    """Return the commit of a row of an offset history, at the time of its record."""
    at = committed_at(row.from_timestamp, row.commit_timestamp)
    return CommitAt(at, row.committed_offset, row.topic_id)


def effective_commit(row: CommittedRow, commit: CommitAt) -> EffectiveCommit:
    """Return the commit of a row of an offset history with the times between which it was effective, by the times of records."""
    return EffectiveCommit(commit, commit.at, None if row.to_timestamp == NO_TIMESTAMP else row.to_timestamp)


def lag_row(
    of: OffsetOf,
    commit: CommitAt | None,
    ends: Ends,
    at: int,
    written_of: WrittenOf | None = None,
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
    written_of: WrittenOf | None = None,
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
    written_of: WrittenOf | None = None,
) -> Iterator[LagRow]:
    """Yield the lag at each time of a rising `grid` (epoch milliseconds) at which one of the commits was effective."""
    rest = iter(commits)
    present, following = None, next(rest, None)
    for at in grid:
        while following is not None and following.since <= at:
            present, following = following, next(rest, None)
        if present is not None and (present.until is None or at < present.until):
            yield lag_row(of, present.commit, ends, at, written_of)
