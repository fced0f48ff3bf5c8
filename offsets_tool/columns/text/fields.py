"""The numbers of batches and records that texts are made of, as columns of a chunk; and the class of each batch and record.

Records of one class differ only in numbers and texts: a difference on which a dialect could decide anything (a -1, an absent value,
a version, a flag) makes another class. A batch or record with any other negative number has no class.
"""

from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.lane.chunks import Chunk
from offsets_tool.columns.lane.interned import NO_TOPIC_ID
from offsets_tool.columns.lane.layout import BatchField, RecordField, RecordKind
from offsets_tool.log.batches.header import MAX_INT

BATCH_NUMBERS: Final = {
    "position": BatchField.POSITION,
    "size": BatchField.SIZE,
    "base_offset": BatchField.BASE_OFFSET,
    "last_offset": BatchField.LAST_OFFSET,
    "base_timestamp": BatchField.BASE_TIMESTAMP,
    "max_timestamp": BatchField.MAX_TIMESTAMP,
    "producer_id": BatchField.PRODUCER_ID,
    "producer_epoch": BatchField.PRODUCER_EPOCH,
    "base_sequence": BatchField.BASE_SEQUENCE,
    "partition_leader_epoch": BatchField.PARTITION_LEADER_EPOCH,
    "crc": BatchField.CRC,
    "count": BatchField.COUNT,
}
"""Numbers of Batch, by its names."""

RECORD_NUMBERS: Final = {
    "log_offset": RecordField.LOG_OFFSET,
    "timestamp": RecordField.TIMESTAMP,
    "value_size": RecordField.VALUE_SIZE,
    "committed_offset": RecordField.COMMITTED_OFFSET,
    "leader_epoch": RecordField.LEADER_EPOCH,
    "commit_timestamp": RecordField.COMMIT_TIMESTAMP,
    "expire_timestamp": RecordField.EXPIRE_TIMESTAMP,
}
"""Numbers of a record and its value; a marker's coordinator epoch is in the column of the leader epoch."""

NUMBERS: Final = (*BATCH_NUMBERS, "last_sequence", *RECORD_NUMBERS, "sequence", "key_size")
"""A number's place here is its column's number for compiled code; those before PER_RECORD are of a batch."""
PER_RECORD: Final = len(BATCH_NUMBERS) + 1

_MAY_LACK: Final = (
    "base_timestamp",
    "max_timestamp",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "partition_leader_epoch",
)
_COMMIT_MAY_LACK: Final = ("committed_offset", "leader_epoch", "commit_timestamp", "expire_timestamp")
_ATTRIBUTE_BITS: Final = 16
_VERSION_PLACE: Final = 5
_TEXT_PLACE: Final = 8
_KIND_PLACE: Final = 10
_KEY_PLACE: Final = 13
_NO_CLASS: Final = -1


class KeyClass(IntEnum):
    """The kinds of key that make different classes of records."""

    OTHER = -1
    LEGACY_COMMIT = 0
    COMMIT = 1
    MARKER = 2


TYPES_AT: Final = 1
"""The class of any other key that decodes cleanly: its record type, and this."""


class Classes(NamedTuple):
    """The class of each batch and of each record (-1 for none), in bits; records of one class have lines of one template."""

    batches: Array
    records: Array


def columns(chunk: Chunk, key_sizes: Array) -> dict[str, Array]:
    """Return the columns of a chunk by the names in NUMBERS; `key_sizes` are the sizes of its records' keys."""
    found = {name: chunk.batches[field] for name, field in BATCH_NUMBERS.items()}
    found |= {name: chunk.records[field] for name, field in RECORD_NUMBERS.items()}
    from_base = chunk.records[RecordField.LOG_OFFSET] - found["base_offset"][chunk.records[RecordField.BATCH]]
    found["sequence"] = found["base_sequence"][chunk.records[RecordField.BATCH]] + from_base
    found["last_sequence"] = found["base_sequence"] + (found["last_offset"] - found["base_offset"])
    found["key_size"] = key_sizes
    return found


