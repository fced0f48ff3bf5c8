"""Replays rows of one log partition: runs of commits, markers and tombstones by compiled code, other records one at a time.

Before an event is replayed alone, what its handler may look at is moved to State, and nothing more. State is complete after
`materialize`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import address
from offsets_tool.columns.replay.columns_of_rows import are_there, numbers
from offsets_tool.columns.replay.compiled.run import replay_run
from offsets_tool.columns.replay.compiled.tables import (
    NONE,
    Kind,
    OffsetCell,
    ProducerCell,
    RowCell,
    RunCell,
    Stop,
)
from offsets_tool.columns.replay.lifetime_store import LifetimeStore
from offsets_tool.columns.replay.row_events import ExpectedEvents, RowEvents
from offsets_tool.columns.replay.row_table import are_in_sole_writes, row_kinds
from offsets_tool.columns.replay.store import ReplayStore
from offsets_tool.events import Event
from offsets_tool.expiry.lifetimes import LeftOffsets
from offsets_tool.expiry.removal_tracker import RemovalTracker
from offsets_tool.replay.changes import Change, ChangeKind, LogOf, OffsetOf
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.handling import Reach
from offsets_tool.replay.rules import Rules, wrote_new_in
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
        self._events: Final = RowEvents()
        self.table: Array = np.zeros((len(RowCell), 0), np.int64)
        """The cells of the rows that are being replayed."""

    def replay(self, rows: pa.RecordBatch) -> Iterator[ReplayedEvent]:
        """Replay rows (row_events.COLUMNS); yield the events that were replayed alone, with their changes; exhaust it."""
        kinds = row_kinds(rows, is_proof_alone=self.is_unproved)
        self.choose(rows, kinds)
        table = self.table = self.store.begin(rows, kinds)
        events = ExpectedEvents(self._events, rows, self.expected(table))
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

    def end(self, table: Array) -> None:
        """End the rows that were replayed last, given their table."""
        self.store.end(table)

    def make_room(self) -> None:
        """Make room for the rows that end in the next step."""
        tables = self.store.tables
        tables.make_room_for_ended(int(tables.producers[:, ProducerCell.COUNT].max()))

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
                self._load(table, row)
            elif stop == _FULL:
                self.make_room()
            else:
                return row

    def _load(self, table: Array, row: int) -> None:
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


class WritesReplay(RowsReplay):
    """A RowsReplay that replays tombstones of offsets write by write: at once if they end commits that hold and do nothing else.

    Other tombstones are replayed alone, and all offsets of their write are moved to State at once.
    """

    store: LifetimeStore

    def __init__(self, coordinator: Coordinator, store: LifetimeStore) -> None:
        """Start with what the coordinator's state and the store's tracker hold."""
        super().__init__(coordinator, store)
        self.kinds: Array = np.zeros(0, np.int64)
        """What the rows that were taken last are: those that were replayed alone are ALONE."""
        self.writes: Array = np.zeros(0, np.int64)
        """The base offset of each row's batch; its own offset without one."""
        self.last_write: int | None = None
        """The write of the last row that was replayed alone."""
        self._ends: Array = np.zeros(0, np.int64)
        """Where each write ends among the rows."""

    def choose(self, rows: pa.RecordBatch, kinds: Array) -> None:
        """Mark tombstones as ALONE, in place, but those in writes of nothing else; keep the kinds and the write of each row."""
        base = rows.column("base_offset")
        self.kinds = kinds
        self.writes = np.where(are_there(base), numbers(base, 0), rows.column("log_offset").to_numpy())
        self._ends = np.append(np.flatnonzero(np.diff(self.writes)) + 1, rows.num_rows)
        are_sole = are_in_sole_writes(kinds, self._ends, rows.column("timestamp").to_numpy())
        kinds[(kinds == _TOMBSTONE) & ~are_sole] = _ALONE

    def replay_write(self, table: Array, row: int, events: ExpectedEvents) -> int:
        """Replay a write of tombstones at once, or mark its rows as ALONE; return the row behind it, or this one."""
        if table[_KIND, row] != _TOMBSTONE:
            return row
        rows = slice(row, self._end_of_write(row))
        tables = self.store.tables
        while len(tables.ended) - tables.run[RunCell.ENDED_COUNT] < rows.stop - row:
            self.make_room()
        place = self.coordinator.log_partition, row, 0, int(self.writes[row])
        changes = self.store.remove(table, rows, Change(*place, ChangeKind.DELETED, LogOf(None)))
        if not changes:
            table[_KIND, rows] = _ALONE
            return row
        left = self.store.left_of(
            {each.subject.group for each in changes if isinstance(each.subject, OffsetOf)}
        )
        is_by_new = wrote_new_in(events.batch_of_commit(row))
        self.observe_removals(changes, left, is_by_new_coordinator=is_by_new)
        return rows.stop

    def observe_removals(
        self,
        changes: Sequence[Change],
        left: Mapping[str, LeftOffsets],
        *,
        is_by_new_coordinator: bool | None,
    ) -> None:
        """Observe a write of tombstones, which ended commits and did nothing else; `left` is by group. By default do nothing."""

    def goes_on(self, table: Array, row: int, tracker: RemovalTracker) -> bool:
        """Return whether a row was written with removals of offsets by records that were replayed alone."""
        if not tracker.may_close(None):
            return False
        at, when = table[[RowCell.LOG_OFFSET, RowCell.TIMESTAMP], row].tolist()
        kind = ChangeKind.DELETED if table[_KIND, row] == _TOMBSTONE else ChangeKind.SET
        return tracker.belongs(int(self.writes[row]), at, when, kind)

    def _end_of_write(self, row: int) -> int:
        return int(self._ends[np.searchsorted(self._ends, row, side="right")])

    def before_alone(self, table: Array, row: int) -> None:
        """Move to State all offsets that a write is about: a tombstone is most often followed by others in its batch."""
        if self.writes[row] == self.last_write:
            return
        end = self._end_of_write(row)
        if end > row + 1:
            subjects = np.unique(table[RowCell.SUBJECT, row:end])
            self.store.materialize_some(subjects[subjects != NONE].tolist())

    def after_alone(self, table: Array, row: int) -> None:
        """Remember with which write the row came."""
        self.kinds[row] = table[_KIND, row] = _ALONE
        self.last_write = int(self.writes[row])

    def materialize_reach(self, reach: Reach, group: int, event: Event) -> None:
        """Move to State and to the tracker what the handler of an event may look at of a group."""
        self.store.materialize_change_time(group)
        super().materialize_reach(reach, group, event)
