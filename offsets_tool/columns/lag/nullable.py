"""Arrays in which a number may be missing, and the exact arithmetic of lag on them."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.wire.longs import difference

_EXACT_QUOTIENT = float(1 << 62)
_EXACT_FLOAT = float(1 << 53)


class NullableNumbers(NamedTuple):
    """An array of numbers, and which of them are present; the others are 0."""

    numbers: Array
    there: Array

    def above(self, base: Array) -> "NullableNumbers":
        """Return how far each number is above its base, at least 0."""
        return NullableNumbers(np.where(self.there, np.maximum(self.numbers - base, 0), 0), self.there)

    def only(self, there: Array) -> "NullableNumbers":
        """Return the numbers for which `there` is true, too."""
        return NullableNumbers(np.where(there, self.numbers, 0), self.there & there)


def clipped(numbers: Array, low: NullableNumbers, high: NullableNumbers) -> Array:
    """Return the numbers, clipped to `low` and `high` where these are present; `high` wins over `low`."""
    below = low.there & (numbers < low.numbers)
    above = high.there & (numbers > high.numbers)
    return np.where(above, high.numbers, np.where(below, low.numbers, numbers))


def floor_of(numbers: Array, times: Array, by: Array) -> Array:
    """Return `numbers * times // by`, exact even where the product exceeds 64 bits, as Python computes it."""
    found: Array = numbers * times // by
    wide = np.flatnonzero(np.abs(numbers.astype(float) * times) >= _EXACT_QUOTIENT)
    found[wide] = [n * t // b for n, t, b in _rows(wide, numbers, times, by)]
    return found


def before(since: Array, numbers: Array, times: Array, by: Array) -> Array:
    """Return `difference(since, round(numbers * times / by))` of wire.longs, with the same rounding as Python's integers."""
    wide = (np.abs(numbers.astype(float) * times) >= _EXACT_FLOAT) | (by >= _EXACT_FLOAT)
    back: Array = np.where(wide, 0, np.rint(numbers * times / by)).astype(np.int64)
    found: Array = since - back
    rows = np.flatnonzero(wide)
    found[rows] = [difference(at, round(n * t / b)) for at, n, t, b in _rows(rows, since, numbers, times, by)]
    return found


def _rows(rows: Array, *columns: Array) -> Iterator[tuple[int, ...]]:
    return zip(*(column[rows].tolist() for column in columns), strict=True)
