"""Which files of a history a replay takes the place of: rows of its partitions that still held where it began to tell them anew.

A file all of whose rows are replaced goes; of one that has others too (a compacted one) these are written anew, some rows at a
time. Files that cannot have such rows, by Delta's statistics, are not opened. Knows nothing about commits.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from spark.parquet import NewFile, TableWriter
from spark.tables import Table


class Replaced(NamedTuple):
    """Rows of one log partition that hold, or ended at `settled` or behind it. With 0, all rows of the partition.

    `is_cluster`: all rows of the cluster, whatever log partition they are of, or of none.
    """

    cluster: str
    log_partition: int | None = None
    settled: int = 0
    is_cluster: bool = False


class Replacing(NamedTuple):
    """Files that go, by their paths in the table's folder, and files with what stays of them."""

    gone: list[str]
    kept: list[NewFile]


Facts = Mapping[str, Any]
"""What Delta knows of a file: path, num_records, null_count.*, min.*, max.* (DeltaTable.get_add_actions)."""


def replace(lake: Path, table: Table, files: Sequence[Facts], replaced: Sequence[Replaced]) -> Replacing:
    """Plans for all files that a table has, and writes what stays."""
    gone, kept = [], list[NewFile]()
    for file in files:
        concerned = [each for each in replaced if _may_have(file, each, table)]
        if not concerned:
            continue
        if not any(_is_all(file, each, table) for each in concerned):
            found = _write_others(lake, table, file, concerned)
            if sum(new.rows for new in found) == file["num_records"]:
                for new in found:
                    (lake / table.name / new.path).unlink()
                continue
            kept += found
        gone.append(file["path"])
    return Replacing(gone, kept)


def _may_have(file: Facts, replaced: Replaced, table: Table) -> bool:
    if not _is_within(file, "cluster", replaced.cluster):
        return False
    if replaced.is_cluster:
        return True
    if replaced.log_partition is None:
        if file.get("null_count.log_partition") == 0:
            return False
    elif not _is_within(file, "log_partition", replaced.log_partition):
        return False
    last = file.get(f"max.{table.ends}")
    return last is None or bool(file.get(f"null_count.{table.ends}")) or last >= replaced.settled


def _is_within(file: Facts, column: str, value: Any) -> bool:
    """Whether the column may have the value; where all are null, or nothing is known, it may."""
    least, greatest = file.get(f"min.{column}"), file.get(f"max.{column}")
    return least is None or greatest is None or least <= value <= greatest


def _is_all(file: Facts, replaced: Replaced, table: Table) -> bool:
    if replaced.is_cluster:
        return _is_only(file, "cluster", replaced.cluster)
    rows = file.get("num_records")
    nulls = {column: file.get(f"null_count.{column}") for column in ("log_partition", table.ends)}
    if not _is_only(file, "cluster", replaced.cluster) or None in nulls.values():
        return False
    if replaced.log_partition is None:
        if nulls["log_partition"] != rows:
            return False
    elif nulls["log_partition"] or not _is_only(file, "log_partition", replaced.log_partition):
        return False
    first = file.get(f"min.{table.ends}")
    return nulls[table.ends] == rows if first is None else first >= replaced.settled


def _is_only(file: Facts, column: str, value: Any) -> bool:
    """By statistics that keep texts whole: a text cut short is never its own maximum."""
    return bool(file.get(f"min.{column}") == value == file.get(f"max.{column}"))


def _write_others(lake: Path, table: Table, file: Facts, replaced: Sequence[Replaced]) -> list[NewFile]:
    """What ended apart from what holds: the next replay shall find the latter in a small file again."""
    ended, holding = TableWriter(lake, table), TableWriter(lake, table)
    for rows in _rows(lake / table.name / file["path"], table):
        others = rows.filter(pc.invert(_are_replaced(rows, replaced, table)))
        if table.ends is None:
            ended.write(others)
            continue
        holds = others.column(table.ends).is_null()
        ended.write(others.filter(pc.invert(holds)))
        holding.write(others.filter(holds))
    return [*ended.close(), *holding.close()]


def _rows(path: Path, table: Table) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(path) as file:
        for rows in file.iter_batches(columns=table.schema.names):
            yield rows.cast(table.schema)


def _are_replaced(rows: pa.RecordBatch, replaced: Sequence[Replaced], table: Table) -> pa.Array:
    found = pa.array([False] * rows.num_rows)
    for each in replaced:
        concerned = pc.equal(rows.column("cluster"), each.cluster)
        if not each.is_cluster:
            concerned = pc.and_(concerned, _lasts(rows, each, table))
        found = pc.or_(found, concerned)
    return found


def _lasts(rows: pa.RecordBatch, replaced: Replaced, table: Table) -> pa.Array:
    partition = rows.column("log_partition")
    is_there = (
        partition.is_null()
        if replaced.log_partition is None
        else pc.fill_null(pc.equal(partition, replaced.log_partition), False)
    )
    lasts = pc.fill_null(pc.greater_equal(rows.column(table.ends), replaced.settled), True)
    return pc.and_(is_there, lasts)
