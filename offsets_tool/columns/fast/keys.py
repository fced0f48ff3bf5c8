"""Distinct keys, each decoded once by the reference decoder, as columns to pick rows from."""

from typing import Any, Final

import numpy as np
import pyarrow as pa

from offsets_tool.columns.fast.interned import Interned
from offsets_tool.columns.fast.names import NULL, Names
from offsets_tool.errors import DecodeError
from offsets_tool.events import decode_key
from offsets_tool.wire.text import java_text

Array = np.ndarray[Any, Any]

TEXTS: Final = ("record_name", "group", "topic", "member_id", "regular_expression")
"""Columns of `events` that come from the key and are texts."""

_FIRST_ROOM: Final = 1 << 12


class KeyColumns:
    """Keys of one set of tables, by number. `clean` tells keys that decode without a problem; others the reference shows."""

    def __init__(self, interned: Interned, names: dict[str, Names]) -> None:
        self._interned = interned
        self._names = names
        self._known = 0
        self.clean: Array = np.zeros(_FIRST_ROOM, bool)
        self.record_type: Array = np.full(_FIRST_ROOM, NULL, np.int16)
        self.partition: Array = np.full(_FIRST_ROOM, NULL, np.int32)
        self.has_partition: Array = np.zeros(_FIRST_ROOM, bool)
        self.texts: dict[str, Array] = {name: np.full(_FIRST_ROOM, NULL, np.int32) for name in TEXTS}
        self.raw: list[bytes] = []
        self._raw_column: pa.Array | None = None

    def belong_to(self, interned: Interned) -> bool:
        """Whether these are the columns of these tables."""
        return self._interned is interned

    def raw_column(self) -> pa.Array:
        """The keys' bytes, by number."""
        if self._raw_column is None or len(self._raw_column) != len(self.raw):
            self._raw_column = pa.array(self.raw, pa.binary())
        return self._raw_column

    def update(self) -> None:
        """Decodes the keys that are new."""
        count = len(self._interned)
        if count > len(self.clean):
            self._enlarge(count)
        for number in range(self._known, count):
            self.raw.append(self._interned.key(number))
            self._decode(number, self.raw[number])
        self._known = count

    def _decode(self, number: int, data: bytes) -> None:
        try:
            key = decode_key(data)
        except DecodeError:
            return
        fields = key.data
        self.clean[number] = not key.notes and not key.trailing
        self.record_type[number] = key.type.id
        self.has_partition[number] = hasattr(fields, "partition")
        self.partition[number] = getattr(fields, "partition", NULL)
        group = fields.group if hasattr(fields, "group") else fields.group_id
        values = {"record_name": key.type.name, "group": group}
        for name in TEXTS:
            text = values[name] if name in values else getattr(fields, name, None)
            if text is not None:
                self.texts[name][number] = self._names[name].number(java_text(text))

    def _enlarge(self, count: int) -> None:
        room = max(2 * len(self.clean), count)
        self.clean = _longer(self.clean, room, False)
        self.has_partition = _longer(self.has_partition, room, False)
        self.record_type = _longer(self.record_type, room, NULL)
        self.partition = _longer(self.partition, room, NULL)
        self.texts = {name: _longer(column, room, NULL) for name, column in self.texts.items()}


def _longer(column: Array, room: int, fill: int | bool) -> Array:
    return np.concatenate((column, np.full(room - len(column), fill, column.dtype)))
