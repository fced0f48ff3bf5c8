"""Makes the rows that finders read from one partition replayed by rows; offsets stay in columns until their group is asked for.

Decides nothing: rows are those of history.history, and findings are made of them one group at a time.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import PartitionSnapshot
from offsets_tool.columns.arrays import Array
from offsets_tool.columns.offset_columns import OffsetColumns
from offsets_tool.columns.reading import RowsRead
from offsets_tool.columns.replay.columns_of_rows import encoded, numbers
from offsets_tool.columns.replay.history_rows_replay import HistoryRowsReplay
from offsets_tool.columns.replay.row_events import rows_below
from offsets_tool.columns.replay.row_facts import observe_rows
from offsets_tool.columns.sorted_offsets import SortedOffsets, rows_of
from offsets_tool.expiry.forecast import PartitionRemovals, partition_removals
from offsets_tool.expiry.log_facts import LogFacts
from offsets_tool.expiry.removal_log import RemovalLog
from offsets_tool.expiry.removals import DroppedCommit, Removal
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
        self, rows: Iterable[GroupRow], offsets: pa.Table, stretch: LogStretch, sums: RecordSums
    ) -> None:
        """Hold rows of any kind, columns of OffsetHistoryRow, and what the records come to.

        Texts of the columns may be dictionary-encoded if no row is an OffsetHistoryRow.
        """
        self._rows = gather(rows, stretch)
        self.sums = sums
        # Rows of offsets that were replayed one at a time join the others.
        more = [row for each in self._rows.values() for row in each.offsets]
        if more:
            batches = [*offsets.to_batches(), shown_batch(OffsetHistoryRow, more)]
            offsets = pa.Table.from_batches(batches)
        self._offsets = SortedOffsets(offsets)
        self._places = self._offsets.groups()
        for group, places in self._places.items():
            of = self._rows.setdefault(group, GroupRows(group, *stretch))
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


class _Removals(RemovalLog):
    """A RemovalLog that keeps removals as they are, rather than as rows."""

    def __init__(self, log_partition: int | None) -> None:
        super().__init__(log_partition)
        self.found: list[Removal | DroppedCommit] = []

    def add(self, removals: Iterable[Removal | DroppedCommit]) -> None:
        """Keep removals and dropped commits."""
        self.found += removals


def replayed_columns(
    partition: PartitionSnapshot, coordinator: Coordinator, reads: Iterable[RowsRead], name_of: NameOf
) -> ReplayedColumns:
    """Return what a partition that is replayed by rows up to its moment comes to."""
    history, removals, facts = History(name_of), _Removals(partition.log_partition), LogFacts()
    replay = HistoryRowsReplay(coordinator, history, removals, TransactionLog())
    rows: list[GroupRow] = []
    offsets: list[pa.RecordBatch] = []
    ended: list[pa.RecordBatch] = []
    sums = RecordSums(partition.log_partition)
    for page in rows_below(reads, partition.end):
        observe_batch(sums, page)
        _replay(replay, page, facts)
        # Removals are kept as they are: there are no rows of them.
        rows += (row for row in replay.take_rows() if not isinstance(row, RemovalRow))
        offsets += replay.take_columns()
        ended += replay.take_transactions()
    replay.materialize()
    removals.close()
    rows += rows_of(TransactionRow, pa.Table.from_batches(ended, arrow_schema(TransactionRow)))
    rows += (*history.flush(), *history.open_rows(), *replay.transactions.unsettled())
    stretch = LogStretch(
        partition.log_partition, partition.coverage.proven_from, partition.end, partition.cut.newest_timestamp
    )
    columns = pa.Table.from_batches(offsets, arrow_schema(OffsetHistoryRow))
    found = partition_removals(partition, removals.tracker, removals.found, facts)
    return ReplayedColumns(rows, columns, stretch, sums, found)


def _replay(replay: HistoryRowsReplay, page: pa.RecordBatch, facts: LogFacts) -> None:
    """Replay a page of rows; `facts` observes each record once, as an event or as a row."""
    for event, changes in replay.replay(page):
        facts.observe_type(event)
        replay.observe(event, changes)
    observe_rows(facts, page, replay.kinds)


def highest_commits(offsets: pa.Table) -> dict[str, dict[TopicPartition, int]]:
    """Return, by group and partition, the highest commit that was effective, given the columns COMMITS with names encoded."""
    effective = offsets.filter(offsets.column("is_effective"))
    names = ("group", "topic", "partition")
    summed = effective.group_by(names).aggregate([("committed_offset", "max")])
    found: dict[str, dict[TopicPartition, int]] = defaultdict(dict)
    columns = (_values(summed.column(name)) for name in (*names, "committed_offset_max"))
    for group, topic, partition, highest in zip(*columns, strict=True):
        found[group][TopicPartition(topic, partition)] = highest
    return found


def _values(column: pa.ChunkedArray) -> list[Any]:
    if not pa.types.is_dictionary(column.type):
        return list(column.to_pylist())
    coded = column.combine_chunks()
    texts = [from_shown(text) for text in coded.dictionary.to_pylist()]
    return [texts[code] for code in coded.indices.to_pylist()]


def observe_batch(sums: RecordSums, page: pa.RecordBatch) -> None:
    """Add the records of a page, which has columns of `events`, and raw bytes."""
    known = page.select(["group", "key", "value"]).filter(pc.is_valid(page.column("group")))
    sizes = _lengths(known.column("key")) + _lengths(known.column("value"))
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
