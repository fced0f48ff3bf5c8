"""Compiled: the records of batches, from the buffer that holds their content, with keys numbered and commits read.

A batch is read whole or declined: anything unusual in it (headers, odd lengths, times beyond 64 bits) leaves it to the reference
reader. A record's value is read completely as a commit or left to the reference decoder.
"""

from typing import Final

from offsets_tool.columns.jit.machine import big_i16, compiled, load_u8, step
from offsets_tool.columns.lane.commit_layout import FLEXIBLE_VERSION
from offsets_tool.columns.lane.commits import COMMIT_TYPES, read_flexible, read_marker, read_plain
from offsets_tool.columns.lane.interned import forget_latest, key_number
from offsets_tool.columns.lane.layout import (
    NO_KEY,
    AttributeBit,
    BatchField,
    RecordField,
    RecordKind,
    get,
    put,
)
from offsets_tool.wire.longs import MAX_LONG, MIN_LONG

DONE: Final = 0
DECLINED: Final = -1
TABLES_FULL: Final = -2

# Compiled code takes plain integers.
_BASE_OFFSET: Final = int(BatchField.BASE_OFFSET)
_LAST_OFFSET: Final = int(BatchField.LAST_OFFSET)
_BASE_TIMESTAMP: Final = int(BatchField.BASE_TIMESTAMP)
_MAX_TIMESTAMP: Final = int(BatchField.MAX_TIMESTAMP)
_ATTRIBUTES: Final = int(BatchField.ATTRIBUTES)
_COUNT: Final = int(BatchField.COUNT)
_BODY_START: Final = int(BatchField.BODY_START)
_BODY_END: Final = int(BatchField.BODY_END)
_BATCH: Final = int(RecordField.BATCH)
_LOG_OFFSET: Final = int(RecordField.LOG_OFFSET)
_TIMESTAMP: Final = int(RecordField.TIMESTAMP)
_KEY: Final = int(RecordField.KEY)
_VALUE_START: Final = int(RecordField.VALUE_START)
_VALUE_SIZE: Final = int(RecordField.VALUE_SIZE)
_KIND: Final = int(RecordField.KIND)
_VALUE_VERSION: Final = int(RecordField.VALUE_VERSION)
_REFERENCE: Final = int(RecordKind.REFERENCE)
_TOMBSTONE: Final = int(RecordKind.TOMBSTONE)

_LOG_APPEND_TIME: Final = int(AttributeBit.LOG_APPEND_TIME)
_CONTROL: Final = int(AttributeBit.CONTROL)


@compiled
def read_records(
    data: int, batches: int, first: int, last: int, tables: int, records: int, row: int
) -> tuple[int, int, int]:
    """Read the records of batches from `first` to `last`; return the next batch and row, and why it stopped before `last`."""
    for number in range(first, last):
        at, end = get(batches, _BODY_START, number), get(batches, _BODY_END, number)
        count = get(batches, _COUNT, number)
        before, highest = get(batches, _BASE_OFFSET, number) - 1, get(batches, _LAST_OFFSET, number)
        for index in range(row, row + count):
            at = _read_record(data, at, end, batches, number, tables, records, index)
            if at < 0:
                return number, row, at
            offset = get(records, _LOG_OFFSET, index)
            # Offsets that do not rise within the batch are for the reference to judge.
            if offset <= before or offset > highest:
                return number, row, DECLINED
            before = offset
        if at != end:
            return number, row, DECLINED
        row += count
        # After several commits of a group come another's; records of members are batches of their own, in the same order.
        if count > 1:
            forget_latest(tables)
    return last, row, DONE


@step
def _varint(data: int, at: int, end: int) -> tuple[int, int]:
    """Return a zig-zag integer of at most five bytes, and where it ends; DECLINED for anything else."""
    if at < 0 or at >= end:
        return 0, DECLINED
    byte = load_u8(data + at)
    value = byte & 0x7F
    shift = 7
    while byte >= 0x80:
        at += 1
        if at >= end or shift > 28:
            return 0, DECLINED
        byte = load_u8(data + at)
        value |= (byte & 0x7F) << shift
        shift += 7
    if value > 0xFFFFFFFF:
        return 0, DECLINED
    return (value >> 1) ^ -(value & 1), at + 1


