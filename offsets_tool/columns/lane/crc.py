"""CRC-32C in compiled code: the CPU's instruction eight bytes at a time, or, without it, eight tables (slicing-by-8)."""

from typing import Final

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import HAS_CRC32, compiled, crc32_u8, crc32_u64, load_u8, load_u64

_POLYNOMIAL: Final = 0x82F63B78
_START: Final = np.uint64(0xFFFFFFFF)
_BYTE: Final = np.uint64(0xFF)


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


@compiled
def crc32c_by_instruction(at: int, end: int) -> int:
    """Return the CRC-32C of the bytes from address `at` to `end`, on a CPU with SSE 4.2."""
    crc = _START
    while at + 8 <= end:
        crc = crc32_u64(crc, load_u64(at))
        at += 8
    while at < end:
        crc = crc32_u8(crc, np.uint64(load_u8(at)))
        at += 1
    return np.int64(crc ^ _START)  # type: ignore[return-value]


crc32c = crc32c_by_instruction if HAS_CRC32 else crc32c_by_tables
