"""What finders read: all rows of one group in one log partition, in the order of the log.

Rows only, no live state: the command line makes them of events, a task of the lake reads them from its tables.
"""

from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple, Protocol

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import PartitionSnapshot
from offsets_tool.expiry.forecast import PartitionRemovals
from offsets_tool.expiry.rows import ExpiryRow
from offsets_tool.findings.commit_sums import KEPT, ListedOffsets, PartitionSums, SummedOffsets
from offsets_tool.findings.record_sums import RecordSums
from offsets_tool.history.rows import (
    AnomalyRow,
    GroupHistoryRow,
    MemberHistoryRow,
    OffsetEndCause,
    OffsetHistoryRow,
)
from offsets_tool.history.transactions import TransactionRow
from offsets_tool.rebalances.histories import GroupHistories
from offsets_tool.rebalances.members import GroupMembers, client_name
from offsets_tool.replay.changes import GroupKind, TopicPartition

ALL: Final = Wanted()
"""Every group."""
GroupRow = OffsetHistoryRow | GroupHistoryRow | MemberHistoryRow | AnomalyRow | ExpiryRow | TransactionRow
"""A row that finders read."""


@dataclass
class GroupRows(GroupHistories):
    """All rows of one group in one log partition, each list in the order of the log."""

    offsets: SummedOffsets = field(default_factory=ListedOffsets)
    anomalies: list[AnomalyRow] = field(default_factory=list)
    expiry: list[ExpiryRow] = field(default_factory=list)
    transactions: list[TransactionRow] = field(default_factory=list)

    def sort(self) -> None:
        """Sort all lists by log offset, and rows of one offset by what they are about."""
        super().sort()
        self.anomalies.sort(key=lambda row: (row.log_offset, row.about or "", row.note))
        self.expiry.sort(key=lambda row: (row.log_offset, row.topic, row.partition, row.producer_id or -1))
        self.transactions.sort(key=lambda row: (row.first_log_offset, row.producer_id))

    def has_offsets_at(self, log_offset: int) -> bool:
        """Return whether the group had a committed offset, pending ones too, after the record at this offset."""
        began, ended = self._offsets_began_and_ended
        return bisect_right(began, log_offset) > bisect_right(ended, log_offset)

    @cached_property
    def _offsets_began_and_ended(self) -> tuple[Sequence[int], Sequence[int]]:
        began, ended = array("q"), array("q")
        for from_log_offset, to_log_offset in self.offsets.fields("from_log_offset", "to_log_offset"):
            began.append(from_log_offset)
            if to_log_offset is not None:
                ended.append(to_log_offset)
        return began, array("q", sorted(ended))

    @cached_property
    def names(self) -> GroupMembers:
        """The members, who say by which name an operator knows each."""
        return GroupMembers(self)

    @cached_property
    def held_at_end(self) -> frozenset[str]:
        """The partitions that members have at the end of the log, as texts of the histories."""
        return frozenset(name for row in self.members if row.to_log_offset is None for name in row.held)

    def name_of(self, row: MemberHistoryRow) -> str:
        """Return the name of the member of a row, as `names` has it."""
        return self.names.name(row.member_id)

    def owner_of(self, row: OffsetHistoryRow) -> str | None:
        """Return the name of the member that owned the partition of a commit, as `names` has it or the row; None without one."""
        if row.member_id in self.by_member:
            return self.names.name(row.member_id)
        return client_name(row.instance_id, row.client_id, row.member_id)

    @cached_property
    def removed(self) -> list[ExpiryRow]:
        """The offsets that were removed, with their causes."""
        return [row for row in self.expiry if row.status == "removed"]

    @cached_property
    def live(self) -> list[ExpiryRow]:
        """The offsets that are live at the end of the log, with their expiry."""
        return [row for row in self.expiry if row.status == "live"]

    @cached_property
    def effective(self) -> dict[TopicPartition, list[OffsetHistoryRow]]:
        """By partition, the commits that the group would be answered with."""
        found: dict[TopicPartition, list[OffsetHistoryRow]] = defaultdict(list)
        for row in self.offsets:
            if row.is_effective:
                found[TopicPartition(row.topic, row.partition)].append(row)
        return found

    @cached_property
    def not_first(self) -> frozenset[int]:
        """Log offsets of commits without a delta that are not the first: below 0, after such a one, or after one not understood."""
        pairs = (pair for commits in self.effective.values() for pair in pairwise([None, *commits]))
        return frozenset(
            row.commit_log_offset
            for before, row in pairs
            if row is not None
            and (row.committed_offset < 0 or (before is not None and _is_unknown_after(before)))
        )

    def effective_where(
        self, is_looked_at: Callable[[PartitionSums], bool]
    ) -> Iterator[tuple[TopicPartition, Sequence[OffsetHistoryRow]]]:
        """Yield the partitions that are looked at with their effective commits, by the first."""
        return self._each_effective(self._partitions_where(is_looked_at))

    def effective_fields(
        self, is_looked_at: Callable[[PartitionSums], bool], *names: str
    ) -> Iterator[tuple[TopicPartition, Iterator[tuple[Any, ...]]]]:
        """Yield partitions as `effective_where` does, each with some fields, two or more, of its commits."""
        return self.offsets.each_effective_fields(self._partitions_where(is_looked_at), names)

    def _partitions_where(self, is_looked_at: Callable[[PartitionSums], bool]) -> Iterator[TopicPartition]:
        return (at for at, sums in self.offsets.partitions.items() if is_looked_at(sums))

    @cached_property
    def last_end_causes(self) -> dict[TopicPartition, str | None]:
        """By partition, in the order of their first commits, how its last effective row ended; None if it holds."""
        return {at: sums.end_cause for at, sums in self.offsets.partitions.items()}

    @cached_property
    def moved_at(self) -> dict[str, dict[int, int]]:
        """By topic and partition, when its last committed offset was committed first, epoch milliseconds."""
        moved = defaultdict[str, dict[int, int]](dict)
        for (topic, partition), sums in self.offsets.partitions.items():
            moved[topic][partition] = sums.moved_at
        return moved

    def may_have_rested(self, least: int) -> bool:
        """Return whether some partition may not have moved for so many milliseconds before it did."""
        return any(sums.longest_rest >= least for sums in self.offsets.partitions.values())

    def busiest(self) -> Sequence[OffsetHistoryRow]:
        """Return the effective commits of the partition that has most, the first of several; none without any."""
        commits = {at: sums.commits for at, sums in self.offsets.partitions.items()}
        most = sorted(commits, key=commits.__getitem__, reverse=True)[:1]
        return next((some for _, some in self._each_effective(most)), [])

    def _each_effective(
        self, some: Iterable[TopicPartition]
    ) -> Iterator[tuple[TopicPartition, Sequence[OffsetHistoryRow]]]:
        """Yield some partitions with their effective commits; those of a group with KEPT rows or fewer are kept."""
        rows, kept = self.offsets, self._kept
        if len(rows) > KEPT:
            yield from rows.each_effective(some)
            return
        asked = list(some)
        kept.update(rows.each_effective(at for at in asked if at not in kept))
        yield from ((at, kept[at]) for at in asked)

    @cached_property
    def _kept(self) -> dict[TopicPartition, Sequence[OffsetHistoryRow]]:
        return {}

    @cached_property
    def commits_of(self) -> dict[str, list[tuple[int, int]]]:
        """By the member that owned the partition, log offset and record time of each commit."""
        return self.offsets.commits_of()


