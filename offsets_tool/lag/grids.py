"""Times of a grid at which somebody had committed, and the commit that stood at a moment: many groups' offsets at once.

A subject is a group's offset in a partition, by number; commits come in the order of subjects, those of one in that of its log.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.lag.rising import Rising, are_begun

GRID_REACH_MS: Final = 366 * 86_400_000
"""How far behind a commit a grid goes on: a year."""
_MOST_TIMES: Final = 1 << 22
"""Eight years of minutes, for one group's offset in one partition."""
_AT_ONCE: Final = 1 << 16
"""How many times are made together."""


class Standing(NamedTuple):
    """Commits, searched by subject and moment."""

    latest: Rising
    """By subject, the latest time up to each of its commits: one whose clock was ahead hides those behind it."""
    until: Array

    @classmethod
    def of(cls, subjects: Array, since: Array, until: Array) -> "Standing":
        """Return commits with the times from which, and up to which, each was effective."""
        keys = Rising.scaled(subjects, since).keys
        is_latest = keys == np.maximum.accumulate(keys)
        latest = np.maximum.accumulate(np.where(is_latest, np.arange(len(keys)), 0))
        return cls(Rising.of(subjects, since[latest], int(subjects[-1]) + 1), until)

    def at(self, subjects: Array, at: Array) -> tuple[Array, Array]:
        """Return the places of the commits that were effective at moments, and these moments; none where no commit was."""
        commits = self.latest.up_to(subjects, at)
        until = commits.last_of(self.until)
        stands = until.there & (at < until.numbers)
        return (commits.at - 1)[stands], at[stands]


def grid_times(
    subjects: Array, since: Array, step: int, begin: int | None, stop: int
) -> Iterator[tuple[Array, Array]]:
    """Yield the multiples of `step` from each commit on up to the next one, or to a year later, without the times of commits.

    They are from `begin` on, or from the subject's first commit, and below `stop`; so one absurd time makes no rows without end.
    """
    order = np.lexsort((since, subjects))
    subjects, since = subjects[order], since[order]
    commits = Rising.of(subjects, since, int(subjects[-1]) + 1)
    first = np.maximum(since[commits.edges[subjects]], max(0, 0 if begin is None else begin))
    # Of commits before the grid, the last one counts from where the grid begins.
    after = np.maximum(since, _multiple(np.minimum(first, stop), step))
    chosen = np.flatnonzero((since < stop) & np.append(are_begun(subjects)[1:] | are_begun(after)[1:], True))
    subjects, after = subjects[chosen], after[chosen]
    following = np.append(np.where(are_begun(subjects)[1:], stop, after[1:]), stop)[: len(after)]
    starts = _multiple(np.minimum(after, stop), step)
    ends = np.minimum(np.minimum(following, stop), after + GRID_REACH_MS)
    counts = np.maximum(-(-(ends - starts) // step), 0)
    behind = np.cumsum(counts)
    of_subject = behind - counts - (behind - counts)[np.searchsorted(subjects, subjects)]
    counts = np.clip(_MOST_TIMES - of_subject, 0, counts)
    behind = np.cumsum(counts)
    for place in range(0, int(behind[-1]) if len(behind) else 0, _AT_ONCE):
        places = np.arange(place, min(place + _AT_ONCE, int(behind[-1])))
        spans = np.searchsorted(behind, places, side="right")
        times = starts[spans] + (places - (behind - counts)[spans]) * step
        known = commits.up_to(subjects[spans], times).last_of(since)
        is_commit = known.there & (known.numbers == times)
        yield subjects[spans][~is_commit], times[~is_commit]


def _multiple(times: Array, step: int) -> Array:
    """Return the first multiple of `step` that is not before each time."""
    return -(-times // step) * step
