"""Upkeep: the many small files that ingests and replays leave become few, sorted so that questions about a group read little of
them, and files that no version needs any more are deleted.

Spark's OPTIMIZE with ZORDER, and delta-rs' VACUUM: rows stay as they are. A table to which nothing came since its last OPTIMIZE
is left alone. Runs when nothing else writes; readers of a version that is older than the days kept lose its files.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from pyspark.sql import SparkSession

from offsets_tool.log.archive.delta import open_delta
from spark.lake.folder import is_table, locked, require_lake
from spark.lake.tables import ALL_TABLES, Table

DAYS_KEPT: Final = 7
"""As Delta's own default."""
_LATEST: Final = 10
"""Versions among which the last change of rows is looked for."""
_UPKEEP: Final = ("VACUUM START", "VACUUM END")


class Compacted(NamedTuple):
    """What became of one table's files; sizes in bytes. Deleted ones are of older versions, or of none."""

    table: str
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    files_deleted: int


def compact(lake: str, start: Callable[[], SparkSession], days_kept: int = DAYS_KEPT) -> list[Compacted]:
    """Compacts every table of the lake; `start` gives a session, and is asked only if there is something to do.

    UsageError where there is no lake.
    """
    root = Path(lake).resolve()
    require_lake(root)
    with locked(root):
        there = [table for table in ALL_TABLES if is_table(root, table)]
        return [_compact(root / table.name, table, start, days_kept) for table in there]


def _compact(path: Path, table: Table, start: Callable[[], SparkSession], days_kept: int) -> Compacted:
    before = _files(path)
    if not _is_compact(path):
        order = ", ".join(f"`{column}`" for column in table.order)
        start().sql(f"OPTIMIZE delta.`{path.as_posix()}` ZORDER BY ({order})").collect()
    after = _files(path)
    return Compacted(table.name, before[0], after[0], before[1], after[1], _vacuum(path, days_kept))


def _is_compact(path: Path) -> bool:
    """ZORDER would write all files again, also when there is nothing new in them."""
    done = [version["operation"] for version in open_delta(path).history(_LATEST)]
    return next((name for name in done if name not in _UPKEEP), None) == "OPTIMIZE"


def _vacuum(path: Path, days_kept: int) -> int:
    """How many files it deleted. A vacuum is two commits: where there is nothing to delete, none are made."""
    table = open_delta(path)
    hours = days_kept * 24
    old = table.vacuum(hours, dry_run=True, enforce_retention_duration=False, full=True)
    there = [path / name for name in old if (path / name).exists()]
    if there:
        table.vacuum(hours, dry_run=False, enforce_retention_duration=False, full=True)
    for file in there:
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)  # what Spark writes beside its files
    return len(there)


def _files(path: Path) -> tuple[int, int]:
    """How many files the table has, and their bytes."""
    sizes = open_delta(path).get_add_actions(flatten=True).column("size_bytes").to_pylist()
    return len(sizes), sum(sizes)
