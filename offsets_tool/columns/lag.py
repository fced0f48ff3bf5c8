"""Lag many at a time: rows of offset histories and samples of ends in, columns of `lag` out, as offsets_tool.lag has it one by one.

One partition of a topic at a time: what all groups committed there tells of its end too. In memory are that partition's rows, as
columns. Decides nothing that lag.ends and lag.lag_rows do not.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, pairwise
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.lag.bounds import Bounds
from offsets_tool.lag.ends import Ends
from offsets_tool.lag.lag_rows import Held, LagRow, held_of, lag_at_commits, lag_on_grid
from offsets_tool.lag.samples import CommitAt, EndMethod, EndSample
from offsets_tool.replay.changes import OffsetOf, TopicPartition
from offsets_tool.rows import NO_TIMESTAMP
from offsets_tool.wire.arrow import record_batch

_PLACE: Final = ("cluster", "topic", "partition")
_COMMIT: Final = (
    "group",
    "log_partition",
    "from_offset",
    "from_timestamp",
    "to_timestamp",
    "counted",
    "committed_offset",
    "commit_timestamp",
)
_SAMPLE: Final = ("at", "log_start", "last_stable", "end", "method", "source")
COLUMNS: Final = (*_PLACE, "topic_id", *_COMMIT, *_SAMPLE)
"""What a row must have, of `offset_history` or of `ends`: null is what the other has. Only a sample has a `method`."""
ORDER: Final = (*_PLACE, "log_partition", "from_offset")
"""How rows must come."""
_ROWS_AT_ONCE: Final = 32_768


class LagAsked(NamedTuple):
    """Lag at each commit and, with `grid_ms`, at all multiples of it up to the cluster's newest time; within since and until, epoch
    milliseconds. `newest` by cluster. `last_stable` as Ends.of has it."""

    newest: Mapping[str, int]
    grid_ms: int | None = None
    since: int | None = None
    until: int | None = None
    last_stable: bool = False

    def has(self, at: int) -> bool:
        """Whether a moment is asked for."""
        return (self.since is None or at >= self.since) and (self.until is None or at < self.until)


class _Commit(NamedTuple):
    """A row of a history, as far as lag looks at it."""

    log_partition: int | None
    from_timestamp: int
    to_timestamp: int | None
    counted: bool
    committed_offset: int
    commit_timestamp: int
    topic_id: str | None


def lag_batches(asked: LagAsked, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Rows of LagRow with their cluster, from rows with COLUMNS, in ORDER.

    A commit and a time of the grid in one millisecond are one row, as are several commits: the last counts.
    """
    for (cluster, *place), rows in _places(batches):
        found = _lag_rows(asked, cluster, TopicPartition(*place), rows)
        while some := list(islice(found, _ROWS_AT_ONCE)):
            yield cluster, record_batch(LagRow, some)


def _places(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[tuple[Any, ...], pa.Table]]:
    """The rows of each partition of a topic."""
    waiting: list[pa.RecordBatch] = []
    last: tuple[Any, ...] | None = None
    for batch in batches:
        for rows in _runs(batch.select(COLUMNS)):
            place = tuple(rows.column(name)[0].as_py() for name in _PLACE)
            if last is not None and place != last:
                yield last, pa.Table.from_batches(waiting)
                waiting = []
            waiting.append(rows)
            last = place
    if last is not None:
        yield last, pa.Table.from_batches(waiting)


def _runs(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Parts of a batch whose rows are of one place."""
    if not batch.num_rows:
        return
    changes = pa.array([False] * (batch.num_rows - 1))
    for name in _PLACE:
        column = batch.column(name)
        changes = pc.or_(changes, pc.not_equal(column.slice(1), column.slice(0, batch.num_rows - 1)))
    starts = [0, *(at + 1 for at in pc.indices_nonzero(changes).to_pylist()), batch.num_rows]
    for start, end in pairwise(starts):
        yield batch.slice(start, end - start)


def _lag_rows(asked: LagAsked, cluster: str, place: TopicPartition, rows: pa.Table) -> Iterator[LagRow]:
    is_sample = pc.is_valid(rows.column("method"))
    commits = rows.filter(pc.invert(is_sample))
    if not commits.num_rows:
        return
    seen = [*_samples(place, rows.filter(is_sample)), *_bounds(place, commits)]
    ends = Ends.of(seen, last_stable=asked.last_stable)
    for group, told in _groups(commits):
        of, held = OffsetOf(group, *place), list(held_of(told))
        yield from _of_group(asked, cluster, of, held, ends)


def _of_group(asked: LagAsked, cluster: str, of: OffsetOf, held: list[Held], ends: Ends) -> Iterator[LagRow]:
    at_commits = {one.since: one for one in held if asked.has(one.since)}
    yield from lag_at_commits(of, at_commits.values(), ends)
    if asked.grid_ms is not None and held:
        first = min(one.since for one in held)
        grid = _grid(asked, asked.grid_ms, first, asked.newest[cluster])
        yield from lag_on_grid(of, held, ends, (at for at in grid if at not in at_commits))


def _grid(asked: LagAsked, step: int, first: int, newest: int) -> range:
    start = first if asked.since is None else max(first, asked.since)
    stop = newest + 1 if asked.until is None else min(newest + 1, asked.until)
    return range(-(-start // step) * step, stop, step)


def _samples(place: TopicPartition, rows: pa.Table) -> Iterator[EndSample]:
    for row in rows.select([*_SAMPLE, "topic_id"]).to_pylist():
        yield EndSample(*place, **row | {"method": EndMethod(row["method"])})


def _bounds(place: TopicPartition, commits: pa.Table) -> Iterator[EndSample]:
    bounds = Bounds()
    for row in _commits(commits):
        at = row.commit_timestamp if row.from_timestamp == NO_TIMESTAMP else row.from_timestamp
        bounds.add(row.log_partition, place, CommitAt(at, row.committed_offset, row.topic_id))
    return bounds.samples(place)


def _groups(commits: pa.Table) -> Iterator[tuple[str, Iterator[_Commit]]]:
    """Each group's rows, in the order of its log."""
    ordered = commits.sort_by([(name, "ascending") for name in ("group", "log_partition", "from_offset")])
    counts = pc.value_counts(ordered.column("group").combine_chunks())
    start = 0
    for group, count in zip(*(counts.field(name).to_pylist() for name in ("values", "counts")), strict=True):
        yield group, _commits(ordered.slice(start, count))
        start += count


def _commits(rows: pa.Table) -> Iterator[_Commit]:
    for batch in rows.select(_Commit._fields).to_batches(_ROWS_AT_ONCE):
        yield from map(_Commit._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))
