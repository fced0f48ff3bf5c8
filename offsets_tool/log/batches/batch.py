"""The reference reader of one batch, whatever its magic: header, checksum, decompression, records.

A batch is read whole or not at all: when its checksum is wrong or its content malformed, `BatchRead.unreadable` says why
and `records` is empty. Knows nothing about files, tails or what keys and values mean.

Messages of magic 0 and 1 stand alone or inside a compressed wrapper. Source: Kafka's LegacyRecord and AbstractLegacyRecordBatch:
inner offsets are absolute in a wrapper of magic 0 and count from 0 in one of magic 1, where the wrapper's own offset is that of its
last message. A message inside is read by its own magic: the cleaner of 0.10.0 left messages of another one in its wrappers
(KAFKA-4298).

Records of magic 2, by DefaultRecord and DefaultRecordBatch, are zig-zag variable-length integers, times and offsets as differences
from the batch's own.
"""

import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from mmap import mmap
from typing import Final, NamedTuple

from offsets_tool.errors import DecodeError
from offsets_tool.log.batches.compression import inflate
from offsets_tool.log.batches.draft import draft_of
from offsets_tool.log.batches.header import (
    HEADER_SIZE_V2,
    LOG_OVERHEAD,
    increment_sequence,
    key_at,
    read_header,
)
from offsets_tool.log.batches.limits import LIMITS, REMEDY, Limits
from offsets_tool.log.batches.misplaced import BatchExtent, marked
from offsets_tool.rows import (
    NO_TIMESTAMP,
    Batch,
    BatchRead,
    Codec,
    Header,
    LogRecord,
    Misplacement,
    TimestampType,
    Unreadable,
    UnreadableKind,
)
from offsets_tool.wire.longs import MAX_LONG, wrapped

_SMALLEST_RECORD: Final = 7


def read_records(
    content: bytes, batch: Batch, source: str, log_partition: int | None, most_headers: int
) -> tuple[LogRecord, ...]:
    """Return all records of a batch; DecodeError if they are not exactly `batch.count`, or if any of them is malformed."""
    if batch.count * _SMALLEST_RECORD > len(content):
        raise DecodeError(f"the header counts {batch.count} records, which {len(content)} bytes cannot hold")
    reader = _Reader(content, batch, source, log_partition, most_headers)
    try:
        records = tuple([reader.read() for _ in range(batch.count)])
    except IndexError:
        raise DecodeError("the content ends inside a record", len(content)) from None
    if reader.at != len(content):
        raise DecodeError(f"{len(content) - reader.at} bytes are left after the last record", reader.at)
    return records


def _varint(data: bytes, at: int, most: int = 5) -> tuple[int, int]:
    """Return a zig-zag integer of at most `most` bytes (10 for a long), and where it ends."""
    byte = data[at]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), at + 1
    second = data[at + 1]
    if second < 0x80:
        value = byte & 0x7F | second << 7
        return (value >> 1) ^ -(value & 1), at + 2
    return _long_varint(data, at, most)


def _long_varint(data: bytes, at: int, most: int) -> tuple[int, int]:
    value = shift = 0
    for end in range(at, at + most):
        byte = data[end]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            # As Java does, bits beyond the type's width are lost.
            value &= 0xFFFFFFFF if most == 5 else 0xFFFFFFFFFFFFFFFF
            return (value >> 1) ^ -(value & 1), end + 1
        shift += 7
    raise DecodeError(f"a variable-length integer has more than {most} bytes", at)


_Draft: Final = draft_of(LogRecord)


class _Reader:
    """Reads record after record; `at` is where the next one begins."""

    def __init__(
        self, content: bytes, batch: Batch, source: str, log_partition: int | None, most_headers: int
    ) -> None:
        self.at = 0
        self._content = content
        self._batch = batch
        self._source = source
        self._log_partition = log_partition
        self._headers_left = most_headers
        self._sequenced = batch.base_sequence >= 0
        self._append_time = batch.timestamp_type is TimestampType.LOG_APPEND_TIME

    def read(self) -> LogRecord:
        content, batch = self._content, self._batch
        size, at = _varint(content, self.at)
        end = at + size
        timestamp_delta, offset_delta, at = self._deltas(at + 1)
        key, at = self._bytes(at)
        value, at = self._bytes(at)
        count, at = _varint(content, at)
        headers, at = self._headers(count, at) if count else ((), at)
        if at != end:
            raise DecodeError(f"a record says that it has {size} bytes and has {at - end + size}", self.at)
        self.at = end
        # A sum of Java's longs (DefaultRecord.readFrom), which wraps: a producer may give any two times in one batch.
        sum_of_times = wrapped(batch.base_timestamp + timestamp_delta)
        timestamp = batch.max_timestamp if self._append_time else sum_of_times
        offset = batch.base_offset + offset_delta
        if offset > MAX_LONG:
            raise DecodeError("a record's offset is beyond 64 bits", at)
        draft = _Draft(
            source=self._source,
            log_partition=self._log_partition,
            log_offset=offset,
            timestamp=timestamp,
            key=key,
            value=value,
            timestamp_type=batch.timestamp_type,
            headers=headers,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            sequence=increment_sequence(batch.base_sequence, offset_delta) if self._sequenced else -1,
            is_transactional=batch.is_transactional,
            is_control=batch.is_control,
            batch=batch,
        )
        draft.__class__ = LogRecord
        record: LogRecord = draft
        return record

    def _deltas(self, at: int) -> tuple[int, int, int]:
        """Return the differences of time and offset from the batch's, and where the key begins."""
        pair = self._content[at : at + 2]
        if pair.isascii() and len(pair) == 2:
            time, offset = pair
            return (time >> 1) ^ -(time & 1), (offset >> 1) ^ -(offset & 1), at + 2
        timestamp_delta, at = _varint(self._content, at, 10)
        offset_delta, at = _varint(self._content, at)
        return timestamp_delta, offset_delta, at

    def _bytes(self, at: int) -> tuple[bytes | None, int]:
        content = self._content
        size = content[at]
        if size < 0x80:
            size, at = (size >> 1) ^ -(size & 1), at + 1
        else:
            size, at = _varint(content, at)
        if size < 0:
            return None, at
        end = at + size
        if end > len(content):
            raise DecodeError(f"{size} bytes of a key or value where {len(content) - at} are left", at)
        return content[at:end], end

    def _headers(self, count: int, at: int) -> tuple[tuple[Header, ...], int]:
        self._headers_left -= count
        if count < 0 or 2 * count > len(self._content) - at:
            raise DecodeError(f"{count} headers in a record are impossible", at)
        if self._headers_left < 0:
            raise DecodeError(f"its records have too many headers, one of them {count}, {REMEDY}", at)
        headers: list[Header] = []
        for _ in range(count):
            key, at = self._bytes(at)
            if key is None:
                raise DecodeError("a header has no key", at)
            value, at = self._bytes(at)
            headers.append(Header(key, value))
        return tuple(headers), at


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


