"""The numbers of lag in offsets and in time, by column: what lag.lag and lag.time_lag compute of commits that are for the topic of
their moment. columns.lag.words has the words for them, by case.
"""

from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.differences import differences
from offsets_tool.columns.lag.ends_at import EndsAt
from offsets_tool.columns.lag.lifetimes import TopicLifetimes
from offsets_tool.columns.lag.nullable import NullableNumbers, before, clipped
from offsets_tool.columns.lag.rising import picked


class Moments(NamedTuple):
    """Commits, each at a moment: the partition's number, the committed offset, the time."""

    partitions: Array
    offsets: Array
    at: Array


class OffsetLag(NamedTuple):
    """Fields of Lag."""

    lag: NullableNumbers
    lag_min: Array
    lag_max: NullableNumbers
    log_start_offset: NullableNumbers
    data_lost: NullableNumbers
    beyond_end: Array

    @classmethod
    def of(cls, lifetimes: TopicLifetimes, moments: Moments, ends: EndsAt) -> "OffsetLag":
        """Return the lag of commits, given the ends at their moments."""
        base, starts = moments.offsets, lifetimes.starts
        found = starts.by_time.up_to(moments.partitions, moments.at)
        start = NullableNumbers(picked(starts.offsets, found.at - 1, found.has_last), found.has_last)
        beyond_end = NullableNumbers(base, ends.high.there).above(ends.high.numbers).numbers
        is_inside = (beyond_end == 0) | lifetimes.is_last_stable
        return cls(
            ends.estimate.above(base).only(is_inside),
            ends.low.above(base).numbers,
            ends.high.above(base).only(is_inside),
            start,
            start.above(base),
            beyond_end,
        )


class _Line(IntEnum):
    """How the time of a record lies on a line between samples of the end."""

    NONE = 0
    BETWEEN = 1
    BEYOND = 2


TIME_CASES: Final = 2 * 2 * len(_Line) * 2
"""How many values TimeLags.case can have."""


class TimeLags(NamedTuple):
    """The fields of TimeLag as arrays, and `case`, which, with the ends, selects the words."""

    lag: NullableNumbers
    lag_min: Array
    lag_max: NullableNumbers
    case: Array

    @classmethod
    def of(cls, lifetimes: TopicLifetimes, moments: Moments, ends: EndsAt) -> "TimeLags":
        """Return the time lag of commits, given the ends at their moments."""
        at, offsets, there = moments.at, moments.offsets, ends.high.there
        is_outside = there & (offsets > ends.high.numbers) & (not lifetimes.is_last_stable)
        caught_up = there & (offsets >= ends.high.numbers) & ~is_outside
        may_be = ~there & ends.low.there & (offsets >= ends.low.numbers)
        written, earliest, latest, line = _written(lifetimes, moments)
        # Nobody knows where a group goes on that stands outside of the log.
        earliest, latest = earliest.only(~is_outside), latest.only(~is_outside)
        line = np.where(is_outside, _Line.NONE, line)
        low = np.where(latest.there & ~caught_up, np.maximum(at - latest.numbers, 0), 0)
        high = NullableNumbers(
            np.where(earliest.there & ~caught_up, np.maximum(at - earliest.numbers, 0), 0),
            earliest.there | caught_up,
        )
        has_bound = earliest.there | latest.there
        is_bound = has_bound & ((line == _Line.NONE) | may_be)
        there = (line != _Line.NONE) | is_bound | caught_up
        lag = clipped(np.maximum(differences(at, written), 0), NullableNumbers(low, there), high)
        lag = np.where(is_bound | caught_up, low, np.where(there, lag, 0))
        case = ((caught_up * np.int64(2) + may_be) * len(_Line) + line) * 2 + has_bound
        return cls(NullableNumbers(lag, there), low, high, case)


def _written(
    lifetimes: TopicLifetimes, moments: Moments
) -> tuple[Array, NullableNumbers, NullableNumbers, Array]:
    """Return when records at the committed offsets were written: on the line, at the earliest, at the latest, and the _Line."""
    samples, bounds = lifetimes.samples, lifetimes.bounds
    found = samples.by_offset.up_to(moments.partitions, moments.offsets)
    bound = bounds.by_offset.up_to(moments.partitions, moments.offsets)
    earliest = NullableNumbers(picked(samples.times, found.at - 1, found.has_last), found.has_last)
    seen = NullableNumbers(picked(samples.times, found.at, found.has_next), found.has_next)
    implied = NullableNumbers(picked(bounds.times, bound.at, bound.has_next), bound.has_next)
    sooner = implied.there & (~seen.there | (implied.numbers < seen.numbers))
    latest = NullableNumbers(np.where(sooner, implied.numbers, seen.numbers), implied.there | seen.there)
    between = found.has_last & found.has_next
    last = found.end - 1
    many = found.end - found.first > 1
    lowest, highest = (picked(samples.offsets, where, many) for where in (found.first, last))
    beyond = many & ~between & (lowest < highest) & (highest != moments.offsets)
    written = np.zeros(len(moments.at), np.int64)
    for rows, first, end in ((between, found.at - 1, found.at), (beyond, found.first, last)):
        which = np.flatnonzero(rows)
        if len(which):
            written[which] = _on_line(lifetimes, moments.offsets[which], first[which], end[which])
    line = np.where(between, _Line.BETWEEN, np.where(beyond, _Line.BEYOND, _Line.NONE))
    return clipped(written, earliest, latest), earliest, latest, line


def _on_line(lifetimes: TopicLifetimes, offsets: Array, first: Array, last: Array) -> Array:
    """Return the times of offsets on the straight lines through two samples."""
    ends, times = lifetimes.samples.offsets, lifetimes.samples.times
    return before(times[last], ends[last] - offsets, times[last] - times[first], ends[last] - ends[first])
