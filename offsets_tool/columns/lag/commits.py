"""Rows of whole partitions of topics as arrays: their commits, what is known of their ends, and which partitions go by column."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.lag.asked import SEEN_BEFORE, LagAsked
from offsets_tool.columns.lag.lifetimes import Implied, TopicLifetimes, is_usual
from offsets_tool.columns.lag.places import are_first
from offsets_tool.columns.lag.rising import PLACES, are_usual
from offsets_tool.lag.ends import Ends, TopicLifetime
from offsets_tool.lag.samples import EndMethod, EndSample
from offsets_tool.rows import NO_TIMESTAMP


class CommitRows(NamedTuple):
    """Columns of rows of whole partitions; `at` and `offsets` are 0 where a row is a sample."""

    rows: pa.RecordBatch
    places: Array
    """The partition of each row, counted from 0."""
    is_commit: Array
    at: Array
    offsets: Array

    @classmethod
    def of(cls, rows: pa.RecordBatch) -> "CommitRows":
        """Return the columns."""
        is_commit = rows.column("method").is_null().to_numpy(zero_copy_only=False)
        written, said, offsets = (
            _numbers(rows, name) for name in ("from_timestamp", "commit_timestamp", "committed_offset")
        )
        at = np.where(written == NO_TIMESTAMP, said, written)
        return cls(rows, np.cumsum(are_first(rows)) - 1, is_commit, at, offsets)

    def lifetimes(self, *, last_stable: bool) -> tuple[TopicLifetimes, Array]:
        """Return what is known of the ends of each partition, and which partitions go by column."""
        count = int(self.places[-1]) + 1
        by_column = np.full(count, count < PLACES)
        by_column[self.places[self.is_commit & ~(are_usual(self.at) & are_usual(self.offsets))]] = False
        told = np.flatnonzero(self.is_commit)
        topic_ids = are_first(self.rows.select(["topic_id"]).take(pa.array(told)), ["topic_id"])
        by_column[self.places[told[topic_ids & ~_begin(self.places[told])]]] = False
        implied = self._implied(by_column, none=last_stable)
        sampled = {}
        for place, ends in self._sampled(by_column, implied, last_stable=last_stable):
            found = self._one_lifetime(place, ends)
            by_column[place] = found is not None
            if found is not None:
                sampled[place] = found
        return TopicLifetimes.of(sampled, implied.only(by_column[implied.places]), count), by_column

    def moments(self, by_column: Array, asked: LagAsked) -> Array:
        """Return the rows of commits whose lag is asked for, group by group; of several in one millisecond the last."""
        is_effective = pc.fill_null(self.rows.column("is_effective"), False).to_numpy(zero_copy_only=False)
        wanted = self.is_commit & is_effective & by_column[self.places] & asked.are_had(self.at)
        rows = np.flatnonzero(wanted)
        groups = self.rows.column("group").take(pa.array(rows)).dictionary_encode()
        names = pc.rank(groups.dictionary).to_numpy() if len(rows) else np.empty(0, np.int64)
        subjects = self.places[rows] * len(names) + names[groups.indices.to_numpy()].astype(np.int64) - 1
        order = np.argsort(subjects, kind="stable")
        rows, subjects = rows[order], np.cumsum(_begin(subjects[order])) - 1
        return _last_of_each(rows, subjects, self.at[rows])

    def _implied(self, by_column: Array, *, none: bool) -> Implied:
        begin = self.rows.column("begin_cause")
        seen_before = pc.fill_null(pc.is_in(begin, pa.array([str(one) for one in SEEN_BEFORE])), False)
        new = self.is_commit & ~seen_before.to_numpy(zero_copy_only=False) & by_column[self.places]
        rows = np.flatnonzero(new & (not none))
        logs = are_first(self.rows.select(["log_partition"]).take(pa.array(rows)), ["log_partition"])
        runs = np.cumsum(logs | _begin(self.places[rows])) - 1
        return Implied.of(self.places[rows], runs, self.at[rows], self.offsets[rows])

    def _sampled(
        self, by_column: Array, implied: Implied, *, last_stable: bool
    ) -> Iterator[tuple[int, Ends]]:
        """Yield the ends of partitions that have samples, put together from these and the first that commits imply."""
        rows = np.flatnonzero(~self.is_commit & by_column[self.places])
        places = self.places[rows]
        starts = np.flatnonzero(_begin(places))
        first = np.searchsorted(implied.places, places[starts])
        samples = self._samples(rows)
        for place, start, end, at in zip(
            *(
                column.tolist()
                for column in (places[starts], starts, np.append(starts, len(rows))[1:], first)
            ),
            strict=True,
        ):
            some = samples[start:end]
            if at < len(implied.places) and implied.places[at] == place:
                some.append(self._bound(place, int(implied.times[at]), int(implied.offsets[at])))
            yield place, Ends.of(some, last_stable=last_stable)

    def _samples(self, rows: Array) -> list[EndSample]:
        taken = self.rows.select(_SAMPLE).take(pa.array(rows))
        columns = {name: taken.column(name).to_pylist() for name in _SAMPLE}
        columns["method"] = list(map(EndMethod, columns["method"]))
        return list(map(EndSample._make, zip(*columns.values(), strict=True)))

    def _bound(self, place: int, at: int, end: int) -> EndSample:
        method = EndMethod.COMMITTED
        return EndSample("", 0, at, end=end, method=method, source="commits", topic_id=self._topic_id(place))

    def _topic_id(self, place: int) -> str | None:
        """Return the topic id of a partition's commits, which is that of the first."""
        first = int(np.searchsorted(self.places, place))
        row = first + int(np.argmax(self.is_commit[first:]))
        topic_id: str | None = self.rows.column("topic_id")[row].as_py()
        return topic_id

    def _one_lifetime(self, place: int, ends: Ends) -> TopicLifetime | None:
        """Return the lifetime of a partition that goes by column; None for one that does not."""
        if len(ends.lifetimes) > 1:
            return None
        lifetime = ends.lifetimes[0] if ends.lifetimes else TopicLifetime()
        is_another = lifetime.topic_id and (self._topic_id(place) or lifetime.topic_id) != lifetime.topic_id
        return lifetime if is_usual(lifetime) and not is_another else None


_SAMPLE = [
    "topic",
    "partition",
    "timestamp",
    "log_start",
    "last_stable",
    "end",
    "method",
    "source",
    "topic_id",
]


def _numbers(rows: pa.RecordBatch, name: str) -> Array:
    return pc.fill_null(rows.column(name), 0).to_numpy()  # type: ignore[no-any-return]


def _begin(numbers: Array) -> Array:
    """Return, as truth values, which numbers differ from the one before them; the first one counts as different."""
    begin: Array = np.ones(len(numbers), bool)
    begin[1:] = numbers[1:] != numbers[:-1]
    return begin


def _last_of_each(rows: Array, subjects: Array, at: Array) -> Array:
    """Return rows in the order of subjects and times; of those with one subject and one time the last."""
    goes_on = ~_begin(subjects)
    if (at[1:] > at[:-1])[goes_on[1:]].all():
        return rows
    order = np.lexsort((at, subjects))
    last: Array = np.append((_begin(subjects[order]) | _begin(at[order]))[1:], True)
    return rows[order[last]]