def _is_unknown_after(row: OffsetHistoryRow) -> bool:
    """Return whether a commit leaves nothing to count from: it is no offset, or the next one was not understood."""
    return row.committed_offset < 0 or row.end_cause == OffsetEndCause.UNREAD


def is_simple(row: GroupHistoryRow | None) -> bool:
    """Return whether a group is one that only has offsets: its client never joins."""
    return row is None or row.kind == GroupKind.SIMPLE


class AnyPartition(Protocol):
    """The rows of one log partition by group, wherever they are."""

    @property
    def sums(self) -> RecordSums:
        """What its records come to."""
        ...

    def highest(self) -> Iterator[tuple[GroupRows, dict[TopicPartition, int], int]]:
        """Yield each group for ContextParts: its rows, perhaps without offsets, its highest commits, and how many it made."""
        ...

    def groups(self, wanted: Wanted = ALL) -> Iterator[GroupRows]:
        """Yield the rows of each wanted group, by name."""
        ...


class PartitionRows:
    """The rows of one log partition by group, all of them in memory."""

    def __init__(self, rows: dict[str, GroupRows], sums: RecordSums) -> None:
        """Hold the groups that `gather` returned, and the sums over the records."""
        self._rows = rows
        self.sums = sums

    def highest(self) -> Iterator[tuple[GroupRows, dict[TopicPartition, int], int]]:
        """Yield each group for ContextParts: its rows, its highest commit in each partition, and its number of commits."""
        for rows in self._rows.values():
            highest = {at: max(row.committed_offset for row in some) for at, some in rows.effective.items()}
            yield rows, highest, len(rows.offsets)

    def groups(self, wanted: Wanted = ALL) -> Iterator[GroupRows]:
        """Yield the rows of each wanted group, by name."""
        yield from (rows for group, rows in sorted(self._rows.items()) if wanted.has_group(group))


class LogStretch(NamedTuple):
    """The stretch of one log partition that rows cover; GroupRows has fields of the same names."""

    log_partition: int | None
    proven_from: int = 0
    end: int | None = None
    newest_at: int | None = None


def stretch_of(partition: PartitionSnapshot) -> LogStretch:
    """Return the stretch of the log that a partition covers up to its moment."""
    proven_from, newest = partition.coverage.proven_from, partition.cut.newest_timestamp
    return LogStretch(partition.log_partition, proven_from, partition.end, newest)


class ReplayedPartition(NamedTuple):
    """What a replay of one log partition comes to."""

    sums: RecordSums
    removals: PartitionRemovals
    with_rows: Callable[[Iterable[GroupRow]], AnyPartition]
    """Return all rows of histories and transactions by group, with others that no history has."""


def gather(rows: Iterable[GroupRow], stretch: LogStretch) -> dict[str, GroupRows]:
    """Return rows of one log partition by group, each kind in the order of the log."""
    found, offsets = dict[str, GroupRows](), defaultdict[str, list[OffsetHistoryRow]](list)
    for row in rows:
        if row.group is None:
            continue
        of = found.get(row.group)
        if of is None:
            of = found[row.group] = GroupRows(row.group, *stretch)
        if isinstance(row, OffsetHistoryRow):
            offsets[row.group].append(row)
        else:
            getattr(of, _LISTS[type(row)]).append(row)
    for group, of in found.items():
        of.sort()
        if group in offsets:
            of.offsets = ListedOffsets(offsets.pop(group))
    return found


_LISTS: dict[type, str] = {
    GroupHistoryRow: "groups",
    MemberHistoryRow: "members",
    AnomalyRow: "anomalies",
    ExpiryRow: "expiry",
    TransactionRow: "transactions",
}
