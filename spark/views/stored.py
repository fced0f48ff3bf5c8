"""Open a lake's tables at one moment: which version of each, and which of its rows are of finished runs.

Of a lake in a folder, Spark reads nothing before it is asked for rows. Makes no views.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from offsets_tool.errors import UsageError
from offsets_tool.log.archive.delta import open_delta, parquet_files
from offsets_tool.log.archive.delta_log import DELTA_LOG
from spark.lake.folder import check_whole, other_columns
from spark.lake.journal import run_of
from spark.lake.scan import facts_of, file_rows
from spark.lake.tables import (
    DERIVATIONS,
    DERIVED_TABLES,
    REPLAY_TABLES,
    REPLAYS,
    SOURCES,
    TABLES,
    Table,
)

Frame = Callable[[], DataFrame]
"""Makes the rows of a table that count, as of the moment at which the lake was opened."""
ReadRow = Mapping[str, Any]
_COMMITS_SEEN: Final = 50
"""How many commits of a table are looked at, from the newest on: those of an interrupted replay are among them."""
_FEW_FILES: Final = 64
"""Up to how many files all are read: of more, Delta's statistics skip those without wanted rows."""
_NO_TABLE: Final = ("PATH_NOT_FOUND", "DELTA_TABLE_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST")


class _Stored(NamedTuple):
    """A table as it is: the distinct values of some columns, and its rows, also as of another version."""

    values: Callable[[Sequence[str]], list[ReadRow]]
    frame: Callable[[int | None], DataFrame]


def open_tables(session: SparkSession, lake: str) -> dict[Table, Frame | None]:
    """Return all tables with their rows of finished runs; None for a table that does not exist. UsageError where there is no lake.

    Tables that say which runs are finished are read first, since all others then have every row of these runs.
    """
    if "://" not in lake:
        check_whole(Path(lake).absolute())
    sources, replays, derivations = (
        _stored(session, lake, table) for table in (SOURCES, REPLAYS, DERIVATIONS)
    )
    if sources is None:
        raise UsageError(
            f"{lake} is no lake (it has no table {SOURCES.name}): name the folder that an ingest made"
        )
    runs = [row["run"] for row in sources.values(["run"])]
    last = dict.fromkeys(REPLAY_TABLES, None if replays is None else _last(replays.values(["run"])))
    if derivations is not None:
        told = derivations.values(["derived", "run"])
        last |= {
            table: _last(row for row in told if row["derived"] == table.name)
            for table in DERIVED_TABLES
            if table.is_replaced
        }
    found: dict[Table, Frame | None] = {
        table: _of_runs(_stored(session, lake, table), runs) for table in TABLES
    }
    for table in (*REPLAY_TABLES, *DERIVED_TABLES):
        stored = derivations if table is DERIVATIONS else _stored(session, lake, table)
        is_by_run = table in REPLAY_TABLES or table.is_replaced
        found[table] = _as_after(lake, table, stored, last.get(table)) if is_by_run else _as_it_is(stored)
    return found


def _last(runs: Iterable[ReadRow]) -> int | None:
    return max((row["run"] for row in runs), default=None)


def _of_runs(stored: _Stored | None, runs: Sequence[int]) -> Frame | None:
    return None if stored is None else lambda: stored.frame(None).where(_counted(runs))


def _as_it_is(stored: _Stored | None) -> Frame | None:
    return None if stored is None else lambda: stored.frame(None)


def _as_after(lake: str, table: Table, stored: _Stored | None, run: int | None) -> Frame | None:
    """Return the rows of a table as it was after a run, if there was one."""
    if stored is None or not run:
        return None
    version = _version(f"{lake}/{table.name}", run)
    return lambda: stored.frame(version)


def _counted(runs: Sequence[int]) -> Column:
    """Return the condition that a row is of one of these runs. It is no join, so that it skips files too; runs given up are few."""
    last = max(runs, default=0)
    given_up = sorted(set(range(1, last + 1)).difference(runs))
    return (F.col("run") <= last) & ~F.col("run").isin(given_up)


def _stored(session: SparkSession, lake: str, table: Table) -> _Stored | None:
    """Return a table as it is now; None if it does not exist, UsageError for other columns."""
    if "://" in lake:
        return _elsewhere(session, f"{lake}/{table.name}", table)
    return _in_folder(session, Path(lake).absolute() / table.name, table)


def _in_folder(session: SparkSession, path: Path, table: Table) -> _Stored | None:
    # Who is killed while it makes a table leaves a log without a commit.
    if next((path / DELTA_LOG).glob("*.json"), None) is None:
        return None
    there = open_delta(path)
    if [field.name for field in there.schema().fields] != list(table.schema.names):
        raise other_columns(path.as_posix())
    now = there.version()

    def values(columns: Sequence[str]) -> list[ReadRow]:
        files = (path / file["path"] for file in facts_of(there))
        return [row for file in files for rows in file_rows(file, table, columns) for row in rows.to_pylist()]

    def frame(version: int | None) -> DataFrame:
        asked = there if version in (None, now) else open_delta(path, version)
        files = parquet_files(asked)
        if files and len(files) <= _FEW_FILES:
            # Spark takes longer to read Delta's log than to read a few files.
            schema = StructType.fromJson(json.loads(asked.schema().to_json()))
            return session.read.schema(schema).parquet(*files)
        return _load(session, str(path), now if version is None else version)

    return _Stored(values, frame)


def _elsewhere(session: SparkSession, path: str, table: Table) -> _Stored | None:
    """Return a table in storage that perhaps only Spark can read."""
    try:
        rows = _load(session, path)
        names = rows.columns  # a Connect session looks only now
    except AnalysisException as error:
        if error.getCondition() in _NO_TABLE:
            return None
        raise
    if names != list(table.schema.names):
        raise other_columns(path)

    def values(columns: Sequence[str]) -> list[ReadRow]:
        return [row.asDict() for row in rows.select(*columns).distinct().collect()]

    return _Stored(values, lambda version: rows if version is None else _load(session, path, version))


def _load(session: SparkSession, path: str, version: int | None = None) -> DataFrame:
    reader = session.read.format("delta")
    return (reader if version is None else reader.option("versionAsOf", version)).load(path)


def _version(path: str, run: int) -> int:
    """Return the version of a history before any later run changed its rows, which no condition on the rows could undo."""
    commits = open_delta(path).history(_COMMITS_SEEN)
    later = [commit["version"] for commit in commits if run_of(commit.get("userMetadata")) > run]
    newest: int = commits[0]["version"]
    return min(later) - 1 if later else newest
