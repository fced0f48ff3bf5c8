"""The records of a page of rows, summed up for findings as RecordSums sums up events."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.columns_of_rows import encoded, numbers
from offsets_tool.findings.record_sums import RecordSums
from offsets_tool.wire.text import from_shown


def observe_batch(sums: RecordSums, page: pa.RecordBatch) -> None:
    """Add the records of a page, which has columns of `events`, and raw bytes."""
    known = page.select(["group", "key", "value"]).filter(pc.is_valid(page.column("group")))
    sizes = _lengths(known.column("key")) + _lengths(known.column("value"))
    groups = encoded(known.column("group"))
    of_groups = np.bincount(groups.indices.to_numpy(), weights=sizes, minlength=len(groups.dictionary))
    for group, size in zip(groups.dictionary.to_pylist(), of_groups.tolist(), strict=True):
        if size:
            sums.bytes[from_shown(group)] += int(size)


def _lengths(column: pa.Array) -> Array:
    """Return the bytes in each row of a column; 0 for null."""
    if not pa.types.is_dictionary(column.type):
        return numbers(pc.binary_length(column), 0)
    return numbers(pc.binary_length(column.dictionary).take(column.indices), 0)
