"""Lag that is not computed by column, one commit at a time by offsets_tool.lag: of partitions whose topic was created anew, or
whose numbers are absurd; and times of a grid.

It takes one partition of a topic at a time, because the commits of all groups also say where it ended. Only these are in memory.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby, islice, pairwise, starmap
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.lag.asked import PARTITION_COLUMNS, SEEN_BEFORE, LagAsked
from offsets_tool.lag.bounds import Bounds
from offsets_tool.lag.ends import Ends
from offsets_tool.lag.rows import (
    GRID_REACH_MS,
    EffectiveCommit,
    LagRow,
    commit_of,
    effective_commit,
    grid_times,
    lag_at_commits,
    lag_on_grid,
)
from offsets_tool.lag.samples import EndMethod, EndSample
from offsets_tool.replay.changes import OffsetOf, TopicPartition
from offsets_tool.wire.arrow import record_batch
from offsets_tool.wire.schema import FieldValue
from offsets_tool.wire.times import LAST_MILLISECOND

_ROWS_AT_ONCE: Final = 4_096


_PartitionKey: TypeAlias = tuple[str, str, int]
"""Cluster, topic and partition."""


class _Row(NamedTuple):
    """A row of COLUMNS but for its partition."""

    topic_id: str | None
    group: str
    log_partition: int | None
    from_timestamp: int
    to_timestamp: int | None
    is_effective: bool
    begin_cause: str
    committed_offset: int
    commit_timestamp: int
    timestamp: int
    log_start_offset: int | None
    last_stable_offset: int | None
    end_offset: int | None
    method: str | None
    source: str


def lag_one_by_one(
    asked: LagAsked, batches: Iterable[pa.RecordBatch]
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the lag of commits, each with its cluster, one commit at a time: what lag_batches yields by column."""
    partitions = groupby((run for batch in batches for run in _runs(batch)), itemgetter(0))
    for cluster, of_cluster in groupby(_partitions(partitions), lambda each: each.cluster):
        found = (row for each in of_cluster for row in each.lag(asked))
        while some := list(islice(found, _ROWS_AT_ONCE)):
            yield cluster, record_batch(LagRow, some)


def rows_on_grid(asked: LagAsked, batches: Iterable[pa.RecordBatch]) -> int:
    """Return how many rows a grid makes at most, given rows with COLUMNS: few commits may make many. 0 without a grid."""
    if asked.grid_ms is None:
        return 0
    return sum(
        _times_of(asked, asked.grid_ms, cluster, effective_commit(row, commit_of(row)))
        for batch in batches
        for (cluster, *_), rows in _runs(batch)
        for row in rows
        if row.is_effective
    )


def _times_of(asked: LagAsked, step: int, cluster: str, commit: EffectiveCommit) -> int:
    ends = (asked.newest[cluster], commit.until, commit.since + GRID_REACH_MS)
    return len(_grid(asked, step, commit.since, min(end for end in ends if end is not None)))


def _partitions(
    partitions: Iterable[tuple[_PartitionKey, Iterable[tuple[_PartitionKey, list[_Row]]]]],
) -> Iterator["_Partition"]:
    for (cluster, topic, number), runs in partitions:
        partition = _Partition(cluster, TopicPartition(topic, number))
        for _, rows in runs:
            partition.add(rows)
        yield partition


def _runs(batch: pa.RecordBatch) -> Iterator[tuple[_PartitionKey, list[_Row]]]:
    """Yield the parts of a batch whose rows are of one partition, each with that partition."""
    if not batch.num_rows:
        return
    changes = pa.array([False] * (batch.num_rows - 1), pa.bool_())
    for name in PARTITION_COLUMNS:
        column = batch.column(name)
        changes = pc.or_(changes, pc.not_equal(column.slice(1), column.slice(0, batch.num_rows - 1)))
    starts = [0, *(at + 1 for at in pc.indices_nonzero(changes).to_pylist())]
    first = pa.array(starts)
    partitions = zip(*(_values(batch.column(name).take(first)) for name in PARTITION_COLUMNS), strict=True)
    rows = list(starmap(_Row, zip(*(_values(batch.column(name)) for name in _Row._fields), strict=True)))
    for partition, (start, end) in zip(partitions, pairwise([*starts, batch.num_rows]), strict=True):
        yield partition, rows[start:end]


def _values(column: pa.Array) -> list[FieldValue]:
    """Return a column as Python values; of texts each distinct one is made once."""
    if not pa.types.is_string(column.type):
        return list(column.to_pylist())
    encoded = column.dictionary_encode(null_encoding="encode")
    texts = encoded.dictionary.to_pylist()
    return [texts[number] for number in encoded.indices.to_pylist()]


class _Partition:
    """One partition of a topic: the samples of its end, and the commits of all groups."""

    def __init__(self, cluster: str, partition: TopicPartition) -> None:
        self.cluster = cluster
        self._place = partition
        self._samples: list[EndSample] = []
        self._bounds = Bounds()
        self._commits: dict[str, list[EffectiveCommit]] = {}

    def add(self, rows: Iterable[_Row]) -> None:
        """Add rows in ORDER, so that those of a group are in the order of its log."""
        for row in rows:
            if row.method is None:
                self._add_commit(row)
            else:
                self._samples.append(_sample(self._place, row, EndMethod(row.method)))

    def _add_commit(self, row: _Row) -> None:
        commit = commit_of(row)
        if row.begin_cause not in SEEN_BEFORE:
            self._bounds.add(row.log_partition, self._place, commit)
        if row.is_effective:
            self._commits.setdefault(row.group, []).append(effective_commit(row, commit))

    def lag(self, asked: LagAsked) -> Iterator[LagRow]:
        """Yield the rows of `lag` of this partition, group after group."""
        if not self._commits:
            return
        ends = Ends.of(
            [*self._samples, *self._bounds.samples(self._place)], is_last_stable=asked.is_last_stable
        )
        for group, some in sorted(self._commits.items()):
            yield from _of_group(asked, self.cluster, OffsetOf(group, *self._place), some, ends)


def _sample(partition: TopicPartition, row: _Row, method: EndMethod) -> EndSample:
    return EndSample(
        *partition,
        row.timestamp,
        row.log_start_offset,
        row.last_stable_offset,
        row.end_offset,
        method,
        row.source,
        row.topic_id,
    )


def _of_group(
    asked: LagAsked, cluster: str, of: OffsetOf, commits: list[EffectiveCommit], ends: Ends
) -> Iterator[LagRow]:
    at_commits = {one.since: one for one in commits if asked.has(one.since)}
    yield from lag_at_commits(of, at_commits.values(), ends)
    if asked.grid_ms is not None:
        first = min(one.since for one in commits)
        grid = grid_times(
            (one.since for one in commits), _grid(asked, asked.grid_ms, first, asked.newest[cluster])
        )
        yield from lag_on_grid(of, commits, ends, (at for at in grid if at not in at_commits))


def _grid(asked: LagAsked, step: int, first: int, newest: int) -> range:
    start = max(0, first if asked.since is None else max(first, asked.since))
    stop = min(newest + 1 if asked.until is None else min(newest + 1, asked.until), LAST_MILLISECOND)
    return range(-(-start // step) * step, stop, step)
