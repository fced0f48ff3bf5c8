"""Texts that repeat, as numbers into a dictionary that only grows: group and topic names, layouts, reasons."""

from typing import Any, Final

import numpy as np
import pyarrow as pa

Array = np.ndarray[Any, Any]

NULL: Final = -1


class Names:
    """Distinct texts (or binaries) in the order in which they came."""

    def __init__(self, *texts: Any, type_: pa.DataType | None = None) -> None:
        self._numbers: dict[Any, int] = {text: number for number, text in enumerate(texts)}
        self._type = type_ or pa.string()
        self._values: pa.Array | None = None

    def number(self, text: Any) -> int:
        """The number of a text, added if it is new; NULL for None."""
        if text is None:
            return NULL
        return self._numbers.setdefault(text, len(self._numbers))

    def column(self, numbers: Array) -> pa.DictionaryArray:
        """Numbers as a dictionary-encoded column; NULL is null."""
        if self._values is None or len(self._values) != len(self._numbers):
            self._values = pa.array(list(self._numbers), self._type)
        missing = numbers < 0
        indices = pa.array(numbers.astype(np.int32), mask=missing if missing.any() else None)
        return pa.DictionaryArray.from_arrays(indices, self._values, safe=False)
