"""Replays the rows of a partition once more, up to its moment, for what single records did: markers, and records of groups."""

from collections.abc import Iterable, Iterator

from offsets_tool.as_of.snapshot import PartitionSnapshot
from offsets_tool.columns.reading import RowsRead
from offsets_tool.columns.replay.row_events import rows_below
from offsets_tool.columns.replay.rows_replay import ReplayedEvent, RowsReplay
from offsets_tool.columns.replay.state import MarkersReplay
from offsets_tool.columns.replay.store import ReplayStore
from offsets_tool.replay.coordinator import Coordinator


def ended_by_markers(
    partition: PartitionSnapshot, coordinator: Coordinator, reads: Iterable[RowsRead]
) -> Iterator[ReplayedEvent]:
    """Yield the markers up to a moment, with their changes.

    `reads` are those from which the partition was replayed; `coordinator` starts anew, by the rules that were found to hold.
    """
    replay = MarkersReplay(coordinator)
    for rows in rows_below(reads, partition.end):
        for event, changes in replay.replay(rows):
            if event.control is not None:
                yield event, changes


def replayed_alone(
    partition: PartitionSnapshot, coordinator: Coordinator, reads: Iterable[RowsRead]
) -> Iterator[ReplayedEvent]:
    """Yield the records up to a moment that are replayed one at a time, with their changes: all records of groups are among them.

    `reads` are those from which the partition was replayed; `coordinator` starts anew, by the rules that were found to hold.
    """
    replay = RowsReplay(coordinator, ReplayStore(coordinator.state))
    for rows in rows_below(reads, partition.end):
        yield from replay.replay(rows)
