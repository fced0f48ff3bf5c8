"""The ends of many partitions of topics, as arrays, from commits and samples; and which partitions are computed by column.

Partitions whose topic was created anew, or whose numbers are absurd, have no ends here: their lag is computed one at a time.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.differences import differences
from offsets_tool.columns.lag.lifetimes import Implied, TopicLifetimes, is_usual
from offsets_tool.columns.lag.rising import PARTITIONS, are_usual
from offsets_tool.lag.ends import Ends, TopicLifetime
from offsets_tool.lag.samples import EndMethod, EndSample
from offsets_tool.log_clock import LONGEST_PAUSE_MS, SKEW_MS, LogClock


class CommitsByPartition(NamedTuple):
    """Commits in the order of their partitions, and of one partition in the order of its logs; partitions are counted from 0."""

    partitions: Array
    logs: Array
    at: Array
    offsets: Array
    topic_ids: Array
    """The index of each commit's topic id in `ids`."""
    ids: Sequence[str | None]
    are_new: Array
    """Which commits are no repetition of an earlier one."""

    def lifetimes(
        self, count: int, samples: Mapping[int, list[EndSample]], *, is_last_stable: bool
    ) -> tuple[TopicLifetimes, Array]:
        """Return what is known of the ends of `count` partitions, and which of them go by column.

        `samples` are given by partition, in its order; `is_last_stable` as Ends.of has it.
        """
        by_column = np.full(count, count < PARTITIONS)
        by_column[self.partitions[~(are_usual(self.at) & are_usual(self.offsets))]] = False
        by_column[self.partitions[are_begun(self.topic_ids) & ~are_begun(self.partitions)]] = False
        implied = self._implied(by_column, none=is_last_stable)
        sampled = {}
        for partition, some in samples.items():
            if not by_column[partition]:
                continue
            ends = Ends.of([*some, *self._bounds(partition, implied)], is_last_stable=is_last_stable)
            lifetime = self._one_lifetime(partition, ends)
            by_column[partition] = lifetime is not None
            if lifetime is not None:
                sampled[partition] = lifetime
        found = TopicLifetimes.of(sampled, implied.only(by_column[implied.partitions]), count)
        return found._replace(is_last_stable=is_last_stable), by_column

    def _implied(self, by_column: Array, *, none: bool) -> Implied:
        rows = np.flatnonzero(self.are_new & by_column[self.partitions] & (not none))
        runs = np.cumsum(are_begun(self.logs[rows]) | are_begun(self.partitions[rows])) - 1
        return Implied.of(self.partitions[rows], runs, _dated(self.at[rows], runs), self.offsets[rows])

    def _bounds(self, partition: int, implied: Implied) -> list[EndSample]:
        """Return the first end that a partition's commits imply, as a sample that dates the partition's topic; none without one."""
        first = int(np.searchsorted(implied.partitions, partition))
        if first == len(implied.partitions) or implied.partitions[first] != partition:
            return []
        at, end = int(implied.times[first]), int(implied.offsets[first])
        topic_id = self._topic_id(partition)
        return [
            EndSample(
                "", 0, at, end_offset=end, method=EndMethod.COMMITTED, source="commits", topic_id=topic_id
            )
        ]

    def _topic_id(self, partition: int) -> str | None:
        """Return the topic id of a partition's commits, which is that of the first; None without a commit."""
        first = int(np.searchsorted(self.partitions, partition))
        if first == len(self.partitions) or self.partitions[first] != partition:
            return None
        return self.ids[int(self.topic_ids[first])]

    def _one_lifetime(self, partition: int, ends: Ends) -> TopicLifetime | None:
        """Return the lifetime of a partition that goes by column; None for one that does not."""
        if len(ends.lifetimes) > 1:
            return None
        lifetime = ends.lifetimes[0] if ends.lifetimes else TopicLifetime()
        is_another = (
            lifetime.topic_id and (self._topic_id(partition) or lifetime.topic_id) != lifetime.topic_id
        )
        return lifetime if is_usual(lifetime) and not is_another else None


def _dated(at: Array, runs: Array) -> Array:
    """Return the times of commits; of those whose time does not count, that of those before it, as Bounds has them.

    `runs` numbers the pairs of partition and log partition, and rises.
    """
    steps, goes_on = differences(at[1:], at[:-1]), ~are_begun(runs)[1:]
    odd = np.append(at[:1] < 0, (at[1:] < 0) | goes_on & ((steps < -SKEW_MS) | (steps > LONGEST_PAUSE_MS)))
    dated = at
    for run in np.unique(runs[odd]).tolist():
        begin, end = np.searchsorted(runs, (run, run + 1)).tolist()
        clock, dated = LogClock(), dated.copy() if dated is at else dated
        dated[begin:end] = [clock.dated(0, each) for each in at[begin:end].tolist()]
    return dated


def are_begun(numbers: Array) -> Array:
    """Return which numbers differ from the one before; the first one does."""
    begun: Array = np.ones(len(numbers), bool)
    begun[1:] = numbers[1:] != numbers[:-1]
    return begun
