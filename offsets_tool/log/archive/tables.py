"""Rows of a Parquet file or a Delta table, batch by batch, each with its row number (from 0).

Rows have no place in bytes, so what is unreadable has position and size 0, and its reason names the rows.
The only reader of archives that knows Arrow. Times become Kafka's milliseconds here, where they are still a column.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from offsets_tool.errors import SourceError
from offsets_tool.log.archive.columns import ColumnPath, Columns
from offsets_tool.log.archive.delta_log import rows_at_once, why_inflated
from offsets_tool.log.archive.lines import RowRead, RowSource
from offsets_tool.log.batches.limits import LIMITS, REMEDY, Limits
from offsets_tool.log.stored_bytes import for_arrow
from offsets_tool.rows import Unreadable, UnreadableKind

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
