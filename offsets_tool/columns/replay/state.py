"""Replay many at a time: rows of `events` in, the coordinator's state as Coordinator.replay would have made it, record by record.

What replay would say on the way is not said. Knows no history.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.compiled.tables import (
    MARKERS,
    Kind,
    ProducerCell,
    RowCell,
    RunCell,
    StoredIn,
)
from offsets_tool.columns.replay.postponed import Postponed
from offsets_tool.columns.replay.row_events import COLUMNS as EVENT_COLUMNS
from offsets_tool.columns.replay.rows_replay import RowsReplay
from offsets_tool.columns.replay.store import ReplayStore
from offsets_tool.events import Event
from offsets_tool.replay.changes import Change, ChangeKind, Transaction, TransactionOf
from offsets_tool.replay.coordinator import Coordinator

COLUMNS: Final = (*EVENT_COLUMNS, "value_json")
"""The columns that rows must have: those of `events`, and `magic`, `key` and `value` of `log`."""


class StateReplay(RowsReplay):
    """A Coordinator that takes rows. Its state is whole after `materialize`."""

    def __init__(self, coordinator: Coordinator) -> None:
        """Start with what the coordinator's state holds."""
        super().__init__(coordinator, ReplayStore(coordinator.state))
        self._postponed = Postponed(coordinator, self.events)
        self.late: list[Change] = []
        """Anomalies of records that were replayed later than they came, for the caller to empty."""

    def choose(self, rows: pa.RecordBatch, kinds: Array) -> None:
        """Pass over records of groups that can be replayed later."""
        others = np.flatnonzero(~np.isin(kinds, (Kind.COMMIT, Kind.PENDING)))
        if len(others):
            taken, due = self._postponed.take(rows, others, self.doubtful)
            kinds[taken] = Kind.PASSED
            self._replay_late(due)

    def materialize(self) -> Coordinator:
        """Return the coordinator, with everything that was replayed or put off in its state."""
        self._replay_late(self._postponed.rest())
        return super().materialize()

    def _replay_late(self, events: Iterable[Event]) -> None:
        for event in events:
            self.late += [change for change in self.coordinator.replay(event) if change.is_anomaly]


class MarkersReplay(StateReplay):
    """A StateReplay that yields each marker with the transaction that it ended, and no other changes."""

    def choose(self, rows: pa.RecordBatch, kinds: Array) -> None:
        """Stop at every marker."""
        super().choose(rows, kinds)
        self._kinds = kinds.copy()
        kinds[np.isin(kinds, MARKERS)] = Kind.ALONE

    def replay_row(self, table: Array, row: int, event: Event) -> tuple[Change, ...]:
        """Look at the producer's transaction before compiled code ends it."""
        if self._kinds[row] not in MARKERS:
            return super().replay_row(table, row, event)
        store, producer = self.store, int(table[RowCell.PRODUCER, row])
        ended = store.tables.producers[producer, ProducerCell.OPEN] == StoredIn.HERE
        before = store.transaction(producer) if ended else None
        table[RowCell.KIND, row] = self._kinds[row]
        store.tables.run[RunCell.END] = row + 1
        is_done = self.run_rows(table, row) > row
        store.tables.run[RunCell.END] = table.shape[1]
        if not is_done:
            return super().replay_row(table, row, event)
        return () if before is None else (_ended(before, event),)


def _ended(before: Transaction, event: Event) -> Change:
    """Return the change by which a marker ends a transaction."""
    record, marker = event.record, event.control
    assert marker is not None
    at = record.log_offset if record.batch is None else record.batch.base_offset
    return Change(
        record.log_partition,
        record.log_offset,
        record.timestamp,
        at,
        ChangeKind.COMMITTED if marker.type == "COMMIT" else ChangeKind.ABORTED,
        TransactionOf(before.producer_id),
        before,
    )
