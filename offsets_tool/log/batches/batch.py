"""The reference reader of one batch, whatever its magic: header, checksum, decompression, records.

A batch is read whole or not at all: when its checksum is wrong or its content malformed, `BatchRead.unreadable` says why
and `records` is empty. Knows nothing about files, tails or what keys and values mean.
"""

from contextlib import suppress
from mmap import mmap

from offsets_tool.errors import DecodeError
from offsets_tool.log.batches.compression import inflate
from offsets_tool.log.batches.header import HEADER_SIZE_V2, read_header
from offsets_tool.log.batches.limits import LIMITS, REMEDY, Limits
from offsets_tool.log.batches.misplaced import BatchExtent, marked
from offsets_tool.log.batches.records_legacy import read_message, record, unwrap
from offsets_tool.log.batches.records_v2 import read_records
from offsets_tool.rows import (
    Batch,
    BatchRead,
    Codec,
    LogRecord,
    Misplacement,
    Unreadable,
    UnreadableKind,
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
