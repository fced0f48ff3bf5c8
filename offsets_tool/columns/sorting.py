"""Sorts rows by several columns, by one number a row where that is possible. Knows no column."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array

_MOST: Final = 1 << 62
"""What ranks of several columns that are one number stay below."""


def places_in_order(rows: pa.Table, order: Sequence[str]) -> Array:
    """Return the places of rows in the order of columns of integers, texts or times, nulls first, as Spark sorts them.

    Texts are in the order of their UTF-8 bytes; rows that are equal in all of these columns stay in their order.
    """
    places: Array = np.lexsort([*_keys(_ranks(rows.column(name)) for name in order)][::-1])
    return places


def _keys(ranks: Iterator[tuple[Array, int]]) -> Iterator[Array]:
    """Yield the fewest keys that sort as these ranks do, the first column's first."""
    key, size = next(ranks)
    for more, count in ranks:
        if size * count < _MOST:
            key, size = key * count + more, size * count
        else:
            yield key
            key, size = more, count
    yield key


def _ranks(column: pa.ChunkedArray) -> tuple[Array, int]:
    """Return a number for each row that is less where its value is, 0 for null, and a number above all of these."""
    values = column.combine_chunks()
    if pa.types.is_integer(values.type):
        limits = pc.min_max(values)
        least, greatest = (limits[name].as_py() for name in ("min", "max"))
        if least is None:
            return np.zeros(len(values), np.int64), 1
        if greatest - least < _MOST:
            return _shifted(values, least), greatest - least + 2
    return _ranks_of_distinct(values)


def _shifted(values: pa.Array, least: int) -> Array:
    numbers = pc.fill_null(values, least).to_numpy().astype(np.int64) - least + 1
    return (
        np.where(values.is_valid().to_numpy(zero_copy_only=False), numbers, 0)
        if values.null_count
        else numbers
    )


def _ranks_of_distinct(values: pa.Array) -> tuple[Array, int]:
    coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    ranks = pc.rank(coded.dictionary, tiebreaker="dense").to_numpy().astype(np.int64)
    codes = pc.fill_null(coded.indices, len(ranks)).to_numpy()
    return np.append(ranks, 0)[codes], len(ranks) + 1
