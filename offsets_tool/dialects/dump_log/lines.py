"""The lines of kafka-dump-log, 0.11 and later: one for a batch, one for a record, before key and payload.

A table says which words each release uses; a line is put together from the facts of Batch and LogRecord. Knows nothing about
what keys and values mean. Source: Kafka's DumpLogSegments.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from offsets_tool.dialects.versions import ByRelease, newest
from offsets_tool.log.batches.control import decode_control
from offsets_tool.log.batches.header import increment_sequence
from offsets_tool.rows import Batch, LogRecord
from offsets_tool.wire.json import Release
from offsets_tool.wire.text import decode_text, java_text

_V2: Final = 2
_NO_SEQUENCE: Final = -1


class BatchWords(NamedTuple):
    """The words in which a release's batch line differs from that of 0.11."""

    has_count: bool = False
    has_control: bool = False
    validity_last: bool = False
    lower_codec: bool = False
    has_horizon: bool = False


_BATCH_WORDS: Final[ByRelease[BatchWords]] = (
    ((0, 11), BatchWords()),
    ((2, 0), BatchWords(has_count=True)),
    ((2, 0, 1), BatchWords(has_count=True, has_control=True)),
    ((2, 2), BatchWords(has_count=True, has_control=True, validity_last=True)),
    ((3, 0), BatchWords(has_count=True, has_control=True, validity_last=True, lower_codec=True)),
    ((3, 2), BatchWords(*[True] * 5)),
)


def batch_line(batch: Batch, release: Release) -> str:
    """Return the line of one batch (magic 2) or of one message or wrapper (0 and 1)."""
    words = newest(_BATCH_WORDS, release)
    codec = batch.codec if words.lower_codec else batch.codec.upper()
    validity = f" isvalid: {_bool(batch.crc_valid)}"
    early, late = ("", validity) if words.validity_last else (validity, "")
    return (
        f"{batch_head(batch, release)} position: {batch.position} {batch.timestamp_type}: {batch.max_timestamp}{early} "
        f"size: {batch.size} magic: {batch.magic} compresscodec: {codec} crc: {batch.crc}{late}"
    )


def batch_head(batch: Batch, release: Release) -> str:
    """Return the line of a batch as far as a release has printed it when it finds that it does not know the codec."""
    if batch.magic < _V2:
        return f"offset: {batch.last_offset}"
    return _batch_facts(batch, newest(_BATCH_WORDS, release))


def _batch_facts(batch: Batch, words: BatchWords) -> str:
    horizon = (
        "OptionalLong.empty"
        if batch.delete_horizon_ms is None
        else f"OptionalLong[{batch.delete_horizon_ms}]"
    )
    parts = (
        f"baseOffset: {batch.base_offset} lastOffset: {batch.last_offset}",
        f"count: {batch.count}" if words.has_count else "",
        f"baseSequence: {batch.base_sequence} lastSequence: {last_sequence(batch)}",
        f"producerId: {batch.producer_id} producerEpoch: {batch.producer_epoch}",
        f"partitionLeaderEpoch: {batch.partition_leader_epoch} isTransactional: {_bool(batch.is_transactional)}",
        f"isControl: {_bool(batch.is_control)}" if words.has_control else "",
        f"deleteHorizonMs: {horizon}" if words.has_horizon else "",
    )
    return " ".join(part for part in parts if part)


def last_sequence(batch: Batch) -> int:
    """Return the sequence number of a batch's last record, as DefaultRecordBatch.lastSequence computes it; -1 without one."""
    if batch.base_sequence == _NO_SEQUENCE:
        return _NO_SEQUENCE
    return increment_sequence(batch.base_sequence, batch.last_offset - batch.base_offset)


def _bool(value: bool | None) -> str:
    return "true" if value else "false"


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def record_line(record: LogRecord, batch: Batch, release: Release) -> str:
    """Return the line of one record up to key and payload; a control record's marker is part of it.

    Raises DecodeError for a marker that Kafka cannot read.
    """
    line = newest(_RECORD_LINES, release)(record, batch)
    return line + _control(record) if batch.is_control else line


def _line_011(record: LogRecord, batch: Batch) -> str:
    return _line_before_22(record, batch, f"producerId: {batch.producer_id}")


