"""Checksums of parts, however they overlap: the same as computed alone, at a cost that does not multiply."""

import zlib

import crc32c
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.log.batches.crc import CRC32C, STRIDE, Checksums, RunningChecksum

DATA = bytes(number * number % 251 for number in range(5 * STRIDE + 123))
POSITION = st.integers(0, len(DATA))


@given(parts=st.lists(st.tuples(POSITION, POSITION), max_size=6))
def test_a_part_has_the_checksum_it_has_alone(parts: list[tuple[int, int]]) -> None:
    checksums = Checksums(memoryview(DATA))
    for start, end in map(sorted, parts):
        assert checksums.crc32(start, end) == zlib.crc32(DATA[start:end])
        assert checksums.crc32c(start, end) == crc32c.crc32c(DATA[start:end])


def test_a_thousand_overlapping_parts_cost_a_little_each() -> None:
    touched = 0

    def extend(data: memoryview, crc: int) -> int:
        nonlocal touched
        touched += len(data)
        return int(crc32c.crc32c(data, crc))

    running = RunningChecksum(memoryview(DATA), extend, CRC32C)
    for start in range(1000):
        assert running.part(start, len(DATA)) == crc32c.crc32c(DATA[start:])
    assert touched <= len(DATA) + 1000 * 2 * STRIDE
    assert touched < 1000 * len(DATA) / 2
