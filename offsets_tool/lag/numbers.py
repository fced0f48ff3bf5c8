"""Numbers of many lines in one array: some may be missing, arithmetic is exact, and one search finds a position in each line.

A line and a number make one key of 64 bits: the number itself where it is small, else its place among all that are there. Knows
nothing about what the numbers are.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array, differences
from offsets_tool.wire.longs import difference

_EXACT_QUOTIENT: Final = float(1 << 62)
_EXACT_FLOAT: Final = float(1 << 53)
_SPAN: Final = 1 << 43
"""Epoch milliseconds up to the year 2248, and every offset that a partition is likely to reach."""
_LINES: Final = 1 << 19


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


def are_begun(numbers: Array) -> Array:
    """Return which numbers differ from the one before; the first one does."""
    begun: Array = np.ones(len(numbers), bool)
    begun[1:] = numbers[1:] != numbers[:-1]
    return begun


def beyond_all_before(lines: Array, numbers: Array) -> Array:
    """Return which numbers are higher than all before them in their line; lines come in their order."""
    keys = Rising.scaled(lines, numbers).keys
    beyond: Array = np.ones(len(keys), bool)
    beyond[1:] = keys[1:] > np.maximum.accumulate(keys)[:-1]
    return beyond


class Rising(NamedTuple):
    """Keys in their order; those of one line lie between two neighbouring `edges`."""

    keys: Array
    edges: Array
    scale: Array | None
    """All numbers that are there, in their order, where keys are made of places in it."""

    @classmethod
    def of(cls, lines: Array, numbers: Array, count: int) -> "Rising":
        """Return the numbers of `count` lines, given in the order of both."""
        return cls.scaled(lines, numbers, count)._replace(edges=np.searchsorted(lines, np.arange(count + 1)))

    @classmethod
    def scaled(cls, lines: Array, numbers: Array, count: int = 0) -> "Rising":
        """Return the keys of numbers in any order, without edges; lines up to `count` may be asked about."""
        last = max(count, int(lines[-1]) + 1 if len(lines) else 0)
        is_small = last <= _LINES and (not len(numbers) or (numbers.min() >= 0 and numbers.max() < _SPAN))
        rising = cls(lines[:0], lines[:0], None if is_small else np.unique(numbers))
        return rising._replace(keys=rising._keys(lines, numbers))

    def _keys(self, lines: Array, numbers: Array, *, is_below: bool = False) -> Array:
        """Return keys of numbers, for a search from the right; with `is_below`, for one of what is lower."""
        if self.scale is None:
            steps, span = (
                np.clip(numbers, 0, _SPAN) - 1 if is_below else np.clip(numbers, -1, _SPAN - 1),
                _SPAN,
            )
        else:
            steps = np.searchsorted(self.scale, numbers, side="left" if is_below else "right")
            span = len(self.scale) + 1
        keys: Array = lines * np.int64(span) + steps
        return keys

    def up_to(self, lines: Array, numbers: Array, *, is_below: bool = False) -> "Found":
        """Return for each line and number how far the numbers of that line go that are not higher; `is_below`: that are lower."""
        keys = self._keys(lines, numbers, is_below=is_below)
        return Found(np.searchsorted(self.keys, keys, side="right"), self.edges[lines], self.edges[lines + 1])


class Found(NamedTuple):
    """Positions in Rising: `at` is behind the last number that is not higher; `first` and `end` are the line's."""

    at: Array
    first: Array
    end: Array

    @property
    def has_next(self) -> Array:
        """Whether the line has a number that is higher."""
        return self.at < self.end

    def last_of(self, values: Array) -> NullableNumbers:
        """Return the values beside the last numbers that are not higher."""
        there = self.at > self.first
        return NullableNumbers(picked(values, self.at - 1, there), there)

    def next_of(self, values: Array) -> NullableNumbers:
        """Return the values beside the first numbers that are higher."""
        return NullableNumbers(picked(values, self.at, self.has_next), self.has_next)


def picked(values: Array, places: Array, where: Array) -> Array:
    """Return values by their places; 0 where there is none."""
    if not len(values):
        return np.zeros(len(places), np.int64)
    return np.where(where, values[np.where(where, places, 0)], 0)
