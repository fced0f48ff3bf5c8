"""Commit the rows of a run to the tables; no other module knows how rows become part of a table.

Order: log, events, copies, sources; histories, names, replays. The first commit carries, as its user metadata, all that the
others still need; so a run that was killed in between is finished by whoever comes next, and a run that the last table has not does
not count.
Each table remembers the last run it has (Delta's application transactions): nothing is committed twice.
Two ways to write: files that tasks wrote with Arrow, committed by deltalake (ArrowLake), or DataFrames that Spark appends
(spark.lake.spark_lake), for storage that only Spark can write.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction, RemoveAction

from offsets_tool.errors import OffsetsToolError
from offsets_tool.lake.journal import JOURNAL, REWRITTEN, app_of, finished, interrupted_note, journal_of
from offsets_tool.lake.layout import layout_error, other_columns
from offsets_tool.lake.tables import REPLAY_TABLES, SOURCES, TABLES, Maker, Table
from offsets_tool.log.archive.delta import bring_up_to_date, history_of, open_delta, rows_of
from offsets_tool.log.archive.delta_mirror import committing, has_commit, within_reach
from offsets_tool.log.refusals import is_unanswered
from offsets_tool.log.storage import is_stored
from offsets_tool.rows import Row
from spark.lake.log_checkpoints import NOTHING_AFTER, checkpoint_log, tidying
from spark.lake.merge import few_files
from spark.lake.parquet import NewFile
from spark.lake.replaced import Replaced, Replacement, Replacing, count_replaced, replace
from spark.lake.scan import FileFacts, facts_of

RUNS_BETWEEN: Final = 8
"""After how many runs the files of tables that jobs read as a whole are counted."""
_LATEST: Final = 4
"""So many commits are looked at first for what a run has left to commit: there it is, unless others wrote behind it."""
ATTEMPTS: Final = 5
"""How often a commit is tried when another writer (OPTIMIZE, DELETE, ALTER by Spark) came first."""

Action = AddAction | RemoveAction
"""One of Delta's actions: a file that a commit adds to a table, or removes."""


class Lake(Protocol):
    """The operations on the lake's tables `log`, `events` and `sources` that an ingest needs, whoever writes their files."""

    def create(self) -> None:
        """Create the tables that do not exist; UsageError if one has other columns."""

    def sources(self) -> list[Row]:
        """Return the rows of `sources`."""

    def next_run(self) -> int:
        """Return a number that no run has had."""

    def finish(self) -> str | None:
        """Commit what an interrupted run has left to commit, and return a note on it; None if there is nothing."""


class Chain(NamedTuple):
    """The tables that one kind of job writes, in the order of their commits: a run counts when the last table has it."""

    app: str
    """The application id under which Delta keeps the last run that a table has."""
    tables: tuple[Table, ...]


INGEST: Final = Chain(app_of(Maker.INGEST), TABLES)
REPLAY: Final = Chain(app_of(Maker.REPLAY), REPLAY_TABLES)


