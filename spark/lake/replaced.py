"""Replace rows of a table by those of a new run: rows of log partitions that still held, of clusters, of partitions of topics.

A file whose rows are all replaced is removed; of another, the rows that stay are written to a new file, some at a time. Files
that cannot have replaced rows, by Delta's statistics, are not opened; of others, only the columns that decide are read first. Knows
nothing about commits.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.lake.scan import FileFacts, file_rows, is_within
from offsets_tool.lake.tables import Table
from offsets_tool.wire.arrow import record_batch
from spark.lake.parquet import NewFile, TableWriter

_PARTITIONS: Final = 1 << 32
"""A number above that of any partition."""


class Replaced(NamedTuple):
    """The rows of one log partition that still hold, or that ended at or behind the offset `settled`; with 0, all its rows.

    With `is_cluster`: all rows of the cluster.
    """

    cluster: str
    log_partition: int | None = None
    settled: int = 0
    is_cluster: bool = False

    def columns(self, table: Table) -> list[str]:
        """Return the columns of the table that decide whether a row is replaced."""
        return (
            ["cluster"] if self.is_cluster or table.ends is None else ["cluster", "log_partition", table.ends]
        )

    def may_be_in(self, file: FileFacts, table: Table) -> bool:
        """Return whether a file may have replaced rows, going by its statistics."""
        if not is_within(file, "cluster", self.cluster):
            return False
        if self.is_cluster:
            return True
        if self.log_partition is None:
            if file.get("null_count.log_partition") == 0:
                return False
        elif not is_within(file, "log_partition", self.log_partition):
            return False
        last = file.get(f"max.{table.ends}")
        return last is None or bool(file.get(f"null_count.{table.ends}")) or last >= self.settled

    def is_all_of(self, file: FileFacts, table: Table) -> bool:
        """Return whether all rows of a file are known to be replaced, going by its statistics."""
        if self.is_cluster:
            return is_only(file, "cluster", self.cluster)
        rows = file.get("num_records")
        nulls = {column: file.get(f"null_count.{column}") for column in ("log_partition", table.ends)}
        if not is_only(file, "cluster", self.cluster) or None in nulls.values():
            return False
        if self.log_partition is None:
            if nulls["log_partition"] != rows:
                return False
        elif nulls["log_partition"] or not is_only(file, "log_partition", self.log_partition):
            return False
        first = file.get(f"min.{table.ends}")
        return nulls[table.ends] == rows if first is None else first >= self.settled

    def are(self, rows: pa.RecordBatch, table: Table) -> pa.Array:
        """Return for each row whether it is replaced, as an array of booleans."""
        is_there = pc.equal(rows.column("cluster"), self.cluster)
        if self.is_cluster:
            return is_there
        is_of = _are_of(rows, self.log_partition)
        lasts = pc.fill_null(pc.greater_equal(rows.column(table.ends), self.settled), True)
        return pc.and_(is_there, pc.and_(is_of, lasts))


def _are_of(rows: pa.RecordBatch, log_partition: int | None) -> pa.Array:
    """Return for each row whether it is of a log partition."""
    partition = rows.column("log_partition")
    return (
        partition.is_null()
        if log_partition is None
        else pc.fill_null(pc.equal(partition, log_partition), False)
    )


class ReplacedPartitions:
    """The rows of some topics' partitions of a cluster; fast for any number of partitions."""

    def __init__(self, cluster: str, partitions: pa.Table) -> None:
        """Hold the partitions of a cluster whose rows are replaced; `partitions` has the columns `topic` and `partition`."""
        self.cluster = cluster
        self._topics = pc.unique(partitions.column("topic")).sort()
        self._names: list[str] = self._topics.to_pylist()
        self._numbers = self._number(
            *(partitions.column(name).combine_chunks() for name in ("topic", "partition"))
        )

    def columns(self, table: Table) -> list[str]:
        """Return the columns of the table that decide whether a row is replaced."""
        return ["cluster", "topic", "partition"]

    def may_be_in(self, file: FileFacts, table: Table) -> bool:
        """Return whether a file may have replaced rows, going by its statistics."""
        least, greatest = file.get("min.topic"), file.get("max.topic")
        if not is_within(file, "cluster", self.cluster) or not self._names:
            return False
        if least is None or greatest is None:
            return True
        at = bisect_left(self._names, least)
        return at < len(self._names) and self._names[at] <= greatest

    def is_all_of(self, file: FileFacts, table: Table) -> bool:
        """Return False: statistics cannot show that all rows of a file are replaced."""
        return False

    def are(self, rows: pa.RecordBatch, table: Table) -> pa.Array:
        """Return for each row whether it is replaced, as an array of booleans."""
        here = pc.is_in(self._number(rows.column("topic"), rows.column("partition")), self._numbers)
        return pc.and_(here, pc.equal(rows.column("cluster"), self.cluster))

    def _number(self, topics: pa.Array, partitions: pa.Array) -> pa.Array:
        """Return for each row one number for topic and partition; an unwanted topic's is that of no wanted partition."""
        if isinstance(topics, pa.DictionaryArray):
            found = pc.index_in(topics.dictionary, self._topics).take(topics.indices)
        else:
            found = pc.index_in(topics, self._topics)
        first = pc.multiply(found.cast(pa.int64()), _PARTITIONS)
        return pc.fill_null(pc.add(first, partitions.cast(pa.int64())), -_PARTITIONS)


