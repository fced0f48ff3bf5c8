"""Lag of many commits at one moment, by column: what lag.rows.lag_row says of each, or None where it has to be asked."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from offsets_tool.columns.lag.log_commits import LogCommits
from offsets_tool.columns.lag.numbers import Moments
from offsets_tool.columns.lag.output import measured
from offsets_tool.columns.lag.rising import are_usual
from offsets_tool.columns.lag.words import Words
from offsets_tool.lag.rows import LagRow
from offsets_tool.lag.samples import EndSample
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.rows import Row

_WHOSE: Final = ("group", "topic", "partition", "moment_at")


class StandingCommit(NamedTuple):
    """A group's committed offset in a partition of a topic."""

    group: str
    partition: TopicPartition
    committed_offset: int


def lags_at(
    at: int,
    commits: Sequence[StandingCommit],
    log_commits: LogCommits,
    samples: Mapping[TopicPartition, list[EndSample]],
    *,
    is_last_stable: bool,
) -> list[Row | None]:
    """Return the row of lag of each commit at a moment, in epoch milliseconds; None for what does not go by column.

    `log_commits` has these commits too; `samples` and `is_last_stable` are as Ends.of has them.
    """
    numbers = log_commits.numbers_of(samples).tolist()
    by_number = dict(sorted(zip(numbers, samples.values(), strict=True)))
    partitions = log_commits.numbers_of(each.partition for each in commits).astype(np.int64)
    offsets = np.array([each.committed_offset for each in commits], np.int64)
    lifetimes, by_column = log_commits.by_partition().lifetimes(
        log_commits.count, by_number, is_last_stable=is_last_stable
    )
    rows = np.flatnonzero(by_column[partitions] & are_usual(offsets) & are_usual(np.array([at], np.int64)))
    columns = measured(lifetimes, Moments(partitions[rows], offsets[rows], np.full(len(rows), at)), Words())
    values = zip(*(columns[name].to_pylist() for name in LagRow._fields if name not in _WHOSE), strict=True)
    found: list[Row | None] = [None] * len(commits)
    for row, numbers_ in zip(rows.tolist(), values, strict=True):
        group, partition, _ = commits[row]
        found[row] = dict(zip(LagRow._fields, (group, *partition, at, *numbers_), strict=True))
    return found
