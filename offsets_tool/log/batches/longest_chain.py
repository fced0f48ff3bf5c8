"""Finds the longest chain of rising spans of offsets among the spans that lie in a file one after another.

Of chains of the same length, it prefers the one that leaves room for the spans in between, then the one with the earlier spans.
Takes n log n steps and a few arrays of numbers. Knows nothing about batches.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final

_LONGEST: Final = 1 << 31
_NEAR: Final = 16
"""How many are looked at that could come right before another, where more than one could."""


def span_of(first: int, last: int) -> int:
    """Return how many offsets there are from one to another, at most as many as a header of magic 2 can say."""
    return min(last - first + 1, _LONGEST)


def longest_chain(
    firsts: Sequence[int], lasts: Sequence[int], candidates: Iterable[int], begin: int, end: int | None
) -> Sequence[int]:
    """Return the numbers of the spans in the longest chain of rising offsets among the candidates.

    `firsts` and `lasts` are the offsets of all spans; `begin` and `end` (None: not known) bound them.
    """
    return _Chain(firsts, lasts, begin, end).of(candidates)


class _Chain:
    """Chains of every length, while spans are added."""

    def __init__(self, firsts: Sequence[int], lasts: Sequence[int], begin: int, end: int | None) -> None:
        self._firsts = firsts
        self._lasts = lasts
        self._begin = begin
        self._end = end
        self._taken = array("q", accumulate(map(span_of, firsts, lasts), initial=0))
        """Offsets that all spans before one take together."""
        self._tails = array("q")
        """By length of a chain, the lowest offset with which one of that length ends, and (`_owners`) the span it ends with."""
        self._owners = array("q")
        self._newest = array("q")
        self._same = array("q", bytes(8 * len(firsts)))
        """The span before with a chain of the same length; the newest of each length is in `_newest`."""
        self._backs = array("q", bytes(8 * len(firsts)))
        self._scores = array("q", bytes(8 * len(firsts)))

    def of(self, candidates: Iterable[int]) -> Sequence[int]:
        """Add the candidates, and return the spans of the longest chain; of several such chains, the best one."""
        for at in candidates:
            self._add(at)
        kept = array("q")
        if not self._tails:
            return kept
        at, _ = self._best(len(self._tails) - 1, len(self._firsts), self._end)
        while at >= 0:
            kept.append(at)
            at = self._backs[at]
        kept.reverse()
        return kept

    def _add(self, at: int) -> None:
        first, last = self._firsts[at], self._lasts[at]
        length = bisect_left(self._tails, first)
        if length:
            self._backs[at], self._scores[at] = self._best(length - 1, at, first)
        else:
            self._backs[at], self._scores[at] = -1, self._room(-1, at, first)
        if length == len(self._tails):
            self._tails.append(last)
            self._owners.append(at)
            self._newest.append(-1)
        elif last < self._tails[length]:
            self._tails[length], self._owners[length] = last, at
        self._same[at] = self._newest[length]
        self._newest[length] = at

    def _best(self, length: int, after: int, first: int | None) -> tuple[int, int]:
        """Return the best span that ends a chain of this length before another span, and its score."""
        best, score = -1, -1
        for at in self._nearest(length):
            if first is not None and self._lasts[at] >= first:
                continue
            worth = self._scores[at] + self._room(at, after, first)
            if worth > score or (worth == score and at < best):
                best, score = at, worth
        return best, score

    def _nearest(self, length: int) -> Sequence[int]:
        """Return spans that end a chain of this length, at least one of which can come before all longer chains."""
        at = self._newest[length]
        if self._same[at] < 0:
            return (at,)
        found = [self._owners[length]]
        while at >= 0 and len(found) <= _NEAR:
            found.append(at)
            at = self._same[at]
        return found

    def _room(self, before: int, after: int, first: int | None) -> int:
        """Return 2 if the spans left out between two others just fill the offsets there, 1 if they have room there, else 0."""
        if first is None:
            return 0
        free = self._lasts[before] + 1 if before >= 0 else self._begin
        wanted = self._taken[after] - self._taken[before + 1]
        return 2 if first - free == wanted else int(first - free > wanted)
