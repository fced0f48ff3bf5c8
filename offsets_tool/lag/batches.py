"""Rows of `lag` from rows of offset histories and samples of ends: at each commit, and on a grid of times.

Rows of one partition of a topic are computed together, because the commits of all groups also say where it ended. The commits of
one partition are in memory.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.columns_of_rows import are_there, flags, numbers
from offsets_tool.lag.commits import Commits, topic_id_numbers
from offsets_tool.lag.lags import Positions, lag_columns
from offsets_tool.lag.lifetimes import TopicLifetimes
from offsets_tool.lag.numbers import Rising, are_begun
from offsets_tool.lag.rows import LagRow
from offsets_tool.lag.samples import EndMethod, EndSample
from offsets_tool.rows import NO_TIMESTAMP
from offsets_tool.wire.arrow import arrow_schema
from offsets_tool.wire.times import LAST_MILLISECOND

PARTITION_COLUMNS: Final = ("cluster", "topic", "partition")
_COMMIT: Final = (
    "group",
    "log_partition",
    "from_log_offset",
    "from_timestamp",
    "to_timestamp",
    "is_effective",
    "commit_log_offset",
    "committed_offset",
    "commit_timestamp",
)
_SAMPLE: Final = ("timestamp", "log_start_offset", "last_stable_offset", "end_offset", "method", "source")
COLUMNS: Final = (*PARTITION_COLUMNS, "topic_id", *_COMMIT, *_SAMPLE)
"""What a row must have, of `offset_history` or of `ends`: null is what the other has. Only a sample has a `method`."""
ORDER: Final = (*PARTITION_COLUMNS, "log_partition", "from_log_offset")
"""The columns by which rows must be sorted, nulls first."""
_ROWS: Final = 1 << 16
"""How many rows are computed together, about; and how many rows a batch has at most."""
_GRID_REACH_MS: Final = 366 * 86_400_000
"""How far behind a commit a grid goes on: a year."""
_MOST_TIMES: Final = 1 << 22
"""Eight years of minutes, for one group's offset in one partition."""

LagBatches = Iterator[tuple[str, pa.RecordBatch]]


class LagAsked(NamedTuple):
    """The moments at which lag is computed: each commit and, with `grid_ms`, all multiples of that up to the cluster's newest time.

    `newest` has that time by cluster, `since` and `until` (exclusive) bound the moments; all are epoch milliseconds. With
    `is_last_stable`, lag counts to the last stable offset.
    """

    newest: Mapping[str, int]
    grid_ms: int | None = None
    since: int | None = None
    until: int | None = None
    is_last_stable: bool = False

    def are_had(self, at: Array) -> Array:
        """Return which moments (epoch milliseconds) are asked for."""
        since = True if self.since is None else at >= self.since
        return np.full(len(at), True) & since & (True if self.until is None else at < self.until)

    def stop(self, cluster: str) -> int:
        """Return the time, in epoch milliseconds, before which the grid of a cluster ends."""
        ends = (self.newest[cluster] + 1, LAST_MILLISECOND, self.until)
        return min(end for end in ends if end is not None)


def lag_batches(asked: LagAsked, batches: Iterable[pa.RecordBatch]) -> LagBatches:
    """Yield rows of LagRow with their cluster, given rows with COLUMNS, in ORDER.

    A commit and a time of the grid in one millisecond are one row, as are several commits: the last counts.
    """
    for rows in _whole_partitions(batches):
        for cluster, of_cluster in _by_cluster(rows):
            commits = _CommitRows.of(of_cluster)
            if commits is not None:
                yield from ((cluster, made) for made in commits.lag(asked, cluster))


