"""Rows of a log in the order of its offsets, without misplaced records and without records that go back behind earlier ones.

The caller decides what to do with records that go back. Knows nothing about files.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.reading import RowsRead


class RowsInOrder(NamedTuple):
    """Rows whose offsets rise, up to `end`, and the offsets of those that go back, in their order."""

    read: RowsRead
    end: int
    back: Array


def rows_in_order(read: RowsRead, end: int) -> RowsInOrder:
    """Return the rows of `read` whose offsets rise above `end`, the last offset so far; misplaced records are left out."""
    if read.events is None:
        return RowsInOrder(read, end, np.empty(0, np.int64))
    offsets = read.events.column("log_offset").to_numpy()
    placed = read.events.column("misplaced").is_null().to_numpy(zero_copy_only=False)
    reached = np.maximum.accumulate(np.concatenate(([end], np.where(placed, offsets, -1))))
    goes_on = placed & (offsets > reached[:-1])
    back = offsets[placed & ~goes_on]
    return RowsInOrder(read if goes_on.all() else _only(read, goes_on), int(reached[-1]), back)


def _only(read: RowsRead, rows: Array) -> RowsRead:
    if not rows.any():
        return read._replace(log=None, events=None)
    log, events = (table and table.filter(pa.array(rows)) for table in (read.log, read.events))
    return read._replace(log=log, events=events)
