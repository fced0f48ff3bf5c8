"""Runs of what follows each other: of removals, rebalances or departures that are close to each other.

Knows nothing of what they are, nor of what is close.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def runs(items: Iterable[T], is_next: Callable[[T, T], bool]) -> Iterator[list[T]]:
    """Yield items in runs, in their order: an item belongs to the run of the one before it if `is_next(before, item)`."""
    run: list[T] = []
    for item in items:
        if run and not is_next(run[-1], item):
            yield run
            run = []
        run.append(item)
    if run:
        yield run
