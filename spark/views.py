"""The lake's tables and views in a session: temporary views, in which only runs count that `sources` has.

`open_lake` makes them. What the lake had then is what they go on showing: runs that come later count when it is opened again,
so that all of them show the same. SQL functions only, no Python for any row.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from offsets_tool.errors import UsageError
from spark.tables import SOURCES, TABLES, Table
from spark.view import View
from spark.views_history import VIEWS as OF_HISTORIES
from spark.views_kinds import VIEWS as OF_KINDS
from spark.views_log import VIEWS as OF_THE_LOG

VIEWS: Final = (*OF_THE_LOG, *OF_HISTORIES, *OF_KINDS)
"""A view stands behind those that it reads."""
CONTENTS: Final = "contents"
"""The view that names the others, and says of each what one row is."""
_NO_TABLE: Final = ("PATH_NOT_FOUND", "DELTA_TABLE_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST")


class Shown(NamedTuple):
    """A table or view that one can ask, or cannot yet: `lacks` names the lake's table that is not there."""

    name: str
    kind: str
    comment: str
    lacks: str | None


def open_lake(session: SparkSession, lake: str) -> tuple[Shown, ...]:
    """Makes the lake's tables and views temporary views of the session. UsageError where there is no lake."""
    # Sources first: of the runs that it has, the other tables have all rows.
    sources = _stored(session, lake, SOURCES.name)
    if sources is None:
        raise UsageError(
            f"{lake} is no lake (it has no table {SOURCES.name}): name the folder that an ingest made"
        )
    counts = _counts([row.run for row in sources.select("run").distinct().collect()])
    shown = [_show_table(session, lake, table, counts) for table in TABLES]
    there = {table.name for table in shown if table.lacks is None}
    shown += [_show_view(session, view, there) for view in VIEWS]
    names = session.createDataFrame(shown, "name STRING, kind STRING, comment STRING, lacks STRING")
    names.createOrReplaceTempView(CONTENTS)
    return tuple(shown)


def _show_table(session: SparkSession, lake: str, table: Table, counts: Column) -> Shown:
    rows = _stored(session, lake, table.name)
    if rows is None:
        session.catalog.dropTempView(table.name)
    else:
        rows.where(counts).createOrReplaceTempView(table.name)
    return Shown(table.name, "table", table.comment, None if rows is not None else table.name)


def _show_view(session: SparkSession, view: View, tables: set[str]) -> Shown:
    lacks = next((name for name in view.needs if name not in tables), None)
    if lacks is not None:
        session.catalog.dropTempView(view.name)
    else:
        rows = session.sql(view.sql)
        for name, comment in view.columns.items():
            rows = rows.withMetadata(name, {"comment": comment})
        rows.createOrReplaceTempView(view.name)
    return Shown(view.name, "view", view.comment, lacks)


def _counts(runs: Sequence[int]) -> Column:
    """Whether a row counts: a condition without a join, by which files are skipped too. Runs that were given up are few."""
    last = max(runs, default=0)
    given_up = sorted(set(range(1, last + 1)).difference(runs))
    return (F.col("run") <= last) & ~F.col("run").isin(given_up)


def _stored(session: SparkSession, lake: str, table: str) -> DataFrame | None:
    """All rows of a table as it is now; None if it is not there."""
    try:
        rows = session.read.format("delta").load(f"{lake}/{table}")
        rows.schema  # noqa: B018 - a Connect session looks only now
    except AnalysisException as error:
        if error.getCondition() in _NO_TABLE:
            return None
        raise
    return rows
