"""Arrays in which a number may be missing, and the exact arithmetic of lag on them."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.differences import differences
from offsets_tool.wire.longs import difference

_EXACT_QUOTIENT: Final = float(1 << 62)
_EXACT_FLOAT: Final = float(1 << 53)


class NullableNumbers(NamedTuple):
    """An array of numbers, and which of them are present; the others are 0."""

    numbers: Array
    there: Array

    @classmethod
    def of(cls, numbers: Sequence[int | None]) -> "NullableNumbers":
        """Return numbers of which those that are None are missing."""
        there = np.array([number is not None for number in numbers], bool)
        return cls(np.array([number or 0 for number in numbers], np.int64), there)

    def above(self, base: Array) -> "NullableNumbers":
        """Return how far each number is above its base, at least 0; bounded to 64 bits."""
        return NullableNumbers(np.maximum(differences(self.numbers, base), 0), self.there).only(self.there)

    def before(self, time: Array) -> "NullableNumbers":
        """Return how far each number is before a time, at least 0; bounded to 64 bits."""
        return NullableNumbers(np.maximum(differences(time, self.numbers), 0), self.there).only(self.there)

    def only(self, there: Array) -> "NullableNumbers":
        """Return the numbers for which `there` is true, too."""
        return NullableNumbers(np.where(there, self.numbers, 0), self.there & there)

    def where(self, chosen: Array, other: "NullableNumbers") -> "NullableNumbers":
        """Return the numbers where `chosen` is true, else the other ones."""
        return NullableNumbers(*(np.where(chosen, *pair) for pair in zip(self, other, strict=True)))

    def column(self) -> pa.Array:
        """Return the numbers with null where one is missing."""
        return pa.array(self.numbers, mask=~self.there)


def clipped(numbers: Array, low: NullableNumbers, high: NullableNumbers) -> Array:
    """Return the numbers, clipped to `low` and `high` where these are present; `high` wins over `low`."""
    below = low.there & (numbers < low.numbers)
    above = high.there & (numbers > high.numbers)
    return np.where(above, high.numbers, np.where(below, low.numbers, numbers))


def share_until(numbers: Array, since: Array, at: Array, until: Array) -> Array:
    """Return `numbers * (at - since) // (until - since)` exactly as Python computes it, even beyond 64 bits."""
    took = until.astype(float) - since
    wide = (np.abs(numbers * (at.astype(float) - since)) >= _EXACT_QUOTIENT) | (took >= _EXACT_QUOTIENT)
    shares: Array = numbers * (at - since) // np.where(wide, 1, until - since)
    places = np.flatnonzero(wide)
    shares[places] = [n * (a - s) // (u - s) for n, s, a, u in _rows(places, numbers, since, at, until)]
    return shares


def time_before(until: Array, since: Array, numbers: Array, by: Array) -> Array:
    """Return `difference(until, round(numbers * (until - since) / by))` of wire.longs, rounded as Python rounds integers."""
    took = until.astype(float) - since
    wide = (np.abs(numbers.astype(float) * took) >= _EXACT_FLOAT) | (by >= _EXACT_FLOAT)
    back: Array = np.where(wide, 0, np.rint(numbers * (until - since) / by)).astype(np.int64)
    times: Array = until - back
    places = np.flatnonzero(wide)
    rows = _rows(places, until, since, numbers, by)
    times[places] = [difference(u, round(n * (u - s) / b)) for u, s, n, b in rows]
    return times


def _rows(places: Array, *columns: Array) -> Iterator[tuple[int, ...]]:
    return zip(*(column[places].tolist() for column in columns), strict=True)
