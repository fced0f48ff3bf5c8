"""Declared rows as Arrow: types, nulls, comments, and rows as columns."""

from datetime import UTC, datetime
from typing import Annotated, NamedTuple

import pyarrow as pa
import pytest

from offsets_tool.table_rows import EventRow, LogRow, SourceRow
from offsets_tool.wire.arrow import arrow_schema, message_type, record_batch, shown_batch
from offsets_tool.wire.json import camel
from offsets_tool.wire.schema import (
    Bytes,
    Int8,
    Int16,
    Int32,
    Int64,
    String,
    Uuid,
    message,
    part,
)
from offsets_tool.wire.text import shown_row


class Inner(NamedTuple):
    name: String
    count: Int32


class Outer(NamedTuple):
    flag: Annotated[bool, "Whether."]
    tiny: Int8
    short: Int16 | None
    long: Annotated[Int64 | None, "How many."]
    text: String
    raw: Bytes | None
    at: datetime
    inner: tuple[Inner, ...]
    names: tuple[String, ...]


def test_types_and_nulls() -> None:
    inner = pa.struct([("name", pa.string()), ("count", pa.int32())])
    assert arrow_schema(Outer).equals(
        pa.schema(
            [
                pa.field("flag", pa.bool_(), False),
                pa.field("tiny", pa.int8(), False),
                pa.field("short", pa.int16()),
                pa.field("long", pa.int64()),
                pa.field("text", pa.string(), False),
                pa.field("raw", pa.binary()),
                pa.field("at", pa.timestamp("us", "UTC"), False),
                pa.field("inner", pa.list_(pa.field("element", inner)), False),
                pa.field("names", pa.list_(pa.field("element", pa.string())), False),
            ]
        )
    )


def test_comments() -> None:
    schema = arrow_schema(Outer)
    assert schema.field("flag").metadata == {b"comment": b"Whether."}
    assert schema.field("long").metadata == {b"comment": b"How many."}
    assert schema.field("tiny").metadata is None


def test_rows_become_columns() -> None:
    at = datetime(2026, 11, 21, 1, 2, 3, 456789, UTC)
    rows = [
        Outer(True, -1, None, 1 << 40, "è", b"\xff", at, (Inner("a", 1),), ("x", "y")),
        Outer(False, 1, 2, None, "", None, at, (), ()),
    ]
    batch = record_batch(Outer, rows)
    batch.validate(full=True)
    assert batch.to_pylist() == [
        row._asdict() | {"inner": [part._asdict() for part in row.inner], "names": list(row.names)}
        for row in rows
    ]
    assert record_batch(Outer, []).num_rows == 0


@pytest.mark.parametrize("odd", ["plain", "\udcff", "\\xff"])
def test_texts_are_shown_wherever_they_stand(odd: str) -> None:
    at = datetime(2026, 11, 21, tzinfo=UTC)
    rows = [Outer(True, -1, None, 1, "", b"\\x", at, (), ())]
    for row in (
        rows[0]._replace(text=odd),
        rows[0]._replace(inner=(Inner(odd, 1),)),
        rows[0]._replace(names=("", odd)),
    ):
        rows = [rows[0], row]
        assert shown_batch(Outer, rows).equals(record_batch(Outer, list(map(shown_row, rows))))


def test_a_number_that_does_not_fit_is_refused() -> None:
    row = Outer(True, 300, None, None, "", None, datetime.now(UTC), (), ())
    with pytest.raises(pa.ArrowInvalid):
        record_batch(Outer, [row])


@pytest.mark.parametrize("row", [LogRow, EventRow, SourceRow])
def test_every_column_of_the_lake_explains_itself(row: type) -> None:
    assert (row.__doc__ or "").endswith(".")
    for field in arrow_schema(row):
        comment = field.metadata[b"comment"].decode()
        assert comment.endswith(".") and len(comment) <= 130, comment


@pytest.mark.parametrize("name", [name for name in EventRow._fields if name in LogRow._fields])
def test_a_column_of_both_tables_is_one_column(name: str) -> None:
    assert arrow_schema(LogRow).field(name).equals(arrow_schema(EventRow).field(name), check_metadata=True)


@part
class Old:
    id: Uuid
    count: Int32


@part
class New:
    id: Uuid
    its_name: String | None


@message()
class First:
    topics: tuple[New, ...]
    epoch: Int64


@message()
class Second:
    raw: Bytes
    topics: tuple[Old, ...]


def test_layouts_of_a_message_as_one_type() -> None:
    """All fields, inside structures too, under the names that are asked for; ids are texts."""
    topic = pa.struct([("id", pa.string()), ("itsName", pa.string()), ("count", pa.int32())])
    expected = [("topics", pa.list_(pa.field("element", topic))), ("epoch", pa.int64()), ("raw", pa.binary())]
    assert message_type([First, Second], camel) == pa.struct(expected)
    assert message_type([First]).field("topics").type.value_type.field(1).name == "its_name"
