"""The metadata of commits that hold, by number: texts of the newest rows, and those of earlier rows that are still needed."""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.columns_of_rows import plain
from offsets_tool.columns.replay.compiled.tables import NONE

_NO_TEXT: Final = -1
_TEXTS_KEPT: Final = 1 << 12
_FEW: Final = 8


class Texts:
    """The metadata of commits that hold, by the number that FactCell.TEXT has; empty ones are not kept."""

    def __init__(self) -> None:
        """Start without texts."""
        self._kept: dict[int, str] = {}
        self._base = 0
        self._column: pa.Array = pa.array([], pa.string())
        self._has_some = False
        self._added = _NO_TEXT

    def begin(self, base: int, column: pa.Array) -> None:
        """Start on the next rows: `column` has their texts, and `base` is the number of the first row."""
        self._base, self._column = base, column
        self._has_some = bool(pc.sum(pc.binary_length(column)).as_py())

    def texts(self, numbers: Array) -> list[str]:
        """Return the text of each number as rows show it."""
        found = (
            [self._kept.get(number, "") for number in numbers.tolist()] if self._kept else [""] * len(numbers)
        )
        here = np.flatnonzero(numbers >= self._base) if self._has_some else np.zeros(0, np.int64)
        if len(here):
            for place, text in zip(here.tolist(), self._of_rows(numbers[here] - self._base), strict=True):
                found[place] = text
        return found

    def _of_rows(self, places: Array) -> list[str]:
        if len(places) <= _FEW:
            # One by one takes less time than to prepare for many.
            return [self._column[place].as_py() for place in places.tolist()]
        return plain(self._column.take(pa.array(places))).to_pylist()  # type: ignore[no-any-return]

    def add(self, text: str) -> int:
        """Keep a text that no row has, and return its number."""
        if not text:
            return _NO_TEXT
        self._added -= 1
        self._kept[self._added] = text
        return self._added

    def has_some(self) -> bool:
        """Return whether any of the rows that `begin` took has a text."""
        return self._has_some

    def keep(self, numbers: Array) -> None:
        """Keep the texts with these numbers, as far as they are of the rows that `begin` took."""
        places = np.unique(numbers[numbers >= self._base]) - self._base
        found = plain(self._column.take(pa.array(places))).to_pylist()
        self._kept.update(
            (self._base + place, text) for place, text in zip(places.tolist(), found, strict=True) if text
        )

    def column(self, numbers: Array) -> pa.Array:
        """Return the text of each number."""
        if not self._kept:
            # Most commits have no metadata at all.
            places = np.where(numbers >= self._base, numbers - self._base, NONE)
        else:
            held = np.flatnonzero(numbers < self._base)
            texts = [self._kept.get(number, "") for number in numbers[held].tolist()]
            places = numbers - self._base
            places[held] = len(self._column) + np.arange(len(held))
            all_ = pa.concat_arrays([plain(self._column).cast(pa.string()), pa.array(texts, pa.string())])
            return all_.take(pa.array(places))
        taken = plain(self._column).cast(pa.string()).take(pa.array(places, mask=places < 0))
        return pc.fill_null(taken, "")

    def prune(self, used: Array) -> None:
        """Forget texts that nothing refers to, if they are many."""
        if len(self._kept) > _TEXTS_KEPT + 2 * len(used):
            self._kept = {number: self._kept[number] for number in used.tolist() if number in self._kept}
