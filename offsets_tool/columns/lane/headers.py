"""Compiled: from a position on, the headers of batches that the lane reads.

Stops before the first batch that it leaves to the reference.

CRC-32C takes the CPU's instruction eight bytes at a time, or, without it, eight tables (slicing-by-8). The instruction has its
result three cycles later, and another can begin in each of them: so three parts of the bytes are summed at the same time.
"""

from typing import Final, SupportsIndex

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import (
    HAS_CRC32,
    big_i16,
    big_i32,
    big_i64,
    big_u32,
    compiled,
    crc32_u8,
    crc32_u64,
    load_u8,
    load_u64,
    step,
)
from offsets_tool.columns.lane.layout import (
    CAPACITY,
    CHUNK_BYTES,
    LONGEST_BATCH,
    AttributeBit,
    BatchField,
    put,
)
from offsets_tool.log.batches.header import HEADER_SIZE_V2
from offsets_tool.log.batches.limits import RECORDS_PER_BYTE
from offsets_tool.wire.longs import MAX_LONG

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


_HIGHEST_CODEC: Final = 4

# Compiled code takes plain integers.
_CODEC: Final = int(AttributeBit.CODEC)
_POSITION: Final = int(BatchField.POSITION)
_SIZE: Final = int(BatchField.SIZE)
_BASE_OFFSET: Final = int(BatchField.BASE_OFFSET)
_LAST_OFFSET: Final = int(BatchField.LAST_OFFSET)
_ATTRIBUTES: Final = int(BatchField.ATTRIBUTES)
_BASE_TIMESTAMP: Final = int(BatchField.BASE_TIMESTAMP)
_MAX_TIMESTAMP: Final = int(BatchField.MAX_TIMESTAMP)
_PRODUCER_ID: Final = int(BatchField.PRODUCER_ID)
_PRODUCER_EPOCH: Final = int(BatchField.PRODUCER_EPOCH)
_BASE_SEQUENCE: Final = int(BatchField.BASE_SEQUENCE)
_PARTITION_LEADER_EPOCH: Final = int(BatchField.PARTITION_LEADER_EPOCH)
_CRC: Final = int(BatchField.CRC)
_COUNT: Final = int(BatchField.COUNT)
_BODY_START: Final = int(BatchField.BODY_START)
_BODY_END: Final = int(BatchField.BODY_END)


@compiled
def read_headers(data: int, size: int, position: int, end: int, batches: int) -> int:
    """Fill `batches` with headers from `position` on, of `size` bytes at address `data`; return how many.

    It stops at `end`, when they are enough for a chunk, or their records more than a table holds, and before a batch that the
    lane does not read: that is the case when it returns 0.
    """
    number, rows, enough = 0, 0, position + CHUNK_BYTES
    while position < end and position < enough and number < CAPACITY:
        length = _sound_size(data + position, size - position)
        rows += big_i32(data + position + 57) if length else 0
        if length == 0 or rows > CAPACITY:
            break
        _fill(data + position, position, length, batches, number)
        number += 1
        position += length
    return number


@step
def _sound_size(at: int, left: int) -> int:
    """Return the size of the batch at this address; 0 if the lane does not read it."""
    if left < HEADER_SIZE_V2 or load_u8(at + 16) != 2:
        return 0
    size = big_i32(at + 8) + 12
    if size < HEADER_SIZE_V2 or size > left or size > LONGEST_BATCH:
        return 0
    base_offset, last_delta, count = big_i64(at), big_i32(at + 23), big_i32(at + 57)
    if base_offset < 0 or last_delta < 0 or base_offset > MAX_LONG - last_delta:
        return 0
    if (
        count < 0
        or count > CAPACITY
        or count > RECORDS_PER_BYTE * size
        or big_i16(at + 21) & _CODEC > _HIGHEST_CODEC
    ):
        return 0
    if crc32c(at + 21, at + size) != big_u32(at + 17):
        return 0
    return size


@step
def _fill(at: int, position: int, size: int, batches: int, number: int) -> None:
    base_offset = big_i64(at)
    put(batches, _POSITION, number, position)
    put(batches, _SIZE, number, size)
    put(batches, _BASE_OFFSET, number, base_offset)
    put(batches, _LAST_OFFSET, number, base_offset + big_i32(at + 23))
    put(batches, _PARTITION_LEADER_EPOCH, number, big_i32(at + 12))
    put(batches, _CRC, number, big_u32(at + 17))
    put(batches, _ATTRIBUTES, number, big_i16(at + 21))
    put(batches, _BASE_TIMESTAMP, number, big_i64(at + 27))
    put(batches, _MAX_TIMESTAMP, number, big_i64(at + 35))
    put(batches, _PRODUCER_ID, number, big_i64(at + 43))
    put(batches, _PRODUCER_EPOCH, number, big_i16(at + 51))
    put(batches, _BASE_SEQUENCE, number, big_i32(at + 53))
    put(batches, _COUNT, number, big_i32(at + 57))
    put(batches, _BODY_START, number, position + HEADER_SIZE_V2)
    put(batches, _BODY_END, number, position + size)
