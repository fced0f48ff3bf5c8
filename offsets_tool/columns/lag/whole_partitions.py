"""Rows of commits and samples, cut where partitions of topics begin. Knows only which columns name a partition."""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.lag.asked import PARTITION_COLUMNS

ROWS: Final = 1 << 16
"""The rows from which on computing by column pays."""


def are_first(rows: pa.RecordBatch, names: Iterable[str] = PARTITION_COLUMNS) -> Array:
    """Return which rows differ from the one before in some column; the first one does."""
    first: Array = np.ones(rows.num_rows, bool)
    if rows.num_rows > 1:
        first[1:] = False
        for name in names:
            first[1:] |= _differ(rows.column(name))
    return first


def _differ(column: pa.Array) -> Array:
    some, others = column.slice(1), column.slice(0, len(column) - 1)
    differ = pc.fill_null(pc.not_equal(some, others), False)
    if column.null_count:
        differ = pc.or_(differ, pc.not_equal(some.is_null(), others.is_null()))
    return differ.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def whole_partitions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the same rows in batches of about ROWS; all rows of one partition are in one batch, however many they are."""
    gathered: list[pa.RecordBatch] = []
    count = 0
    for batch in _small(batches):
        cut = _last_partition(batch, gathered[-1] if gathered else None)
        is_enough = cut is not None and count + cut >= ROWS
        if is_enough:
            yield _joined([*gathered, batch.slice(0, cut)])
            gathered, count = [], 0
        gathered.append(batch.slice(cut) if is_enough else batch)
        count += gathered[-1].num_rows
    if gathered:
        yield _joined(gathered)


def _small(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for start in range(0, batch.num_rows, ROWS):
            yield batch.slice(start, ROWS)


def _last_partition(batch: pa.RecordBatch, before: pa.RecordBatch | None) -> int | None:
    """Return the index of the row at which the last partition of a batch begins; None if it began in the batch `before`."""
    begins = int(np.flatnonzero(are_first(batch))[-1])
    if begins or before is None:
        return begins or None
    last = before.num_rows - 1
    is_same = all(batch.column(name)[0] == before.column(name)[last] for name in PARTITION_COLUMNS)
    return None if is_same else 0


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    (joined,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return joined
