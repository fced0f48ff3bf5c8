"""Compiled: from a position on, the headers of batches that the lane reads.

Stops before the first batch that it leaves to the reference.
"""

from typing import Final

from offsets_tool.columns.jit.machine import (
    big_i16,
    big_i32,
    big_i64,
    big_u32,
    compiled,
    load_u8,
    step,
)
from offsets_tool.columns.lane.crc import crc32c
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
