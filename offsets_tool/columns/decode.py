"""Decoding many records at a time: LogRecords become `log` columns, and `log` columns become `events` columns.

What both tables have is the same Arrow column in both; what `events` adds is `events.decode`, one record at a time, with
each distinct key decoded once. Memory is bounded by the rows of one batch. Knows nothing about files or folders.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.events import Event, KeyReader, decode, decode_key
from offsets_tool.log.ledger import Ledger, Outcome
from offsets_tool.records.offsets import OffsetCommitValue
from offsets_tool.rows import LogRecord
from offsets_tool.table_rows import EventRow, LogRow
from offsets_tool.wire.arrow import arrow_schema, record_batch
from offsets_tool.wire.json import render, to_json, uuid_text
from offsets_tool.wire.schema import FieldValue, Message
from offsets_tool.wire.text import shown

ROWS: Final = 16_384
"""Rows of a batch: enough to make Arrow's cost a row small, few enough to hold as Python objects."""

KEYS_KEPT: Final = 65_536
"""Distinct keys remembered decoded: keys of a log partition repeat for as long as its groups commit."""

Raw = tuple[bytes | None, bytes | None, bool]
"""Key, value, and whether it is a control record, of one that is not misplaced."""
_DECODED_FROM: Final = ("key", "value", "is_control", "misplaced")

_ADDED: Final = tuple(name for name in EventRow._fields if name not in LogRow._fields)
_NO_VALUE: Final = (None,) * 8
_NO_COMMIT: Final = (None,) * 6


class Origin(NamedTuple):
    """The columns that all rows of a file share: `source` is the file's name in tables, `run` the ingest that reads it."""

    cluster: str
    source: str
    log_partition: int | None
    run: int


def log_batches(
    records: Iterable[LogRecord], *, cluster: str, source: str, run: int
) -> Iterator[pa.RecordBatch]:
    """Yield records as rows of `log`, in their order; `source` names the table's source, whatever the records say."""
    left = iter(records)
    while some := list(islice(left, ROWS)):
        yield record_batch(LogRow, [_log_row(record, cluster, source, run) for record in some])


def decode_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield rows of `events` for rows of `log`, batch by batch; never raises for what keys and values hold."""
    key_reader = lru_cache(KEYS_KEPT)(decode_key)
    schema = arrow_schema(EventRow)
    for batch in batches:
        raw = zip(*(batch.column(name).to_pylist() for name in _DECODED_FROM), strict=True)
        decoded = [_decoded(decode(_record(*fields), key_reader)) for fields in raw]
        yield pa.record_batch(_event_columns(batch, decoded, schema), schema=schema)


def added_columns(raw: Iterable[Raw], key_reader: KeyReader = decode_key) -> dict[str, list[FieldValue]]:
    """Return the columns that `events` has beyond `log`, for these records."""
    rows = [_decoded(decode(_record(*fields), key_reader)) for fields in raw]
    return dict(zip(_ADDED, map(list, zip(*rows, strict=True)), strict=True)) if rows else {}


def count_outcomes(events: pa.RecordBatch, ledger: Ledger) -> None:
    """Count in the ledger what became of each record of a batch of `events`."""
    control = events.column("is_control").true_count
    kept_raw = events.column("kept_raw")
    raw = events.num_rows - kept_raw.null_count
    for reason in pc.value_counts(kept_raw.drop_null()).to_pylist() if raw else ():
        ledger.count(Outcome.KEPT_RAW, reason["values"], reason["counts"])
    ledger.count(Outcome.CONTROL, times=control)
    ledger.count(Outcome.DECODED, times=events.num_rows - control - raw)


def _log_row(record: LogRecord, cluster: str, source: str, run: int) -> LogRow:
    batch = record.batch
    return LogRow(
        cluster=cluster,
        source=source,
        log_partition=record.log_partition,
        log_offset=record.log_offset,
        timestamp=record.timestamp,
        timestamp_type=record.timestamp_type,
        batch_position=batch.position if batch else None,
        base_offset=batch.base_offset if batch else None,
        last_offset=batch.last_offset if batch else None,
        magic=batch.magic if batch else None,
        codec=batch.codec if batch else None,
        partition_leader_epoch=batch.partition_leader_epoch if batch else None,
        producer_id=record.producer_id,
        producer_epoch=record.producer_epoch,
        base_sequence=batch.base_sequence if batch else None,
        sequence=record.sequence,
        is_transactional=record.is_transactional,
        is_control=record.is_control,
        delete_horizon_ms=batch.delete_horizon_ms if batch else None,
        misplaced=record.misplaced,
        headers=record.headers,
        key=record.key,
        value=record.value,
        run=run,
    )


def _record(
    key: bytes | None, value: bytes | None, is_control: bool, misplaced: str | None = None
) -> LogRecord:
    """Return a LogRecord with the fields that decoding looks at; the others are placeholders."""
    return LogRecord(
        source="",
        log_partition=None,
        log_offset=-1,
        timestamp=-1,
        key=key,
        value=value,
        is_control=is_control,
        misplaced=misplaced,
    )


def _event_columns(
    log: pa.RecordBatch, decoded: list[tuple[object, ...]], schema: pa.Schema
) -> list[pa.Array]:
    added = iter(zip(*decoded, strict=True) if decoded else ())
    return [
        log.column(field.name) if field.name in LogRow._fields else pa.array(next(added, ()), field.type)
        for field in schema
    ]


def _decoded(event: Event) -> tuple[object, ...]:
    """Return the fields that EventRow has beyond LogRow, in its order."""
    problem = None if event.problem is None else shown(event.problem)
    return (*_control(event), *_key(event), *_value(event), problem, event.kept_raw)


def _control(event: Event) -> tuple[object, ...]:
    marker = event.control
    return (marker.type, marker.coordinator_epoch) if marker else (None, None)


def _key(event: Event) -> tuple[object, ...]:
    """Return the key's columns: type, name, tombstone, group, topic, partition, member, pattern."""
    if event.key is None or event.group is None:
        return event.type_id, None, event.tombstone, None, None, None, None, None
    data = event.key.data
    return (
        event.type_id,
        event.key.type.name,
        event.tombstone,
        shown(event.group),
        _text(data, "topic"),
        getattr(data, "partition", None),
        _text(data, "member_id"),
        _text(data, "regular_expression"),
    )


def _text(data: Message, field: str) -> str | None:
    text = getattr(data, field, None)
    return None if text is None else shown(text)


def _value(event: Event) -> tuple[object, ...]:
    """Return the value's columns: version, layout, the six columns of a commit, JSON."""
    value = event.value
    if value is None:
        return event.value_version, *_NO_VALUE
    data = value.data
    is_commit = isinstance(data, OffsetCommitValue)
    json = None if is_commit and not data.unknown_tags else _json(data, value.version)
    return value.version, value.layout, *(_commit(data) if is_commit else _NO_COMMIT), json


def _commit(data: OffsetCommitValue) -> tuple[object, ...]:
    return (
        data.offset,
        data.leader_epoch,
        shown(data.metadata),
        data.commit_timestamp,
        data.expire_timestamp,
        uuid_text(data.topic_id),
    )


def _json(data: Message, version: int) -> str:
    return render(to_json(data, version, unknown_tags=True, texts=shown))
