"""Thin the points of a line so that it looks the same: each bin of time keeps its first, last, lowest and highest.

(M4: Jugel, Jerzak, Hackenbroich, Markl, "M4: a visualization-oriented time series data aggregation", VLDB 2014.) Numbers alone.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from statistics import median
from typing import Final, NamedTuple, TypeVar

T = TypeVar("T")
_OF_A_BIN: Final = 4
_SILENCE: Final = 5
"""A silence is so many times as long as half of the distances between points are."""
_SHARE: Final = 40
"""And at least such a part of the time that is shown."""


class LinePoint(NamedTuple):
    """A value and the time (epoch milliseconds) from which on it holds; with `is_kept` it is never left out."""

    at: int
    value: float
    is_kept: bool = False


def thinned(points: Sequence[LinePoint], most: int) -> list[LinePoint]:
    """Return a line's points, in the order of time, thinned to about `most` and those that are kept.

    First, last, lowest and highest of all stay, and so do those of each bin.
    """
    if len(points) <= most:
        return list(points)
    begin, end = points[0].at, points[-1].at
    bins = max(most // _OF_A_BIN, 1)
    by_bin: dict[int, list[int]] = {}
    for number, point in enumerate(points):
        by_bin.setdefault((point.at - begin) * bins // (end - begin + 1), []).append(number)
    chosen = {number for numbers in by_bin.values() for number in _outline(points, numbers)}
    chosen.update(number for number, point in enumerate(points) if point.is_kept)
    return [points[number] for number in sorted(chosen)]


def _outline(points: Sequence[LinePoint], numbers: Sequence[int]) -> Iterable[int]:
    yield numbers[0]
    yield numbers[-1]
    yield min(numbers, key=lambda number: points[number].value)
    yield max(numbers, key=lambda number: points[number].value)


def silence_of(times: Sequence[int], whole: int) -> float:
    """Return how far apart two of these ascending times must be to have a silence between them; 0 where they are too few.

    `whole` is the length of the window; all are milliseconds.
    """
    distances = [after - before for before, after in pairwise(times)]
    return max(_SILENCE * median(distances), whole / _SHARE) if distances else 0


def merged(
    items: Sequence[T], most: int, at: Callable[[T], int], worst: Callable[[T], float]
) -> list[tuple[T, int]]:
    """Return items, each with the number it stands for: all with 1, or where there are more than `most` the worst of each bin.

    The numbers add up to that of all items; `at` gives an item's time, `worst` a number that is larger for a worse item.
    """
    if len(items) <= most:
        return [(item, 1) for item in items]
    begin, end = min(map(at, items)), max(map(at, items))
    by_bin: dict[int, list[T]] = {}
    for item in items:
        by_bin.setdefault((at(item) - begin) * most // (end - begin + 1), []).append(item)
    return [(max(some, key=worst), len(some)) for _, some in sorted(by_bin.items())]
