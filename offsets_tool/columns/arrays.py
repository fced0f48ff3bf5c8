"""The type of NumPy's arrays, for every module that computes with columns, and what NumPy lacks: bounded differences, and arrays of
one value.

The kind of their elements is said where an array is made: code that is compiled, and Arrow's buffers, do not keep it in a type.
"""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from offsets_tool.wire.longs import MAX_LONG, MIN_LONG

Array: TypeAlias = np.ndarray[Any, Any]
"""An array of any shape, of any kind of element."""

_LARGEST_KEPT: Final = (32 << 20) - (1 << 16)
"""Bytes of the largest block that glibc's malloc may keep for later ones instead of giving it back."""
# To free a block teaches glibc (M_MMAP_THRESHOLD, M_TRIM_THRESHOLD) to keep as much: else the system is asked for a chunk's columns
# again and again, and clears each page, which took as long as reading the records. Elsewhere it does nothing.
np.empty(_LARGEST_KEPT, np.uint8)


def repeated(value: int, count: int) -> Array:
    """Return a read-only array of one value, which takes no memory, and no time in `taken`."""
    return np.broadcast_to(np.array(value), count)


def taken(column: Array, places: Array) -> Array:
    """Return the elements at these places."""
    return column[: len(places)] if is_repeated(column) and len(places) <= len(column) else column[places]


def joined(first: Array, second: Array) -> Array:
    """Return elements behind others."""
    if not len(first):
        return second
    if is_repeated(second) and (first == second[0]).all():
        return np.broadcast_to(second[0], len(first) + len(second))
    return np.concatenate((first, second))


def is_repeated(column: Array) -> bool:
    """Return whether `repeated` made the array, so that all elements are one."""
    return column.strides == (0,) and len(column) > 0


def differences(numbers: Array, less: Array) -> Array:
    """Return each of `numbers` minus its counterpart in `less`; where that is beyond 64 bits, the nearest number that is not.

    As wire.longs bounds them: NumPy's own overflow silently.
    """
    wrapped: Array = numbers - less
    # Only numbers of unlike signs can be so far apart, and then the difference has the sign of the wrong one.
    beyond = ((numbers ^ less) & (numbers ^ wrapped)) < 0
    return np.where(beyond, np.where(numbers < 0, MIN_LONG, MAX_LONG), wrapped) if beyond.any() else wrapped


def are_within(numbers: Array, begins: Sequence[int], ends: Sequence[int]) -> Array:
    """Return which numbers are in one of some ranges, which are in order and do not overlap; an end is no part of its range."""
    places = np.searchsorted(np.array(begins, np.int64), numbers, "right")
    return (places > 0) & (numbers < np.array([0, *ends], np.int64)[places])
