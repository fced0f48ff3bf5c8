"""A cache of values by the bytes that they were made of, which holds no more than a bound of such bytes.

Knows nothing of the values.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

Made = TypeVar("Made")


class Kept(Generic[Made]):
    """A cache of values by the bytes that they were made of; it forgets values that were not asked for lately.

    >>> kept = Kept(bound=1 << 20)
    >>> kept.put((int, b"42"), 42, size=2)
    >>> kept.get((int, b"42"))
    42
    """

    def __init__(self, bound: int) -> None:
        """Start empty; keep values that were made of at most `bound` bytes in all."""
        self._half = bound // 2
        self._young: dict[Hashable, tuple[Made, int]] = {}
        self._old: dict[Hashable, tuple[Made, int]] = {}
        self._size = 0
        """Bytes of the young ones; when they are half of all, they become the old ones, which are forgotten."""

    def get(self, key: Hashable) -> Made | None:
        """Return the value of a key, which holds the bytes it was made of; None if it is not kept."""
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is None:
                return None
            self.put(key, *found)
        return found[0]

    def put(self, key: Hashable, made: Made, size: int) -> None:
        """Keep the value that was made of a key's bytes; `size` is their number."""
        if self._size + size > self._half:
            self._old, self._young, self._size = self._young, {}, 0
        if size <= self._half:
            self._young[key] = made, size
            self._size += size
