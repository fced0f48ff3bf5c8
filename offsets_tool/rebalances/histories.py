"""The histories of one group in one log partition, as rebalances read them: its states, its members, its commits."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from offsets_tool.history.rows import GroupHistoryRow, MemberHistoryRow

if TYPE_CHECKING:
    from offsets_tool.columns.offset_rows import OffsetRows


def _no_offsets() -> "OffsetRows":
    from offsets_tool.columns.offset_rows import NO_OFFSETS  # noqa: PLC0415 - with Arrow, where rows are asked for

    return NO_OFFSETS


@dataclass
class GroupHistories:
    """The rows of one group's histories in one log partition, each list in the order of the log."""

    group: str
    log_partition: int | None
    proven_from: int = 0
    """Offset in the log from which on every record is there: of earlier ones compaction may have taken any."""
    end: int | None = None
    """Offset in the log after its last record; None unknown."""
    newest_at: int | None = None
    """Time of the newest record of the log partition, epoch milliseconds; None unknown. Other partitions may go on for longer."""
    offsets: "OffsetRows" = field(default_factory=_no_offsets)
    groups: list[GroupHistoryRow] = field(default_factory=list)
    members: list[MemberHistoryRow] = field(default_factory=list)

    def sort(self) -> None:
        """Sort the rows but those of offsets, which come in no certain order, by log offset, and then by their subject."""
        self.groups.sort(key=lambda row: row.from_log_offset)
        self.members.sort(key=lambda row: (row.from_log_offset, row.member_id))

    def state_at(self, log_offset: int) -> GroupHistoryRow | None:
        """Return the group as it was after the record at this offset; None where it was not there."""
        at = bisect_right(self._began, log_offset) - 1
        row = self.groups[at] if at >= 0 else None
        return row if row is not None and _holds(row, log_offset) else None

    def states_within(self, first: int, last: int) -> list[GroupHistoryRow]:
        """Return the states that began with the records from offset `first` to `last`."""
        return self.groups[bisect_left(self._began, first) : bisect_right(self._began, last)]

    def has_members_at(self, log_offset: int) -> bool:
        """Return whether the group had members after the record at this offset."""
        row = self.state_at(log_offset)
        return row is not None and row.members > 0

    def had_members(self, first: int, last: int) -> bool:
        """Return whether the group had members all the time from the record at offset `first` to that at `last`."""
        return self.has_members_at(first) and all(row.members for row in self.states_within(first, last))

    @cached_property
    def by_member(self) -> dict[str, list[MemberHistoryRow]]:
        """By member id, the rows of that member."""
        found: dict[str, list[MemberHistoryRow]] = defaultdict(list)
        for row in self.members:
            found[row.member_id].append(row)
        return found

    @cached_property
    def asked_from(self) -> dict[str, dict[str, int]]:
        """By member id and topic, the log offset of the first record with which the member asked for the topic by its name."""
        offsets: dict[str, dict[str, int]] = {}
        for member_id, rows in self.by_member.items():
            of_member = offsets[member_id] = {}
            for row in rows:
                for topic in row.subscription:
                    of_member.setdefault(topic, row.from_log_offset)
        return offsets

    @cached_property
    def commits_of(self) -> dict[str, list[tuple[int, int]]]:
        """By the member that owned the partition, log offset and record time of each commit."""
        return self.offsets.commits_of

    @cached_property
    def commits_of_members(self) -> list[tuple[int, int]]:
        """Log offset and record time of each commit of a partition that a member owned, in the order of the log."""
        return sorted(chain.from_iterable(self.commits_of.values()))

    @cached_property
    def in_transactions(self) -> frozenset[int]:
        """Log offsets of the commits that transactions made."""
        return self.offsets.in_transactions

    @cached_property
    def _began(self) -> list[int]:
        return [row.from_log_offset for row in self.groups]


def _holds(row: GroupHistoryRow, log_offset: int) -> bool:
    return row.to_log_offset is None or log_offset < row.to_log_offset
