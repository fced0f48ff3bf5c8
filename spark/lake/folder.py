"""A lake as a folder: check that it is there and complete, and lock it so that one job at a time writes. Knows no rows."""

import fcntl
import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Final

from offsets_tool.errors import SetupError, SourceError, UsageError
from offsets_tool.log.archive.delta import open_delta
from offsets_tool.log.archive.delta_log import DELTA_LOG, lost_commit
from offsets_tool.log.files.folders import size_of
from spark.lake.tables import ALL_TABLES, TABLES, Table

FORGETTING: Final = "_forgetting.json"
"""The file of a lake in which something is being forgotten: what was asked for."""
_SMALL: Final = 64 << 20


@contextmanager
def locked(root: Path, forgetting: str | None = None) -> Iterator[None]:
    """Lock a lake, so that one job at a time works on it; the lock ends with the process that holds it.

    SetupError if nothing can be written, UsageError while somebody else writes, SourceError for a lake that has lost a table.
    UsageError too where something else than `forgetting`, as FORGETTING has it, was forgotten in part: only that can go on.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        opened = (root / ".ingest.lock").open("w")
    except OSError as error:
        why = "it is not a folder" if root.exists() and not root.is_dir() else error.strerror
        raise SetupError(
            f"{root} cannot be written ({why}): name another --lake, or let it be writable"
        ) from error
    with opened as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"another ingest is writing to {root}: wait until it is done") from None
        check_whole(root)
        _refuse_half_forgotten(root / FORGETTING, forgetting)
        yield


def _refuse_half_forgotten(marker: Path, forgetting: str | None) -> None:
    if not marker.exists() or (asked := marker.read_text(encoding="utf-8")) == forgetting:
        return
    told = json.loads(asked)
    source = "" if told["source"] is None else f" --source {shlex.quote(told['source'])}"
    raise UsageError(
        "offsets-spark forget was interrupted, and the lake is as it left it: run offsets-spark forget "
        f"--lake {shlex.quote(str(marker.parent))} --cluster {shlex.quote(told['cluster'])}{source} again"
    )


def is_table(root: Path, table: Table) -> bool:
    """Return whether the lake has the table."""
    return (root / table.name / DELTA_LOG).is_dir()


def require_lake(root: Path) -> None:
    """Raise UsageError for a folder that is no lake or a lake of another layout, SourceError for one that has lost a table."""
    check_whole(root)
    missing = [table.name for table in TABLES if not is_table(root, table)]
    if missing:
        raise UsageError(
            f"{root} is no lake (it has no table {missing[0]}): name the folder that an ingest made"
        )
    for table in ALL_TABLES:
        if is_table(root, table) and not _has_its_columns(root, table):
            raise other_columns(f"{root}/{table.name}")


def is_small(lake: str) -> bool:
    """Return whether a lake is in a folder of this machine and has less than 64 MB."""
    if "://" in lake:
        return False
    sizes = accumulate(map(size_of, Path(lake).rglob("*.parquet")))
    return all(size < _SMALL for size in sizes)


def other_columns(path: str) -> UsageError:
    """Return the error for a table, by its path, that another version of this program made."""
    return UsageError(
        f"{path} has other columns than this version writes: ingest into a new lake, from the same sources"
    )


def check_whole(root: Path) -> None:
    """Raise SourceError where a table with rows, or a commit of one, is lost: a job that went on would forget those rows.

    An ingest that was killed while it made the first tables has left no rows yet.
    """
    missing = [table.name for table in TABLES if not is_table(root, table)]
    if missing and any(_has_rows(root, table) for table in TABLES):
        raise SourceError(
            (root / missing[0]).as_posix(), "is no table any more, though the lake's other tables are there"
        )
    for table in ALL_TABLES:
        if found := lost_commit(root / table.name):
            raise SourceError(found.path.as_posix(), found.reason)


def _has_rows(root: Path, table: Table) -> bool:
    """Return whether an ingest has written to a table; one of its name with other columns is not part of a lake."""
    has_files = is_table(root, table) and next((root / table.name).glob("*.parquet"), None) is not None
    return has_files and _has_its_columns(root, table)


def _has_its_columns(root: Path, table: Table) -> bool:
    there: list[str] = [field.name for field in open_delta(root / table.name).schema().fields]
    return there == list(table.schema.names)
