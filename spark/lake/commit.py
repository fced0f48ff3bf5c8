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
from typing import Any, Final, NamedTuple

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction, RemoveAction

from offsets_tool.errors import OffsetsToolError
from offsets_tool.lake.journal import JOURNAL, REWRITTEN, app_of, finished, interrupted_note, journal_of
from offsets_tool.lake.scan import FileFacts, LakeTables
from offsets_tool.lake.tables import REPLAY_TABLES, SOURCES, TABLES, Maker, Table
from offsets_tool.log.archive.delta import history_of, open_delta
from offsets_tool.log.archive.delta_mirror import committing, within_reach
from offsets_tool.log.refusals import is_unanswered
from offsets_tool.log.storage import is_stored
from offsets_tool.rows import Row
from offsets_tool.wire.arrow import record_batch
from spark.lake.log_checkpoints import NOTHING_AFTER, checkpoint_log, tidying
from spark.lake.merge import few_files
from spark.lake.parquet import NewFile, TableWriter
from spark.lake.replaced import Replaced, Replacement, Replacing, count_replaced, replace

RUNS_BETWEEN: Final = 8
"""After how many runs the files of tables that jobs read as a whole are counted."""
_LATEST: Final = 4
"""So many commits are looked at first for what a run has left to commit: there it is, unless others wrote behind it."""
ATTEMPTS: Final = 5
"""How often a commit is tried when another writer (OPTIMIZE, DELETE, ALTER by Spark) came first."""

Action = AddAction | RemoveAction
"""One of Delta's actions: a file that a commit adds to a table, or removes."""


class Chain(NamedTuple):
    """The tables that one kind of job writes, in the order of their commits: a run counts when the last table has it."""

    app: str
    """The application id under which Delta keeps the last run that a table has."""
    tables: tuple[Table, ...]


INGEST: Final = Chain(app_of(Maker.INGEST), TABLES)
REPLAY: Final = Chain(app_of(Maker.REPLAY), REPLAY_TABLES)


class Lake(LakeTables):
    """A lake that this process works on: its tables as they were opened, and with them what it has committed itself since.

    Jobs that follow one another are handed the same one. `root` is a folder that tasks and driver see alike.
    """

    def create(self, *tables: Table) -> None:
        """Make the tables that are not there; UsageError if one has other columns."""
        for table in tables:
            path, about = str(self.root / table.name), (table.name, table.comment, table.properties)
            # deltalake takes a log whose first commit is lost for no table, and would begin it anew.
            if not self.has(table):
                with within_reach(path), committing(path) as place:
                    DeltaTable.create(place, Schema.from_arrow(table.schema), "ignore", None, *about)
            there = self.opened(table)
            has = there.metadata().configuration if table.checks else {}
            missing = {c.name: c.sql for c in table.checks if f"delta.constraints.{c.name}" not in has}
            if missing:
                with committing(path):
                    there.alter.add_constraint(missing)

    def new_file(self, table: Table, rows: Sequence[tuple[Any, ...]] | pa.RecordBatch) -> list[NewFile]:
        """Write rows of a small table to a new file, and return it; an empty list for no rows. Once committed, it is not read."""
        batch = rows if isinstance(rows, pa.RecordBatch) else record_batch(table.row, rows)
        with TableWriter(self.root, table) as writer:
            writer.write(batch)
            files = writer.close()
        self.keep(table, {file.path: pa.Table.from_batches([batch]) for file in files})
        return files

    def write(
        self, table: Table, properties: CommitProperties, actions: Callable[[], list[Action] | None]
    ) -> None:
        """Commit what `actions` returns for the current table, unless it is None; try again where another writer came first."""
        for attempt in range(ATTEMPTS):
            # The object that has read the table must also commit: then the commit fails if another writer was faster.
            there, path = self.opened(table), self.root / table.name
            some = actions()
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
                    there.update_incremental()
            except (DeltaError, OSError) as error:
                # Opened anew, it is what another has made of it, or has the commit of which only the answer was lost.
                self.forget(table)
                is_passing = isinstance(error, CommitFailedError) or is_unanswered(error)
                if attempt == ATTEMPTS - 1 or not is_passing:
                    raise
            else:
                with tidying():
                    checkpoint_log(there, path)
                return

    def rewrite(
        self, table: Table, change: Callable[[list[FileFacts]], Replacing], said: str = REWRITTEN
    ) -> None:
        """Change a table outside of any run: commit the removed and added files that `change` returns for the current files."""
        properties = CommitProperties(custom_metadata={"userMetadata": said})
        self.write(table, properties, lambda: changes(change(self.files(table))) or None)


