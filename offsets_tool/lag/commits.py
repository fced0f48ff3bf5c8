"""What commits of all groups say about the ends of partitions: the end was not lower than what somebody committed.

A commit says it once, at the time of its record, also if its transaction is open or aborted: the records that it names existed. No
broker checks a commit against the log, so a client may commit any offset: lag.lifetimes weighs these bounds against samples.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array, differences
from offsets_tool.columns.columns_of_rows import are_there, encoded, numbers
from offsets_tool.events import Event
from offsets_tool.lag.numbers import Rising, are_begun, beyond_all_before
from offsets_tool.lag.samples import EndMethod, EndSample
from offsets_tool.log_clock import LONGEST_PAUSE_MS, SKEW_MS, LogClock
from offsets_tool.records.offsets import OffsetCommitValue
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.rows import NO_TIMESTAMP
from offsets_tool.wire.json import uuid_text
from offsets_tool.wire.schema import ZERO_UUID
from offsets_tool.wire.text import shown

_NAMES: Final = pa.dictionary(pa.int32(), pa.string())
_COLUMNS: Final = pa.schema(
    [
        ("topic", _NAMES),
        ("partition", pa.int32()),
        ("at", pa.int64()),
        ("committed_offset", pa.int64()),
        ("topic_id", _NAMES),
    ]
)
_NO_IDS: Final = ("", uuid_text(ZERO_UUID))
_NO_COMMITS: Final = pa.table(_COLUMNS.empty_table())
_PARTITION_BITS: Final = 32
_RADIX_BITS: Final = 16


class Commits(NamedTuple):
    """Commits in the order of their partitions, of one partition in the order of its logs, and of one log in its order."""

    partitions: Array
    logs: Array
    at: Array
    offsets: Array
    topic_ids: Array
    """The place of each commit's topic id in `ids`; 0 is none."""
    ids: Sequence[str]

    def only(self, chosen: Array | slice) -> "Commits":
        """Return the commits at these places, or those for which these truth values are true."""
        return self._replace(
            **{name: getattr(self, name)[chosen] for name in Commits._fields if name != "ids"}
        )

    def bounds(self) -> "Commits":
        """Return those that go beyond all earlier ones of their topic, in their log and in all logs: the end was not lower.

        They are in the order of partition, time and offset.
        """
        runs = np.cumsum(are_begun(self.partitions) | are_begun(self.logs))
        # A log that returns to a topic of before says of it what it says first.
        of_topics = np.cumsum(are_begun(runs) | are_begun(self.topic_ids))
        commits = self._replace(at=dated(self.at, runs)).only(beyond_all_before(of_topics, self.offsets))
        commits = commits.only(np.argsort(Rising.scaled(commits.partitions, commits.at).keys, kind="stable"))
        order = commits.order_of_topics()
        beyond = np.empty(len(order), bool)
        beyond[order] = beyond_all_before(commits.topics[order], commits.offsets[order])
        bounds = commits.only(beyond & (commits.offsets >= 0))
        is_together = ~(are_begun(bounds.partitions) | are_begun(bounds.at))[1:]
        if (is_together & (bounds.offsets[1:] < bounds.offsets[:-1])).any():
            bounds = bounds.only(np.lexsort((bounds.offsets, bounds.at, bounds.partitions)))
        return bounds

    @property
    def topics(self) -> Array:
        """A number of each one's topic id and partition."""
        return self.partitions * len(self.ids) + self.topic_ids

    def order_of_topics(self) -> Array:
        """Return the places by topic id and partition; those of one topic keep their order."""
        return np.argsort(self.topics, kind="stable")

    def samples(self) -> list[EndSample]:
        """Return the commits as samples of ends, which do not say of which partition they are."""
        rows = zip(*(column.tolist() for column in (self.at, self.offsets, self.topic_ids)), strict=True)
        return [
            EndSample("", 0, at, end_offset=offset, method=EndMethod.COMMITTED, topic_id=self.ids[topic_id])
            for at, offset, topic_id in rows
        ]


def dated(at: Array, runs: Array) -> Array:
    """Return the times of commits; of those whose time does not count, that of those before it: LogClock.dated of each run.

    `runs` numbers the pairs of partition and log partition, and rises: one clock that stood in another year does not date the
    ends that others committed.
    """
    steps, goes_on = differences(at[1:], at[:-1]), ~are_begun(runs)[1:]
    odd = np.append(at[:1] < 0, (at[1:] < 0) | goes_on & ((steps < -SKEW_MS) | (steps > LONGEST_PAUSE_MS)))
    times = at
    for run in np.unique(runs[odd]).tolist():
        begin, end = np.searchsorted(runs, (run, run + 1)).tolist()
        clock, times = LogClock(), times.copy() if times is at else times
        times[begin:end] = [clock.dated(0, timestamp) for timestamp in at[begin:end].tolist()]
    return times