def rows_on_grid(asked: LagAsked, batches: Iterable[pa.RecordBatch]) -> int:
    """Return how many rows a grid makes at most, given rows with COLUMNS: few commits may make many. 0 without a grid."""
    if asked.grid_ms is None:
        return 0
    count, first = 0, 0 if asked.since is None else max(0, asked.since)
    for batch in batches:
        for cluster, rows in _by_cluster(batch.filter(pa.array(flags(batch.column("is_effective"))))):
            at = np.clip(_commit_times(rows), -_GRID_REACH_MS, LAST_MILLISECOND)
            stop = np.minimum(
                np.maximum(_until(rows), 0), np.minimum(at + _GRID_REACH_MS, asked.stop(cluster))
            )
            begin = -(-np.maximum(at, first) // asked.grid_ms) * asked.grid_ms
            count += int(np.maximum(-(-(stop + 1 - begin) // asked.grid_ms), 0).sum())
    return count


class _CommitRows(NamedTuple):
    """Rows of whole partitions of one cluster's topics as columns; the commits that were effective group by group."""

    rows: pa.RecordBatch
    partitions: Array
    """The partition of each row, counted from 0."""
    topic_ids: Array
    ids: list[str]
    at: Array
    is_commit: Array
    effective: Array
    """The rows of commits that were effective, in the order of groups in partitions, and of one group in that of its log."""
    subjects: Array
    """The number of each one's group in its partition; rises."""

    @classmethod
    def of(cls, rows: pa.RecordBatch) -> "_CommitRows | None":
        """Return the columns; None where no commit was effective."""
        is_commit = ~are_there(rows.column("method"))
        effective = np.flatnonzero(is_commit & flags(rows.column("is_effective")))
        if not len(effective):
            return None
        partitions = np.cumsum(_are_first(rows, PARTITION_COLUMNS)) - 1
        topic_ids, ids = topic_id_numbers(pc.fill_null(rows.column("topic_id"), "").dictionary_encode())
        groups = rows.column("group").take(pa.array(effective)).dictionary_encode()
        names = pc.rank(groups.dictionary).to_numpy().astype(np.int64) - 1
        subjects = partitions[effective] * len(names) + names[groups.indices.to_numpy()]
        order = np.argsort(subjects, kind="stable")
        numbered = np.cumsum(are_begun(subjects[order])) - 1
        at = _commit_times(rows)
        return cls(rows, partitions, topic_ids, ids, at, is_commit, effective[order], numbered)

    def lag(self, asked: LagAsked, cluster: str) -> Iterator[pa.RecordBatch]:
        """Yield the lag at the moments that are asked for."""
        lifetimes = TopicLifetimes.of(
            int(self.partitions[-1]) + 1,
            self._samples(),
            self._commits(),
            is_last_stable=asked.is_last_stable,
        )
        at = self.at[self.effective]
        chosen = np.flatnonzero(asked.are_had(at))
        chosen = chosen[_last_of_each(self.subjects[chosen], at[chosen])]
        for start in range(0, len(chosen), _ROWS):
            rows = self.effective[chosen[start : start + _ROWS]]
            yield self._batch(lifetimes, rows, self.at[rows])
        if asked.grid_ms is not None:
            standing = _Standing.of(self.subjects, at, _until(self.rows)[self.effective])
            for grid in _grid_times(self.subjects, at, asked.grid_ms, asked.since, asked.stop(cluster)):
                places, times = standing.at(*grid)
                yield self._batch(lifetimes, self.effective[places], times)

    def _commits(self) -> Commits:
        # Other rows begin where a marker or a group's deletion changed what became of a commit.
        first, begin = (
            numbers(self.rows.column(name), -1) for name in ("commit_log_offset", "from_log_offset")
        )
        rows = np.flatnonzero(self.is_commit & (first == begin))
        logs = np.cumsum(_are_first(self.rows, ("log_partition",)))
        offsets = numbers(self.rows.column("committed_offset"), 0)
        return Commits(
            self.partitions[rows], logs[rows], self.at[rows], offsets[rows], self.topic_ids[rows], self.ids
        )

    def _samples(self) -> dict[int, list[EndSample]]:
        """Return the samples of each partition that has some."""
        rows = np.flatnonzero(~self.is_commit)
        names = ["timestamp" if name == "at" else name for name in EndSample._fields]
        taken = self.rows.select(names).take(pa.array(rows))
        columns = [taken.column(name).to_pylist() for name in names]
        samples: dict[int, list[EndSample]] = {}
        for partition, *values in zip(self.partitions[rows].tolist(), *columns, strict=True):
            sample = EndSample(*values)
            samples.setdefault(partition, []).append(sample._replace(method=EndMethod(sample.method)))
        return samples

    def _batch(self, lifetimes: TopicLifetimes, rows: Array, at: Array) -> pa.RecordBatch:
        """Return the lag of the commits in some rows, each at a moment."""
        offsets = numbers(self.rows.column("committed_offset"), 0)[rows]
        positions = Positions(
            self.partitions[rows], at, offsets, np.full(len(rows), True), self.at[rows], self.topic_ids[rows]
        )
        whose = self.rows.select(["group", "topic", "partition"]).take(pa.array(rows))
        is_time = (at >= 0) & (at <= LAST_MILLISECOND)
        columns = {
            **dict(zip(whose.schema.names, whose.columns, strict=True)),
            "moment_at": pa.array(np.where(is_time, at, 0) * 1000, mask=~is_time),
            **lag_columns(lifetimes, positions),
        }
        schema = arrow_schema(LagRow)
        return pa.record_batch([columns[field.name].cast(field.type) for field in schema], schema=schema)


class _Standing(NamedTuple):
    """Commits, searched by subject and moment."""

    latest: Rising
    """By subject, the latest time up to each of its commits: one whose clock was ahead hides those behind it."""
    until: Array

    @classmethod
    def of(cls, subjects: Array, since: Array, until: Array) -> "_Standing":
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


def _grid_times(
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
    ends = np.minimum(np.minimum(following, stop), after + _GRID_REACH_MS)
    counts = np.maximum(-(-(ends - starts) // step), 0)
    behind = np.cumsum(counts)
    of_subject = behind - counts - (behind - counts)[np.searchsorted(subjects, subjects)]
    counts = np.clip(_MOST_TIMES - of_subject, 0, counts)
    behind = np.cumsum(counts)
    for place in range(0, int(behind[-1]) if len(behind) else 0, _ROWS):
        places = np.arange(place, min(place + _ROWS, int(behind[-1])))
        spans = np.searchsorted(behind, places, side="right")
        times = starts[spans] + (places - (behind - counts)[spans]) * step
        commit = commits.up_to(subjects[spans], times).last_of(since)
        is_commit = commit.there & (commit.numbers == times)
        yield subjects[spans][~is_commit], times[~is_commit]


def _multiple(times: Array, step: int) -> Array:
    """Return the first multiple of `step` that is not before each time."""
    return -(-times // step) * step


def _commit_times(rows: pa.RecordBatch) -> Array:
    """Return when each row's offset was committed: by its record, or by the commit where a record has no time (magic 0)."""
    of_record, of_commit = (numbers(rows.column(name), 0) for name in ("from_timestamp", "commit_timestamp"))
    return np.where(of_record == NO_TIMESTAMP, of_commit, of_record)


def _until(rows: pa.RecordBatch) -> Array:
    """Return up to when each row's commit was effective, by the times of records; where that is not known, the end of time."""
    until = numbers(rows.column("to_timestamp"), NO_TIMESTAMP)
    return np.where(until == NO_TIMESTAMP, np.iinfo(np.int64).max, until)


def _last_of_each(subjects: Array, at: Array) -> Array:
    """Return the places of subjects and times, in the order of both; of those with one subject and one time the last."""
    order: Array = np.lexsort((at, subjects))
    ends: Array = np.append((are_begun(subjects[order]) | are_begun(at[order]))[1:], True)[: len(order)]
    return order[ends]


def _are_first(rows: pa.RecordBatch, names: Iterable[str]) -> Array:
    """Return which rows differ from the one before in some column; the first one does."""
    columns = (rows.column(name).dictionary_encode(null_encoding="encode").indices for name in names)
    return np.logical_or.reduce([are_begun(codes.to_numpy()) for codes in columns])  # type: ignore[no-any-return]


def _by_cluster(rows: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield rows, which come cluster by cluster, apart."""
    runs = pc.run_end_encode(rows.column("cluster"))
    ends = [0, *np.asarray(runs.run_ends).tolist()]
    for cluster, start, end in zip(runs.values.to_pylist(), ends, ends[1:], strict=False):
        yield cluster, rows.slice(start, end - start)


def _whole_partitions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the same rows in batches of about _ROWS; all rows of one partition are in one batch, however many they are."""
    gathered: list[pa.RecordBatch] = []
    enough = _ROWS
    for batch in _small(batches):
        gathered.append(batch)
        if sum(part.num_rows for part in gathered) >= enough:
            rows = _joined(gathered)
            cut = int(np.flatnonzero(_are_first(rows, PARTITION_COLUMNS))[-1])
            if cut:
                yield rows.slice(0, cut)
            gathered = [rows.slice(cut)]
            # Not again after every batch of a partition that has many.
            enough = max(_ROWS, 2 * gathered[0].num_rows)
    if gathered:
        yield _joined(gathered)


def _small(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield from (batch.slice(start, _ROWS) for start in range(0, batch.num_rows, _ROWS))


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    (joined,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return joined
