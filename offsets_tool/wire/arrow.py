"""From a declared row (a NamedTuple of annotated fields, as in table_rows) to Arrow: hence Parquet, Delta and Spark types.
And from a declared message to the type of its JSON, and from a batch of rows to bytes, for those that travel or wait as one value.

Integers keep Kafka's width, text is UTF-8, times of our own are UTC microseconds, a NamedTuple inside is a struct, a tuple a list.
What is inside a list may be null by its type (Delta has no NOT NULL there). Each column carries its sentence as the
metadata `comment`. Knows nothing of what the columns mean.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Final, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

from offsets_tool.wire.schema import Primitive, Shape, schema_of
from offsets_tool.wire.text import ESCAPE, shown_row
from offsets_tool.wire.times import OwnTime, is_time

_PRIMITIVES = {
    Primitive.INT8: pa.int8(),
    Primitive.INT16: pa.int16(),
    Primitive.INT32: pa.int32(),
    Primitive.INT64: pa.int64(),
    Primitive.STRING: pa.string(),
    Primitive.BYTES: pa.binary(),
}
_OF_MESSAGES = {**_PRIMITIVES, Primitive.UINT16: pa.int32(), Primitive.UUID: pa.string()}
_TIME = pa.timestamp("us", tz="UTC")
_DDL = {
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.bool_(): "boolean",
    pa.float64(): "double",
    pa.date32(): "date",
    _TIME: "timestamp",
    pa.null(): "void",
}
"""Spark SQL's names of the types that have no other types in them."""
_CLASSES = {bool: pa.bool_(), float: pa.float64(), bytes: pa.binary(), str: pa.string(), datetime: _TIME}

_PACKED_BY: Final = "lz4_raw"
"""Half the bytes, at a fraction of what others do with each of them."""
_SIZE_BYTES: Final = 8
"""Bytes in front, which say how many there are decompressed."""


@cache
def arrow_schema(row: type) -> pa.Schema:
    """Return the columns of a declared row (a NamedTuple of annotated fields)."""
    return pa.schema([_field(name, hint) for name, hint in _hints(row)])


def record_batch(row: type, rows: Sequence[tuple[object, ...]]) -> pa.RecordBatch:
    """Return rows, tuples in the declared order of `row`, as columns; ArrowInvalid for a value that its column cannot hold."""
    if not rows:
        return _no_rows(row)
    schema, columns = arrow_schema(row), zip(*rows, strict=True)
    arrays = [pa.array(_values(column, f.type), f.type) for column, f in zip(columns, schema, strict=True)]
    return pa.record_batch(arrays, schema=schema)


@cache
def _no_rows(row: type) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], arrow_schema(row))


def shown_batch(row: type, rows: Sequence[tuple[object, ...]]) -> pa.RecordBatch:
    """Return rows as `record_batch` does, with their texts as `shown` writes them."""
    if not rows:
        return _no_rows(row)
    try:
        batch = record_batch(row, rows)
    except UnicodeEncodeError:
        return record_batch(row, list(map(shown_row, rows)))
    # Nearly all texts are shown as they are: that is seen in all of them at once.
    texts = (text for column in batch.columns for text in _texts(column))
    if any(ESCAPE in buffer.to_pybytes() for text in texts for buffer in text.buffers()[2:] if buffer):
        return record_batch(row, list(map(shown_row, rows)))
    return batch


def _texts(column: pa.Array) -> Iterator[pa.StringArray]:
    """Yield the texts of a column, and those in its lists and structures."""
    if pa.types.is_string(column.type):
        yield column
    elif pa.types.is_list(column.type):
        yield from _texts(column.flatten())
    elif pa.types.is_struct(column.type):
        for part in column.flatten():
            yield from _texts(part)


def _values(column: Sequence[object], type_: pa.DataType) -> Sequence[object]:
    return list(map(_moment, column)) if pa.types.is_timestamp(type_) else column


