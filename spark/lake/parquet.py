"""Write a table's Parquet files with Arrow, and the statistics by which Delta skips them.

A file is opened by its first row; until a commit names it, it is no part of any table. One row group holds enough rows for
dictionaries and statistics to pay. Knows nothing about commits.
"""

import json
import time
from collections.abc import Collection
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, Self
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow.fs import FileSystem

from offsets_tool.lake.scan import encoded_schema
from offsets_tool.lake.tables import Table
from offsets_tool.log.archive.delta_mirror import file_written
from offsets_tool.log.buckets import bucket_of
from offsets_tool.log.refusals import refusals_of
from offsets_tool.log.storage import StoredPath
from offsets_tool.rows import Row

GROUP_ROWS: Final = 131_072
LEAST_GROUP_ROWS: Final = 4096
"""The rows of a row group of one log partition at least: each costs some time, and so does reading rows of other partitions."""
GROUP_BYTES: Final = 16 << 20
"""The bytes of a row group in columns without a dictionary: where values are large, a row group has fewer rows."""
SORTED_GROUP_ROWS: Final = GROUP_ROWS // 2
"""The rows of a row group where rows are sorted by what questions name: a question about a group needs one of them or two."""
_SORTED_PAGE_ROWS: Final = 4096
"""The rows of a page there, and the index of pages tells what each has: of a row group a question reads one of them or two."""
STATISTIC_LENGTH: Final = 32
"""Characters of a text kept as a minimum or maximum, as Spark keeps them."""
_VARIES: Final = ("partition", "leader_epoch", "value_version")
"""Numbers of up to 32 bits that change from record to record."""
_ROWS_AT_ONCE: Final = 16_384
"""How many rows are written before the size of a page is checked again."""
_ABOVE_ALL: Final = "\U0010ffff"


class NewFile(NamedTuple):
    """A file in a table's folder, ready to be committed. `statistics` is Delta's JSON; `modified_at` epoch milliseconds."""

    table: str
    path: str
    size: int
    rows: int
    modified_at: int
    statistics: str


