"""Columns of rows as numbers and dictionaries, the way replay takes them. Knows nothing about replay."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import repeat
from typing import Any, TypeVar
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.wire.json import parse_uuid
from offsets_tool.wire.schema import ZERO_UUID

_Tuple = TypeVar("_Tuple", bound=tuple[Any, ...])


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
