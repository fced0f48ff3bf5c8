"""The records of a magic 2 batch, from its decompressed content: all of them or a DecodeError, never some.

Kafka's DefaultRecord and DefaultRecordBatch: zig-zag variable-length integers, times and offsets as differences from the
batch's own. Knows nothing about compression, checksums or what keys and values mean.
"""

from typing import Final

from offsets_tool.errors import DecodeError
from offsets_tool.log.batches.draft import draft_of
from offsets_tool.log.batches.header import increment_sequence
from offsets_tool.log.batches.limits import REMEDY
from offsets_tool.rows import Batch, Header, LogRecord, TimestampType
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
