"""Replays rows for a RemovalTracker, without histories: commits between removals are replayed by column.

Decides nothing: writes of tombstones that end commits and do nothing else are removed at once, and the tracker is given what each
group lost; other tombstones, and records written together with one, are replayed alone, and the tracker observes their changes.
"""

from collections.abc import Iterable, Iterator

import pyarrow as pa

from offsets_tool.as_of.snapshot import PartitionSnapshot
from offsets_tool.columns.arrays import Array
from offsets_tool.columns.reading import RowsRead
from offsets_tool.columns.replay.compiled.tables import Kind, RowCell, RunCell
from offsets_tool.columns.replay.ended_rows import dropped_commits
from offsets_tool.columns.replay.lifetime_store import LifetimeStore
from offsets_tool.columns.replay.row_events import rows_below
from offsets_tool.columns.replay.row_facts import observe_rows
from offsets_tool.columns.replay.tombstones.writes_replay import WritesReplay
from offsets_tool.expiry.forecast import PartitionRemovals, partition_removals
from offsets_tool.expiry.log_facts import LogFacts
from offsets_tool.expiry.removal_tracker import RemovalTracker
from offsets_tool.expiry.removals import DroppedCommit, Removal
from offsets_tool.replay.coordinator import Coordinator

RemovalFound = Removal | DroppedCommit


def removals_by_rows(
    partition: PartitionSnapshot, coordinator: Coordinator, reads: Iterable[RowsRead], facts: LogFacts
) -> PartitionRemovals:
    """Return the removals of a partition, from the rows up to its moment; `facts` observes these rows too.

    `coordinator` starts anew, by the rules that were found to hold.
    """
    replay = RemovalsReplay(coordinator, RemovalTracker(partition.log_partition))
    return partition_removals(partition, replay.tracker, _found(replay, partition.end, reads, facts), facts)


def _found(
    replay: "RemovalsReplay", end: int, reads: Iterable[RowsRead], facts: LogFacts
) -> Iterator[RemovalFound]:
    for rows in rows_below(reads, end):
        yield from replay.removals(rows, facts)
    yield from replay.rest()


class RemovalsReplay(WritesReplay):
    """A replay that finds removals, which it returns once they are complete."""

    store: LifetimeStore

    def __init__(self, coordinator: Coordinator, tracker: RemovalTracker) -> None:
        """Start with what the coordinator's state and the tracker hold."""
        super().__init__(coordinator, LifetimeStore(coordinator.state, tracker))
        self.tracker = tracker
        self._closed: list[RemovalFound] = []

    def removals(self, rows: pa.RecordBatch, facts: LogFacts) -> Iterator[RemovalFound]:
        """Replay rows and yield the removals that they complete."""
        for event, changes in self.replay(rows):
            facts.observe_type(event)
            yield from self._take_closed()
            yield from self.tracker.take_event(event, changes)
        yield from self._take_closed()
        observe_rows(facts, rows, self.kinds)

    def rest(self) -> Iterator[RemovalFound]:
        """Yield the removals that the end of the log completes; afterwards the tracker holds all lifetimes and times of change."""
        self.materialize()
        yield from self.tracker.close()

    def _take_closed(self) -> list[RemovalFound]:
        closed, self._closed = self._closed, []
        return closed

    def before_run(self, table: Array, row: int) -> int:
        """Complete the open removals, if the row was not written with them."""
        open_ = self.tracker.may_close(None)
        if open_ and row < table.shape[1]:
            if self.writes[row] == self.last_write or self.goes_on(table, row, self.tracker):
                table[RowCell.KIND, row] = Kind.ALONE
            else:
                self.store.materialize_lifetimes(open_)
                self._closed += self.tracker.close()
        return row

    def after_run(self, first: int, end: int) -> None:
        """Keep removals that are complete and the commits that ABORT markers dropped; drop the questions for owners, which only a
        history asks.
        """
        for change in self.store.take_made(self.coordinator.log_partition):
            self._closed += self.tracker.take(change, is_by_new_coordinator=None)
        for tombstones in self.take_removals():
            self._closed += self.tracker.take_tombstones(tombstones)
        tables = self.store.tables
        tables.run[RunCell.ASK_COUNT] = 0
        if tables.run[RunCell.CLOSED_COUNT]:
            ended = tables.ended[: tables.run[RunCell.ENDED_COUNT]]
            for dropped in dropped_commits(ended, self.store, self.coordinator.log_partition):
                self._closed += dropped
            tables.forget_ended()

    def before_alone(self, table: Array, row: int) -> None:
        """Copy to Lifetimes what removals that may be complete need, and move to State the offsets of the row's write."""
        self.store.materialize_lifetimes(self.tracker.may_close(int(self.writes[row])))
        super().before_alone(table, row)
