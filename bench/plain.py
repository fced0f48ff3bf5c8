"""Read commits without a toolkit: with `struct` in plain Python, and with kafka-python's record reader.

Both check every batch's checksum and read commits of value versions 0 to 3 in full; anything else is a ValueError.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from struct import Struct
from typing import Any, Final

import crc32c
from kafka.record.memory_records import MemoryRecords

from bench.tally import Tally

WALKER: Final = "kafka-python's reading of the records"
_HEADER: Final = Struct(">qiibIhiqqqhii")
_CRC_FROM: Final = 21
_CODEC: Final = 7
_SHORT: Final = Struct(">h")
_INT: Final = Struct(">i")
_OFFSET: Final = Struct(">hq")
_OFFSET_AND_EPOCH: Final = Struct(">hqi")
_LONG: Final = Struct(">q")


def struct_tally(path: Path) -> Tally:
    """Return the tally of an uncompressed segment, read with `struct`."""
    return _tally(_records(path.read_bytes()))


def kafka_python_tally(path: Path) -> Tally:
    """Return the tally of a segment, read with the record reader of kafka-python."""
    return _tally(_kafka_python_records(path.read_bytes()))


def walk(segments: Iterable[bytes]) -> int:
    """Return the number of records in segments that kafka-python reads one after another, whatever they are: none is decoded."""
    return sum(1 for segment in segments for _ in _kafka_python_records(segment))


def _records(data: bytes) -> Iterator[tuple[bytes, bytes | None]]:
    at = 0
    while at < len(data):
        head = _HEADER.unpack_from(data, at)
        end = at + 12 + head[1]
        if head[3] != 2 or head[5] & _CODEC:
            raise ValueError("only batches of magic 2 that are not compressed")
        if crc32c.crc32c(data[at + _CRC_FROM : end]) != head[4]:
            raise ValueError(f"wrong checksum at byte {at}")
        at += _HEADER.size
        for _ in range(head[12]):
            size, at = _varint(data, at)
            after = at + size
            _, at = _varint(data, at + 1)
            _, at = _varint(data, at)
            size, at = _varint(data, at)
            key = data[at : at + size]
            size, at = _varint(data, at + size)
            yield key, None if size < 0 else data[at : at + size]
            at = after


def _kafka_python_records(data: bytes) -> Iterator[tuple[bytes, bytes | None]]:
    batches = MemoryRecords(data)
    while batches.has_next():
        batch = batches.next_batch()
        if not batch.validate_crc():
            raise ValueError("wrong checksum")
        for record in batch:
            yield record.key, record.value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    at += 1
    value = byte & 0x7F
    shift = 7
    while byte >= 0x80:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
    return (value >> 1) ^ -(value & 1), at


def _tally(records: Iterator[tuple[bytes, bytes | None]]) -> Tally:
    count, commits, committed = 0, 0, 0
    groups = set()
    for key, value in records:
        count += 1
        group, _topic, _partition = _key(key)
        groups.add(group)
        if value is not None:
            commits += 1
            committed += _value(value)[0]
    return Tally(count, commits, committed, len(groups))


def _key(key: bytes) -> tuple[str, str, int]:
    """Return group, topic and partition of a commit's key."""
    if _SHORT.unpack_from(key)[0] > 1:
        raise ValueError("only offset commits")
    group, at = _text(key, 2)
    topic, at = _text(key, at)
    return group, topic, _INT.unpack_from(key, at)[0]


def _value(value: bytes) -> tuple[Any, ...]:
    """Return offset, leader epoch, metadata, commit and expire timestamp of a commit's value."""
    version = _SHORT.unpack_from(value)[0]
    if version > 3:
        raise ValueError("only value versions 0 to 3")
    if version == 3:
        _, offset, epoch = _OFFSET_AND_EPOCH.unpack_from(value)
        metadata, at = _text(value, 14)
    else:
        (_, offset), epoch = _OFFSET.unpack_from(value), -1
        metadata, at = _text(value, 10)
    expire = _LONG.unpack_from(value, at + 8)[0] if version == 1 else -1
    return offset, epoch, metadata, _LONG.unpack_from(value, at)[0], expire


def _text(data: bytes, at: int) -> tuple[str, int]:
    end = at + 2 + _SHORT.unpack_from(data, at)[0]
    return data[at + 2 : end].decode(), end
