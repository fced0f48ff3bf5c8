"""What a group's committed offsets come to, for finders that need not look at each: computed by column where there are many.

A finder says with these numbers which partitions it looks at. A number may claim more than is there, never less: it leaves out only
what the finder would have passed over. Finds nothing.
"""

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from operator import attrgetter
from typing import Any, Final, NamedTuple

from offsets_tool.history.rows import OffsetEndCause, OffsetHistoryRow
from offsets_tool.rebalances.histories import GroupHistories, offset_order
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.wire.longs import MAX_LONG, MIN_LONG


class PartitionSums(NamedTuple):
    """What the effective commits of one partition come to; times in epoch milliseconds."""

    commits: int
    longest_run: int
    """The most commits of one offset that follow each other."""
    moved_at: int
    """When it was committed first with the offset that the last commit has too."""
    longest_rest: int
    """The longest time in which no commit changed the offset, up to one that did, milliseconds."""
    least_delta: int
    """The least difference to the commit before; 0 if none is negative."""
    steepest: int
    """How many times the largest step before it, in whole numbers, a step ahead was at most."""
    first_move: int | None
    """Log offset of the first commit that changed the offset; None if none did."""
    last_move: int | None
    """Log offset of the last commit that changed the offset."""
    end_cause: str | None
    """How its last effective row ended; None if that holds."""


class CommitSums(NamedTuple):
    """What all rows of a group's committed offsets come to; as it is by default, nothing can be ruled out."""

    commits: int = MAX_LONG
    most_skew: int = MAX_LONG
    """The most milliseconds by which a commit's own time differs from its record's."""
    most_back: int = MAX_LONG
    """The most milliseconds by which the record of a commit is older than that of the commit before."""
    metadata_bytes: int = MAX_LONG
    """The most bytes of text that a commit has."""
    usual_pause: float = 0.0
    """The usual milliseconds between two commits of the partition that has most, the least if several have as many."""
    is_recreated: bool = True
    """Whether commits give two ids for the same topic."""
    has_hidden: bool = True
    """Whether an offset was hidden as its group was deleted."""
    end_causes: frozenset[str] = frozenset(OffsetEndCause)


KEPT: Final = 1 << 16
"""Rows of a group that are kept once they are materialized, which take a kilobyte each; of one that has more, finders keep those
that they tell of."""
UNKNOWN: Final = CommitSums()
"""What is known of rows that nobody has summed up."""


class SummedOffsets(Sequence[OffsetHistoryRow]):
    """Rows of one group's committed offsets in the order of the log, made only when they are asked for, with their sums."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    @property
    @abstractmethod
    def sums(self) -> CommitSums:
        """What the rows come to."""

    @property
    @abstractmethod
    def partitions(self) -> Mapping[TopicPartition, PartitionSums]:
        """What the effective commits of each partition come to, by their first."""

    @abstractmethod
    def each_effective(
        self, of: Iterable[TopicPartition]
    ) -> Iterator[tuple[TopicPartition, Sequence[OffsetHistoryRow]]]:
        """Yield some of `partitions`, each with its effective rows; of a group with more than KEPT they are not kept."""

    @abstractmethod
    def each_effective_fields(
        self, of: Iterable[TopicPartition], names: Sequence[str]
    ) -> Iterator[tuple[TopicPartition, Iterator[tuple[Any, ...]]]]:
        """Yield some of `partitions`, each with some fields of its effective rows."""

    @abstractmethod
    def effective_at(
        self, of: Mapping[TopicPartition, Sequence[int]]
    ) -> Iterator[tuple[TopicPartition, list[OffsetHistoryRow]]]:
        """Yield some of `partitions`, each with some of its effective rows, by their numbers from 0, or from -1 backwards."""

    @abstractmethod
    def next_effective(self, of: TopicPartition, log_offset: int) -> OffsetHistoryRow | None:
        """Return the first effective row of a partition behind a place in the log."""

    @abstractmethod
    def fields(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield some fields, two or more, of each row."""

    @abstractmethod
    def commit_fields(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield some fields, two or more, of each row that a commit began."""

    @abstractmethod
    def commits_of(self) -> dict[str, list[tuple[int, int]]]:
        """Return log offset and record time of each commit, by the member that owned the partition."""


class ListedOffsets(SummedOffsets):
    """Rows in memory, of a group that has few: sums rule nothing out, and finders look at each."""

    def __init__(self, rows: Iterable[OffsetHistoryRow] = ()) -> None:
        """Hold the rows, which come in any order."""
        self._rows = sorted(rows, key=offset_order)
        self._effective: dict[TopicPartition, list[OffsetHistoryRow]] = defaultdict(list)
        for row in self._rows:
            if row.is_effective:
                self._effective[TopicPartition(row.topic, row.partition)].append(row)

    def __getitem__(self, at: Any) -> Any:
        return self._rows[at]

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def sums(self) -> CommitSums:
        """Sums that rule nothing out."""
        return UNKNOWN

    @cached_property
    def partitions(self) -> dict[TopicPartition, PartitionSums]:
        """By partition sums that rule nothing out; what finders tell of them is exact."""
        return {at: _any_sums(rows) for at, rows in self._effective.items()}

    def each_effective(
        self, of: Iterable[TopicPartition]
    ) -> Iterator[tuple[TopicPartition, Sequence[OffsetHistoryRow]]]:
        """Yield partitions, each with its effective rows."""
        return ((at, self._effective[at]) for at in of)

    def each_effective_fields(
        self, of: Iterable[TopicPartition], names: Sequence[str]
    ) -> Iterator[tuple[TopicPartition, Iterator[tuple[Any, ...]]]]:
        """Yield partitions, each with some fields of its effective rows."""
        return ((at, map(attrgetter(*names), self._effective[at])) for at in of)

    def effective_at(
        self, of: Mapping[TopicPartition, Sequence[int]]
    ) -> Iterator[tuple[TopicPartition, list[OffsetHistoryRow]]]:
        """Yield partitions, each with some of its effective rows."""
        return ((at, [self._effective[at][number] for number in numbers]) for at, numbers in of.items())

    def next_effective(self, of: TopicPartition, log_offset: int) -> OffsetHistoryRow | None:
        """Return the first effective row of a partition behind a place in the log."""
        return next((row for row in self._effective.get(of, []) if row.from_log_offset > log_offset), None)

    def fields(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield some fields of each row."""
        return map(attrgetter(*names), self._rows)

    def commit_fields(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield some fields of each commit."""
        return map(attrgetter(*names), self._histories.commits)

    def commits_of(self) -> dict[str, list[tuple[int, int]]]:
        """Return log offset and record time of each commit, by the member that owned the partition."""
        return self._histories.commits_of

    @property
    def _histories(self) -> GroupHistories:
        return GroupHistories("", None, offsets=self._rows)


def _any_sums(commits: Sequence[OffsetHistoryRow]) -> PartitionSums:
    last, most = commits[-1], MAX_LONG
    run = takewhile(lambda row: row.committed_offset == last.committed_offset, reversed(commits))
    *_, first = run
    return PartitionSums(
        len(commits), most, first.from_timestamp, most, MIN_LONG, most, 0, most, last.end_cause
    )
