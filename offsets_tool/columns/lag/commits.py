"""Rows of whole partitions of topics as arrays: their commits, and samples of their ends."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.lag.asked import SEEN_BEFORE, LagAsked
from offsets_tool.columns.lag.commits_by_partition import CommitsByPartition, are_begun
from offsets_tool.columns.lag.lifetimes import TopicLifetimes
from offsets_tool.columns.lag.whole_partitions import are_first
from offsets_tool.lag.samples import EndMethod, EndSample
from offsets_tool.rows import NO_TIMESTAMP


class CommitRows(NamedTuple):
    """Columns of rows of whole partitions; `at` and `offsets` are 0 where a row is a sample."""

    rows: pa.RecordBatch
    partitions: Array
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

    def lifetimes(self, *, is_last_stable: bool) -> tuple[TopicLifetimes, Array]:
        """Return what is known of the ends of each partition, and which partitions go by column."""
        count = int(self.partitions[-1]) + 1
        return self._by_partition().lifetimes(count, self._samples(), is_last_stable=is_last_stable)

    def moments(self, by_column: Array, asked: LagAsked) -> Array:
        """Return the rows of commits whose lag is asked for, group by group; of several in one millisecond the last."""
        is_effective = pc.fill_null(self.rows.column("is_effective"), False).to_numpy(zero_copy_only=False)
        wanted = self.is_commit & is_effective & by_column[self.partitions] & asked.are_had(self.at)
        rows = np.flatnonzero(wanted)
        groups = self.rows.column("group").take(pa.array(rows)).dictionary_encode()
        names = pc.rank(groups.dictionary).to_numpy() if len(rows) else np.empty(0, np.int64)
        subjects = self.partitions[rows] * len(names) + names[groups.indices.to_numpy()].astype(np.int64) - 1
        order = np.argsort(subjects, kind="stable")
        rows, subjects = rows[order], np.cumsum(are_begun(subjects[order])) - 1
        return _last_of_each(rows, subjects, self.at[rows])

    def _by_partition(self) -> CommitsByPartition:
        rows = np.flatnonzero(self.is_commit)
        commits = self.rows.select(["log_partition", "topic_id", "begin_cause"]).take(pa.array(rows))
        ids = commits.column("topic_id").dictionary_encode(null_encoding="encode")
        logs = np.cumsum(are_first(commits, ["log_partition"]))
        repeated = pc.is_in(commits.column("begin_cause"), pa.array([str(one) for one in SEEN_BEFORE]))
        return CommitsByPartition(
            self.partitions[rows],
            logs,
            self.at[rows],
            self.offsets[rows],
            ids.indices.to_numpy(),
            ids.dictionary.to_pylist(),
            ~pc.fill_null(repeated, False).to_numpy(zero_copy_only=False),
        )

    def _samples(self) -> dict[int, list[EndSample]]:
        """Return the samples of each partition that has some."""
        rows = np.flatnonzero(~self.is_commit)
        taken = self.rows.select(_SAMPLE).take(pa.array(rows))
        columns = {name: taken.column(name).to_pylist() for name in _SAMPLE}
        columns["method"] = list(map(EndMethod, columns["method"]))
        found: dict[int, list[EndSample]] = {}
        samples = map(EndSample._make, zip(*columns.values(), strict=True))
        for partition, sample in zip(self.partitions[rows].tolist(), samples, strict=True):
            found.setdefault(partition, []).append(sample)
        return found


_SAMPLE = [
    "topic",
    "partition",
    "timestamp",
    "log_start_offset",
    "last_stable_offset",
    "end_offset",
    "method",
    "source",
    "topic_id",
]


def _numbers(rows: pa.RecordBatch, name: str) -> Array:
    return pc.fill_null(rows.column(name), 0).to_numpy()  # type: ignore[no-any-return]


def _last_of_each(rows: Array, subjects: Array, at: Array) -> Array:
    """Return rows in the order of subjects and times; of those with one subject and one time the last."""
    goes_on = ~are_begun(subjects)
    if (at[1:] > at[:-1])[goes_on[1:]].all():
        return rows
    order = np.lexsort((at, subjects))
    last: Array = np.append((are_begun(subjects[order]) | are_begun(at[order]))[1:], True)
    return rows[order[last]]
