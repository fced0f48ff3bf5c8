"""The histories of one log partition of an evidence, up to a moment, of its rows: what answers are made of.

Offsets stay in columns until their group is asked for. Decides nothing: histories are those of relations.histories.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.as_of.snapshot import PartitionSnapshot
from offsets_tool.as_of.transactions import EndedTransaction
from offsets_tool.columns.arrays import Array
from offsets_tool.columns.columns_of_rows import encoded, numbers, rows_of
from offsets_tool.columns.offset_rows import OffsetTable
from offsets_tool.events import Event
from offsets_tool.expiry.forecast import PartitionRemovals, partition_removals
from offsets_tool.expiry.removals import DroppedCommit, Removal
from offsets_tool.expiry.rows import RemovalRow
from offsets_tool.findings.group_rows import (
    GroupRow,
    PartitionRows,
    RecordSums,
    ReplayedPartition,
    stretch_of,
)
from offsets_tool.history.change_log import Happening, LinesAsked, WantedHappenings
from offsets_tool.history.owners import NameOf
from offsets_tool.history.rows import (
    AnomalyRow,
    GroupHistoryRow,
    HistoryRow,
    MemberHistoryRow,
    OffsetHistoryRow,
)
from offsets_tool.history.transactions import TransactionRow
from offsets_tool.relations.carried import LiveState
from offsets_tool.relations.chunks import StateChanges
from offsets_tool.relations.happenings import Happenings, record_changes
from offsets_tool.relations.histories import Histories
from offsets_tool.relations.moments import RowsToMoment, start_of
from offsets_tool.relations.replays import HistoryRows, Start
from offsets_tool.relations.row_events import BYTES, records_of, rows_below
from offsets_tool.replay.changes import Change
from offsets_tool.replay.topic_names import TopicNames
from offsets_tool.wire.json import uuid_text
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
    """The histories of one log partition up to its moment, by the rules that hold in it; ask one question of each."""

    def __init__(
        self,
        partition: PartitionSnapshot,
        pages: Iterable[pa.RecordBatch],
        name_of: NameOf,
        names: TopicNames | None = None,
    ) -> None:
        """Take all rows of a partition (row_events.COLUMNS); `name_of` returns the name of a topic id.

        With `names`, which learns names of topics, the partition was not replayed before: the answer comes with its state.
        """
        self.partition = partition
        self._pages = (
            rows_below(pages, partition.read_to)
            if names is None
            else RowsToMoment(partition, names).pages(pages)
        )
        self.name_of = name_of
        self._gives_state = names is not None
        self._start = start_of(partition)

    def rows(self, *kinds: type[_Row]) -> Iterator[_Row]:
        """Return the rows of these kinds, those that hold last."""
        histories = _Followed(self._start, self.name_of, self._observe)
        tables = [
            (kind, getattr(tables, _TABLES[kind])) for tables in self._replay(histories) for kind in kinds
        ]
        if self._gives_state:
            self._end(histories)
        return chain.from_iterable(rows_of(kind, table) for kind, table in tables)

    def ended_transactions(self) -> Iterator[EndedTransaction]:
        """Return what each marker ended."""
        return chain.from_iterable([changes.ended for _, changes in self._state_changes()])

    def observe_records(
        self, of_event: Callable[[Event], object], of_rows: Callable[[pa.RecordBatch], object]
    ) -> None:
        """Give all rows, page by page, to the second function."""
        for page, _ in self._state_changes():
            of_rows(records_of(page))

    def _state_changes(self, *, is_for_state: bool = True) -> Iterator[tuple[pa.RecordBatch, StateChanges]]:
        """Yield each page with what its replay for the state alone came to; of groups all, unless this `is_for_state`."""
        histories = Histories(self._start, is_for_state=is_for_state)
        for page in self._pages:
            changes = histories.replay_state(page)
            self._observe(changes.anomalies)
            yield page, changes
        if self._gives_state:
            self._end(histories)

    def group_changes(self) -> Iterator[Change]:
        """Return the changes of groups and members."""
        records = [record for _, made in self._state_changes(is_for_state=False) for record in made.groups]
        return chain.from_iterable(record_changes(record, self.partition.log_partition) for record in records)

    def happenings(
        self, wanted: WantedHappenings, lines: LinesAsked | None = None
    ) -> Iterator[Happening | memoryview]:
        """Yield what happened, in the order of the log, while it is wanted."""
        happenings = Happenings(self._start, self.name_of, self._observe, wanted, lines)
        for page in self._pages:
            yield from happenings.of(page)
        yield from happenings.of(None)
        if self._gives_state:
            self._end(happenings)

    def removals(self) -> PartitionRemovals:
        """Return the offsets that were removed, and what expiry asks besides: no cause asks for the name of a topic id."""
        histories = _Followed(self._start, uuid_text, self._observe)
        for _ in self._replay(histories):
            pass
        return self._removals(histories)

    def replayed(self) -> ReplayedPartition:
        """Return all of it."""
        histories, sums = (
            _Followed(self._start, self.name_of, self._observe),
            RecordSums(self.partition.log_partition),
        )
        made = self._replay(histories, partial(observe_batch, sums))
        tables = HistoryRows(*map(pa.Table.from_batches, zip(*made, strict=True)))
        rows: list[GroupRow] = []
        for kind, name in _TABLES.items():
            rows += rows_of(kind, getattr(tables, name)) if name != "offsets" else ()
        removals, stretch = self._removals(histories), stretch_of(self.partition)

        def with_rows(more: Iterable[GroupRow]) -> PartitionRows:
            return PartitionRows([*rows, *more], stretch, sums, OffsetTable(tables.offsets))

        return ReplayedPartition(sums, removals, with_rows)

    def _replay(
        self, histories: Histories, observe: Callable[[pa.RecordBatch], object] = bool
    ) -> Iterator[HistoryRows]:
        """Yield the rows of history chunk by chunk, the last of them those that hold; `observe` is given each page."""
        for page in self._pages:
            observe(page)
            yield histories.replay(page)
        yield from histories.finish()

    def _observe(self, changes: Iterable[Change]) -> None:
        """Observe anomalies among changes, of a partition that was not replayed before."""
        if self._gives_state:
            self.partition.observe_changes(changes)

    def _end(self, histories: Histories) -> LiveState:
        """Return the state at the moment, which is the partition's where that was not replayed before."""
        live = histories.live_state()
        if self._gives_state:
            self.partition.coordinator = live.coordinator
        return live

    def _removals(self, histories: "_Followed") -> PartitionRemovals:
        live, removals = self._end(histories), histories.removals
        return partition_removals(self.partition, live.changed, live.lifetimes, removals, histories.facts)


class _Followed(Histories):
    """Histories that keep removals as they are, make no rows of them, and pass changes on."""

    def __init__(self, start: Start, name_of: NameOf, observe: Callable[[Iterable[Change]], object]) -> None:
        super().__init__(start, name_of)
        self._observe = observe
        self.removals: list[Removal | DroppedCommit] = []

    def removal_rows(
        self, removals: Sequence[Removal | DroppedCommit], *, are_open: bool = False
    ) -> list[RemovalRow]:
        """Keep removals."""
        self.removals += removals
        return []

    def observe_changes(self, changes: Iterable[Change]) -> None:
        """Pass changes on."""
        self._observe(changes)


def observe_batch(sums: RecordSums, page: pa.RecordBatch) -> None:
    """Add the records of a page, which has columns of `events`, and raw bytes or their number."""
    records = records_of(page)
    known = records.filter(pc.is_valid(records.column("group")))
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
