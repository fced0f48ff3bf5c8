"""What commits of all groups say about the ends of partitions, in columns: as lag.bounds.Bounds, from rows of logs.

Rows say less than changes where a marker or a tombstone is older than a commit before it. For such a log, `take` returns False, and
the caller observes the log's changes instead.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.lag.commits_by_partition import CommitsByPartition
from offsets_tool.columns.replay.columns_of_rows import are_there, flags, numbers
from offsets_tool.columns.replay.compiled.numbering import Numbers
from offsets_tool.columns.replay.subjects import Names, TopicIdNumbers
from offsets_tool.lag.bounds import Bounds, commits_in
from offsets_tool.lag.samples import CommitAt, EndSample
from offsets_tool.replay.changes import Change, TopicPartition
from offsets_tool.rows import NO_PRODUCER_ID, NO_TIMESTAMP
from offsets_tool.wire.json import parse_uuid, uuid_text
from offsets_tool.wire.text import shown

_BITS: Final = 32
_PARTITION: Final = (1 << _BITS) - 1
_LONG_AGO: Final = int(np.iinfo(np.int64).min)


class _Commits(NamedTuple):
    """Commits of one log in their order: numbers of their partitions of topics and of topic ids, times and offsets."""

    log_partition: int | None
    partitions: Array
    at: Array
    offsets: Array
    topic_ids: Array


_Commit = tuple[TopicPartition, CommitAt]


class LogCommits:
    """Commits by the partition that they are for, as Bounds; rows and changes of a log come in its order."""

    def __init__(self) -> None:
        """Start without commits."""
        self._names = Names()
        self._partitions = Numbers()
        self._topic_ids = TopicIdNumbers()
        self._logs: dict[int | None, list[_Commits]] = {}
        """What logs said, in the order in which they were begun."""
        self._latest = _LONG_AGO
        """The time of the latest commit of the log whose rows are taken."""
        self.is_whole = False
        """Whether all commits of the logs are here, with the times of their records."""
        self._added: dict[int | None, list[_Commit]] = {}
        """Commits that came one by one, after all rows."""
        self._sorted: CommitsByPartition | None = None

    def forget(self, log_partition: int | None) -> None:
        """Forget all commits of a log partition, whose log is read again from its beginning."""
        self._logs.pop(log_partition, None)
        self._logs[log_partition] = []
        self._latest = _LONG_AGO

    def observe_instead(self, log_partition: int | None, changes: Iterable[Iterable[Change]]) -> None:
        """Add a log's commits from all its changes, in place of those that were taken from its rows."""
        found = [each for some in changes for each in commits_in(some)]
        self._logs[log_partition] = [self._part(log_partition, found)] if found else []

    def take(self, log_partition: int | None, rows: pa.RecordBatch) -> bool:
        """Add the commits in rows (replay.row_events.COLUMNS) of a log; return False if rows do not say enough about it."""
        is_commit = are_there(rows.column("committed_offset"))
        times = numbers(rows.column("timestamp"), NO_TIMESTAMP)
        at = np.where(times == NO_TIMESTAMP, numbers(rows.column("commit_timestamp"), NO_TIMESTAMP), times)
        latest = np.maximum.accumulate(np.append(self._latest, np.where(is_commit, at, _LONG_AGO)))
        self._latest = int(latest[-1])
        which = np.flatnonzero(is_commit)
        if len(which):
            self._logs[log_partition].append(self._commits(log_partition, rows, which, at))
        is_older = (times == NO_TIMESTAMP) | (times < latest[:-1])
        return not (_repeat_commits(rows, is_commit) & is_older).any()

    def _commits(self, log_partition: int | None, rows: pa.RecordBatch, which: Array, at: Array) -> _Commits:
        topics, in_topic = self._names.of(rows.column("topic")), numbers(rows.column("partition"), 0)
        return _Commits(
            log_partition,
            self._numbers(topics[which], in_topic[which].astype(np.int64)),
            at[which],
            numbers(rows.column("committed_offset"), 0)[which],
            self._topic_ids.of(rows.column("topic_id"))[which].astype(np.int32),
        )

    def _numbers(self, topics: Array, in_topic: Array) -> Array:
        return self._partitions.of(topics << _BITS | in_topic & _PARTITION).astype(np.int32)

    def add(self, log_partition: int | None, partition: TopicPartition, commit: CommitAt) -> None:
        """Add a commit, behind all rows."""
        self._added.setdefault(log_partition, []).append((partition, commit))
        self._sorted = None

    def samples(self, partition: TopicPartition) -> Iterator[EndSample]:
        """Return what the commits of a partition say of its end, as samples in the order of time."""
        commits, [number] = self.by_partition(), self.numbers_of([partition]).tolist()
        first, end = np.searchsorted(commits.partitions, (number, number + 1)).tolist()
        columns = (
            column[first:end].tolist()
            for column in (commits.logs, commits.at, commits.offsets, commits.topic_ids)
        )
        bounds = Bounds()
        for log, at, offset, topic_id in zip(*columns, strict=True):
            bounds.add(log, partition, CommitAt(at, offset, commits.ids[topic_id]))
        return bounds.samples(partition)

    def numbers_of(self, partitions: Iterable[TopicPartition]) -> Array:
        """Return the numbers of partitions of topics, which are given to those that have none."""
        known = list(partitions)
        topics = self._names.of(pa.array([shown(each.topic) for each in known], pa.string()))
        return self._numbers(topics, np.array([each.partition for each in known], np.int64))

    @property
    def count(self) -> int:
        """How many partitions of topics have a number."""
        return self._partitions.count

    def by_partition(self) -> CommitsByPartition:
        """Return all commits, in the order of their partitions of topics, and of one in that of logs."""
        if self._sorted is None:
            self._sorted = self._all()
        return self._sorted

    def _all(self) -> CommitsByPartition:
        added = [self._part(log, some) for log, some in self._added.items()]
        parts = [*chain.from_iterable(self._logs.values()), *added]
        numbers_of_logs = {
            log: number for number, log in enumerate(dict.fromkeys(p.log_partition for p in parts))
        }
        logs = _joined([np.full(len(each.at), numbers_of_logs[each.log_partition]) for each in parts])
        partitions = _joined([each.partitions for each in parts])
        order = _sorted_by_partition(partitions, logs, len(numbers_of_logs))
        return CommitsByPartition(
            partitions[order],
            logs[order],
            _joined([each.at for each in parts])[order],
            _joined([each.offsets for each in parts])[order],
            _joined([each.topic_ids for each in parts])[order],
            [None if each is None else uuid_text(each) for each in self._topic_ids.ids],
            np.ones(len(order), bool),
        )

    def _part(self, log_partition: int | None, some: Sequence[_Commit]) -> _Commits:
        ids = (parse_uuid(commit.topic_id) if commit.topic_id else None for _, commit in some)
        return _Commits(
            log_partition,
            self.numbers_of(partition for partition, _ in some),
            np.array([commit.at for _, commit in some], np.int64),
            np.array([commit.committed_offset for _, commit in some], np.int64),
            np.array([self._topic_ids.number(each) for each in ids], np.int32),
        )


def _joined(columns: Sequence[Array]) -> Array:
    joined: Array = np.concatenate([np.empty(0, np.int64), *columns])
    return joined


def _sorted_by_partition(partitions: Array, logs: Array, count: int) -> Array:
    """Return the indices that sort commits by partition, then by log in the order of appearance; equal ones keep their order."""
    _, first, each = np.unique(partitions * count + logs, return_index=True, return_inverse=True)
    order: Array = np.lexsort((first[each], partitions))
    return order


def _repeat_commits(rows: pa.RecordBatch, is_commit: Array) -> Array:
    """Return which rows may say again what an earlier commit said: markers, tombstones, and what anomalies may be about."""
    has_producer = numbers(rows.column("producer_id"), NO_PRODUCER_ID) != NO_PRODUCER_ID
    is_sure = is_commit & (has_producer == flags(rows.column("is_transactional")))
    repeat: Array = ~is_sure & (are_there(rows.column("topic")) | flags(rows.column("is_control")))
    return repeat
