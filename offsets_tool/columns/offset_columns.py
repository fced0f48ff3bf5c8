"""Rows of one group's committed offsets, kept in columns until somebody asks for them. Decides nothing."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, TypeVar, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.offset_numbers import CodedTexts, OffsetNumbers
from offsets_tool.columns.offset_sums import OffsetSums, offset_sums
from offsets_tool.columns.sorting import places_in_order
from offsets_tool.findings.commit_sums import UNKNOWN, CommitSums, PartitionSums, SummedOffsets
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.history.rows import OffsetHistoryRow
from offsets_tool.history.transactions import TransactionRow
from offsets_tool.rebalances.histories import offset_order
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.wire.arrow import arrow_schema, shown_batch
from offsets_tool.wire.text import from_shown, shown

IN_ORDER: Final = ("from_log_offset", "commit_log_offset")
"""What rows of a group are sorted by; those that are equal in both have no sums."""
_Row = TypeVar("_Row", OffsetHistoryRow, TransactionRow)
_ESCAPE: Final = "\\x"
PackedRows = tuple[tuple[str, ...], bytes]
"""Names of columns, and rows of committed offsets in Arrow's format that have them: null in the others."""
Home = tuple[int | None, str]
"""The log partition of a group, and its name as `shown` writes it."""
_SCHEMA: Final = arrow_schema(OffsetHistoryRow)
_HOME: Final = ("log_partition", "group")
MANY: Final = 64
"""From how many rows of a group on columns of them cost less than the rows."""
_CODED: Final = frozenset({"group", "topic", "topic_id", "begin_cause", "end_cause"})
_SIGNS: Final = ("member_id", "from_log_offset", "from_timestamp")


class SortedOffsets:
    """Rows of the committed offsets of some groups of a log partition, in columns; those of a group in the order of the log."""

    def __init__(self, rows: pa.Table) -> None:
        """Hold rows of OffsetHistoryRow in any order; a column of texts may be dictionary-encoded, by one dictionary."""
        self._rows = rows
        self._combined: dict[str, pa.Array] = {}
        sorted_by = ("group", *IN_ORDER)
        self.order: Array = places_in_order(self.table(sorted_by), sorted_by)

    def column(self, name: str) -> pa.Array:
        """Return a column as one array, put together when it is asked for first: most are not.

        Texts of names and causes, of which there are few, are dictionary-encoded.
        """
        if name not in self._combined:
            column = self._rows.column(name).combine_chunks()
            is_coded = name in _CODED and not pa.types.is_dictionary(column.type)
            self._combined[name] = column.dictionary_encode() if is_coded else column
        return self._combined[name]

    def table(self, names: Sequence[str]) -> pa.Table:
        """Return some columns of all rows."""
        return pa.table([self.column(name) for name in names], names=list(names))

    @cached_property
    def numbers(self) -> OffsetNumbers:
        """The columns that are summed up, in the order of `order`."""
        return OffsetNumbers.of(self.column, self.order)

    def groups(self) -> dict[str, tuple[int, int]]:
        """Return for each group where in `order` its rows begin and end."""
        groups = CodedTexts.of(self.column("group"), self.order)
        begins = np.flatnonzero(np.append(True, np.diff(groups.codes) != 0)[: len(self.order)])
        ends = np.append(begins, len(self.order))[1:]
        places = zip(begins.tolist(), ends.tolist(), strict=True)
        return {
            groups.texts[code]: at for code, at in zip(groups.codes[begins].tolist(), places, strict=True)
        }

    def taken(self, places: Array, names: Sequence[str] = OffsetHistoryRow._fields) -> pa.Table:
        """Return some columns of the rows at these places, with texts as texts."""
        at = pa.array(places)
        columns = [self.column(name).take(at) for name in names]
        return pa.table(columns, names=list(names)).cast(pa.schema([_SCHEMA.field(name) for name in names]))

    def row(self, place: int) -> OffsetHistoryRow:
        """Return the row at a place."""
        values = (self.column(name)[place].as_py() for name in OffsetHistoryRow._fields)
        return OffsetHistoryRow._make(
            from_shown(value) if isinstance(value, str) else value for value in values
        )


