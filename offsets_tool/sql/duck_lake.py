"""A lake open in DuckDB: its tables and views, as they were when it was opened, with the rows of finished runs only.

DuckDB is shut in: it opens no file but the lake's, takes nothing from Python, and no query changes its settings. It reads the
columns and row groups that a query needs: by itself in a folder, through Arrow in object storage. Its errors for a query become one
sentence with a remedy. Knows no terminal.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import duckdb
import pyarrow as pa
from sqlglot import exp

from offsets_tool.errors import OffsetsToolError, SourceError, UsageError
from offsets_tool.lake.answers import QueryResult, distinct_names, divides_by_zero, no_column, no_value, plain
from offsets_tool.lake.contents import CONTENTS, OF_CONTENTS, VIEWS, not_there, shown_of, tables_of
from offsets_tool.lake.damage import damage_of_lake, with_remedy
from offsets_tool.lake.moment import FinishedRows, ReadRow, Runs, finished_rows
from offsets_tool.lake.tables import ALL_TABLES, Table
from offsets_tool.lake.whole import check_whole, open_table
from offsets_tool.log.archive.delta import OpenDelta, dataset_of, open_delta, parquet_files
from offsets_tool.log.archive.delta_mirror import logs_listed_once
from offsets_tool.log.refusals import meant_refusal
from offsets_tool.log.storage import StoredPath, as_path
from offsets_tool.sql.calls import refused
from offsets_tool.sql.column_names import columns_of
from offsets_tool.sql.macros import CREATE, INDEX, NOT_TRANSLATED, ZERO
from offsets_tool.sql.spark_sql import parsed
from offsets_tool.sql.translate import duckdb_sql, duckdb_view, row_sources
from offsets_tool.wire.arrow import record_batch, spark_type

_SETTINGS: Final = (
    "SET TimeZone = 'UTC'",
    "SET python_enable_replacements = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    # A file of a lake never changes: what it says of its rows is read once, and not for the view and for each query.
    "SET parquet_metadata_cache = true",
    CREATE,
)
_SHUT: Final = ("SET enable_external_access = false", "SET lock_configuration = true")
_ROWS_AT_ONCE: Final = 8192
"""How many rows of an answer become Python's at once."""
_LONG: Final = 1 << 63
_DESCRIBED: Final = ("col_name", "data_type", "comment")


class _Stored(NamedTuple):
    """A table as it was when it was opened."""

    session: duckdb.DuckDBPyConnection
    path: Path
    opened: OpenDelta

    def rows(self) -> str:
        """Return SQL for the rows of all its files; of those in storage, DuckDB learns the name first."""
        if not isinstance(self.path, StoredPath):
            # Statistics in the files tell which of their rows a query needs.
            return f"read_parquet([{', '.join(map(_text, _files(self.opened)))}], union_by_name = true, hive_partitioning = false)"
        name = f"files of {self.path.name} as of {self.opened.version()}"
        self.session.register(name, dataset_of(self.path, self.opened))
        return f'"{name}"'

    def values(self, columns: Sequence[str]) -> list[ReadRow]:
        named = ", ".join(columns)
        if not _files(self.opened):
            return []
        found = self.session.execute(f"SELECT DISTINCT {named} FROM {self.rows()}")
        return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]

    def last_run(self, app: str) -> int | None:
        return self.opened.transaction_version(app)


