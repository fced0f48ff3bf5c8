"""Decides which rows of a lake's tables count at the moment when it is opened: those of finished runs, the same in all tables.

The caller opens tables, and this module reads the few values that say so; the rows themselves are left to the caller's engine.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from offsets_tool.lake.journal import app_of, run_of
from offsets_tool.lake.tables import (
    ALL_TABLES,
    DERIVATIONS,
    DERIVED_TABLES,
    REPLAY_TABLES,
    REPLAYS,
    SOURCES,
    TABLES,
    Maker,
    Table,
)
from offsets_tool.lake.whole import no_lake
from offsets_tool.log.archive.delta import history_of, open_delta

ReadRow = Mapping[str, Any]
_COMMITS_SEEN: Final = 50
"""How many commits of a table are looked at, from the newest on: those of an interrupted replay are among them."""
_ACCOUNTS: Final = {
    SOURCES: frozenset(TABLES),
    REPLAYS: frozenset(REPLAY_TABLES),
    DERIVATIONS: frozenset((DERIVATIONS, *(table for table in DERIVED_TABLES if table.is_replaced))),
}
"""The tables that say which runs are finished, and of which tables they say it."""


class StoredTable(Protocol):
    """A table as it was when an engine opened it."""

    def values(self, columns: Sequence[str]) -> list[ReadRow]:
        """Return the rows of some columns, each value at least once."""
        ...

    def last_run(self, app: str) -> int | None:
        """Return the last run that the table has of an application, though its rows may be forgotten; None without any."""
        ...


Stored = TypeVar("Stored", bound=StoredTable)


class Runs(NamedTuple):
    """The runs whose rows count: all up to `last` but for the few in `given_up`, which were interrupted and never finished."""

    last: int
    given_up: tuple[int, ...]


class FinishedRows(NamedTuple, Generic[Stored]):
    """The rows of a table that count: of a version (None: as it was opened), and there of some runs (None: of all)."""

    stored: Stored
    version: int | None = None
    runs: Runs | None = None


def finished_rows(
    lake: str, open_table: Callable[[Table], Stored | None], wanted: Collection[Table] = ALL_TABLES
) -> dict[Table, FinishedRows[Stored] | None]:
    """Return, by `wanted` table, which rows are of finished runs; None for one without any. UsageError where there is no lake.

    Of the others only those are opened that say which runs are finished: first, since all others then have every row of these
    runs. All are opened now, and none later: what is forgotten or compacted meanwhile would be of another moment. `open_table`
    returns None for a table that does not exist.
    """
    accounts = {
        table: open_table(table)
        for table, accounted in _ACCOUNTS.items()
        if table is SOURCES or not accounted.isdisjoint(wanted)
    }
    sources = accounts[SOURCES]
    if sources is None:
        raise no_lake(lake)
    runs = _finished(row["run"] for row in sources.values(["run"]))
    last = _last_runs(accounts.get(REPLAYS), accounts.get(DERIVATIONS))
    found: dict[Table, FinishedRows[Stored] | None] = {}
    for table in (table for table in (*TABLES, *REPLAY_TABLES, *DERIVED_TABLES) if table in wanted):
        stored = accounts[table] if table in accounts else open_table(table)
        if stored is None:
            found[table] = None
        elif table in TABLES:
            found[table] = FinishedRows(stored, runs=runs)
        elif table in REPLAY_TABLES or table.is_replaced:
            found[table] = _as_after(lake, table, stored, last.get(table))
        else:
            found[table] = FinishedRows(stored)
    return found


def _finished(finished: Iterable[int]) -> Runs:
    runs = set(finished)
    last = max(runs, default=0)
    return Runs(last, tuple(sorted(set(range(1, last + 1)) - runs)))


def _last_runs(replays: StoredTable | None, derivations: StoredTable | None) -> dict[Table, int | None]:
    """Return the last finished run of each table whose rows later runs replace."""
    last: dict[Table, int | None] = {}
    if replays is not None:
        last |= dict.fromkeys(REPLAY_TABLES, _last(replays, Maker.REPLAY, replays.values(["run"])))
    if derivations is not None:
        rows = derivations.values(["derived", "run"])
        for table in (table for table in DERIVED_TABLES if table.is_replaced):
            of_table = (row for row in rows if row["derived"] == table.name)
            last[table] = _last(derivations, table.made_by, of_table)
    return last


def _last(account: StoredTable, maker: Maker, rows: Iterable[ReadRow]) -> int | None:
    """Return the last finished run of a command, given the rows that account for its runs; None without any.

    The rows of the last one may be forgotten: what it wrote is as finished, and what was forgotten is not to come back.
    """
    newest: int | None = max((row["run"] for row in rows), default=None)
    return None if newest is None else max(newest, account.last_run(app_of(maker)) or 0)


def _as_after(lake: str, table: Table, stored: Stored, run: int | None) -> FinishedRows[Stored] | None:
    """Return the rows of a table as it was after a run, if there was one."""
    return FinishedRows(stored, _version(f"{lake}/{table.name}", run)) if run else None


def _version(path: str, run: int) -> int:
    """Return the version of a history before any later run changed its rows, which no condition on the rows could undo."""
    commits = history_of(path, open_delta(path), _COMMITS_SEEN)
    later = [commit["version"] for commit in commits if run_of(commit.get("userMetadata")) > run]
    newest: int = commits[0]["version"]
    return min(later) - 1 if later else newest
