"""How long committed offsets have existed: since when a group has had one in a partition without a break.

An effective row of history goes on with the lifetime of the one that it replaced. Source: as expiry.lifetimes counts it, change by
change.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.relations.offsets import NEVER, Past, Pieces
from offsets_tool.relations.writes import NONE, Writes

NO_TIME: Final = -1


class LifetimeColumns(NamedTuple):
    """When lifetimes began, when their commits were written, the numbers of their topics' ids, and whether they are doubtful."""

    began_at: Array
    committed_at: Array
    topic_id: Array
    is_doubtful: Array


class RowLifetimes:
    """The lifetimes of rows of history (offsets.pieces_of); only those of effective ones mean anything."""

    def __init__(self, writes: Writes, past: Past, pieces: Pieces, is_doubtful: Array) -> None:
        """Look at rows of history; `past` is that of the commits that were open before.

        `is_doubtful` says of each row that begins in this chunk whether only a coordinator that loaded this log has its commit, and
        not the one that wrote it.
        """
        self._writes, self._past, self._pieces = writes, past, pieces
        self._first = int(np.count_nonzero(~pieces.is_effective))
        """The first row of an effective commit: those of one offset stand behind each other, in the order of the log."""
        self.is_doubtful = is_doubtful
        carried = self._carried(np.arange(self._first, len(pieces.commit)))
        self.is_doubtful[carried] = past.is_doubtful[pieces.begin[carried]] != 0

    def _carried(self, rows: Array) -> Array:
        """Return those of rows that were open before."""
        carried: Array = rows[self._pieces.begin[rows] < self._writes.carried]
        return carried

    def of(self, rows: Array) -> LifetimeColumns:
        """Return the lifetimes of rows, given by number."""
        began_at, topic_id = self._began(rows)
        return LifetimeColumns(
            began_at, self._times(rows, self._past.committed_at), topic_id, self.is_doubtful[rows]
        )

    def of_open(self, commits: Array) -> LifetimeColumns:
        """Return the lifetimes of commits that hold behind all writes, given by place; 0 where they are pending."""
        pieces = self._pieces
        rows = np.flatnonzero(pieces.is_effective & (pieces.end == NEVER))
        row_of = np.full(len(self._writes.action), NONE)
        row_of[pieces.commit[rows]] = np.arange(len(rows))
        return LifetimeColumns(*(np.append(column, 0)[row_of[commits]] for column in self.of(rows)))

    def _times(self, rows: Array, of_past: Array) -> Array:
        """Return when the commits of rows took effect, by their own times where records have none; `of_past` of open ones."""
        writes, begins = self._writes, self._pieces.begin[rows]
        times = writes.timestamp[begins]
        times = np.maximum(
            np.where(times < 0, writes.commit_timestamp[self._pieces.commit[rows]], times), NO_TIME
        )
        is_open = begins < writes.carried
        times[is_open] = of_past[begins[is_open]]
        return times

    def _topic_ids(self, rows: Array) -> Array:
        pieces, ids = self._pieces, self._writes.topic_id[self._pieces.commit[rows]]
        is_open = pieces.begin[rows] < self._writes.carried
        ids[is_open] = self._past.lifetime_topic_id[pieces.begin[rows[is_open]]]
        return ids

    def _began(self, rows: Array) -> tuple[Array, Array]:
        """Return when the lifetimes of rows began, and the numbers of their topics' ids."""
        starts = self._starts
        first = starts[np.searchsorted(starts, rows, "right") - 1] if len(starts) else rows
        began_at, topic_ids = self._times(first, self._past.began_at), self._topic_ids(first)
        for index in np.flatnonzero(np.isin(first, list(self._mixed))).tolist():
            began_at[index], topic_ids[index] = self._mixed[int(first[index])][
                int(rows[index] - first[index])
            ]
        return began_at, topic_ids

    @cached_property
    def _starts(self) -> Array:
        """The rows that do not go on with the lifetime of the one before; `previous` tells which it replaced."""
        starts: Array = np.flatnonzero(self._pieces.previous[self._first :] == NONE) + self._first
        return starts

    @cached_property
    def _mixed(self) -> dict[int, list[tuple[int, int]]]:
        """When lifetimes began, and the numbers of topic ids, of rows behind a start where not all is of one topic for sure."""
        starts, rows = self._starts, np.arange(self._first, len(self._pieces.commit))
        if not (self._writes.topic_id.any() or self._past.lifetime_topic_id.any() or self.is_doubtful.any()):
            return {}
        ids = self._topic_ids(rows)
        if not len(ids) or (ids.min() == ids.max() and not self.is_doubtful.any()):
            return {}
        begins = starts - self._first
        is_mixed = np.minimum.reduceat(ids, begins) != np.maximum.reduceat(ids, begins)
        is_mixed |= np.logical_or.reduceat(self.is_doubtful[rows], begins)
        ends = np.append(begins[1:], len(rows))
        return {
            int(starts[index]): list(self._told(rows[begins[index] : ends[index]]))
            for index in np.flatnonzero(is_mixed).tolist()
        }

    def _told(self, rows: Array) -> Iterator[tuple[int, int]]:
        """Yield when the lifetime of each row began, and the number of its topic's id, given rows that replaced each other."""
        facts = self._times(rows, self._past.began_at), self._topic_ids(rows), self.is_doubtful[rows]
        began_at, topic_id, was_doubtful = 0, 0, True
        for time, named, is_doubtful in zip(*(column.tolist() for column in facts), strict=True):
            # Not every commit has its topic's id; a topic that was made again has another one.
            goes_on = not was_doubtful and (topic_id == named or 0 in (topic_id, named))
            began_at, topic_id = (began_at, named or topic_id) if goes_on else (time, named)
            was_doubtful = is_doubtful
            yield began_at, topic_id
