"""Columns of committed offsets as numbers, and what those of a group come to, for finders (findings.commit_sums).

The rows of a group stand together: they are a slice, which costs nothing. Texts are numbers too, which stand for their places in a
list.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array, differences
from offsets_tool.findings.commit_sums import CommitSums, PartitionSums
from offsets_tool.history.rows import OffsetBeginCause
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.wire.longs import MAX_LONG, MIN_LONG
from offsets_tool.wire.text import from_shown

OF_ONE_PLACE: Final = ("topic", "partition")
"""What rows of a group are sorted by that are of one place in the log."""
IN_ORDER: Final = ("from_log_offset", "commit_log_offset", *OF_ONE_PLACE)
"""What rows of a group are sorted by."""
_NUMBERS: Final = (
    "from_log_offset",
    "commit_log_offset",
    "from_timestamp",
    "commit_timestamp",
    "committed_offset",
)
_TEXTS: Final = ("topic", "topic_id", "begin_cause", "end_cause")
_SUMMED: Final = ("committed_offset", "delta", "from_timestamp", "commit_log_offset")
"""The numbers that the sums of partitions rest on."""


class CodedTexts(NamedTuple):
    """A column of texts: for each row the place of its text, -1 for null."""

    codes: Array
    texts: list[str]
    """The texts as they were decoded, each once; some may be of no row."""

    @classmethod
    def of(cls, column: pa.DictionaryArray) -> "CodedTexts":
        """Return the texts of a column."""
        codes = pc.fill_null(column.indices, -1).to_numpy()
        return cls(codes, [from_shown(text) for text in column.dictionary.to_pylist()])

    def slice(self, rows: slice) -> "CodedTexts":
        """Return the texts of some rows."""
        return CodedTexts(self.codes[rows], self.texts)

    def texts_at(self, rows: Array) -> list[str | None]:
        """Return the texts of some rows, None for null."""
        return [None if code < 0 else self.texts[code] for code in self.codes[rows].tolist()]

    def distinct(self) -> set[str]:
        """Return the texts that rows have."""
        counts = np.bincount(self.codes + 1, minlength=1)
        return {self.texts[code - 1] for code in np.flatnonzero(counts).tolist() if code}


class OffsetNumbers(NamedTuple):
    """The columns of committed offsets by which groups are summed up."""

    numbers: Mapping[str, Array]
    partitions: Array
    is_effective: Array
    metadata_bytes: Array
    topics: CodedTexts
    topic_ids: CodedTexts
    begin_causes: CodedTexts
    end_causes: CodedTexts

    @classmethod
    def of(cls, column: Callable[[str], pa.Array]) -> "OffsetNumbers":
        """Return columns of OffsetHistoryRow, given by their names; texts of names and causes are dictionary-encoded."""
        numbers = {name: column(name).to_numpy() for name in _NUMBERS}
        numbers["delta"] = pc.fill_null(column("delta"), 0).to_numpy()
        return cls(
            numbers,
            column("partition").to_numpy(),
            column("is_effective").to_numpy(zero_copy_only=False),
            pc.binary_length(column("metadata")).to_numpy(),
            *(CodedTexts.of(column(name)) for name in _TEXTS),
        )

    def slice(self, begin: int, end: int) -> "OffsetNumbers":
        """Return the numbers of the rows from `begin` to `end`."""
        rows = slice(begin, end)
        numbers = {name: each[rows] for name, each in self.numbers.items()}
        arrays = (self.partitions[rows], self.is_effective[rows], self.metadata_bytes[rows])
        coded = (self.topics, self.topic_ids, self.begin_causes, self.end_causes)
        return OffsetNumbers(numbers, *arrays, *(each.slice(rows) for each in coded))


class OffsetSums(NamedTuple):
    """What rows of committed offsets come to, and which of them are the effective ones of which partition."""

    sums: CommitSums
    partitions: dict[TopicPartition, PartitionSums]
    places: dict[TopicPartition, Array]


def offset_sums(rows: OffsetNumbers, proven_from: int) -> OffsetSums:
    """Return what the rows of a group come to, which are in the order of the log."""
    numbers, begun, ended = rows.numbers, rows.begin_causes.distinct(), rows.end_causes.distinct()
    effective = _Effective(rows, proven_from)
    commits, most_skew, most_back = _times(numbers)
    sums = CommitSums(
        commits=commits,
        most_skew=most_skew,
        most_back=most_back,
        metadata_bytes=_most(rows.metadata_bytes),
        usual_pause=effective.usual_pause(),
        is_recreated=_is_recreated(rows),
        has_hidden=OffsetBeginCause.HIDDEN.value in begun,
        end_causes=frozenset(ended),
    )
    return OffsetSums(sums, dict(effective.partitions()), effective.places)


def _times(numbers: Mapping[str, Array]) -> tuple[int, int, int]:
    """Return how many commits there are, how far their two times are apart at most, and how far their record times go back."""
    is_commit = numbers["from_log_offset"] == numbers["commit_log_offset"]
    at, said = numbers["from_timestamp"][is_commit], numbers["commit_timestamp"][is_commit]
    return (
        len(at),
        _most(np.abs(said - at)[(said >= 0) & (at >= 0)]),
        _most((at[:-1] - at[1:])[(at[:-1] >= 0) & (at[1:] >= 0)]),
    )


def _most(numbers: Array) -> int:
    return int(numbers.max()) if len(numbers) else 0


def _is_recreated(rows: OffsetNumbers) -> bool:
    """Return whether there are more pairs of a topic and its id than topics that have an id."""
    ids = rows.topic_ids.codes
    has_id = ids >= 0
    if not has_id.any():
        return False
    topics = rows.topics.codes[has_id].astype(np.int64)
    pairs = topics * len(rows.topic_ids.texts) + ids[has_id]
    return len(np.unique(pairs)) > len(np.unique(topics))


class _Effective:
    """The effective rows of a group, those of each partition together and in the order of the log."""

    def __init__(self, rows: OffsetNumbers, proven_from: int) -> None:
        topics, texts = rows.topics
        effective = np.flatnonzero(rows.is_effective)
        keys = (topics.astype(np.int64) << 32) + rows.partitions
        order = effective[np.argsort(keys[effective], kind="stable")]
        keys = keys[order]
        self._begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
        self._ends = np.append(self._begins, len(order))[1:]
        self._order, self._proven_from = order, proven_from
        self._numbers = {name: rows.numbers[name][order] for name in _SUMMED}
        # How a partition is named, and what its last row says, is looked up once for each.
        firsts = order[self._begins]
        named = zip(topics[firsts].tolist(), rows.partitions[firsts].tolist(), strict=True)
        self._of = [TopicPartition(texts[topic], partition) for topic, partition in named]
        self._end_causes = rows.end_causes.texts_at(order[self._ends - 1])
        self._by_first = np.argsort(firsts, kind="stable").tolist()

    @property
    def places(self) -> dict[TopicPartition, Array]:
        """By partition, the places of its rows."""
        return {self._of[n]: self._order[self._begins[n] : self._ends[n]] for n in self._by_first}

    def usual_pause(self) -> float:
        """Return the least of the usual pauses of the partitions that have most commits; 0 without any."""
        counts = self._ends - self._begins
        at, pauses = self._numbers["from_timestamp"], list[float]()
        for n in np.flatnonzero(counts == counts.max(initial=0)):
            times = at[self._begins[n] : self._ends[n]]
            times = times[times >= 0]
            if len(times) > 1:
                pauses.append(float(np.median(np.diff(times))))
        return min(pauses, default=0.0)

    def partitions(self) -> Iterator[tuple[TopicPartition, PartitionSums]]:
        """Yield each partition with its sums, in the order of their first rows."""
        if not self._of:
            return
        deltas, moved = self._numbers["delta"], self._moves()
        columns = (
            (self._ends - self._begins).tolist(),
            *self._runs(),
            np.minimum(np.minimum.reduceat(deltas, self._begins), 0).tolist(),
            self._steepest(),
            *moved,
            self._end_causes,
        )
        sums = list(map(PartitionSums._make, zip(*columns, strict=True)))
        yield from ((self._of[n], sums[n]) for n in self._by_first)

    def _runs(self) -> tuple[list[int], list[int], list[int]]:
        """Return for each partition the longest run of one offset, the time of the last run, and the longest time between two."""
        offsets, at = self._numbers["committed_offset"], self._numbers["from_timestamp"]
        is_first = np.append(True, offsets[1:] != offsets[:-1])
        is_first[self._begins] = True
        runs = np.flatnonzero(is_first)
        begins = np.searchsorted(runs, self._begins)
        sizes = np.diff(np.append(runs, len(offsets)))
        times = at[runs]
        rests = differences(times, np.append(times[:1], times[:-1]))
        rests[begins] = 0
        return (
            np.maximum.reduceat(sizes, begins).tolist(),
            times[np.append(begins[1:], len(runs)) - 1].tolist(),
            np.maximum.reduceat(rests, begins).tolist(),
        )

    def _steepest(self) -> list[int]:
        """Return for each partition how many times the largest step before it, of those that are proven, a step was at most."""
        deltas = self._numbers["delta"]
        steps = np.where(self._numbers["commit_log_offset"] >= self._proven_from, np.maximum(deltas, 0), 0)
        found = list[int]()
        for begin, end in zip(self._begins.tolist(), self._ends.tolist(), strict=True):
            before = np.maximum.accumulate(steps[begin : end - 1])
            behind = deltas[begin + 1 : end][before > 0]
            found.append(_most(behind // before[before > 0]))
        return found

    def _moves(self) -> tuple[list[int | None], list[int | None]]:
        """Return for each partition the log offsets of the first and the last commit that moved it."""
        log_offsets, has_moved = self._numbers["commit_log_offset"], self._numbers["delta"] != 0
        first = np.minimum.reduceat(np.where(has_moved, log_offsets, MAX_LONG), self._begins)
        last = np.maximum.reduceat(np.where(has_moved, log_offsets, MIN_LONG), self._begins)
        any_moved = np.logical_or.reduceat(has_moved, self._begins)
        return _or_none(first, any_moved), _or_none(last, any_moved)


def _or_none(numbers: Array, are_known: Array) -> list[int | None]:
    pairs = zip(numbers.tolist(), are_known.tolist(), strict=True)
    return [number if is_known else None for number, is_known in pairs]
