"""Replays tombstones of offsets write by write: at once by compiled code, or alone where they may do more than to end commits.

Kafka writes the tombstones of offsets that it removes together, in one batch. Decides nothing.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import address
from offsets_tool.columns.replay.columns_of_rows import are_there, numbers
from offsets_tool.columns.replay.compiled.run import replay_write
from offsets_tool.columns.replay.compiled.tables import NONE, Kind, OffsetCell, RowCell, RunCell, Stop
from offsets_tool.columns.replay.lifetime_store import LifetimeStore
from offsets_tool.columns.replay.row_events import ExpectedEvents, batches_of
from offsets_tool.columns.replay.row_table import are_in_sole_writes
from offsets_tool.columns.replay.rows_replay import RowsReplay
from offsets_tool.events import Event
from offsets_tool.expiry.lifetimes import GroupTombstones
from offsets_tool.expiry.removal_tracker import RemovalTracker
from offsets_tool.replay.changes import ChangeKind
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.handling import Reach
from offsets_tool.replay.rules import wrote_new_in

# Python 3.11 looks members of an enumeration up slowly, and these are asked for at each row.
_KIND: Final = int(RowCell.KIND)
_ALONE: Final = int(Kind.ALONE)
_TOMBSTONE: Final = int(Kind.TOMBSTONE)
_LOAD: Final = int(Stop.LOAD)
_FULL: Final = int(Stop.FULL)


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
        self._written_by: dict[int, bool | None] = {}
        """Whether the new coordinator wrote the write of tombstones that begins with a row."""

    def choose(self, rows: pa.RecordBatch, kinds: Array) -> None:
        """Mark tombstones as ALONE, in place, but those in writes of nothing else; keep the kinds and the write of each row."""
        base = rows.column("base_offset")
        self.kinds = kinds
        self.writes = np.where(are_there(base), numbers(base, 0), rows.column("log_offset").to_numpy())
        self._ends = np.append(np.flatnonzero(np.diff(self.writes)) + 1, rows.num_rows)
        are_sole = are_in_sole_writes(kinds, self._ends, rows.column("timestamp").to_numpy())
        kinds[(kinds == _TOMBSTONE) & ~are_sole] = _ALONE
        begins = np.append(0, self._ends[:-1])
        of_tombstones = begins[kinds[begins] == _TOMBSTONE]
        written_by = map(wrote_new_in, batches_of(rows, of_tombstones))
        self._written_by = dict(zip(of_tombstones.tolist(), written_by, strict=True))

    def begin(self, table: Array) -> None:
        """Write to the table where the writes of tombstones end."""
        super().begin(table)
        places = np.flatnonzero(table[RowCell.KIND] == Kind.TOMBSTONE)
        table[RowCell.WRITE_END, places] = self._ends[np.searchsorted(self._ends, places, side="right")]

    def take_removals(self) -> Iterator[GroupTombstones]:
        """Yield, once, what the writes of tombstones did that compiled code has replayed."""
        return self.store.take_removals(self.table, self.writes, self._written_by)

    @property
    def most_ended(self) -> int:
        """How many rows of history may end at once: as many as a transaction has commits, or a write tombstones."""
        starts = np.array([*self._written_by], np.int64)
        sizes = self.table[RowCell.WRITE_END, starts] - starts
        return max(super().most_ended, int(sizes.max(initial=0)))

    def load(self, table: Array, row: int) -> None:
        """Load the groups that a row, or the write of tombstones that begins there, is about."""
        if table[RowCell.KIND, row] != Kind.TOMBSTONE:
            super().load(table, row)
            return
        for group in self._groups_of(table, row):
            self.store.load_group(group)

    def _groups_of(self, table: Array, row: int) -> list[int]:
        """Return the groups that the write of tombstones that begins with this row is about."""
        subjects = table[RowCell.SUBJECT, row : table[RowCell.WRITE_END, row]]
        groups: list[int] = np.unique(self.store.tables.offsets[subjects, OffsetCell.GROUP]).tolist()
        return groups

    def replay_write(self, table: Array, row: int, events: ExpectedEvents) -> int:
        """Mark the rows of a write of tombstones as ALONE, before which compiled code has stopped; return this row.

        Where it stopped as State knows producers, which may have no pending commits of these groups, replay the write at once and
        return the row behind it.
        """
        if table[_KIND, row] != _TOMBSTONE:
            return row
        end = int(table[RowCell.WRITE_END, row])
        is_apart = not any(map(self.store.has_pending, self._groups_of(table, row)))
        if is_apart and self.store.tables.run[RunCell.OUTSIDE] and self._replays_write(table, row):
            self.after_run(row, end)
            return end
        table[_KIND, row:end] = _ALONE
        events.expect(row, end)
        return row

    def _replays_write(self, table: Array, row: int) -> bool:
        """Replay a write by compiled code, if that can be done; return whether it was."""
        run = address(self.store.tables.run)
        while (stop := replay_write(run, row)) in (_LOAD, _FULL):
            if stop == _LOAD:
                self.load(table, row)
            else:
                self.make_room()
        return stop == Stop.END

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
