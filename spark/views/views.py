"""Make the lake's tables and views temporary views of a session, with the rows of finished runs only.

They go on showing the lake as it was when `open_lake` made them; later runs count when it is opened again.
SQL functions only: no Python runs for any row.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from offsets_tool.errors import UsageError
from offsets_tool.log.archive.delta import open_delta
from offsets_tool.views.derived import VIEWS as OF_DERIVATIONS
from offsets_tool.views.history import VIEWS as OF_HISTORIES
from offsets_tool.views.kinds import VIEWS as OF_KINDS
from offsets_tool.views.log import VIEWS as OF_THE_LOG
from offsets_tool.views.view import View
from spark.lake.commit import run_of
from spark.lake.folder import check_whole, other_columns
from spark.lake.tables import (
    DERIVATIONS,
    DERIVED_TABLES,
    REPLAY_TABLES,
    REPLAYS,
    SOURCES,
    TABLES,
    Table,
)

VIEWS: Final = (*OF_THE_LOG, *OF_HISTORIES, *OF_DERIVATIONS, *OF_KINDS)
"""All views of a lake, each behind those that it reads."""
CONTENTS: Final = "contents"
"""The name of the view that lists all tables and views, and says what one row of each is."""
_OF_CONTENTS: Final = {
    "name": "The table's or view's name.",
    "kind": "table or view.",
    "comment": "What one row of it is.",
    "lacks": "The table that must be there first; null if it can be asked.",
}
_COMMITS_SEEN: Final = 50
"""Of a history, from the newest on: those of an interrupted replay are among them."""
_NO_TABLE: Final = ("PATH_NOT_FOUND", "DELTA_TABLE_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST")


class Shown(NamedTuple):
    """A table or view of the session; one that cannot be asked yet names in `lacks` the table that the lake does not have."""

    name: str
    kind: str
    comment: str
    lacks: str | None


def open_lake(session: SparkSession, lake: str) -> tuple[Shown, ...]:
    """Make the lake's tables and views temporary views of the session, and return them all. UsageError where there is no lake."""
    if "://" not in lake:
        check_whole(Path(lake).absolute())
    shown = [_show_table(session, table, rows) for table, rows in _tables(session, lake)]
    for view in VIEWS:
        shown.append(_show_view(session, view, {one.name: one.lacks for one in shown}))
    names = session.createDataFrame(shown, ", ".join(f"{name} STRING" for name in Shown._fields))
    for name, comment in _OF_CONTENTS.items():
        names = names.withMetadata(name, {"comment": comment})
    names.createOrReplaceTempView(CONTENTS)
    return tuple(shown)


def _tables(session: SparkSession, lake: str) -> Iterator[tuple[Table, DataFrame | None]]:
    """Yield all tables, each with its rows of finished runs; None for a table that does not exist.

    Tables that say which runs are finished are read first, since all others then have every row of these runs.
    """
    sources, replays, derivations = (
        _stored(session, lake, table) for table in (SOURCES, REPLAYS, DERIVATIONS)
    )
    if sources is None:
        raise UsageError(
            f"{lake} is no lake (it has no table {SOURCES.name}): name the folder that an ingest made"
        )
    counted = _counted([row.run for row in sources.select("run").distinct().collect()])
    last = dict.fromkeys(REPLAY_TABLES, None if replays is None else _last(replays))
    if derivations is not None:
        last |= {
            table: _last(derivations.where(F.col("derived") == table.name))
            for table in DERIVED_TABLES
            if table.is_replaced
        }
    for table in TABLES:
        rows = _stored(session, lake, table)
        yield table, None if rows is None else rows.where(counted)
    for table in (*REPLAY_TABLES, *DERIVED_TABLES):
        if table is DERIVATIONS:
            yield table, derivations
        elif table in REPLAY_TABLES or table.is_replaced:
            run = last.get(table)
            yield table, _stored(session, lake, table, run) if run else None
        else:
            yield table, _stored(session, lake, table)


def _last(runs: DataFrame) -> int | None:
    run: int | None = runs.agg(F.max("run")).collect()[0][0]
    return run


def _show_table(session: SparkSession, table: Table, rows: DataFrame | None) -> Shown:
    if rows is None:
        session.catalog.dropTempView(table.name)
    else:
        rows.createOrReplaceTempView(table.name)
    return Shown(table.name, "table", table.comment, None if rows is not None else table.name)


def _show_view(session: SparkSession, view: View, lacking: Mapping[str, str | None]) -> Shown:
    """`lacking`: by table or view before it, the table that this lacks."""
    lacks = next((table for name in view.reads if (table := lacking[name])), None)
    if lacks is not None:
        session.catalog.dropTempView(view.name)
    else:
        rows = session.sql(view.sql)
        for name, comment in view.columns.items():
            rows = rows.withMetadata(name, {"comment": comment})
        rows.createOrReplaceTempView(view.name)
    return Shown(view.name, "view", view.comment, lacks)


def _counted(runs: Sequence[int]) -> Column:
    """Return the condition that a row is of one of these runs. It is no join, so that it skips files too; runs given up are few."""
    last = max(runs, default=0)
    given_up = sorted(set(range(1, last + 1)).difference(runs))
    return (F.col("run") <= last) & ~F.col("run").isin(given_up)


def _stored(session: SparkSession, lake: str, table: Table, run: int | None = None) -> DataFrame | None:
    """Return the rows of a table as it is now, or as it was after a run; None without a table, UsageError for other columns."""
    path = f"{lake}/{table.name}"
    try:
        reader = session.read.format("delta")
        if run is not None:
            reader = reader.option("versionAsOf", _version(path, run))
        rows = reader.load(path)
        names = rows.columns  # a Connect session looks only now
    except AnalysisException as error:
        if error.getCondition() in _NO_TABLE:
            return None
        raise
    if names != list(table.schema.names):
        raise other_columns(path)
    return rows


def _version(path: str, run: int) -> int:
    """The version of a history to which no later run has contributed. These change what is there: no condition on rows helps."""
    commits = open_delta(path).history(_COMMITS_SEEN)
    later = [commit["version"] for commit in commits if run_of(commit.get("userMetadata")) > run]
    newest: int = commits[0]["version"]
    return min(later) - 1 if later else newest
