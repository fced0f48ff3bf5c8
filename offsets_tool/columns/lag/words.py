"""Columns of a lag's words: how it is known and how sure it is. lag.rows computes them once for each case that occurs."""

from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.lag.ends_at import EndsAt
from offsets_tool.columns.lag.lifetimes import TopicLifetimes
from offsets_tool.columns.lag.numbers import TIME_CASES, Moments, OffsetLag, TimeLags
from offsets_tool.lag.ends import Ends
from offsets_tool.lag.rows import LagRow, lag_row
from offsets_tool.lag.samples import CommitAt
from offsets_tool.replay.changes import OffsetOf

WORDS: Final = ("method", "confidence", "time_method", "time_confidence", "counted_from")


class _Factor(NamedTuple):
    """Something that tells cases apart, and how many values it has."""

    values: Array
    many: int


def case_numbers(ends: EndsAt, lag: OffsetLag, time: TimeLags) -> Array:
    """Return a number for each row; rows with one number have the same words."""
    factors = (
        _Factor(ends.low.there, 2),
        _Factor(ends.high.there, 2),
        _Factor(ends.low.numbers < ends.high.numbers, 2),
        _Factor(ends.left_method, 3),
        _Factor(ends.right_method, 3),
        _Factor(ends.is_implied, 2),
        _Factor(lag.lag_max.there & (lag.lag_min == lag.lag_max.numbers), 2),
        _Factor(lag.beyond_end > 0, 2),
        _Factor(time.case, TIME_CASES),
    )
    found: Array = np.zeros(len(lag.lag_min), np.int64)
    for values, many in factors:
        found = found * many + values
    return found


class Words:
    """The words of each case that occurred."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._rows: list[LagRow] = []

    def of(self, cases: Array, lifetimes: TopicLifetimes, moments: Moments) -> dict[str, pa.Array]:
        """Return the columns WORDS of some rows."""
        distinct, first, each = np.unique(cases, return_index=True, return_inverse=True)
        numbers = [
            self._number(case, lifetimes, moments, row)
            for case, row in zip(distinct.tolist(), first.tolist(), strict=True)
        ]
        rows = pa.array(np.array(numbers, np.int64)[each])
        return {
            name: pa.array([getattr(row, name) for row in self._rows], pa.string()).take(rows)
            for name in WORDS
        }

    def _number(self, case: int, lifetimes: TopicLifetimes, moments: Moments, row: int) -> int:
        if case not in self._numbers:
            self._numbers[case] = len(self._rows)
            partition, offset, at = (int(column[row]) for column in moments)
            ends = Ends((lifetimes.lifetime(partition),), is_last_stable=lifetimes.is_last_stable)
            self._rows.append(lag_row(OffsetOf("", "", 0), CommitAt(at, offset), ends, at))
        return self._numbers[case]
