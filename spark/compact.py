"""Compaction: the many small files that ingests leave become few, sorted so that questions about a group read little of them.

Spark's OPTIMIZE with ZORDER: rows stay as they are, old files stay until VACUUM. Runs when no ingest does.
"""

from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from offsets_tool.errors import UsageError
from spark.commit import locked
from spark.tables import TABLES, Table


class Compacted(NamedTuple):
    """What became of one table's files; sizes in bytes."""

    table: str
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int


def compact(session: SparkSession, lake: str) -> list[Compacted]:
    """Compacts every table of the lake. UsageError where there is none."""
    root = Path(lake).resolve()
    missing = [table.name for table in TABLES if not (root / table.name / "_delta_log").is_dir()]
    if missing:
        raise UsageError(
            f"{lake} is no lake (it has no table {missing[0]}): name the folder that an ingest made"
        )
    with locked(root):
        return [_compact(session, root, table) for table in TABLES]


def _compact(session: SparkSession, root: Path, table: Table) -> Compacted:
    path = (root / table.name).as_posix()
    before = _files(session, path)
    order = ", ".join(f"`{column}`" for column in table.order)
    session.sql(f"OPTIMIZE delta.`{path}` ZORDER BY ({order})").collect()
    after = _files(session, path)
    return Compacted(table.name, before[0], after[0], before[1], after[1])


def _files(session: SparkSession, path: str) -> tuple[int, int]:
    """How many files the table has, and their bytes."""
    detail = session.sql(f"DESCRIBE DETAIL delta.`{path}`").select("numFiles", "sizeInBytes").collect()[0]
    return int(detail[0]), int(detail[1])
