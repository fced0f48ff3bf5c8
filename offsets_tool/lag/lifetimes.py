"""The ends of many partitions over time, as columns: one line for each topic that had a partition's name.

What samples say is put together by lag.ends, one partition at a time; what commits imply is added here. Between two samples the end
is between theirs; after the last one it is at least that.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.lag.commits import Commits
from offsets_tool.lag.ends import Ends, TopicLifetime
from offsets_tool.lag.numbers import (
    NullableNumbers,
    Rising,
    are_begun,
    beyond_all_before,
    picked,
    share_until,
)
from offsets_tool.lag.samples import EndMethod, EndSample

INDEX: Final = 1
SAMPLED: Final = 2
_METHODS: Final = {EndMethod.INDEX: INDEX, EndMethod.SAMPLED: SAMPLED}
"""Numbers of methods; 0 is none."""


class Line(NamedTuple):
    """Offsets over time, both rising, of many lifetimes; each can be searched."""

    times: Array
    offsets: Array
    by_time: Rising
    by_offset: Rising

    @classmethod
    def of(cls, count: int, lifetimes: Array, times: Array, offsets: Array) -> "Line":
        """Return the line of `count` lifetimes, given in the order of lifetime and time."""
        return cls(times, offsets, Rising.of(lifetimes, times, count), Rising.of(lifetimes, offsets, count))


class TopicLifetimes(NamedTuple):
    """The topics that had the names of partitions; those of one partition follow each other, in the order of time."""

    edges: Array
    """The number of each partition's first lifetime, and how many there are."""
    begins: Rising
    topic_ids: Array
    """The place of each topic's id in those of the commits, or behind them; 0 is none."""
    samples: Line
    methods: Array
    starts: Line
    bounds: Line
    is_last_stable: bool
    """Whether the samples are last stable offsets."""

    @classmethod
    def of(
        cls,
        count: int,
        samples: Mapping[int, Sequence[EndSample]],
        commits: Commits,
        *,
        is_last_stable: bool = False,
    ) -> "TopicLifetimes":
        """Return the lifetimes of `count` partitions, given the samples of those that have some."""
        bounds = commits.only(slice(0)) if is_last_stable else commits.bounds()
        return _Lifetimes(count, bounds).put_together(samples, is_last_stable=is_last_stable)

    def at(self, partitions: Array, at: Array) -> Array:
        """Return the lifetimes that had the names of partitions at moments; the first where nothing is known of it."""
        if len(self.topic_ids) == len(self.edges) - 1:
            return partitions
        latest: Array = self.begins.up_to(partitions, at).at - 1
        return np.maximum(latest, self.edges[partitions])


