"""Read what finders read from files of a cluster's histories, transactions and expiry, and bring the rows of a group together.

Tasks read files themselves. What some batches have of a group travels as one pickle, so that little is shuffled; many committed
offsets travel, and stay, in columns. A task holds the rows of one group at a time, or, where there are few, those of many. Knows no
finding.
"""

import pickle
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.findings import COMMITS, PartitionColumns, highest_commits
from offsets_tool.columns.offset_columns import PackedRows, apart, in_columns
from offsets_tool.columns.sorted_offsets import values_of
from offsets_tool.findings.group_rows import GroupRow, GroupRows, LogStretch, gather
from offsets_tool.findings.record_sums import RecordSums
from offsets_tool.history.rows import OffsetHistoryRow
from offsets_tool.lake.history_rows import KINDS, TABLES, HistoryFile, is_counted
from offsets_tool.lake.merge import Batches, gathered
from offsets_tool.lake.scan import RowsPiece, encoded_schema, file_rows, is_within, pieces_of
from offsets_tool.lake.tables import OFFSET_HISTORY
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.wire.arrow import arrow_schema, record_batch
from offsets_tool.wire.schema import Bytes, Int32, String
from offsets_tool.wire.text import from_shown, shown
from spark.runtime.rows import Progress, Rows, StartSpark, is_little, numbers_of, of_units, with_buffers

_GROUP: Final = ("log_partition", "group")
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
            stretch, sums = self.stretches[log_partition], RecordSums(log_partition)
            its = rows.pop(log_partition, ())
            yield from PartitionColumns(its, _table(offsets.pop(log_partition, ())), stretch, sums).groups()

    def _unpacked(self, batches: Batches) -> Iterator[GroupRows]:
        """Yield the rows of each group, given what `_read` has made of them, those of a group together. Runs in a task."""
        for (log_partition, shown_group), some in groupby(with_buffers(batches), itemgetter(0, 1)):
            rows, packed = _kinds_apart(pickle.loads(each) for *_, each in some)
            stretch, group = self.stretches[log_partition], from_shown(shown_group)
            found = gather(rows, stretch).get(group) or GroupRows(group, *stretch)
            # Each goes as it is unpacked.
            yield in_columns(found, (packed.popleft() for _ in range(len(packed)))) if packed else found

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
        columns = (values_of(rows.column(field)) for field in KINDS[kind]._fields)
        for fields in zip(*columns, strict=True):
            row: GroupRow = KINDS[kind](*fields)
            if row.group is not None and is_counted(row, self.retention_ms):
                yield row


def _kinds_apart(unpickled: Iterable[tuple[int, Any]]) -> tuple[list[GroupRow], deque[PackedRows]]:
    """Return the rows of a group, and its committed offsets that are packed."""
    rows, packed = list[GroupRow](), deque[PackedRows]()
    for kind, of in unpickled:
        if kind == _PACKED:
            packed.append(of)
        else:
            rows += map(KINDS[kind]._make, of)
    return rows, packed


def _are_in(groups: pa.DictionaryArray, bucket: int, buckets: int) -> pa.Array:
    """Return for each row whether its group belongs to a bucket; null without a group."""
    texts = groups.dictionary.to_pylist()
    return pa.array([crc32(text.encode()) % buckets == bucket for text in texts], pa.bool_()).take(
        groups.indices
    )


def _table(offsets: Iterable[pa.RecordBatch]) -> pa.Table:
    """Return batches as a table that nobody holds but whom it is given to: its columns go one by one as they are sorted."""
    return pa.Table.from_batches(offsets, _OFFSETS).unify_dictionaries()


def _by_log_partition(rows: pa.RecordBatch) -> Iterator[tuple[int | None, pa.RecordBatch]]:
    """Yield the log partitions that rows are of, each with its rows: nearly always one."""
    numbers = rows.column("log_partition")
    distinct = pc.unique(numbers)
    for number in distinct:
        is_its = numbers.is_null() if number.as_py() is None else pc.equal(numbers, number)
        yield number.as_py(), rows if len(distinct) == 1 else rows.filter(is_its)
