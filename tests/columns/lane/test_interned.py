"""The tables of what repeats: keys keep their numbers as the tables grow, and memory grows with the keys and not faster."""

import tracemalloc

import numpy as np
import pytest

from offsets_tool.columns.jit.machine import address
from offsets_tool.columns.lane.interned import FULL, InternedKeys, number_of


def number(tables: InternedKeys, key: bytes) -> int:
    data = np.frombuffer(key, np.uint8)
    found: int = number_of(tables.address, address(data), len(key))
    if found == FULL:
        tables.grow(len(key))
        return number(tables, key)
    return found


@pytest.mark.parametrize("size", [8, 600])
def test_many_keys_take_memory_by_their_number_and_size(size: int) -> None:
    keys = [b"%08d" % place + bytes(size - 8) for place in range(20_000)]
    small = InternedKeys(keys=4, arena=16)
    # What grows tables may have to be compiled, which takes memory too.
    assert [number(small, key) for key in keys[:9]] == list(range(9))
    tracemalloc.start()
    tables = InternedKeys(keys=64, arena=1 << 12)
    numbers = [number(tables, key) for key in keys]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert numbers == list(range(len(keys)))
    assert [tables.key(one) for one in numbers[::997]] == keys[::997]
    assert [number(tables, key) for key in keys[::997]] == numbers[::997]
    # Each table may be four times too large, and twice there while it grows.
    assert peak < 8 * len(keys) * (size + 56)


def test_room_is_made_for_one_key_longer_than_all() -> None:
    tables = InternedKeys(keys=4, arena=16)
    assert number(tables, b"k" * 100_000) == 0
    assert tables.key_bytes == 100_000 and len(tables) == 1
