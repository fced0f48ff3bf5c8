"""Compiled: the table of what distinct keys say, filled from their bytes, and columns of rows picked from it.

Reads keys that are exactly texts, in faultless UTF-8 that is shown as it is, and perhaps a partition. Others are the reference
decoder's.
"""

from enum import IntEnum
from typing import Final

from offsets_tool.columns.jit.machine import (
    big_i16,
    big_i32,
    compiled,
    load_i32,
    load_i64,
    load_u8,
    step,
    store_i32,
    store_i64,
    store_u8,
)
from offsets_tool.columns.jit.utf8 import is_utf8, looks_escaped
from offsets_tool.columns.lane.interned import FULL, key_at, key_number, key_size
from offsets_tool.columns.lane.layout import AttributeBit, BatchField, RecordField, RecordKind, get, put


class KeyField(IntEnum):
    """Fields of a key, each int32; texts are numbers of names, or -1 for none."""

    FLAGS = 0
    RECORD_TYPE = 1
    PARTITION = 2
    RECORD_NAME = 3
    GROUP = 4
    TOPIC = 5
    MEMBER_ID = 6
    REGULAR_EXPRESSION = 7


class ValueField(IntEnum):
    """Fields of a row beside its key's, each int32: numbers of texts, or -1 for none."""

    CONTROL = 8
    LAYOUT = 9
    TOPIC_ID = 10


ROW_FIELDS: Final = len(KeyField) + len(ValueField)


class KeyFlag(IntEnum):
    """Bits of FLAGS."""

    CLEAN = 1
    """The key decodes without a problem."""
    PARTITION = 2
    """The key has a partition."""


ENTRY: Final = 4 * len(KeyField)
"""Bytes of a key in the table."""

SHAPE: Final = 4
"""int64 that tell how the keys of a record type are read: its name's number, and up to three fields in their order, then -1."""

# Compiled code takes plain integers.
_RECORD_TYPE: Final = 4 * int(KeyField.RECORD_TYPE)
_PARTITION: Final = int(KeyField.PARTITION)
_RECORD_NAME: Final = 4 * int(KeyField.RECORD_NAME)
_CLEAN: Final = int(KeyFlag.CLEAN)
_HAS_PARTITION: Final = int(KeyFlag.PARTITION)
_KEY: Final = int(RecordField.KEY)
_BATCH: Final = int(RecordField.BATCH)
_KIND: Final = int(RecordField.KIND)
_VALUE_START: Final = int(RecordField.VALUE_START)
_VALUE_VERSION: Final = int(RecordField.VALUE_VERSION)
_ATTRIBUTES: Final = int(BatchField.ATTRIBUTES)
_CONTROL: Final = int(AttributeBit.CONTROL)
_REFERENCE: Final = int(RecordKind.REFERENCE)
_MARKER: Final = int(RecordKind.MARKER)
_JSON: Final = int(RecordKind.JSON)
_COMMIT: Final = int(RecordKind.COMMIT)
_TOPIC_ID: Final = int(RecordField.TOPIC_ID)
_KEY_FIELDS: Final = len(KeyField)
_ROW_FIELDS: Final = ROW_FIELDS
_CONTROL_TYPE: Final = int(ValueField.CONTROL)
_LAYOUT: Final = int(ValueField.LAYOUT)
_TOPIC_ID_TEXT: Final = int(ValueField.TOPIC_ID)

_NONE: Final = -1


@compiled
def read_keys(
    keys: int, first: int, last: int, table: int, shapes: int, types: int, names: int
) -> tuple[int, int]:
    """Fill `table` for the interned `keys` from `first` to `last`; return the key before which it stopped, and why.

    The reason is CLEAN at the end, FULL - field where that field's table of names has no room, 0 for a key that is not read here.
    `shapes` has SHAPE int64 for each of `types` record types, and `names` by KeyField the address of its table of names.
    """
    for number in range(first, last):
        entry = table + number * ENTRY
        found = _read_key(key_at(keys, number), key_size(keys, number), entry, shapes, types, names)
        if found != _CLEAN:
            return number, found
    return last, _CLEAN


@step
def _read_key(at: int, size: int, entry: int, shapes: int, types: int, names: int) -> int:
    """Read a key into its `entry`; return CLEAN, 0 if the key is not read here, FULL - field if there is no room for a name."""
    _forget(entry)
    record_type = big_i16(at) if size >= 2 else _NONE
    if record_type < 0 or record_type >= types:
        return 0
    shape = shapes + 8 * SHAPE * record_type
    if not _is_whole(at + 2, at + size, shape):
        return 0
    store_i32(entry + _RECORD_TYPE, record_type)
    store_i32(entry + _RECORD_NAME, load_i64(shape))
    flags, at = _CLEAN, at + 2
    for place in range(1, SHAPE):
        field = load_i64(shape + 8 * place)
        if field == _PARTITION:
            store_i32(entry + 4 * field, big_i32(at))
            flags |= _HAS_PARTITION
        elif field != _NONE:
            text_size = big_i16(at)
            number = key_number(load_i64(names + 8 * field), at + 2, text_size)
            if number == FULL:
                return FULL - field
            store_i32(entry + 4 * field, number)
            at += 2 + text_size
    store_i32(entry, flags)
    return _CLEAN


