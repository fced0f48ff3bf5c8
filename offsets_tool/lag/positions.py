"""Lag of positions that are given one by one, as a state or the rows of one group have them: the same columns as for the lake."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from offsets_tool.lag.commits import LogCommits
from offsets_tool.lag.lags import Positions, lag_columns
from offsets_tool.lag.lifetimes import TopicLifetimes
from offsets_tool.lag.nullable import NullableNumbers
from offsets_tool.lag.rows import LagRow
from offsets_tool.lag.samples import EndSample, Written
from offsets_tool.replay.changes import OffsetOf, TopicPartition

_COLUMNS: Final = LagRow._fields[LagRow._fields.index("moment_at") + 1 :]

WrittenOf = Callable[[TopicPartition, int], Written | None]
"""When the record at an offset of a partition was written, where its log is there; None where that does not say it."""


class Position(NamedTuple):
    """What a group had committed in a partition at a moment, and when; None without a commit. Times are epoch milliseconds."""

    of: OffsetOf
    at: int
    committed_offset: int | None
    committed_at: int
    topic_id: str | None

    @property
    def partition(self) -> TopicPartition:
        """The partition of a topic."""
        return TopicPartition(self.of.topic, self.of.partition)


def lags_of(
    positions: Sequence[Position],
    samples: Mapping[TopicPartition, Sequence[EndSample]],
    commits: LogCommits | None = None,
    written_of: WrittenOf | None = None,
    *,
    is_last_stable: bool = False,
) -> list[LagRow]:
    """Return the lag of each position, given samples of the partitions' ends, and commits of all groups, which imply ends too.

    With `is_last_stable`, lag counts to the last stable offset.
    """
    asked = [(position.partition, position.topic_id) for position in positions]
    of_partitions, partitions, topic_ids = (commits or LogCommits()).of(asked)
    numbered = {partition: number for (partition, _), number in zip(asked, partitions.tolist(), strict=True)}
    seen = {number: samples[partition] for partition, number in numbered.items() if samples.get(partition)}
    lifetimes = TopicLifetimes.of(len(numbered), seen, of_partitions, is_last_stable=is_last_stable)
    offsets = NullableNumbers.of([position.committed_offset for position in positions])
    at, committed_at = (
        np.array([getattr(position, name) for position in positions], np.int64)
        for name in ("at", "committed_at")
    )
    columns = lag_columns(
        lifetimes,
        Positions(partitions, at, *offsets, committed_at, topic_ids),
        written_of and [_written(position, written_of) for position in positions],
    )
    values = zip(*(columns[name].to_pylist() for name in _COLUMNS), strict=True)
    return [LagRow(*position.of, position.at, *row) for position, row in zip(positions, values, strict=True)]


def _written(position: Position, written_of: WrittenOf) -> Written | None:
    offset = position.committed_offset
    return None if offset is None or offset < 0 else written_of(position.partition, offset)
