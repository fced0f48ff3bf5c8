"""Numbers for what rows say, so that rows are numbers until they end: equal sayings have one, and become columns together.

Knows nothing of groups; rows are decided elsewhere.
"""

from collections.abc import Hashable
from typing import Any, Final, Generic, TypeVar

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.wire.arrow import shown_batch

Place = tuple[int, int]
"""Log offset and timestamp of a record."""
Saying = TypeVar("Saying", bound=tuple[Any, ...])

NONE: Final = -(1 << 63)
"""Stands for no number in the cells of a row."""
_FEW: Final = 4096
"""So many sayings are kept without a look at which are still said."""


class Sayings(Generic[Saying]):
    """Distinct sayings, all of one kind, by number.

    >>> sayings = Sayings(tuple)
    >>> sayings.number(("orders", "a")), sayings.number(("orders", "b")), sayings.number(("orders", "a"))
    (0, 1, 0)
    """

    def __init__(self, kind: type[Saying]) -> None:
        """Start without sayings; to make columns of them, `kind` must be a declared row."""
        self._kind = kind
        self.said: list[Saying] = []
        """The sayings by number."""
        self._numbers: dict[Saying, int] = {}
        self._of_sources: dict[Hashable, tuple[int, object]] = {}

    def number(self, saying: Saying) -> int:
        """Return the number of a saying."""
        number = self._numbers.setdefault(saying, len(self.said))
        if number == len(self.said):
            self.said.append(saying)
        return number

    def of_source(self, key: Hashable) -> int | None:
        """Return the number of what a source says, by the key that `keep_source` was given; None if it is not kept."""
        found = self._of_sources.get(key)
        return None if found is None else found[0]

    def keep_source(self, key: Hashable, source: object, saying: Saying) -> int:
        """Return the number of a saying, and keep it for its source; `key` has the identity of `source`, which is kept too."""
        number = self.number(saying)
        self._of_sources[key] = number, source
        return number

    def columns(self, numbers: Array) -> dict[str, pa.Array]:
        """Return the columns of sayings, given their numbers, by name."""
        distinct, which = np.unique(numbers, return_inverse=True)
        rows = shown_batch(self._kind, [self.said[number] for number in distinct.tolist()])
        taken = rows.take(pa.array(which))
        return dict(zip(taken.schema.names, taken.columns, strict=True))

    def lines(self, numbers: Array) -> Array:
        """Return sayings that are numbers themselves, given their own; the cost follows `numbers`, not what is kept."""
        distinct, which = np.unique(numbers, return_inverse=True)
        found: Array = np.array([self.said[number] for number in distinct.tolist()], np.int64)
        return found[which.reshape(numbers.shape)]

    def are_many(self, open_rows: int) -> bool:
        """Return whether there are so many that they should be numbered anew, given how many rows are open."""
        return max(len(self.said), len(self._of_sources)) > _FEW + 2 * open_rows

    def forget_all(self) -> list[Saying]:
        """Forget all sayings, and return them by their numbers."""
        before, self.said = self.said, []
        self._numbers.clear()
        self._of_sources.clear()
        return before


def or_null(cells: Array, type_: pa.DataType) -> pa.Array:
    """Return a column of numbers; null where a cell is NONE."""
    return pa.array(np.ascontiguousarray(cells), mask=cells == NONE).cast(type_)
