"""Both ways to CRC-32C against the reference, at every length around a word, and at unaligned addresses."""

import crc32c
import numpy as np
import pytest

from offsets_tool.columns.jit.machine import HAS_CRC32, address
from offsets_tool.columns.lane.headers import crc32c_by_instruction, crc32c_by_tables

WAYS = [crc32c_by_tables] + [crc32c_by_instruction] * HAS_CRC32


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_checksums(way: object) -> None:
    data = np.frombuffer(np.random.default_rng(1).bytes(1600), np.uint8)
    for start in range(9):
        for end in (*range(start, start + 40), 400, *range(start + 380, start + 400), 1200, 1600):
            at = address(data)
            assert way(at + start, at + end) == crc32c.crc32c(data[start:end].tobytes())  # type: ignore[operator]
