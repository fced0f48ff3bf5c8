"""A survey of segments through the fast lane: kinds, versions and groups counted from its tables, without a column being made.

What the lane does not read is handed to the caller, who decodes and surveys it as any record.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.assembly.keys import KeyColumns
from offsets_tool.columns.assembly.kinds import Kinds
from offsets_tool.columns.json.values import JsonWriter
from offsets_tool.columns.lane.chunks import Chunk
from offsets_tool.columns.lane.interned import InternedKeys
from offsets_tool.columns.lane.key_table import KeyField
from offsets_tool.columns.lane.layout import AttributeBit, BatchField, RecordField, RecordKind, has_any
from offsets_tool.columns.lane.segments import ChunkRead
from offsets_tool.columns.lane.sums import offsets_of
from offsets_tool.log.ledger import Ledger, Outcome
from offsets_tool.records import RECORD_TYPES
from offsets_tool.rows import LogRecord
from offsets_tool.survey import Survey, control_kind, tombstone_kind, value_kind
from offsets_tool.wire.text import from_shown

_MARKERS: Final = ("ABORT", "COMMIT")
_RADIX: Final = 1 << 6
"""More than there are record types, and versions of what the lane reads."""


class Surveyor:
    """Surveys segments one after another; what repeats from file to file is kept."""

    def __init__(self) -> None:
        self._keys = KeyColumns(InternedKeys(keys=1, arena=1, topic_ids=1))
        self._is_met: Array = np.zeros(1, bool)
        """Which keys the present file has."""
        self._json = JsonWriter()

    def observe(self, read: ChunkRead, ledger: Ledger, survey: Survey) -> Iterator[LogRecord]:
        """Survey a chunk, and count its records in the ledger; yield those that the caller has to decode, count and survey."""
        chunk = read.chunk
        survey.observe_run(read.run, *offsets_of(chunk))
        if not self._keys.belong_to(chunk.interned):
            self.name_groups(survey)
            self._keys = KeyColumns(chunk.interned)
        self._keys.update()
        self._is_met = np.append(self._is_met, np.zeros(len(self._keys.table) - len(self._is_met), bool))
        # Values that programs print decode without a problem.
        kinds = Kinds(chunk, self._keys, self._json)
        self._count(chunk, kinds.kind.astype(np.int64), ledger, survey)
        yield from (_record(chunk, row, ledger.log_partition) for row in kinds.left.tolist())

    def _count(self, chunk: Chunk, kinds: Array, ledger: Ledger, survey: Survey) -> None:
        keys, versions = chunk.records[RecordField.KEY], chunk.records[RecordField.VALUE_VERSION]
        is_read, is_marker = kinds != RecordKind.REFERENCE, kinds == RecordKind.MARKER
        self._is_met[keys[is_read & ~is_marker]] = True
        types = np.where(is_marker, 0, self._keys.table[:, KeyField.RECORD_TYPE].take(keys))
        versions = np.where(kinds == RecordKind.TOMBSTONE, 0, versions)
        counts = np.bincount(((kinds * _RADIX + types) * _RADIX + versions)[is_read])
        for code in np.flatnonzero(counts).tolist():
            (kind, type_id), version = divmod(code // _RADIX, _RADIX), code % _RADIX
            count = int(counts[code])
            ledger.count(Outcome.CONTROL if kind == RecordKind.MARKER else Outcome.DECODED, times=count)
            survey.kinds[_kind(kind, type_id, version)] += count

    def name_groups(self, survey: Survey) -> None:
        """Add the groups of the file, which ends here, to its survey."""
        names = self._keys.names["group"].table
        numbers = np.unique(self._keys.table[np.flatnonzero(self._is_met), KeyField.GROUP])
        survey.groups |= {from_shown(names.key(number).decode()) for number in numbers.tolist()}
        self._is_met[:] = False


def _kind(kind: int, type_id: int, version: int) -> str:
    if kind == RecordKind.MARKER:
        return control_kind(_MARKERS[version])
    if kind == RecordKind.TOMBSTONE:
        return tombstone_kind(type_id)
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