class DuckLake:
    """A lake as it is when it is opened, in a folder or in object storage; a query makes the tables and views that it names."""

    def __init__(self, lake: str, queries: Sequence[str] = ()) -> None:
        """Open a lake; UsageError where there is none, OffsetsToolError for one that is damaged.

        Given all `queries` that will be asked, only the tables that they read are opened, as each costs requests to storage.
        """
        wanted = _tables_named(queries) if queries else set(ALL_TABLES)
        self._lake = lake
        self._made: set[str] = set()
        self._session = duckdb.connect()
        with self._in_one_sentence():
            for statement in _SETTINGS:
                self._session.execute(statement)
            counted = self._opened(as_path(lake).absolute(), wanted)
        self._tables = {table.name: found for table, found in counted.items() if found is not None}
        self._comments = {table.name: _comments(table) for table in ALL_TABLES} | {CONTENTS: OF_CONTENTS}
        self.shown = shown_of(counted)
        """All tables and views, those too that cannot be asked yet, as far as tables were opened."""

    def _opened(self, root: Path, wanted: Collection[Table]) -> dict[Table, FinishedRows[_Stored] | None]:
        """Return the tables with the rows that count, and let DuckDB open no other file from now on."""
        with logs_listed_once(root):
            check_whole(root)
            counted = finished_rows(self._lake, partial(_stored, self._session, root), wanted)
            as_of = {table: found and _as_of(found) for table, found in counted.items()}
        files = [file for found in as_of.values() if found for file in _files(found.stored.opened)]
        self._session.execute(f"SET allowed_paths = [{', '.join(map(_text, files))}]")
        for statement in _SHUT:
            self._session.execute(statement)
        return as_of

    def ask(self, query: str) -> QueryResult:
        """Return the answer to a query in Spark's SQL.

        UsageError for what is not there, what is no query and what is not translated; OffsetsToolError, possibly while rows come,
        for what cannot be computed and for damaged files.
        """
        tree = parsed(query)
        with self._in_one_sentence(), logs_listed_once(as_path(self._lake).absolute()):
            if isinstance(tree, exp.Describe):
                return self._described(tree)
            for name in _names(tree):
                self._show(name)
            asked = columns_of(tree)
            rows = self._session.sql(duckdb_sql(tree, self._types_of))
            columns = distinct_names(_answer_names(rows.columns, asked))
            if "INTERVAL" in map(str, rows.types):
                raise refused("a span of time, as the difference of two times")
            sums = [number for number, type_ in enumerate(rows.types) if str(type_) == "HUGEINT"]
            return QueryResult(columns, self._rows(rows, columns, sums))

    def _types_of(self, name: str) -> Mapping[str, str]:
        if name not in self._made:
            return {}
        columns = self._session.sql(f'SELECT * FROM "{name}" LIMIT 0')
        return {
            column.lower(): str(type_) for column, type_ in zip(columns.columns, columns.types, strict=True)
        }

    def _rows(self, found: Any, columns: tuple[str, ...], sums: Sequence[int]) -> Iterator[dict[str, Any]]:
        with self._in_one_sentence():
            for batch in found.to_arrow_reader(_ROWS_AT_ONCE):
                values = [each.to_pylist() for each in batch.columns]
                for number in sums:
                    values[number] = [_long(value) for value in values[number]]
                for row in zip(*values, strict=True):
                    yield dict(zip(columns, map(plain, row), strict=True))

    def _show(self, name: str) -> None:
        """Make a table or view of the lake, and what that reads; UsageError if the lake does not have it."""
        if name in self._made:
            return
        there = name == CONTENTS or any(one.name == name and one.lacks is None for one in self.shown)
        if not there:
            raise not_there(name, self.shown)
        if name == CONTENTS:
            rows = [one._asdict() for one in self.shown]
            self._session.register(
                name, pa.Table.from_pylist(rows, pa.schema(dict.fromkeys(OF_CONTENTS, pa.string())))
            )
        elif name in self._tables:
            self._show_table(name, self._tables[name])
        else:
            self._show_view(name)
        self._made.add(name)

    def _show_table(self, name: str, found: FinishedRows[_Stored]) -> None:
        opened = found.stored.opened
        files = parquet_files(opened)
        if files is None:
            raise UsageError(
                f"{name} has deletion vectors or partitions: offsets-spark sql reads such tables"
            )
        # Files of an earlier version lack columns that the table has had added since.
        columns = [field.name for field in opened.schema().fields]
        declared = f"columns of {name}"
        self._session.register(declared, _SCHEMAS[name].empty_table().select(columns))
        rows = f'SELECT * FROM "{declared}"'
        if files:
            of_files = f"SELECT * FROM {found.stored.rows()} {_where(found.runs)}"
            is_whole = list(self._session.sql(of_files).columns) == columns
            rows = of_files if is_whole else f"{rows} UNION ALL BY NAME {of_files}"
        self._session.execute(f'CREATE VIEW "{name}" AS {rows}')

    def _show_view(self, name: str) -> None:
        view = _VIEWS[name]
        for read in view.reads:
            self._show(read)
        sql = duckdb_view(view.sql)
        found = self._session.sql(sql)
        if view.rule is not None:
            rows = record_batch(view.rule.row, list(view.rule.rows_of(found.to_arrow_table().to_pylist())))
            self._session.register(name, pa.Table.from_batches([rows]))
            self._comments[name] = view.rule.comments
            return
        # Sums are wider in DuckDB than in Spark.
        sums = [
            column
            for column, type_ in zip(found.columns, found.types, strict=True)
            if str(type_) == "HUGEINT"
        ]
        narrowed = ", ".join(f'CAST("{column}" AS BIGINT) AS "{column}"' for column in sums)
        replaced = f"SELECT * REPLACE ({narrowed}) FROM ({sql})" if sums else sql
        self._session.execute(f'CREATE VIEW "{name}" AS {replaced}')
        # A column is that of the first table that has one of its name, unless the view says what it is.
        read_comments = (self._comments[read] for read in reversed(row_sources(view.sql)))
        inherited = {key: text for one in read_comments for key, text in one.items()}
        self._comments[name] = inherited | dict(view.columns)

    def _described(self, tree: exp.Describe) -> QueryResult:
        if not isinstance(tree.this, exp.Table) or not isinstance(tree.this.this, exp.Identifier):
            raise UsageError("only tables and views are described: DESCRIBE events")
        name = tree.this.name.lower()
        self._show(name)
        schema = self._session.sql(f'SELECT * FROM "{name}" LIMIT 0').to_arrow_table().schema
        comments = self._comments[name]
        rows = ((each.name, spark_type(each.type), comments.get(each.name)) for each in schema)
        return QueryResult(_DESCRIBED, (dict(zip(_DESCRIBED, row, strict=True)) for row in rows))

    @contextmanager
    def _in_one_sentence(self) -> Iterator[None]:
        try:
            yield
        except SourceError as error:
            raise with_remedy(error, self._lake) from error
        except duckdb.Error as error:
            root = as_path(self._lake).absolute()
            if isinstance(root, StoredPath) and (refused := meant_refusal(self._lake, str(error))):
                raise refused from error
            of_files = not isinstance(error, OF_QUERIES) and not isinstance(root, StoredPath)
            if of_files and (damage := damage_of_lake(root)):
                raise with_remedy(SourceError(damage.path.as_posix(), damage.reason), self._lake) from error
            raise as_tool_error(error, self._columns()) from error

    def _columns(self) -> list[str]:
        """The columns of all tables and views that queries have named."""
        return list(dict.fromkeys(column for name in self._made for column in self._comments.get(name, ())))


