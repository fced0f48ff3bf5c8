"""Rows of `lag` from rows of offset histories and samples of ends: by column where a partition of a topic has one lifetime and
usual numbers, one at a time where not.

Rows of one partition of a topic are computed together, because the commits of all groups also say where it ended. The commits of
one partition are in memory.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.lag.asked import LagAsked
from offsets_tool.columns.lag.commits import CommitRows
from offsets_tool.columns.lag.one_by_one import lag_one_by_one
from offsets_tool.columns.lag.output import ROWS, lag_columns
from offsets_tool.columns.lag.whole_partitions import whole_partitions
from offsets_tool.columns.lag.words import Words

LagBatches = Iterator[tuple[str, pa.RecordBatch]]


def lag_batches(asked: LagAsked, batches: Iterable[pa.RecordBatch]) -> LagBatches:
    """Yield rows of LagRow with their cluster, given rows with COLUMNS, in ORDER.

    A commit and a time of the grid in one millisecond are one row, as are several commits: the last counts.
    """
    if asked.grid_ms is not None:
        yield from lag_one_by_one(asked, batches)
        return
    words = Words()
    for rows in whole_partitions(batches):
        yield from _lag_of(asked, rows, words)


def _lag_of(asked: LagAsked, rows: pa.RecordBatch, words: Words) -> LagBatches:
    commits = CommitRows.of(rows)
    lifetimes, by_column = commits.lifetimes(is_last_stable=asked.is_last_stable)
    moments = commits.moments(by_column, asked)
    for start in range(0, len(moments), ROWS):
        some = moments[start : start + ROWS]
        made = lag_columns(rows, commits, lifetimes, some, words)
        clusters = rows.column("cluster").take(pa.array(some))
        yield from _by_cluster(clusters, made)
    left = ~by_column[commits.partitions]
    if left.any():
        yield from lag_one_by_one(asked, [rows.filter(pa.array(left))])


def _by_cluster(clusters: pa.Array, made: pa.RecordBatch) -> LagBatches:
    """Yield rows, which come cluster by cluster, apart."""
    runs = pc.run_end_encode(clusters)
    ends = [0, *np.asarray(runs.run_ends).tolist()]
    for cluster, start, end in zip(runs.values.to_pylist(), ends, ends[1:], strict=False):
        yield cluster, made.slice(start, end - start)
