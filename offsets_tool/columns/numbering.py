"""Numbers for 64-bit keys, given in the order of being seen: what repeats in columns becomes a line of a table.

Open addressing, no deletion; the numbers stay. Knows nothing about what the keys stand for.
"""

from typing import Final

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import address, compiled, load_i64, step, store_i64

_FIRST: Final = 1 << 10
_FREE: Final = -1
_SCATTER: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = np.uint64(32)


class Numbers:
    """Numbers of distinct keys, from 0 on."""

    def __init__(self) -> None:
        """Start without keys."""
        self._slots: Array = np.full((_FIRST, 2), _FREE, np.int64)
        self._keys: Array = np.empty(_FIRST // 2, np.int64)
        self.count = 0

    @property
    def keys(self) -> Array:
        """The keys in the order of their numbers, int64."""
        return self._keys[: self.count]

    def of(self, keys: Array) -> Array:
        """Return the number of each key (int64); keys not seen before get the next numbers."""
        keys = np.ascontiguousarray(keys, np.int64)
        found: Array = np.empty(len(keys), np.int64)
        done = self._number(keys, found, 0)
        while done < len(keys):
            self._grow()
            done = self._number(keys, found, done)
        return found

    def _number(self, keys: Array, found: Array, done: int) -> int:
        """Number the keys from place `done` on until the tables are full; return how many have a number."""
        slots, mask, kept = address(self._slots), len(self._slots) - 1, address(self._keys)
        places = address(keys), done, len(keys), address(found)
        done, self.count = _number_all(*places, slots, mask, kept, self.count, len(self._keys))
        return done

    def _grow(self) -> None:
        known = self.keys
        self._slots = np.full((4 * len(self._slots), 2), _FREE, np.int64)
        self._keys = np.empty(len(self._slots) // 2, np.int64)
        self.count = 0
        self._number(known, np.empty(len(known), np.int64), 0)


@compiled
def _number_all(
    keys: int, place: int, end: int, found: int, slots: int, mask: int, kept: int, known: int, most: int
) -> tuple[int, int]:
    """Write to `found` the numbers of the keys from `place` on, and each new key to `kept`, until `most` are known.

    Return the place that was reached, and how many are known then.
    """
    while place < end:
        key = load_i64(keys + 8 * place)
        slot = _slot(slots, mask, key)
        number = load_i64(slot + 8)
        if number == _FREE:
            if known == most:
                return place, known
            number = known
            known += 1
            store_i64(slot, key)
            store_i64(slot + 8, number)
            store_i64(kept + 8 * number, key)
        store_i64(found + 8 * place, number)
        place += 1
    return place, known


@step
def _slot(slots: int, mask: int, key: int) -> int:
    """Return the address of the slot that has the key, or of the free one where it belongs."""
    # Keys have their numbers side by side: each of them must decide the slot, whichever bits it has.
    folded = np.uint64(key) ^ np.uint64(key) >> _HALF
    mixed = folded * _SCATTER
    at = int(np.int64(mixed ^ mixed >> _HALF) & mask)
    while load_i64(slots + 16 * at + 8) != _FREE and load_i64(slots + 16 * at) != key:
        at = (at + 1) & mask
    return slots + 16 * at
