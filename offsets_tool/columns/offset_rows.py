"""The committed offsets of the groups of a log partition, in columns, which findings ask for rows by conditions.

A condition is an array of a boolean for each row, as `rows.numbers("delta") < 0` is. A replay made the columns, or files of a lake
have them: what is asked is the same. Decides nothing.
"""

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array, differences
from offsets_tool.columns.columns_of_rows import values_of
from offsets_tool.columns.sorting import places_in_order
from offsets_tool.history.rows import OffsetHistoryRow
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.wire.arrow import arrow_schema, pack, shown_batch, unpack
from offsets_tool.wire.text import from_shown

_Row = TypeVar("_Row", bound=tuple[Any, ...])
PackedRows = tuple[tuple[str, ...], bytes]
"""Names of columns, and rows of committed offsets that have them, packed: null in the others."""
Home = tuple[int | None, str]
"""The log partition of a group, and its name as `shown` writes it."""
COMMITS: Final = ("group", "topic", "partition", "is_effective", "committed_offset")
"""The columns from which `highest_commits` is made."""
KEPT: Final = 1 << 16
"""Rows of a group that are kept once all are made, which take a kilobyte each; of one that has more, none are."""
AT_ONCE: Final = 1 << 13
"""Rows that are made at a time of those that nobody keeps."""
_OF_ONE_PLACE: Final = ("topic", "partition")
"""What rows of a group are sorted by that are of one place in the log."""
_IN_ORDER: Final = ("from_log_offset", "commit_log_offset", *_OF_ONE_PLACE)
"""What rows of a group are sorted by."""
_SCHEMA: Final = arrow_schema(OffsetHistoryRow)
_NULLS: Final = {field.name: pa.scalar(None, field.type) for field in _SCHEMA}
_CODED: Final = frozenset({"group", "topic", "topic_id", "begin_cause", "end_cause"})
_HOME: Final = ("log_partition", "group")
_SIGNS: Final = ("member_id", "from_log_offset", "from_timestamp")


