"""Bytes that could not be read: where they are missing from a buffer, and why. Knows nothing about files.

Whoever reads a buffer that is filled on demand asks for a range first, and gets a list of the holes in it; their bytes are zeros.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple


class Hole(NamedTuple):
    """Bytes `start` to `end` of a buffer that could not be read."""

    start: int
    end: int
    reason: str


Fetch = Callable[[int, int], Sequence[Hole]]
"""Makes the bytes from `start` to `end` present; returns the holes among them, in order."""


def all_there(start: int, end: int) -> Sequence[Hole]:
    """Return no holes: the Fetch of bytes that are in memory anyway."""
    return ()


def reason_of(holes: Sequence[Hole]) -> str:
    """Return a sentence on what is missing in a range, given its holes, of which there is at least one."""
    first = holes[0]
    others = f", and {len(holes) - 1} more such ranges" if len(holes) > 1 else ""
    return f"{first.reason} (bytes {first.start} to {first.end}){others}"
