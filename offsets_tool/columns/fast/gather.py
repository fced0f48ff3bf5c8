"""Compiled: pieces of a buffer, each at its own place, copied together: the data of a column of texts or binaries."""

from typing import Any

import numpy as np
import pyarrow as pa

from offsets_tool.columns.fast.machine import address, compiled, load_u8, load_u64, step, store_i64, store_u8

Array = np.ndarray[Any, Any]


def gather(data: Array, starts: Array, sizes: Array, type_: pa.DataType, missing: Array | None) -> pa.Array:
    """A column of `type_` whose values are data[start:start+size]; `missing` marks nulls, whose size is 0."""
    offsets = np.zeros(len(starts) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    # Eight bytes more: values are copied eight bytes at a time.
    copied = np.empty(int(offsets[-1]) + 8, np.uint8)
    _copy(address(data), len(data), address(starts), address(sizes), len(starts), address(copied))
    valid = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    nulls = 0 if missing is None else int(missing.sum())
    buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(copied)]
    return pa.Array.from_buffers(type_, len(starts), buffers, nulls)


@compiled
def _copy(data: int, length: int, starts: int, sizes: int, count: int, to: int) -> None:
    """int64 places and sizes; all contiguous."""
    for number in range(count):
        at = _int64(starts, number)
        size = _int64(sizes, number)
        end = to + size
        if at + size + 8 <= length:
            source = data + at
            while to < end:
                store_i64(to, np.int64(load_u64(source)))
                to += 8
                source += 8
        else:
            for place in range(size):
                store_u8(to + place, load_u8(data + at + place))
        to = end


@step
def _int64(array: int, number: int) -> int:
    return np.int64(load_u64(array + 8 * number))  # type: ignore[return-value]
