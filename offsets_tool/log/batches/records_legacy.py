"""The messages of magic 0 and 1: one alone, or those inside a compressed wrapper: all of them or a DecodeError, never some.

Kafka's LegacyRecord and AbstractLegacyRecordBatch: inner offsets are absolute in a wrapper of magic 0 and count from 0 in one of
magic 1, where the wrapper's own offset is that of its last message. A message inside is read by its own magic: the cleaner of
0.10.0 left messages of another one in its wrappers (KAFKA-4298). Knows nothing about how the wrapper was decompressed.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from offsets_tool.errors import DecodeError
from offsets_tool.log.batches.header import LOG_OVERHEAD, key_at
from offsets_tool.log.batches.limits import REMEDY
from offsets_tool.rows import NO_TIMESTAMP, Batch, LogRecord, TimestampType
from offsets_tool.wire.longs import MAX_LONG

_LEGACY: Final = struct.Struct(">qiIBB")
_LONG: Final = struct.Struct(">q")
_INT: Final = struct.Struct(">i")
LEGACY_MAGICS: Final = (0, 1)


class LegacyMessage(NamedTuple):
    """One message as it was read, before its wrapper is applied: in a wrapper of magic 1 its offset is relative."""

    offset: int
    magic: int
    crc: int
    crc_valid: bool
    codec_id: int
    timestamp: int
    key: bytes | None
    value: bytes | None


def read_message(
    data: memoryview, position: int, *, checked: bool | None = None
) -> tuple[LegacyMessage, int]:
    """Return the message at `position` and where it ends; `checked` is whether its checksum is right, where the caller knows.

    DecodeError when it is neither of magic 0 nor of 1, does not fit, or its key and value do not fill it.
    """
    if len(data) - position < _LEGACY.size:
        raise DecodeError("a message ends inside its header", position)
    offset, size, crc, magic, attributes = _LEGACY.unpack_from(data, position)
    end = position + LOG_OVERHEAD + size
    if magic not in LEGACY_MAGICS:
        raise DecodeError(f"a message of magic {magic} inside a wrapper of messages", position + 16)
    if size < key_at(magic) - LOG_OVERHEAD + 8 or end > len(data):
        raise DecodeError(f"a message says that it has {size} bytes", position + 8)
    key, at = _bytes(data, position + key_at(magic), end)
    value, at = _bytes(data, at, end)
    if at != end:
        raise DecodeError(f"{end - at} bytes are left after a message's value", at)
    valid = crc == zlib.crc32(data[position + 16 : end]) if checked is None else checked
    timestamp = NO_TIMESTAMP if magic == 0 else _LONG.unpack_from(data, position + 18)[0]
    return LegacyMessage(offset, magic, crc, valid, attributes & 7, timestamp, key, value), end


def _bytes(data: memoryview, at: int, end: int) -> tuple[bytes | None, int]:
    if at + 4 > end:
        raise DecodeError("a message ends before its key or value", at)
    size: int = _INT.unpack_from(data, at)[0]
    at += 4
    if size < 0:
        return None, at
    if at + size > end:
        raise DecodeError(f"{size} bytes of a key or value where {end - at} are left", at)
    return bytes(data[at : at + size]), at + size


def unwrap(wrapper: Batch, content: bytes, most: int) -> tuple[Batch, list[LegacyMessage]]:
    """Return a wrapper with `base_offset` and `count` as its content has them, and its messages with absolute offsets."""
    messages = list(_inner(memoryview(content), most))
    base = 0 if wrapper.magic == 0 else _base_offset(wrapper.last_offset, messages[-1].offset)
    messages = [message._replace(offset=base + message.offset) for message in messages]
    if not all(0 <= message.offset <= MAX_LONG for message in messages):
        raise DecodeError("a message inside the wrapper has an impossible offset")
    if wrapper.timestamp_type is TimestampType.LOG_APPEND_TIME:
        messages = [
            message._replace(timestamp=wrapper.max_timestamp) if message.magic else message
            for message in messages
        ]
    return replace(wrapper, base_offset=messages[0].offset, count=len(messages)), messages


def _inner(content: memoryview, most: int) -> Iterator[LegacyMessage]:
    at = count = 0
    while at < len(content) or not count:
        message, at = read_message(content, at)
        count += 1
        if message.codec_id:
            raise DecodeError("a compressed message inside a compressed message")
        if count > most:
            raise DecodeError(f"it holds more than {most} messages, {REMEDY}")
        yield message


def _base_offset(wrapper_offset: int, last_relative: int) -> int:
    # Old librdkafka wrote 0 as the wrapper's offset (AbstractLegacyRecordBatch.DeepRecordsIterator).
    if wrapper_offset == 0:
        return 0
    if wrapper_offset < last_relative:
        raise DecodeError(
            f"wrapper offset {wrapper_offset} is below the last relative offset {last_relative}"
        )
    return wrapper_offset - last_relative


def record(batch: Batch, message: LegacyMessage, source: str, log_partition: int | None) -> LogRecord:
    """Return a message as a record; the wrapper (a message alone is its own) decides who set its time, if it has one."""
    return LogRecord(
        source=source,
        log_partition=log_partition,
        log_offset=message.offset,
        timestamp=message.timestamp,
        key=message.key,
        value=message.value,
        timestamp_type=batch.timestamp_type if message.magic else TimestampType.NO_TIMESTAMP,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        sequence=-1,
        is_transactional=False,
        crc=message.crc,
        crc_valid=message.crc_valid,
        batch=batch,
    )
