"""Removals of one log partition as rows, which are returned once they are complete.

A pure function of events and their Changes, from the partition's first record or a saved state on.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from offsets_tool.events import Event
from offsets_tool.expiry.removal_tracker import RemovalTracker, TrackerState
from offsets_tool.expiry.removals import DroppedCommit, Removal
from offsets_tool.expiry.rows import RemovalRow, removal_rows
from offsets_tool.replay.changes import Change


class RemovalLogState(NamedTuple):
    """All that a RemovalLog needs to go on later, as a checkpoint keeps it."""

    removals: TrackerState
    complete: list[RemovalRow]
    """Complete rows that were not returned yet."""


class RemovalLog:
    """The removals of one log partition as rows: `observe` takes events, `take_settled` and `unsettled` return rows."""

    def __init__(self, log_partition: int | None, saved: RemovalLogState | None = None) -> None:
        """Start without removals, or from a saved state (`saved`)."""
        self.tracker = RemovalTracker(log_partition, saved and saved.removals)
        self._complete = saved.complete if saved else []

    def saved_state(self) -> RemovalLogState:
        """Return the state of these removals to save it; save it at once, because `observe` goes on changing the same objects."""
        return RemovalLogState(self.tracker.saved_state(), self._complete)

    def observe(self, event: Event, changes: Sequence[Change]) -> None:
        """Observe an event and its changes; keep the rows of removals that it completes."""
        self.add(self.tracker.take_event(event, changes))

    def take_settled(self, before: int) -> list[RemovalRow]:
        """Return, once, the complete rows that ended below this offset of the log."""
        settled = [row for row in self._complete if _end(row) < before]
        self._complete = [row for row in self._complete if _end(row) >= before]
        return settled

    def unsettled(self) -> Iterator[RemovalRow]:
        """Yield the rows that `take_settled` has not returned, complete or not."""
        yield from self._complete
        yield from removal_rows(self.tracker.open_removals(), are_open=True)

    def add(self, removals: Iterable[Removal | DroppedCommit]) -> None:
        """Keep the rows of one event's removals; commits that one marker dropped are one row."""
        self._complete += removal_rows(removals)


def _end(row: RemovalRow) -> int:
    assert row.to_log_offset is not None
    return row.to_log_offset