def _moment(value: object) -> object:
    """Return a datetime as it is, epoch milliseconds as microseconds, and None for a number that is no time of the calendar."""
    if not isinstance(value, int):
        return value
    return value * 1000 if is_time(value) else None


def message_type(declarations: Sequence[type], named: Callable[[str], str] = str) -> pa.StructType:
    """Return a struct of all fields that the layouts of one message have, each in the order of the first that has it.

    `named` gives the name of a field. An id is a text, as in Kafka's JSON.
    """
    shapes: dict[str, list[Shape]] = {}
    for declaration in declarations:
        for spec in schema_of(declaration).fields:
            shapes.setdefault(spec.name, []).append(spec.shape)
    return pa.struct([pa.field(named(name), _shaped(all_, named)) for name, all_ in shapes.items()])


def message_ddl(declarations: Sequence[type], named: Callable[[str], str] = str) -> str:
    """Return `message_type` as Spark SQL writes the type of a column: `struct<name:bigint,...>`."""
    return spark_type(message_type(declarations, named))


def spark_type(type_: pa.DataType) -> str:
    """Return an Arrow type as Spark SQL writes it, as in `array<struct<name:bigint>>`; KeyError for one that it lacks."""
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if pa.types.is_struct(type_):
        return f"struct<{','.join(f'{field.name}:{spark_type(field.type)}' for field in type_)}>"
    return f"array<{spark_type(type_.value_type)}>" if pa.types.is_list(type_) else _DDL[type_]


def _shaped(shapes: Sequence[Shape], named: Callable[[str], str]) -> pa.DataType:
    """Return one Arrow type for a field that several layouts have under one name; for structures, a struct of all their fields."""
    if elements := [shape.element for shape in shapes if shape.element is not None]:
        return pa.list_(pa.field("element", _shaped(elements, named)))
    if parts := [shape.part for shape in shapes if shape.part is not None]:
        return message_type(parts, named)
    assert shapes[0].primitive is not None
    return _OF_MESSAGES[shapes[0].primitive]


def _hints(row: type) -> list[tuple[str, object]]:
    hints = get_type_hints(row, include_extras=True)
    return [(name, hints[name]) for name in row._fields]  # type: ignore[attr-defined]


def _field(name: str, hint: object) -> pa.Field:
    type_, nullable = _type(hint)
    comments = [extra for extra in get_args(hint)[1:] if type(extra) is str]
    return pa.field(name, type_, nullable, {"comment": comments[-1]} if comments else None)


def _type(hint: object) -> tuple[pa.DataType, bool]:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        marked = next((extra for extra in arguments[1:] if isinstance(extra, Primitive)), None)
        if OwnTime in arguments:
            return _TIME, False
        return (_PRIMITIVES[marked], False) if marked else _type(arguments[0])
    if origin in (Union, UnionType):
        (inner,) = (argument for argument in arguments if argument is not NoneType)
        return _type(inner)[0], True
    if origin is tuple:
        return pa.list_(pa.field("element", _type(arguments[0])[0])), False
    if hint in _CLASSES:
        return _CLASSES[hint], False
    assert isinstance(hint, type)
    return pa.struct([_field(name, inner).with_nullable(True) for name, inner in _hints(hint)]), False


def pack(rows: pa.RecordBatch) -> bytes:
    """Return rows as bytes; their schema is not in them."""
    content = rows.serialize()
    size: int = content.size
    compressed: bytes = pa.compress(content, codec=_PACKED_BY, asbytes=True)
    return size.to_bytes(_SIZE_BYTES, "little") + compressed


def unpack(packed: bytes | pa.Buffer, schema: pa.Schema) -> pa.RecordBatch:
    """Return the rows that `pack` made bytes of, given their schema; nothing is copied before it is decompressed."""
    content = memoryview(packed)
    size = int.from_bytes(content[:_SIZE_BYTES], "little")
    return pa.ipc.read_record_batch(pa.decompress(content[_SIZE_BYTES:], size, codec=_PACKED_BY), schema)
