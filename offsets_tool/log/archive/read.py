"""Reads an archive, JSON lines (plain, gzip, zstd), Parquet files and folders or Delta tables, as LogRecords.

An archive has no batches, so `batch` is None and what only a batch knows is None where no column says it. Rows come in the
archive's own order, which need not be the log's. Every row is a record, an Unreadable, or counted as of another topic or partition.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from offsets_tool.errors import DecodeError, SourceError, UsageError
from offsets_tool.log.archive.columns import Columns, match_columns, read_row
from offsets_tool.log.archive.files import ArchiveFile, ArchiveKind, archive_files
from offsets_tool.log.archive.lines import RowRead, RowSource, line_source
from offsets_tool.log.archive.tables import delta_source, parquet_source
from offsets_tool.log.names import OFFSETS_TOPIC
from offsets_tool.rows import LogRecord, Unreadable, UnreadableKind

_OPEN: Final = {
    ArchiveKind.JSON_LINES: line_source,
    ArchiveKind.PARQUET: parquet_source,
    ArchiveKind.DELTA: delta_source,
}
_IN_PATH: Final = re.compile(
    rf"(?:^|/)(?:{OFFSETS_TOPIC}[-+](?P<named>\d+)(?:[-+]\d+)?(?:\.[^/]*)?|(?:kafka_)?partition=(?P<hive>\d+))(?=/|$)"
)


class ArchiveRead(Iterator[LogRecord | Unreadable]):
    """The rows of an archive, one by one, and counts of what has been read so far.

    `rows` = `records` + `unreadable_rows` + `other_topics` + `other_partitions`. Lines and files that hold no row are Unreadable
    items too, but no rows. An Unreadable's position and size are bytes of the decompressed file for JSON lines, and row
    numbers for Parquet and Delta.
    """

    def __init__(
        self, files: list[ArchiveFile], columns: Mapping[str, str], log_partition: int | None
    ) -> None:
        self.rows = 0
        self.records = 0
        self.unreadable_rows = 0
        self.other_topics = 0
        self.other_partitions = 0
        self._columns = columns
        self._wanted = log_partition
        self._items = self._read_all(files)

    def __iter__(self) -> "ArchiveRead":
        return self

    def __next__(self) -> LogRecord | Unreadable:
        return next(self._items)

    def _read_all(self, files: list[ArchiveFile]) -> Iterator[LogRecord | Unreadable]:
        for file in files:
            try:
                opened = _OPEN[file.kind](file.path)
                columns = _columns(opened, self._columns)
            except SourceError as error:
                if len(files) == 1:
                    raise
                # One bad file of a folder does not hide the others.
                source = file.path.as_posix()
                yield Unreadable(source, 0, 0, f"the whole file: {error.reason}", UnreadableKind.DAMAGE)
                continue
            yield from self._read_file(file, opened, columns)

    def _read_file(
        self, file: ArchiveFile, opened: RowSource, columns: Columns
    ) -> Iterator[LogRecord | Unreadable]:
        place = _partition_in_path(file.path)
        for item in opened.read(columns):
            read = (
                item if isinstance(item, Unreadable) else self._read_row(item, columns, opened.source, place)
            )
            if read is not None:
                yield read

    def _read_row(
        self, item: RowRead, columns: Columns, source: str, place: int | None
    ) -> LogRecord | Unreadable | None:
        self.rows += 1
        topic = columns.get(item.row, "topic")
        if topic is not None and topic != OFFSETS_TOPIC:
            self.other_topics += 1
            return None
        try:
            record = read_row(item.row, columns, source, self._wanted if place is None else place)
        except DecodeError as error:
            self.unreadable_rows += 1
            reason = f"a row that is no record: {error.path}: {error.reason}"
            return Unreadable(source, item.position, item.size, reason, UnreadableKind.CONTENT)
        if self._wanted is not None and record.log_partition != self._wanted:
            self.other_partitions += 1
            return None
        self.records += 1
        return record


def read_archive(
    path: str | Path, *, columns: Mapping[str, str] | None = None, log_partition: int | None = None
) -> ArchiveRead:
    """The records of a file, a folder of files, or a Delta table.

    `columns` names columns by hand, field to column, as in {"offset": "kafka_offset_no", "partition": "meta.partition"}.
    `log_partition` numbers records whose row and path do not say it, and leaves out (and counts) the others.
    The number comes from the row, or else from the path: `partition=N/`, `__consumer_offsets-N/`, a sink's file name.
    Raises SourceError when nothing readable is there or a needed column is missing, UsageError for columns that are not
    there; from then on, whatever a row holds, only Unreadable.
    """
    files = archive_files(path)
    if not files:
        raise SourceError(
            Path(path).as_posix(),
            "no archive is here; expected JSON lines (.jsonl, .gz and .zst too), Parquet or a Delta table",
        )
    return ArchiveRead(files, columns or {}, log_partition)


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
    """What the innermost name says: hive style, a broker's directory, or `topic+partition+offset` and `topic-partition-offset`."""
    found = list(_IN_PATH.finditer(path.as_posix()))
    return int(found[-1]["named"] or found[-1]["hive"]) if found else None
