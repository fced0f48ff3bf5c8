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
from offsets_tool.columns.offset_sums import COLUMNS, OffsetSums, offset_sums
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
_SIGNS: Final = ("member_id", "from_log_offset", "commit_log_offset", "from_timestamp")


class OffsetColumns(SummedOffsets):
    """The rows of a group's committed offsets at some places of columns."""

    def __init__(self, columns: pa.Table, places: Array, proven_from: int) -> None:
        """Hold columns of OffsetHistoryRow, and the places of the group's rows in the order of the log."""
        self._columns, self._places, self._proven_from = columns, places, proven_from

    @classmethod
    def of(cls, columns: pa.Table, proven_from: int) -> "OffsetColumns":
        """Return all rows of columns that are of one group, in any order."""
        return cls(columns, places_in_order(columns, IN_ORDER), proven_from)

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
        return list(rows_of(OffsetHistoryRow, self._taken(self._places[self._summed.places[of]])))

    def next_effective(self, of: TopicPartition, log_offset: int) -> OffsetHistoryRow | None:
        """Return the first effective row of a partition behind a place in the log, where `partitions` has it."""
        assert self._summed is not None
        places = self._places[self._summed.places[of]]
        at = int(np.searchsorted(self._began[places], log_offset, "right"))
        if at == len(places):
            return None
        (row,) = rows_of(OffsetHistoryRow, self._columns.slice(int(places[at]), 1))
        return row

    @cached_property
    def _began(self) -> Array:
        began: Array = self._columns.column("from_log_offset").to_numpy()
        return began

    def commit_fields(self, *names: str) -> list[tuple[Any, ...]]:
        """Return some fields of each commit, as GroupHistories.commits has them."""
        rows = self._taken(self._places, (*IN_ORDER, *names))
        commits = rows.filter(pc.equal(*(rows.column(at) for at in range(len(IN_ORDER)))))
        return list(
            zip(
                *(_values(commits.column(at)) for at in range(len(IN_ORDER), commits.num_columns)),
                strict=True,
            )
        )

    def commits_of(self) -> dict[str, list[tuple[int, int]]]:
        """Return log offset and record time of each commit, by the member that owned the partition."""
        rows = self._taken(self._places, _SIGNS)
        is_commit = pc.equal(rows.column("from_log_offset"), rows.column("commit_log_offset"))
        owned = rows.filter(pc.and_(is_commit, pc.is_valid(rows.column("member_id"))))
        members, log_offsets, _, times = (_values(owned.column(name)) for name in _SIGNS)
        found = defaultdict[str, list[tuple[int, int]]](list)
        for member, log_offset, at in zip(members, log_offsets, times, strict=True):
            found[member].append((log_offset, at))
        return found

    @cached_property
    def _summed(self) -> OffsetSums | None:
        return offset_sums(self._taken(self._places, COLUMNS), self._proven_from)

    @cached_property
    def _rows(self) -> list[OffsetHistoryRow]:
        return sorted(rows_of(OffsetHistoryRow, self._taken(self._places)), key=offset_order)

    def _taken(self, places: Array, names: Sequence[str] = OffsetHistoryRow._fields) -> pa.Table:
        return self._columns.select(list(names)).take(pa.array(places))


def in_columns(rows: GroupRows, packed: Iterable[PackedRows]) -> GroupRows:
    """Return the rows of a group with more of its committed offsets, as `apart` packs them; all of these are in columns."""
    home = {"group": pa.scalar(shown(rows.group)), "log_partition": pa.scalar(rows.log_partition, pa.int32())}
    batches = [_unpacked(each, home) for each in packed]
    if rows.offsets:
        batches.append(shown_batch(OffsetHistoryRow, rows.offsets))
    columns = pa.Table.from_batches(batches, _SCHEMA)
    return replace(rows, offsets=OffsetColumns.of(columns.combine_chunks(), rows.proven_from))


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
