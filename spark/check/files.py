"""Check the files of a lake's tables: whether Delta's logs can be read, and data files exist, are whole and have their rows.

Of data files only sizes and footers are read, or all rows where that is asked. Knows no meaning of rows.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pyarrow.parquet as pq

from offsets_tool.errors import SourceError
from offsets_tool.findings.rows import Severity
from offsets_tool.lake.damage import remedy_for
from offsets_tool.lake.journal import journal_in
from offsets_tool.lake.scan import FileFacts
from offsets_tool.lake.tables import ALL_TABLES, REPLAY_TABLES, REPLAYS, TABLES, Table
from offsets_tool.lake.whole import layout_error_of
from offsets_tool.log.archive.delta_log import (
    DELTA_LOG,
    FILE_ACTIONS,
    UNREADABLE,
    damage_of_log,
    damage_of_sizes,
    first_line,
    is_file,
    why_no_parquet,
)
from offsets_tool.log.archive.delta_mirror import data_for_arrow, file_bytes
from spark.check.checked import Defect, Looked
from spark.check.lake import LakeToCheck


def tables(lake: LakeToCheck) -> Looked:
    """Check that each table that the lake must have exists, has a readable log, and the columns of this version."""
    for table in ALL_TABLES:
        yield _of_table(lake, table)


def _of_table(lake: LakeToCheck, table: Table) -> Defect | None:
    folder = lake.root / table.name
    if not lake.has(table):
        is_needed = table in TABLES or (table in REPLAY_TABLES and lake.has(REPLAYS))
        said = "is no table any more, though the lake's other tables are there"
        return broken(lake, folder, said) if is_needed else None
    if found := damage_of_log(folder, file_bytes):
        return broken(lake, found.path, found.reason)
    if error := layout_error_of(lake.root, table):
        problem, _, remedy = str(error).partition(": ")
        return Defect(table.name, Severity.CRITICAL, problem, remedy)
    return None


def broken(lake: LakeToCheck, path: Path, reason: str) -> Defect:
    """Return the problem that a file of the lake is damaged, with what still holds and what to do."""
    where = path.relative_to(lake.root).as_posix() if path.is_relative_to(lake.root) else path.as_posix()
    held = remedy_for(lake.root, path) or "put it back from a backup"
    return Defect(where, Severity.CRITICAL, reason, held)


def sizes(lake: LakeToCheck) -> Looked:
    """Check that each data file exists, is as long as the log says, and has as many rows by its footer."""
    for path, file in _all_files(lake):
        yield _of_file(lake, path, file)


def rows(lake: LakeToCheck) -> Looked:
    """Check that all rows of each data file can be read."""
    for path, _ in _all_files(lake):
        # `files` names one that is not there, or no file.
        reason = why_no_parquet(path) if is_file(path) else None
        yield broken(lake, path, reason) if reason else None


def _all_files(lake: LakeToCheck) -> Iterator[tuple[Path, FileFacts]]:
    for table in ALL_TABLES:
        try:
            files = lake.files(table)
        except SourceError:
            continue  # `tables` names it
        for file in files:
            yield lake.root / table.name / unquote(file["path"]), file


def _of_file(lake: LakeToCheck, path: Path, file: FileFacts) -> Defect | None:
    if found := damage_of_sizes(path.parent, [(path.name, file["size_bytes"])]):
        return broken(lake, found.path, found.reason)
    try:
        there = pq.read_metadata(data_for_arrow(path)).num_rows
    except UNREADABLE as error:
        return broken(lake, path, f"is not a Parquet file that can be read ({first_line(error)})")
    if there == file["num_records"]:
        return None
    return broken(lake, path, f"has {there} rows, where the table's log says {file['num_records']}")


def unused_files(lake: LakeToCheck) -> Looked:
    """Look for data files that neither a version of their table has nor a run that can be finished: a killed job has left them."""
    logs = [lake.root / table.name / DELTA_LOG for table in ALL_TABLES]
    if any(log.is_dir() and damage_of_log(log.parent, file_bytes) for log in logs):
        return  # `tables` names it, and what it had named is not known
    named = {name for log in logs for name in _referenced(log)}
    for table in ALL_TABLES:
        known = named.union(unquote(file["path"]) for file in lake.files(table))
        left = [path for path in (lake.root / table.name).glob("*.parquet") if path.name not in known]
        yield unused_defect(lake, table.name, left)


def unused_defect(lake: LakeToCheck, where: str, left: list[Path]) -> Defect | None:
    """Return the problem that a folder of the lake has files of no use; None without such files."""
    if not left:
        return None
    size = sum(path.stat().st_size for path in left)
    said = f"{len(left)} file(s) with {size} bytes are of no use: a job was killed before it named them"
    remedy = f"{lake.command('compact')} deletes them a week later, with --days-kept 0 at once"
    return Defect(where, Severity.NOTICE, said, remedy)


def _referenced(log: Path) -> Iterator[str]:
    """Yield the files that commits have added or removed, which older versions may need, and those that journals name."""
    for commit in log.glob("*.json"):
        for line in file_bytes(commit).splitlines():
            action = json.loads(line)
            yield from (unquote(action[name]["path"]) for name in FILE_ACTIONS if action.get(name))
            if journal := journal_in((action.get("commitInfo") or {}).get("userMetadata")):
                yield from (path for _, path, *_ in journal.get("files", ()))
