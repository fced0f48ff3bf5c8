"""Makes Events of rows, for records that are replayed one at a time.

Commits and tombstones without a problem are made from columns of `events`; other records are decoded from raw bytes, so that a
reader of tables fetches raw bytes of few records only. Knows nothing about replay.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.columns_of_rows import are_there, encoded, flags, numbers, plain, uuid_of
from offsets_tool.columns.decode import KEYS_KEPT
from offsets_tool.columns.reading import RowsRead
from offsets_tool.errors import DecodeError
from offsets_tool.events import (
    Event,
    Key,
    Value,
    decode,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
    group_of,
)
from offsets_tool.records import RECORD_TYPES, RecordType
from offsets_tool.records.kinds import GROUP_METADATA, Role
from offsets_tool.records.offsets import OffsetCommitValue
from offsets_tool.rows import Batch, Codec, LogRecord, TimestampType
from offsets_tool.wire.kept import Kept
from offsets_tool.wire.schema import ZERO_UUID
from offsets_tool.wire.text import from_shown, shown

PLACE: Final = (
    "log_partition",
    "log_offset",
    "timestamp",
    "base_offset",
    "producer_id",
    "producer_epoch",
    "sequence",
    "is_transactional",
    "is_control",
)
"""Where a record stood, as `events` has it."""
COMMIT: Final = (
    "record_type",
    "group",
    "topic",
    "partition",
    "value_version",
    "committed_offset",
    "leader_epoch",
    "metadata",
    "commit_timestamp",
    "expire_timestamp",
    "topic_id",
)
"""What a commit says, as `events` has it."""
RAW: Final = ("magic", "key", "value")
"""What only `log` has of a record."""
COLUMNS: Final = (*PLACE, *COMMIT, "problem", *RAW)
"""What a row must have. One that names a topic and has no problem is a commit or its tombstone, and need have no more than columns
of `events`; any other has `magic`, `key` and `value` of `log`."""
BYTES: Final = "bytes"
"""The column that MomentRows adds with the bytes of a record's key and value."""
Page: TypeAlias = pa.RecordBatch
"""Rows of one log partition, in their order (COLUMNS)."""
_ASKED: Final = (
    *("key", "value", "problem", "is_control", "record_type", "group", "topic", "partition"),
    *("committed_offset", "value_version", "metadata", "topic_id"),
)
_LONG: Final = 1 << 62
_DIFFERENT: Final = frozenset(
    {GROUP_METADATA, *(of.id for of in RECORD_TYPES.values() if of.role is Role.CURRENT)}
)
"""Record types whose values begin with a generation or an epoch."""
_VALUES_KEPT: Final = 8 << 20
"""Bytes of the values that are kept decoded."""
MAGIC: Final = 2
"""The format of a batch that no column tells: nothing but whether there is a sequence is asked beside it, and before 2 none had
one."""
ABSENT: Final = -1
"""Instead of a batch's format: the row is no record, but an absence (rows.Absence). It stands right before the offset that
proves it."""


