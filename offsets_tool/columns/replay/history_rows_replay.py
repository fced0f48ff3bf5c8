"""Replays rows for histories: yields rows that ended by column, and rows of History and RemovalLog from events replayed alone.

History handles all records of one write together, so rows that were written with an event replayed alone are replayed alone too.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.columns_of_rows import behind_gaps
from offsets_tool.columns.replay.compiled.tables import (
    MARKERS,
    GroupCell,
    Kind,
    ProducerCell,
    RowCell,
    RunCell,
    StoredIn,
)
from offsets_tool.columns.replay.ended_rows import dropped_commits, ended_rows, transaction_rows
from offsets_tool.columns.replay.history_store import HistoryStore
from offsets_tool.columns.replay.rows_replay import ReplayedEvent
from offsets_tool.columns.replay.tombstones.writes_replay import WritesReplay
from offsets_tool.events import Event
from offsets_tool.expiry.removal_log import RemovalLog
from offsets_tool.expiry.rows import RemovalRow
from offsets_tool.history.history import History, RowChange, ended_by
from offsets_tool.history.row_builders import compared_offset
from offsets_tool.history.rows import HistoryRow
from offsets_tool.history.transactions import TransactionLog, TransactionRow
from offsets_tool.replay.changes import Change, GroupOf, MemberOf
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.handling import Reach

# Python 3.11 looks members of an enumeration up slowly, and these are asked for at each row.
_KIND: Final = int(RowCell.KIND)
_TIMESTAMP: Final = int(RowCell.TIMESTAMP)
_ALONE: Final = int(Kind.ALONE)


class HistoryRowsReplay(WritesReplay):
    """A replay by rows with a History, a RemovalLog and a TransactionLog; call `observe` with each event that it yields."""

    store: HistoryStore

    def __init__(
        self, coordinator: Coordinator, history: History, removals: RemovalLog, transactions: TransactionLog
    ) -> None:
        """Start with what these know."""
        store = HistoryStore(coordinator.log_partition, coordinator.state, history, removals.tracker)
        super().__init__(coordinator, store)
        self.history = history
        self.removals = removals
        self.transactions = transactions
        self._has_write_ended = False
        """What a checkpoint has may still wait for what was written with it."""
        self._rows: list[HistoryRow | RemovalRow] = []
        self._columns: list[pa.RecordBatch] = []
        self._closed: list[pa.RecordBatch] = []

    def replay(self, rows: pa.RecordBatch) -> Iterator[ReplayedEvent]:
        """Replay rows as others do; the history observes their offsets, and the first gap between them, before."""
        if rows.num_rows:
            offsets = rows.column("log_offset").to_numpy()
            behind = behind_gaps(offsets)
            after_gap = int(behind[0]) if len(behind) else None
            self.history.observe_run(int(offsets[0]), int(offsets[-1]) + 1, after_gap)
        return super().replay(rows)

    def choose(self, rows: pa.RecordBatch, kinds: Array) -> None:
        """Choose as others do, and replay alone markers that were written with something else."""
        super().choose(rows, kinds)
        # A marker is alone in its batch, wherever brokers wrote it.
        marked = np.flatnonzero(np.isin(kinds, MARKERS))
        shared = np.isin(self.writes, self.writes[marked])
        if np.count_nonzero(shared) > len(marked):
            others = np.unique(self.writes[shared & ~np.isin(kinds, MARKERS)])
            kinds[np.isin(self.writes, others) & shared] = Kind.ALONE

    def before_run(self, table: Array, row: int) -> int:
        """End the last write, unless this row belongs to it; return the row at which compiled code begins."""
        if self._has_write_ended:
            return row
        end = table.shape[1]
        while row < end:
            table[_KIND, row] = self._kind(table, row)
            if not self._is_idle_marker(table, row):
                break
            row += 1
        if row < end and table[_KIND, row] != _ALONE:
            self.end_write()
        return row

    def _kind(self, table: Array, row: int) -> int:
        return _ALONE if self.is_joined(table, row) else int(table[_KIND, row])

    def is_joined(self, table: Array, row: int) -> bool:
        """Return whether a row is a part of the write of rows that were replayed alone right before it."""
        if self._has_write_ended:
            return False
        write = int(self.writes[row])
        is_next = self.history.is_next_of_write(write, int(table[_TIMESTAMP, row]))
        return write == self.last_write or is_next or self.goes_on(table, row, self.removals.tracker)

    def _is_idle_marker(self, table: Array, row: int) -> bool:
        """Return whether a row is a marker that ends nothing, so that it makes no change."""
        if int(table[_KIND, row]) not in MARKERS:
            return False
        producer = self.store.tables.producers[table[RowCell.PRODUCER, row]]
        return bool(producer[ProducerCell.OPEN] == StoredIn.NOWHERE)

    def after_run(self, first: int, end: int) -> None:
        """Make the groups that commits made, keep removals, and find the owners that were asked for."""
        for change in self.store.take_made(self.coordinator.log_partition):
            self.removals.observe_change(change)
            self.keep_changes(self.history.observe_alone(change))
        for tombstones in self.take_removals():
            self.removals.observe_tombstones(tombstones)
        if end > first:
            self.store.find_owners()

    def after_alone(self, table: Array, row: int) -> None:
        """Remember with which write the row came, which may go on."""
        super().after_alone(table, row)
        self._has_write_ended = False

    def end(self, table: Array) -> None:
        """End the rows that were replayed last."""
        super().end(table)
        self.store.prune_owners()

    def take_ended(self) -> None:
        """Keep the histories' rows that ended so far, as columns."""
        tables = self.store.tables
        ended = tables.ended[: tables.run[RunCell.ENDED_COUNT]]
        closed = tables.closed[: tables.run[RunCell.CLOSED_COUNT]]
        if len(ended):
            self._columns.append(ended_rows(ended, self.store))
            for dropped in dropped_commits(ended, self.store, self.coordinator.log_partition):
                self.removals.observe_dropped(dropped)
        if len(closed):
            self._closed.append(transaction_rows(closed, ended, self.store))
        tables.forget_ended()

    def materialize_reach(self, reach: Reach, group: int, event: Event) -> None:
        """Move to State all that the handler of an event may look at of a group, and to History what it may look at."""
        super().materialize_reach(reach, group, event)
        if (compared := compared_offset(event)) is not None:
            self.materialize_reached(group, {compared}, reach)

    def observe(self, event: Event, changes: Iterable[Change]) -> None:
        """Pass an event that was replayed alone, with its changes, to the observers, and collect the rows that ended."""
        self.store.materialize_lifetimes(self.removals.may_close(event))
        made = tuple(changes)
        self.removals.observe(event, made)
        self.transactions.observe(event, made)
        for change in made:
            self.keep_changes(self.history.row_changes(change))
        subjects = (change.subject for change in made)
        for group in {each.group for each in subjects if isinstance(each, GroupOf | MemberOf)}:
            self.raise_stamp(group)

    def keep_changes(self, row_changes: Sequence[RowChange]) -> None:
        """Keep what the changes of one batch, which were replayed alone, ended: by default rows of history, and anomalies."""
        self._rows += ended_by(row_changes)

    def take_rows(self) -> list[HistoryRow | RemovalRow | TransactionRow]:
        """Return, once, the rows that ended one by one, and anomalies."""
        rows, self._rows = self._rows, []
        settled = self.history.settled
        return [*rows, *self.removals.take_settled(settled), *self.transactions.take_settled(settled)]

    def take_columns(self) -> list[pa.RecordBatch]:
        """Return, once, the rows of offset_history that ended by column."""
        columns, self._columns = self._columns, []
        return columns

    def take_transactions(self) -> list[pa.RecordBatch]:
        """Return, once, the rows of transactions that ended by column."""
        columns, self._closed = self._closed, []
        return columns

    def end_write(self) -> None:
        """Complete the write of the events that were replayed alone: the next row was not written together with them."""
        if self._has_write_ended:
            return
        self._has_write_ended = True
        self.keep_changes(self.history.flush_row_changes())
        self.store.materialize_lifetimes(self.removals.tracker.may_close(None))
        self.removals.close()

    def materialize_others(self) -> Coordinator:
        """Return the coordinator; all but the committed offsets in the tables is in its state and with the observers."""
        self.store.materialize_others()
        self.store.materialize_lifetimes(self.removals.tracker.may_close(None))
        return self.coordinator

    def raise_stamp(self, name: str) -> None:
        """Note that a group changed: owners of its partitions are asked for again."""
        group = self.store.subjects.groups.number(name)
        if group is not None:
            self.store.tables.groups[group, GroupCell.STAMP] += 1
