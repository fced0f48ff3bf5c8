"""Rows of committed offsets in columns, in the order of the log, and how rows of the library are made of them. Decides nothing."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, TypeVar, overload

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.offset_sums import IN_ORDER, OF_ONE_PLACE, CodedTexts, OffsetNumbers
from offsets_tool.columns.sorting import places_in_order
from offsets_tool.history.rows import HistoryRow, OffsetHistoryRow
from offsets_tool.history.transactions import TransactionRow
from offsets_tool.wire.arrow import arrow_schema
from offsets_tool.wire.text import from_shown

AT_ONCE: Final = 1 << 13
"""Rows that are materialized at a time of those that nobody keeps."""
_Row = TypeVar("_Row", bound=HistoryRow | TransactionRow)
_MICROSECONDS: Final = 1_000
_SCHEMA: Final = arrow_schema(OffsetHistoryRow)
_NULLS: Final = {field.name: pa.scalar(None, field.type) for field in _SCHEMA}
_CODED: Final = frozenset({"group", "topic", "topic_id", "begin_cause", "end_cause"})


class SortedOffsets:
    """Rows of the committed offsets of some groups of a log partition, in columns; those of a group in the order of the log."""

    def __init__(self, rows: pa.Table, constants: Mapping[str, pa.Scalar] | None = None) -> None:
        """Hold rows of OffsetHistoryRow in any order; a column of texts may be dictionary-encoded, by one dictionary.

        Columns missing from `rows` have one value in all rows: that in `constants`, or null.
        """
        self._size = rows.num_rows
        self._unsorted = {
            name: column
            for name, column in zip(rows.column_names, rows.columns, strict=True)
            if column.null_count < self._size or not self._size
        }
        self._names = frozenset(self._unsorted)
        self._constants = constants or {}
        self._sorted: dict[str, pa.Array] = {}
        sorted_by = [name for name in ("group", *IN_ORDER) if name in self._names]
        for name in sorted_by:
            self._unsorted[name] = pa.chunked_array([coded(name, self._unsorted[name].combine_chunks())])
        keys = pa.table({name: self._unsorted[name] for name in sorted_by})
        order = places_in_order(keys, [name for name in sorted_by if name not in OF_ONE_PLACE])
        # Hardly ever are two rows of one place, and it takes twice as long to sort by all.
        places = [keys.column(name).to_numpy()[order] for name in IN_ORDER if name not in OF_ONE_PLACE]
        if np.all([each[1:] == each[:-1] for each in places], axis=0).any():
            order = places_in_order(keys, sorted_by)
        self._order = None if np.array_equal(order, np.arange(self._size)) else pa.array(order)

    def column(self, name: str) -> pa.Array:
        """Return a column in the order of the log, which is made when it is asked for first: most are not.

        Texts of names and causes, of which there are few, are dictionary-encoded.
        """
        if name not in self._names:
            return coded(name, pa.repeat(self._constant(name), self._size))
        if name not in self._sorted:
            # A column is there once: what it was made of goes.
            column = coded(name, self._unsorted.pop(name).combine_chunks())
            self._sorted[name] = column if self._order is None else column.take(self._order)
        return self._sorted[name]

    def table(self, names: Sequence[str]) -> pa.Table:
        """Return some columns of all rows."""
        return pa.table([self.column(name) for name in names], names=list(names))

    @cached_property
    def numbers(self) -> OffsetNumbers:
        """The columns that are summed up."""
        return OffsetNumbers.of(self.column)

    def groups(self) -> dict[str, tuple[int, int]]:
        """Return for each group where its rows begin and end."""
        groups = CodedTexts.of(self.column("group"))
        begins = np.flatnonzero(np.append(True, np.diff(groups.codes) != 0)[: self._size])
        ends = np.append(begins, self._size)[1:]
        places = zip(begins.tolist(), ends.tolist(), strict=True)
        return {
            groups.texts[code]: at for code, at in zip(groups.codes[begins].tolist(), places, strict=True)
        }

    def taken(self, places: Array, names: Sequence[str] = OffsetHistoryRow._fields) -> pa.Table:
        """Return some columns of the rows at these places, with texts as texts."""
        at = pa.array(places)
        columns = [
            self.column(name).take(at)
            if name in self._names
            else pa.repeat(self._constant(name), len(places))
            for name in names
        ]
        return pa.table(columns, names=list(names)).cast(pa.schema([_SCHEMA.field(name) for name in names]))

    def fields(self, places: Array, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield some fields of the rows at these places, with texts as they were decoded; AT_ONCE of them at a time."""
        for begin in range(0, len(places), AT_ONCE):
            rows = self.taken(places[begin : begin + AT_ONCE], names)
            yield from zip(*map(values_of, rows.columns), strict=True)

    def row(self, place: int) -> OffsetHistoryRow:
        """Return the row at a place."""
        values = (
            (self.column(name)[place] if name in self._names else self._constant(name)).as_py()
            for name in OffsetHistoryRow._fields
        )
        return OffsetHistoryRow._make(
            from_shown(value) if isinstance(value, str) else value for value in values
        )

    def _constant(self, name: str) -> pa.Scalar:
        return self._constants.get(name, _NULLS[name])


def coded(name: str, column: pa.Array) -> pa.Array:
    """Return a column dictionary-encoded where it is one of names or causes, of which there are few."""
    is_plain = name in _CODED and not pa.types.is_dictionary(column.type)
    return column.dictionary_encode() if is_plain else column


class RowsOnDemand(Sequence[OffsetHistoryRow]):
    """Rows at some places of SortedOffsets, materialized as they are asked for, AT_ONCE of them at a time."""

    def __init__(self, columns: SortedOffsets, places: Array) -> None:
        """Hold the places."""
        self._columns, self._places = columns, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> OffsetHistoryRow: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[OffsetHistoryRow]: ...
    def __getitem__(self, at: int | slice) -> OffsetHistoryRow | Sequence[OffsetHistoryRow]:
        if isinstance(at, slice):
            return RowsOnDemand(self._columns, self._places[at])
        return self._columns.row(int(self._places[at]))

    def __iter__(self) -> Iterator[OffsetHistoryRow]:
        return map(OffsetHistoryRow._make, self._columns.fields(self._places, OffsetHistoryRow._fields))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def rows_of(row: type[_Row], columns: pa.Table) -> Iterator[_Row]:
    """Yield rows of this type from their columns, with texts as they were decoded."""
    values = [values_of(columns.column(name)) for name in row._fields]
    yield from map(row._make, zip(*values, strict=True))


def values_of(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return a column's values as the library's rows have them: texts decoded, lists as tuples, times in epoch milliseconds."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_list(column.type):
        return [tuple(map(from_shown, texts)) for texts in column.to_pylist()]
    if pa.types.is_timestamp(column.type):
        microseconds = column.cast(pa.int64()).to_pylist()
        return [None if time is None else time // _MICROSECONDS for time in microseconds]
    if pa.types.is_string(column.type):
        # Few texts are in many rows, which share them.
        column = column.dictionary_encode()
    if not pa.types.is_dictionary(column.type):
        return list(column.to_pylist())
    texts = [None if text is None else from_shown(text) for text in column.dictionary.to_pylist()]
    return [None if code is None else texts[code] for code in column.indices.to_pylist()]
