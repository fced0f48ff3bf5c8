"""Differences of 64-bit numbers stay within 64 bits, in columns as one by one, in lag and in time lag."""

from random import Random

import numpy as np

from offsets_tool.columns.differences import differences
from offsets_tool.lag.ends import Ends
from offsets_tool.lag.samples import CommitAt, EndSample
from offsets_tool.wire.longs import MAX_LONG, MIN_LONG, bounded, difference
from tests.columns.mutants import EDGES
from tests.lag.one_by_one import lag_at, time_lag_at

PAIRS = [(one, other) for one in EDGES for other in EDGES]


def test_a_difference_is_exact_or_the_bound_on_its_side() -> None:
    for one, other in PAIRS:
        found = difference(one, other)
        assert found == one - other or (found in (MIN_LONG, MAX_LONG) and (found < 0) == (one < other))
        assert bounded(found) == found


def test_columns_have_the_same_differences() -> None:
    ones, others = (np.array(side, np.int64) for side in zip(*PAIRS, strict=True))
    assert differences(ones, others).tolist() == [difference(*pair) for pair in PAIRS]


def test_lag_and_time_lag_of_absurd_numbers_fit_64_bits() -> None:
    chance = Random(1)
    for _ in range(2000):
        moments = sorted(chance.sample(EDGES, 3))
        ends = sorted(chance.sample([edge for edge in EDGES if edge >= 0], 3))
        known = Ends.of(EndSample("t", 0, at, end_offset=end) for at, end in zip(moments, ends, strict=True))
        committed = CommitAt(chance.choice(EDGES), chance.choice(EDGES))
        found = lag_at(committed, known, chance.choice(EDGES))
        took = time_lag_at(committed, known, chance.choice(EDGES))
        numbers = [value for value in (*found, *took) if type(value) is int]
        assert all(bounded(number) == number for number in numbers), (moments, ends, committed)
