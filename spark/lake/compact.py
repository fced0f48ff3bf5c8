"""Compact a lake: replace many small files by few, sorted for questions about a group, and delete files that no version needs.

Spark's OPTIMIZE with ZORDER, and delta-rs' VACUUM: rows stay as they are. A table to which nothing came since its last OPTIMIZE
is left alone. Runs when nothing else writes; readers of a version that is older than the days kept lose its files.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from pyspark.sql import SparkSession

from offsets_tool.errors import UsageError
from offsets_tool.lake.tables import ALL_TABLES, Table
from offsets_tool.lake.whole import is_table
from offsets_tool.log.archive.delta import open_delta
from offsets_tool.log.storage import is_stored
from spark.lake.folder import locked, require_lake

DAYS_KEPT: Final = 7
"""For how many days files of older versions are kept; Delta's own default."""
_LATEST: Final = 10
"""How many of the newest versions are searched for the last change of rows."""
_UPKEEP: Final = ("VACUUM START", "VACUUM END")


class Compacted(NamedTuple):
    """A table's files before and after compaction; sizes in bytes. Deleted files belong to older versions, or to none."""

    table: str
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    files_deleted: int


def compact(lake: str, start: Callable[[], SparkSession], days_kept: int = DAYS_KEPT) -> list[Compacted]:
    """Compact every table of the lake; `start` makes a session, and is called only if there is something to do.

    UsageError where there is no lake.
    """
    if is_stored(lake):
        raise UsageError(
            f"{lake} is not compacted here: run OPTIMIZE on its tables with a Spark that can write to that storage"
        )
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
    """Return whether no rows came since the last OPTIMIZE: ZORDER would write all files again even then."""
    done = [version["operation"] for version in open_delta(path).history(_LATEST)]
    return next((name for name in done if name not in _UPKEEP), None) == "OPTIMIZE"


def _vacuum(path: Path, days_kept: int) -> int:
    """Delete files that no kept version needs, and return their number; without such files no commit is made."""
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
    """Return how many files the table has, and their size in bytes."""
    sizes = open_delta(path).get_add_actions(flatten=True).column("size_bytes").to_pylist()
    return len(sizes), sum(sizes)
