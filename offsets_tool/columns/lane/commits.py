"""Compiled: an OffsetCommitValue of any version, and the end-of-transaction marker.

What is not exactly that stays the reference's.
"""

from typing import Final

import numpy as np

from offsets_tool.columns.jit.machine import big_i16, big_i32, big_i64, load_u8, step
from offsets_tool.columns.jit.utf8 import is_utf8, looks_escaped
from offsets_tool.columns.lane.commit_layout import FLEXIBLE, NONE, PLAIN, TOPIC_ID_TAG, fixed_position
from offsets_tool.columns.lane.interned import NO_TOPIC_ID, topic_id_number
from offsets_tool.columns.lane.layout import RecordField, RecordKind, get, put
from offsets_tool.records.kinds import COMMITS

# Compiled code takes plain integers.
_KEY: Final = int(RecordField.KEY)
_KIND: Final = int(RecordField.KIND)
_VALUE_VERSION: Final = int(RecordField.VALUE_VERSION)
_COMMITTED_OFFSET: Final = int(RecordField.COMMITTED_OFFSET)
_LEADER_EPOCH: Final = int(RecordField.LEADER_EPOCH)
_METADATA_START: Final = int(RecordField.METADATA_START)
_METADATA_SIZE: Final = int(RecordField.METADATA_SIZE)
_COMMIT_TIMESTAMP: Final = int(RecordField.COMMIT_TIMESTAMP)
_EXPIRE_TIMESTAMP: Final = int(RecordField.EXPIRE_TIMESTAMP)
_TOPIC_ID: Final = int(RecordField.TOPIC_ID)
_REFERENCE: Final = int(RecordKind.REFERENCE)
_COMMIT: Final = int(RecordKind.COMMIT)
_MARKER: Final = int(RecordKind.MARKER)

_TEXT_SIZE: Final = 2
COMMIT_TYPES: Final = len(COMMITS)
"""Record types below this one are commits, all others are not: compiled code compares with one number."""
if frozenset(range(COMMIT_TYPES)) != COMMITS:
    raise TypeError(f"the record types of commits, {sorted(COMMITS)}, are not the first ones")

# Places of fields by version, from the declaration: from the value's first byte, and from the end of metadata.
_OFFSET_AT: Final = fixed_position("offset")
_COMMIT_TIMESTAMP_AFTER: Final = fixed_position("commit_timestamp")
_METADATA_AT: Final = np.array([each.text + _TEXT_SIZE for each in PLAIN], np.int64)
_EPOCH_AT: Final = np.array([each.before.get("leader_epoch", NONE) for each in PLAIN], np.int64)
_EXPIRY_AFTER: Final = np.array([each.after.get("expire_timestamp", NONE) for each in PLAIN], np.int64)
_TAIL: Final = np.array([each.tail for each in PLAIN], np.int64)
_SHORTEST: Final = min(each.text + _TEXT_SIZE + each.tail for each in PLAIN)

_FLEXIBLE_METADATA_AT: Final = FLEXIBLE.text + 1
_FLEXIBLE_EPOCH_AT: Final = FLEXIBLE.before["leader_epoch"]
_FLEXIBLE_TAIL: Final = FLEXIBLE.tail
_SHORTEST_FLEXIBLE: Final = _FLEXIBLE_METADATA_AT + _FLEXIBLE_TAIL + 1
_TOPIC_ID_ALONE: Final = 0x100 | TOPIC_ID_TAG
"""One tag, and its number."""
_UUID_SIZE: Final = 16
_TAGS_SIZE: Final = 3 + _UUID_SIZE


