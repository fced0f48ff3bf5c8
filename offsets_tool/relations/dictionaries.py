"""Numbers for values that repeat in rows, which are numbers until they end: equal values have one, and become columns together.

Knows nothing of groups; rows are decided elsewhere.
"""

from collections.abc import Hashable, Sequence
from itertools import chain
from typing import Any, Final, Generic, TypeVar

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.wire.arrow import shown_batch

Place = tuple[int, int]
"""Log offset and timestamp of a record."""
Values = TypeVar("Values", bound=tuple[Any, ...])

NONE: Final = -(1 << 63)
"""Stands for no number in the cells of a row."""
_FEW: Final = 1 << 15
"""So many values are kept without a look at which are still used."""


class Dictionary(Generic[Values]):
    """Distinct values, all of one kind, by number.

    >>> dictionary = Dictionary(tuple)
    >>> dictionary.number(("orders", "a")), dictionary.number(("orders", "b")), dictionary.number(("orders", "a"))
    (0, 1, 0)
    """

    def __init__(self, kind: type[Values]) -> None:
        """Start without values; to make columns of them, `kind` must be a declared row."""
        self._kind = kind
        self.values: list[Values] = []
        """The values by number."""
        self._numbers: dict[Values, int] = {}
        self._of_sources: dict[Hashable, tuple[int, object]] = {}
        self._made: pa.RecordBatch | None = None
        """Columns of the first values."""

    def number(self, values: Values) -> int:
        """Return the number of some values, which is new where they are."""
        number = self._numbers.setdefault(values, len(self.values))
        if number == len(self.values):
            self.values.append(values)
        return number

    def add(self, values: Values) -> int:
        """Return a new number of some values that hardly come again."""
        self.values.append(values)
        return len(self.values) - 1

    def of_source(self, key: Hashable) -> int | None:
        """Return the number of the values of a source, by the key that `keep_source` was given; None if it is not kept."""
        found = self._of_sources.get(key)
        return None if found is None else found[0]

    def keep_source(self, key: Hashable, source: object, values: Values) -> int:
        """Return the number of values, and keep it for their source; `key` has the identity of `source`, which is kept too."""
        number = self.number(values)
        self._of_sources[key] = number, source
        return number

    def columns(self, numbers: Array) -> dict[str, pa.Array]:
        """Return values as columns by name, given their numbers."""
        if len(self.values) <= _FEW + len(numbers):
            taken = self._of_all().take(pa.array(numbers))
        else:
            distinct, which = np.unique(numbers, return_inverse=True)
            rows = shown_batch(self._kind, [self.values[number] for number in distinct.tolist()])
            taken = rows.take(pa.array(which))
        return dict(zip(taken.schema.names, taken.columns, strict=True))

    def _of_all(self) -> pa.RecordBatch:
        """Return all values as columns; those that came before are kept."""
        known = 0 if self._made is None else self._made.num_rows
        if known < len(self.values):
            more = shown_batch(self._kind, self.values[known:])
            self._made = more if self._made is None else pa.concat_batches([self._made, more])
        return self._made

    def lines(self, numbers: Array) -> Array:
        """Return values that are numbers themselves, given their own; the cost follows `numbers`, not what is kept."""
        values, which = self.values, numbers
        if len(values) > _FEW + 4 * len(numbers):
            distinct, which = np.unique(numbers, return_inverse=True)
            values = [values[number] for number in distinct.tolist()]
        cells = np.fromiter(chain.from_iterable(values), np.int64)
        lines: Array = cells.reshape(len(values), -1)[which]
        return lines

    def are_many(self, open_rows: int) -> bool:
        """Return whether there are so many that they should be numbered anew, given how many rows are open."""
        return max(len(self.values), len(self._of_sources)) > _FEW + 2 * open_rows

    def forget_all(self) -> list[Values]:
        """Forget all values, and return them by their numbers."""
        before, self.values = self.values, []
        self._made = None
        self._numbers.clear()
        self._of_sources.clear()
        return before


def or_null(cells: Array, type_: pa.DataType) -> pa.Array:
    """Return a column of numbers; null where a cell is NONE."""
    return pa.array(np.ascontiguousarray(cells), mask=cells == NONE).cast(type_)


def pairs(rows: Sequence[tuple[int, int]]) -> Array:
    """Return pairs of numbers as an array with a line for each."""
    return np.fromiter(chain.from_iterable(rows), np.int64, 2 * len(rows)).reshape(-1, 2)
