"""What a partition's groups lost, as rows that are told once they are complete: beside histories, and settled with them.

Pure over events and their Changes, from the first record of the partition on, or from a saved RemovalLog.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from offsets_tool.events import Event
from offsets_tool.expiry.removal_tracker import RemovalTracker, TrackerState
from offsets_tool.expiry.removals import DroppedCommit, Removal
from offsets_tool.expiry.rows import RemovalRow, dropped_row, removal_row
from offsets_tool.replay.changes import Change


class RemovalLogState(NamedTuple):
    """All that a RemovalLog knows, to go on from (checkpoint)."""

    removals: TrackerState
    complete: list[RemovalRow]
    """Which were not settled."""


class RemovalLog:
    """Of one log partition."""

    def __init__(self, log_partition: int | None, memory: RemovalLogState | None = None) -> None:
        """With `memory`, goes on from there."""
        self.tracker = RemovalTracker(log_partition, memory and memory.removals)
        self._complete = memory.complete if memory else []

    def memory(self) -> RemovalLogState:
        """What it knows at this moment."""
        return RemovalLogState(self.tracker.memory(), self._complete)

    def fold(self, event: Event, changes: Sequence[Change]) -> None:
        """An event and what it did. Of groups that `may_close` names, `removals.lifetimes` has to have all offsets."""
        self._add(self.tracker.take_event(event, changes))

    def may_close(self, event: Event) -> Iterable[str]:
        """The groups of which something may be complete when this event comes."""
        batch = event.record.batch
        return self.tracker.may_close(event.record.log_offset if batch is None else batch.base_offset)

    def close(self) -> None:
        """What comes next belongs to nothing that is open."""
        self._add(self.tracker.close())

    def settled(self, before: int) -> list[RemovalRow]:
        """The rows that ended below this offset of the log and were not told yet."""
        told = [row for row in self._complete if _end(row) < before]
        self._complete = [row for row in self._complete if _end(row) >= before]
        return told

    def unsettled(self) -> Iterator[RemovalRow]:
        """The rows that are not told yet, complete or not."""
        yield from self._complete
        for removal in self.tracker.open_removals():
            yield removal_row(removal, is_open=True)

    def _add(self, losses: Iterable[Removal | DroppedCommit]) -> None:
        """Of one event, at most."""
        by_marker: dict[tuple[str, str], list[DroppedCommit]] = {}
        for loss in losses:
            if isinstance(loss, Removal):
                self._complete.append(removal_row(loss, is_open=False))
            else:
                by_marker.setdefault((loss.pending.group, loss.kind), []).append(loss)
        self._complete += map(dropped_row, by_marker.values())


def _end(row: RemovalRow) -> int:
    assert row.to_log_offset is not None
    return row.to_log_offset