class TableWriter:
    """Writes one new file of a table; `close` returns it, or an empty list if no row came. After an exception there is no file.

    Row groups are written one at a time in a thread of their own, while the caller makes the rows of the next.
    """

    def __init__(self, lake: Path, table: Table, *, is_sorted: bool = False) -> None:
        """Write to the folder of the table in a lake; `is_sorted` says that rows come sorted by cluster and the table's order."""
        self._table = table
        self._is_sorted = is_sorted
        self._group_rows = SORTED_GROUP_ROWS if is_sorted else GROUP_ROWS
        # Where rows come in the order of the log, no other text tells a row group from the next.
        self._told_apart = ("cluster", "log_partition", *(table.order if is_sorted else ()))
        self._path = lake / table.name / f"part-{uuid4()}.parquet"
        self._writer: pq.ParquetWriter | None = None
        self._sink: pa.NativeFile | None = None
        self._waiting: list[pa.RecordBatch] = []
        self._rows_waiting = self._bytes_waiting = 0
        self.rows = 0
        """How many rows it was given."""
        self._schema = encoded_schema(table.schema)
        self._statistics = _Statistics(self._schema)
        self._beside = ThreadPoolExecutor(1, f"write-{table.name}")
        self._last: Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self._beside.shutdown()
        if kind is not None:
            with suppress(OSError, pa.ArrowException):
                # What nobody closes would be there once it is forgotten.
                if self._sink is not None:
                    self._sink.close()
            self._path.unlink(missing_ok=True)

    def write(self, rows: pa.RecordBatch) -> None:
        """Check rows and write them; RowRefused for rows that the table's declaration forbids, which nothing later would notice.

        Errors of writing earlier rows are raised here too.
        """
        self._table.check(rows)
        if rows.num_rows:
            self._waiting.append(rows)
            self.rows += rows.num_rows
            self._rows_waiting += rows.num_rows
            self._bytes_waiting += sum(c.nbytes for c in rows.columns if not pa.types.is_dictionary(c.type))
        if self._rows_waiting >= self._group_rows or self._bytes_waiting >= GROUP_BYTES:
            self._send()

    def end_group(self) -> None:
        """End a row group after the rows of a log partition, unless they are few: a replay reads its partition's row groups."""
        if self._rows_waiting >= LEAST_GROUP_ROWS:
            self._send()

    def unwritten(self) -> list[pa.RecordBatch] | None:
        """Return all rows that it was given; None where some of them are in the file already."""
        return self._waiting if self._last is None else None

    def close(self) -> list[NewFile]:
        if self._waiting:
            self._send()
        self._beside.shutdown()
        if self._last is None:
            return []
        self._last.result()
        assert self._writer is not None
        with refusals_of(self._path):
            self._writer.close()
        size, modified_at = self._size_and_time()
        rows, statistics = self._statistics.rows, self._statistics.json()
        return [NewFile(self._table.name, self._path.name, size, rows, modified_at, statistics)]

    def _size_and_time(self) -> tuple[int, int]:
        """Return the bytes of the file, which is written, and when that was; of one in storage without a look at it."""
        if self._sink is None:
            stat = self._path.stat()
            return stat.st_size, stat.st_mtime_ns // 1_000_000
        size = self._sink.tell()
        with refusals_of(self._path):
            self._sink.close()
        file_written(self._path, size)
        return size, time.time_ns() // 1_000_000

    def _send(self) -> None:
        """Hand the waiting rows to the writing thread, once the row group before them is written."""
        if self._last is not None:
            self._last.result()
        self._last = self._beside.submit(self._write_group, self._waiting)
        self._waiting, self._rows_waiting, self._bytes_waiting = [], 0, 0

    def _write_group(self, waiting: list[pa.RecordBatch]) -> None:
        # One dictionary a row group: where it changes inside, Parquet falls back to plain values.
        group = pa.Table.from_batches(map(self._encoded, waiting), self._schema).unify_dictionaries()
        if self._writer is None:
            with refusals_of(self._path):
                self._sink = _sink(self._path)
                sink = self._sink or str(self._path)
                self._writer = _open(sink, self._schema, self._told_apart, is_sorted=self._is_sorted)
        with refusals_of(self._path):
            self._writer.write_table(group, row_group_size=group.num_rows)
        self._statistics.add(group)

    def _encoded(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows with all repeating texts dictionary-encoded."""
        columns = [
            column.dictionary_encode() if column.type != field.type else column
            for field, column in zip(self._schema, rows.columns, strict=True)
        ]
        return pa.record_batch(columns, schema=self._schema)


def parquet_sink(path: Path) -> tuple[str, FileSystem | None]:
    """Return what Arrow writes a file by: its name, and the file system of the storage that it is in; None on disk."""
    if not isinstance(path, StoredPath):
        return str(path), None
    bucket = bucket_of(path)
    return bucket.name(path), bucket.system


def _sink(path: Path) -> pa.NativeFile | None:
    """Open a file in storage to be written; on disk make the folder that it is to be in, and return None."""
    where, system = parquet_sink(path)
    if system is not None:
        return system.open_output_stream(where, compression=None)
    path.parent.mkdir(parents=True, exist_ok=True)
    return None


def _open(
    sink: "str | pa.NativeFile", schema: pa.Schema, told_apart: Collection[str], *, is_sorted: bool
) -> pq.ParquetWriter:
    """Return a writer that has for each column the encoding that takes the least time and still keeps files small.

    Small numbers stay the same for long, and plain ones are compressed at once; those of _VARIES are packed. Of the columns
    `told_apart`, and of numbers that may grow with the log, each row group says the least and the greatest value; where rows are
    sorted, each page does.
    """
    growing = [f.name for f in schema if pa.types.is_int64(f.type)]
    packed = [f.name for f in schema if f.name in growing or f.name in _VARIES]
    return pq.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        compression_level=1,
        use_dictionary=[f.name for f in schema if pa.types.is_dictionary(f.type) or f.name == "metadata"],
        column_encoding=dict.fromkeys(packed, "DELTA_BINARY_PACKED"),
        write_statistics=[f.name for f in schema if f.name in growing or f.name in told_apart],
        # A page of rows in the order of the log ends by its bytes: most columns need one for a whole row group.
        write_batch_size=_SORTED_PAGE_ROWS if is_sorted else _ROWS_AT_ONCE,
        max_rows_per_page=_SORTED_PAGE_ROWS if is_sorted else 2 * GROUP_ROWS,
        write_page_index=is_sorted,
        # Without Arrow's own schema in the file, every reader sees texts as texts.
        store_schema=False,
    )


class _Statistics:
    """Collects Delta's statistics of a file: rows, and by column nulls, least and greatest value of numbers and repeating texts."""

    def __init__(self, schema: pa.Schema) -> None:
        self.rows = 0
        self._ranged = [f.name for f in schema if pa.types.is_integer(f.type) or _is_name(f.type)]
        self._nulls = dict.fromkeys((f.name for f in schema if not pa.types.is_nested(f.type)), 0)
        self._least: Row = {}
        self._greatest: Row = {}

    def add(self, rows: pa.Table) -> None:
        self.rows += rows.num_rows
        for name in self._nulls:
            self._nulls[name] += rows.column(name).null_count
        for name in self._ranged:
            range_ = pc.min_max(_values(rows.column(name))).as_py()
            if range_["min"] is not None:
                self._least[name] = min(range_["min"], self._least.get(name, range_["min"]))
                self._greatest[name] = max(range_["max"], self._greatest.get(name, range_["max"]))

    def json(self) -> str:
        statistics = {
            "numRecords": self.rows,
            "minValues": {name: _at_most(value) for name, value in self._least.items()},
            "maxValues": {name: _at_least(value) for name, value in self._greatest.items()},
            "nullCount": self._nulls,
        }
        return json.dumps(statistics, ensure_ascii=False)


def _is_name(type_: pa.DataType) -> bool:
    return pa.types.is_dictionary(type_) and bool(pa.types.is_string(type_.value_type))


def _values(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """Return some values of a column that include the least and the greatest; its chunks share one dictionary, if any."""
    if not pa.types.is_dictionary(column.type):
        return column
    rows = pa.chunked_array([chunk.indices for chunk in column.chunks])
    range_ = pc.min_max(rows).as_py()
    is_one = range_["min"] == range_["max"]
    used = pa.array([range_["min"]], rows.type) if is_one else pc.unique(rows)
    return column.chunk(0).dictionary.take(used.drop_null())


def _at_most(value: Any) -> Any:
    return value[:STATISTIC_LENGTH] if isinstance(value, str) else value


def _at_least(value: Any) -> Any:
    """Return a value's upper bound for statistics: a text that is cut short gets a last character that no text exceeds."""
    if not isinstance(value, str) or len(value) <= STATISTIC_LENGTH:
        return value
    if value[STATISTIC_LENGTH] == _ABOVE_ALL:
        return value
    return value[:STATISTIC_LENGTH] + _ABOVE_ALL