Readable = bytes | bytearray | memoryview | mmap


def read_batch(
    data: Readable,
    position: int,
    source: str,
    log_partition: int | None = None,
    *,
    verify: bool = True,
    limits: Limits = LIMITS,
) -> BatchRead:
    """Read the batch (magic 2) or message (magic 0 and 1) that begins at byte `position` of `data`.

    `verify=False` reads the records although the checksum is wrong, as Kafka's DumpLogSegments does; `batch.crc_valid` tells.
    DecodeError when no batch begins there, TornBatch when `data` ends inside it.
    """
    view = memoryview(data)
    header = read_header(view, position)
    return read_content(view, header, source, log_partition, verify=verify, limits=limits)


def read_content(
    data: memoryview,
    batch: Batch,
    source: str,
    log_partition: int | None,
    *,
    verify: bool = True,
    limits: Limits = LIMITS,
    misplacement: Misplacement | None = None,
) -> BatchRead:
    """Read the records of a batch whose header is known; never raises for what the bytes are.

    `misplacement` says why the batch cannot be at its place among the others of its file; None if it can.
    """
    if verify and not batch.crc_valid:
        reason = f"the batch at offset {batch.base_offset} has a wrong checksum"
        return BatchRead(batch, (), _unreadable(batch, source, reason, UnreadableKind.CRC))
    read = _read_v2 if batch.magic == 2 else _read_legacy
    try:
        batch, records = read(data, batch, source, log_partition, limits)
    except DecodeError as error:
        reason = f"the batch at offset {batch.base_offset} cannot be read: {error.reason}"
        return BatchRead(batch, (), _unreadable(batch, source, reason, UnreadableKind.CONTENT))
    records, misplaced = marked(batch, records, misplacement)
    return BatchRead(batch, records, misplaced=misplaced)


def extent_of(data: memoryview, batch: Batch, limits: Limits) -> BatchExtent:
    """Return a batch's position in the file, and its first and last offset.

    The first offset of a compressed wrapper (magic 0 and 1) is read from its content, if that can be decompressed.
    """
    if batch.magic < 2 and batch.codec is not Codec.NONE:
        with suppress(DecodeError):
            batch, _ = _read_legacy(data, batch, "", None, limits)
    return BatchExtent(
        batch.position, min(batch.base_offset, batch.last_offset), batch.last_offset, batch.magic
    )


def _unreadable(batch: Batch, source: str, reason: str, kind: UnreadableKind) -> Unreadable:
    return Unreadable(source, batch.position, batch.size, reason, kind)


Content = tuple[Batch, tuple[LogRecord, ...]]


def _read_v2(
    data: memoryview, batch: Batch, source: str, log_partition: int | None, limits: Limits
) -> Content:
    most = limits.records(batch.size)
    if batch.count > most:
        raise DecodeError(f"its {batch.size} bytes count {batch.count} records, more than {most}, {REMEDY}")
    content = data[batch.position + HEADER_SIZE_V2 : batch.position + batch.size]
    # Compaction leaves empty batches, compressed ones among them without any content.
    inflated = inflate(batch.codec, content, limits.content(batch.size)) if len(content) else b""
    return batch, read_records(inflated, batch, source, log_partition, most)


def _read_legacy(
    data: memoryview, batch: Batch, source: str, log_partition: int | None, limits: Limits
) -> Content:
    end = batch.position + batch.size
    message, _ = read_message(data[:end], batch.position, checked=batch.crc_valid)
    if batch.codec is Codec.NONE:
        return batch, (record(batch, message, source, log_partition),)
    if batch.codec is Codec.ZSTD:
        raise DecodeError(f"zstd is not allowed in magic {batch.magic}")
    if message.value is None:
        raise DecodeError("a compressed wrapper without a value")
    content = inflate(batch.codec, memoryview(message.value), limits.content(batch.size))
    batch, messages = unwrap(batch, content, limits.records(batch.size))
    return batch, tuple(record(batch, message, source, log_partition) for message in messages)
