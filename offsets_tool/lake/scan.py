"""The tables of a lake, opened once, and their rows: those of a table of any size in batches, one at a time, of small ones all.

Files that cannot have wanted rows, by Delta's statistics, are not opened. Reads file after file: data sets of Arrow read many
row groups ahead. Does not know what rows are used for.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from offsets_tool.errors import SourceError
from offsets_tool.lake.layout import require_columns
from offsets_tool.lake.tables import TABLES, Table
from offsets_tool.lake.whole import is_table, no_lake
from offsets_tool.log.archive.delta import OpenDelta, has_plain_files, open_delta, reading_delta
from offsets_tool.log.archive.delta_log import UNREADABLE, damage_of_sizes, first_line
from offsets_tool.log.archive.delta_mirror import data_for_arrow, small_files
from offsets_tool.log.storage import is_stored
from offsets_tool.rows import Row

ROWS_AT_ONCE: Final = 16_384
"""The rows of a batch at most."""
FileFacts = Mapping[str, Any]
"""What Delta knows of a file: path, num_records, null_count.*, min.*, max.* (DeltaTable.get_add_actions)."""
_PIECE_ROWS: Final = 1 << 21
"""The rows, about, that a piece of a file has."""

_HARDLY_REPEATS: Final = ("metadata", "value", "value_json", "problem", "sha256", "file_sha256")
"""Texts and binaries for which a dictionary does not pay."""


@dataclass(frozen=True, slots=True)
class RowsPiece:
    """One of the pieces of a file that tasks read: each has as many row groups as the others, or one more."""

    number: int = 0
    pieces: int = 1

    def groups(self, file: pq.FileMetaData) -> Sequence[int]:
        """Return the numbers of its row groups in a file."""
        count = file.num_row_groups
        return range(count * self.number // self.pieces, count * (self.number + 1) // self.pieces)


WHOLE: Final = RowsPiece()


@dataclass(frozen=True, slots=True)
class RowsWith:
    """The row groups of a file that may have a number in a column, by their statistics."""

    column: str
    value: int

    def groups(self, file: pq.FileMetaData) -> Sequence[int]:
        """Return the numbers of its row groups in a file."""
        place = {name: number for number, name in enumerate(file.schema.names)}[self.column]
        ranges = (file.row_group(number).column(place).statistics for number in range(file.num_row_groups))
        return [number for number, range_ in enumerate(ranges) if self._may_be_in(range_)]

    def _may_be_in(self, range_: pq.Statistics | None) -> bool:
        """Return whether a column's statistics leave the value open; they say nothing of a column of nulls alone."""
        return range_ is None or not range_.has_min_max or bool(range_.min <= self.value <= range_.max)


