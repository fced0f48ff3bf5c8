"""Replays rows of one log partition: runs of commits, markers and tombstones by compiled code, other records one at a time.

Before an event is replayed alone, what its handler may look at is moved to State, and nothing more. State is complete after
`materialize`.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import address
from offsets_tool.columns.replay.compiled.run import replay_run
from offsets_tool.columns.replay.compiled.tables import (
    Kind,
    OffsetCell,
    ProducerCell,
    RowCell,
    RunCell,
    Stop,
)
from offsets_tool.columns.replay.row_events import ExpectedEvents, RowEvents
from offsets_tool.columns.replay.row_table import doubtful_rows, row_kinds
from offsets_tool.columns.replay.store import ReplayStore
from offsets_tool.events import Event
from offsets_tool.replay.changes import Change, OffsetOf
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.handling import Reach
from offsets_tool.replay.rules import Rules
from offsets_tool.rows import NO_PRODUCER_ID

ReplayedEvent = tuple[Event, tuple[Change, ...]]
"""An event that was replayed alone, and its changes."""


# Python 3.11 looks members of an enumeration up slowly, and these are asked for at each row.
_KIND: Final = int(RowCell.KIND)
_ALONE: Final = int(Kind.ALONE)
_TOMBSTONE: Final = int(Kind.TOMBSTONE)
_LOAD: Final = int(Stop.LOAD)
_FULL: Final = int(Stop.FULL)


class RowsReplay:
    """Replays rows into a coordinator, in the order of their offsets."""

    def __init__(self, coordinator: Coordinator, store: ReplayStore) -> None:
        """Start with what the coordinator's state holds."""
        self.coordinator = coordinator
        self.store = store
        self.events: Final = RowEvents()
        self.table: Array = np.zeros((len(RowCell), 0), np.int64)
        """The cells of the rows that are being replayed."""
        self.doubtful: Array = np.zeros(0, bool)
        """Which of these rows State must see one at a time, as it has subjects of theirs that were not understood."""

    def replay(self, rows: pa.RecordBatch) -> Iterator[ReplayedEvent]:
        """Replay rows (row_events.COLUMNS); yield the events that were replayed alone, with their changes; exhaust it."""
        kinds = row_kinds(rows, is_proof_alone=self.is_unproved)
        self.doubtful = doubtful_rows(rows, self.coordinator.state.unread, kinds)
        kinds[self.doubtful] = Kind.ALONE
        self.choose(rows, kinds)
        table = self.table = self.store.begin(rows, kinds)
        self.begin(table)
        events = ExpectedEvents(self.events, rows, self.expected(table))
        row = 0
        while (row := self.run_rows(table, row)) < rows.num_rows:
            if (end := self.replay_write(table, row, events)) > row:
                row = end
                continue
            event = events.at(row)
            self.before_alone(table, row)
            yield event, self.replay_row(table, row, event)
            self.after_alone(table, row)
            row += 1
        self.end(table)

    def begin(self, table: Array) -> None:
        """Complete the table of the rows that will be replayed next; by default do nothing."""

    def end(self, table: Array) -> None:
        """End the rows that were replayed last, given their table."""
        self.take_ended()
        self.store.end(table)

    def make_room(self) -> None:
        """Make room for the rows of history that end in the next step, if there is none; what removals left has been read."""
        if not self.store.tables.has_room_for_ended(self.most_ended):
            self.take_ended()
            self.store.tables.make_room_for_ended(self.most_ended)

    def take_ended(self) -> None:
        """Take the rows of history and the transactions that ended out of the tables; by default forget them."""
        self.store.tables.forget_ended()

    @property
    def most_ended(self) -> int:
        """How many rows of history may end at once: as many as a transaction has commits."""
        return int(self.store.tables.producers[:, ProducerCell.COUNT].max())

    def materialize(self) -> Coordinator:
        """Return the coordinator, with everything that was replayed in its state."""
        self.store.materialize()
        return self.coordinator

    @property
    def is_unproved(self) -> bool:
        """Whether a record may still prove which rules hold."""
        return self.coordinator.auto and self.coordinator.proved_at is None

    def choose(self, rows: pa.RecordBatch, kinds: Array) -> None:
        """Change the `kinds` of rows in place, for a replay that handles some of them in another way; by default do nothing."""

    def expected(self, table: Array) -> Array:
        """Return the indices of the rows that will probably be replayed alone, whose events are made together."""
        return np.flatnonzero(table[RowCell.KIND] == Kind.ALONE)

    def before_run(self, table: Array, row: int) -> int:
        """Return where compiled code begins, by default at this row."""
        return row

    def after_run(self, first: int, end: int) -> None:
        """React to a run of rows that compiled code has replayed, from row `first` up to `end`; by default do nothing."""

    def replay_write(self, table: Array, row: int, events: ExpectedEvents) -> int:
        """Replay the write that begins with this row at once, if that can be done; return the row behind it (here: this one)."""
        return row

    def before_alone(self, table: Array, row: int) -> None:
        """React to a row that will be replayed alone; by default do nothing."""

    def after_alone(self, table: Array, row: int) -> None:
        """React to a row that was replayed alone; by default do nothing."""

    def run_rows(self, table: Array, row: int) -> int:
        """Replay rows from `row` on until one has to be replayed alone; return its index, or the number of rows."""
        if row < table.shape[1] and table[_KIND, row] == _ALONE:
            return row
        tables = self.store.tables
        tables.run[RunCell.IS_NEW] = self.coordinator.rules is Rules.NEW
        run = address(tables.run)
        first = row = self.before_run(table, row)
        while True:
            row, stop = replay_run(run, row)
            self.after_run(first, row)
            first = row
            if stop == _LOAD:
                self.load(table, row)
            elif stop == _FULL:
                self.make_room()
            else:
                return row

    def load(self, table: Array, row: int) -> None:
        """Load the groups that a row is about."""
        store, kind = self.store, table[RowCell.KIND, row]
        if kind != Kind.COMMIT_MARKER:
            store.load_group(int(store.tables.offsets[table[RowCell.SUBJECT, row], OffsetCell.GROUP]))
        else:
            for group in store.groups_of(int(table[RowCell.PRODUCER, row])):
                store.load_group(group)

    def replay_row(self, table: Array, row: int, event: Event) -> tuple[Change, ...]:
        """Replay a row alone, and return its changes."""
        return self._replay_alone(event)

    def _replay_alone(self, event: Event) -> tuple[Change, ...]:
        producer = self._producer(event)
        if producer is not None:
            self.store.materialize_transaction(producer)
        reaches = self.coordinator.reach(event)
        for reach in reaches:
            group = self.store.subjects.groups.number(reach.group)
            if group is not None:
                self.materialize_reach(reach, group, event)
        changes = self.coordinator.replay(event)
        for reach in reaches:
            group = self.store.subjects.groups.number(reach.group)
            if group is not None:
                self.store.look_up_group(group)
        if producer is not None:
            self.store.look_up_producer(producer)
        return changes

    def _producer(self, event: Event) -> int | None:
        """Return the number of the producer whose transaction an event may look at."""
        producer_id = event.record.producer_id
        if producer_id is None or producer_id == NO_PRODUCER_ID:
            return None
        return self.store.subjects.producer_number(producer_id)

    def materialize_reach(self, reach: Reach, group: int, event: Event) -> None:
        """Move to State what the handler of an event may look at of a group: all of its offsets if State has no such group."""
        store = self.store
        store.materialize_simple_group(group)
        if reach.asks_for_any or reach.asks_for_all:
            store.materialize_pending(group)
        if reach.asks_for_all or reach.group not in store.state.groups:
            store.materialize_some(store.subjects.of_group(group).tolist())
        elif reach.reads_offsets:
            self.materialize_reached(group, {OffsetOf(reach.group, *at) for at in reach.offsets}, reach)

    def materialize_reached(self, group: int, offsets: Iterable[OffsetOf], reach: Reach) -> None:
        """Move some offsets of a group to State; and one more, if the handler asks whether there are others and State has none."""
        store = self.store
        known = (store.subjects.number(offset) for offset in offsets)
        wanted = [number for number in known if number is not None]
        store.materialize_some(wanted)
        there = store.state.offsets.get(reach.group, ())
        if reach.asks_for_any and len(there) <= len(wanted):
            store.materialize_one(group)
