"""The histories of one log partition of an evidence, up to a moment, of its rows: what answers are made of.

Offsets stay in columns until their group is asked for. Decides nothing: histories are those of relations.histories.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.as_of.snapshot import PartitionSnapshot
from offsets_tool.as_of.transactions import EndedTransaction
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
from offsets_tool.findings.group_rows import GroupRow, ReplayedPartition, stretch_of
from offsets_tool.findings.record_sums import RecordSums
from offsets_tool.history.owners import NameOf
from offsets_tool.history.rows import (
    AnomalyRow,
    GroupHistoryRow,
    HistoryRow,
    MemberHistoryRow,
    OffsetHistoryRow,
)
from offsets_tool.history.transactions import TransactionRow
from offsets_tool.relations.groups import GroupEvent, ValueChange
from offsets_tool.relations.histories import Histories
from offsets_tool.replay.changes import Change, ChangeKind, GroupKind, GroupOf, MemberOf
from offsets_tool.replay.epoch_groups import new_group
from offsets_tool.wire.text import from_shown

_TABLES: Final[dict[type, str]] = {
    OffsetHistoryRow: "offsets",
    GroupHistoryRow: "groups",
    MemberHistoryRow: "members",
    AnomalyRow: "anomalies",
    TransactionRow: "transactions",
}
"""The fields of HistoryRows that have rows of a kind."""
_Row = TypeVar("_Row", bound=HistoryRow)


class RowHistories:
    """The histories of one log partition up to its moment, by the rules that were found to hold; ask one question of each."""

    def __init__(self, partition: PartitionSnapshot, reads: Iterable[RowsRead], name_of: NameOf) -> None:
        """Replay all rows of a partition that was replayed before; `name_of` returns the name of a topic id."""
        self.partition = partition
        self._pages = rows_below(reads, partition.end)
        used = partition.coordinator
        self._start = Start(partition.log_partition, rules=None if used.auto else used.rules)
        self._name_of = name_of

    def rows(self, *kinds: type[_Row]) -> Iterator[_Row]:
        """Yield the rows of these kinds, those that hold last."""
        histories = _WithoutRemovalRows(self._start, self._name_of, lambda _: None)
        for tables in chain(map(histories.replay, self._pages), _finished(histories)):
            for kind in kinds:
                yield from rows_of(kind, getattr(tables, _TABLES[kind]))

    def ended_transactions(self) -> Iterator[EndedTransaction]:
        """Yield what each marker ended."""
        histories = Histories(self._start, is_for_state=True)
        return chain.from_iterable(histories.replay_state(page).ended for page in self._pages)

    def group_changes(self) -> Iterator[Change]:
        """Yield the changes of groups and members."""
        histories = Histories(self._start)
        groups = chain.from_iterable(histories.replay_state(page).groups for page in self._pages)
        return chain.from_iterable(_changes_of(change, self.partition.log_partition) for change in groups)

    def removals(self) -> PartitionRemovals:
        """Return the offsets that were removed, and what expiry asks besides."""
        removals: list[Removal | DroppedCommit] = []
        histories = _WithoutRemovalRows(self._start, self._name_of, removals.extend)
        for _ in chain(map(histories.replay, self._pages), _finished(histories)):
            pass
        return self._removals(histories, removals)

    def replayed(self) -> ReplayedPartition:
        """Return all of it."""
        removals: list[Removal | DroppedCommit] = []
        histories = _WithoutRemovalRows(self._start, self._name_of, removals.extend)
        sums = RecordSums(self.partition.log_partition)
        made: list[HistoryRows] = []
        for page in self._pages:
            observe_batch(sums, page)
            made.append(histories.replay(page))
        tables = HistoryRows(*map(pa.Table.from_batches, zip(*made, *histories.finish(), strict=True)))
        rows: list[GroupRow] = []
        for kind, name in _TABLES.items():
            rows += rows_of(kind, getattr(tables, name)) if name != "offsets" else ()
        stretch = stretch_of(self.partition)

        def with_rows(more: Iterable[GroupRow]) -> PartitionColumns:
            return PartitionColumns([*rows, *more], tables.offsets, stretch, sums)

        return ReplayedPartition(sums, self._removals(histories, removals), with_rows)

    def _removals(
        self, histories: Histories, removals: Iterable[Removal | DroppedCommit]
    ) -> PartitionRemovals:
        live = histories.live_state()
        return partition_removals(self.partition, live.changed, live.lifetimes, removals, histories.facts)


def _changes_of(change: GroupEvent | ValueChange, log_partition: int | None) -> Iterator[Change]:
    """Yield what a record changed of its group, in the order of Coordinator; what members were before a value is not said."""
    if isinstance(change, GroupEvent):
        yield from change.changes
        return
    name, place = change.group.group, (log_partition, change.log_offset, change.timestamp, change.log_offset)
    if change.before is None and change.group.kind is not GroupKind.CLASSIC:
        first = new_group(change.group.kind, name, change.log_offset)
        yield Change(*place, ChangeKind.SET, GroupOf(name), None, first)
    for member_id, member in {**dict.fromkeys(change.gone), **change.written}.items():
        yield Change(*place, ChangeKind.SET, MemberOf(name, member_id), None, member)
    if change.group is not change.before:
        yield Change(*place, ChangeKind.SET, GroupOf(name), change.before, change.group)


def _finished(histories: Histories) -> Iterator[HistoryRows]:
    """Yield the rows that the last rows of the log ended, and those that hold, when they are asked for."""
    yield from histories.finish()


class _WithoutRemovalRows(Histories):
    """Histories that pass removals on as they are, and make no rows of them."""

    def __init__(
        self, start: Start, name_of: NameOf, observe: Callable[[Sequence[Removal | DroppedCommit]], object]
    ) -> None:
        super().__init__(start, name_of)
        self._observe_removals = observe

    def removal_rows(
        self, removals: Sequence[Removal | DroppedCommit], *, are_open: bool = False
    ) -> list[RemovalRow]:
        """Pass removals on."""
        self._observe_removals(removals)
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
