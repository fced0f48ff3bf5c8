"""Rows replayed so that removals are told of them, without histories: what RemovalTracker finds, and commits by column between.

Decides nothing: a tombstone, and what was written with one, is replayed alone and told to the tracker.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from offsets_tool.as_of.snapshot import PartitionSnapshot
from offsets_tool.columns.arrays import Array
from offsets_tool.columns.reading import RowsRead
from offsets_tool.columns.replay.columns_of_rows import are_there, numbers
from offsets_tool.columns.replay.compiled.tables import NONE, Kind, RowCell, RunCell
from offsets_tool.columns.replay.lifetime_store import LifetimeStore
from offsets_tool.columns.replay.row_events import with_raw
from offsets_tool.columns.replay.row_facts import observe_rows
from offsets_tool.columns.replay.rows_replay import RowsReplay
from offsets_tool.events import Event
from offsets_tool.expiry.forecast import PartitionRemovals, partition_removals
from offsets_tool.expiry.log_facts import LogFacts
from offsets_tool.expiry.removal_tracker import RemovalTracker
from offsets_tool.expiry.removals import DroppedCommit, Removal
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.handling import Reach

RemovalFound = Removal | DroppedCommit


def removals_by_rows(
    partition: PartitionSnapshot, coordinator: Coordinator, reads: Iterable[RowsRead], facts: LogFacts
) -> PartitionRemovals:
    """Return the removals of a partition, from the rows up to its moment; `facts` learns from them too.

    `coordinator` starts anew, by the rules that were found to hold.
    """
    replay = RemovalsReplay(coordinator, RemovalTracker(partition.log_partition))
    return partition_removals(partition, replay.tracker, _found(replay, partition.end, reads, facts))


def _found(
    replay: "RemovalsReplay", end: int, reads: Iterable[RowsRead], facts: LogFacts
) -> Iterator[RemovalFound]:
    for read in reads:
        if read.log is not None and read.events is not None:
            rows = with_raw(read.log, read.events)
            held = int(np.count_nonzero(rows.column("log_offset").to_numpy() < end))
            if held:
                yield from replay.told(rows.slice(0, held), facts)
    yield from replay.rest()


class RemovalsReplay(RowsReplay):
    """A replay whose removals are told as they are complete."""

    store: LifetimeStore

    def __init__(self, coordinator: Coordinator, tracker: RemovalTracker) -> None:
        """Start with what these know."""
        super().__init__(coordinator, LifetimeStore(coordinator.state, tracker))
        self.tracker = tracker
        self._kinds: Array = np.zeros(0, np.int64)
        self._writes: Array = np.zeros(0, np.int64)
        self._turns: Array = np.zeros(0, np.int64)
        """Where each write ends among the rows."""
        self._last_write: int | None = None
        self._closed: list[RemovalFound] = []

    def told(self, rows: pa.RecordBatch, facts: LogFacts) -> Iterator[RemovalFound]:
        """Replay rows and yield the removals that they complete."""
        for event, changes in self.replay(rows):
            facts.observe(event)
            yield from self._taken()
            yield from self.tracker.take_event(event, changes)
        yield from self._taken()
        observe_rows(facts, rows, self._kinds)

    def rest(self) -> Iterator[RemovalFound]:
        """Yield the removals that the end of the log completes; all that is known is with the tracker then."""
        self.settle()
        yield from self.tracker.close()

    def _taken(self) -> list[RemovalFound]:
        closed, self._closed = self._closed, []
        return closed

    def choose(self, rows: pa.RecordBatch, kinds: Array) -> None:
        """Replay alone what removes offsets."""
        kinds[kinds == Kind.TOMBSTONE] = Kind.ALONE
        self._kinds, self._writes = kinds, _writes(rows)
        self._turns = np.append(np.flatnonzero(np.diff(self._writes)) + 1, rows.num_rows)

    def expected(self, table: Array) -> Array:
        """Return the places of rows that will be replayed alone, and of ABORT markers, most of which drop something."""
        return np.flatnonzero(np.isin(table[RowCell.KIND], (Kind.ALONE, Kind.ABORT_MARKER)))

    def before_run(self, table: Array, row: int) -> int:
        """Complete the open removals, if the row was not written with them."""
        open_ = self.tracker.may_close(None)
        if open_ and row < table.shape[1]:
            if self._writes[row] == self._last_write:
                table[RowCell.KIND, row] = Kind.ALONE
            else:
                self._lend(open_)
                self._closed += self.tracker.close()
        return row

    def after_run(self, first: int, end: int) -> None:
        """Leave owners unanswered: nobody asks for them."""
        self.store.tables.run[RunCell.ASK_COUNT] = 0

    def before_alone(self, table: Array, row: int) -> None:
        """Give State all offsets at once that a write is about, and Lifetimes those of removals that may be complete."""
        write = int(self._writes[row])
        self._lend(self.tracker.may_close(write))
        if write != self._last_write:
            end = int(self._turns[np.searchsorted(self._turns, row, side="right")])
            subjects = np.unique(table[RowCell.SUBJECT, row:end])
            self.store.settle_some(subjects[subjects != NONE].tolist())

    def after_alone(self, table: Array, row: int) -> None:
        """Remember with which write the row came."""
        self._kinds[row] = Kind.ALONE
        self._last_write = int(self._writes[row])

    def give(self, reach: Reach, group: int, event: Event) -> None:
        """Give what replaying an event, and telling of it, may look at of a group."""
        self.store.give_change_time(group)
        super().give(reach, group, event)

    def end(self, table: Array) -> None:
        """Forget the rows of history that ended."""
        self.store.tables.run[RunCell.ENDED_COUNT] = 0
        super().end(table)

    def make_room(self) -> None:
        """Forget the rows of history that ended, and make room for more."""
        self.store.tables.run[RunCell.ENDED_COUNT] = 0
        super().make_room()

    def _lend(self, groups: Iterable[str]) -> None:
        for name in groups:
            group = self.store.subjects.groups.number(name)
            if group is not None:
                self.store.lend_lifetimes(group)


def _writes(rows: pa.RecordBatch) -> Array:
    """Return the base offset of each row's batch; its own offset without one."""
    base = rows.column("base_offset")
    return np.where(are_there(base), numbers(base, 0), rows.column("log_offset").to_numpy())
