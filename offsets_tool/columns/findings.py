"""Makes the rows that finders read from one partition replayed by rows; offsets stay in columns until their group is asked for.

Decides nothing: rows are those of history.history, and findings are made of them one group at a time.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import PartitionSnapshot
from offsets_tool.columns.offset_columns import OffsetColumns, SortedOffsets, rows_of
from offsets_tool.columns.reading import RowsRead
from offsets_tool.columns.record_sums import observe_batch
from offsets_tool.columns.replay.history_rows_replay import HistoryRowsReplay
from offsets_tool.columns.replay.row_events import rows_below
from offsets_tool.expiry.removal_log import RemovalLog
from offsets_tool.expiry.rows import RemovalRow
from offsets_tool.findings.group_rows import ALL, GroupRow, GroupRows, LogStretch, gather
from offsets_tool.findings.record_sums import RecordSums
from offsets_tool.history.history import History
from offsets_tool.history.owners import NameOf
from offsets_tool.history.rows import OffsetHistoryRow
from offsets_tool.history.transactions import TransactionLog, TransactionRow
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.wire.arrow import arrow_schema, shown_batch
from offsets_tool.wire.text import from_shown

COMMITS: Final = ("group", "topic", "partition", "is_effective", "committed_offset")
"""The columns from which `highest_commits` is made."""


class PartitionColumns:
    """The rows of one log partition by group; most of those of offsets in columns, ordered by group and place."""

    def __init__(
        self, rows: dict[str, GroupRows], offsets: pa.Table, stretch: LogStretch, sums: RecordSums
    ) -> None:
        """Hold rows that `gather` returned, columns as `ended_rows` makes them, and what the records come to."""
        self._rows = rows
        self.sums = sums
        # Rows of offsets that were replayed one at a time join the others.
        more = [row for each in rows.values() for row in each.offsets]
        batches = [*offsets.to_batches(), shown_batch(OffsetHistoryRow, more)]
        self._offsets = SortedOffsets(pa.Table.from_batches(batches))
        self._places = self._offsets.groups()
        for group, places in self._places.items():
            of = rows.setdefault(group, GroupRows(group, *stretch))
            of.offsets = OffsetColumns(self._offsets, *places, of.proven_from)

    def highest(self) -> Iterator[tuple[GroupRows, dict[TopicPartition, int], int]]:
        """Yield each group with the rows that are no columns, the highest commit of each partition, and how many it made."""
        found = highest_commits(self._offsets.table(COMMITS))
        for group, rows in self._rows.items():
            yield rows, found.get(group, {}), len(rows.offsets)

    def groups(self, wanted: Wanted = ALL) -> Iterator[GroupRows]:
        """Yield the rows of each wanted group, by name; what was made of columns is forgotten with the group."""
        for group, rows in sorted(self._rows.items()):
            if wanted.has_group(group):
                places = self._places.get(group, (0, 0))
                yield replace(rows, offsets=OffsetColumns(self._offsets, *places, rows.proven_from))


def partition_columns(
    partition: PartitionSnapshot,
    coordinator: Coordinator,
    reads: Iterable[RowsRead],
    name_of: NameOf,
    more: Iterable[GroupRow],
) -> PartitionColumns:
    """Return the rows of a partition, replayed by rows up to its moment; `more` are rows that no history has."""
    history = History(name_of)
    replay = HistoryRowsReplay(coordinator, history, RemovalLog(partition.log_partition), TransactionLog())
    rows: list[GroupRow] = []
    offsets: list[pa.RecordBatch] = []
    ended: list[pa.RecordBatch] = []
    sums = RecordSums(partition.log_partition)
    for page in rows_below(reads, partition.end):
        _observe_run(history, page)
        observe_batch(sums, page)
        for event, changes in replay.replay(page):
            replay.observe(event, changes)
        rows += (row for row in replay.take_rows() if not isinstance(row, RemovalRow))
        offsets += replay.take_columns()
        ended += replay.take_transactions()
    replay.materialize()
    rows += rows_of(TransactionRow, pa.Table.from_batches(ended, arrow_schema(TransactionRow)))
    rows += (*history.flush(), *history.open_rows(), *replay.transactions.unsettled(), *more)
    stretch = LogStretch(
        partition.log_partition, partition.coverage.proven_from, partition.end, partition.cut.newest_timestamp
    )
    columns = pa.Table.from_batches(offsets, arrow_schema(OffsetHistoryRow))
    return PartitionColumns(gather(rows, stretch), columns, stretch, sums)


def _observe_run(history: History, rows: pa.RecordBatch) -> None:
    """Make the history observe the offsets of the next records, and the first gap between them."""
    offsets = rows.column("log_offset").to_numpy()
    behind = np.flatnonzero(np.diff(offsets) != 1)
    after_gap = int(offsets[behind[0] + 1]) if len(behind) else None
    history.observe_run(int(offsets[0]), int(offsets[-1]) + 1, after_gap)


def highest_commits(offsets: pa.Table) -> dict[str, dict[TopicPartition, int]]:
    """Return, by group and partition, the highest commit that was effective, given the columns COMMITS."""
    effective = offsets.filter(offsets.column("is_effective"))
    summed = effective.group_by(["group", "topic", "partition"]).aggregate([("committed_offset", "max")])
    found: dict[str, dict[TopicPartition, int]] = defaultdict(dict)
    columns = (
        summed.column(name).to_pylist() for name in ("group", "topic", "partition", "committed_offset_max")
    )
    for group, topic, partition, highest in zip(*columns, strict=True):
        found[from_shown(group)][TopicPartition(from_shown(topic), partition)] = highest
    return found