@step
def _varlong(data: int, at: int, end: int) -> tuple[int, int]:
    """Return a zig-zag integer of at most eight bytes, and where it ends; DECLINED for anything else."""
    value, shift = 0, 0
    while at < end and shift < 56:
        byte = load_u8(data + at)
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
    return 0, DECLINED


@step
def _read_record(
    data: int, at: int, limit: int, batches: int, number: int, tables: int, records: int, row: int
) -> int:
    """Read one record into a row; return where the next record begins, or DECLINED or TABLES_FULL."""
    size, at = _varint(data, at, limit)
    end = at + size
    if at < 0 or size < 1 or end > limit:
        return DECLINED
    timestamp_delta, at = _varlong(data, at + 1, end)
    offset_delta, at = _varint(data, at, end)
    key_size, key = _varint(data, at, end)
    if key < 0 or key_size > end - key:
        return DECLINED
    value_size, value = _varint(data, key + max(key_size, 0), end)
    # One byte is left after the value: no headers.
    if (
        value < 0
        or value_size > end - value
        or value + max(value_size, 0) != end - 1
        or load_u8(data + end - 1) != 0
    ):
        return DECLINED
    if not _store_offset_and_time(batches, number, timestamp_delta, offset_delta, records, row):
        return DECLINED
    put(records, _VALUE_START, row, value)
    put(records, _VALUE_SIZE, row, max(value_size, -1))
    put(records, _KIND, row, _REFERENCE)
    found = NO_KEY
    if key_size >= 0:
        found = key_number(tables, data + key, key_size)
        if found < 0:
            return TABLES_FULL
    put(records, _KEY, row, found)
    if get(batches, _ATTRIBUTES, number) & _CONTROL:
        read_marker(data + key, key_size, data + value, value_size, records, row)
    elif value_size < 0:
        put(records, _KIND, row, _TOMBSTONE)
    elif (
        value_size >= 2
        and key_size >= 2
        and load_u8(data + key) == 0
        and load_u8(data + key + 1) < COMMIT_TYPES
    ):
        if not _read_commit(data, value, value_size, tables, records, row):
            return TABLES_FULL
    return end


@step
def _read_commit(data: int, value: int, size: int, tables: int, records: int, row: int) -> bool:
    """Read a value of any version under the key of a commit; return False when the table of topic ids is full."""
    version = big_i16(data + value)
    put(records, _VALUE_VERSION, row, version)
    if version == FLEXIBLE_VERSION:
        return read_flexible(data, value, size, tables, records, row)
    if 0 <= version < FLEXIBLE_VERSION:
        read_plain(data, value, size, version, records, row)
    return True


@step
def _store_offset_and_time(
    batches: int, number: int, timestamp_delta: int, offset_delta: int, records: int, row: int
) -> bool:
    """Put batch, offset and time of a record into its row; return False where they do not fit 64 bits.

    Compared before adding: a signed sum that overflows has no meaning for LLVM, which drops tests of it.
    """
    base_offset, base_timestamp = get(batches, _BASE_OFFSET, number), get(batches, _BASE_TIMESTAMP, number)
    # No base offset is below 0, and no difference of times has more than 56 bits.
    if offset_delta > MAX_LONG - base_offset:
        return False
    if timestamp_delta > 0 and base_timestamp > MAX_LONG - timestamp_delta:
        return False
    if timestamp_delta < 0 and base_timestamp < MIN_LONG - timestamp_delta:
        return False
    offset, timestamp = base_offset + offset_delta, base_timestamp + timestamp_delta
    if get(batches, _ATTRIBUTES, number) & _LOG_APPEND_TIME:
        timestamp = get(batches, _MAX_TIMESTAMP, number)
    if timestamp == MIN_LONG:
        return False
    put(records, _BATCH, row, number)
    put(records, _LOG_OFFSET, row, offset)
    put(records, _TIMESTAMP, row, timestamp)
    return True
