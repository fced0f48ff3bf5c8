"""Numbers that rise within each of many partitions, in one array, so that one search finds a position in each partition.

A partition and a number make one key of 64 bits: numbers are below SPAN, and a caller has fewer than PARTITIONS partitions.
Knows nothing about what the numbers are.
"""

from typing import Final, NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array

SPAN: Final = 1 << 43
"""Epoch milliseconds up to the year 2248, and every offset that a partition is likely to reach."""
PARTITIONS: Final = 1 << 19


def are_usual(numbers: Array) -> Array:
    """Return which numbers can be part of a key."""
    return (numbers >= 0) & (numbers < SPAN)


def keys_of(partitions: Array, numbers: Array) -> Array:
    """Return the keys, which have the order of the partitions, and within one of the numbers."""
    keys: Array = partitions * SPAN + numbers
    return keys


def beyond_all_before(keys: Array) -> Array:
    """Return which keys are higher than all before them."""
    highest = np.maximum.accumulate(keys)
    beyond: Array = np.ones(len(keys), bool)
    beyond[1:] = keys[1:] > highest[:-1]
    return beyond


class Rising(NamedTuple):
    """Keys in their order; those of one partition lie between two neighbouring `edges`."""

    keys: Array
    edges: Array

    @classmethod
    def of(cls, partitions: Array, numbers: Array, count: int) -> "Rising":
        """Return the numbers of `count` partitions, given in the order of both."""
        return cls(keys_of(partitions, numbers), np.searchsorted(partitions, np.arange(count + 1)))

    def up_to(self, partitions: Array, numbers: Array) -> "Found":
        """Return for each partition and number how far the numbers of that partition go that are not higher."""
        return Found(
            np.searchsorted(self.keys, keys_of(partitions, numbers), side="right"),
            self.edges[partitions],
            self.edges[partitions + 1],
        )


class Found(NamedTuple):
    """Positions in Rising: `at` is behind the last number that is not higher; `first` and `end` are the partition's."""

    at: Array
    first: Array
    end: Array

    @property
    def has_last(self) -> Array:
        """Whether the partition has a number that is not higher."""
        return self.at > self.first

    @property
    def has_next(self) -> Array:
        """Whether the partition has a number that is higher."""
        return self.at < self.end


def picked(values: Array, at: Array, where: Array) -> Array:
    """Return values by their positions; 0 where there is none."""
    if not len(values):
        return np.zeros(len(at), np.int64)
    return np.where(where, values[np.where(where, at, 0)], 0)
