"""A survey of segments through the fast lane: kinds, versions and groups counted from its tables, without a column being made.

What the lane does not read is handed to the caller, who decodes and surveys it as any record.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import address
from offsets_tool.columns.json.values import JsonWriter
from offsets_tool.columns.lane.chunks import Chunk
from offsets_tool.columns.lane.interned import InternedKeys
from offsets_tool.columns.lane.layout import AttributeBit, BatchField, RecordField, has_any
from offsets_tool.columns.lane.segments import ChunkRead, SegmentReader
from offsets_tool.columns.lane.sums import offsets_of
from offsets_tool.columns.text.counting import (
    COUNTS,
    LEFT,
    MARKERS_AT,
    TOMBSTONES_AT,
    TYPES,
    count_kinds,
    read_keys,
)
from offsets_tool.errors import DecodeError
from offsets_tool.events import decode_key
from offsets_tool.log.batches.limits import LIMITS, Limits
from offsets_tool.log.ledger import Ledger, Outcome
from offsets_tool.log.names import Segment
from offsets_tool.log.segment import SegmentReading
from offsets_tool.records import RECORD_TYPES
from offsets_tool.rows import BatchRead, LogRecord, Unreadable
from offsets_tool.survey import Survey, control_kind, tombstone_kind, value_kind

_MARKERS: Final = ("ABORT", "COMMIT")


class ChunkSurveyed(NamedTuple):
    """Bytes of a file, as many as `size`, surveyed but for these records."""

    size: int
    pieces: Iterator[LogRecord]


class Surveyor:
    """Surveys segments one after another; what repeats from file to file is kept."""

    def __init__(self) -> None:
        self._keys: _Keys | None = None
        self._segments = SegmentReader()
        self._json = JsonWriter()

    def read(
        self, segment: Segment, ledger: Ledger, survey: Survey, limits: Limits = LIMITS
    ) -> Iterator[ChunkSurveyed | BatchRead | Unreadable]:
        """Survey a whole segment: yield what the caller has to decode, count and survey; all else is surveyed and counted here."""
        reading = SegmentReading(segment, limits=limits, ledger=ledger)
        for item in self._segments.read(reading, ledger):
            if not isinstance(item, ChunkRead):
                yield item
                continue
            survey.observe_run(item.run, *offsets_of(item.chunk))
            yield ChunkSurveyed(item.size, self._survey(item.chunk, segment.log_partition, ledger, survey))
        if self._keys is not None:
            survey.groups |= self._keys.groups()

    def _survey(
        self, chunk: Chunk, log_partition: int | None, ledger: Ledger, survey: Survey
    ) -> Iterator[LogRecord]:
        if self._keys is None or not self._keys.belong_to(chunk.interned):
            if self._keys is not None:
                survey.groups |= self._keys.groups()
            self._keys = _Keys(chunk.interned)
        self._keys.update()
        rows = chunk.records.shape[1]
        counts, left = np.zeros(COUNTS, np.int64), np.empty(rows, np.int64)
        types, seen = address(self._keys.types), address(self._keys.seen)
        many = count_kinds(address(chunk.records), rows, types, seen, address(counts), address(left))
        _add_counts(counts, ledger, survey)
        rest = self._by_program(chunk, left[:many], ledger, survey)
        yield from (_record(chunk, row, log_partition) for row in rest.tolist())

    def _by_program(self, chunk: Chunk, left: Array, ledger: Ledger, survey: Survey) -> Array:
        """Count the values that programs can print, all of which decode without a problem, and return the rows of the others."""
        assert self._keys is not None
        records = chunk.records
        attributes = chunk.batches[BatchField.ATTRIBUTES, records[RecordField.BATCH, left]]
        is_control = has_any(attributes, AttributeBit.CONTROL)
        keys = records[RecordField.KEY, left]
        types = np.where(is_control | (keys < 0), LEFT, self._keys.types[keys])
        if not (types >= 0).any():
            return left
        places = records[RecordField.VALUE_START, left]
        printed = (
            self._json.write(chunk.data, types, places, records[RecordField.VALUE_SIZE, left]).sizes >= 0
        )
        versions = chunk.data[places[printed] + 1]
        self._keys.seen[keys[printed]] = 1
        which, counts = np.unique(types[printed] * TYPES + versions, return_counts=True)
        for one, count in zip(which.tolist(), counts.tolist(), strict=True):
            type_id, version = divmod(one, TYPES)
            survey.kinds[value_kind(type_id, version, RECORD_TYPES[type_id].layouts[0].since)] += count
        ledger.count(Outcome.DECODED, times=int(printed.sum()))
        return left[~printed]


def _add_counts(counts: Array, ledger: Ledger, survey: Survey) -> None:
    for place in np.flatnonzero(counts).tolist():
        count = int(counts[place])
        ledger.count(Outcome.CONTROL if place >= MARKERS_AT else Outcome.DECODED, times=count)
        survey.kinds[_kind(place)] += count


def _kind(place: int) -> str:
    if place >= MARKERS_AT:
        return control_kind(_MARKERS[place - MARKERS_AT])
    if place >= TOMBSTONES_AT:
        return tombstone_kind(place - TOMBSTONES_AT)
    type_id, version = divmod(place, TYPES)
    return value_kind(type_id, version, RECORD_TYPES[type_id].layouts[0].since)


def _record(chunk: Chunk, row: int, log_partition: int | None) -> LogRecord:
    """Return a row of a chunk as a LogRecord with the fields that decoding looks at, and its place in the log."""
    records = chunk.records
    key, start, size = (
        int(records[field, row])
        for field in (RecordField.KEY, RecordField.VALUE_START, RecordField.VALUE_SIZE)
    )
    attributes = chunk.batches[BatchField.ATTRIBUTES, records[RecordField.BATCH, row]]
    return LogRecord(
        source="",
        log_partition=log_partition,
        log_offset=int(records[RecordField.LOG_OFFSET, row]),
        timestamp=int(records[RecordField.TIMESTAMP, row]),
        key=None if key < 0 else chunk.interned.key(key),
        value=None if size < 0 else chunk.data[start : start + size].tobytes(),
        is_control=bool(has_any(attributes, AttributeBit.CONTROL)),
    )


class _Keys:
    """Record types and groups of interned keys, and which keys a file has."""

    def __init__(self, interned: InternedKeys) -> None:
        self._interned = interned
        self._names = InternedKeys(keys=1 << 10, arena=1 << 16)
        self._others: dict[int, str] = {}
        self._known = 0
        self.types: Array = np.full(1 << 12, LEFT, np.int64)
        """LEFT where a key does not decode cleanly."""
        self._groups: Array = np.full(1 << 12, LEFT, np.int64)
        self.seen: Array = np.zeros(1 << 12, np.uint8)

    def belong_to(self, interned: InternedKeys) -> bool:
        """Return whether these keys were read from the tables `interned`."""
        return self._interned is interned

    def groups(self) -> set[str]:
        """Return the groups of the keys that were seen since the last call."""
        keys = np.flatnonzero(self.seen)
        self.seen[:] = 0
        numbers = np.unique(self._groups[keys])
        plain = {self._names.key(number).decode() for number in numbers[numbers >= 0].tolist()}
        return plain | {self._others[key] for key in keys[self._groups[keys] < 0].tolist()}

    def update(self) -> None:
        """Read the keys that were interned since the last call."""
        first, count = self._known, len(self._interned)
        if count > len(self.types):
            more = max(count, 2 * len(self.types)) - len(self.types)
            self.types, self._groups = (
                np.concatenate((column, np.full(more, LEFT, np.int64)))
                for column in (self.types, self._groups)
            )
            self.seen = np.concatenate((self.seen, np.zeros(more, np.uint8)))
        while self._known < count:
            types, groups = address(self.types), address(self._groups)
            found = read_keys(self._interned.address, self._names.address, self._known, count, types, groups)
            self._known = found
            if found < count:
                self._names.grow(len(self._interned.key(found)))
        for number in (first + np.flatnonzero(self._groups[first:count] == LEFT)).tolist():
            self._decode(number)

    def _decode(self, number: int) -> None:
        """Decode a key that is not plain, and note its record type and group."""
        try:
            key = decode_key(self._interned.key(number))
        except DecodeError:
            return
        if not key.notes and not key.trailing:
            self.types[number] = key.type.id
            self._others[number] = key.data.group if hasattr(key.data, "group") else key.data.group_id
