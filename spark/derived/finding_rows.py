"""Read what finders read from files of a cluster's histories, transactions and expiry, and bring the rows of a group together.

Tasks read files themselves. What some batches have of a group travels as one pickle, so that little is shuffled; many committed
offsets travel, and stay, in columns. A task holds the rows of one group at a time, or, where there are few, those of many. Knows no
finding.
"""

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.findings import COMMITS, PartitionColumns, highest_commits
from offsets_tool.columns.offset_columns import apart, in_columns
from offsets_tool.expiry.rows import ExpiryRow
from offsets_tool.findings.group_rows import GroupRow, GroupRows, LogStretch, gather
from offsets_tool.findings.record_sums import RecordSums
from offsets_tool.history.rows import AnomalyRow, GroupHistoryRow, MemberHistoryRow, OffsetHistoryRow
from offsets_tool.history.transactions import TransactionRow
from offsets_tool.lake.tables import (
    ANOMALIES,
    EXPIRY,
    GROUP_HISTORY,
    MEMBER_HISTORY,
    OFFSET_HISTORY,
    TRANSACTIONS,
)
from offsets_tool.log.archive.delta import open_delta
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.wire.arrow import arrow_schema, record_batch
from offsets_tool.wire.schema import Bytes, Int32, String
from offsets_tool.wire.text import from_shown, shown
from spark.derived.derive import Derivation
from spark.lake.parquet import encoded_schema
from spark.lake.scan import FileFacts, RowsPiece, facts_of, file_rows, is_within, pieces_of
from spark.runtime.rows import Batches, Progress, Rows, StartSpark, gathered, is_little, numbers_of, of_units

KINDS: Final[tuple[type[GroupRow], ...]] = (
    OffsetHistoryRow,
    GroupHistoryRow,
    MemberHistoryRow,
    AnomalyRow,
    ExpiryRow,
    TransactionRow,
)
TABLES: Final = (OFFSET_HISTORY, GROUP_HISTORY, MEMBER_HISTORY, ANOMALIES, EXPIRY, TRANSACTIONS)
"""The tables with rows of these kinds, in the same order."""
_GROUP: Final = ("log_partition", "group")
_MICROSECONDS: Final = 1_000
_PACKED: Final = -1
"""In the place of a number of a kind: committed offsets as `apart` packs them."""
READ_BY_ALL: Final = 2_000_000
"""Rows that weigh so much are read by each task from all files, which keeps its groups of them in columns."""
AT_ONCE: Final = 1_000_000
"""The weight of the rows, about, that a task holds at once."""
_OF_OBJECT: Final = 8
"""What a row that becomes an object weighs; a committed offset in columns weighs 1."""
_LEAST_TASKS: Final = 2
_OFFSETS: Final = pa.schema(
    [encoded_schema(OFFSET_HISTORY.schema).field(name) for name in OffsetHistoryRow._fields]
)
_TOGETHER: Final = 1 << 18
"""The rows of a file, about, that are packed together: what is done for each group is done less often."""
_OF_FEW_COLUMNS: Final = 1 << 21
"""The rows that are taken together of few columns, which take little memory."""
GroupsTask = Callable[[Iterator[GroupRows]], Batches]
"""From groups, each with all of its rows, to other rows."""


class _Packed(NamedTuple):
    """Rows of one kind that a batch has of a group of a log partition (a pickle: the number of the kind, and the rows)."""

    log_partition: Int32 | None
    group: String
    rows: Bytes


class HistoryFile(NamedTuple):
    """A file of a table that findings rest on: the number of its rows' kind, where it is, and what Delta says of it."""

    kind: int
    path: Path
    facts: FileFacts


def history_files(root: Path) -> list[HistoryFile]:
    """Return the files of all tables of a lake that findings rest on."""
    return [
        HistoryFile(kind, root / table.name / facts["path"], facts)
        for kind, table in enumerate(TABLES)
        for facts in facts_of(open_delta(root / table.name))
    ]


