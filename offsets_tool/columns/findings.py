"""Makes the rows that finders read from one partition replayed by rows; offsets stay in columns until their group is asked for.

Decides nothing: rows are those of history.history, and findings are made of them one group at a time.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import PartitionSnapshot
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
from offsets_tool.wire.arrow import arrow_schema
from offsets_tool.wire.text import from_shown

_Row = TypeVar("_Row", OffsetHistoryRow, TransactionRow)
_ESCAPE: Final = "\\x"


class PartitionColumns:
    """The rows of one log partition by group; most of those of offsets in columns, ordered by group and place."""

    def __init__(
        self, rows: dict[str, GroupRows], offsets: pa.Table, stretch: LogStretch, sums: RecordSums
    ) -> None:
        """Hold rows that `gather` returned, columns as `ended_rows` makes them, and what the records come to."""
        self._rows = rows
        self.sums = sums
        self._offsets = offsets.take(
            pc.sort_indices(offsets, [("group", "ascending"), ("from_log_offset", "ascending")])
        )
        self._slices = dict(_slices(self._offsets.column("group")))
        for group in self._slices:
            rows.setdefault(group, GroupRows(group, *stretch))

    def highest(self) -> Iterator[tuple[GroupRows, dict[TopicPartition, int], int]]:
        """Yield each group with the rows that are no columns, the highest commit of each partition, and how many it made."""
        found = highest_commits(self._offsets)
        for group, rows in self._rows.items():
            highest = found.get(group, {})
            for at, some in rows.effective.items():
                highest[at] = max(
                    [row.committed_offset for row in some] + [highest.get(at, some[0].committed_offset)]
                )
            del rows.effective
            first, end = self._slices.get(group, (0, 0))
            yield rows, highest, len(rows.offsets) + end - first

    def groups(self, wanted: Wanted = ALL) -> Iterator[GroupRows]:
        """Yield the rows of each wanted group, by name; what was made of columns is forgotten with the group."""
        for group, rows in sorted(self._rows.items()):
            if not wanted.has_group(group):
                continue
            first, end = self._slices.get(group, (0, 0))
            offsets = [*rows.offsets, *rows_of(OffsetHistoryRow, self._offsets.slice(first, end - first))]
            whole = replace(rows, offsets=offsets)
            whole.sort()
            yield whole


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


def rows_of(row: type[_Row], columns: pa.Table) -> Iterator[_Row]:
    """Yield rows of this type from their columns, with texts as they were decoded."""
    values = [_values(columns.column(name)) for name in row._fields]
    yield from map(row._make, zip(*values, strict=True))


def _values(column: pa.ChunkedArray) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if pa.types.is_string(column.type) and any(text is not None and _ESCAPE in text for text in values):
        return [None if text is None else from_shown(text) for text in values]
    return values


def _slices(groups: pa.ChunkedArray) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the index of the first row of each group and the index after its last; a group's rows follow each other."""
    counted = pc.value_counts(groups.combine_chunks())
    first = 0
    for group, rows in sorted(zip(*(part.to_pylist() for part in counted.flatten()), strict=True)):
        yield from_shown(group), (first, first + rows)
        first += rows


def highest_commits(offsets: pa.Table) -> dict[str, dict[TopicPartition, int]]:
    """Return, by group and partition, the highest commit that was effective."""
    effective = offsets.filter(pc.field("is_effective"))
    summed = effective.group_by(["group", "topic", "partition"]).aggregate([("committed_offset", "max")])
    found: dict[str, dict[TopicPartition, int]] = defaultdict(dict)
    columns = (
        summed.column(name).to_pylist() for name in ("group", "topic", "partition", "committed_offset_max")
    )
    for group, topic, partition, highest in zip(*columns, strict=True):
        found[from_shown(group)][TopicPartition(from_shown(topic), partition)] = highest
    return found
