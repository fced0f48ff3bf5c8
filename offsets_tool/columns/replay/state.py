"""Replay many at a time: rows of `events` in, the coordinator's state as Coordinator.replay would have made it, record by record.

What replay would say on the way is not said. Knows no history.
"""

from typing import Final

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.compiled.tables import Kind
from offsets_tool.columns.replay.replaced import are_replaced
from offsets_tool.columns.replay.row_events import COLUMNS as EVENT_COLUMNS
from offsets_tool.columns.replay.rows_replay import RowsReplay
from offsets_tool.columns.replay.store import HeldStore
from offsets_tool.replay.coordinator import Coordinator

COLUMNS: Final = (*EVENT_COLUMNS, "value_json")
"""What a row must have: columns of `events`, and magic, raw key and value of `log`."""


class StateReplay(RowsReplay):
    """A Coordinator that takes rows. Its state is whole after `settle`."""

    def __init__(self, coordinator: Coordinator) -> None:
        """Start with what the coordinator's state holds."""
        super().__init__(coordinator, HeldStore(coordinator.state))

    def choose(self, rows: pa.RecordBatch, kinds: Array) -> None:
        """Pass over classic groups' records that are replaced at once."""
        others = np.flatnonzero(~np.isin(kinds, (Kind.COMMIT, Kind.PENDING)))
        if len(others):
            replaced = are_replaced(rows.take(pa.array(others)), proved=not self.is_unproved)
            kinds[others[replaced]] = Kind.PASSED


class MarkersReplay(StateReplay):
    """A StateReplay that replays each marker alone, so that its changes tell of the transaction that it ended."""

    def choose(self, rows: pa.RecordBatch, kinds: Array) -> None:
        """Replay markers alone."""
        super().choose(rows, kinds)
        kinds[np.isin(kinds, (Kind.COMMIT_MARKER, Kind.ABORT_MARKER))] = Kind.ALONE
