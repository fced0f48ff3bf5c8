"""Compact a lake: replace many small files by few, sorted for questions about a group, and delete files that no version needs.

What came since the last compaction, and small files, are sorted and written here, some at a time: it costs what is new. A large
table that was never compacted is sorted as a whole, by Spark's OPTIMIZE with ZORDER; in object storage, where a Spark of its own
cannot write, so much at a time as can be held. Rows stay as they are. Runs when nothing else writes; readers of a version that is
older than the days kept lose its files.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from pyspark.sql import SparkSession

from offsets_tool.errors import SourceError
from offsets_tool.lake.journal import COMPACTED
from offsets_tool.lake.scan import FileFacts, facts_of
from offsets_tool.lake.tables import ALL_TABLES, Table
from offsets_tool.log.archive.delta import history_of, open_delta, parquet_files
from offsets_tool.log.archive.delta_mirror import committing, data_files_known
from offsets_tool.log.refusals import answer_of
from offsets_tool.log.storage import is_stored
from spark.lake.commit import Lake
from spark.lake.folder import opened_whole, uri_of
from spark.lake.merge import FILE_BYTES, MERGED_BYTES, merged

DAYS_KEPT: Final = 7
"""For how many days files of older versions are kept; Delta's own default."""
_OPTIMIZE: Final = "OPTIMIZE"


class Compacted(NamedTuple):
    """A table's files before and after compaction; sizes in bytes. Deleted files belong to older versions, or to none."""

    table: str
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    files_deleted: int


def compact(
    lake: str, start: Callable[[], SparkSession], days_kept: int = DAYS_KEPT, *, is_full: bool = False
) -> list[Compacted]:
    """Compact every table of the lake; with `is_full` all rows of a large one are sorted again, not only what is new.

    `start` makes a session, and is called only if a large table is sorted as a whole. UsageError where there is no lake.
    """
    with opened_whole(lake) as open_lake:
        there = [table for table in ALL_TABLES if open_lake.has(table)]
        return [_compact(open_lake, table, start, days_kept, is_full=is_full) for table in there]


def _compact(
    lake: Lake, table: Table, start: Callable[[], SparkSession], days_kept: int, *, is_full: bool
) -> Compacted:
    path = lake.root / table.name
    before = _files(path)
    new = _new_files(path)
    if is_stored(path) and (new is None or is_full):
        new = facts_of(open_delta(path))
    if not is_stored(path) and (new is None or (new and is_full)):
        order = ", ".join(f"`{column}`" for column in table.order)
        start().sql(f"OPTIMIZE delta.`{uri_of(path)}` ZORDER BY ({order})").collect()
    elif new:
        names = {file["path"] for file in new}
        lake.rewrite(table, lambda files: merged(lake.root, table, files, names), COMPACTED)
    after = _files(path)
    return Compacted(table.name, before[0], after[0], before[1], after[1], _vacuum(path, days_kept))


def _new_files(path: Path) -> list[FileFacts] | None:
    """Return the files to sort here: new ones, and with them small ones; None where Spark is to sort the whole table."""
    there = open_delta(path)
    files = facts_of(there)
    if parquet_files(there) is None:
        return None
    sorted_before = _compacted_version(path)
    if sorted_before is None:
        return files if sum(file["size_bytes"] for file in files) <= MERGED_BYTES else None
    try:
        known = {file["path"] for file in facts_of(open_delta(path, sorted_before))}
    except SourceError:
        return None  # that version's commits are no longer there
    if all(file["path"] in known for file in files):
        return []
    return [file for file in files if file["path"] not in known or file["size_bytes"] < FILE_BYTES // 2]


def _compacted_version(path: Path) -> int | None:
    """Return the newest version that a compaction has made; None without one."""
    for commit in history_of(path, open_delta(path, with_history=True)):
        if commit["operation"] == _OPTIMIZE or commit.get("userMetadata") == COMPACTED:
            version: int = commit["version"]
            return version
    return None


def _vacuum(path: Path, days_kept: int) -> int:
    """Delete files that no kept version needs, and return their number; without such files no commit is made."""
    hours = days_kept * 24
    with data_files_known(path):
        table = open_delta(path)
        old = answer_of(
            lambda: table.vacuum(hours, dry_run=True, enforce_retention_duration=False, full=True)
        )
        there = [path / name for name in old if (path / name).exists()]
        if there:
            with committing(path):
                table.vacuum(hours, dry_run=False, enforce_retention_duration=False, full=True)
    for file in there:
        # On disk, what Spark writes beside its files; in storage, deltalake has deleted what stood for the files.
        (file if is_stored(path) else file.with_name(f".{file.name}.crc")).unlink(missing_ok=True)
    return len(there)


def _files(path: Path) -> tuple[int, int]:
    """Return how many files the table has, and their size in bytes."""
    sizes = open_delta(path).get_add_actions(flatten=True).column("size_bytes").to_pylist()
    return len(sizes), sum(sizes)