@step
def read_plain(data: int, start: int, size: int, version: int, records: int, row: int) -> None:
    """Read a commit of a version before FLEXIBLE_VERSION into its row, if the value at data + start is exactly one."""
    if size < _SHORTEST:
        return
    metadata = start + _METADATA_AT[version]
    metadata_size = big_i16(data + metadata - _TEXT_SIZE)
    after = metadata + metadata_size
    if metadata_size < 0 or after + _TAIL[version] != start + size:
        return
    kind = _kind(data + metadata, metadata_size)
    if kind == _REFERENCE:
        return
    epoch_at, expiry_after = _EPOCH_AT[version], _EXPIRY_AFTER[version]
    leader_epoch = big_i32(data + start + epoch_at) if epoch_at >= 0 else -1
    expire_timestamp = big_i64(data + after + expiry_after) if expiry_after >= 0 else -1
    put(records, _KIND, row, kind)
    _fill(data, start, metadata, metadata_size, records, row)
    put(records, _LEADER_EPOCH, row, leader_epoch)
    put(records, _EXPIRE_TIMESTAMP, row, expire_timestamp)
    put(records, _TOPIC_ID, row, NO_TOPIC_ID)


@step
def read_flexible(data: int, start: int, size: int, tables: int, records: int, row: int) -> bool:
    """Read a commit of FLEXIBLE_VERSION, if the value is exactly one: compact metadata, and at most tag 0, the topic's id.

    Return False when the table of topic ids is full.
    """
    if size < _SHORTEST_FLEXIBLE:
        return True
    metadata = start + _FLEXIBLE_METADATA_AT
    length = load_u8(data + metadata - 1)
    if length >= 0x80:
        second = load_u8(data + metadata)
        metadata += 1
        if second >= 0x80:
            return True
        length = (length & 0x7F) | (second << 7)
    tags, end = metadata + length - 1 + _FLEXIBLE_TAIL, start + size
    if length == 0 or tags >= end:
        return True
    kind = _kind(data + metadata, length - 1)
    if kind == _REFERENCE:
        return True
    topic_id = NO_TOPIC_ID
    has_topic_id = tags + _TAGS_SIZE == end and big_i16(data + tags) == _TOPIC_ID_ALONE
    if has_topic_id and load_u8(data + tags + 2) == _UUID_SIZE:
        topic_id = topic_id_number(tables, get(records, _KEY, row), data + tags + 3)
        if topic_id < 0:
            return False
    elif tags + 1 != end or load_u8(data + tags) != 0:
        return True
    put(records, _KIND, row, kind)
    _fill(data, start, metadata, length - 1, records, row)
    put(records, _LEADER_EPOCH, row, big_i32(data + start + _FLEXIBLE_EPOCH_AT))
    put(records, _EXPIRE_TIMESTAMP, row, -1)
    put(records, _TOPIC_ID, row, topic_id)
    return True


@step
def _fill(data: int, start: int, metadata: int, size: int, records: int, row: int) -> None:
    put(records, _COMMITTED_OFFSET, row, big_i64(data + start + _OFFSET_AT))
    put(records, _METADATA_START, row, metadata)
    put(records, _METADATA_SIZE, row, size)
    put(records, _COMMIT_TIMESTAMP, row, big_i64(data + metadata + size + _COMMIT_TIMESTAMP_AFTER))


@step
def _kind(metadata: int, size: int) -> int:
    """Return the kind of a commit with this metadata: one for the reference decoder if it is not UTF-8 that is shown unchanged."""
    return _REFERENCE if looks_escaped(metadata, size) or not is_utf8(metadata, size) else _COMMIT


@step
def read_marker(key: int, key_size: int, value: int, value_size: int, records: int, row: int) -> None:
    """Write the kind of a row that is a COMMIT or ABORT marker, given key and value by address; else leave it as it is."""
    if key_size < 4 or value_size < 6 or big_i16(key) < 0 or big_i16(value) < 0:
        return
    type_id = big_i16(key + 2)
    if type_id == 0 or type_id == 1:
        put(records, _KIND, row, _MARKER)
        put(records, _VALUE_VERSION, row, type_id)
        put(records, _LEADER_EPOCH, row, big_i32(value + 2))
