"""Distinct keys, each read once, as a table to pick rows from; what compiled code does not read the reference decoder does."""

from typing import Any, Final

import numpy as np
import pyarrow as pa

from offsets_tool.columns.fast.building import texts
from offsets_tool.columns.fast.interned import FULL, Interned
from offsets_tool.columns.fast.key_table import Flag, K, read_keys
from offsets_tool.columns.fast.machine import address
from offsets_tool.columns.fast.names import NULL, Names
from offsets_tool.errors import DecodeError
from offsets_tool.events import decode_key
from offsets_tool.records import RECORD_TYPES
from offsets_tool.wire.text import java_text

Array = np.ndarray[Any, Any]

TEXTS: Final = {
    "record_name": K.RECORD_NAME,
    "group": K.GROUP,
    "topic": K.TOPIC,
    "member_id": K.MEMBER_ID,
    "regular_expression": K.REGULAR_EXPRESSION,
}
"""Columns of `events` that come from the key and are texts."""

_FIRST_ROOM: Final = 1 << 12


class KeyColumns:
    """Keys of one set of tables, by number, in `table`: a line a key, of fields K."""

    def __init__(self, interned: Interned, names: dict[str, Names]) -> None:
        self._interned = interned
        self._names = names
        self._known = 0
        self._record_names = np.array(
            [names["record_name"].number(RECORD_TYPES[type_id].name) for type_id in range(3)], np.int32
        )
        self.table: Array = np.full((_FIRST_ROOM, len(K)), NULL, np.int32)
        self._raw_column: pa.Array | None = None

    def belong_to(self, interned: Interned) -> bool:
        """Whether these are the columns of these tables."""
        return self._interned is interned

    def raw(self, number: int) -> bytes:
        """A key's bytes."""
        return self._interned.key(number)

    def raw_column(self) -> pa.Array:
        """The keys' bytes, by number."""
        if self._raw_column is None or len(self._raw_column) != len(self._interned):
            starts, data = self._interned.spans()
            self._raw_column = texts(pa.binary(), starts.astype(np.int32), data)
        return self._raw_column

    def update(self) -> None:
        """Reads the keys that are new."""
        count = len(self._interned)
        if count > len(self.table):
            more = np.full((max(2 * len(self.table), count) - len(self.table), len(K)), NULL, np.int32)
            self.table = np.concatenate((self.table, more))
        while self._known < count:
            self._known, why = read_keys(
                self._interned.address,
                self._known,
                count,
                address(self.table),
                address(self._record_names),
                self._names["group"].table.address,
                self._names["topic"].table.address,
            )
            if why == FULL:
                self._make_room()
            elif self._known < count:
                self._decode(self._known)
                self._known += 1

    def _make_room(self) -> None:
        size = len(self._interned.key(self._known))
        for name in ("group", "topic"):
            self._names[name].table.grow(size)

    def _decode(self, number: int) -> None:
        """A key that compiled code does not read."""
        try:
            key = decode_key(self._interned.key(number))
        except DecodeError:
            return
        fields, line = key.data, self.table[number]
        has_partition = hasattr(fields, "partition")
        line[K.FLAGS] = Flag.CLEAN * (not key.notes and not key.trailing) | Flag.PARTITION * has_partition
        line[K.RECORD_TYPE] = key.type.id
        line[K.PARTITION] = getattr(fields, "partition", NULL)
        group = fields.group if hasattr(fields, "group") else fields.group_id
        values = {"record_name": key.type.name, "group": group}
        for name, place in TEXTS.items():
            text = values[name] if name in values else getattr(fields, name, None)
            if text is not None:
                line[place] = self._names[name].number(java_text(text))
