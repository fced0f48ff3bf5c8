"""Make the lake's tables and views temporary views of a session, with the rows of finished runs only.

They go on showing the lake as it was when it was opened; later runs count when it is opened again.
SQL functions only: no Python runs for any row.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from offsets_tool.lake.contents import CONTENTS, OF_CONTENTS, VIEWS, Shown, names_in, shown_of, tables_of
from offsets_tool.views.view import View
from offsets_tool.wire.arrow import arrow_schema
from spark.views.stored import open_tables


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
