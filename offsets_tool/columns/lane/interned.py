"""Tables of what repeats: distinct keys, each kept once and known by its number, and distinct topic ids.

Open addressing over 64-bit hashes, full comparison, no deletion. `InternedKeys` owns the arrays; compiled code takes the address
of a small directory of them.
"""

from typing import Final

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import (
    address,
    big_i64,
    compiled,
    load_i32,
    load_i64,
    load_u8,
    load_u64,
    prefetch,
    step,
    store_i32,
    store_i64,
    store_u8,
)

FULL: Final = -1
"""What the look-ups give when there is no room: the caller enlarges the tables and asks again."""

NO_TOPIC_ID: Final = 0
"""The zero uuid's number."""

_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)
_FREE: Final = -1

# An entry is five int64: hash, start in the arena, size, and what is nearly always so again: the topic id of the key's
# latest commit, and the key that was looked up after this one (groups commit their partitions in the same order).
_WORDS: Final = 5
_ENTRY: Final = 8 * _WORDS
_START: Final = 8
_SIZE: Final = 16
_LAST_TOPIC_ID: Final = 24
_NEXT: Final = 32

# The directory: addresses, capacities, and how much is used, in bytes from its address.
_SLOTS: Final = 0
_SLOT_MASK: Final = 8
_ENTRIES: Final = 16
_KEY_LIMIT: Final = 24
_KEYS: Final = 32
_ARENA: Final = 40
_ARENA_LIMIT: Final = 48
_ARENA_USED: Final = 56
_TOPIC_IDS: Final = 64
_TOPIC_ID_LIMIT: Final = 72
_TOPIC_ID_COUNT: Final = 80
_LATEST: Final = 88
"""The key that was looked up last; below 0 where that was forgotten."""


