"""Make the lake's tables and views temporary views of a session, with the rows of finished runs only.

They go on showing the lake as it was when it was opened; later runs count when it is opened again.
SQL functions only: no Python runs for any row.

Of a lake in a folder, Spark reads nothing before it is asked for rows.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from offsets_tool.errors import SetupError
from offsets_tool.lake.contents import CONTENTS, OF_CONTENTS, VIEWS, Shown, names_in, shown_of, tables_of
from offsets_tool.lake.moment import FinishedRows, ReadRow, Runs, finished_rows
from offsets_tool.lake.scan import facts_of, file_rows
from offsets_tool.lake.tables import Table
from offsets_tool.lake.whole import check_whole, open_table
from offsets_tool.log.archive.delta import OpenDelta, open_delta, parquet_files
from offsets_tool.log.storage import StoredPath
from offsets_tool.views.view import View
from offsets_tool.wire.arrow import arrow_schema
from spark.lake.folder import root_of, uri_of

Frame = Callable[[], DataFrame]
"""Makes the rows of a table that count, as of the moment at which the lake was opened."""
_FEW_FILES: Final = 64
"""Up to how many files all are read: of more, Delta's statistics skip those without wanted rows."""


class _Stored(NamedTuple):
    """A table at its current version: gives the values of some columns, its rows, also of another version, and its last run."""

    values: Callable[[Sequence[str]], list[ReadRow]]
    frame: Callable[[int | None], DataFrame]
    last_run: Callable[[str], int | None]


def open_tables(session: SparkSession, lake: str, wanted: Collection[Table]) -> dict[Table, Frame | None]:
    """Return tables with their rows of finished runs; None for a table that has none. UsageError where there is no lake."""
    check_whole(root_of(lake))
    counted = finished_rows(lake, partial(_stored, session, lake), wanted)
    return {table: found and partial(_frame, found) for table, found in counted.items()}


def _frame(found: FinishedRows[_Stored]) -> DataFrame:
    rows = found.stored.frame(found.version)
    return rows if found.runs is None else rows.where(_is_of_runs(found.runs))


def _is_of_runs(runs: Runs) -> Column:
    """Return the condition that a row is of one of these runs. It is no join, so that it skips files too."""
    return (F.col("run") <= runs.last) & ~F.col("run").isin(list(runs.given_up))


def _stored(session: SparkSession, lake: str, table: Table) -> _Stored | None:
    """Return a table as it is now; None if it does not exist, UsageError for other columns."""
    root = root_of(lake)
    opened = open_table(root, table)
    return _in_folder(session, root / table.name, table, opened) if opened is not None else None


def _in_folder(session: SparkSession, path: Path, table: Table, there: OpenDelta) -> _Stored:
    now = there.version()

    def values(columns: Sequence[str]) -> list[ReadRow]:
        files = (path / file["path"] for file in facts_of(there))
        return [row for file in files for rows in file_rows(file, table, columns) for row in rows.to_pylist()]

    def frame(version: int | None) -> DataFrame:
        asked = there if version in (None, now) else open_delta(path, version)
        if isinstance(path, StoredPath):
            return _by_arrow(session, [path / file["path"] for file in facts_of(asked)], table)
        files = parquet_files(asked)
        if files and len(files) <= _FEW_FILES:
            # Spark takes longer to read Delta's log than to read a few files.
            schema = StructType.fromJson(json.loads(asked.schema().to_json()))
            return session.read.schema(schema).parquet(*map(uri_of, files))
        return _load(session, uri_of(path), now if version is None else version)

    return _Stored(values, frame, there.transaction_version)


