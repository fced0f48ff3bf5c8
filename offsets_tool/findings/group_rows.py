"""What finders read: all rows of one group in one log partition, in the order of the log.

Rows only, no live state: the command line makes them of events, a task of the lake reads them from its tables.
"""

from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import PartitionSnapshot
from offsets_tool.events import Event
from offsets_tool.expiry.forecast import PartitionRemovals
from offsets_tool.expiry.log_facts import TypeVersion, UnreadKeys, VersionRange
from offsets_tool.expiry.rows import ExpiryRow
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

if TYPE_CHECKING:
    from offsets_tool.columns.offset_rows import OffsetTable

ALL: Final = Wanted()
"""Every group."""
GroupRow = OffsetHistoryRow | GroupHistoryRow | MemberHistoryRow | AnomalyRow | ExpiryRow | TransactionRow
"""A row that finders read."""


@dataclass
class GroupRows(GroupHistories):
    """All rows of one group in one log partition, each list in the order of the log."""

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
    def effective(self) -> dict[TopicPartition, Sequence[OffsetHistoryRow]]:
        """By partition, the commits that the group would be answered with."""
        by_partition = self.offsets.by_partition
        return dict(by_partition.rows_of(by_partition.places))

    @cached_property
    def moved_at(self) -> dict[str, dict[int, int]]:
        """By topic and partition, when its last committed offset was committed first, epoch milliseconds."""
        moved = defaultdict[str, dict[int, int]](dict)
        for (topic, partition), at in self.offsets.by_partition.moved_at.items():
            moved[topic][partition] = at
        return moved

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


def _is_unknown_after(row: OffsetHistoryRow) -> bool:
    """Return whether a commit leaves nothing to count from: it is no offset, or the next one was not understood."""
    return row.committed_offset < 0 or row.end_cause == OffsetEndCause.UNREAD


def is_simple(row: GroupHistoryRow | None) -> bool:
    """Return whether a group is one that only has offsets: its client never joins."""
    return row is None or row.kind == GroupKind.SIMPLE


class RecordSums:
    """Sums over the records of one log partition."""

    def __init__(self, log_partition: int | None) -> None:
        """Start before the first record."""
        self.log_partition = log_partition
        self.bytes: Counter[str] = Counter()
        """By group, the bytes of keys and values of its records."""
        self.versions: Mapping[TypeVersion, VersionRange] = {}
        """Where records of which type and version are, as LogFacts counted them; empty if nobody did."""

        self.unread = UnreadKeys()
        """Records whose keys were not understood, as LogFacts counted them."""

    def bytes_of(self, group: str) -> int:
        """Return the bytes of the keys and values of a group's records."""
        return self.bytes[group]

    def observe(self, event: Event) -> None:
        """Add the record of an event; an absence, which has no record, is ignored."""
        if not event.is_absence and event.group is not None:
            self.bytes[event.group] += len(event.record.key or b"") + len(event.record.value or b"")


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


class PartitionRows:
    """The rows of one log partition by group, wherever they were made; those of committed offsets in columns."""

    def __init__(
        self,
        rows: Iterable[GroupRow],
        stretch: LogStretch,
        sums: RecordSums,
        offsets: "OffsetTable | None" = None,
    ) -> None:
        """Take rows as `gather` does, and the sums over the records."""
        self.sums = sums
        others, self._offsets = apart(rows, offsets)
        self._rows = gather(others, stretch, self._offsets)

    def highest(self) -> Iterator[tuple[GroupRows, dict[TopicPartition, int], int]]:
        """Yield each group for ContextParts: its rows, its highest commit in each partition, and its number of commits."""
        commits = self._offsets.commits()
        for group, rows in self._rows.items():
            yield (rows, *commits.get(group, ({}, 0)))

    def groups(self, wanted: Wanted = ALL) -> Iterator[GroupRows]:
        """Yield the rows of each wanted group, by name; what was made of columns is forgotten with the group."""
        for group, rows in self._rows.items():
            if wanted.has_group(group):
                yield replace(rows, offsets=rows.offsets.fresh())


def apart(
    rows: Iterable[GroupRow], offsets: "OffsetTable | None"
) -> "tuple[Iterable[GroupRow], OffsetTable]":
    """Return rows without those of committed offsets, and a table of these, `offsets` where there is one already."""
    if offsets is not None:
        return rows, offsets
    from offsets_tool.columns.offset_rows import OffsetTable  # noqa: PLC0415 - with Arrow, where rows are asked for

    all_rows = list(rows)
    listed = OffsetTable.of(row for row in all_rows if isinstance(row, OffsetHistoryRow))
    return [row for row in all_rows if not isinstance(row, OffsetHistoryRow)], listed


def gather(
    rows: Iterable[GroupRow], stretch: LogStretch, offsets: "OffsetTable | None" = None
) -> dict[str, GroupRows]:
    """Return rows of one log partition by group, in the order of names, each kind in the order of the log.

    With `offsets` committed offsets are of that table.
    """
    others, offsets = apart(rows, offsets)
    found = dict[str, GroupRows]()
    for row in others:
        if row.group is not None:
            if row.group not in found:
                found[row.group] = GroupRows(row.group, *stretch)
            getattr(found[row.group], _LISTS[type(row)]).append(row)
    for of_group in found.values():
        of_group.sort()
    for group, of_table in offsets.groups().items():
        found.setdefault(group, GroupRows(group, *stretch)).offsets = of_table
    return dict(sorted(found.items()))


_LISTS: dict[type, str] = {
    GroupHistoryRow: "groups",
    MemberHistoryRow: "members",
    AnomalyRow: "anomalies",
    ExpiryRow: "expiry",
    TransactionRow: "transactions",
}
