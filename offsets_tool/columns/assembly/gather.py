"""Compiled: pieces of a buffer, each at its own place, copied together: the data of a column of texts or binaries."""

from typing import Final

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.assembly.arrays import texts
from offsets_tool.columns.jit.machine import (
    address,
    compiled,
    load_i64,
    load_u8,
    load_u64,
    step,
    store_i32,
    store_i64,
    store_u8,
)
from offsets_tool.columns.lane.layout import CAPACITY

_NO_TEXT: Final = np.zeros(CAPACITY + 1, np.int32)


def gather(
    data: Array, starts: Array, sizes: Array, type_: pa.DataType, valid: Array | None = None
) -> pa.Array:
    """Return a column of `type_` whose values are data[start:start+size]; `valid` is False for nulls, whose size is not above 0.

    Starts and sizes are int64.
    """
    wanted = np.maximum(sizes, 0)
    total = int(wanted.sum())
    if not total:
        return texts(type_, _NO_TEXT[: len(starts) + 1], _NO_TEXT, valid)
    offsets = np.empty(len(starts) + 1, np.int32)
    # Eight bytes more: values are copied eight bytes at a time.
    copied = np.empty(total + 8, np.uint8)
    _copy(
        address(data),
        len(data),
        address(starts),
        address(wanted),
        len(starts),
        address(offsets),
        address(copied),
    )
    return texts(type_, offsets, copied, valid)


@compiled
def _copy(data: int, length: int, starts: int, sizes: int, count: int, offsets: int, to: int) -> None:
    """Copy `count` values one behind another to `to`; `starts` and `sizes` are int64, the `offsets` that it fills are int32."""
    first = to
    for number in range(count):
        store_i32(offsets + 4 * number, to - first)
        at = load_i64(starts + 8 * number)
        to = _piece(data, length, at, to, to + load_i64(sizes + 8 * number))
    store_i32(offsets + 4 * count, to - first)


@step
def _piece(data: int, length: int, at: int, to: int, end: int) -> int:
    if at + (end - to) + 8 <= length:
        source = data + at
        while to < end:
            store_i64(to, np.int64(load_u64(source)))
            to += 8
            source += 8
    else:
        for place in range(end - to):
            store_u8(to + place, load_u8(data + at + place))
    return end