def _by_arrow(session: SparkSession, files: Sequence[Path], table: Table) -> DataFrame:
    """Return the rows of files in storage. Tasks read them with Arrow, because Spark needs other jars for each kind of storage."""

    def task(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in chain.from_iterable(batch.column("id").to_pylist() for batch in numbers):
            for rows in file_rows(files[number], table, table.schema.names):
                yield rows.cast(table.schema)

    units = session.range(0, len(files), 1, max(1, len(files)))
    return units.mapInArrow(task, from_arrow_schema(table.schema))


def _load(session: SparkSession, path: str, version: int | None = None) -> DataFrame:
    reader = session.read.format("delta")
    try:
        return (reader if version is None else reader.option("versionAsOf", version)).load(path)
    except (PySparkException, Py4JJavaError) as error:
        if not re.search(r"DATA_SOURCE_NOT_FOUND|ClassNotFoundException|NoClassDefFoundError", str(error)):
            raise
        raise SetupError(
            "this Spark session cannot read Delta: let spark.runtime.session.session() make one, or start it with Delta's jars "
            "(--packages io.delta:delta-spark_4.2_2.13:4.4.0)"
        ) from error


def open_lake(session: SparkSession, lake: str) -> tuple[Shown, ...]:
    """Make the lake's tables and views temporary views of the session, and return them all. UsageError where there is no lake."""
    opened = OpenLake(session, lake)
    opened.show(opened.names)
    return opened.shown


class OpenLake:
    """A lake as it is when it is opened; its tables and views become temporary views of a session when they are asked for."""

    def __init__(self, session: SparkSession, lake: str, queries: Sequence[str] = ()) -> None:
        """Open a lake; UsageError where there is none. Given all `queries` that will be asked, only the tables that they name."""
        self._session = session
        self._make: dict[str, Callable[[], DataFrame]] = {}
        self._made: set[str] = set()
        self._reads: dict[str, tuple[str, ...]] = {}
        everything = [*(one.name for one in shown_of({})), CONTENTS]
        named = {name for query in queries for name in names_in(query, everything)} if queries else everything
        tables = open_tables(session, lake, tables_of(named))
        made = {table: frame for table, frame in tables.items() if frame is not None}
        self.shown = shown_of(tables)
        """All tables and views, those too that cannot be asked yet."""
        self._make |= {table.name: frame for table, frame in made.items()}
        lacking = {one.name for one in self.shown if one.lacks}
        for view in VIEWS:
            if view.name not in lacking:
                self._make[view.name] = partial(_rows_of, session, view)
                self._reads[view.name] = view.reads
        self._make[CONTENTS] = self._contents
        if "://" in lake:
            # Of tables in a folder alone the version is known at which they were opened.
            self.show(name for name in self.names if name in named)

    @property
    def names(self) -> list[str]:
        """The names of all tables and views that may be asked for; a view comes after what it reads."""
        return [*(one.name for one in self.shown), CONTENTS]

    def show_for(self, query: str) -> None:
        """Make temporary views of the tables and views that a query names."""
        self.show(names_in(query, self.names))

    def show(self, names: Iterable[str]) -> None:
        """Make temporary views of these tables and views, and of what they read; drop those that cannot be asked yet."""
        for name in names:
            if name in self._made:
                continue
            self._made.add(name)
            if name not in self._make:
                self._session.catalog.dropTempView(name)
                continue
            self.show(self._reads.get(name, ()))
            self._make[name]().createOrReplaceTempView(name)

    def _contents(self) -> DataFrame:
        columns = ", ".join(f"{name} STRING" for name in Shown._fields)
        return _with_comments(self._session.createDataFrame(self.shown, columns), OF_CONTENTS)


def _rows_of(session: SparkSession, view: View) -> DataFrame:
    if view.rule is not None:
        rows = view.rule.rows_of(row.asDict() for row in session.sql(view.sql).collect())
        made = session.createDataFrame(list(rows), from_arrow_schema(arrow_schema(view.rule.row)))
        return _with_comments(made, view.rule.comments)
    return _with_comments(session.sql(view.sql), view.columns)


def _with_comments(rows: DataFrame, comments: Mapping[str, str]) -> DataFrame:
    for name, comment in comments.items():
        rows = rows.withMetadata(name, {"comment": comment})
    return rows