class _Lifetimes:
    """Puts lifetimes together."""

    def __init__(self, count: int, bounds: Commits) -> None:
        """Put together those of `count` partitions, with the ends that commits imply."""
        self._count, self._bounds = count, bounds
        self._of_bounds = np.zeros(len(bounds.at), np.int64)
        """Of each bound, the number of its topic in its partition."""
        self._latest_ids = np.zeros(count, np.int64)
        np.maximum.at(self._latest_ids, bounds.partitions, bounds.topic_ids)

    def put_together(
        self, samples: Mapping[int, Sequence[EndSample]], *, is_last_stable: bool
    ) -> TopicLifetimes:
        """Return the lifetimes; one by one those of partitions that have samples, or commits for several topics."""
        of_partitions = self._one_by_one(samples, is_last_stable=is_last_stable)
        counts = np.ones(self._count, np.int64)
        counts[list(of_partitions)] = [len(lifetimes) for lifetimes in of_partitions.values()]
        edges = np.append(0, np.cumsum(counts))
        numbered = {
            int(edges[partition]) + number: lifetime
            for partition, lifetimes in of_partitions.items()
            for number, lifetime in enumerate(lifetimes)
        }
        ids = {text: number for number, text in enumerate(self._bounds.ids)}
        topic_ids, begins = np.repeat(self._latest_ids, counts), np.zeros(int(edges[-1]), np.int64)
        for number, lifetime in numbered.items():
            topic_ids[number] = ids.setdefault(lifetime.topic_id or "", len(ids))
            begins[number] = lifetime.begins
        line = Line.of(len(begins), *_columns(numbered, "times", "ends"))
        methods = [_METHODS[method] for lifetime in numbered.values() for method in lifetime.methods]
        return TopicLifetimes(
            edges,
            Rising.of(np.repeat(np.arange(self._count), counts), begins, self._count),
            topic_ids,
            line,
            np.array(methods, np.int64),
            Line.of(len(begins), *_columns(numbered, "start_times", "starts")),
            self._line(edges, line),
            is_last_stable,
        )

    def _one_by_one(
        self, samples: Mapping[int, Sequence[EndSample]], *, is_last_stable: bool
    ) -> dict[int, Sequence[TopicLifetime]]:
        bounds = self._bounds
        order = bounds.order_of_topics()
        firsts = bounds.only(np.sort(order[are_begun(bounds.topics[order])]))
        is_other = (firsts.topic_ids != 0) & (firsts.topic_ids != self._latest_ids[firsts.partitions])
        partitions = sorted({*samples, *firsts.partitions[is_other].tolist()})
        firsts = firsts.only(np.isin(firsts.partitions, partitions))
        edges = np.searchsorted(firsts.partitions, [*partitions, self._count]).tolist()
        first_samples = firsts.samples()
        lifetimes: dict[int, Sequence[TopicLifetime]] = {}
        for partition, begin, end in zip(partitions, edges, edges[1:], strict=False):
            # The first commits of topics tell which topics there are; how far they got matters where there are several.
            of_files = samples.get(partition, ())
            ends = Ends.of([*of_files, *first_samples[begin:end]], is_last_stable=is_last_stable)
            if len(ends.lifetimes) > 1:
                rows = slice(*np.searchsorted(bounds.partitions, (partition, partition + 1)).tolist())
                ends = Ends.of([*of_files, *bounds.only(rows).samples()], is_last_stable=is_last_stable)
                self._of_bounds[rows] = ends.of_commits
            lifetimes[partition] = ends.lifetimes or [TopicLifetime()]
        return lifetimes

    def _line(self, edges: Array, samples: Line) -> Line:
        """Return the ends that commits imply and no sample of the same time or later refutes."""
        times, offsets = self._bounds.at, self._bounds.offsets
        lifetimes = edges[self._bounds.partitions] + self._of_bounds
        later = samples.by_time.up_to(lifetimes, times, is_below=True)
        order = np.flatnonzero(~later.has_next | (later.next_of(samples.offsets).numbers >= offsets))
        order = order[np.argsort(lifetimes[order], kind="stable")]
        order = order[beyond_all_before(lifetimes[order], offsets[order])]
        return Line.of(int(edges[-1]), lifetimes[order], times[order], offsets[order])


def _columns(lifetimes: Mapping[int, TopicLifetime], *names: str) -> tuple[Array, ...]:
    """Return the number of each lifetime once for each of its values, and these values."""
    columns = [[getattr(lifetime, name) for lifetime in lifetimes.values()] for name in names]
    numbers = np.repeat(np.array(list(lifetimes), np.int64), np.array(list(map(len, columns[0])), np.int64))
    return numbers, *(
        np.array([value for values in column for value in values], np.int64) for column in columns
    )


class EndsAt(NamedTuple):
    """The ends of lifetimes at moments: not below `low`, not above `high`, which is open where it is missing.

    The methods are those of the samples around the moment, 0 for none; `is_implied` where commits imply `low`.
    """

    low: NullableNumbers
    high: NullableNumbers
    estimate: NullableNumbers
    left_method: Array
    right_method: Array
    is_implied: Array

    @classmethod
    def of(cls, lifetimes: TopicLifetimes, numbers: Array, at: Array) -> "EndsAt":
        """Return the ends of the lifetimes with these numbers; what a sample says of its own moment stands."""
        samples, bounds = lifetimes.samples, lifetimes.bounds
        sample = samples.by_time.up_to(numbers, at)
        left, right = sample.last_of(samples.offsets), sample.next_of(samples.offsets)
        is_sample = left.there & (sample.last_of(samples.times).numbers == at)
        right = right.only(~is_sample)
        implied = bounds.by_time.up_to(numbers, at).last_of(bounds.offsets).only(~is_sample)
        is_implied = implied.there & (~left.there | (implied.numbers > left.numbers))
        low, high = implied.where(is_implied, left), left.where(is_sample, right)
        estimate = low.numbers.copy()
        rows = np.flatnonzero(low.there & right.there & (low.numbers != high.numbers))
        if len(rows):
            # Before the first sample, the line begins at the first commit.
            has_left, has_none = left.there[rows], ~left.there[rows]
            places = np.where(has_left, sample.at[rows] - 1, bounds.by_time.edges[numbers[rows]])
            since = picked(samples.times, places, has_left) + picked(bounds.times, places, has_none)
            begin = left.numbers[rows] + picked(bounds.offsets, places, has_none)
            following = sample.at[rows]
            grown, until = samples.offsets[following] - begin, samples.times[following]
            estimate[rows] = np.maximum(estimate[rows], begin + share_until(grown, since, at[rows], until))
        return cls(
            low,
            high,
            NullableNumbers(estimate, low.there),
            sample.last_of(lifetimes.methods).numbers,
            picked(lifetimes.methods, sample.at, right.there),
            is_implied,
        )
