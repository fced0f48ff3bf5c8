"""Texts that repeat, as numbers into a dictionary that only grows: group and topic names, layouts, reasons."""

from typing import TYPE_CHECKING, Final

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import address
from offsets_tool.columns.lane.interned import FULL, InternedKeys, number_of

if TYPE_CHECKING:
    import pyarrow as pa

NULL: Final = -1


class TextDictionary:
    """Distinct texts in the order in which they came. Compiled code adds to `table`, in UTF-8."""

    def __init__(self, *known: str) -> None:
        self.table = InternedKeys(keys=1 << 6, arena=1 << 12, topic_ids=1)
        self._numbers: dict[str, int] = {}
        self._values: pa.Array | None = None
        for text in known:
            self.number(text)

    def number(self, text: str | None) -> int:
        """Return the number of a text, which is added if it is new; NULL for None."""
        if text is None:
            return NULL
        if text not in self._numbers:
            self._numbers[text] = self._added(text.encode())
        return self._numbers[text]

    def _added(self, data: bytes) -> int:
        data_array = np.frombuffer(data or b"\0", np.uint8)
        number: int = number_of(self.table.address, address(data_array), len(data))
        if number == FULL:
            self.table.grow(len(data))
            return self._added(data)
        return number

    def column(self, numbers: Array) -> "pa.DictionaryArray":
        """Return a dictionary-encoded column, given the number (int32) of each text, NULL for a null. It keeps `numbers`."""
        from offsets_tool.columns.assembly.arrays import dictionary_column, interned_column  # noqa: PLC0415 - Arrow, for rows alone

        if self._values is None or len(self._values) != len(self.table):
            self._values = interned_column(self.table, is_text=True)
        return dictionary_column(numbers, self._values)