class InternedKeys:
    """The tables. Keys and topic ids keep their numbers when the tables grow."""

    def __init__(self, keys: int = 1 << 14, arena: int = 1 << 20, topic_ids: int = 1 << 8) -> None:
        """Make tables for a number of keys (a power of two), of bytes of keys, and of topic ids; they have the zero uuid."""
        self._slots = np.full(4 * keys, _FREE, np.int32)
        self._entries = np.zeros((keys, _WORDS), np.int64)
        self._arena = np.empty(arena, np.uint8)
        self._topic_ids = np.zeros((topic_ids, 2), np.int64)
        self._directory = np.zeros(12, np.int64)
        self._directory[_TOPIC_ID_COUNT // 8] = 1
        self._point()

    def _point(self) -> None:
        for place, array in (
            (_SLOTS, self._slots),
            (_ENTRIES, self._entries),
            (_ARENA, self._arena),
            (_TOPIC_IDS, self._topic_ids),
        ):
            self._directory[place // 8] = address(array)
        self._directory[_SLOT_MASK // 8] = len(self._slots) - 1
        self._directory[_KEY_LIMIT // 8] = len(self._entries)
        self._directory[_ARENA_LIMIT // 8] = len(self._arena)
        self._directory[_TOPIC_ID_LIMIT // 8] = len(self._topic_ids)

    @property
    def address(self) -> int:
        """The address of the tables for compiled code; valid as long as this object lives."""
        return address(self._directory)

    def __len__(self) -> int:
        """Return how many keys there are."""
        return int(self._directory[_KEYS // 8])

    @property
    def key_bytes(self) -> int:
        """The number of bytes that all keys have together."""
        return int(self._directory[_ARENA_USED // 8])

    @property
    def topic_id_count(self) -> int:
        """The number of topic ids, the zero uuid included."""
        return int(self._directory[_TOPIC_ID_COUNT // 8])

    def key(self, number: int) -> bytes:
        """Return the key with this number."""
        start, size = self._entries[number, _START // 8], self._entries[number, _SIZE // 8]
        return bytes(self._arena[start : start + size])

    def spans(self) -> tuple[Array, Array]:
        """Return where each key begins and, last, where the last one ends (int64), and the bytes of all keys in the order of their
        numbers.
        """
        starts = np.empty(len(self) + 1, np.int64)
        starts[:-1] = self._entries[: len(self), _START // 8]
        starts[-1] = self.key_bytes
        return starts, self._arena[: starts[-1]]

    def topic_id(self, number: int) -> bytes:
        """Return the 16 bytes of the topic id with this number."""
        return bytes(self._topic_ids[number].astype(">i8").tobytes())

    def grow(self, needed: int) -> None:
        """Enlarge the tables that are full, and make room for at least `needed` more bytes of keys."""
        if self.key_bytes + needed > len(self._arena):
            self._arena = np.concatenate((self._arena, np.empty(len(self._arena) + needed, np.uint8)))
        if self.topic_id_count == len(self._topic_ids):
            more = np.zeros((3 * len(self._topic_ids), 2), np.int64)
            self._topic_ids = np.concatenate((self._topic_ids, more))
        is_full = len(self) == len(self._entries)
        if is_full:
            self._slots = np.full(4 * len(self._slots), _FREE, np.int32)
            self._entries = np.concatenate((self._entries, np.zeros((3 * len(self), _WORDS), np.int64)))
        self._point()
        if is_full:
            _rehash(self.address)


@compiled
def _rehash(tables: int) -> None:
    for number in range(load_i64(tables + _KEYS)):
        slot = _slot(tables, load_i64(load_i64(tables + _ENTRIES) + number * _ENTRY))
        while load_i32(slot) != _FREE:
            slot = _next_slot(tables, slot)
        store_i32(slot, number)


@step
def _slot(tables: int, found: int) -> int:
    """Return the address of the slot where the search for a hash begins."""
    return load_i64(tables + _SLOTS) + (found & load_i64(tables + _SLOT_MASK)) * 4


@step
def _next_slot(tables: int, slot: int) -> int:
    first = load_i64(tables + _SLOTS)
    return first + (slot - first + 4 & (load_i64(tables + _SLOT_MASK) * 4 + 3))


@step
def _hash(at: int, size: int) -> int:
    value = np.uint64(size) * _MULTIPLIER
    end = at + size
    while at + 8 <= end:
        value = (value ^ load_u64(at)) * _MULTIPLIER
        value ^= value >> np.uint64(29)
        at += 8
    if at < end and size >= 8:
        # The last eight bytes again: cheaper than a loop over what is left.
        value = (value ^ load_u64(end - 8)) * _MULTIPLIER
        value ^= value >> np.uint64(29)
        at = end
    while at < end:
        value = (value ^ np.uint64(load_u8(at))) * _MULTIPLIER
        at += 1
    return np.int64(value ^ (value >> np.uint64(32)))  # type: ignore[return-value]


@step
def _same(one: int, other: int, size: int) -> bool:
    end = one + size
    while one + 8 <= end:
        if load_u64(one) != load_u64(other):
            return False
        one += 8
        other += 8
    if one < end and size >= 8:
        # The last eight bytes again: cheaper than a loop over what is left.
        back = end - 8 - one
        return load_u64(one + back) == load_u64(other + back)  # type: ignore[no-any-return]
    while one < end:
        if load_u8(one) != load_u8(other):
            return False
        one += 1
        other += 1
    return True


@compiled
def number_of(tables: int, at: int, size: int) -> int:
    """Return a key's number to Python: `key_number` for callers that are not compiled."""
    return key_number(tables, at, size)


@step
def key_number(tables: int, at: int, size: int) -> int:
    """Return the number of the key of `size` bytes at address `at`, which is added if it is new; FULL when there is no room for
    it.
    """
    latest, number = load_i64(tables + _LATEST), _FREE
    next_ = load_i64(tables + _ENTRIES) + latest * _ENTRY + _NEXT
    if latest >= 0:
        number = load_i64(next_)
    if number < 0 or number >= load_i64(tables + _KEYS) or not _is_key(tables, number, at, size):
        number = _looked_up(tables, at, size)
        if number == FULL:
            return FULL
        if latest >= 0:
            store_i64(next_, number)
    store_i64(tables + _LATEST, number)
    _bring_near(tables, load_i64(load_i64(tables + _ENTRIES) + number * _ENTRY + _NEXT))
    return number


@step
def _bring_near(tables: int, number: int) -> None:
    """Have the CPU fetch the bytes of a key that is likely to be compared next, two lines of its caches, while a value is read."""
    start = key_at(tables, number)
    prefetch(start)
    prefetch(start + 64)


@step
def forget_latest(tables: int) -> None:
    """Forget which key was looked up last, where nothing tells the next one: a wrong guess costs as much as looking a key up."""
    store_i64(tables + _LATEST, _FREE)


@step
def _is_key(tables: int, number: int, at: int, size: int) -> bool:
    entry = load_i64(tables + _ENTRIES) + number * _ENTRY
    if load_i64(entry + _SIZE) != size:
        return False
    return _same(at, load_i64(tables + _ARENA) + load_i64(entry + _START), size)


@step
def _looked_up(tables: int, at: int, size: int) -> int:
    found = _hash(at, size)
    slot = _slot(tables, found)
    number = load_i32(slot)
    while number >= 0:
        if load_i64(load_i64(tables + _ENTRIES) + number * _ENTRY) == found:
            if _is_key(tables, number, at, size):
                return number
        slot = _next_slot(tables, slot)
        number = load_i32(slot)
    return _add(tables, at, size, found, slot)


@step
def _add(tables: int, at: int, size: int, found: int, slot: int) -> int:
    number, used = load_i64(tables + _KEYS), load_i64(tables + _ARENA_USED)
    if number == load_i64(tables + _KEY_LIMIT) or used + size > load_i64(tables + _ARENA_LIMIT):
        return FULL
    entry = load_i64(tables + _ENTRIES) + number * _ENTRY
    store_i32(slot, number)
    store_i64(entry, found)
    store_i64(entry + _START, used)
    store_i64(entry + _SIZE, size)
    for place in range(size):
        store_u8(load_i64(tables + _ARENA) + used + place, load_u8(at + place))
    store_i64(tables + _KEYS, number + 1)
    store_i64(tables + _ARENA_USED, used + size)
    return number


@step
def topic_id_number(tables: int, key: int, at: int) -> int:
    """Return the number of the uuid at address `at`, which is added if it is new; FULL when there is no room for it."""
    high, low = big_i64(at), big_i64(at + 8)
    ids, count = load_i64(tables + _TOPIC_IDS), load_i64(tables + _TOPIC_ID_COUNT)
    latest = load_i64(tables + _ENTRIES) + key * _ENTRY + _LAST_TOPIC_ID
    number = load_i64(latest)
    if load_i64(ids + 16 * number) == high and load_i64(ids + 16 * number + 8) == low:
        return number
    number = 0
    while number < count and (load_i64(ids + 16 * number) != high or load_i64(ids + 16 * number + 8) != low):
        number += 1
    if number == load_i64(tables + _TOPIC_ID_LIMIT):
        return FULL
    if number == count:
        store_i64(ids + 16 * number, high)
        store_i64(ids + 16 * number + 8, low)
        store_i64(tables + _TOPIC_ID_COUNT, count + 1)
    store_i64(latest, number)
    return number


@step
def key_at(tables: int, number: int) -> int:
    """Return the address of a key's bytes."""
    entry = load_i64(tables + _ENTRIES) + number * _ENTRY
    return load_i64(tables + _ARENA) + load_i64(entry + _START)


@step
def key_size(tables: int, number: int) -> int:
    """Return how many bytes a key has."""
    return load_i64(load_i64(tables + _ENTRIES) + number * _ENTRY + _SIZE)
