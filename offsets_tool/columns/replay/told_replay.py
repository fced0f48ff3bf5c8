"""Rows replayed so that histories are told of them: what ended by column, and what was replayed alone by History and RemovalLog.

What Kafka wrote at once is told at once (history.history): so a row that was written with one that was replayed alone is so too.
"""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.columns_of_rows import are_there, numbers
from offsets_tool.columns.replay.compiled.tables import (
    MARKERS,
    NONE,
    GroupCell,
    HeldBy,
    Kind,
    OffsetCell,
    Present,
    ProducerCell,
    RowCell,
    RunCell,
)
from offsets_tool.columns.replay.ended_rows import ended_rows
from offsets_tool.columns.replay.history_store import HistoryStore
from offsets_tool.columns.replay.rows_replay import RowsReplay
from offsets_tool.events import Event
from offsets_tool.expiry.removal_log import RemovalLog
from offsets_tool.expiry.rows import RemovalRow
from offsets_tool.history.history import History, compared_offset
from offsets_tool.history.rows import HistoryRow
from offsets_tool.replay.changes import Change, GroupOf, MemberOf
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.handling import Reach


class ToldReplay(RowsReplay):
    """A replay whose events are to be told (`tell`) as they come; rows that ended are taken after each batch."""

    store: HistoryStore

    def __init__(self, coordinator: Coordinator, history: History, removals: RemovalLog) -> None:
        """Start with what these know."""
        store = HistoryStore(coordinator.log_partition, coordinator.state, history, removals.tracker)
        super().__init__(coordinator, store)
        self.history = history
        self.removals = removals
        self.kinds: Array = np.zeros(0, np.int64)
        """What the rows that were taken last are: those that were replayed alone are ALONE."""
        self._writes: Array = np.zeros(0, np.int64)
        self._last_write: int | None = None
        self._is_page_turned = False
        """What a checkpoint has may still wait for what was written with it."""
        self._rows: list[HistoryRow | RemovalRow] = []
        self._columns: list[pa.RecordBatch] = []

    def choose(self, rows: pa.RecordBatch, kinds: Array) -> None:
        """Replay alone what removes offsets, and markers that were written with something else."""
        self.kinds, self._writes = kinds, _writes(rows)
        kinds[kinds == Kind.TOMBSTONE] = Kind.ALONE
        # A marker is alone in its batch, wherever brokers wrote it.
        marked = np.flatnonzero(np.isin(kinds, MARKERS))
        shared = np.isin(self._writes, self._writes[marked])
        if np.count_nonzero(shared) > len(marked):
            others = np.unique(self._writes[shared & ~np.isin(kinds, MARKERS)])
            kinds[np.isin(self._writes, others) & shared] = Kind.ALONE

    def expected(self, table: Array) -> Array:
        """Return the places of rows that will be replayed alone, the first commits of groups and their writes among them."""
        alone = table[RowCell.KIND] == Kind.ALONE
        tables, subjects = self.store.tables, table[RowCell.SUBJECT]
        places = np.flatnonzero(subjects != NONE)
        groups = tables.offsets[subjects[places], OffsetCell.GROUP]
        absent = tables.groups[groups, GroupCell.PRESENT] == Present.NO
        _, first = np.unique(groups[absent], return_index=True)
        writes = self._writes[places[absent][first]]
        return np.flatnonzero(alone | np.isin(self._writes, writes))

    def before_run(self, table: Array, row: int) -> int:
        """Turn the page, if the row was not written with the last one that was replayed alone; return where the run begins."""
        if self._is_page_turned:
            return row
        end = table.shape[1]
        while row < end:
            table[RowCell.KIND, row] = self._kind(table, row)
            if not self._is_idle_marker(table, row):
                break
            row += 1
        if row < end and table[RowCell.KIND, row] != Kind.ALONE:
            self._turn_page()
        return row

    def _kind(self, table: Array, row: int) -> int:
        """Return what a row is, right behind one that was replayed alone."""
        write = int(self._writes[row])
        is_joined = write == self._last_write or self.history.is_next_of_write(
            write, int(table[RowCell.TIMESTAMP, row])
        )
        return Kind.ALONE if is_joined else int(table[RowCell.KIND, row])

    def _is_idle_marker(self, table: Array, row: int) -> bool:
        """Return whether a row is a marker that ends nothing, which nobody tells of."""
        if table[RowCell.KIND, row] not in MARKERS:
            return False
        producer = self.store.tables.producers[table[RowCell.PRODUCER, row]]
        return bool(producer[ProducerCell.OPEN] == HeldBy.NOWHERE)

    def after_run(self, first: int, end: int) -> None:
        """Find the owners that were asked for."""
        if end > first:
            self.store.find_owners()

    def before_alone(self, table: Array, row: int) -> None:
        """Give State all offsets at once that a write is about: what removes some is most often followed by more."""
        if self._writes[row] == self._last_write:
            return
        end = row + 1
        while end < table.shape[1] and self._writes[end] == self._writes[row]:
            end += 1
        if end > row + 1:
            subjects = np.unique(table[RowCell.SUBJECT, row:end])
            self.store.settle_some(subjects[subjects != NONE].tolist())

    def after_alone(self, table: Array, row: int) -> None:
        """Remember with which write the row came."""
        table[RowCell.KIND, row] = Kind.ALONE
        self.kinds[row] = Kind.ALONE
        self._last_write = int(self._writes[row])
        self._is_page_turned = False

    def end(self, table: Array) -> None:
        """Take the rows that ended."""
        run = self.store.tables.run
        ended = self.store.tables.ended[: run[RunCell.ENDED_COUNT]]
        if len(ended):
            self._columns.append(ended_rows(ended, self.store))
        run[RunCell.ENDED_COUNT] = 0
        super().end(table)
        self.store.prune_owners()

    def make_room(self) -> None:
        """Take the rows that ended, and make room for more."""
        run = self.store.tables.run
        self._columns.append(ended_rows(self.store.tables.ended[: run[RunCell.ENDED_COUNT]], self.store))
        run[RunCell.ENDED_COUNT] = 0
        super().make_room()

    def give(self, reach: Reach, group: int, event: Event) -> None:
        """Give all that a history may look at of a group, beside what its State may."""
        self.store.give_change_time(group)
        super().give(reach, group, event)
        if (compared := compared_offset(event)) is not None:
            self.give_some(group, {compared}, reach)

    def tell(self, event: Event, changes: Iterable[Change]) -> None:
        """Tell what an event did, that was replayed alone."""
        self._lend(self.removals.may_close(event))
        made = tuple(changes)
        self.removals.fold(event, made)
        for change in made:
            self._rows += self.history.fold(change)
            if isinstance(change.subject, GroupOf | MemberOf):
                self._raise_stamp(change.subject.group)

    def taken_rows(self) -> list[HistoryRow | RemovalRow]:
        """Return, once, the rows that ended one by one, and anomalies."""
        rows, self._rows = self._rows, []
        return rows + self.removals.settled(self.history.settled)

    def taken_columns(self) -> list[pa.RecordBatch]:
        """Return, once, the rows of offset_history that ended by column."""
        columns, self._columns = self._columns, []
        return columns

    def _turn_page(self) -> None:
        """Tell what was replayed alone: what comes now was not written with it."""
        self._is_page_turned = True
        self._rows += self.history.flush()
        self._lend(self.removals.tracker.may_close(None))
        self.removals.close()

    def _lend(self, groups: Iterable[str]) -> None:
        """Lend Lifetimes all offsets of groups whose removals may be complete: what a removal left is all that its group has."""
        for name in groups:
            group = self.store.subjects.groups.number(name)
            if group is not None:
                self.store.lend_lifetimes(group)

    def _raise_stamp(self, name: str) -> None:
        group = self.store.subjects.groups.number(name)
        if group is not None:
            self.store.tables.groups[group, GroupCell.STAMP] += 1


def _writes(rows: pa.RecordBatch) -> Array:
    """Return the base offset of each row's batch; its own offset without one."""
    base = rows.column("base_offset")
    return np.where(are_there(base), numbers(base, 0), rows.column("log_offset").to_numpy())