class OffsetTable:
    """Rows of the committed offsets of some groups of a log partition; those of a group in the order of the log."""

    def __init__(self, rows: pa.Table) -> None:
        """Hold rows of OffsetHistoryRow in any order; a column of texts may be dictionary-encoded, by one dictionary.

        Columns missing from `rows` are null.
        """
        self.size: Final = rows.num_rows
        self._unsorted = {
            name: column
            for name, column in zip(rows.column_names, rows.columns, strict=True)
            if column.null_count < self.size or not self.size
        }
        self._names = frozenset(self._unsorted)
        self._sorted: dict[str, pa.Array] = {}
        self._numbers: dict[str, Array] = {}
        self._texts: dict[str, list[str]] = {}
        self._has: dict[str, Array] = {}
        sorted_by = [name for name in ("group", *_IN_ORDER) if name in self._names]
        for name in sorted_by:
            self._unsorted[name] = pa.chunked_array([_coded(name, self._unsorted[name].combine_chunks())])
        keys = pa.table({name: self._unsorted[name] for name in sorted_by})
        order = places_in_order(keys, [name for name in sorted_by if name not in _OF_ONE_PLACE])
        # Hardly ever are two rows of one place, and it takes twice as long to sort by all.
        places = [keys.column(name).to_numpy()[order] for name in _IN_ORDER if name not in _OF_ONE_PLACE]
        if np.all([each[1:] == each[:-1] for each in places], axis=0).any():
            order = places_in_order(keys, sorted_by)
        self._order = None if np.array_equal(order, np.arange(self.size)) else pa.array(order)

    @classmethod
    def of(cls, rows: Iterable[OffsetHistoryRow]) -> "OffsetTable":
        """Return the columns of rows in memory."""
        return cls(pa.Table.from_batches([shown_batch(OffsetHistoryRow, list(rows))]))

    def column(self, name: str) -> pa.Array:
        """Return a column in the order of the log, which is made when it is asked for first: most are not.

        Texts of names and causes, of which there are few, are dictionary-encoded.
        """
        if name not in self._names:
            return _coded(name, pa.repeat(_NULLS[name], self.size))
        if name not in self._sorted:
            # A column is there once: what it was made of goes.
            column = _coded(name, self._unsorted.pop(name).combine_chunks())
            self._sorted[name] = column if self._order is None else column.take(self._order)
        return self._sorted[name]

    def numbers(self, name: str) -> Array:
        """Return a column of numbers or booleans; null is 0. Of names and causes the places of their texts, -1 for null."""
        if name not in self._numbers:
            column = self.column(name)
            is_coded = pa.types.is_dictionary(column.type)
            values, null = (column.indices, -1) if is_coded else (column, 0)
            filled = values.fill_null(null) if values.null_count else values
            self._numbers[name] = filled.to_numpy(zero_copy_only=False)
        return self._numbers[name]

    def texts(self, name: str) -> list[str]:
        """Return the texts of a column of names or causes as they were decoded, by the places that `numbers` has."""
        if name not in self._texts:
            self._texts[name] = [from_shown(text) for text in self.column(name).dictionary.to_pylist()]
        return self._texts[name]

    def text_bytes(self, name: str) -> Array:
        """Return how many bytes the text of each row has, about."""
        if name not in self._numbers:
            self._numbers[name] = pc.fill_null(pc.binary_length(self.column(name)), 0).to_numpy()
        return self._numbers[name]

    def has(self, name: str) -> Array:
        """Return which rows have a value in a column."""
        if name not in self._has:
            self._has[name] = self.column(name).is_valid().to_numpy(zero_copy_only=False)
        return self._has[name]

    def groups(self) -> dict[str, "OffsetRows"]:
        """Return the rows of each group."""
        groups, texts = self.numbers("group"), self.texts("group")
        begins = np.flatnonzero(np.append(True, np.diff(groups) != 0)[: self.size])
        ends = np.append(begins, self.size)[1:]
        places = zip(groups[begins].tolist(), begins.tolist(), ends.tolist(), strict=True)
        return {texts[code]: OffsetRows(self, begin, end) for code, begin, end in places}

    def commits(self) -> "dict[str, GroupCommits]":
        """Return the commits of each group."""
        return commits_by_group(pa.table([self.column(name) for name in COMMITS], names=list(COMMITS)))

    def taken(self, places: Array, names: Sequence[str] = OffsetHistoryRow._fields) -> pa.Table:
        """Return some columns of the rows at these places, with texts as texts."""
        chosen = pa.array(places)
        columns = [
            self.column(name).take(chosen) if name in self._names else pa.repeat(_NULLS[name], len(places))
            for name in names
        ]
        return pa.table(columns, names=list(names)).cast(pa.schema([_SCHEMA.field(name) for name in names]))

    def fields(self, places: Array, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield some fields of the rows at these places, with texts as they were decoded; AT_ONCE of them at a time."""
        for begin in range(0, len(places), AT_ONCE):
            rows = self.taken(places[begin : begin + AT_ONCE], names)
            yield from zip(*map(values_of, rows.columns), strict=True)


def _coded(name: str, column: pa.Array) -> pa.Array:
    """Return a column dictionary-encoded where it is one of names or causes, of which there are few."""
    is_plain = name in _CODED and not pa.types.is_dictionary(column.type)
    return column.dictionary_encode() if is_plain else column


class _RowsOnDemand(Sequence[OffsetHistoryRow]):
    """Rows at some places of an OffsetTable, made as they are asked for, AT_ONCE of them at a time."""

    def __init__(self, table: OffsetTable, places: Array) -> None:
        self._table, self._places = table, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> OffsetHistoryRow: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[OffsetHistoryRow]: ...
    def __getitem__(self, at: int | slice) -> OffsetHistoryRow | Sequence[OffsetHistoryRow]:
        if isinstance(at, slice):
            return _RowsOnDemand(self._table, self._places[at])
        (row,) = self._table.fields(self._places[[at]], OffsetHistoryRow._fields)
        return OffsetHistoryRow._make(row)

    def __iter__(self) -> Iterator[OffsetHistoryRow]:
        return map(OffsetHistoryRow._make, self._table.fields(self._places, OffsetHistoryRow._fields))


class OffsetRows(Sequence[OffsetHistoryRow]):
    """The rows of one group's committed offsets in the order of the log, made when they are asked for."""

    def __init__(self, table: OffsetTable, begin: int = 0, end: int | None = None) -> None:
        """Hold the rows of a table from the place `begin` on, to its end or to the place `end`."""
        self._table, self._rows = table, slice(begin, table.size if end is None else end)

    def __len__(self) -> int:
        return self._rows.stop - self._rows.start

    @overload
    def __getitem__(self, at: int) -> OffsetHistoryRow: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[OffsetHistoryRow]: ...
    def __getitem__(self, at: int | slice) -> OffsetHistoryRow | Sequence[OffsetHistoryRow]:
        return self._all[at]

    def __iter__(self) -> Iterator[OffsetHistoryRow]:
        return iter(self._all)

    @cached_property
    def _all(self) -> Sequence[OffsetHistoryRow]:
        rows = self.at(np.arange(len(self)))
        return rows if len(rows) > KEPT else list(rows)

    def fresh(self) -> "OffsetRows":
        """Return the rows without what was made of them."""
        return OffsetRows(self._table, self._rows.start, self._rows.stop)

    def numbers(self, name: str) -> Array:
        """Return a column of numbers or booleans; null is 0. Of names and causes equal numbers are equal texts; -1 is null."""
        return self._table.numbers(name)[self._rows]

    def text_bytes(self, name: str) -> Array:
        """Return how many bytes the text of each row has, about."""
        return self._table.text_bytes(name)[self._rows]

    def texts(self, name: str, rows: Array) -> list[str | None]:
        """Return the texts of some rows in a column of names or causes; None for null."""
        texts = self._table.texts(name)
        return [None if code < 0 else texts[code] for code in self.numbers(name)[rows].tolist()]

    def is_any(self, name: str, texts: Collection[str]) -> Array:
        """Return which rows have one of some texts in a column of names or causes."""
        codes = [code for code, text in enumerate(self._table.texts(name)) if text in texts]
        return np.isin(self.numbers(name), codes)

    def has(self, name: str) -> Array:
        """Return which rows have a value in a column."""
        return self._table.has(name)[self._rows]

    @cached_property
    def is_commit(self) -> Array:
        """Which rows commits began, one each: a transaction's commit has a second row, from its marker on."""
        is_commit: Array = self.numbers("from_log_offset") == self.numbers("commit_log_offset")
        return is_commit

    @property
    def commits(self) -> Sequence[OffsetHistoryRow]:
        """The rows that commits began, made as they are asked for."""
        return self.where(self.is_commit)

    def at(self, places: Array) -> Sequence[OffsetHistoryRow]:
        """Return the rows at some places, made as they are asked for."""
        return _RowsOnDemand(self._table, self._rows.start + places)

    def where(self, condition: Array) -> Sequence[OffsetHistoryRow]:
        """Return the rows for which a condition holds, made as they are asked for."""
        return self.at(np.flatnonzero(condition))

    def fields(self, *names: str, where: Array | None = None) -> Iterator[tuple[Any, ...]]:
        """Yield some fields, two or more, of the rows for which a condition holds, of all without any."""
        places = np.arange(len(self)) if where is None else np.flatnonzero(where)
        return self._table.fields(self._rows.start + places, names)

    @property
    def commits_of(self) -> dict[str, list[tuple[int, int]]]:
        """By the member that owned the partition, log offset and record time of each commit."""
        found = defaultdict[str, list[tuple[int, int]]](list)
        is_owned = self.is_commit & self.has("member_id")
        for member, log_offset, at in self.fields(*_SIGNS, where=is_owned):
            found[member].append((log_offset, at))
        return found

    @property
    def in_transactions(self) -> frozenset[int]:
        """Log offsets of the commits that transactions made."""
        return frozenset(self.numbers("commit_log_offset")[self.has("producer_id")].tolist())

    @cached_property
    def by_partition(self) -> "EffectiveRows":
        """The rows that the group would be answered with, by partition."""
        return EffectiveRows(self, self._table, self._rows.start)


class EffectiveRows:
    """The effective rows of a group, those of each partition together and in the order of the log.

    Conditions and numbers are of these rows in this order; partitions come in the order of their first rows.
    """

    def __init__(self, rows: OffsetRows, table: OffsetTable, begin: int) -> None:
        """Take the rows of a group, which begin at a place of a table."""
        self._rows, self._table, self._begin = rows, table, begin
        topics, partitions = rows.numbers("topic"), rows.numbers("partition")
        effective = np.flatnonzero(rows.numbers("is_effective"))
        keys = ((topics.astype(np.int64) << 32) + partitions)[effective]
        order = np.argsort(keys, kind="stable")
        self._order, keys = effective[order], keys[order]
        self._begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
        self._ends = np.append(self._begins, len(keys))[1:]
        firsts = self._order[self._begins]
        names = zip(rows.texts("topic", firsts), partitions[firsts].tolist(), strict=True)
        self._names = [TopicPartition(topic or "", partition) for topic, partition in names]
        self._by_first = np.argsort(firsts, kind="stable").tolist()

    @cached_property
    def places(self) -> dict[TopicPartition, Array]:
        """By partition, the places of its rows among all rows of the group."""
        return {self._names[n]: self._order[self._begins[n] : self._ends[n]] for n in self._by_first}

    def numbers(self, name: str) -> Array:
        """Return a column of numbers; null is 0."""
        return self._rows.numbers(name)[self._order]

    def where(self, condition: Array) -> list[TopicPartition]:
        """Return the partitions in which a condition holds for a row."""
        if not self._names:
            return []
        holds = np.logical_or.reduceat(condition, self._begins).tolist()
        return [self._names[n] for n in self._by_first if holds[n]]

    def _by_name(self, values: Sequence[Any]) -> dict[TopicPartition, Any]:
        return {self._names[n]: values[n] for n in self._by_first}

    @cached_property
    def commits(self) -> dict[TopicPartition, int]:
        """By partition, the number of its rows."""
        return self._by_name((self._ends - self._begins).tolist())

    @cached_property
    def end_causes(self) -> dict[TopicPartition, str | None]:
        """By partition, how its last row ended; None if it holds."""
        return self._by_name(self._rows.texts("end_cause", self._order[self._ends - 1]))

    @cached_property
    def is_move(self) -> Array:
        """Which rows have another offset than the row before, or none before."""
        offsets = self.numbers("committed_offset")
        is_move = np.append(True, offsets[1:] != offsets[:-1])[: len(offsets)]
        is_move[self._begins] = True
        return is_move

    @cached_property
    def moved_at(self) -> dict[TopicPartition, int]:
        """By partition, when its last committed offset was committed first, epoch milliseconds."""
        moves = np.flatnonzero(self.is_move)
        last = moves[np.searchsorted(moves, self._ends) - 1]
        return self._by_name(self.numbers("from_timestamp")[last].tolist())

    def usual_pause(self) -> float:
        """Return the usual time between two rows of the partition that has most, milliseconds; infinity without any pause."""
        most = max(self.commits, key=self.commits.__getitem__, default=None)
        times = self._rows.numbers("from_timestamp")[[] if most is None else self.places[most]]
        times = times[times >= 0]
        return float(np.median(np.diff(times))) if len(times) > 1 else np.inf

    def run_lengths(self) -> Array:
        """Return for each row that moved how many rows have its offset one after the other, 0 for others."""
        moves = np.flatnonzero(self.is_move)
        lengths = np.zeros(len(self._order), np.int64)
        lengths[moves] = np.diff(np.append(moves, len(lengths)))
        return lengths

    def rests(self) -> Array:
        """Return for each row that moved for how long the one before had not, in milliseconds; 0 for the first, and for others."""
        moves = np.flatnonzero(self.is_move)
        at = self.numbers("from_timestamp")[moves]
        rests = np.zeros(len(self._order), np.int64)
        rests[moves[1:]] = differences(at[1:], at[:-1])
        rests[self._begins] = 0
        return rests

    def greatest_before(self, numbers: Array) -> Array:
        """Return for each row the greatest of some numbers, none below 0, that rows of its partition before it have; 0 if none."""
        greatest = np.zeros(len(numbers), np.int64)
        for begin, end in zip(self._begins.tolist(), self._ends.tolist(), strict=True):
            greatest[begin + 1 : end] = np.maximum.accumulate(numbers[begin : end - 1])
        return greatest

    def rows_of(
        self, partitions: Iterable[TopicPartition]
    ) -> Iterator[tuple[TopicPartition, Sequence[OffsetHistoryRow]]]:
        """Yield partitions with their rows, which are made when they are asked for where they are many."""
        for places in self._together(partitions):
            if any(len(rows) > AT_ONCE for rows in places.values()):
                yield from ((at, _RowsOnDemand(self._table, rows)) for at, rows in places.items())
            else:
                made = iter(_RowsOnDemand(self._table, np.concatenate(list(places.values()))))
                yield from ((at, list(islice(made, len(rows)))) for at, rows in places.items())

    def fields_of(
        self, partitions: Iterable[TopicPartition], names: Sequence[str]
    ) -> Iterator[tuple[TopicPartition, Iterator[tuple[Any, ...]]]]:
        """Yield partitions, each with some fields, two or more, of its rows."""
        for places in self._together(partitions):
            fields = self._table.fields(np.concatenate(list(places.values())), names)
            for at, rows in places.items():
                of_partition = islice(fields, len(rows))
                yield at, of_partition
                # What nobody asked for is not the next partition's.
                deque(of_partition, maxlen=0)

    def rows_at(
        self, numbers: Mapping[TopicPartition, Sequence[int]]
    ) -> Iterator[tuple[TopicPartition, list[OffsetHistoryRow]]]:
        """Yield partitions, each with some of its rows, by their numbers from 0, or from -1 backwards."""
        places = [self._begin + self.places[at][list(chosen)] for at, chosen in numbers.items()]
        rows = iter(_RowsOnDemand(self._table, np.concatenate(places)) if places else ())
        yield from ((at, list(islice(rows, len(chosen)))) for at, chosen in numbers.items())

    def last_rows(self, partitions: Iterable[TopicPartition]) -> list[OffsetHistoryRow]:
        """Return the last row of each of some partitions."""
        return [row for _, [row] in self.rows_at(dict.fromkeys(partitions, (-1,)))]

    def following(self, partition: TopicPartition, log_offset: int) -> OffsetHistoryRow | None:
        """Return the first row of a partition behind a place in the log."""
        return self.following_all([(partition, log_offset)], OffsetHistoryRow)[0]

    def following_all(
        self, places: Iterable[tuple[TopicPartition, int]], kind: type[_Row]
    ) -> list[_Row | None]:
        """Return for each partition, and a place in the log, its first row behind that: the fields of it that `kind` has."""
        numbers = [self._following(partition, log_offset) for partition, log_offset in places]
        following = np.array([number for number in numbers if number is not None], np.int64)
        rows = self._table.fields(self._begin + following, kind._fields)  # type: ignore[attr-defined]
        return [None if number is None else kind(*next(rows)) for number in numbers]

    def _following(self, partition: TopicPartition, log_offset: int) -> int | None:
        rows = self.places.get(partition)
        if rows is None:
            return None
        number = int(np.searchsorted(self._rows.numbers("from_log_offset")[rows], log_offset, "right"))
        return None if number == len(rows) else int(rows[number])

    def _together(self, partitions: Iterable[TopicPartition]) -> Iterator[dict[TopicPartition, Array]]:
        """Yield partitions with the places of their rows, so many that these are AT_ONCE at most, or one that has more.

        Rows of many small ones take as long as those of one.
        """
        waiting, rows = dict[TopicPartition, Array](), 0
        for at in partitions:
            places = self._begin + self.places[at]
            if waiting and rows + len(places) > AT_ONCE:
                yield waiting
                waiting, rows = {}, 0
            waiting[at] = places
            rows += len(places)
        if waiting:
            yield waiting


NO_OFFSETS: Final = OffsetRows(OffsetTable(_SCHEMA.empty_table()))
"""The rows of a group that has none."""


class GroupCommits(NamedTuple):
    """The highest commit of each partition that a group would have been answered with, and how many rows there are of it."""

    highest: dict[TopicPartition, int]
    rows: int


def commits_by_group(offsets: pa.Table) -> dict[str, GroupCommits]:
    """Return the commits of each group, given the columns COMMITS, with names encoded."""
    offsets = offsets.unify_dictionaries().combine_chunks()
    names = ("group", "topic", "partition")
    effective = offsets.filter(offsets.column("is_effective"))
    summed = effective.group_by(names).aggregate([("committed_offset", "max")])
    highest = defaultdict[str, dict[TopicPartition, int]](dict)
    columns = (values_of(summed.column(name)) for name in (*names, "committed_offset_max"))
    for group, topic, partition, committed_offset in zip(*columns, strict=True):
        highest[group][TopicPartition(topic, partition)] = committed_offset
    counts = offsets.column("group").combine_chunks().value_counts()
    rows = zip(values_of(counts.field("values")), counts.field("counts").to_pylist(), strict=True)
    return {group: GroupCommits(highest[group], number) for group, number in rows}


def unpacked_rows(packed: Iterable[PackedRows], *, are_many: bool) -> OffsetTable:
    """Return the committed offsets of groups of one log partition that `packed_rows` packed, at least one piece.

    `are_many` says that pieces are large, so that what is decompressed of one must go before the next.
    """
    tables = (pa.Table.from_batches([_unpacked(*rows, are_many=are_many)]) for rows in packed)
    return OffsetTable(pa.concat_tables(list(tables), promote_options="default").unify_dictionaries())


def _unpacked(names: Sequence[str], packed: bytes, *, are_many: bool) -> pa.RecordBatch:
    """Return columns; of many rows they share no memory: each can go alone, and texts go as they are encoded."""
    rows = unpack(packed, pa.schema([_SCHEMA.field(name) for name in names]))
    if not are_many:
        return rows
    return pa.record_batch(
        {
            name: column.dictionary_encode() if name in _CODED else _copy(column)
            for name, column in zip(rows.schema.names, rows.columns, strict=True)
            if column.null_count < rows.num_rows
        }
    )


def _copy(column: pa.Array) -> pa.Array:
    # Of one array alone, Arrow may give back that.
    return pa.concat_arrays([column, column.slice(0, 0)])


def packed_rows(rows: pa.Table) -> Iterator[tuple[Home, PackedRows]]:
    """Yield the rows of each group packed."""
    if not rows.num_rows:
        return
    # Most columns say nothing of most commits.
    names = tuple(field.name for field in _SCHEMA if rows.column(field.name).null_count < rows.num_rows)
    order = pa.array(places_in_order(rows, _HOME))
    # Sorted while texts are dictionary-encoded: they take a tenth of the memory.
    ordered = (
        rows.select([*dict.fromkeys((*_HOME, *names))]).unify_dictionaries().combine_chunks().take(order)
    )
    plain = ordered.select(names).cast(pa.schema([_SCHEMA.field(name) for name in names]))
    (batch,) = plain.combine_chunks().to_batches()
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