def _line_0112(record: LogRecord, batch: Batch) -> str:
    return _line_before_22(
        record, batch, f"producerId: {batch.producer_id} producerEpoch: {batch.producer_epoch}"
    )


def _line_before_22(record: LogRecord, batch: Batch, producer: str) -> str:
    head = (
        f"offset: {record.log_offset} position: {batch.position} {batch.timestamp_type}: {record.timestamp} "
        f"isvalid: {_valid(record)} keysize: {_size(record.key)} valuesize: {_size(record.value)} "
        f"magic: {batch.magic} compresscodec: {batch.codec.upper()}"
    )
    if batch.magic < _V2:
        return f"{head} crc: {record.crc}"
    return (
        f"{head} {producer} sequence: {record.sequence} isTransactional: {_bool(batch.is_transactional)} "
        f"headerKeys: {_header_keys(record)}"
    )


def _line_22(record: LogRecord, batch: Batch) -> str:
    head = (
        f"| offset: {record.log_offset} {batch.timestamp_type}: {record.timestamp} "
        f"keysize: {_size(record.key)} valuesize: {_size(record.value)}"
    )
    return head + _tail_22(record, batch)


def _tail_22(record: LogRecord, batch: Batch) -> str:
    if batch.magic < _V2:
        return f" crc: {record.crc} isvalid: {_valid(record)}"
    return f" sequence: {record.sequence} headerKeys: {_header_keys(record)}"


def _line_28(record: LogRecord, batch: Batch) -> str:
    crc = "null" if record.crc is None else record.crc
    return (
        f"| offset: {record.log_offset} isValid: {_valid(record)} crc: {crc} "
        f"keySize: {_size(record.key)} valueSize: {_size(record.value)} {batch.timestamp_type}: {record.timestamp} "
        f"baseOffset: {batch.base_offset} lastOffset: {batch.last_offset} "
        f"baseSequence: {batch.base_sequence} lastSequence: {last_sequence(batch)} "
        f"producerEpoch: {batch.producer_epoch} partitionLeaderEpoch: {batch.partition_leader_epoch} "
        f"batchSize: {batch.size} magic: {batch.magic} compressType: {batch.codec.upper()} position: {batch.position}"
        f"{_tail_22(record, batch)}"
    )


def _line_30(record: LogRecord, batch: Batch) -> str:
    # A brace that Kafka's source closes without having opened it, until the tool was rewritten in Java.
    return _line_43(record, batch) + ("}" if batch.magic < _V2 else "")


def _line_43(record: LogRecord, batch: Batch) -> str:
    head = (
        f"| offset: {record.log_offset} {batch.timestamp_type}: {record.timestamp} "
        f"keySize: {_size(record.key)} valueSize: {_size(record.value)}"
    )
    if batch.magic < _V2:
        return f"{head} isValid: {_valid(record)} crc: {record.crc}"
    return f"{head} sequence: {record.sequence} headerKeys: {_header_keys(record)}"


def _valid(record: LogRecord) -> str:
    """Return whether a record is valid, in words; one of magic 2, without a checksum of its own, always is, as for Kafka."""
    return _bool(record.crc_valid is not False)


def _header_keys(record: LogRecord) -> str:
    return "[" + ",".join(java_text(decode_text(header.key)) for header in record.headers) + "]"


_END_MARKERS: Final = ("ABORT", "COMMIT")


def _control(record: LogRecord) -> str:
    """Return the fields of an end marker. Later releases print KRaft's control records as JSON, but this topic has none of them."""
    marker = decode_control(record.key, record.value)
    if marker.type in _END_MARKERS:
        return f" endTxnMarker: {marker.type} coordinatorEpoch: {marker.coordinator_epoch}"
    return f" controlType: {marker.type}({marker.type_id})"


_RECORD_LINES: Final[ByRelease[Callable[[LogRecord, Batch], str]]] = (
    ((0, 11), _line_011),
    ((0, 11, 0, 2), _line_0112),
    ((2, 2), _line_22),
    ((2, 8), _line_28),
    ((3, 0), _line_30),
    ((4, 3), _line_43),
)