def classes(chunk: Chunk, found: dict[str, Array], key_classes: Array, has_parts: Array) -> Classes:
    """Return the classes of a chunk's batches and records; `key_classes` are those of each record's key.

    `has_parts` is 1 where JSON has a structure in it that is in no array.
    """
    return Classes(_batch_classes(chunk, found), _record_classes(chunk, found, key_classes, has_parts))


def distinct(values: Array) -> tuple[Array, Array, Array]:
    """Return the distinct values, the index at which each is first, and for each value the index of its distinct one."""
    if len(values) and (values == values[0]).all():
        return values[:1], np.zeros(1, np.int64), np.zeros(len(values), np.int64)
    return np.unique(values, return_index=True, return_inverse=True)


def absent(batch_class: int, record_class: int | None = None) -> frozenset[str]:
    """Return the names of the numbers that are -1 in a class."""
    bits = batch_class >> _ATTRIBUTE_BITS
    names = {name for place, name in enumerate(_MAY_LACK) if bits >> place & 1}
    if record_class is not None:
        lacking = ("timestamp", *_COMMIT_MAY_LACK)
        names |= {name for place, name in enumerate(lacking) if record_class >> place & 1}
    return frozenset(names)


def key_class(record_class: int) -> int:
    """Return the kind of key that a class's records have."""
    return record_class >> _KEY_PLACE


def value_of_class(record_class: int) -> tuple[int, bool] | None:
    """Return version and whether it has parts, of values that compiled code prints as JSON; None for others."""
    if record_class >> _KIND_PLACE & 7 != RecordKind.JSON:
        return None
    return record_class >> _VERSION_PLACE & 7, bool(record_class >> _TEXT_PLACE & 1)


def _batch_classes(chunk: Chunk, found: dict[str, Array]) -> Array:
    made: Array = chunk.batches[BatchField.ATTRIBUTES] & 0xFFFF
    strange = found["last_sequence"] > MAX_INT
    for place, name in enumerate(_MAY_LACK):
        made |= (found[name] == -1).astype(np.int64) << (_ATTRIBUTE_BITS + place)
        strange |= found[name] < -1
    made[strange] = _NO_CLASS
    return made


def _record_classes(chunk: Chunk, found: dict[str, Array], key_classes: Array, has_parts: Array) -> Array:
    records = chunk.records
    kind = records[RecordField.KIND]
    is_commit, is_marker, is_json = (
        kind == one for one in (RecordKind.COMMIT, RecordKind.MARKER, RecordKind.JSON)
    )
    made: Array = (found["timestamp"] == -1).astype(np.int64)
    strange = (found["timestamp"] < -1) | (found["log_offset"] < 0) | (found["sequence"] > MAX_INT)
    # An offset before its batch's first has a sequence before the first, or around the corner.
    strange |= found["log_offset"] < found["base_offset"][records[RecordField.BATCH]]
    for place, name in enumerate(_COMMIT_MAY_LACK, 1):
        relevant = is_commit | is_marker if name == "leader_epoch" else is_commit
        made |= (relevant & (found[name] == -1)).astype(np.int64) << place
        strange |= relevant & (found[name] < -1)
    has_version = is_commit | is_marker | is_json
    made |= np.where(has_version, records[RecordField.VALUE_VERSION], 0) << _VERSION_PLACE
    has_text = is_commit & (records[RecordField.METADATA_SIZE] > 0) | has_parts.astype(bool)
    made |= has_text.astype(np.int64) << _TEXT_PLACE
    made |= (is_commit & (records[RecordField.TOPIC_ID] != NO_TOPIC_ID)).astype(np.int64) << 9
    made |= kind << _KIND_PLACE
    made |= key_classes << _KEY_PLACE
    of_commit = (key_classes >= 0) & (key_classes < KeyClass.MARKER)
    keyed = is_commit & of_commit | is_marker & (key_classes == KeyClass.MARKER)
    keyed |= is_json | (kind == RecordKind.TOMBSTONE) & (key_classes >= 0) & (key_classes != KeyClass.MARKER)
    strange |= ~keyed
    made[strange] = _NO_CLASS
    return made