class ReplacedRecords:
    """The records of one log partition below an offset that nothing needs any more: all but those of `kept`."""

    def __init__(self, cluster: str, log_partition: int | None, end: int, kept: pa.Array) -> None:
        """Hold the log partition, the offset below which records go, and as 64-bit numbers the offsets of those that stay."""
        self.cluster = cluster
        self.log_partition = log_partition
        self.end = end
        self.kept = kept

    def columns(self, table: Table) -> list[str]:
        """Return the columns of the table that decide whether a row is replaced."""
        return ["cluster", "log_partition", "log_offset"]

    def may_be_in(self, file: FileFacts, table: Table) -> bool:
        """Return whether a file may have replaced rows, going by its statistics."""
        if self.log_partition is None:
            is_of = file.get("null_count.log_partition") != 0
        else:
            is_of = is_within(file, "log_partition", self.log_partition)
        first = file.get("min.log_offset")
        return is_of and is_within(file, "cluster", self.cluster) and (first is None or first < self.end)

    def is_all_of(self, file: FileFacts, table: Table) -> bool:
        """Return False: statistics cannot show that all rows of a file are replaced."""
        return False

    def are(self, rows: pa.RecordBatch, table: Table) -> pa.Array:
        """Return for each row whether it is replaced, as an array of booleans."""
        offsets, is_of = rows.column("log_offset"), _are_of(rows, self.log_partition)
        goes = pc.and_(pc.less(offsets, self.end), pc.invert(pc.is_in(offsets, self.kept)))
        return pc.and_(pc.equal(rows.column("cluster"), self.cluster), pc.and_(is_of, goes))


Replacement = Replaced | ReplacedPartitions | ReplacedRecords


class Replacing(NamedTuple):
    """The files to remove, by their paths in the table's folder, and new files with those of their rows that stay."""

    gone: list[str]
    kept: list[NewFile]


def replace(
    lake: Path, table: Table, files: Sequence[FileFacts], replaced: Sequence[Replacement]
) -> Replacing:
    """Find the files of a table that have replaced rows, write those of their rows that stay to new files, and return both."""
    gone, kept = [], list[NewFile]()
    for file in files:
        concerned = _concerned(file, replaced, table)
        count = _count(lake, table, file, concerned)
        if count:
            gone.append(file["path"])
        if 0 < count < file["num_records"]:
            kept += _write_others(lake, table, file, concerned)
    return Replacing(gone, kept)


def rewritten(
    lake: Path, table: Table, files: Sequence[FileFacts], rows: Iterable[Mapping[str, Any]]
) -> Replacing:
    """Write `rows` as the whole content of a small table, and return its old files with the new one; none if it has them.

    So a change of which only the answer was lost is not made again.
    """
    fresh = record_batch(table.row, [tuple(row[name] for name in table.schema.names) for row in rows])
    paths = (lake / table.name / file["path"] for file in files)
    batches = (batch for path in paths for batch in file_rows(path, table, table.schema.names))
    if [row for batch in batches for row in batch.to_pylist()] == fresh.to_pylist():
        return Replacing([], [])
    with TableWriter(lake, table) as writer:
        writer.write(fresh)
        return Replacing([file["path"] for file in files], writer.close())


def count_replaced(
    lake: Path, table: Table, files: Sequence[FileFacts], replaced: Sequence[Replacement]
) -> int:
    """Return how many rows `replace` would remove from a table."""
    return sum(_count(lake, table, file, _concerned(file, replaced, table)) for file in files)


def _concerned(file: FileFacts, replaced: Sequence[Replacement], table: Table) -> list[Replacement]:
    return [each for each in replaced if each.may_be_in(file, table)]


def _count(lake: Path, table: Table, file: FileFacts, replaced: Sequence[Replacement]) -> int:
    """Return how many rows of a file are replaced."""
    if not replaced:
        return 0
    if any(each.is_all_of(file, table) for each in replaced):
        return int(file["num_records"])
    wanted = list(dict.fromkeys(name for each in replaced for name in each.columns(table)))
    path = lake / table.name / file["path"]
    return sum(_are_replaced(rows, replaced, table).true_count for rows in file_rows(path, table, wanted))


def is_only(file: FileFacts, column: str, value: Any) -> bool:
    """Return whether a file has only this value in a column, by statistics: a text that was cut short differs from its maximum."""
    return bool(file.get(f"min.{column}") == value == file.get(f"max.{column}"))


def _write_others(
    lake: Path, table: Table, file: FileFacts, replaced: Sequence[Replacement]
) -> list[NewFile]:
    """Write the rows that stay, ended rows and holding rows to different files: the next replay finds the latter in a small one."""
    ended, holding = TableWriter(lake, table), TableWriter(lake, table)
    for rows in file_rows(lake / table.name / file["path"], table, table.schema.names):
        others = rows.filter(pc.invert(_are_replaced(rows, replaced, table)))
        if table.ends is None:
            ended.write(others)
            continue
        holds = others.column(table.ends).is_null()
        ended.write(others.filter(pc.invert(holds)))
        holding.write(others.filter(holds))
    return [*ended.close(), *holding.close()]


def _are_replaced(rows: pa.RecordBatch, replaced: Sequence[Replacement], table: Table) -> pa.Array:
    return reduce(pc.or_, (each.are(rows, table) for each in replaced))