_SCHEMAS: Final = {table.name: table.schema for table in ALL_TABLES}
_VIEWS: Final = {view.name: view for view in VIEWS}


def _stored(session: duckdb.DuckDBPyConnection, root: Path, table: Table) -> _Stored | None:
    opened = open_table(root, table)
    return _Stored(session, root / table.name, opened) if opened is not None else None


def _as_of(found: FinishedRows[_Stored]) -> FinishedRows[_Stored]:
    """Return the rows of a table that count with the table open as of their version."""
    stored = found.stored
    if found.version in (None, stored.opened.version()):
        return found
    return found._replace(stored=stored._replace(opened=open_delta(stored.path, found.version)))


def _files(opened: OpenDelta) -> list[str]:
    return parquet_files(opened) or []


def _text(value: str) -> str:
    escaped = value.replace("'", "''")
    return f"'{escaped}'"


def _comments(table: Table) -> Mapping[str, str]:
    return {field.name: (field.metadata or {}).get(b"comment", b"").decode() for field in table.schema}


def _where(runs: Runs | None) -> str:
    if runs is None:
        return ""
    given_up = f" AND run NOT IN ({', '.join(map(str, runs.given_up))})" if runs.given_up else ""
    return f"WHERE run <= {runs.last}{given_up}"


def _tables_named(queries: Sequence[str]) -> set[Table]:
    """Return the tables that queries read; none of a query that cannot be asked, which says why when its turn comes."""
    found = set[Table]()
    for query in queries:
        with suppress(UsageError):
            found |= tables_of(_names(parsed(query)))
    return found


