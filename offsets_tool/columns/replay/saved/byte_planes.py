"""Columns of int64 as bytes that compress well, and back: each column's lowest bytes together, then its next, as many as it needs.

Any bytes of the right size are columns. Knows nothing about what they mean.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array

_WORD: Final = 8
_MASK: Final = (1 << 64) - 1


class Plane(NamedTuple):
    """How a column is packed: its least number, and how many bytes each number takes above that."""

    least: int
    width: int


def pack_planes(columns: Sequence[Array]) -> tuple[list[Plane], bytes]:
    """Return columns of equal length, which is not 0, as bytes, and how each is packed."""
    planes, parts = [], []
    for column in columns:
        least = column.min()
        above = np.ascontiguousarray(column - least, "<i8").view("<u8")
        width = max(1, (int(above.max()).bit_length() + 7) // 8)
        planes.append(Plane(int(least), width))
        parts.append(above.view(np.uint8).reshape(-1, _WORD).T[:width].tobytes())
    return planes, b"".join(parts)


def unpack_planes(planes: Sequence[Plane], count: int, data: bytes) -> list[Array]:
    """Return the columns that `pack_planes` packed so, of `count` numbers each.

    TypeError or ValueError for what it cannot have packed.
    """
    if not all(1 <= width <= _WORD for _, width in planes) or count < 1:
        raise ValueError("columns of no size")
    if len(data) != count * sum(width for _, width in planes):
        raise ValueError("columns of another size")
    columns, at = list[Array](), 0
    for least, width in planes:
        packed = np.frombuffer(data, np.uint8, count * width, at)
        above: Array = np.zeros((count, _WORD), np.uint8)
        above[:, :width] = packed.reshape(width, count).T
        columns.append((above.view("<u8")[:, 0] + np.uint64(least & _MASK)).astype(np.int64))
        at += count * width
    return columns
