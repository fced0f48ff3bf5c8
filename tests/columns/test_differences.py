"""Differences of 64-bit numbers stay within 64 bits, in columns as one by one, in lag and in time lag."""

from itertools import groupby
from operator import attrgetter
from random import Random

import numpy as np

from offsets_tool.columns.arrays import differences
from offsets_tool.lag.lags import Position, lags_of
from offsets_tool.lag.samples import EndSample
from offsets_tool.replay.changes import OffsetOf, TopicPartition
from offsets_tool.wire.longs import MAX_LONG, MIN_LONG, bounded, difference
from tests.columns.mutants import EDGES
from tests.lag.one_by_one import CommitAt, Ends, lag_row

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
    chance, samples, asked = Random(1), [], []
    for partition in range(2000):
        moments = sorted(chance.sample(EDGES, 3))
        ends = sorted(chance.sample([edge for edge in EDGES if edge >= 0], 3))
        samples += [
            EndSample("t", partition, at, end_offset=end) for at, end in zip(moments, ends, strict=True)
        ]
        at, committed_at, offset = (chance.choice(EDGES) for _ in range(3))
        asked.append(Position(OffsetOf("g", "t", partition), at, offset, committed_at, None))
    of_partitions = {
        TopicPartition("t", partition): list(some)
        for partition, some in groupby(samples, attrgetter("partition"))
    }
    for row, position in zip(lags_of(asked, of_partitions), asked, strict=True):
        numbers = [value for value in row if type(value) is int]
        assert all(bounded(number) == number for number in numbers), position
        commit = CommitAt(position.committed_at, offset := position.committed_offset or 0)
        assert offset == position.committed_offset
        assert row == lag_row(position.of, commit, Ends(of_partitions[position.partition]), position.at)
