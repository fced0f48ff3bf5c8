"""Moves lifetimes of offsets between the tables of a replay by column and a RemovalTracker, as ReplayStore does for State.

Decides nothing.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.compiled.tables import (
    NONE,
    GroupCell,
    LifetimeStatus,
    OffsetCell,
    Present,
    RowCell,
    StoredIn,
)
from offsets_tool.columns.replay.store import ReplayStore
from offsets_tool.expiry.lifetimes import Lifetime
from offsets_tool.expiry.removal_tracker import RemovalTracker
from offsets_tool.replay.changes import Change, CommittedOffset, OffsetOf, PendingOf
from offsets_tool.replay.state import State


class LifetimeStore(ReplayStore):
    """A ReplayStore that also knows how long offsets have existed, and when groups last changed."""

    def __init__(self, state: State, removals: RemovalTracker) -> None:
        """Start with what State and the tracker know."""
        super().__init__(state, has_history=True)
        self._removals = removals

    def materialize(self) -> None:
        """Move everything that the tables hold to State, Lifetimes and the tracker."""
        for group in np.flatnonzero(self.tables.groups[:, GroupCell.CHANGED] != NONE).tolist():
            self.materialize_change_time(group)
        super().materialize()

    def materialize_change_time(self, group: int) -> None:
        """Move the time of a group's last change, if the tables have one, to the tracker."""
        line = self.tables.groups[group]
        if line[GroupCell.CHANGED] != NONE:
            self._removals.mark_changed(self.subjects.groups.texts[group], int(line[GroupCell.CHANGED]))
            line[GroupCell.CHANGED] = NONE

    def can_remove(self, subjects: Array) -> bool:
        """Return whether the tombstones of one write, given their committed offsets, do no more than end commits that hold.

        They may, where commits are pending, one offset is removed twice, or a simple group loses its last offset. Loads the groups.
        """
        tables, cells = self.tables, self.tables.offsets
        groups = np.unique(cells[subjects, OffsetCell.GROUP])
        for group in groups[tables.groups[groups, GroupCell.IS_OUTSIDE] != 0].tolist():
            self.load_group(group)
        lines = tables.groups[groups]
        if lines[:, GroupCell.PENDING].any() or len(np.unique(subjects)) < len(subjects):
            return False
        names = [self.subjects.groups.texts[group] for group in groups.tolist()]
        if self.state.pending and any(True for name in names for _ in self.state.pending_for(name)):
            return False
        held = cells[subjects, OffsetCell.STORED_IN] == StoredIn.HERE
        removed = np.bincount(
            np.searchsorted(groups, cells[subjects[held], OffsetCell.GROUP]), minlength=len(groups)
        )
        is_empty = lines[:, GroupCell.IN_TABLES] == removed
        return not (is_empty & (lines[:, GroupCell.PRESENT] == Present.SIMPLE)).any()

    def remove(self, table: Array, rows: slice, change: Change) -> list[Change]:
        """Remove the committed offsets that the tombstones in `rows` of a table are about; return the change of each.

        `change` is that of any of them, but for its place and subject. Lifetimes has all offsets of their groups then, as they were
        before; rows of history that ended are in the tables, which must have room for them.
        """
        subjects, cells = table[RowCell.SUBJECT, rows], self.tables.offsets
        held = cells[subjects, OffsetCell.STORED_IN] == StoredIn.HERE
        ended = subjects[held]
        groups, lost = np.unique(cells[subjects, OffsetCell.GROUP], return_inverse=True)
        for group in groups.tolist():
            self.materialize_change_time(group)
        self.materialize_lifetimes([self.subjects.groups.texts[group] for group in groups.tolist()])
        before = self.commits(ended)
        places = table[[RowCell.LOG_OFFSET, RowCell.TIMESTAMP], rows].T.tolist()
        changes = [
            change._replace(
                log_offset=at,
                timestamp=when,
                subject=self.subjects.offsets[number],
                before=next(before) if is_held else None,
            )
            for (at, when), number, is_held in zip(places, subjects.tolist(), held.tolist(), strict=True)
        ]
        self.tables.end_deleted(
            ended, table[RowCell.LOG_OFFSET, rows][held], table[RowCell.TIMESTAMP, rows][held]
        )
        cells[ended, OffsetCell.STORED_IN] = StoredIn.NOWHERE
        cells[ended, OffsetCell.LIFETIME] = LifetimeStatus.UNKNOWN
        self.tables.groups[groups, GroupCell.IN_TABLES] -= np.bincount(lost[held], minlength=len(groups))
        return changes

    def put(self, numbers: Sequence[int], commits: Iterable[CommittedOffset]) -> None:
        """Put the commits of offsets, given by their numbers, into State, and their lifetimes into Lifetimes."""
        held = list(commits)
        super().put(numbers, held)
        self._materialize_lifetimes(numbers, held)

    def materialize_lifetimes(self, groups: Iterable[str]) -> None:
        """Copy the lifetimes of all offsets of some groups to Lifetimes: a complete removal says which of them it left."""
        for name in groups:
            group = self.subjects.groups.number(name)
            numbers = self.offsets_in_tables(group) if group is not None else None
            if numbers is not None and len(numbers):
                self._materialize_lifetimes(numbers.tolist(), self.commits(numbers))

    def _materialize_lifetimes(self, numbers: Sequence[int], commits: Iterable[CommittedOffset]) -> None:
        lines = self.tables.offsets[numbers, OffsetCell.LIFETIME :].tolist()
        for number, (life, began, at, topic_id), commit in zip(numbers, lines, commits, strict=True):
            if life != LifetimeStatus.UNKNOWN:
                lived = Lifetime(
                    commit,
                    None if began == NONE else began,
                    None if at == NONE else at,
                    self.topic_ids.ids[topic_id],
                    life == LifetimeStatus.DOUBTFUL,
                )
                self._removals.lifetimes.put(self.subjects.offsets[number], lived)

    def materialize_pending_commit(self, producer_id: int, offset: OffsetOf, slot: int) -> None:
        """Put one pending commit, the one in line `slot`, into State and the tracker."""
        super().materialize_pending_commit(producer_id, offset, slot)
        self._removals.put_pending(PendingOf(producer_id, *offset), self.state.pending[producer_id][offset])

    def take(self, number: int, line: Array) -> bool:
        """Move a committed offset and its lifetime from State and Lifetimes to its `line`; return whether State had the offset."""
        self._take_lifetime(self.subjects.offsets[number], line)
        return super().take(number, line)

    def _take_lifetime(self, offset: OffsetOf, line: Array) -> None:
        lived = self._removals.lifetimes.get(offset)
        line[OffsetCell.LIFETIME] = LifetimeStatus.UNKNOWN
        if lived is not None:
            line[OffsetCell.LIFETIME] = LifetimeStatus.DOUBTFUL if lived.is_doubtful else LifetimeStatus.KNOWN
            line[OffsetCell.BEGAN] = NONE if lived.began_at is None else lived.began_at
            line[OffsetCell.COMMITTED_AT] = NONE if lived.committed_at is None else lived.committed_at
            line[OffsetCell.LIFETIME_TOPIC_ID] = self.topic_ids.number(lived.topic_id)