class ArrowLake:
    """Commits to a lake, through deltalake, the files that Arrow wrote for one kind of job."""

    def __init__(self, lake: Lake | Path, chain: Chain = INGEST) -> None:
        self.lake = lake if isinstance(lake, Lake) else Lake(lake)
        self._app = chain.app
        self._tables = chain.tables
        self._first, *self._others = chain.tables

    def create(self) -> None:
        """Make the job's tables that are not there; UsageError if one has other columns."""
        self.lake.create(*self._tables)

    def sources(self) -> list[Row]:
        """Return the rows of `sources`."""
        return self.lake.rows(SOURCES)

    def next_run(self) -> int:
        """Return a number that no run has had."""
        return max(self._last_runs()) + 1

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
            if is_done:
                self._commit_others(run, others, replaced)
        else:
            is_done = self._commit(self._tables[-1], run, others)
        # Asked before files are merged: then those of this run may be gone, though their rows are there.
        if not is_done and not self._has(files):
            raise OffsetsToolError(
                f"another job wrote to {self.lake.root} meanwhile; nothing of this run counts: run the same command again"
            )
        if run % RUNS_BETWEEN == 0:
            for table in (each for each in self._tables if each.is_read_whole):
                with tidying():
                    self.lake.rewrite(table, partial(few_files, self.lake.root, table))

    def _has(self, files: Iterable[NewFile]) -> bool:
        """Return whether all these files are part of their tables, once what their run has left is committed."""
        self.lake.forget(*self._tables)
        self.finish()
        paths = {t.name: {f["path"] for f in self.lake.files(t)} for t in self._tables}
        return all(file.path in paths[file.table] for file in files)

    def finish(self) -> str | None:
        """Commit what an interrupted run has left to commit, and return a note on it; None if there is nothing."""
        run, done = self._last_runs()
        if run <= done:
            return None
        left = journal_of(run, self._user_metadata(self._first), "files")
        files = [NewFile(*fields) for fields in left["files"]] if left else []
        if not files or any(not (self.lake.root / file.table / file.path).is_file() for file in files):
            return interrupted_note(run)
        self._commit_others(run, files, [Replaced(*fields) for fields in left["replaced"]])
        return finished(run)

    def _commit_others(self, run: int, files: Sequence[NewFile], replaced: Sequence[Replacement]) -> None:
        """Commit the files of all tables but the first, to which their run is committed already."""
        for table in self._others:
            self._commit(table, run, [file for file in files if file.table == table.name], replaced)

    def _user_metadata(self, table: Table) -> Iterator[str | None]:
        """Yield the user metadata of a table's commits, the newest first; all commits are read only where the latest do not do."""
        there, path = self.lake.opened(table), self.lake.root / table.name
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

        def actions() -> list[Action] | None:
            nonlocal is_new
            is_new = self.lake.last_run(table, self._app) < run
            if not is_new:
                return None
            return self._actions(table, files, replaced) or ([] if metadata else None)

        properties = CommitProperties(
            custom_metadata={"userMetadata": metadata or f"{JOURNAL} {run}"},
            app_transactions=[Transaction(self._app, run)],
        )
        self.lake.write(table, properties, actions)
        return is_new

    def _actions(self, table: Table, files: list[NewFile], replaced: Sequence[Replacement]) -> list[Action]:
        """Return Delta's actions that add the files and, in a history, remove the files with replaced rows."""
        removed, kept = list[str](), list[NewFile]()
        if replaced and table.is_replaced:
            removed, kept = replace(self.lake.root, table, self.lake.files(table), replaced)
        return changes(Replacing(removed, [*kept, *files]))

    def is_whole(self) -> bool:
        """Return whether every run that was begun was finished; False where a run was given up halfway."""
        begun, done = self._last_runs()
        return begun <= done

    def _last_runs(self) -> tuple[int, int]:
        """Return the last runs that the first and the last table have."""
        return self.lake.last_run(self._first, self._app), self.lake.last_run(self._tables[-1], self._app)

    def count_replaced(self, replaced: Iterable[Replacement]) -> list[int]:
        """Return for each replacement how many rows of the chain's first table a commit with it would remove."""
        files = self.lake.files(self._first)
        return [count_replaced(self.lake.root, self._first, files, [each]) for each in replaced]


def changes(files: Replacing) -> list[Action]:
    """Return Delta's actions that remove and add files."""
    now = time.time_ns() // 1_000_000
    return [
        *(RemoveAction(path, True, now) for path in files.gone),
        *(AddAction(f.path, f.size, {}, f.modified_at, True, f.statistics) for f in files.kept),
    ]