class LogCommits:
    """Commits by their log partition, as logs are read: from rows where there are rows, else event by event."""

    def __init__(self) -> None:
        """Start without commits."""
        self._rows: dict[int | None, list[pa.Table]] = {}
        self._events: dict[int | None, list[tuple[str, int, int, int, str]]] = {}
        self.is_whole = False
        """Whether all commits of the logs are here, with the times of their records."""

    def forget(self, log_partition: int | None) -> None:
        """Forget all commits of a log partition, whose log is read again from its beginning."""
        self._rows.pop(log_partition, None)
        self._rows[log_partition] = []
        self._events.pop(log_partition, None)

    def take(self, log_partition: int | None, rows: pa.RecordBatch) -> None:
        """Add the commits in rows (relations.row_events.COLUMNS) of a log; rows come in its order."""
        is_commit = pa.array(are_there(rows.column("committed_offset")))
        chosen = [name for name in (*_COLUMNS.names, "timestamp", "commit_timestamp") if name != "at"]
        commits = rows.select(chosen).filter(is_commit)
        times = numbers(commits.column("timestamp"), NO_TIMESTAMP)
        at = np.where(times == NO_TIMESTAMP, numbers(commits.column("commit_timestamp"), NO_TIMESTAMP), times)
        columns = [
            pa.array(at)
            if field.name == "at"
            else encoded(commits.column(field.name)).cast(_NAMES)
            if field.type == _NAMES
            else commits.column(field.name)
            for field in _COLUMNS
        ]
        self._rows.setdefault(log_partition, []).append(pa.table(columns, schema=_COLUMNS))

    def observe(self, log_partition: int | None, event: Event) -> None:
        """Add the commit in the next event of a log, if it is one."""
        if event.key is None or event.value is None or not isinstance(event.value.data, OffsetCommitValue):
            return
        key, value, timestamp = event.key.data, event.value.data, event.record.timestamp
        at = value.commit_timestamp if timestamp == NO_TIMESTAMP else timestamp
        self.add(
            log_partition,
            TopicPartition(key.topic, key.partition),
            at,
            value.offset,
            uuid_text(value.topic_id),
        )

    def add(
        self, log_partition: int | None, of: TopicPartition, at: int, offset: int, topic_id: str | None
    ) -> None:
        """Add a commit behind all others of a log, with its time (epoch ms); `log_partition` None: of no particular one."""
        commits = self._events.setdefault(log_partition, [])
        commits.append((shown(of.topic), of.partition, at, offset, topic_id or ""))

    def of(self, asked: Iterable[tuple[TopicPartition, str | None]]) -> tuple[Commits, Array, Array]:
        """Return the commits for these partitions of topics; and the number of each partition, from 0 on, and of each topic id."""
        first = _table([(shown(of.topic), of.partition, 0, 0, topic_id or "") for of, topic_id in asked])
        logs = [first, *map(self._of_log, dict.fromkeys((*self._rows, *self._events)))]
        table = pa.concat_tables(logs).unify_dictionaries()
        topics, in_topic, at, offsets, ids = (column.combine_chunks() for column in table.columns)
        keys = topics.indices.to_numpy().astype(np.int64) << _PARTITION_BITS
        keys |= in_topic.to_numpy().astype(np.int64) & ((1 << _PARTITION_BITS) - 1)
        # Those that are asked for come first, and have the lowest numbers.
        partitions = pa.array(keys).dictionary_encode().indices.to_numpy().astype(np.int64)
        count, begin = int(partitions[: first.num_rows].max(initial=-1)) + 1, first.num_rows
        chosen = begin + np.flatnonzero(partitions[begin:] < count)
        order = chosen[_stable_order(partitions[chosen], count)]
        of_logs = np.repeat(np.arange(len(logs)), [log.num_rows for log in logs])
        topic_ids, texts = topic_id_numbers(ids)
        commits = Commits(
            partitions[order],
            of_logs[order],
            at.to_numpy()[order],
            offsets.to_numpy()[order],
            topic_ids[order],
            texts,
        )
        return commits, partitions[:begin], topic_ids[:begin]

    def _of_log(self, log_partition: int | None) -> pa.Table:
        return pa.concat_tables(
            [*self._rows.get(log_partition, ()), _table(self._events.get(log_partition, ()))]
        )


def topic_id_numbers(ids: pa.DictionaryArray) -> tuple[Array, list[str]]:
    """Return the number of each topic id, 0 for none, and the texts of all, by number."""
    texts = ["" if text in _NO_IDS else text for text in ids.dictionary.to_pylist()]
    numbers_of = {text: number for number, text in enumerate(dict.fromkeys(("", *texts)))}
    by_code = np.array([numbers_of[text] for text in texts], np.int64)
    return by_code[ids.indices.to_numpy()], list(numbers_of)


def _table(commits: Sequence[tuple[object, ...]]) -> pa.Table:
    if not commits:
        return _NO_COMMITS
    columns = zip(*commits, strict=True)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, _COLUMNS, strict=True)], _COLUMNS
    )


def _stable_order(numbers: Array, count: int) -> Array:
    """Return the places of numbers below `count` in their order, equal ones in theirs: NumPy sorts numbers of 16 bits by radix."""
    low = np.argsort(numbers.astype(np.uint16), kind="stable")
    if count <= 1 << _RADIX_BITS:
        return low
    high = (numbers[low] >> _RADIX_BITS).astype(np.uint16)
    return low[np.argsort(high, kind="stable")]