class LakeTables:
    """The tables of a lake as they are opened, each once; of small ones, which are read whole, each file is read once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._opened: dict[str, OpenDelta] = {}
        self._facts: dict[str, tuple[int, list[FileFacts]]] = {}
        self._rows: dict[str, dict[str, pa.Table]] = {}
        """By table the rows of its files, by the name of the file."""

    def has(self, *tables: Table) -> bool:
        """Return whether the lake has all these tables."""
        return all(table.name in self._opened or is_table(self.root, table) for table in tables)

    def require(self, *tables: Table) -> None:
        """Open the tables that are there; UsageError for a table that no lake lacks, and for one with other columns."""
        for table in tables:
            if self.has(table):
                self.opened(table)
            elif table in TABLES:
                raise no_lake(self.root, table)

    def opened(self, table: Table) -> OpenDelta:
        """Return a table as it is opened; UsageError for one with other columns than this version declares."""
        if table.name not in self._opened:
            opened = open_delta(self.root / table.name)
            if not has_plain_files(opened):
                raise SourceError(f"{self.root}/{table.name}", "has deletion vectors, which jobs do not read")
            self._check_columns(opened, table)
            self._opened[table.name] = opened
        return self._opened[table.name]

    def _check_columns(self, opened: OpenDelta, table: Table) -> None:
        require_columns(f"{self.root}/{table.name}", opened, table)

    def last_run(self, table: Table, app: str) -> int:
        """Return the last run that a table has of an application; 0 without any."""
        return self.opened(table).transaction_version(app) or 0

    def forget(self, *tables: Table) -> None:
        """Have tables opened anew when they are asked for next, as another may have committed to them."""
        for table in tables:
            self._opened.pop(table.name, None)

    def keep(self, table: Table, rows: Mapping[str, pa.Table]) -> None:
        """Keep the rows of files of a small table, by their names, so that nobody has to read them."""
        self._rows[table.name] = {**self._rows.get(table.name, {}), **rows}

    def files(self, table: Table) -> list[FileFacts]:
        """Return what Delta knows of each file of a table."""
        opened = self.opened(table)
        if self._facts.get(table.name, (-1, []))[0] != opened.version():
            self._facts[table.name] = opened.version(), facts_of(opened)
        return self._facts[table.name][1]

    def rows(
        self, table: Table, columns: Sequence[str] | None = None, where: ds.Expression | None = None
    ) -> list[Row]:
        """Return the rows of a small table, all or those that `where` says, with all columns or only these: each costs time."""
        rows: list[Row] = self.table(table, columns, where).to_pylist()
        return rows

    def table(
        self, table: Table, columns: Sequence[str] | None = None, where: ds.Expression | None = None
    ) -> pa.Table:
        """Return the rows of a small table as `rows` does, and make no objects of them; SourceError for a damaged file."""
        files, kept = self.files(table), self._rows.get(table.name, {})
        new = [file for file in files if file["path"] not in kept]
        self.keep(table, _read_whole(self.root / table.name, table, new))
        kept = self._rows[table.name]
        found = pa.concat_tables([table.schema.empty_table(), *(kept[file["path"]] for file in files)])
        found = found if where is None else found.filter(where)
        return found.select(list(columns)) if columns else found


def _read_whole(folder: Path, table: Table, files: Sequence[FileFacts]) -> dict[str, pa.Table]:
    """Return the rows of files by their names; SourceError for a file that is not as long as its log says, or damaged."""
    if not is_stored(folder) and (
        found := damage_of_sizes(folder, [(f["path"], f["size_bytes"]) for f in files])
    ):
        raise SourceError(found.path.as_posix(), found.reason)
    small_files(folder, [file["path"] for file in files])
    with reading_delta(folder):
        return {file["path"]: whole_table(folder / file["path"], table) for file in files}


def whole_table(path: Path, table: Table) -> pa.Table:
    """Return all rows of a file of a table, their texts as they are; SourceError where the file is damaged."""
    with pq.ParquetFile(data_for_arrow(path)) as file:
        batches = file.read().to_batches()
    with reading_rows(path):
        return pa.Table.from_batches([_with_added(rows, table.schema) for rows in batches], table.schema)


def facts_of(there: OpenDelta) -> list[FileFacts]:
    """Return what Delta knows of each file of a table."""
    found: list[FileFacts] = pa.table(there.get_add_actions(flatten=True)).to_pylist()
    return found


def encoded_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema with which files are written: texts that repeat are dictionary-encoded."""
    return pa.schema(
        [
            f.with_type(pa.dictionary(pa.int32(), f.type))
            if f.type in (pa.string(), pa.binary()) and f.name not in _HARDLY_REPEATS
            else f
            for f in schema
        ]
    )


def is_within(file: FileFacts, column: str, value: Any) -> bool:
    """Return whether a file's column may have the value, by its statistics; True where all values are null or nothing is known."""
    return bool(values_within(file, column, [value]))


def values_within(file: FileFacts, column: str, values: Sequence[Any]) -> Sequence[Any]:
    """Return which of some values, in ascending order, a file's column may have: a thousand clusters are not asked one by one."""
    least, greatest = file.get(f"min.{column}"), file.get(f"max.{column}")
    if least is None or greatest is None:
        return values
    return values[bisect_left(values, least) : bisect_right(values, greatest)]


Groups = Sequence[int] | RowsPiece | RowsWith
"""Row groups of a file: their numbers, or what tells them once the file is open."""


