"""What tells of the ends of many partitions of topics, as arrays: commits and samples; and which partitions go by column.

One at a time go partitions whose topic was created anew, or whose numbers are absurd: of them nothing is said.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.lag.lifetimes import Implied, TopicLifetimes, is_usual
from offsets_tool.columns.lag.rising import PLACES, are_usual
from offsets_tool.lag.ends import Ends, TopicLifetime
from offsets_tool.lag.samples import EndMethod, EndSample


class CommitsByPlace(NamedTuple):
    """Commits in the order of their places, and of one place in the order of its logs; places are counted from 0."""

    places: Array
    logs: Array
    at: Array
    offsets: Array
    topic_ids: Array
    """The place of each commit's topic id in `ids`."""
    ids: Sequence[str | None]
    are_new: Array
    """Which commits are no repetition of an earlier one."""

    def lifetimes(
        self, count: int, samples: Mapping[int, list[EndSample]], *, is_last_stable: bool
    ) -> tuple[TopicLifetimes, Array]:
        """Return what is known of the ends of `count` places, and which of them go by column.

        `samples` are given by place, in its order; `is_last_stable` as Ends.of has it.
        """
        by_column = np.full(count, count < PLACES)
        by_column[self.places[~(are_usual(self.at) & are_usual(self.offsets))]] = False
        by_column[self.places[are_begun(self.topic_ids) & ~are_begun(self.places)]] = False
        implied = self._implied(by_column, none=is_last_stable)
        sampled = {}
        for place, some in samples.items():
            if not by_column[place]:
                continue
            ends = Ends.of([*some, *self._bounds(place, implied)], is_last_stable=is_last_stable)
            found = self._one_lifetime(place, ends)
            by_column[place] = found is not None
            if found is not None:
                sampled[place] = found
        return TopicLifetimes.of(sampled, implied.only(by_column[implied.places]), count), by_column

    def _implied(self, by_column: Array, *, none: bool) -> Implied:
        rows = np.flatnonzero(self.are_new & by_column[self.places] & (not none))
        runs = np.cumsum(are_begun(self.logs[rows]) | are_begun(self.places[rows])) - 1
        return Implied.of(self.places[rows], runs, self.at[rows], self.offsets[rows])

    def _bounds(self, place: int, implied: Implied) -> list[EndSample]:
        """Return the first end that a partition's commits imply: it tells when its topic was there."""
        first = int(np.searchsorted(implied.places, place))
        if first == len(implied.places) or implied.places[first] != place:
            return []
        at, end = int(implied.times[first]), int(implied.offsets[first])
        topic_id = self._topic_id(place)
        return [
            EndSample(
                "", 0, at, end_offset=end, method=EndMethod.COMMITTED, source="commits", topic_id=topic_id
            )
        ]

    def _topic_id(self, place: int) -> str | None:
        """Return the topic id of a partition's commits, which is that of the first; None without a commit."""
        first = int(np.searchsorted(self.places, place))
        if first == len(self.places) or self.places[first] != place:
            return None
        return self.ids[int(self.topic_ids[first])]

    def _one_lifetime(self, place: int, ends: Ends) -> TopicLifetime | None:
        """Return the lifetime of a partition that goes by column; None for one that does not."""
        if len(ends.lifetimes) > 1:
            return None
        lifetime = ends.lifetimes[0] if ends.lifetimes else TopicLifetime()
        is_another = lifetime.topic_id and (self._topic_id(place) or lifetime.topic_id) != lifetime.topic_id
        return lifetime if is_usual(lifetime) and not is_another else None


def are_begun(numbers: Array) -> Array:
    """Return which numbers differ from the one before; the first one does."""
    begun: Array = np.ones(len(numbers), bool)
    begun[1:] = numbers[1:] != numbers[:-1]
    return begun
