"""The tables and views that a query of a lake may name, what one row of each is, and which table must be made first.

Knows no engine: spark.views and offsets_tool.sql create the tables and views that a query names.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from offsets_tool.errors import UsageError
from offsets_tool.lake.tables import ALL_TABLES, DERIVED_TABLES, REPLAY_TABLES, TABLES, Table
from offsets_tool.views.copies import VIEWS as OF_COPIES
from offsets_tool.views.derived import VIEWS as OF_DERIVATIONS
from offsets_tool.views.history import VIEWS as OF_HISTORIES
from offsets_tool.views.kinds import VIEWS as OF_KINDS
from offsets_tool.views.log import VIEWS as OF_THE_LOG

VIEWS: Final = (*OF_COPIES, *OF_THE_LOG, *OF_HISTORIES, *OF_DERIVATIONS, *OF_KINDS)
"""All views of a lake, each behind those that it reads."""
CONTENTS: Final = "contents"
"""The name of the view that lists all tables and views, and says what one row of each is."""
OF_CONTENTS: Final = {
    "name": "The table's or view's name.",
    "kind": "table or view.",
    "comment": "What one row of it is.",
    "lacks": "The table that must be there first; null if it can be asked.",
}
"""A sentence for each column of `contents`."""
_VIEWS: Final = {view.name: view for view in VIEWS}
_TABLES: Final = {table.name: table for table in ALL_TABLES}
_MAKERS: Final = {table.name: table.made_by for table in ALL_TABLES}
_WORD: Final = re.compile(r"\w+|\$")
_ANY_NAME: Final = {"show", "identifier", "immediate", "$"}
"""Words of queries that may ask for tables without their names, or make names of parts."""


class Shown(NamedTuple):
    """A table or view; one that cannot be asked yet names in `lacks` the table that the lake does not have."""

    name: str
    kind: str
    comment: str
    lacks: str | None


def shown_of(tables: Mapping[Table, object | None]) -> tuple[Shown, ...]:
    """Return all tables and views, those too that cannot be asked, as a table has no rows that count: None in `tables`.

    Of a table that is not among them, because nobody asks for it, nothing else is known than that it may be asked.
    """
    shown: dict[str, Shown] = {}
    for table in (*TABLES, *REPLAY_TABLES, *DERIVED_TABLES):
        lacks = table.name if table in tables and tables[table] is None else None
        shown[table.name] = Shown(table.name, "table", table.comment, lacks)
    for view in VIEWS:
        lacks = next((shown[name].lacks for name in view.reads if shown[name].lacks), None)
        shown[view.name] = Shown(view.name, "view", view.comment, lacks)
    return tuple(shown.values())


def names_in(query: str, names: Sequence[str]) -> list[str]:
    """Return which of the names a query may ask for: all of them if it makes names of parts."""
    words = {word.lower() for word in _WORD.findall(query)}
    return [name for name in names if name in words or words & _ANY_NAME]


def tables_of(names: Iterable[str]) -> set[Table]:
    """Return the tables that these tables and views read, whatever the case of their names; all for the view that lists them."""
    found = set[Table]()
    for name in (name.lower() for name in names):
        if name == CONTENTS:
            return set(ALL_TABLES)
        if name in _VIEWS:
            found |= tables_of(_VIEWS[name].reads)
        elif name in _TABLES:
            found.add(_TABLES[name])
    return found


def not_there(name: str, shown: Sequence[Shown]) -> UsageError:
    """Return the error for a name that is no table or view of this lake, or cannot be asked yet."""
    lacking = next((one for one in shown if one.name == name and one.lacks), None)
    if lacking is None or lacking.lacks is None:
        return UsageError(f"there is no {name} here: SELECT name, comment FROM {CONTENTS} names all")
    return UsageError(
        f"{name} needs the table {lacking.lacks}, which this lake does not have yet: "
        f"offsets-spark {_MAKERS[lacking.lacks]} makes it"
    )
