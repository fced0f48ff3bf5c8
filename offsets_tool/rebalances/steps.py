"""The changes of a group as steps: from the record that began each to the one after which the group was settled.

A rebalance of KIP-848 is one step from the new epoch until all members have reached it. Each step has the members that came and
went; rebalances.causes finds out why it happened.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from offsets_tool.history.change_labels import GOES_ON, group_label
from offsets_tool.history.rows import GroupHistoryRow
from offsets_tool.rebalances.histories import GroupHistories
from offsets_tool.rebalances.members import GroupMembers, Turnover
from offsets_tool.replay.changes import GroupKind, GroupState
from offsets_tool.rows import NO_TIMESTAMP

SETTLED: Final = ("Stable", "Empty")
"""States in which every member has what it is to have."""


class _RowPair(NamedTuple):
    """The end of one row of the group and the beginning of the next; one of them is None when it appears or goes."""

    before: GroupHistoryRow | None
    after: GroupHistoryRow | None
    log_offset: int
    at: int


class GroupStep(NamedTuple):
    """A change of the group, from the record that began it to the one after which it was settled; times in epoch milliseconds."""

    first: int
    last: int
    at: int
    until: int
    before: GroupHistoryRow | None
    after: GroupHistoryRow | None
    turnover: Turnover
    is_proven: bool
    """Whether no record before it is missing or was not understood: only then is it known that nobody came or went."""
    protocol_before: str | None = None
    """The protocol that its members had agreed on before; of an empty group, the last members that it had."""

    @property
    def is_conversion(self) -> bool:
        """Whether the group has another kind now; that a client without members joins is none."""
        kinds = {row.kind for row in (self.before, self.after) if row is not None}
        return len(kinds - {GroupKind.SIMPLE}) > 1

    @property
    def is_unchanged(self) -> bool:
        """Whether the group was only written again: nothing of it changed that rows have."""
        if self.before is None or self.after is None or any(self.turnover) or self.is_renumbered:
            return False
        return group_label(self.before, self.after) in (None, "rewritten")

    @property
    def is_renumbered(self) -> bool:
        """Whether it began a generation or an epoch."""
        return self.after is not None and number_of(self.before) != number_of(self.after)


def steps_of(rows: GroupHistories, members: GroupMembers) -> Iterator[GroupStep]:
    """Yield all changes of a group, in the order of the log."""
    protocol: str | None = None
    for pairs in _grouped(_row_pairs(rows.groups)):
        first, last = pairs[0], pairs[-1]
        yield GroupStep(
            first.log_offset,
            last.log_offset,
            first.at,
            last.at,
            first.before,
            last.after,
            members.turnover(first.log_offset, last.log_offset),
            first.log_offset >= rows.proven_from and not _is_unknown(first.before),
            protocol if first.before is not None else None,
        )
        protocol = (last.after and last.after.protocol) or (protocol if last.after is not None else None)


def _is_unknown(row: GroupHistoryRow | None) -> bool:
    """Return whether a record that was not understood may have changed the group since."""
    return row is not None and row.state == GroupState.UNKNOWN


def _row_pairs(groups: Sequence[GroupHistoryRow]) -> Iterator[_RowPair]:
    before: GroupHistoryRow | None = None
    for row in groups:
        if before is not None and not _goes_on(before, row):
            yield _end(before)
            before = None
        yield _RowPair(before, row, row.from_log_offset, row.from_timestamp)
        before = row
    if before is not None and before.to_log_offset is not None:
        yield _end(before)


def _goes_on(before: GroupHistoryRow, row: GroupHistoryRow) -> bool:
    return before.end_cause in GOES_ON or before.to_log_offset == row.from_log_offset


def _end(row: GroupHistoryRow) -> _RowPair:
    assert row.to_log_offset is not None and row.to_timestamp is not None
    return _RowPair(row, None, row.to_log_offset, row.to_timestamp)


def _grouped(pairs: Iterable[_RowPair]) -> Iterator[list[_RowPair]]:
    """Yield the pairs that are one change: written at once, or until the members have reached the epoch."""
    step: list[_RowPair] = []
    for pair in pairs:
        if step and not _is_one(step[-1], pair):
            yield step
            step = []
        step.append(pair)
    if step:
        yield step


def _is_one(last: _RowPair, pair: _RowPair) -> bool:
    before, after = last.after, pair.after
    if before is None or after is None:
        return False
    if before.generation is not None and after.generation is not None:
        return False
    if last.at == pair.at != NO_TIMESTAMP:
        return True
    same = (before.kind, before.epoch, before.members) == (after.kind, after.epoch, after.members)
    return same and before.state not in SETTLED


def number_of(row: GroupHistoryRow | None) -> tuple[str, int | None] | None:
    """Return what counts a group's rebalances: ("generation", 3) or ("epoch", 3); None without a group."""
    if row is None:
        return None
    return ("generation", row.generation) if row.epoch is None else ("epoch", row.epoch)
