"""Columns of rows as numbers and dictionaries, the way replay takes them, and rows of columns. Knows nothing about replay."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import repeat
from typing import Any, Final, TypeVar
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.history.rows import HistoryRow
from offsets_tool.history.transactions import TransactionRow
from offsets_tool.wire.json import parse_uuid
from offsets_tool.wire.schema import ZERO_UUID
from offsets_tool.wire.text import from_shown

_Tuple = TypeVar("_Tuple", bound=tuple[Any, ...])
_Row = TypeVar("_Row", bound=HistoryRow | TransactionRow)
_MICROSECONDS: Final = 1_000


def tuples_of(kind: type[_Tuple], *columns: Iterable[Any]) -> Iterator[_Tuple]:
    """Return named tuples of columns, a field of `kind` each; no code of Python's runs for one, which takes half of the time."""
    return map(tuple.__new__, repeat(kind), zip(*columns, strict=True))


def numbers(column: pa.Array, null: int) -> Array:
    """Return a column of numbers as an array, with `null` for null."""
    filled: Array = (pc.fill_null(column, null) if column.null_count else column).to_numpy(
        zero_copy_only=False
    )
    return filled


def flags(column: pa.Array) -> Array:
    """Return a column of booleans as an array; null is False."""
    return pc.fill_null(column, False).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def are_there(column: pa.Array) -> Array:
    """Return which rows of a column are not null."""
    return column.is_valid().to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def plain(column: pa.Array) -> pa.Array:
    """Return the column without a dictionary."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def bytes_at(column: pa.Array, places: Array) -> list[bytes]:
    """Return some values of a column of bytes that has no null there, without a copy of all of them."""
    column = plain(column).cast(pa.binary())
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32, len(column) + 1, column.offset * np.dtype(np.int32).itemsize)
    content = memoryview(data or b"")
    bounds = zip(ends[places].tolist(), ends[places + 1].tolist(), strict=True)
    return [content[begin:end].tobytes() for begin, end in bounds]


def encoded(column: pa.Array) -> pa.DictionaryArray:
    """Return the column with a dictionary."""
    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


@lru_cache(1 << 12)
def uuid_of(text: str) -> UUID | None:
    """Return the id that wire.json.uuid_text shows; None for the one that stands for none."""
    topic_id = parse_uuid(text)
    return None if topic_id == ZERO_UUID else topic_id


def batches(rows: pa.RecordBatch) -> Array:
    """Return the base offset of each record's batch, its own where there is no batch."""
    return pc.coalesce(rows.column("base_offset"), rows.column("log_offset")).to_numpy()  # type: ignore[no-any-return]


def behind_gaps(log_offsets: Array) -> Array:
    """Return those of the log offsets of rows, which rise, that do not follow the one before."""
    behind: Array = log_offsets[1:][np.diff(log_offsets) != 1]
    return behind


def rows_of(row: type[_Row], columns: pa.Table) -> Iterator[_Row]:
    """Yield rows of this type from their columns, with texts as they were decoded."""
    values = [values_of(columns.column(name)) for name in row._fields]
    yield from map(row._make, zip(*values, strict=True))


def values_of(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return a column's values as the library's rows have them: texts decoded, lists as tuples, times in epoch milliseconds."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_list(column.type):
        return [tuple(map(from_shown, texts)) for texts in column.to_pylist()]
    if pa.types.is_timestamp(column.type):
        microseconds = column.cast(pa.int64()).to_pylist()
        return [None if time is None else time // _MICROSECONDS for time in microseconds]
    if pa.types.is_string(column.type):
        # Few texts are in many rows, which share them.
        column = column.dictionary_encode()
    if not pa.types.is_dictionary(column.type):
        return list(column.to_pylist())
    texts = [None if text is None else from_shown(text) for text in column.dictionary.to_pylist()]
    return [None if code is None else texts[code] for code in column.indices.to_pylist()]