class FindingInput(NamedTuple):
    """The files that may have rows of a cluster, and what else finders must know: stretches of the log, the retention."""

    cluster: str
    pieces: Sequence[tuple[int, Path, RowsPiece]]
    """Pieces of files, each with the number of its rows' kind."""
    records: int
    weight: int
    """What its rows take of a task's memory; that of one committed offset is 1."""
    stretches: Mapping[int | None, LogStretch]
    """By log partition, what of it was replayed."""
    retention_ms: int | None
    """Of expiry's forecasts by several retentions, the one that counts; None if there is but one."""

    @classmethod
    def of(
        cls,
        files: Iterable[HistoryFile],
        cluster: str,
        stretches: Mapping[int | None, LogStretch],
        retention_ms: int | None,
    ) -> "FindingInput":
        """Return those of a lake's `history_files` that may have rows of a cluster, and what no row says."""
        its = [file for file in files if is_within(file.facts, "cluster", cluster)]
        records = sum(file.facts["num_records"] for file in its)
        offsets = sum(file.facts["num_records"] for file in its if TABLES[file.kind] is OFFSET_HISTORY)
        weight = offsets + _OF_OBJECT * (records - offsets)
        pieces = [(file.kind, file.path, piece) for file in its for piece in pieces_of(file.facts)]
        return cls(cluster, pieces, records, weight, stretches, retention_ms)

    def through(self, start: StartSpark, progress: Progress, task: GroupsTask, schema: pa.Schema) -> Rows:
        """Return the rows that `task` makes of the cluster's groups, each with all of its rows.

        Where the rows are not too many, each task reads its groups from all files, and nothing is shuffled.
        """
        if self.weight > READ_BY_ALL:
            packed = self.units(start, progress).through(self._read, arrow_schema(_Packed))
            return packed.grouped(_GROUP, _GROUP).through(lambda rows: task(self._unpacked(rows)), schema)
        is_here = self.is_little
        buckets = 1 if is_here else max(_LEAST_TASKS, -(-self.weight // AT_ONCE))
        units = of_units(start, buckets, is_here=is_here, progress=progress)
        return units.through(lambda numbers: task(self._of_buckets(buckets, numbers)), schema)

    @property
    def is_little(self) -> bool:
        """Whether this process does all that there is to do."""
        return not self.pieces or is_little(self.records)

    def units(self, start: StartSpark, progress: Progress) -> Rows:
        """Return the numbers of the pieces as units of work, one for each task; here where all tasks would read all of them."""
        return of_units(start, len(self.pieces), is_here=self.weight <= READ_BY_ALL, progress=progress)

    def of_offsets(self) -> "FindingInput":
        """Return this input restricted to the files of `offset_history`."""
        return self._replace(pieces=[piece for piece in self.pieces if TABLES[piece[0]] is OFFSET_HISTORY])

    def of_others(self) -> "FindingInput":
        """Return this input without the files of `offset_history`."""
        return self._replace(
            pieces=[piece for piece in self.pieces if TABLES[piece[0]] is not OFFSET_HISTORY]
        )

    def commits_of(self, numbers: Batches) -> Iterator[tuple[GroupRows, dict[TopicPartition, int], int]]:
        """Yield for each group its highest commit of each partition and its number of commits, computed by column.

        Call it on `of_offsets()`, in a task; the groups carry no rows.
        """
        for number in numbers_of(numbers):
            for rows in self._rows_together(number, ("cluster", *COMMITS), _OF_FEW_COLUMNS):
                highest = highest_commits(rows.combine_chunks())
                for counted in rows.column("group").combine_chunks().value_counts().to_pylist():
                    group = from_shown(counted["values"])
                    yield GroupRows(group, None), highest.get(group, {}), counted["counts"]

    def _of_buckets(self, buckets: int, numbers: Batches) -> Iterator[GroupRows]:
        for number in numbers_of(numbers):
            yield from self._of_bucket(number, buckets)

    def _of_bucket(self, bucket: int, buckets: int) -> Iterator[GroupRows]:
        """Yield the rows of the groups in a bucket, by log partition, read from all files."""
        rows: dict[int | None, list[GroupRow]] = defaultdict(list)
        offsets: dict[int | None, list[pa.RecordBatch]] = defaultdict(list)
        for number, (kind, *_) in enumerate(self.pieces):
            for some in self._rows_in(number, TABLES[kind].schema.names):
                wanted = some if buckets == 1 else some.filter(_are_in(some.column("group"), bucket, buckets))
                if TABLES[kind] is not OFFSET_HISTORY:
                    for row in self._rows(kind, wanted):
                        rows[row.log_partition].append(row)
                    continue
                for log_partition, its in _by_log_partition(wanted):
                    offsets[log_partition].append(its.select(OffsetHistoryRow._fields))
        for log_partition in offsets.keys() | rows.keys():
            columns = pa.Table.from_batches(offsets.pop(log_partition, ()), _OFFSETS).unify_dictionaries()
            stretch, sums = self.stretches[log_partition], RecordSums(log_partition)
            yield from PartitionColumns(rows.pop(log_partition, ()), columns, stretch, sums).groups()

    def _unpacked(self, batches: Batches) -> Iterator[GroupRows]:
        """Yield the rows of each group, given what `_read` has made of them, those of a group together. Runs in a task."""
        packed = chain.from_iterable(
            zip(*(column.to_pylist() for column in batch.columns), strict=True) for batch in batches
        )
        for (log_partition, shown_group), some in groupby(packed, itemgetter(0, 1)):
            pieces = [pickle.loads(each) for _, _, each in some]
            rows = (KINDS[kind]._make(row) for kind, of in pieces if kind != _PACKED for row in of)
            stretch, group = self.stretches[log_partition], from_shown(shown_group)
            found = gather(rows, stretch).get(group) or GroupRows(group, *stretch)
            columns = [of for kind, of in pieces if kind == _PACKED]
            yield in_columns(found, columns) if columns else found

    def _read(self, numbers: Batches) -> Batches:
        for number in numbers_of(numbers):
            kind = self.pieces[number][0]
            if TABLES[kind] is OFFSET_HISTORY:
                for together in self._rows_together(number, TABLES[kind].schema.names):
                    few, many = apart(together)
                    packed = (_Packed(*home, pickle.dumps((_PACKED, rows))) for home, rows in many)
                    yield record_batch(_Packed, [*self._packed(kind, few), *packed])
            else:
                for rows in self._rows_in(number, TABLES[kind].schema.names):
                    yield record_batch(_Packed, list(self._packed(kind, rows)))

    def _rows_in(self, number: int, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the cluster in the piece with this number, with some columns."""
        kind, path, piece = self.pieces[number]
        for rows in file_rows(path, TABLES[kind], columns, piece):
            wanted = rows.filter(pc.equal(rows.column("cluster"), self.cluster))
            if wanted.num_rows:
                yield wanted

    def _rows_together(
        self, number: int, columns: Sequence[str], at_once: int = _TOGETHER
    ) -> Iterator[pa.Table]:
        """Yield rows as `_rows_in` does, many at a time."""
        for some in gathered(self._rows_in(number, columns), at_once):
            yield pa.Table.from_batches(some).unify_dictionaries()

    def _packed(self, kind: int, rows: pa.RecordBatch | pa.Table) -> Iterator[_Packed]:
        by_group: dict[tuple[int | None, str], list[GroupRow]] = defaultdict(list)
        for row in self._rows(kind, rows):
            assert row.group is not None
            by_group[row.log_partition, row.group].append(row)
        for (log_partition, group), some in by_group.items():
            yield _Packed(log_partition, shown(group), pickle.dumps((kind, list(map(tuple, some)))))

    def _rows(self, kind: int, rows: pa.RecordBatch | pa.Table) -> Iterator[GroupRow]:
        """Yield the rows of a kind that are of a group, and that count."""
        columns = (column_values(rows.column(field)) for field in KINDS[kind]._fields)
        for fields in zip(*columns, strict=True):
            row: GroupRow = KINDS[kind](*fields)
            if row.group is not None and is_counted(row, self.retention_ms):
                yield row


def retention_of(expiry: Derivation) -> int | None:
    """Return the retention by which findings judge, in milliseconds, where expiry was computed for several; None where for one."""
    asked: list[int] = expiry.basis["asked"]["retentions"]
    return asked[0] if len(asked) > 1 else None


def is_counted(row: GroupRow, retention_ms: int | None) -> bool:
    """Return whether findings rest on a row: on a forecast of `expiry` only if it is by this retention; None is any."""
    if retention_ms is None or not isinstance(row, ExpiryRow):
        return True
    return row.status != "live" or row.retention_ms == retention_ms


def _are_in(groups: pa.DictionaryArray, bucket: int, buckets: int) -> pa.Array:
    """Return for each row whether its group belongs to a bucket; null without a group."""
    texts = groups.dictionary.to_pylist()
    return pa.array([crc32(text.encode()) % buckets == bucket for text in texts], pa.bool_()).take(
        groups.indices
    )


def _by_log_partition(rows: pa.RecordBatch) -> Iterator[tuple[int | None, pa.RecordBatch]]:
    """Yield the log partitions that rows are of, each with its rows: nearly always one."""
    numbers = rows.column("log_partition")
    distinct = pc.unique(numbers)
    for number in distinct:
        is_its = numbers.is_null() if number.as_py() is None else pc.equal(numbers, number)
        yield number.as_py(), rows if len(distinct) == 1 else rows.filter(is_its)


def column_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return a column's values as the library's rows have them: texts decoded, times in epoch milliseconds."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_string(column.type):
        column = column.dictionary_encode()
    if pa.types.is_dictionary(column.type):
        texts = [None if text is None else from_shown(text) for text in column.dictionary.to_pylist()]
        return [None if place is None else texts[place] for place in column.indices.to_pylist()]
    if pa.types.is_timestamp(column.type):
        microseconds = column.cast(pa.int64()).to_pylist()
        return [None if each is None else each // _MICROSECONDS for each in microseconds]
    if pa.types.is_list(column.type):
        return [tuple(map(from_shown, each)) for each in column.to_pylist()]
    found: list[Any] = column.to_pylist()
    return found
