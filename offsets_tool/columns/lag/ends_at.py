"""The ends of many partitions at moments, by column: TopicLifetime.end_at, a moment of one partition in each row."""

from typing import NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.lag.lifetimes import TopicLifetimes
from offsets_tool.columns.lag.nullable import NullableNumbers, floor_of
from offsets_tool.columns.lag.rising import picked


class EndsAt(NamedTuple):
    """The fields of EndAt as arrays; methods are the samples' method numbers, from 1 (0: none), and whether commits imply `low`."""

    low: NullableNumbers
    high: NullableNumbers
    estimate: NullableNumbers
    left_method: Array
    right_method: Array
    is_implied: Array

    @classmethod
    def of(cls, lifetimes: TopicLifetimes, partitions: Array, at: Array) -> "EndsAt":
        """Return the ends of partitions at moments."""
        around = _Around.of(lifetimes, partitions, at)
        left, high, implied = around.left, around.high, around.implied
        is_implied = implied.there & (~left.there | (implied.numbers > left.numbers))
        low = NullableNumbers(np.where(is_implied, implied.numbers, left.numbers), left.there | is_implied)
        left_method, right_method = (
            np.where(one.there, 1 + picked(lifetimes.methods, at_, one.there), 0)
            for one, at_ in ((left, around.behind - 1), (around.next, around.behind))
        )
        return cls(
            low,
            high,
            NullableNumbers(_estimate(lifetimes, around, low, partitions, at), low.there),
            left_method,
            right_method,
            is_implied,
        )


class _Around(NamedTuple):
    """The samples around moments: their ends, and the highest end that commits imply; of a sample's own moment only that sample."""

    behind: Array
    left: NullableNumbers
    high: NullableNumbers
    next: NullableNumbers
    implied: NullableNumbers

    @classmethod
    def of(cls, lifetimes: TopicLifetimes, partitions: Array, at: Array) -> "_Around":
        samples, bounds = lifetimes.samples, lifetimes.bounds
        found, bound = samples.by_time.up_to(partitions, at), bounds.by_time.up_to(partitions, at)
        left, behind = (
            NullableNumbers(picked(samples.offsets, found.at - 1, found.has_last), found.has_last),
            found.at,
        )
        at_sample = left.there & (picked(samples.times, behind - 1, left.there) == at)
        between, has_bound = found.has_next & ~at_sample, bound.has_last & ~at_sample
        following = NullableNumbers(picked(samples.offsets, behind, between), between)
        high = NullableNumbers(np.where(at_sample, left.numbers, following.numbers), between | at_sample)
        implied = NullableNumbers(picked(bounds.offsets, bound.at - 1, has_bound), has_bound)
        return cls(behind, left, high, following, implied)


def _estimate(
    lifetimes: TopicLifetimes, around: _Around, low: NullableNumbers, partitions: Array, at: Array
) -> Array:
    """Return the estimated ends: on the straight line between the samples around each moment, at least `low`."""
    found = low.numbers.copy()
    rows = np.flatnonzero(low.there & around.next.there & (low.numbers != around.high.numbers))
    if len(rows):
        has_left, samples, bounds = around.left.there[rows], lifetimes.samples, lifetimes.bounds
        behind, first = around.behind[rows], bounds.by_time.edges[partitions[rows]]
        since = np.where(
            has_left, picked(samples.times, behind - 1, has_left), picked(bounds.times, first, ~has_left)
        )
        begins = np.where(has_left, around.left.numbers[rows], picked(bounds.offsets, first, ~has_left))
        grown, took = samples.offsets[behind] - begins, samples.times[behind] - since
        found[rows] = np.maximum(found[rows], begins + floor_of(grown, at[rows] - since, took))
    return found
