"""The ends of many partitions as arrays, each partition with one lifetime: what samples say, and what commits imply.

Samples are put together by lag.ends, one partition at a time; what commits imply is filtered here as lag.bounds, committed_ends and
TopicLifetime.add_bound do it one at a time. Where a partition may have more than one lifetime, nothing is said.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.lag.rising import SPAN, Rising, beyond_all_before, keys_of, picked
from offsets_tool.lag.ends import TopicLifetime
from offsets_tool.lag.samples import EndMethod

METHODS = (EndMethod.INDEX, EndMethod.SAMPLED)
"""Methods of samples, by number."""


class Line(NamedTuple):
    """Offsets over time, both rising, of many partitions; each can be searched."""

    times: Array
    offsets: Array
    by_time: Rising
    by_offset: Rising

    @classmethod
    def of(cls, count: int, partitions: Array, times: Array, offsets: Array) -> "Line":
        """Return the line of `count` partitions, given in the order of partition and time."""
        return cls(times, offsets, Rising.of(partitions, times, count), Rising.of(partitions, offsets, count))


class Implied(NamedTuple):
    """Ends that commits imply, in the order of partition and time."""

    partitions: Array
    times: Array
    offsets: Array

    @classmethod
    def of(cls, partitions: Array, runs: Array, times: Array, offsets: Array) -> "Implied":
        """Return the ends that commits imply, given in the order of their partitions and logs; each partition has one topic id.

        `runs` numbers the commits' pairs of partition and log partition.
        """
        kept = np.flatnonzero(beyond_all_before(keys_of(runs, offsets)))
        kept = kept[np.argsort(keys_of(partitions[kept], times[kept]), kind="stable")]
        kept = kept[beyond_all_before(keys_of(partitions[kept], offsets[kept]))]
        return cls(partitions[kept], times[kept], offsets[kept])

    def only(self, rows: Array) -> "Implied":
        """Return the implied ends with these indices, or for which these truth values are true."""
        return Implied(*(column[rows] for column in self))


class TopicLifetimes(NamedTuple):
    """One lifetime of each partition: its samples, log starts and bounds, as TopicLifetime has them."""

    samples: Line
    methods: Array
    starts: Line
    bounds: Line
    is_last_stable: bool = False
    """Whether the samples are last stable offsets."""

    @classmethod
    def of(cls, sampled: Mapping[int, TopicLifetime], implied: Implied, count: int) -> "TopicLifetimes":
        """Return the lifetimes of `count` partitions.

        `sampled` has, in the order of partitions, what samples say; `implied` has the ends that commits imply.
        """
        samples = Line.of(count, *_columns(sampled, "times", "ends"))
        starts = Line.of(count, *_columns(sampled, "start_times", "starts"))
        methods = [METHODS.index(method) for each in sampled.values() for method in each.methods]
        left = implied.only(~_are_refuted(implied, samples))
        return cls(samples, np.array(methods, np.int64), starts, Line.of(count, *left))

    def lifetime(self, partition: int) -> TopicLifetime:
        """Return the lifetime of one partition."""
        found = TopicLifetime()
        found.times, found.ends = _lists(self.samples, partition)
        found.start_times, found.starts = _lists(self.starts, partition)
        found.bound_times, found.bounds = _lists(self.bounds, partition)
        first, end = self.samples.by_time.edges[partition : partition + 2].tolist()
        found.methods = [METHODS[number] for number in self.methods[first:end].tolist()]
        return found


def is_usual(lifetime: TopicLifetime) -> bool:
    """Return whether the numbers of a lifetime can be searched for together with others."""
    numbers = (*lifetime.times, *lifetime.ends, *lifetime.start_times, *lifetime.starts)
    return all(0 <= number < SPAN for number in numbers)


def _columns(sampled: Mapping[int, TopicLifetime], *names: str) -> tuple[Array, ...]:
    partitions = [partition for partition, each in sampled.items() for _ in getattr(each, names[0])]
    columns = ([number for each in sampled.values() for number in getattr(each, name)] for name in names)
    return tuple(np.array(column, np.int64) for column in (partitions, *columns))


def _are_refuted(implied: Implied, samples: Line) -> Array:
    """Return which ends a sample of the same time or later refutes."""
    later = np.searchsorted(samples.by_time.keys, keys_of(implied.partitions, implied.times))
    has_later = later < samples.by_time.edges[implied.partitions + 1]
    return has_later & (picked(samples.offsets, later, has_later) < implied.offsets)  # type: ignore[no-any-return]


def _lists(line: Line, partition: int) -> tuple[list[int], list[int]]:
    first, end = line.by_time.edges[partition : partition + 2].tolist()
    return line.times[first:end].tolist(), line.offsets[first:end].tolist()