@step
def _is_whole(at: int, end: int, shape: int) -> bool:
    """Return whether the bytes are exactly the fields of a shape; False for a shape without fields."""
    if load_i64(shape + 8) == _NONE:
        return False
    for place in range(1, SHAPE):
        field = load_i64(shape + 8 * place)
        if field == _PARTITION:
            at += 4
        elif field != _NONE:
            at = _text_end(at, end)
            if at == 0:
                return False
    return at == end


@step
def _forget(entry: int) -> None:
    store_i32(entry, 0)
    for place in range(4, ENTRY, 4):
        store_i32(entry + place, _NONE)


@step
def _text_end(at: int, end: int) -> int:
    """Return the address after a text of a key, given the address of its length.

    0 if the text is null, goes beyond `end`, is not valid UTF-8, or is not shown as it is written.
    """
    if at + 2 > end:
        return 0
    size = big_i16(at)
    if size < 0 or size > end - at - 2 or not is_utf8(at + 2, size) or looks_escaped(at + 2, size):
        return 0
    return at + 2 + size


@compiled
def sort_out(records: int, rows: int, table: int, kinds: int) -> int:
    """Write each row's kind as a byte; return how many rows are left to the reference decoder.

    A record without a clean key is left to it.
    """
    left = 0
    for row in range(rows):
        kind, key = get(records, _KIND, row), get(records, _KEY, row)
        if kind != _MARKER and (key < 0 or not load_i32(table + key * ENTRY) & _CLEAN):
            kind = _REFERENCE
        left += kind == _REFERENCE
        store_u8(kinds + row, kind)
    return left


@compiled
def find_printable(
    records: int, rows: int, kinds: int, table: int, batches: int, found: int, types: int
) -> int:
    """Find the rows with a clean key that are left to the reference decoder, except control records; return how many there are.

    `found` and `types` take int64, of each row its number and its record type.
    """
    count = 0
    for row in range(rows):
        key = get(records, _KEY, row)
        if load_u8(kinds + row) != _REFERENCE or key < 0 or not load_i32(table + key * ENTRY) & _CLEAN:
            continue
        if not get(batches, _ATTRIBUTES, get(records, _BATCH, row)) & _CONTROL:
            store_i64(found + 8 * count, row)
            store_i64(types + 8 * count, load_i32(table + key * ENTRY + _RECORD_TYPE))
            count += 1
    return count


@compiled
def mark_printed(
    records: int, rows: int, kinds: int, data: int, found: int, sizes: int, count: int, offsets: int
) -> None:
    """Make the kind of found rows JSON where the size of their text is not below 0; fill the offsets, int32, of all rows' texts.

    It notes the versions of their values too, as the reader of records notes those of commits only.
    """
    reached, text = 0, 0
    for row in range(rows):
        store_i32(offsets + 4 * row, text)
        if reached < count and load_i64(found + 8 * reached) == row:
            size = load_i64(sizes + 8 * reached)
            reached += 1
            if size >= 0:
                text += size
                store_u8(kinds + row, _JSON)
                put(records, _VALUE_VERSION, row, big_i16(data + get(records, _VALUE_START, row)))
    store_i32(offsets + 4 * rows, text)


@compiled
def pick_fields(
    records: int, rows: int, kinds: int, table: int, layouts: int, topic_ids: int, columns: int, line: int
) -> None:
    """Write each row's fields, of KeyField and ValueField, to `columns`, int32, `line` rows from one field to the next.

    Rows that are the reference's have no fields, markers no key. `layouts` has the number of a layout for each record type,
    `topic_ids` that of the text of each topic id; both are int32.
    """
    for row in range(rows):
        out, kind = columns + 4 * row, load_u8(kinds + row)
        for field in range(_KEY_FIELDS, _ROW_FIELDS):
            store_i32(out + 4 * line * field, _NONE)
        if kind == _REFERENCE or kind == _MARKER:
            store_i32(out, 0)
            for field in range(1, _KEY_FIELDS):
                store_i32(out + 4 * line * field, _NONE)
            if kind == _MARKER:
                store_i32(out + 4 * line * _CONTROL_TYPE, get(records, _VALUE_VERSION, row))
            continue
        entry = table + get(records, _KEY, row) * ENTRY
        for field in range(_KEY_FIELDS):
            store_i32(out + 4 * line * field, load_i32(entry + 4 * field))
        if kind == _COMMIT or kind == _JSON:
            layout = layouts + 4 * load_i32(entry + _RECORD_TYPE)
            store_i32(out + 4 * line * _LAYOUT, load_i32(layout))
        if kind == _COMMIT:
            topic_id = topic_ids + 4 * get(records, _TOPIC_ID, row)
            store_i32(out + 4 * line * _TOPIC_ID_TEXT, load_i32(topic_id))
