"""Arrow columns of numpy arrays without a copy, and those that are the same in chunk after chunk, made once."""

from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.lane.interned import InternedKeys
from offsets_tool.columns.lane.layout import CAPACITY

_KEPT: Final = 64
_FEW: Final = 1 << 10
"""So many rows are made for each chunk: one of a single batch has constants that no other has."""


def column(type_: pa.DataType, values: Array, valid: Array | None = None) -> pa.Array:
    """Return a column of values of the type's own width, which it keeps without a copy; `valid` is False for nulls."""
    bits, nulls = _bitmap(valid)
    return pa.Array.from_buffers(type_, len(values), [bits, pa.py_buffer(values)], nulls)


def texts(type_: pa.DataType, offsets: Array, data: Array, valid: Array | None = None) -> pa.Array:
    """Return an array of texts or binaries that follow each other in `data`; `offsets` are int32, one more than the values."""
    bits, nulls = _bitmap(valid)
    buffers = [bits, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(type_, len(offsets) - 1, buffers, nulls)


def interned_column(interned: InternedKeys, *, is_text: bool) -> pa.Array:
    """Return all keys of a table as texts or binaries, in the order of their numbers."""
    starts, data = interned.spans()
    return texts(pa.string() if is_text else pa.binary(), starts.astype(np.int32), data)


def dictionary_column(numbers: Array, values: pa.Array) -> pa.DictionaryArray:
    """Return a dictionary-encoded column, given the number (int32) of each value, below 0 for a null. It keeps `numbers`."""
    has_null = len(numbers) > 0 and numbers.min() < 0
    indices = column(pa.int32(), numbers, numbers >= 0 if has_null else None)
    return pa.DictionaryArray.from_arrays(indices, values, safe=False)


def booleans(values: Array) -> pa.Array:
    """Return an array of booleans, given one byte for each."""
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, _packed(values)], 0)


def _bitmap(valid: Array | None) -> tuple[pa.Buffer | None, int]:
    if valid is None:
        return None, 0
    nulls = len(valid) - int(np.count_nonzero(valid))
    return (_packed(valid), nulls) if nulls else (None, 0)


def _packed(values: Array) -> pa.Buffer:
    return pa.py_buffer(np.packbits(values, bitorder="little"))


def repeated(value: object, type_: pa.DataType, rows: int) -> pa.Array:
    """Return a column that has the same value, or null, in every row."""
    return _filled(value, type_, rows) if rows <= _FEW else _kept(value, type_).slice(0, rows)


@lru_cache(_KEPT)
def _kept(value: object, type_: pa.DataType) -> pa.Array:
    return _filled(value, type_, CAPACITY)


def _filled(value: object, type_: pa.DataType, rows: int) -> pa.Array:
    if value is None or not rows:
        # Arrow cannot repeat a list no times, and a chunk of batches without records has no rows.
        return pa.nulls(rows, type_)
    return pa.repeat(pa.scalar(value, type_), rows)


def repeated_name(text: str, rows: int) -> pa.DictionaryArray:
    """Return a dictionary-encoded column that has the same text in every row."""
    return _repeated_text(text).slice(0, rows)


@lru_cache(_KEPT)
def _repeated_text(text: str) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(repeated(0, pa.int32(), CAPACITY), pa.array([text]), safe=False)
