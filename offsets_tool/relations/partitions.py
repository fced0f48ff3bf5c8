"""What the rows of one log partition of an evidence come to, up to a moment: rows of all histories, by group, and removals.

Offsets stay in columns until their group is asked for. Decides nothing: histories are those of relations.histories.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.as_of.snapshot import PartitionSnapshot
from offsets_tool.columns.arrays import Array
from offsets_tool.columns.findings import PartitionColumns
from offsets_tool.columns.reading import RowsRead
from offsets_tool.columns.replay.columns_of_rows import encoded, numbers
from offsets_tool.columns.replay.history import HistoryRows, Start
from offsets_tool.columns.replay.row_events import BYTES, rows_below
from offsets_tool.columns.sorted_offsets import rows_of
from offsets_tool.expiry.forecast import PartitionRemovals, partition_removals
from offsets_tool.expiry.removals import DroppedCommit, Removal
from offsets_tool.expiry.rows import RemovalRow
from offsets_tool.findings.group_rows import GroupRow, LogStretch
from offsets_tool.findings.record_sums import RecordSums
from offsets_tool.history.owners import NameOf
from offsets_tool.history.rows import AnomalyRow, GroupHistoryRow, HistoryRow, MemberHistoryRow
from offsets_tool.history.transactions import TransactionRow
from offsets_tool.relations.histories import Histories
from offsets_tool.wire.text import from_shown

_KINDS: Final[dict[str, type[HistoryRow | TransactionRow]]] = {
    "groups": GroupHistoryRow,
    "members": MemberHistoryRow,
    "anomalies": AnomalyRow,
    "transactions": TransactionRow,
}
"""The relations of which rows are made, and their rows."""


class ReplayedColumns(NamedTuple):
    """What a replay of one log partition by rows comes to: rows of histories and transactions, and those of offsets in columns."""

    rows: list[GroupRow]
    offsets: pa.Table
    stretch: LogStretch
    sums: RecordSums
    removals: PartitionRemovals

    def with_rows(self, more: Iterable[GroupRow]) -> PartitionColumns:
        """Return all these rows by group, with others that no history has."""
        return PartitionColumns([*self.rows, *more], self.offsets, self.stretch, self.sums)


def replayed_columns(
    partition: PartitionSnapshot, reads: Iterable[RowsRead], name_of: NameOf
) -> ReplayedColumns:
    """Return what a partition comes to up to its moment, by the rules that were found to hold; `reads` are all its rows."""
    used = partition.coordinator
    start = Start(partition.log_partition, rules=None if used.auto else used.rules)
    histories, sums = _RemovalsAsTheyAre(start, name_of), RecordSums(partition.log_partition)
    made: list[HistoryRows] = []
    for page in rows_below(reads, partition.end):
        observe_batch(sums, page)
        made.append(histories.replay(page))
    tables = HistoryRows(*map(pa.Table.from_batches, zip(*made, *histories.finish(), strict=True)))
    rows: list[GroupRow] = []
    for name, kind in _KINDS.items():
        rows += rows_of(kind, getattr(tables, name))
    stretch = LogStretch(
        partition.log_partition, partition.coverage.proven_from, partition.end, partition.cut.newest_timestamp
    )
    live = histories.live_state()
    removals = partition_removals(
        partition, live.changed, live.lifetimes, histories.removals, histories.facts
    )
    return ReplayedColumns(rows, tables.offsets, stretch, sums, removals)


class _RemovalsAsTheyAre(Histories):
    """Histories that keep removals as they are, and make no rows of them."""

    def __init__(self, start: Start, name_of: NameOf) -> None:
        super().__init__(start, name_of)
        self.removals: list[Removal | DroppedCommit] = []

    def removal_rows(
        self, removals: Sequence[Removal | DroppedCommit], *, are_open: bool = False
    ) -> list[RemovalRow]:
        """Keep removals."""
        self.removals += removals
        return []


def observe_batch(sums: RecordSums, page: pa.RecordBatch) -> None:
    """Add the records of a page, which has columns of `events`, and raw bytes or their number."""
    known = page.filter(pc.is_valid(page.column("group")))
    sizes = (
        numbers(known.column(BYTES), 0)
        if BYTES in known.schema.names
        else _lengths(known.column("key")) + _lengths(known.column("value"))
    )
    groups = encoded(known.column("group"))
    of_groups = np.bincount(groups.indices.to_numpy(), weights=sizes, minlength=len(groups.dictionary))
    for group, size in zip(groups.dictionary.to_pylist(), of_groups.tolist(), strict=True):
        if size:
            sums.bytes[from_shown(group)] += int(size)


def _lengths(column: pa.Array) -> Array:
    """Return the bytes in each row of a column; 0 for null."""
    if not pa.types.is_dictionary(column.type):
        return numbers(pc.binary_length(column), 0)
    return numbers(pc.binary_length(column.dictionary).take(column.indices), 0)