def _names(tree: exp.Query | exp.Describe) -> list[str]:
    """Return the tables and views that a query reads, but for those that it makes itself by WITH."""
    own = {each.alias.lower() for each in tree.find_all(exp.CTE)}
    named = (table.name.lower() for table in tree.find_all(exp.Table) if not table.args.get("db"))
    return list(dict.fromkeys(name for name in named if name and name not in own))


def _answer_names(found: Sequence[str], asked: Sequence[str | None]) -> list[str]:
    """Return the names of an answer's columns: `asked` ones, and in the place of a star those that DuckDB has `found`."""
    many = len(found) - len(asked) + 1
    if asked.count(None) > 1:
        return list(found)
    place = asked.index(None) if None in asked else len(asked)
    before = [name or "" for name in asked[:place]]
    after = [name or "" for name in asked[place + 1 :]]
    return [*before, *found[place : place + many], *after] if None in asked else before


def _long(value: Any) -> int | None:
    """Return a sum as 64 bits hold it; OffsetsToolError where they do not, as in Spark."""
    if value is None:
        return None
    number = int(value)
    if not -_LONG <= number < _LONG:
        raise OffsetsToolError(
            f"the query has a sum that 64 bits do not hold ({number}): try_sum(x) is null there"
        )
    return number


OF_QUERIES: Final = (
    duckdb.ParserException,
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.NotImplementedException,
)
"""What DuckDB raises before it reads a row: the query is wrong, or means nothing to it."""
_NO_COLUMN: Final = re.compile(r'Referenced column "([^"]+)" (?:was )?not found')
_NO_COLUMN_OF: Final = re.compile(r'does not have a column named "([^"]+)"')
_NO_FIELD: Final = re.compile(r'Could not find key "([^"]+)" in struct')
_CANDIDATES: Final = re.compile(r'"([^"]+)"')
_NUMBERS: Final = re.compile(r"overflow|out of range|cannot be cast|can't be cast|doesn't fit", re.I)


def as_tool_error(error: duckdb.Error, columns: Sequence[str] = ()) -> OffsetsToolError:
    """Return an error of DuckDB as one sentence; `columns` are those that the query's tables have."""
    said = str(error).strip()
    first = said.partition("\n")[0].partition(": ")[2] or said
    if found := _NO_COLUMN.search(said) or _NO_COLUMN_OF.search(said) or _NO_FIELD.search(said):
        return _no_column(found[1], said, columns)
    if NOT_TRANSLATED in said:
        return refused(said.partition(NOT_TRANSLATED)[2].partition("\n")[0])
    if isinstance(error, OF_QUERIES):
        return UsageError(f"DuckDB cannot answer this ({first}); offsets-spark sql takes the same query")
    if ZERO in said.lower():
        return divides_by_zero()
    if INDEX in said or _NUMBERS.search(said):
        return no_value(first)
    return OffsetsToolError(f"DuckDB cannot answer: {first}")


def _no_column(name: str, said: str, columns: Sequence[str]) -> UsageError:
    candidates = _CANDIDATES.findall(said.partition("andidate")[2].partition("\n\n")[0])
    return no_column(name, list(columns) or candidates)
