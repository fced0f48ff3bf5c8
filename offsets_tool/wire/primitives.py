"""Primitives of fixed layout, read from a cursor and written to a buffer: one table each way.

Beside Kafka's integers and uuid there are two that only Streams' AssignmentInfo uses, by way of java.io.DataOutput.
"""

import struct
from collections.abc import Callable
from typing import Final, TypeAlias

from offsets_tool.errors import DecodeError
from offsets_tool.wire.cursor import Cursor
from offsets_tool.wire.schema import FieldValue, Primitive

ReadValue: TypeAlias = Callable[[Cursor], FieldValue]
"""Reads one value where a cursor stands, and moves the cursor behind it."""
WriteValue: TypeAlias = Callable[[bytearray, FieldValue], None]
"""Appends the bytes of one value."""


LAYOUTS: Final = {
    Primitive.INT8: struct.Struct(">b"),
    Primitive.INT16: struct.Struct(">h"),
    Primitive.UINT16: struct.Struct(">H"),
    Primitive.INT32: struct.Struct(">i"),
    Primitive.INT64: struct.Struct(">q"),
}
"""The integers."""
LONGEST_STRING: Final = 0x7FFF
"""The most bytes that Kafka reads as a string; where its length is compact, more could be written."""


def _read_java_utf(cursor: Cursor) -> str:
    """Read modified UTF-8, which encodes surrogates one by one and NUL in two bytes; DecodeError where it is malformed."""
    start = cursor.position
    raw = cursor.raw(cursor.uint16()).replace(b"\xc0\x80", b"\0")
    try:
        return raw.decode("utf-8", "surrogatepass").encode("utf-16-be", "surrogatepass").decode("utf-16-be")
    except UnicodeDecodeError:
        raise DecodeError("malformed modified UTF-8", start) from None


def _read_java_chars(cursor: Cursor) -> str:
    start = cursor.position
    count = cursor.int32()
    try:
        return cursor.raw(2 * count).decode("utf-16-be")
    except UnicodeDecodeError:
        raise DecodeError("malformed UTF-16", start) from None


FIXED_READERS: dict[Primitive, ReadValue] = {
    Primitive.INT8: Cursor.int8,
    Primitive.INT16: Cursor.int16,
    Primitive.UINT16: Cursor.uint16,
    Primitive.INT32: Cursor.int32,
    Primitive.INT64: Cursor.int64,
    Primitive.UUID: Cursor.uuid,
    Primitive.JAVA_UTF: _read_java_utf,
    Primitive.JAVA_CHARS: _read_java_chars,
}


def write_unsigned_varint(out: bytearray, value: int) -> None:
    """Append a number that is not negative as Kafka's unsigned variable-length integer."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _fixed_writer(layout: struct.Struct) -> WriteValue:
    def write(out: bytearray, value: FieldValue) -> None:
        out += layout.pack(value)

    return write


def _write_java_utf(out: bytearray, value: str) -> None:
    units = value.encode("utf-16-be", "surrogatepass")
    chars = (units[i : i + 2].decode("utf-16-be", "surrogatepass") for i in range(0, len(units), 2))
    raw = b"".join(b"\xc0\x80" if c == "\0" else c.encode("utf-8", "surrogatepass") for c in chars)
    out += struct.pack(">H", len(raw)) + raw


def _write_java_chars(out: bytearray, value: str) -> None:
    raw = value.encode("utf-16-be")
    out += struct.pack(">i", len(raw) // 2) + raw


FIXED_WRITERS: dict[Primitive, WriteValue] = {
    **{primitive: _fixed_writer(layout) for primitive, layout in LAYOUTS.items()},
    Primitive.UUID: lambda out, value: out.extend(value.bytes),
    Primitive.JAVA_UTF: _write_java_utf,
    Primitive.JAVA_CHARS: _write_java_chars,
}
