"""Rows of one group's committed offsets, kept in columns until somebody asks for them. Decides nothing."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice
from typing import Any, Final, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.offset_sums import IN_ORDER, OffsetNumbers, OffsetSums, offset_sums
from offsets_tool.columns.sorted_offsets import (
    AT_ONCE,
    RowsOnDemand,
    SortedOffsets,
    coded,
    rows_of,
    values_of,
)
from offsets_tool.columns.sorting import places_in_order
from offsets_tool.findings.commit_sums import KEPT, CommitSums, PartitionSums, SummedOffsets
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.history.rows import OffsetHistoryRow
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.wire.arrow import arrow_schema, pack, shown_batch, unpack
from offsets_tool.wire.text import shown

PackedRows = tuple[tuple[str, ...], bytes]
"""Names of columns, and rows of committed offsets that have them, packed: null in the others."""
Home = tuple[int | None, str]
"""The log partition of a group, and its name as `shown` writes it."""
_SCHEMA: Final = arrow_schema(OffsetHistoryRow)
_HOME: Final = ("log_partition", "group")
_NO_ROWS: Final = _SCHEMA.empty_table().select(IN_ORDER)
"""No committed offset, with the columns by which they are sorted."""
MANY: Final = 64
"""From how many rows of a group on columns of them cost less than the rows."""
_SIGNS: Final = ("member_id", "from_log_offset", "from_timestamp")


class OffsetColumns(SummedOffsets):
    """The rows of a group's committed offsets: some of those of SortedOffsets."""

    def __init__(self, columns: SortedOffsets, begin: int, end: int, proven_from: int) -> None:
        """Hold the rows at the places from `begin` to `end`."""
        self._columns, self._begin, self._end, self._proven_from = columns, begin, end, proven_from

    @classmethod
    def of(
        cls, columns: pa.Table, proven_from: int, constants: Mapping[str, pa.Scalar] | None = None
    ) -> "OffsetColumns":
        """Return all rows of columns that are of one group; `constants` as SortedOffsets takes them."""
        return cls(SortedOffsets(columns, constants), 0, columns.num_rows, proven_from)

    def __len__(self) -> int:
        return self._end - self._begin

    @overload
    def __getitem__(self, at: int) -> OffsetHistoryRow: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[OffsetHistoryRow]: ...
    def __getitem__(self, at: int | slice) -> OffsetHistoryRow | Sequence[OffsetHistoryRow]:
        return self._rows[at]

    def __iter__(self) -> Iterator[OffsetHistoryRow]:
        return iter(self._rows)

    @property
    def sums(self) -> CommitSums:
        """What the rows come to."""
        return self._summed.sums

    @property
    def partitions(self) -> dict[TopicPartition, PartitionSums]:
        """What the effective commits of each partition come to, by their first."""
        return self._summed.partitions

    def each_effective(
        self, of: Iterable[TopicPartition]
    ) -> Iterator[tuple[TopicPartition, Sequence[OffsetHistoryRow]]]:
        """Yield some of `partitions`, each with its effective rows; of a group with more than KEPT they are not kept."""
        for places in self._together(of):
            if len(self) > KEPT and any(len(each) > AT_ONCE for each in places.values()):
                yield from ((at, RowsOnDemand(self._columns, each)) for at, each in places.items())
            else:
                rows = rows_of(OffsetHistoryRow, self._columns.taken(np.concatenate(list(places.values()))))
                yield from ((at, list(islice(rows, len(each)))) for at, each in places.items())

    def each_effective_fields(
        self, of: Iterable[TopicPartition], names: Sequence[str]
    ) -> Iterator[tuple[TopicPartition, Iterator[tuple[Any, ...]]]]:
        """Yield some of `partitions`, each with some fields of its effective rows."""
        for places in self._together(of):
            fields = self._columns.fields(np.concatenate(list(places.values())), names)
            for at, each in places.items():
                its = islice(fields, len(each))
                yield at, its
                # What nobody asked for is not the next partition's.
                deque(its, maxlen=0)

    def effective_at(
        self, of: Mapping[TopicPartition, Sequence[int]]
    ) -> Iterator[tuple[TopicPartition, list[OffsetHistoryRow]]]:
        """Yield some of `partitions`, each with some of its effective rows, by their numbers from 0, or from -1 backwards."""
        places = [self._begin + self._summed.places[at][list(numbers)] for at, numbers in of.items()]
        rows = iter(RowsOnDemand(self._columns, np.concatenate(places)) if places else ())
        yield from ((at, list(islice(rows, len(numbers)))) for at, numbers in of.items())

    def _together(self, of: Iterable[TopicPartition]) -> Iterator[dict[TopicPartition, Array]]:
        """Yield partitions with the places of their effective rows, so many that these are AT_ONCE at most, or one that has more.

        Rows of many small ones take as long as those of one.
        """
        waiting, rows = dict[TopicPartition, Array](), 0
        for at in of:
            places = self._begin + self._summed.places[at]
            if waiting and rows + len(places) > AT_ONCE:
                yield waiting
                waiting, rows = {}, 0
            waiting[at] = places
            rows += len(places)
        if waiting:
            yield waiting

    def next_effective(self, of: TopicPartition, log_offset: int) -> OffsetHistoryRow | None:
        """Return the first effective row of a partition behind a place in the log."""
        rows = self._summed.places.get(of)
        if rows is None:
            return None
        began = self._numbers.numbers["from_log_offset"][rows]
        at = int(np.searchsorted(began, log_offset, "right"))
        return None if at == len(rows) else self._columns.row(self._begin + int(rows[at]))

    def fields(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield some fields of each row."""
        return self._columns.fields(np.arange(self._begin, self._end), names)

    def commit_fields(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield some fields of each commit, as GroupHistories.commits has them."""
        return self._columns.fields(self._commits, names)

    def commits_of(self) -> dict[str, list[tuple[int, int]]]:
        """Return log offset and record time of each commit, by the member that owned the partition."""
        rows = self._columns.taken(self._commits, _SIGNS)
        owned = rows.filter(pc.is_valid(rows.column("member_id")))
        found = defaultdict[str, list[tuple[int, int]]](list)
        members, log_offsets, times = (values_of(column) for column in owned.columns)
        for member, log_offset, at in zip(members, log_offsets, times, strict=True):
            found[member].append((log_offset, at))
        return found

    @property
    def _commits(self) -> Array:
        """The places of the rows that commits began."""
        numbers = self._numbers.numbers
        places: Array = np.flatnonzero(numbers["from_log_offset"] == numbers["commit_log_offset"])
        return self._begin + places

    @cached_property
    def _numbers(self) -> OffsetNumbers:
        return self._columns.numbers.slice(self._begin, self._end)

    @cached_property
    def _summed(self) -> OffsetSums:
        return offset_sums(self._numbers, self._proven_from)

    @cached_property
    def _rows(self) -> Sequence[OffsetHistoryRow]:
        """The rows, which are kept unless they are many."""
        rows = RowsOnDemand(self._columns, np.arange(self._begin, self._end))
        return rows if len(rows) > KEPT else list(rows)


def in_columns(rows: GroupRows, packed: Iterable[PackedRows]) -> GroupRows:
    """Return the rows of a group with more of its committed offsets, as `apart` packs them; all of these are in columns."""
    home = {"group": pa.scalar(shown(rows.group)), "log_partition": pa.scalar(rows.log_partition, pa.int32())}
    more = [shown_batch(OffsetHistoryRow, rows.offsets).drop_columns(_HOME)] if rows.offsets else []
    # What all rows say, or none of them, is not made a column: that is half of what most commits would take.
    tables = (pa.Table.from_batches([_coded(each)]) for each in chain(map(_unpacked, packed), more))
    return replace(rows, offsets=OffsetColumns.of(_joined(tables), rows.proven_from, home))


def _joined(tables: Iterable[pa.Table]) -> pa.Table:
    return pa.concat_tables(list(tables) or [_NO_ROWS], promote_options="default").unify_dictionaries()


def _unpacked(packed: PackedRows) -> pa.RecordBatch:
    names, data = packed
    return unpack(data, pa.schema([_SCHEMA.field(name) for name in names]))


def _coded(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the columns that say something; they share no memory: each can go alone, and the texts that are coded at once."""
    columns = {
        name: coded(name, column)
        for name, column in zip(rows.schema.names, rows.columns, strict=True)
        if column.null_count < rows.num_rows
    }
    return pa.record_batch(
        {
            name: column if pa.types.is_dictionary(column.type) else _copy(column)
            for name, column in columns.items()
        }
    )


def _copy(column: pa.Array) -> pa.Array:
    # Of one array alone, Arrow may give back that.
    return pa.concat_arrays([column, column.slice(0, 0)])


def apart(rows: pa.Table, least: int = MANY) -> tuple[pa.Table, Iterator[tuple[Home, PackedRows]]]:
    """Return rows of groups that have fewer than `least` of these rows as they are, and those of each other group packed."""
    codes = _codes(rows.column("group").unify_dictionaries())
    is_many = np.bincount(codes)[codes] >= least if len(codes) else np.zeros(0, bool)
    return rows.filter(pa.array(~is_many)), _packed(rows.filter(pa.array(is_many)))


def _packed(rows: pa.Table) -> Iterator[tuple[Home, PackedRows]]:
    if not rows.num_rows:
        return
    # Most columns say nothing of most commits, and two the same of all of a group.
    names = tuple(
        field.name
        for field in _SCHEMA
        if field.name not in _HOME and rows.column(field.name).null_count < rows.num_rows
    )
    order = pa.array(places_in_order(rows, _HOME))
    # Sorted while texts are dictionary-encoded: they take a tenth of the memory.
    ordered = rows.select([*_HOME, *names]).unify_dictionaries().combine_chunks().take(order)
    told = ordered.select(names).cast(pa.schema([_SCHEMA.field(name) for name in names]))
    (batch,) = told.combine_chunks().to_batches()
    homes = (_codes(ordered.column(name)) for name in _HOME)
    begins = [0, *(np.flatnonzero(np.any([np.diff(each) != 0 for each in homes], axis=0)) + 1).tolist()]
    for begin, end in zip(begins, [*begins[1:], batch.num_rows], strict=True):
        log_partition, group = (ordered.column(name)[begin].as_py() for name in _HOME)
        yield (log_partition, group), (names, pack(batch.slice(begin, end - begin)))


def _codes(column: pa.ChunkedArray) -> Array:
    """Return a number from 0 for each row that is the same where the value is; null is a value."""
    values = column.combine_chunks()
    coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode("encode")
    return pc.fill_null(coded.indices, len(coded.dictionary)).to_numpy()  # type: ignore[no-any-return]
