"""Reads an archive, JSON lines (plain, gzip, zstd), Parquet files and folders or Delta tables, as LogRecords.

An archive has no batches, so `batch` is None and what only a batch knows is None where no column says it. Rows come in the
archive's own order, which need not be the log's. Every row is a record, an Unreadable, or counted as of another topic or partition.

Rows of a Parquet file or a Delta table have a number (from 0) and no place in bytes: what is unreadable has position and size 0,
and its reason names the rows. The only reader of archives that knows Arrow. Times become Kafka's milliseconds here, where they are
still a column.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from offsets_tool.errors import DecodeError, SourceError, UsageError
from offsets_tool.log.archive.columns import ColumnPath, Columns, match_columns, read_row
from offsets_tool.log.archive.delta_log import rows_at_once, why_inflated
from offsets_tool.log.archive.files import ArchiveFile, ArchiveKind, archive_files
from offsets_tool.log.archive.lines import RowRead, RowSource, line_source
from offsets_tool.log.batches.limits import LIMITS, REMEDY, Limits
from offsets_tool.log.files.folders import size_of
from offsets_tool.log.ledger import Ledger, whole_file
from offsets_tool.log.names import OFFSETS_TOPIC
from offsets_tool.log.storage import as_path
from offsets_tool.log.stored_bytes import for_arrow
from offsets_tool.rows import LogRecord, Unreadable, UnreadableKind

# Damaged names and strings are first seen when they become Python's.
_BROKEN: Final = (pa.ArrowException, OSError, ValueError, TypeError, OverflowError, MemoryError)


def parquet_source(path: Path, limits: Limits = LIMITS) -> RowSource:
    """Return the rows of a Parquet file. SourceError when its footer cannot be read; a row group that is damaged, or inflates to
    more than `limits`, is an Unreadable.
    """
    source = path.as_posix()
    try:
        with pq.ParquetFile(for_arrow(path)) as file:
            names = _names(file.schema_arrow)
    except _BROKEN as error:
        reason = f"not a Parquet file that can be read ({error}); copy it again if it is cut off"
        raise SourceError(source, reason) from error
    return RowSource(source, names, lambda columns: _read_parquet(path, columns, limits), path.stat().st_size)


def _read_parquet(path: Path, columns: Columns, limits: Limits) -> Iterator[RowRead | Unreadable]:
    with pq.ParquetFile(for_arrow(path)) as file:
        start = 0
        for group in range(file.num_row_groups):
            size = file.metadata.row_group(group).num_rows
            done = start
            try:
                if too_much := why_inflated(file.metadata, limits, columns.top_level, [group]):
                    reason = f"rows {start} to {start + size - 1}: {too_much}, {REMEDY}"
                    yield Unreadable(path.as_posix(), 0, 0, reason, UnreadableKind.DAMAGE)
                rows = rows_at_once(file.metadata.row_group(group), columns.top_level)
                batches = file.iter_batches(rows, row_groups=[group], columns=columns.top_level)
                for batch in () if too_much else batches:
                    yield from _rows(batch, done)
                    done += batch.num_rows
            except _BROKEN as error:
                reason = f"rows {done} to {start + size - 1}: row group {group} is damaged: {error}"
                yield Unreadable(path.as_posix(), 0, 0, reason, UnreadableKind.DAMAGE)
            start += size


def delta_source(path: Path, limits: Limits = LIMITS) -> RowSource:
    """Return the rows of a Delta table as of its newest version, without deleted ones. SetupError without deltalake."""
    # With Arrow's data sets and deltalake it takes a tenth of a second, which other archives need not spend.
    from offsets_tool.log.archive.delta import delta_batches, open_delta  # noqa: PLC0415

    table, source = open_delta(path), path.as_posix()

    def read(columns: Columns) -> Iterator[RowRead | Unreadable]:
        done = 0
        for rows in delta_batches(path, table, columns.top_level, limits):
            if isinstance(rows, str):
                reason = f"rows behind row {done}: {rows}"
                yield Unreadable(source, 0, 0, reason, UnreadableKind.DAMAGE)
                continue
            try:
                yield from _rows(rows, done)
            except UnicodeDecodeError as error:
                reason = f"rows {done} to {done + rows.num_rows - 1}: {error}"
                yield Unreadable(source, 0, 0, reason, UnreadableKind.DAMAGE)
            done += rows.num_rows

    return RowSource(source, _names(pa.schema(table.schema().to_arrow())), read, 0)


def _names(schema: pa.Schema) -> dict[str, ColumnPath]:
    """Return the names of columns in their order, and behind them the fields of structs as `outer.inner`."""
    names: dict[str, ColumnPath] = {name: (name,) for name in schema.names}
    names |= {
        f"{outer.name}.{field.name}": (outer.name, field.name)
        for outer in schema
        if pa.types.is_struct(outer.type)
        for field in outer.type
    }
    return names


def _rows(batch: pa.RecordBatch, start: int) -> Iterator[RowRead]:
    for number, row in enumerate(_in_milliseconds(batch).to_pylist(), start):
        yield RowRead(number, 0, row)


def _in_milliseconds(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [_milliseconds(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def _milliseconds(column: pa.Array) -> pa.Array:
    if not pa.types.is_timestamp(column.type):
        return column
    return column.cast(pa.timestamp("ms", column.type.tz), safe=False).cast(pa.int64())


_OPEN: Final[Mapping[ArchiveKind, Callable[[Path, Limits], RowSource]]] = {
    ArchiveKind.JSON_LINES: lambda path, _: line_source(path),
    ArchiveKind.PARQUET: parquet_source,
    ArchiveKind.DELTA: delta_source,
}
_IN_PATH: Final = re.compile(
    rf"(?:^|/)(?:{OFFSETS_TOPIC}[-+](?P<named>\d+)(?:[-+]\d+)?(?:\.[^/]*)?|_?(?:kafka_)?partition=(?P<hive>\d+)"
    # Aiven's names in a folder of the topic: its number and its first offset, filled up with zeros.
    r"|(?P<padded>\d{10})-\d{20}(?:\.[^/]*)?)(?=/|$)"
)
_TOPIC_IN_PATH: Final = re.compile(
    r"(?:^|/)(?:_?(?:kafka_)?topic=(?P<hive>[^/]+)|(?P<named>[\w.-]+)\+\d+\+\d+(?:\.[^/]*)?)(?=/|$)"
)


class _PathPlace(NamedTuple):
    """The topic and the partition in the path of an archive's file, for rows that do not say theirs; None where it has none."""

    topic: str | None
    partition: int | None


