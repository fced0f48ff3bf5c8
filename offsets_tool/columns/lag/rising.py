"""Numbers that rise within each of many places, all in one array, so that one search finds a position for each of many places.

A place and a number make one key of 64 bits: numbers are below SPAN, and a caller has fewer than PLACES places. Knows nothing about
what the numbers are.
"""

from typing import Final, NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array

SPAN: Final = 1 << 43
"""Epoch milliseconds up to the year 2248, and every offset that a partition is likely to reach."""
PLACES: Final = 1 << 19


def are_usual(numbers: Array) -> Array:
    """Return which numbers can be part of a key."""
    return (numbers >= 0) & (numbers < SPAN)


def keys_of(places: Array, numbers: Array) -> Array:
    """Return the keys, which have the order of the places, and within one of the numbers."""
    keys: Array = places * SPAN + numbers
    return keys


def beyond_all_before(keys: Array) -> Array:
    """Return which keys are higher than all before them."""
    highest = np.maximum.accumulate(keys)
    beyond: Array = np.ones(len(keys), bool)
    beyond[1:] = keys[1:] > highest[:-1]
    return beyond


class Rising(NamedTuple):
    """Keys in their order; those of one place lie between two neighbouring `edges`."""

    keys: Array
    edges: Array

    @classmethod
    def of(cls, places: Array, numbers: Array, count: int) -> "Rising":
        """Return the numbers of `count` places, given in the order of both."""
        return cls(keys_of(places, numbers), np.searchsorted(places, np.arange(count + 1)))

    def up_to(self, places: Array, numbers: Array) -> "Found":
        """Return for each place and number how far the numbers of that place go that are not higher."""
        return Found(
            np.searchsorted(self.keys, keys_of(places, numbers), side="right"),
            self.edges[places],
            self.edges[places + 1],
        )


class Found(NamedTuple):
    """Positions in Rising: `at` is behind the last number that is not higher; `first` and `end` are the place's."""

    at: Array
    first: Array
    end: Array

    @property
    def has_last(self) -> Array:
        """Whether the place has a number that is not higher."""
        return self.at > self.first

    @property
    def has_next(self) -> Array:
        """Whether the place has a number that is higher."""
        return self.at < self.end


def picked(values: Array, at: Array, where: Array) -> Array:
    """Return values by their positions; 0 where there is none."""
    if not len(values):
        return np.zeros(len(at), np.int64)
    return np.where(where, values[np.where(where, at, 0)], 0)
