"""Distinct keys, each read once, as a table to pick rows from; what compiled code does not read the reference decoder does."""

from functools import cache
from typing import Final

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.assembly.names import NULL, TextDictionary
from offsets_tool.columns.jit.machine import address
from offsets_tool.columns.lane.interned import FULL, InternedKeys
from offsets_tool.columns.lane.key_table import SHAPE, KeyField, KeyFlag, read_keys
from offsets_tool.errors import DecodeError
from offsets_tool.events import decode_key
from offsets_tool.records import RECORD_TYPES
from offsets_tool.wire.schema import FieldSpec, Primitive, Shape, schema_of
from offsets_tool.wire.text import shown

TEXTS: Final = {
    "record_name": KeyField.RECORD_NAME,
    "group": KeyField.GROUP,
    "topic": KeyField.TOPIC,
    "member_id": KeyField.MEMBER_ID,
    "regular_expression": KeyField.REGULAR_EXPRESSION,
}
"""Columns of `events` that come from the key and are texts."""

_FIRST_ROOM: Final = 1 << 12
_FIELDS: Final = {"group_id": KeyField.GROUP, "partition": KeyField.PARTITION} | TEXTS
"""Where the fields of keys go, by their declared names."""


@cache
def _shapes() -> Array:
    """Return how compiled code reads the keys of each record type: room for the number of its name, then its fields in their order.

    No fields where keys are more than texts and a last partition: the reference reads those.
    """
    shapes = np.full((max(RECORD_TYPES) + 1, SHAPE), NULL, np.int64)
    for record_type in RECORD_TYPES.values():
        declared = schema_of(record_type.key)
        fields = [_FIELDS[spec.name] for spec in declared.fields if _is_readable(spec)]
        plain = 0 not in declared.flexible and len(fields) == len(declared.fields) < SHAPE
        if plain and KeyField.PARTITION not in fields[:-1]:
            shapes[record_type.id, 1 : 1 + len(fields)] = fields
    return shapes


def _is_readable(spec: FieldSpec) -> bool:
    kind = Primitive.INT32 if spec.name == "partition" else Primitive.STRING
    return spec.name in _FIELDS and spec.shape == Shape(kind) and spec.tag is None


class KeyColumns:
    """The fields of interned keys, in `table`: a line for each key, by its number, with the fields of KeyField."""

    def __init__(self, interned: InternedKeys, names: dict[str, TextDictionary] | None = None) -> None:
        """Start without keys; `names` are the dictionaries of TEXTS, new ones if there are none."""
        self._interned = interned
        self.names = names or {name: TextDictionary() for name in TEXTS}
        self._known = 0
        self._shapes = _shapes().copy()
        for record_type in RECORD_TYPES.values():
            self._shapes[record_type.id, 0] = self.names["record_name"].number(record_type.name)
        self.table: Array = np.full((_FIRST_ROOM, len(KeyField)), NULL, np.int32)

    def belong_to(self, interned: InternedKeys) -> bool:
        """Return whether these columns are made of the keys in `interned`."""
        return self._interned is interned

    def raw(self, number: int) -> bytes:
        """Return the bytes of the key with this number."""
        return self._interned.key(number)

    def update(self) -> None:
        """Read the keys that were interned since the last call."""
        count = len(self._interned)
        if count > len(self.table):
            more = np.full((max(2 * len(self.table), count) - len(self.table), len(KeyField)), NULL, np.int32)
            self.table = np.concatenate((self.table, more))
        while self._known < count:
            name_tables = self._name_tables()
            self._known, why = read_keys(
                self._interned.address,
                self._known,
                count,
                address(self.table),
                address(self._shapes),
                len(self._shapes),
                address(name_tables),
            )
            if why < FULL:
                self._make_room(FULL - why)
            elif self._known < count:
                self._decode(self._known)
                self._known += 1

    def _name_tables(self) -> Array:
        """Return, by KeyField, the address of the table in which texts of that field have their numbers; 0 for other fields."""
        tables = np.zeros(len(KeyField), np.int64)
        for name, field in TEXTS.items():
            tables[field] = self.names[name].table.address
        return tables

    def _make_room(self, field: int) -> None:
        """Enlarge the table of names of a field."""
        (name,) = [name for name, place in TEXTS.items() if place == field]
        self.names[name].table.grow(len(self._interned.key(self._known)))

    def _decode(self, number: int) -> None:
        """Decode a key that compiled code does not read into its line of `table`, which stays empty where that fails."""
        try:
            key = decode_key(self._interned.key(number))
        except DecodeError:
            return
        fields, line = key.data, self.table[number]
        has_partition = hasattr(fields, "partition")
        line[KeyField.FLAGS] = (
            KeyFlag.CLEAN * (not key.notes and not key.trailing) | KeyFlag.PARTITION * has_partition
        )
        line[KeyField.RECORD_TYPE] = key.type.id
        line[KeyField.PARTITION] = getattr(fields, "partition", NULL)
        group = fields.group if hasattr(fields, "group") else fields.group_id
        values = {"record_name": key.type.name, "group": group}
        for name, place in TEXTS.items():
            text = values[name] if name in values else getattr(fields, name, None)
            if text is not None:
                line[place] = self.names[name].number(shown(text))