class ArchiveRead(Iterator[LogRecord | Unreadable]):
    """The rows of an archive, one by one, and counts of what has been read so far.

    `rows` = `records` + `unreadable_rows` + `other_topics` + `other_partitions`. Lines and files that hold no row are Unreadable
    items too, but no rows. An Unreadable's position and size are bytes of the decompressed file for JSON lines; rows of Parquet
    and Delta have no place in bytes: then both are 0, and the reason has the row's number.
    """

    def __init__(
        self,
        files: list[ArchiveFile],
        columns: Mapping[str, str],
        log_partition: int | None,
        ledger: Ledger | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        self._limits = limits
        self.rows = 0
        self.records = 0
        self.unreadable_rows = 0
        self.other_topics = 0
        self.other_partitions = 0
        self._columns = columns
        self._wanted = log_partition
        self._ledger = ledger or Ledger("", is_archive=True)
        self._items = self._read_all(files)

    def __iter__(self) -> "ArchiveRead":
        return self

    def __next__(self) -> LogRecord | Unreadable:
        item = next(self._items)
        self._ledger.add(item)
        return item

    def _read_all(self, files: list[ArchiveFile]) -> Iterator[LogRecord | Unreadable]:
        for file in files:
            try:
                opened = _OPEN[file.kind](file.path, self._limits)
                columns = _columns(opened, self._columns)
            except (SourceError, UsageError) as error:
                if file.is_named:
                    raise
                # One bad file of a folder does not hide the others.
                yield self._lost(file, error.reason if isinstance(error, SourceError) else str(error))
                continue
            yield from self._read_file(file, opened, columns)

    def _lost(self, file: ArchiveFile, reason: str) -> Unreadable:
        size = size_of(file.path)
        self._ledger.size_grows(size)
        return whole_file(file.path.as_posix(), size, reason)

    def _read_file(
        self, file: ArchiveFile, opened: RowSource, columns: Columns
    ) -> Iterator[LogRecord | Unreadable]:
        place = _PathPlace(_topic_in_path(file.path), _partition_in_path(file.path))
        self._ledger.size_grows(opened.size or 0)
        for item in opened.read(columns):
            self._ledger.size_grows(item.size if opened.size is None else 0)
            read = item if isinstance(item, Unreadable) else self._read_row(item, columns, opened, place)
            if read is not None:
                yield read

    def _read_row(
        self, item: RowRead, columns: Columns, opened: RowSource, place: "_PathPlace"
    ) -> LogRecord | Unreadable | None:
        if item.row is None:
            return None
        self.rows += 1
        topic = _topic(columns.get(item.row, "topic")) or place.topic
        if topic not in (None, columns.topic_name):
            self.other_topics += 1
            self._ledger.count_elsewhere(1, str(topic))
            return None
        number = self._wanted if place.partition is None else place.partition
        try:
            record = read_row(item.row, columns, opened.source, number)
        except DecodeError as error:
            self.unreadable_rows += 1
            return _bad_row(item, opened, error)
        if self._wanted is not None and record.log_partition != self._wanted:
            self.other_partitions += 1
            self._ledger.count_elsewhere(1)
            return None
        self.records += 1
        return record


def _bad_row(item: RowRead, opened: RowSource, error: DecodeError) -> Unreadable:
    reason = f"a row that is no record: {error.path}: {error.reason}"
    if opened.size is None:
        return Unreadable(opened.source, item.position, item.size, reason, UnreadableKind.CONTENT)
    return Unreadable(opened.source, 0, 0, f"row {item.position}: {reason}", UnreadableKind.CONTENT)


def _topic(value: object) -> object:
    """Return a topic's name, which is bytes in some archives, as text; other values as they are."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def read_archive(
    source: str | Path | ArchiveFile,
    *,
    columns: Mapping[str, str] | None = None,
    log_partition: int | None = None,
    ledger: Ledger | None = None,
    limits: Limits = LIMITS,
) -> ArchiveRead:
    """Return the records of a file, a folder of files, or a Delta table; or of one ArchiveFile that was found before.

    `columns` names columns by hand, field to column, as in {"offset": "kafka_offset_no", "partition": "meta.partition"}.
    `log_partition` numbers records whose row and path do not say it, and leaves out (and counts) the others.
    The number comes from the row, or else from the path: `partition=N/`, `__consumer_offsets-N/`, a sink's file name. So does the
    topic: `topic=NAME/`, `NAME+N+OFFSET`.
    `ledger` receives the size, every item, and how many rows were left out. `limits` bound what columns inflate to.
    Raises SourceError when nothing readable is there or the file that was named lacks a needed column, UsageError for columns
    that it lacks; a file that was found in a folder is then one Unreadable, and so is whatever a row holds.
    """
    if isinstance(source, ArchiveFile):
        return ArchiveRead([source], columns or {}, log_partition, ledger, limits)
    files = archive_files(source, columns)
    if not files:
        raise SourceError(
            as_path(source).as_posix(),
            "no archive is here; expected JSON lines (.jsonl, .gz and .zst too), Parquet or a Delta table",
        )
    return ArchiveRead(files, columns or {}, log_partition, ledger, limits)


def _columns(opened: RowSource, chosen: Mapping[str, str]) -> Columns:
    try:
        columns = match_columns(opened.names, chosen)
    except UsageError as error:
        raise UsageError(f"{opened.source}: {error}") from error
    if columns.missing and opened.names:
        raise SourceError(
            opened.source,
            f"no column for {', '.join(columns.missing)} among {', '.join(opened.names)}; name it with --columns FIELD=COLUMN"
            " (a sink that keeps only values cannot be read)",
        )
    return columns


def _partition_in_path(path: Path) -> int | None:
    """Return the partition in the innermost name of a path that has one, or None.

    Known are hive style, a broker's directory, `topic+partition+offset`, `topic-partition-offset` and `partition-offset` in digits.
    """
    found = list(_IN_PATH.finditer(path.as_posix()))
    return int(found[-1]["named"] or found[-1]["hive"] or found[-1]["padded"]) if found else None


def _topic_in_path(path: Path) -> str | None:
    """Return the topic in the innermost name of a path that has one, hive style or `topic+partition+offset`; None for others."""
    found = list(_TOPIC_IN_PATH.finditer(path.as_posix()))
    return (
        unquote(found[-1]["hive"]) if found and found[-1]["hive"] else found[-1]["named"] if found else None
    )
