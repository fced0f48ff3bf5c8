"""Compiled: counts records by kind, type and version, and marks their keys; records that are not read completely are left out."""

from typing import Final

from offsets_tool.columns.jit.machine import compiled, load_i64, load_u8, store_i64, store_u8
from offsets_tool.columns.lane.interned import FULL, key_at, key_number, key_size
from offsets_tool.columns.lane.layout import RecordField, RecordKind, get
from offsets_tool.columns.text.key_kernel import plain_group
from offsets_tool.records.kinds import RECORD_TYPES

LEFT: Final = -1

TYPES: Final = 1 << max(5, max(RECORD_TYPES).bit_length())
"""More than there are record types; and more than value versions, and kinds of markers."""

# Where counts are: first those of commits, by type and version.
TOMBSTONES_AT: Final = TYPES * TYPES
MARKERS_AT: Final = TOMBSTONES_AT + TYPES
COUNTS: Final = MARKERS_AT + TYPES

# Compiled code takes plain integers.
_KIND: Final = int(RecordField.KIND)
_KEY: Final = int(RecordField.KEY)
_VALUE_VERSION: Final = int(RecordField.VALUE_VERSION)
_COMMIT: Final = int(RecordKind.COMMIT)
_COMMIT_IN_UTF8: Final = int(RecordKind.COMMIT_IN_UTF8)
_TOMBSTONE: Final = int(RecordKind.TOMBSTONE)
_MARKER: Final = int(RecordKind.MARKER)


@compiled
def read_keys(keys: int, names: int, number: int, last: int, types: int, groups: int) -> int:
    """Note record types and groups of the plain keys from `number` to `last`; return the key whose group had no room, or `last`."""
    while number < last:
        at = key_at(keys, number)
        size = plain_group(at, key_size(keys, number))
        if size >= 0:
            group = key_number(names, at + 4, size)
            if group == FULL:
                break
            store_i64(types + 8 * number, load_u8(at + 1))
            store_i64(groups + 8 * number, group)
        number += 1
    return number


@compiled
def count_kinds(records: int, rows: int, types: int, seen: int, counts: int, left: int) -> int:
    """Count rows by kind and mark their keys as seen; return how many rows are left to the caller, whose numbers go to `left`."""
    many = 0
    for row in range(rows):
        kind, key = get(records, _KIND, row), get(records, _KEY, row)
        type_id = load_i64(types + 8 * key) if key >= 0 else LEFT
        place = LEFT
        if kind == _MARKER:
            place = MARKERS_AT + get(records, _VALUE_VERSION, row)
        elif kind == _TOMBSTONE and type_id >= 0:
            place = TOMBSTONES_AT + type_id
        elif (kind == _COMMIT or kind == _COMMIT_IN_UTF8) and type_id >= 0:
            place = type_id * TYPES + get(records, _VALUE_VERSION, row)
        if place < 0:
            store_i64(left + 8 * many, row)
            many += 1
        else:
            store_i64(counts + 8 * place, load_i64(counts + 8 * place) + 1)
            if kind != _MARKER:
                store_u8(seen + key, 1)
    return many
