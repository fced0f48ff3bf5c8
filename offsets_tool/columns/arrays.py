"""The type of NumPy's arrays, for every module that computes with columns.

The kind of their elements is said where an array is made: code that is compiled, and Arrow's buffers, do not keep it in a type.
"""

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]
"""An array of any shape, of any kind of element."""


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
