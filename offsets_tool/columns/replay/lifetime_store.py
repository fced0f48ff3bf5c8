"""Moves lifetimes of offsets between the tables of a replay by column and a RemovalTracker, as ReplayStore does for State.

Decides nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.compiled.removal_tables import TombstoneCell
from offsets_tool.columns.replay.compiled.tables import (
    NONE,
    GroupCell,
    LifetimeStatus,
    OffsetCell,
    RowCell,
    RunCell,
)
from offsets_tool.columns.replay.store import ReplayStore
from offsets_tool.expiry.lifetimes import GroupTombstones, LeftOffset, LeftOffsets, Lifetime, Tombstone
from offsets_tool.expiry.removal_tracker import RemovalTracker
from offsets_tool.replay.changes import (
    Change,
    ChangeKind,
    CommittedOffset,
    GroupOf,
    OffsetOf,
    PendingOf,
    TopicPartition,
)
from offsets_tool.replay.state import State


class LifetimeStore(ReplayStore):
    """A ReplayStore that also knows how long offsets have existed, and when groups last changed."""

    def __init__(self, state: State, removals: RemovalTracker) -> None:
        """Start with what State and the tracker know."""
        super().__init__(state, has_history=True)
        self._removals = removals

    def materialize_others(self) -> None:
        """Move everything but committed offsets and their lifetimes to State and the tracker."""
        for group in np.flatnonzero(self.tables.groups[:, GroupCell.CHANGED] != NONE).tolist():
            self.materialize_change_time(group)
        super().materialize_others()

    def materialize_change_time(self, group: int) -> None:
        """Move the time of a group's last change, if the tables have one, to the tracker."""
        line = self.tables.groups[group]
        if line[GroupCell.CHANGED] != NONE:
            self._removals.mark_changed(self.subjects.groups.texts[group], int(line[GroupCell.CHANGED]))
            line[GroupCell.CHANGED] = NONE

    def take_made(self, log_partition: int | None) -> Iterator[Change]:
        """Make the simple groups in State that compiled code has made, and yield the change of each."""
        run = self.tables.run
        if not run[RunCell.MADE_COUNT]:
            return
        made = self.tables.made[: run[RunCell.MADE_COUNT]].tolist()
        run[RunCell.MADE_COUNT] = 0
        for group, at, when in made:
            self.materialize_simple_group(group)
            name = self.subjects.groups.texts[group]
            subject, now = GroupOf(name), self.state.groups[name]
            yield Change(log_partition, at, when, at, ChangeKind.SET, subject, None, now)

    def has_pending(self, group: int) -> bool:
        """Return whether State has pending commits of a group."""
        name = self.subjects.groups.texts[group]
        return bool(self.state.pending) and any(True for _ in self.state.pending_for(name))

    def take_removals(
        self, table: Array, writes: Array, written_by: Mapping[int, bool | None]
    ) -> Iterator[GroupTombstones]:
        """Yield what writes of tombstones did to each group, which compiled code has replayed; call it before State changes.

        Of the rows in `table`, `writes` has the batches, and `written_by` whether the new coordinator wrote the write that begins
        there. The tracker knows when the group had changed.
        """
        run = self.tables.run
        if not run[RunCell.REMOVAL_COUNT]:
            return
        tombstones = self._tombstones(table)
        left = iter(self._left_in_tables())
        removals = self.tables.removals[: run[RunCell.REMOVAL_COUNT]].tolist()
        run[RunCell.REMOVAL_COUNT] = run[RunCell.TOMBSTONE_COUNT] = run[RunCell.LEFT_COUNT] = 0
        for (group, row, changed, number, kinds), went in zip(removals, tombstones, strict=True):
            name = self.subjects.groups.texts[group]
            if changed != NONE:
                self._removals.mark_changed(name, changed)
            there = LeftOffsets(number, tuple(islice(left, kinds))).and_others(self._in_state(name))
            yield GroupTombstones(name, int(writes[row]), went, there, written_by[row])

    def _tombstones(self, table: Array) -> list[list[Tombstone]]:
        """Return the tombstones of each removal."""
        run, offsets = self.tables.run, self.subjects.offsets
        lines = self.tables.tombstones[: run[RunCell.TOMBSTONE_COUNT]]
        ended = lines[:, TombstoneCell.ENDED]
        commits = self.commits_of(self.tables.ended[ended[ended != NONE]])
        rows = lines[:, TombstoneCell.ROW]
        places = [
            table[cell, rows].tolist() for cell in (RowCell.SUBJECT, RowCell.LOG_OFFSET, RowCell.TIMESTAMP)
        ]
        found: list[list[Tombstone]] = [[] for _ in range(run[RunCell.REMOVAL_COUNT])]
        for (removal, _, at, life, began, committed), number, log_offset, timestamp in zip(
            lines.tolist(), *places, strict=True
        ):
            before = None if at == NONE else next(commits)
            is_known = before is not None and life != LifetimeStatus.UNKNOWN
            times = (_time(began), _time(committed)) if is_known else (None, None)
            found[removal].append(Tombstone(offsets[number], log_offset, timestamp, before, *times))
        return found

    def _left_in_tables(self) -> list[LeftOffset]:
        """Return what the removals left, in their order."""
        offsets, ids = self.subjects.offsets, self.topic_ids.ids
        lines = self.tables.left[: self.tables.run[RunCell.LEFT_COUNT]].tolist()
        return [
            LeftOffset(offsets[number].topic, offsets[number].partition, committed, expires, ids[topic_id])
            for number, committed, expires, topic_id in lines
        ]

    def _in_state(self, name: str) -> dict[TopicPartition, Lifetime]:
        known = self._removals.lifetimes.of_group(name)
        return {at: known[at] for at in self.state.offsets.get(name, ()) if at in known}

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
        for offset, lifetime in self._lifetimes(numbers, commits):
            self._removals.lifetimes.put(offset, lifetime)

    def _lifetimes(
        self, numbers: Sequence[int], commits: Iterable[CommittedOffset]
    ) -> Iterator[tuple[OffsetOf, Lifetime]]:
        lines = self.tables.offsets[numbers, OffsetCell.LIFETIME : OffsetCell.LIFETIME_TOPIC_ID + 1].tolist()
        for number, (life, began, at, topic_id), commit in zip(numbers, lines, commits, strict=True):
            if life != LifetimeStatus.UNKNOWN:
                yield (
                    self.subjects.offsets[number],
                    Lifetime(
                        commit,
                        _time(began),
                        _time(at),
                        self.topic_ids.ids[topic_id],
                        life == LifetimeStatus.DOUBTFUL,
                    ),
                )

    def materialize_pending_commit(self, producer_id: int, offset: OffsetOf, slot: int) -> None:
        """Put one pending commit, the one in line `slot`, into State and the tracker."""
        super().materialize_pending_commit(producer_id, offset, slot)
        self._removals.state.put(PendingOf(producer_id, *offset), self.state.pending[producer_id][offset])

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


def _time(cell: int) -> int | None:
    return None if cell == NONE else cell
