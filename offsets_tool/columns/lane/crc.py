"""CRC-32C in compiled code: the CPU's instruction eight bytes at a time, or, without it, eight tables (slicing-by-8).

The instruction has its result three cycles later, and another can begin in each of them: so three parts of the bytes are summed
at the same time.
"""

from typing import Final, SupportsIndex

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import HAS_CRC32, compiled, crc32_u8, crc32_u64, load_u8, load_u64, step

_POLYNOMIAL: Final = 0x82F63B78
_START: Final = np.uint64(0xFFFFFFFF)
_BYTE: Final = np.uint64(0xFF)
_NONE: Final = np.uint64(0)


def _tables() -> Array:
    tables = np.zeros((8, 256), np.uint32)
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
        tables[0, byte] = value
    for level in range(1, 8):
        for byte in range(256):
            before = int(tables[level - 1, byte])
            tables[level, byte] = (before >> 8) ^ int(tables[0, before & 0xFF])
    return tables


_TABLES: Final = _tables()

_PART: Final = 1 << 7
"""Bytes of a part: three are less than a batch of a few commits."""


def _shifts() -> Array:
    """Return what each byte of a checksum becomes after as many zeros as a part has bytes."""
    states = (np.arange(256, dtype=np.uint32) << np.arange(0, 32, 8, dtype=np.uint32)[:, None]).astype(
        np.uint32
    )
    after: Array = (states >> np.uint32(8)) ^ _TABLES[0, states & 0xFF]
    zeros = 1
    while zeros < _PART:
        after = (
            after[0, after & 0xFF]
            ^ after[1, after >> 8 & 0xFF]
            ^ after[2, after >> 16 & 0xFF]
            ^ after[3, after >> 24]
        )
        zeros *= 2
    return after


_SHIFTS: Final = _shifts()


@compiled
def crc32c_by_tables(at: int, end: int) -> int:
    """Return the CRC-32C of the bytes from address `at` to `end`, on any CPU."""
    crc = _START
    while at + 8 <= end:
        word = load_u64(at) ^ crc
        crc = np.uint64(0)
        for level in range(8):
            crc ^= np.uint64(_TABLES[7 - level, (word >> np.uint64(8 * level)) & _BYTE])
        at += 8
    while at < end:
        crc = np.uint64(_TABLES[0, (crc ^ np.uint64(load_u8(at))) & _BYTE]) ^ (crc >> np.uint64(8))
        at += 1
    return np.int64(crc ^ _START)  # type: ignore[return-value]


@step
def _shifted(checksum: SupportsIndex) -> np.uint64:
    """Return a checksum continued over as many zeros as a part has bytes."""
    crc = np.uint64(checksum)
    low = _SHIFTS[0, crc & _BYTE] ^ _SHIFTS[1, crc >> np.uint64(8) & _BYTE]
    high = _SHIFTS[2, crc >> np.uint64(16) & _BYTE] ^ _SHIFTS[3, crc >> np.uint64(24) & _BYTE]
    return np.uint64(low ^ high)


@compiled
def crc32c_by_instruction(at: int, end: int) -> int:
    """Return the CRC-32C of the bytes from address `at` to `end`, on a CPU with SSE 4.2."""
    crc = _START
    while at + 3 * _PART <= end:
        second, third, part_end = _NONE, _NONE, at + _PART
        while at < part_end:
            crc = crc32_u64(crc, load_u64(at))
            second = crc32_u64(second, load_u64(at + _PART))
            third = crc32_u64(third, load_u64(at + 2 * _PART))
            at += 8
        crc = _shifted(_shifted(crc) ^ second) ^ third
        at += 2 * _PART
    while at + 8 <= end:
        crc = crc32_u64(crc, load_u64(at))
        at += 8
    while at < end:
        crc = crc32_u8(crc, np.uint64(load_u8(at)))
        at += 1
    return np.int64(crc ^ _START)  # type: ignore[return-value]


crc32c = crc32c_by_instruction if HAS_CRC32 else crc32c_by_tables
