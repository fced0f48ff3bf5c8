"""Bound how much of a review a page shows: it stays below three megabytes whatever the evidence, and says what it leaves out."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

FINDINGS: Final = 120
GROUPS: Final = 40
"""Groups of the ranking."""
SENTENCES: Final = 900
FILES: Final = 120
PARTITIONS: Final = 60
PLAN_ROWS: Final = 150
PLACES: Final = 6
"""Places that a finding or a sentence names before the rest is only counted."""
RECORDS_SIZE: Final = 700_000
"""Characters of the appendix."""
TIMELINE_SIZE: Final = 500_000
IMAGE_SIZE: Final = 160_000
"""Bytes of a picture from which on it is an image of points."""
PAGE_SIZE: Final = 2_900_000
"""Of what the other parts leave of it, pictures take what they need."""

T = TypeVar("T")


def within(items: Iterable[T], size_of: Callable[[T], int], most: int) -> Iterator[T]:
    """Yield the first items, as many as have a total size of at most `most`."""
    left = most
    for item in items:
        left -= size_of(item)
        if left < 0:
            return
        yield item
