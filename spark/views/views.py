"""Make the lake's tables and views temporary views of a session, with the rows of finished runs only.

They go on showing the lake as it was when it was opened; later runs count when it is opened again.
SQL functions only: no Python runs for any row.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from offsets_tool.views.copies import VIEWS as OF_COPIES
from offsets_tool.views.derived import VIEWS as OF_DERIVATIONS
from offsets_tool.views.history import VIEWS as OF_HISTORIES
from offsets_tool.views.kinds import VIEWS as OF_KINDS
from offsets_tool.views.log import VIEWS as OF_THE_LOG
from offsets_tool.views.view import View
from spark.views.stored import open_tables

VIEWS: Final = (*OF_COPIES, *OF_THE_LOG, *OF_HISTORIES, *OF_DERIVATIONS, *OF_KINDS)
"""All views of a lake, each behind those that it reads."""
CONTENTS: Final = "contents"
"""The name of the view that lists all tables and views, and says what one row of each is."""
_OF_CONTENTS: Final = {
    "name": "The table's or view's name.",
    "kind": "table or view.",
    "comment": "What one row of it is.",
    "lacks": "The table that must be there first; null if it can be asked.",
}
_WORD: Final = re.compile(r"\w+|\$")
_ANY_NAME: Final = {"show", "identifier", "immediate", "$"}
"""Words of queries that may ask for tables without their names, or make names of parts."""


class Shown(NamedTuple):
    """A table or view of the session; one that cannot be asked yet names in `lacks` the table that the lake does not have."""

    name: str
    kind: str
    comment: str
    lacks: str | None


def open_lake(session: SparkSession, lake: str) -> tuple[Shown, ...]:
    """Make the lake's tables and views temporary views of the session, and return them all. UsageError where there is no lake."""
    opened = OpenLake(session, lake)
    opened.show(opened.names)
    return opened.shown


class OpenLake:
    """A lake as it is when it is opened; its tables and views become temporary views of a session when they are asked for."""

    def __init__(self, session: SparkSession, lake: str) -> None:
        """Open a lake; UsageError where there is none."""
        self._session = session
        self._make: dict[str, Callable[[], DataFrame]] = {}
        self._made: set[str] = set()
        self._reads: dict[str, tuple[str, ...]] = {}
        shown: dict[str, Shown] = {}
        for table, frame in open_tables(session, lake).items():
            shown[table.name] = Shown(table.name, "table", table.comment, None if frame else table.name)
            if frame:
                self._make[table.name] = frame
        for view in VIEWS:
            lacks = next((shown[name].lacks for name in view.reads if shown[name].lacks), None)
            shown[view.name] = Shown(view.name, "view", view.comment, lacks)
            if not lacks:
                self._make[view.name] = partial(_rows_of, session, view)
                self._reads[view.name] = view.reads
        self._make[CONTENTS] = self._contents
        self.shown = tuple(shown.values())
        """All tables and views, those too that cannot be asked yet."""
        if "://" in lake:
            # Of tables in a folder alone the version is known at which they were opened.
            self.show(self.names)

    @property
    def names(self) -> list[str]:
        """The names of all that may be asked for, views behind what they read."""
        return [*(one.name for one in self.shown), CONTENTS]

    def show_for(self, query: str) -> None:
        """Make the tables and views that a query names."""
        words = {word.lower() for word in _WORD.findall(query)}
        self.show(name for name in self.names if name in words or words & _ANY_NAME)

    def show(self, names: Iterable[str]) -> None:
        """Make tables and views, and what they read; what cannot be asked yet is no view of the session then."""
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
        return _with_comments(self._session.createDataFrame(self.shown, columns), _OF_CONTENTS)


def _rows_of(session: SparkSession, view: View) -> DataFrame:
    return _with_comments(session.sql(view.sql), view.columns)


def _with_comments(rows: DataFrame, comments: Mapping[str, str]) -> DataFrame:
    for name, comment in comments.items():
        rows = rows.withMetadata(name, {"comment": comment})
    return rows
