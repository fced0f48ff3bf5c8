"""Decode and encode one record: LogRecord -> Event.

Bytes are never the program's fault: a key or value that cannot be read, or not completely, is an Event with a `problem`, beside
what could be read and the untouched LogRecord. This is the one place where a DecodeError of a record is caught.
"""

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from offsets_tool.errors import DecodeError, UnknownFormat
from offsets_tool.log.batches.control import ControlMarker, decode_control
from offsets_tool.log.ledger import Outcome
from offsets_tool.records import RECORD_TYPES, Layout, RecordType
from offsets_tool.records.kinds import Role
from offsets_tool.rows import Absence, LogRecord
from offsets_tool.wire import walk
from offsets_tool.wire.schema import Message, schema_of


class Key(NamedTuple):
    """A decoded key. `trailing` are bytes after its last field (Kafka ignores them)."""

    type: RecordType
    data: Message
    notes: tuple[str, ...] = ()
    trailing: bytes = b""


KeyReader = Callable[[bytes], Key]


class Value(NamedTuple):
    """A decoded value. `layout` is the first release that has the layout it was read with."""

    version: int
    layout: str
    data: Message
    notes: tuple[str, ...] = ()
    trailing: bytes = b""


ValueReader = Callable[[RecordType, bytes], Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A record with its typed key and typed value or tombstone, or a control marker, and what could not be read of it.

    `type_id` and `value_version` are the numbers the bytes begin with, known or not.
    """

    record: LogRecord
    type_id: int | None = None
    key: Key | None = None
    value_version: int | None = None
    value: Value | None = None
    control: ControlMarker | None = None
    problem: str | None = None
    kept_raw: str | None = None
    """Why key or value stay undecoded, in few words that repeat (the ledger counts them); None when both were decoded."""
    is_absence: bool = False
    """Whether no record makes it: the key was deleted, as a copy does not have it, and no tombstone is left."""

    @property
    def tombstone(self) -> bool:
        """Whether the record deletes its key."""
        return self.record.value is None and not self.record.is_control

    @property
    def outcome(self) -> Outcome:
        """The ledger's count that this record belongs to: decoded, kept raw or control."""
        if self.record.is_control:
            return Outcome.CONTROL
        return Outcome.DECODED if self.kept_raw is None else Outcome.KEPT_RAW

    @property
    def group(self) -> str | None:
        """The group that the record is about; None for control markers and keys that could not be read."""
        return None if self.key is None else group_of(self.key)


def decode(
    record: LogRecord, key_reader: KeyReader | None = None, value_reader: ValueReader | None = None
) -> Event:
    """Return the event in a record. Never raises for what the record holds: see `problem`.

    `key_reader` stands in for `decode_key` where keys repeat: a cache of it; so does `value_reader` for `decode_value`.

    >>> from offsets_tool import LogRecord
    >>> key, value = b"\\0\\1\\0\\6orders\\0\\6topic1\\0\\0\\0\\3", bytes.fromhex("0003" + "%016x" % 42 + "ffffffff0000" + "00" * 8)
    >>> event = decode(LogRecord(source="mine", log_partition=7, log_offset=0, timestamp=0, key=key, value=value))
    >>> event.group, event.key.data.topic, event.value.data.offset, event.problem
    ('orders', 'topic1', 42, None)
    """
    if record.is_control:
        return _decode_control(record)
    found = _Found(record)
    key = _key(record, key_reader or decode_key, found)
    read = value_reader or decode_value
    value = _value(key.type, record.value, found, read) if key and record.value is not None else None
    return Event(
        record=record,
        type_id=_prefix(record.key),
        key=key,
        value_version=_prefix(record.value),
        value=value,
        problem="; ".join(found.problems) or None,
        kept_raw=found.kept_raw,
    )


def decode_absences(absences: Iterable[Absence]) -> list[Event]:
    """Return the events that absences stand for: deletions of their keys, in the order in which Kafka would have deleted them.

    Of those at one offset, offsets come first, the group itself last (createGroupTombstoneRecords), and in between members before
    metadata.
    """

    def order(event: Event) -> tuple[int, int, int, bytes]:
        role, type_id = (event.key.type.role, event.key.type.id) if event.key else (None, 0)
        stage = {Role.COMMIT: 0, Role.GROUP: 2}.get(role, 1) if role else 1
        return event.record.log_offset, stage, -type_id, event.record.key or b""

    return sorted(map(_decode_absence, absences), key=order)


def _decode_absence(absence: Absence) -> Event:
    """Return the event that an absence stands for, right before the offset `absent_by`."""
    record = LogRecord(
        source=absence.copy,
        log_partition=absence.log_partition,
        log_offset=absence.absent_by - 1,
        timestamp=absence.newest_timestamp,
        key=absence.key,
        value=None,
        producer_id=absence.producer_id,
    )
    return replace(decode(record), is_absence=True)


class _Found:
    """The problems of one record, gathered while it is decoded."""

    def __init__(self, record: LogRecord) -> None:
        self.problems: list[str] = [] if record.misplaced is None else [_misplaced(record.misplaced)]
        self.kept_raw: str | None = None

    def unread(self, problem: str, reason: str) -> None:
        """Add a problem for which the key or value stays undecoded; `reason` says it in few words that repeat."""
        self.problems.append(problem)
        self.kept_raw = reason


def encode(event: Event) -> tuple[bytes | None, bytes | None]:
    """Return an event's key and value as bytes: encoded where they are typed, as the record has them where they are not.

    For records that Kafka wrote these are the bytes that were read, so a tool can change a field and write the record again.

    >>> from offsets_tool import open_evidence
    >>> with open_evidence("fixtures/corpora/3.9.2-txn/segments") as evidence:
    ...     all(encode(event) == (event.record.key, event.record.value) for event in evidence.events())
    True
    """
    record = event.record
    key = record.key if event.key is None else encode_key(event.key)
    return key, record.value if event.value is None else encode_value(event.value)


def encode_key(key: Key) -> bytes:
    """Return the bytes of a typed key, trailing bytes included."""
    return struct.pack(">h", key.type.id) + walk.encode(key.data, 0) + key.trailing


def group_of(key: Key) -> str:
    """Return the group that a key names."""
    group: str = key.data.group if hasattr(key.data, "group") else key.data.group_id
    return group


def encode_value(value: Value) -> bytes:
    """Return the bytes of a typed value, version and trailing bytes included."""
    return struct.pack(">h", value.version) + walk.encode(value.data, value.version) + value.trailing


def decode_key(data: bytes) -> Key:
    """Decode a key; DecodeError when its type is unknown or its fields do not read (Kafka's CoordinatorRecordSerde.deserialize)."""
    type_id = _prefix(data)
    if type_id is None:
        raise DecodeError("the record type is missing", kafka="Could not read version from key's buffer.")
    if type_id not in RECORD_TYPES:
        raise UnknownFormat(f"unknown record type {type_id}")
    record_type = RECORD_TYPES[type_id]
    decoded = walk.decode(record_type.key, 0, data, 2)
    return Key(record_type, decoded.message, decoded.notes, data[decoded.end :])


def decode_value(record_type: RecordType, data: bytes) -> Value:
    """Decode a value of a record type.

    Where layouts share a version, the newest one that consumes all bytes is taken, else the newest that reads at all. DecodeError
    when the version is unknown or no layout reads; the error is that of the newest layout.
    """
    version = _prefix(data)
    if version is None:
        raise DecodeError("the value version is missing", kafka="Could not read version from value's buffer.")
    readable = _readable(record_type.id, version)
    if not readable:
        raise UnknownFormat(f"unknown value version {version} of {record_type.name}")
    return _trial(readable, version, data)


@lru_cache(1 << 10)
def _readable(type_id: int, version: int) -> list[Layout]:
    """Return the layouts of a record type that have a version."""
    layouts = RECORD_TYPES[type_id].layouts
    return [layout for layout in layouts if version in schema_of(layout.value).versions]


def _trial(layouts: list[Layout], version: int, data: bytes) -> Value:
    partial: Value | None = None
    refusal: DecodeError | None = None
    for layout in layouts:
        try:
            decoded = walk.decode(layout.value, version, data, 2)
        except DecodeError as error:
            refusal = refusal or error
            continue
        value = Value(version, layout.since, decoded.message, decoded.notes, data[decoded.end :])
        if not value.trailing:
            return value
        partial = partial or value
    if partial:
        return partial
    assert refusal
    raise refusal


def _key(record: LogRecord, key_reader: KeyReader, found: _Found) -> Key | None:
    if record.key is None:
        found.unread("the record has no key", "no key")
        return None
    try:
        key = key_reader(record.key)
    except DecodeError as error:
        found.unread(f"key: {error}", _reason(error, "key does not read"))
        return None
    found.problems += _oddities("key", key)
    return key


def _value(record_type: RecordType, data: bytes, found: _Found, read: ValueReader) -> Value | None:
    try:
        value = read(record_type, data)
    except DecodeError as error:
        found.unread(f"value: {error}", _reason(error, f"{record_type.name} value does not read"))
        return None
    found.problems += _oddities("value", value)
    return value


def _reason(error: DecodeError, otherwise: str) -> str:
    return error.reason if isinstance(error, UnknownFormat) else otherwise


def _oddities(what: str, part: Key | Value) -> list[str]:
    notes = [f"{what}: {note}" for note in part.notes]
    if part.trailing:
        notes.append(f"{what}: {len(part.trailing)} trailing byte(s)")
    return notes


def _misplaced(reason: str) -> str:
    return f"place: {reason}"


def _decode_control(record: LogRecord) -> Event:
    problem = None if record.misplaced is None else _misplaced(record.misplaced)
    try:
        return Event(record=record, control=decode_control(record.key, record.value), problem=problem)
    except DecodeError as error:
        unread = f"control record: {error}"
        return Event(record=record, problem=f"{problem}; {unread}" if problem else unread)


def _prefix(data: bytes | None) -> int | None:
    """Return the int16 that every key and value begins with; None without one."""
    if data is None or len(data) < 2:
        return None
    return int.from_bytes(data[:2], "big", signed=True)