def with_raw(log: pa.RecordBatch, events: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows as replay by column takes them, from the same rows of both tables."""
    for name in RAW:
        events = events.append_column(name, log.column(name))
    return events


def rows_of(reads: Iterable[RowsRead]) -> Iterator[pa.RecordBatch]:
    """Yield the rows that a RowReader with `log` has read, in the columns that replay by column takes."""
    for read in reads:
        if read.log is not None and read.events is not None:
            yield with_raw(read.log, read.events)


def rows_below(pages: Iterable[pa.RecordBatch], end: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows whose log offsets are below `end`; they come in the order of their offsets."""
    for rows in pages:
        count = int(np.count_nonzero(rows.column("log_offset").to_numpy() < end))
        if count:
            yield rows.slice(0, count)


def are_absences(rows: pa.RecordBatch) -> Array:
    """Return which rows are no records but absences."""
    is_absence: Array = numbers(rows.column("magic"), MAGIC) == ABSENT
    return is_absence


def absent_to(rows: pa.RecordBatch) -> int:
    """Return the offset right behind the last absence among rows; 0 without one."""
    places = np.flatnonzero(are_absences(rows))
    return int(rows.column("log_offset")[int(places[-1])].as_py()) + 1 if len(places) else 0


def records_of(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows that are records, and no absences."""
    is_absence = are_absences(rows)
    return rows.filter(pa.array(~is_absence)) if is_absence.any() else rows


class KeptValues:
    """Values by their bytes, which repeat: each is decoded once. DecodeError as decode_value has it."""

    def __init__(self) -> None:
        """Start without values."""
        self._kept: Kept[Value] = Kept(_VALUES_KEPT)

    def read(self, record_type: RecordType, data: bytes) -> Value:
        """Return the value that decode_value returns."""
        if record_type.id in _DIFFERENT:
            # No two are alike; what generations and epochs share is kept by their readers (wire.walk).
            return decode_value(record_type, data)
        found = self._kept.get((record_type.id, data))
        if found is None:
            found = decode_value(record_type, data)
            self._kept.put((record_type.id, data), found, len(data))
        return found


class RowEvents:
    """Makes events of rows; distinct keys are made once."""

    def __init__(self) -> None:
        """Start without keys."""
        self.key = lru_cache(KEYS_KEPT)(decode_key)
        """Return the key that decode_key returns."""
        self.values = KeptValues()
        self._commit_key = lru_cache(KEYS_KEPT)(_commit_key)

    def events(self, rows: pa.RecordBatch) -> Iterator[Event]:
        """Yield the event in each row."""
        are_commits = are_there(rows.column("topic")) & ~are_there(rows.column("problem"))
        if not are_commits.any():
            yield from self._others(rows)
            return
        if are_commits.all():
            yield from self._commits(rows)
            return
        commits = self._commits(rows.filter(pa.array(are_commits)))
        others = self._others(rows.select((*PLACE, *RAW)).filter(pa.array(~are_commits)))
        for is_commit in are_commits.tolist():
            yield next(commits if is_commit else others)

    def _others(self, rows: pa.RecordBatch) -> Iterator[Event]:
        """Yield events that are decoded from raw bytes."""
        columns = (plain(rows.column(name)).to_pylist() for name in (*PLACE, *RAW))
        for facts in zip(*columns, strict=True):
            yield self.event(facts)

    def event(self, facts: Iterable[Any]) -> Event:
        """Return the event that is decoded from a row's columns PLACE and RAW."""
        *place, magic, key, value = facts
        event = decode(log_record((*place, magic, key, value)), self.key, self.values.read)
        return replace(event, is_absence=True) if magic == ABSENT else event

    def _commits(self, rows: pa.RecordBatch) -> Iterator[Event]:
        """Yield events that are made from columns."""
        columns = (plain(rows.column(name)).to_pylist() for name in COLUMNS)
        for facts in zip(*columns, strict=True):
            yield self._commit(dict(zip(COLUMNS, facts, strict=True)))

    def _commit(self, row: Mapping[str, Any]) -> Event:
        is_tombstone = row["committed_offset"] is None
        place = (row[name] for name in PLACE)
        magic = MAGIC if row["magic"] is None else row["magic"]
        key, value = row["key"] or b"", None if is_tombstone else row["value"] or b""
        return Event(
            record=log_record((*place, magic, key, value)),
            type_id=row["record_type"],
            key=self._commit_key(row["record_type"], row["group"], row["topic"], row["partition"]),
            value_version=row["value_version"],
            value=None if is_tombstone else _commit_value(row),
            is_absence=magic == ABSENT,
        )


class ExpectedEvents:
    """Events of rows: those that are expected to be asked for are made together, which is much cheaper than one by one."""

    def __init__(self, events: RowEvents, rows: pa.RecordBatch, places: Array) -> None:
        """Make the events of the rows at `places`, in their order."""
        self._events = events
        self._rows = rows.select(COLUMNS)
        made = events.events(self._rows.take(pa.array(places))) if len(places) else iter(())
        self._made: Iterator[tuple[int, Event]] = zip(places.tolist(), made, strict=True)
        self._next = next(self._made, None)
        self._others: dict[int, Iterable[Any]] = {}

    def add(self, row: int, facts: Iterable[Any]) -> None:
        """Add a row that was not expected, given its columns PLACE and RAW: no commit without a problem, nor its tombstone."""
        self._others[row] = facts

    def at(self, row: int) -> Event:
        """Return the event of a row; rows are asked for in their order."""
        if row in self._others:
            return self._events.event(self._others.pop(row))
        while self._next is not None and self._next[0] < row:
            self._next = next(self._made, None)
        if self._next is not None and self._next[0] == row:
            return self._next[1]
        [event] = self._events.events(self._rows.slice(row, 1))
        return event


class MomentRows:
    """Adds what rows lack whose `log` columns are there only in part: the raw key of every record, its group, its bytes.

    Keys of commits without a problem are encoded from the columns of `events`, and so is the number of their values' bytes.
    """

    def __init__(self) -> None:
        """Start without keys."""
        self._key = lru_cache(KEYS_KEPT)(lambda *of: encode_key(_commit_key(*of)))
        self._group = lru_cache(KEYS_KEPT)(_group_in)
        self._value_bytes = lru_cache(KEYS_KEPT)(_commit_bytes)

    def rows(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the columns that a replay reads (COLUMNS), with the raw key of each record, and BYTES."""
        first, number = _distinct(rows)
        columns = (plain(rows.column(name).take(first)).to_pylist() for name in _ASKED)
        keys, groups, sizes = zip(*(self._facts(*of) for of in zip(*columns, strict=True)), strict=True)
        made = {
            "key": pa.array(keys, pa.binary()).dictionary_encode().take(number),
            "group": pa.array(groups, pa.string()).dictionary_encode().take(number),
            BYTES: pa.array(sizes, pa.int64()).take(number),
            "magic": pc.fill_null(rows.column("magic"), MAGIC),
            # Asked of group records that columns tell of; these are decoded from their bytes.
            "value_json": pa.nulls(rows.num_rows, pa.string()),
        }
        same = {name: rows.column(name) for name in COLUMNS}
        return pa.RecordBatch.from_pydict(same | made)

    def _facts(
        self, key: bytes | None, value: bytes | None, problem: str | None, is_control: bool, *of: Any
    ) -> tuple[bytes | None, str | None, int]:
        """Return the raw key of a row, its group, and the bytes of key and value."""
        record_type, group, topic, partition, offset, version, metadata, topic_id = of
        if topic is None or problem is not None:
            known = None if is_control or key is None else self._group(key)
            return key, known, len(key or b"") + len(value or b"")
        key = self._key(record_type, group, topic, partition)
        return (
            key,
            group,
            len(key) + (0 if offset is None else self._value_bytes(version, metadata, topic_id)),
        )


def _distinct(rows: pa.RecordBatch) -> tuple[pa.Array, pa.Array]:
    """Return the first row of each kind of rows, as MomentRows takes them, and of each row the number of its kind."""
    kinds, count = np.zeros(rows.num_rows, np.int64), 1
    for name in _ASKED:
        values = _as_numbers(name, rows.column(name))
        least = values.min()
        width = int(values.max() - least) + 1
        if count > _LONG // width:
            _, kinds = np.unique(kinds, return_inverse=True)
            count = rows.num_rows
        kinds, count = kinds * width + (values - least), count * width
    _, first, number = np.unique(kinds, return_index=True, return_inverse=True)
    return pa.array(first), pa.array(number)


def _as_numbers(name: str, column: pa.Array) -> Array:
    """Return a column as numbers, the same for the same facts: a raw value counts by its bytes, some others as being there."""
    if name == "value":
        return numbers(pc.binary_length(plain(column)), -1).astype(np.int64)
    if name in ("problem", "committed_offset", "is_control"):
        return (flags(column) if name == "is_control" else are_there(column)).astype(np.int64)
    is_text = not pa.types.is_integer(column.type)
    return numbers(encoded(column).indices if is_text else column, -1).astype(np.int64)


def _group_in(key: bytes) -> str | None:
    """Return the group that a raw key names; None where it names none, or does not read."""
    try:
        return shown(group_of(decode_key(key)))
    except DecodeError:
        return None


def _commit_bytes(version: int, metadata: str, topic_id: str) -> int:
    """Return how many bytes a commit's value takes, which none but these columns change."""
    row = {"committed_offset": 0, "leader_epoch": 0, "commit_timestamp": 0, "expire_timestamp": 0}
    value = _commit_value({**row, "value_version": version, "metadata": metadata, "topic_id": topic_id})
    return len(encode_value(value))


def _commit_key(type_id: int, group: str, topic: str, partition: int) -> Key:
    of = RECORD_TYPES[type_id]
    return Key(of, of.key(group=from_shown(group), topic=from_shown(topic), partition=partition))


def _commit_value(row: Mapping[str, Any]) -> Value:
    data = OffsetCommitValue(
        offset=row["committed_offset"],
        leader_epoch=row["leader_epoch"],
        metadata=from_shown(row["metadata"]),
        commit_timestamp=row["commit_timestamp"],
        expire_timestamp=row["expire_timestamp"],
        topic_id=uuid_of(row["topic_id"]) or ZERO_UUID,
    )
    return Value(row["value_version"], "", data)


def log_record(facts: Iterable[Any]) -> LogRecord:
    """Return a record made of a row's columns PLACE and RAW, which is all that decoding and replay look at."""
    log_partition, log_offset, timestamp, base_offset, producer_id, producer_epoch, sequence, *others = facts
    is_transactional, is_control, magic, key, value = others
    return LogRecord(
        source="",
        log_partition=log_partition,
        log_offset=log_offset,
        timestamp=timestamp,
        key=key,
        value=value,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        sequence=sequence,
        is_transactional=is_transactional,
        is_control=is_control,
        batch=_batch_of(base_offset, magic, sequence, is_transactional),
    )


def _batch_of(
    base_offset: int | None, magic: int | None, sequence: int | None, is_transactional: bool | None
) -> Batch | None:
    if base_offset is None or magic is None:
        return None
    return _batch(base_offset, magic, -1 if sequence is None else sequence, bool(is_transactional))


@lru_cache(1)
def _batch(base_offset: int, magic: int, sequence: int, is_transactional: bool) -> Batch:
    """Return the batch of records next to each other, as far as rows say it: of its sequence only whether there is one."""
    return Batch(
        position=-1,
        size=-1,
        magic=magic,
        codec=Codec.UNKNOWN,
        crc=0,
        crc_valid=True,
        base_offset=base_offset,
        last_offset=-1,
        timestamp_type=TimestampType.NO_TIMESTAMP,
        base_timestamp=-1,
        max_timestamp=-1,
        count=-1,
        base_sequence=sequence,
        is_transactional=is_transactional,
    )
