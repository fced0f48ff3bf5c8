"""Compact a lake: replace many small files by few, sorted for questions about a group, and delete files that no version needs.

What came since the last compaction, and small files, are sorted and written here, some at a time: it costs what is new. A large
table that was never compacted is sorted as a whole, by Spark's OPTIMIZE with ZORDER. Rows stay as they are. Runs when nothing else
writes; readers of a version that is older than the days kept lose its files.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from offsets_tool.errors import SourceError, UsageError
from offsets_tool.lake.journal import COMPACTED
from offsets_tool.lake.tables import ALL_TABLES, Table
from offsets_tool.lake.whole import is_table
from offsets_tool.log.archive.delta import open_delta, parquet_files
from offsets_tool.log.storage import is_stored
from spark.lake.commit import ArrowLake
from spark.lake.folder import locked, require_lake, root_of, uri_of
from spark.lake.parquet import NewFile, TableWriter
from spark.lake.replaced import Replacing
from spark.lake.scan import FileFacts, facts_of, file_rows

DAYS_KEPT: Final = 7
"""For how many days files of older versions are kept; Delta's own default."""
MERGED_BYTES: Final = 64 << 20
"""Bytes of files, as they are stored, whose rows are sorted together: held as a whole, they take about ten times that."""
FILE_BYTES: Final = 8 << 20
"""About how long a written file is: of several, a question about one group needs few. One of less than half is merged again."""
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
    if is_stored(lake):
        raise UsageError(
            f"{lake} is not compacted here: run OPTIMIZE on its tables with a Spark that can write to that storage"
        )
    root = root_of(lake)
    require_lake(root)
    with locked(root):
        there = [table for table in ALL_TABLES if is_table(root, table)]
        return [_compact(root, table, start, days_kept, is_full=is_full) for table in there]


def _compact(
    root: Path, table: Table, start: Callable[[], SparkSession], days_kept: int, *, is_full: bool
) -> Compacted:
    path = root / table.name
    before = _files(path)
    new = _new_files(path)
    if new is None or (new and is_full):
        order = ", ".join(f"`{column}`" for column in table.order)
        start().sql(f"OPTIMIZE delta.`{uri_of(path)}` ZORDER BY ({order})").collect()
    elif new:
        names = {file["path"] for file in new}
        ArrowLake(root).rewrite(table, lambda files: _merged(root, table, files, names), COMPACTED)
    after = _files(path)
    return Compacted(table.name, before[0], after[0], before[1], after[1], _vacuum(path, days_kept))


def _new_files(path: Path) -> list[FileFacts] | None:
    """Return the files to be sorted: new ones, and small ones if there are new ones; None where all rows of many are to be."""
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
    for commit in open_delta(path).history():
        if commit["operation"] == _OPTIMIZE or commit.get("userMetadata") == COMPACTED:
            version: int = commit["version"]
            return version
    return None


def _merged(root: Path, table: Table, files: Iterable[FileFacts], names: set[str]) -> Replacing:
    """Write the rows of the files named to new ones, those of so many files at a time as can be held."""
    wanted = sorted(
        (file for file in files if file["path"] in names), key=lambda file: file["modification_time"]
    )
    made: list[NewFile] = []
    some: list[FileFacts] = []
    for file in wanted:
        if some and sum(each["size_bytes"] for each in (*some, file)) > MERGED_BYTES:
            made += _sorted(root, table, some)
            some = []
        some.append(file)
    made += _sorted(root, table, some)
    return Replacing([file["path"] for file in wanted], made)


def _sorted(root: Path, table: Table, files: Sequence[FileFacts]) -> Iterator[NewFile]:
    """Write the rows of some files to new ones, sorted by cluster and by what questions name."""
    batches = [
        rows
        for file in files
        for rows in file_rows(root / table.name / file["path"], table, table.schema.names)
    ]
    if not batches:
        return
    rows = pa.Table.from_batches(batches).unify_dictionaries().combine_chunks()
    order = list(dict.fromkeys(("cluster", *table.order)))
    keys = pa.table({name: rows.column(name).cast(table.schema.field(name).type) for name in order})
    places = pc.sort_indices(keys, [(name, "ascending") for name in order])
    number = max(1, sum(file["size_bytes"] for file in files) // FILE_BYTES)
    of_each = -(-rows.num_rows // number)
    for first in range(0, rows.num_rows, of_each):
        with TableWriter(root, table) as writer:
            for batch in rows.take(places.slice(first, of_each)).to_batches():
                writer.write(batch)
            yield from writer.close()


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
