"""Moves lifetimes of offsets between the tables of a replay by column and a RemovalTracker, as ReplayStore does for State.

Decides nothing.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.compiled.tables import (
    NONE,
    FactCell,
    GroupCell,
    LifetimeStatus,
    OffsetCell,
    RowCell,
    RunCell,
    StoredIn,
)
from offsets_tool.columns.replay.store import ReplayStore
from offsets_tool.expiry.lifetimes import LeftOffsets, Lifetime
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
        made = self.tables.made[: self.tables.run[RunCell.MADE_COUNT]].tolist()
        self.tables.run[RunCell.MADE_COUNT] = 0
        for group, at, when in made:
            self.materialize_simple_group(group)
            name = self.subjects.groups.texts[group]
            subject, now = GroupOf(name), self.state.groups[name]
            yield Change(log_partition, at, when, at, ChangeKind.SET, subject, None, now)

    def remove(self, table: Array, rows: slice, change: Change) -> list[Change]:
        """Remove the committed offsets that the tombstones of a write, `rows` of a table, are about; return the change of each.

        Return none, and remove none, where they may do more: where commits are pending, one offset is removed twice, or a group
        loses its last offset. `change` is that of any of them, but for its place and subject. Lifetimes has the offsets then, as
        they were; rows of history that ended are in the tables, which must have room for them.
        """
        subjects, cells = table[RowCell.SUBJECT, rows], self.tables.offsets
        groups = cells[subjects, OffsetCell.GROUP].tolist()
        for group in dict.fromkeys(groups):
            if self.tables.groups[group, GroupCell.IS_OUTSIDE]:
                self.load_group(group)
        numbers, held = subjects.tolist(), cells[subjects, OffsetCell.STORED_IN] == StoredIn.HERE
        lost = Counter(compress(groups, held.tolist()))
        if len(set(numbers)) < len(numbers) or any(
            self._may_do_more(group, lost[group]) for group in set(groups)
        ):
            return []
        for group in set(groups):
            self.materialize_change_time(group)
            self.tables.groups[group, GroupCell.IN_TABLES] -= lost[group]
        ended = subjects[held]
        places = table[[RowCell.LOG_OFFSET, RowCell.TIMESTAMP], rows]
        self.tables.end_deleted(ended, *places[:, held])
        commits = list(self.commits(ended))
        self._materialize_lifetimes(ended.tolist(), commits)
        cells[ended, OffsetCell.STORED_IN] = StoredIn.NOWHERE
        cells[ended, OffsetCell.LIFETIME] = LifetimeStatus.UNKNOWN
        before = dict(zip(ended.tolist(), commits, strict=True))
        offsets = self.subjects.offsets
        return [
            change._replace(log_offset=at, timestamp=when, subject=offsets[number], before=before.get(number))
            for number, at, when in zip(numbers, *places.tolist(), strict=True)
        ]

    def _may_do_more(self, group: int, lost: int) -> bool:
        """Return whether tombstones that remove so many offsets of a group, all in the tables, may do more than that."""
        line = self.tables.groups[group]
        if line[GroupCell.PENDING] or line[GroupCell.IN_TABLES] == lost:
            return True
        name = self.subjects.groups.texts[group]
        return bool(self.state.pending) and any(True for _ in self.state.pending_for(name))

    def left_of(self, groups: Iterable[str]) -> dict[str, LeftOffsets]:
        """Return by group the offsets that it has, given the groups' names: those in the tables and those of which no row told."""
        return {name: self._in_tables(name).and_others(self._in_state(name)) for name in groups}

    def _in_state(self, name: str) -> dict[TopicPartition, Lifetime]:
        known = self._removals.lifetimes.of_group(name)
        return {at: known[at] for at in self.state.offsets.get(name, ()) if at in known}

    def _in_tables(self, name: str) -> LeftOffsets:
        group = self.subjects.groups.number(name)
        numbers = self.offsets_in_tables(group) if group is not None else np.zeros(0, np.int64)
        lines = self.tables.offsets[numbers]
        known = lines[:, OffsetCell.LIFETIME] == LifetimeStatus.KNOWN
        numbers, lines = numbers[known], lines[known]
        committed, expires = lines[:, FactCell.COMMIT_TIMESTAMP], lines[:, FactCell.EXPIRE_TIMESTAMP]
        is_own = expires != NONE
        # The time to expiry wraps as int64 does; with its sign it is the whole.
        lasting = (
            np.where(is_own, expires - committed, 0),
            np.where(is_own, np.where(expires < committed, 1, 2), 0),
        )
        kinds = np.stack((self.subjects.topics_of(numbers), lines[:, FactCell.TOPIC_ID], *lasting))
        order = np.lexsort((committed, *kinds))
        is_first = np.append(True, (np.diff(kinds[:, order]) != 0).any(axis=0))[: len(order)]
        some = numbers[order[is_first]]
        lifetimes = self._lifetimes(some.tolist(), self.commits(some))
        return LeftOffsets(
            len(numbers), {TopicPartition(each.topic, each.partition): of for each, of in lifetimes}
        )

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
        lines = self.tables.offsets[numbers, OffsetCell.LIFETIME :].tolist()
        for number, (life, began, at, topic_id), commit in zip(numbers, lines, commits, strict=True):
            if life != LifetimeStatus.UNKNOWN:
                yield (
                    self.subjects.offsets[number],
                    Lifetime(
                        commit,
                        None if began == NONE else began,
                        None if at == NONE else at,
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