def pieces_of(file: FileFacts) -> list[RowsPiece]:
    """Return the pieces of a file, so that several tasks read a large one."""
    pieces = max(1, -(-file["num_records"] // _PIECE_ROWS))
    return [RowsPiece(number, pieces) for number in range(pieces)]


def file_rows(
    path: Path, table: Table, columns: Sequence[str], groups: Groups = WHOLE
) -> Iterator[pa.RecordBatch]:
    """Yield all rows of a file, or of some row groups, texts that repeat dictionary-encoded.

    SourceError where the file is damaged.
    """
    for _, rows in group_rows(path, table, columns, groups):
        yield rows


def group_rows(
    path: Path, table: Table, columns: Sequence[str], groups: Groups = WHOLE
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield rows as `file_rows` does, each batch with the number of its row group."""
    encoded = encoded_schema(table.schema)
    schema = pa.schema([encoded.field(name) for name in columns])
    repeating = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    with reading_rows(path), pq.ParquetFile(data_for_arrow(path), read_dictionary=repeating) as file:
        for group in groups if isinstance(groups, Sequence) else groups.groups(file.metadata):
            for rows in file.iter_batches(ROWS_AT_ONCE, [group], list(columns)):
                yield group, _with_added(rows, schema)


@contextmanager
def reading_rows(path: Path) -> Iterator[None]:
    """Turn what Arrow raises of a file inside of a `with` block into a SourceError."""
    try:
        yield
    except (*UNREADABLE, KeyError) as error:
        raise SourceError(path.as_posix(), f"does not hold the table's rows ({first_line(error)})") from error


def _with_added(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return rows with the columns of `schema`; a column that was added after the file was written is null."""
    there = set(rows.schema.names)
    if there.issuperset(schema.names):
        some = rows.select(schema.names)
        # Casting each of many columns to the type that it has takes longer than reading it.
        is_as_declared = some.schema.types == schema.types
        return pa.record_batch(some.columns, schema=schema) if is_as_declared else some.cast(schema)
    if len(there) == 0:
        raise KeyError(schema.names[0])
    columns = [
        pa.nulls(rows.num_rows, field.type)
        if field.nullable and field.name not in there
        else rows.column(field.name).cast(field.type)
        for field in schema
    ]
    return pa.record_batch(columns, schema=schema)


def scan(
    lake: LakeTables | Path,
    table: Table,
    columns: Sequence[str],
    clusters: Collection[str],
    after: int = 0,
    *,
    may_have: Callable[[FileFacts], bool] = lambda _: True,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows that runs after the run `after` wrote for these clusters, with the columns named; SourceError for damage.

    `may_have` says whether a file may have rows that are wanted, by its statistics: others are not opened.
    """
    wanted = sorted(clusters)
    names = pa.array(wanted, pa.string())
    tables = lake if isinstance(lake, LakeTables) else LakeTables(lake)
    for file in tables.files(table):
        greatest = file.get("max.run")
        is_old = greatest is not None and greatest <= after
        if is_old or not values_within(file, "cluster", wanted):
            continue
        if not may_have(file):
            continue
        for rows in file_rows(
            tables.root / table.name / file["path"], table, list(dict.fromkeys((*columns, "cluster", "run")))
        ):
            is_of = pc.is_in(rows.column("cluster").cast(pa.string()), names)
            yield rows.filter(pc.and_(is_of, pc.greater(rows.column("run"), after))).select(columns)


def greatest_of(
    lake: LakeTables, table: Table, columns: Sequence[str], clusters: Collection[str]
) -> dict[str, dict[str, int]]:
    """Return by cluster the greatest value of each column, without clusters that have no rows."""
    found: dict[str, dict[str, int]] = {}
    for rows in scan(lake, table, ["cluster", *columns], clusters):
        of_each = pa.table(rows).group_by("cluster").aggregate([(name, "max") for name in columns])
        for row in of_each.to_pylist():
            of = found.setdefault(row["cluster"], {})
            of |= {name: max(row[f"{name}_max"], of.get(name, row[f"{name}_max"])) for name in columns}
    return found