class OffsetColumns(SummedOffsets):
    """The rows of a group's committed offsets: some of those of SortedOffsets."""

    def __init__(self, columns: SortedOffsets, begin: int, end: int, proven_from: int) -> None:
        """Hold the rows whose places stand in the order of `columns` from `begin` to `end`."""
        self._columns, self._begin, self._end, self._proven_from = columns, begin, end, proven_from
        self._places = columns.order[begin:end]

    @classmethod
    def of(cls, columns: pa.Table, proven_from: int) -> "OffsetColumns":
        """Return all rows of columns that are of one group, in any order."""
        return cls(SortedOffsets(columns), 0, columns.num_rows, proven_from)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> OffsetHistoryRow: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[OffsetHistoryRow]: ...
    def __getitem__(self, at: int | slice) -> OffsetHistoryRow | Sequence[OffsetHistoryRow]:
        return self._rows[at]

    def __iter__(self) -> Iterator[OffsetHistoryRow]:
        return iter(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._rows == list(other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def sums(self) -> CommitSums:
        """What the rows come to; UNKNOWN where they cannot be summed up."""
        return UNKNOWN if self._summed is None else self._summed.sums

    @property
    def partitions(self) -> dict[TopicPartition, PartitionSums] | None:
        """What the effective commits of each partition come to, by their first; None where they cannot be summed up."""
        return None if self._summed is None else self._summed.partitions

    def effective_of(self, of: TopicPartition) -> list[OffsetHistoryRow]:
        """Return the effective rows of one partition, where `partitions` has it."""
        assert self._summed is not None
        return list(rows_of(OffsetHistoryRow, self._columns.taken(self._places[self._summed.places[of]])))

    def next_effective(self, of: TopicPartition, log_offset: int) -> OffsetHistoryRow | None:
        """Return the first effective row of a partition behind a place in the log, where `partitions` has it."""
        assert self._summed is not None
        rows = self._summed.places[of]
        began = self._numbers.numbers["from_log_offset"][rows]
        at = int(np.searchsorted(began, log_offset, "right"))
        return None if at == len(rows) else self._columns.row(int(self._places[rows[at]]))

    def commit_fields(self, *names: str) -> list[tuple[Any, ...]]:
        """Return some fields of each commit, as GroupHistories.commits has them."""
        rows = self._columns.taken(self._commits, names)
        return list(zip(*(_values(column) for column in rows.columns), strict=True))

    def commits_of(self) -> dict[str, list[tuple[int, int]]]:
        """Return log offset and record time of each commit, by the member that owned the partition."""
        rows = self._columns.taken(self._commits, _SIGNS)
        owned = rows.filter(pc.is_valid(rows.column("member_id")))
        found = defaultdict[str, list[tuple[int, int]]](list)
        members, log_offsets, times = (_values(column) for column in owned.columns)
        for member, log_offset, at in zip(members, log_offsets, times, strict=True):
            found[member].append((log_offset, at))
        return found

    @property
    def _commits(self) -> Array:
        """The places of the rows that commits began."""
        numbers = self._numbers.numbers
        places: Array = self._places[numbers["from_log_offset"] == numbers["commit_log_offset"]]
        return places

    @cached_property
    def _numbers(self) -> OffsetNumbers:
        return self._columns.numbers.slice(self._begin, self._end)

    @cached_property
    def _summed(self) -> OffsetSums | None:
        return offset_sums(self._numbers, self._proven_from)

    @cached_property
    def _rows(self) -> list[OffsetHistoryRow]:
        return sorted(rows_of(OffsetHistoryRow, self._columns.taken(self._places)), key=offset_order)


def in_columns(rows: GroupRows, packed: Iterable[PackedRows]) -> GroupRows:
    """Return the rows of a group with more of its committed offsets, as `apart` packs them; all of these are in columns."""
    home = {"group": pa.scalar(shown(rows.group)), "log_partition": pa.scalar(rows.log_partition, pa.int32())}
    batches = [_unpacked(each, home) for each in packed]
    if rows.offsets:
        batches.append(shown_batch(OffsetHistoryRow, rows.offsets))
    columns = pa.Table.from_batches(batches, _SCHEMA)
    return replace(rows, offsets=OffsetColumns.of(columns, rows.proven_from))


def _unpacked(packed: PackedRows, home: dict[str, pa.Scalar]) -> pa.RecordBatch:
    names, data = packed
    rows = pa.ipc.read_record_batch(pa.py_buffer(data), pa.schema([_SCHEMA.field(name) for name in names]))
    there = set(names)
    columns = [
        rows.column(field.name)
        if field.name in there
        else pa.repeat(home.get(field.name, pa.scalar(None, field.type)), rows.num_rows)
        for field in _SCHEMA
    ]
    return pa.record_batch(columns, schema=_SCHEMA)


def apart(rows: pa.Table, least: int = MANY) -> tuple[pa.Table, Iterator[tuple[Home, PackedRows]]]:
    """Return rows of groups that have fewer than `least` of these rows as they are, and those of each other group packed."""
    groups = rows.column("group").unify_dictionaries().combine_chunks()
    codes = (groups if pa.types.is_dictionary(groups.type) else groups.dictionary_encode()).indices.to_numpy()
    is_many = np.bincount(codes)[codes] >= least if len(codes) else np.zeros(0, bool)
    return rows.filter(pa.array(~is_many)), _packed(rows.filter(pa.array(is_many)))


def _packed(rows: pa.Table) -> Iterator[tuple[Home, PackedRows]]:
    if not rows.num_rows:
        return
    order = places_in_order(rows, ("log_partition", "group"))
    plain = rows.select(OffsetHistoryRow._fields).cast(_SCHEMA).combine_chunks().take(pa.array(order))
    (batch,) = plain.combine_chunks().to_batches()
    # Most columns say nothing of most commits, and two the same of all of a group.
    names = tuple(
        name for name in _SCHEMA.names if name not in _HOME and batch.column(name).null_count < batch.num_rows
    )
    told = batch.select(names)
    homes = (batch.column(name).dictionary_encode("encode").indices.to_numpy() for name in _HOME)
    begins = [0, *(np.flatnonzero(np.any([np.diff(each) != 0 for each in homes], axis=0)) + 1).tolist()]
    for begin, end in zip(begins, [*begins[1:], batch.num_rows], strict=True):
        log_partition, group = (batch.column(name)[begin].as_py() for name in _HOME)
        yield (log_partition, group), (names, told.slice(begin, end - begin).serialize().to_pybytes())


def rows_of(row: type[_Row], columns: pa.Table) -> Iterator[_Row]:
    """Yield rows of this type from their columns, with texts as they were decoded."""
    values = [_values(columns.column(name)) for name in row._fields]
    yield from map(row._make, zip(*values, strict=True))


def _values(column: pa.ChunkedArray) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if pa.types.is_string(column.type) and any(text is not None and _ESCAPE in text for text in values):
        return [None if text is None else from_shown(text) for text in values]
    return values