class ArrowLake:
    """Commits files that Arrow wrote, through deltalake. `root` is a folder that tasks and driver see alike."""

    def __init__(self, root: Path, chain: Chain = INGEST) -> None:
        self._root = root
        self._app = chain.app
        self._tables = chain.tables
        self._first, *self._others = chain.tables
        self._opened: dict[str, DeltaTable] = {}

    def create(self) -> None:
        for table in self._tables:
            schema, path = Schema.from_arrow(table.schema), str(self._root / table.name)
            about = table.name, table.comment, table.properties
            # deltalake takes a log whose first commit is lost for no table, and would begin it anew.
            if not has_commit(self._root / table.name):
                with within_reach(path), committing(path) as place:
                    self._opened[table.name] = DeltaTable.create(place, schema, "ignore", None, *about)
            there = self._open(table)
            _require_columns(path, there.schema(), schema, table)
            has = there.metadata().configuration
            missing = {c.name: c.sql for c in table.checks if f"delta.constraints.{c.name}" not in has}
            if missing:
                with committing(path):
                    there.alter.add_constraint(missing)

    def sources(self) -> list[Row]:
        return self.rows(SOURCES)

    def rows(
        self, table: Table, columns: Sequence[str] | None = None, where: ds.Expression | None = None
    ) -> list[Row]:
        """Return the rows of a small table, all or those that `where` says, with all columns or only these: each costs time."""
        rows: list[Row] = self.table(table, columns, where).to_pylist()
        return rows

    def table(
        self, table: Table, columns: Sequence[str] | None = None, where: ds.Expression | None = None
    ) -> pa.Table:
        """Return the rows of a small table as `rows` does, and make no objects of them; UsageError for one with other columns."""
        there = self._open(table)
        _require_columns(str(self._root / table.name), there.schema(), Schema.from_arrow(table.schema), table)
        found = rows_of(self._root / table.name, there, list(columns) if columns else None)
        return found if where is None else found.filter(where)

    def next_run(self) -> int:
        return max(self._last_run(self._first), self._last_run(self._tables[-1])) + 1

    def commit(self, run: int, files: Iterable[NewFile], replaced: Sequence[Replacement] = ()) -> None:
        """Commit all files of a run to their tables; all rows in them have its number. Tables that jobs read whole keep few files.

        Rows of histories that `replaced` names are removed in the same commit.
        """
        files = list(files)
        of_first = [file for file in files if file.table == self._first.name]
        others = [file for file in files if file.table != self._first.name]
        if of_first or replaced or any(file.table != self._tables[-1].name for file in others):
            is_replaced_later = any(table.is_replaced for table in self._others)
            left = {"run": run, "files": others, "replaced": replaced if is_replaced_later else ()}
            is_done = self._commit(self._first, run, of_first, replaced, json.dumps({JOURNAL: left}))
        else:
            is_done = self._commit(self._tables[-1], run, others)
        self.finish()
        # Asked before files are merged: then those of this run may be gone, though their rows are there.
        if not is_done and not self._has(files):
            raise OffsetsToolError(
                f"another job wrote to {self._root} meanwhile; nothing of this run counts: run the same command again"
            )
        if run % RUNS_BETWEEN == 0:
            for table in (each for each in self._tables if each.is_read_whole):
                with tidying():
                    self.rewrite(table, partial(few_files, self._root, table))

    def _has(self, files: Iterable[NewFile]) -> bool:
        """Return whether all these files are part of their tables already."""
        paths = {t.name: {f["path"] for f in facts_of(self._open(t))} for t in self._tables}
        return all(file.path in paths[file.table] for file in files)

    def finish(self) -> str | None:
        run = self._last_run(self._first)
        if run <= self._last_run(self._tables[-1]):
            return None
        left = journal_of(run, self._user_metadata(self._first), "files")
        files = [NewFile(*fields) for fields in left["files"]] if left else []
        if not files or any(not (self._root / file.table / file.path).is_file() for file in files):
            return interrupted_note(run)
        replaced = [Replaced(*fields) for fields in left["replaced"]]
        for table in self._others:
            self._commit(table, run, [file for file in files if file.table == table.name], replaced)
        return finished(run)

    def _user_metadata(self, table: Table) -> Iterator[str | None]:
        """Yield the user metadata of a table's commits, the newest first; all commits are read only where the latest do not do."""
        there = self._open(table)
        path = self._root / table.name
        yield from (entry.get("userMetadata") for entry in history_of(path, there, _LATEST))
        there = open_delta(path, with_history=True)
        yield from (entry.get("userMetadata") for entry in history_of(path, there))

    def _commit(
        self,
        table: Table,
        run: int,
        files: list[NewFile],
        replaced: Sequence[Replacement] = (),
        metadata: str | None = None,
    ) -> bool:
        """Commit files to a table; return False, and do nothing, where the table has that run already."""
        is_new = True

        def actions(there: DeltaTable) -> list[Action] | None:
            nonlocal is_new
            is_new = (there.transaction_version(self._app) or 0) < run
            if not is_new:
                return None
            return self._actions(there, table, files, replaced) or ([] if metadata else None)

        properties = CommitProperties(
            custom_metadata={"userMetadata": metadata or f"{JOURNAL} {run}"},
            app_transactions=[Transaction(self._app, run)],
        )
        self._write(table, properties, actions)
        return is_new

    def _write(
        self, table: Table, properties: CommitProperties, actions: Callable[[DeltaTable], list[Action] | None]
    ) -> None:
        """Commit what `actions` returns for the current table, unless it is None; try again where another writer came first."""
        for attempt in range(ATTEMPTS):
            # The object that has read the table must also commit: then the commit fails if another writer was faster.
            there, path = self._open(table), self._root / table.name
            some = actions(there)
            if some is None:
                return
            try:
                with committing(path):
                    there.create_write_transaction(
                        some,
                        "append",
                        there.schema(),
                        commit_properties=properties,
                        post_commithook_properties=NOTHING_AFTER if is_stored(path) else None,
                    )
            except (DeltaError, OSError) as error:
                # Opened anew, it is what the other has made of it, or has the commit of which only the answer was lost.
                self._opened.pop(table.name)
                is_passing = isinstance(error, CommitFailedError) or is_unanswered(error)
                if attempt == ATTEMPTS - 1 or not is_passing:
                    raise
            else:
                with tidying():
                    checkpoint_log(there, path)
                return

    def _actions(
        self, there: DeltaTable, table: Table, files: list[NewFile], replaced: Sequence[Replacement]
    ) -> list[Action]:
        """Return Delta's actions that add the files and, in a history, remove the files with replaced rows."""
        removed, kept = list[str](), list[NewFile]()
        if replaced and table.is_replaced:
            removed, kept = replace(self._root, table, facts_of(there), replaced)
        return changes(Replacing(removed, [*kept, *files]))

    def rewrite(
        self, table: Table, change: Callable[[list[FileFacts]], Replacing], said: str = REWRITTEN
    ) -> None:
        """Change a table outside of any run: commit the removed and added files that `change` returns for the current files."""
        properties = CommitProperties(custom_metadata={"userMetadata": said})
        self._write(table, properties, lambda there: changes(change(facts_of(there))) or None)

    def is_whole(self) -> bool:
        """Return whether every run that was begun was finished; False where a run was given up halfway."""
        return self._last_run(self._first) <= self._last_run(self._tables[-1])

    def count_replaced(self, replaced: Iterable[Replacement]) -> list[int]:
        """Return for each replacement how many rows of the chain's first table a commit with it would remove."""
        files = facts_of(self._open(self._first))
        return [count_replaced(self._root, self._first, files, [each]) for each in replaced]

    def _last_run(self, table: Table) -> int:
        return self._open(table).transaction_version(self._app) or 0

    def _open(self, table: Table) -> DeltaTable:
        """Return a table as it is now: opened once, and then only what was committed since is read."""
        path, there = self._root / table.name, self._opened.get(table.name)
        if there is None:
            there = self._opened[table.name] = open_delta(path)
        else:
            bring_up_to_date(there, path)
        return there


def _require_columns(path: str, there: Schema, declared: Schema, table: Table) -> None:
    """Raise UsageError for a table with other columns than are declared; their order and their comments may differ."""
    fields = {field.name: field for field in there.fields}
    if error := layout_error(path, list(fields), table):
        raise error
    if any((f.type, f.nullable) != (fields[f.name].type, fields[f.name].nullable) for f in declared.fields):
        raise other_columns(path)


def changes(files: Replacing) -> list[Action]:
    """Return Delta's actions that remove and add files."""
    now = time.time_ns() // 1_000_000
    return [
        *(RemoveAction(path, True, now) for path in files.gone),
        *(AddAction(f.path, f.size, {}, f.modified_at, True, f.statistics) for f in files.kept),
    ]
