"""Moves open rows of committed offsets between the tables of a replay by column and History, as ReplayStore does for State.

History is asked for an owner once for each committed offset and change of its group. Decides nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.differences import differences
from offsets_tool.columns.replay.compiled.cells import BEGAN
from offsets_tool.columns.replay.compiled.tables import (
    NONE,
    AskCell,
    FactCell,
    GroupCell,
    OffsetCell,
    RunCell,
    StoredIn,
)
from offsets_tool.columns.replay.lifetime_store import LifetimeStore
from offsets_tool.expiry.removal_tracker import RemovalTracker
from offsets_tool.history.history import History
from offsets_tool.history.owners import Owner
from offsets_tool.history.row_builders import offset_row
from offsets_tool.history.rows import OffsetBeginCause, OffsetHistoryRow
from offsets_tool.replay.changes import (
    Change,
    ChangeKind,
    CommittedOffset,
    GroupKind,
    OffsetOf,
    PendingOf,
    TopicPartition,
)
from offsets_tool.replay.member_records import Client
from offsets_tool.replay.state import State

_OWNERS_KEPT: Final = 1 << 16


class OwnerNumbers:
    """Owners by the numbers that compiled code gave them."""

    def __init__(self) -> None:
        """Start without owners."""
        self.owners: list[Owner] = []
        self._places: dict[Owner, int] = {}
        self._by_number: Array = np.zeros(1 << 10, np.int64)
        self._count = 0

    def add(self, owner: Owner) -> int:
        """Return the number of an owner that was not asked for."""
        self.answer(np.array([self._count]), [self.place(owner)])
        return self._count - 1

    def place(self, owner: Owner) -> int:
        """Return the index of an owner in `owners`, where it is put if it is new."""
        place = self._places.setdefault(owner, len(self.owners))
        if place == len(self.owners):
            self.owners.append(owner)
        return place

    def answer(self, numbers: Array, places: Sequence[int]) -> None:
        """Give the owners at these places the numbers, the next ones, with which compiled code asked for them."""
        end = self._count + len(numbers)
        if end > len(self._by_number):
            more = np.zeros(max(end, len(self._by_number)), np.int64)
            self._by_number = np.concatenate((self._by_number, more))
        self._by_number[numbers] = places
        self._count = end

    @property
    def count(self) -> int:
        """The number that the next owner gets."""
        return self._count

    def of(self, numbers: Array) -> Array:
        """Return the index in `owners` of the owner with each of these numbers."""
        return self._by_number[numbers]

    def prune(self, *cells: Array) -> None:
        """Forget the owners whose numbers are not in these cells of tables, if they are many, and renumber the others."""
        if self._count < _OWNERS_KEPT + 4 * sum(map(len, cells)):
            return
        before = self.owners
        used, which = np.unique(np.concatenate([self.of(each) for each in cells]), return_inverse=True)
        self.owners = [before[place] for place in used.tolist()]
        self._places = {owner: place for place, owner in enumerate(self.owners)}
        self._count = len(self.owners)
        self._by_number = np.arange(max(1 << 10, 2 * self._count))
        at = 0
        for each in cells:
            each[:] = which[at : at + len(each)]
            at += len(each)


class HistoryStore(LifetimeStore):
    """A LifetimeStore that also has the open rows of offset_history: since when each commit holds, and who owned its partition."""

    def __init__(
        self, log_partition: int | None, state: State, history: History, removals: RemovalTracker
    ) -> None:
        """Start with what State, History and the tracker know."""
        super().__init__(state, removals)
        self.log_partition = log_partition
        self.owners = OwnerNumbers()
        self.history = history
        self._given: dict[int, OffsetHistoryRow] = {}
        """Rows of committed offsets, by number, that were given and not yet taken again."""

    def find_owners(self) -> None:
        """Find the owners that compiled code has asked for, by the present state of the groups."""
        run = self.tables.run
        asks = self.tables.asks[: run[RunCell.ASK_COUNT]]
        if not len(asks):
            return
        groups = self.subjects.group_of[asks[:, AskCell.SUBJECT]].tolist()
        nobody = {group: self._nobody(group) for group in set(groups)}
        places = [place for group in groups if (place := nobody[group]) is not None]
        if len(places) < len(groups):
            facts = asks[:, [AskCell.SUBJECT, AskCell.TOPIC_ID]].tolist()
            places = [
                self._owner_of(*fact) if (place := nobody[group]) is None else place
                for group, fact in zip(groups, facts, strict=True)
            ]
        self.owners.answer(asks[:, AskCell.OWNER], places)
        run[RunCell.ASK_COUNT] = 0

    def _nobody(self, group: int) -> int | None:
        """Return the place of the owner of all of a group's partitions; None where they may have several."""
        owners, name = self.history.owners, self.subjects.groups.texts[group]
        return None if owners.has_any(name) else self.owners.place(owners.nobody(name))

    def _owner_of(self, number: int, topic_id: int) -> int:
        offset = self.subjects.offsets[number]
        at = TopicPartition(offset.topic, offset.partition)
        return self.owners.place(self.history.owners.of(offset.group, at, self.topic_ids.ids[topic_id]))

    def hold(self, count: int, cells: Mapping[int, Array]) -> None:
        """Take the first so many committed offsets, which have numbers but no lines yet, into the tables, given these cells.

        ValueError if State has one of them.
        """
        self.add_lines(0)
        lines = self.tables.offsets[:count]
        if (lines[:, OffsetCell.STORED_IN] != StoredIn.NOWHERE).any():
            raise ValueError("a committed offset comes twice")
        for cell, column in cells.items():
            lines[:, cell] = column
        lines[:, OffsetCell.STORED_IN] = StoredIn.HERE
        np.add.at(self.tables.groups[:, GroupCell.IN_TABLES], lines[:, OffsetCell.GROUP], 1)
        self.tables.chain(np.arange(count))
        self.tables.run[RunCell.NEXT_OWNER] = self.owners.count

    def prune_owners(self) -> None:
        """Forget owners of commits that hold no more, if they are many."""
        offsets, slots = self.tables.offsets, self.tables.slots
        self.owners.prune(offsets[:, FactCell.OWNER], offsets[:, OffsetCell.OWNER], slots[:, FactCell.OWNER])
        self.tables.run[RunCell.NEXT_OWNER] = self.owners.count

    def put(self, numbers: Sequence[int], commits: Iterable[CommittedOffset]) -> None:
        """Put commits of offsets, given by number, into State, their open rows into History, their lifetimes into Lifetimes."""
        held = list(commits)
        super().put(numbers, held)
        offsets = [self.subjects.offsets[number] for number in numbers]
        rows = self._rows(self.tables.offsets[numbers], offsets, held)
        for offset, row in zip(offsets, rows, strict=True):
            self.history.put_row(offset, row)
        self._given |= zip(numbers, rows, strict=True)

    def materialize_pending_commit(self, producer_id: int, offset: OffsetOf, slot: int) -> None:
        """Put one pending commit of a producer, the one in line `slot`, into State, History and the tracker."""
        super().materialize_pending_commit(producer_id, offset, slot)
        pending = PendingOf(producer_id, *offset)
        waiting = self.state.pending[producer_id][offset]
        [row] = self._rows(self.tables.slots[slot : slot + 1], [offset], [waiting.commit])
        self.history.put_row(pending, row)

    def take(self, number: int, line: Array) -> bool:
        """Move a committed offset from State, History and Lifetimes to its `line`; return whether State had it."""
        offset, given = self.subjects.offsets[number], self._given.pop(number, None)
        if not super().take(number, line):
            return False
        row = self.history.take_row(offset)
        if row is given:
            # The line still says so.
            return True
        line[FactCell.FROM_LOG_OFFSET] = row.from_log_offset
        line[FactCell.FROM_TIMESTAMP] = row.from_timestamp
        line[FactCell.BEGIN_CAUSE] = BEGAN.index(OffsetBeginCause(row.begin_cause))
        line[FactCell.IS_EFFECTIVE] = row.is_effective
        line[FactCell.HAS_BEFORE] = row.delta is not None
        line[FactCell.BEFORE] = row.committed_offset - (row.delta or 0)
        line[FactCell.OWNER] = self.owners.add(_owner(row))
        self.tables.run[RunCell.NEXT_OWNER] = self.owners.count
        line[FactCell.PRODUCER] = (
            NONE if row.producer_id is None else self.subjects.producer_number(row.producer_id)
        )
        noop = row.noop_tombstone_log_offset
        line[FactCell.NOOP_TOMBSTONE] = NONE if noop is None else noop
        return True

    def rows_of(self, lines: Array, numbers: Array) -> list[tuple[OffsetHistoryRow, CommittedOffset]]:
        """Return the open row and the commit of each line that begins with FactCell, given the numbers of the offsets."""
        offsets = [self.subjects.offsets[number] for number in numbers.tolist()]
        commits = list(self.commits_of(lines))
        return list(zip(self._rows(lines, offsets, commits), commits, strict=True))

    def _rows(
        self, lines: Array, offsets: Sequence[OffsetOf], commits: Sequence[CommittedOffset]
    ) -> list[OffsetHistoryRow]:
        """Return the open rows of offset_history of commits that hold, given their lines."""
        deltas, has_delta = (column.tolist() for column in deltas_of(lines))
        places = self.owners.of(lines[:, FactCell.OWNER]).tolist()
        facts = lines[:, : len(FactCell)].tolist()
        return [
            self._row(line, offset, commit, delta if has else None, self.owners.owners[place])
            for line, offset, commit, delta, has, place in zip(
                facts, offsets, commits, deltas, has_delta, places, strict=True
            )
        ]

    def _row(
        self, line: list[int], offset: OffsetOf, commit: CommittedOffset, delta: int | None, owner: Owner
    ) -> OffsetHistoryRow:
        at, when = line[FactCell.FROM_LOG_OFFSET], line[FactCell.FROM_TIMESTAMP]
        change = Change(self.log_partition, at, when, at, ChangeKind.SET, offset, None, commit)
        known = self.history.as_known(owner, commit)
        row = offset_row(change, offset, commit, known, delta)
        producer, noop = line[FactCell.PRODUCER], line[FactCell.NOOP_TOMBSTONE]
        return row._replace(
            is_effective=bool(line[FactCell.IS_EFFECTIVE]),
            begin_cause=BEGAN[line[FactCell.BEGIN_CAUSE]],
            producer_id=None if producer == NONE else self.subjects.producer(producer),
            noop_tombstone_log_offset=None if noop == NONE else noop,
        )


def _owner(row: OffsetHistoryRow) -> Owner:
    """Return the owner that a row of history names."""
    client = Client(row.instance_id, row.client_id, row.client_host)
    kind = None if row.group_kind is None else GroupKind(row.group_kind)
    facts = row.generation, row.group_epoch, row.member_epoch, row.member_id
    return Owner(kind, *facts, client, row.is_owner_known)


def deltas_of(lines: Array) -> tuple[Array, Array]:
    """Return how far each commit moved its offset, given lines that begin with FactCell, and which did, as History has it."""
    committed, before = lines[:, FactCell.COMMITTED_OFFSET], lines[:, FactCell.BEFORE]
    return differences(committed, before), (lines[:, FactCell.HAS_BEFORE] != 0) & (committed >= 0) & (
        before >= 0
    )
