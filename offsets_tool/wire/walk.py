"""From a declaration to its reader and its writer: this module alone knows Kafka's rules for versions, nulls and tags.

`decode` and `encode` handle one message without its version prefix. A reader is a tree of small closures, built once for each
(class, version); generated code (wire.fast_reading) tries first, and these read what it declines. They promise to read what
Kafka's generated classes read and to refuse what they refuse, in their words (`DecodeError.kafka`); it knows nothing about records,
groups or files.

A writer is such a tree, too. It writes what Kafka's generated classes write:
tags that differ from their default, in ascending order.
"""

import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, NamedTuple

from offsets_tool.errors import DecodeError
from offsets_tool.wire.cursor import Cursor
from offsets_tool.wire.fast_reading import (
    DECLINES,
    FastReader,
    ReadTags,
    fast_last_fields,
    fast_message,
    fast_or,
    fast_struct,
)
from offsets_tool.wire.kept import Kept
from offsets_tool.wire.primitives import (
    FIXED_READERS,
    FIXED_WRITERS,
    LONGEST_STRING,
    ReadValue,
    WriteValue,
    write_unsigned_varint,
)
from offsets_tool.wire.schema import (
    FieldSpec,
    FieldValue,
    Message,
    Primitive,
    Shape,
    absent,
    schema_of,
    tagged,
    untagged,
)
from offsets_tool.wire.text import decode_text, encode_text, is_clean


@cache
def struct_writer(cls: type, version: int, flexible: bool) -> WriteValue:
    """Return the writer of a declared class in one version; `flexible` tells whether it has compact lengths and tags."""
    schema = schema_of(cls)
    plain = [(f.name, _shape_writer(f.shape, version, flexible)) for f in untagged(schema, version)]
    tags = [(f, _tag_writer(f, version)) for f in tagged(schema, version)]

    def write(out: bytearray, value: FieldValue) -> None:
        for name, write_field in plain:
            write_field(out, getattr(value, name))
        if flexible:
            _write_tags(out, value, tags)

    return write


def _write_tags(out: bytearray, value: Message, tags: list[tuple[FieldSpec, WriteValue]]) -> None:
    payloads = list(value.unknown_tags)
    for spec, write_field in tags:
        held = getattr(value, spec.name)
        if held != spec.default:
            payload = bytearray()
            write_field(payload, held)
            payloads.append((spec.tag, bytes(payload)))
    write_unsigned_varint(out, len(payloads))
    for tag, payload in sorted(payloads, key=lambda entry: entry[0]):
        write_unsigned_varint(out, tag)
        write_unsigned_varint(out, len(payload))
        out += payload


def _tag_writer(spec: FieldSpec, version: int) -> WriteValue:
    if spec.shape.part is None or not spec.shape.is_nullable:
        return _shape_writer(spec.shape, version, True)
    write_part = struct_writer(spec.shape.part, version, True)

    def write(out: bytearray, value: FieldValue) -> None:
        write_unsigned_varint(out, 0 if value is None else 1)
        if value is not None:
            write_part(out, value)

    return write


def _shape_writer(shape: Shape, version: int, flexible: bool) -> WriteValue:
    if shape.element is not None:
        return _array_writer(shape.element, version, flexible)
    if shape.part is not None:
        return _part_writer(shape, version, flexible)
    assert shape.primitive is not None
    if shape.primitive in FIXED_WRITERS:
        return FIXED_WRITERS[shape.primitive]
    write_length = _length_writer(flexible, ">i" if shape.primitive is Primitive.BYTES else ">h")
    return _blob_writer(write_length, shape.primitive)


def _blob_writer(write_length: Callable[[bytearray, int], None], primitive: Primitive) -> WriteValue:
    def write(out: bytearray, value: FieldValue) -> None:
        if value is None:
            write_length(out, -1)
            return
        raw = value if primitive is Primitive.BYTES else encode_text(value)
        write_length(out, len(raw))
        out += raw

    return write


def _part_writer(shape: Shape, version: int, flexible: bool) -> WriteValue:
    assert shape.part is not None
    write_part = struct_writer(shape.part, version, flexible)
    if not shape.is_nullable:
        return write_part

    def write(out: bytearray, value: FieldValue) -> None:
        out += b"\xff" if value is None else b"\x01"
        if value is not None:
            write_part(out, value)

    return write


def _array_writer(element: Shape, version: int, flexible: bool) -> WriteValue:
    write_length = _length_writer(flexible, ">i")
    write_element = _shape_writer(element, version, flexible)

    def write(out: bytearray, values: FieldValue) -> None:
        write_length(out, -1 if values is None else len(values))
        for value in values or ():
            write_element(out, value)

    return write


def _length_writer(flexible: bool, layout: str) -> Callable[[bytearray, int], None]:
    if flexible:
        return lambda out, length: write_unsigned_varint(out, length + 1)

    def write(out: bytearray, length: int) -> None:
        out += struct.pack(layout, length)

    return write


class Decoded(NamedTuple):
    """A decoded message, the position after its last byte, and notes on what is odd about it though Kafka reads it."""

    message: Message
    end: int
    notes: tuple[str, ...]


def decode(cls: type, version: int, data: bytes, position: int = 0) -> Decoded:
    """Read one message of `cls` in `version` from byte `position` of `data`; DecodeError names the field and byte that fail."""
    try:
        message, end = _fast_reader(cls, version)(data, position)
    except DECLINES:
        cursor = Cursor(data, position)
        message = _step_by_step(cls, version, version in schema_of(cls).flexible)(cursor)
        return Decoded(message, cursor.position, tuple(cursor.notes))
    return Decoded(message, end, ())


def encode(message: Message, version: int) -> bytes:
    """Return the bytes of a message as Kafka's generated class writes them: fields of that version, tags that are not their
    default.
    """
    out = bytearray()
    cls: type = type(message)
    struct_writer(cls, version, version in schema_of(cls).flexible)(out, message)
    return bytes(out)


@cache
def struct_reader(cls: type, version: int, flexible: bool) -> ReadValue:
    """Return the reader of a declared class in one version; `flexible` tells whether it has compact lengths and tags."""
    fast = fast_struct(cls, version, flexible, _tags_reader)
    return fast_or(fast, lambda: _step_by_step(cls, version, flexible))


@cache
def _fast_reader(cls: type, version: int) -> FastReader:
    """Return the fast reader of a whole message, which reads a field list that ends many messages alike only once."""
    flexible, specs = version in schema_of(cls).flexible, untagged(schema_of(cls), version)
    head = _head(specs)
    if head is None:
        return fast_struct(cls, version, flexible, _tags_reader)
    if not head:
        return _kept_reader(cls, version, fast_struct(cls, version, flexible, _tags_reader))
    read_end = fast_last_fields(cls, version, flexible, specs[head:], _tags_reader)
    read_others = _kept_reader(cls, version, read_end)
    return fast_message(cls, version, flexible, _tags_reader, first=specs[:head], read_others=read_others)


_ENDS: Final[Kept[tuple[FieldValue, int]]] = Kept(8 << 20)
"""What messages have from some field on, with the number of its bytes: nearly all of a group's records, and the same in many."""


def _kept_reader(cls: type, version: int, read: FastReader) -> FastReader:
    """Return a reader of the rest of a message that decodes equal bytes once and returns the kept value after that."""

    def read_kept(data: bytes, position: int) -> tuple[FieldValue, int]:
        left = data[position:]
        key = cls, version, left
        kept = _ENDS.get(key)
        if kept is None:
            value, end = read(data, position)
            kept = value, end - position
            _ENDS.put(key, kept, len(left))
        return kept[0], position + kept[1]

    return read_kept


def _head(fields: Sequence[FieldSpec]) -> int | None:
    """Return how many fields come before those that repeat: up to the last one before the first array that is no text.

    That is an epoch or a time, mostly. None without an array.
    """
    first = next((place for place, spec in enumerate(fields) if spec.shape.element is not None), None)
    if first is None:
        return None
    numbers = [place for place in range(first) if fields[place].shape.primitive is not Primitive.STRING]
    return numbers[-1] + 1 if numbers else 0


@cache
def _step_by_step(cls: type, version: int, flexible: bool) -> ReadValue:
    """Return a reader as `struct_reader` does, which reads or refuses whatever comes."""
    schema = schema_of(cls)
    plain = [(f, field_reader(f, version, flexible)) for f in untagged(schema, version)]
    read_tags = _tags_reader(cls, version) if flexible else None
    lacks = absent(schema, version)

    def read(cursor: Cursor) -> FieldValue:
        values: dict[str, FieldValue] = {}
        for spec, read_field in plain:
            if schema.has_lenient_end and not cursor.remaining():
                values[spec.name] = spec.default
                continue
            try:
                values[spec.name] = read_field(cursor)
            except DecodeError as error:
                raise error.within(spec.name) from None
        if read_tags is not None:
            read_tags(cursor, values)
        return cls(**lacks, **values)

    return read


@cache
def _tags_reader(cls: type, version: int) -> ReadTags:
    """Return the reader of the tags of a class in one version."""
    known = {f.tag: (f, _tag_reader(f, version)) for f in tagged(schema_of(cls), version)}
    return lambda cursor, values: _read_tags(cursor, known, values)


def _read_tags(
    cursor: Cursor, known: dict[int | None, tuple[FieldSpec, ReadValue]], values: dict[str, FieldValue]
) -> None:
    unknown: list[tuple[int, bytes]] = []
    for _ in range(cursor.unsigned_varint()):
        tag, size = cursor.unsigned_varint(), cursor.unsigned_varint()
        if tag not in known:
            unknown.append((tag, cursor.raw(size)))
            continue
        spec, read_field = known[tag]
        start = cursor.position
        try:
            values[spec.name] = read_field(cursor)
        except DecodeError as error:
            raise error.within(spec.name) from None
        if cursor.position - start != size:
            # Kafka trusts the field, not the announced size.
            cursor.notes.append(
                f"{spec.name}: tag {tag} announces {size} byte(s) but has {cursor.position - start}"
            )
    if unknown:
        values["unknown_tags"] = tuple(unknown)


def _tag_reader(spec: FieldSpec, version: int) -> ReadValue:
    if spec.shape.part is None or not spec.shape.is_nullable:
        return field_reader(spec, version, True)
    read_part = struct_reader(spec.shape.part, version, True)
    # KIP-893: a nullable structure in a tag is preceded by an unsigned varint, not by a byte.
    return lambda cursor: read_part(cursor) if cursor.unsigned_varint() > 0 else None


def field_reader(spec: FieldSpec, version: int, flexible: bool) -> ReadValue:
    """Return the reader of one field in one version; `flexible` tells whether lengths are compact."""
    return _shape_reader(spec.shape, _kafka_name(spec.name), version, flexible)


def _shape_reader(shape: Shape, name: str, version: int, flexible: bool) -> ReadValue:
    if shape.element is not None:
        return _array_reader(shape, name, version, flexible)
    if shape.part is not None:
        return _part_reader(shape, version, flexible)
    assert shape.primitive is not None
    if shape.primitive in FIXED_READERS:
        return FIXED_READERS[shape.primitive]
    if shape.primitive is Primitive.BYTES:
        return _bytes_reader(name, shape.is_nullable, flexible)
    return _string_reader(name, shape.is_nullable, flexible)


def _part_reader(shape: Shape, version: int, flexible: bool) -> ReadValue:
    assert shape.part is not None
    read_part = struct_reader(shape.part, version, flexible)
    if not shape.is_nullable:
        return read_part
    return lambda cursor: None if cursor.int8() < 0 else read_part(cursor)


def _length_reader(flexible: bool, layout: Callable[[Cursor], int]) -> Callable[[Cursor], int]:
    return (lambda cursor: cursor.unsigned_varint() - 1) if flexible else layout


def _null(cursor: Cursor, name: str, nullable: bool) -> None:
    if not nullable:
        raise DecodeError(f"non-nullable field {name} was serialized as null", cursor.position)


def _array_reader(shape: Shape, name: str, version: int, flexible: bool) -> ReadValue:
    assert shape.element is not None
    read_length = _length_reader(flexible, Cursor.int32)
    read_element = _shape_reader(shape.element, f"{name} element", version, flexible)

    def read(cursor: Cursor) -> FieldValue:
        length = read_length(cursor)
        if length < 0:
            return _null(cursor, name, shape.is_nullable)
        if length > cursor.remaining():
            raise DecodeError(
                f"Tried to allocate a collection of size {length}, "
                f"but there are only {cursor.remaining()} bytes remaining.",
                cursor.position,
            )
        elements = []
        for index in range(length):
            try:
                elements.append(read_element(cursor))
            except DecodeError as error:
                raise error.within(f"[{index}]") from None
        return tuple(elements)

    return read


def _string_reader(name: str, nullable: bool, flexible: bool) -> ReadValue:
    read_length = _length_reader(flexible, Cursor.int16)

    def read(cursor: Cursor) -> FieldValue:
        length = read_length(cursor)
        if length < 0:
            return _null(cursor, name, nullable)
        if length > LONGEST_STRING:
            raise DecodeError(f"string field {name} had invalid length {length}", cursor.position)
        return _text(cursor, length, name)

    return read


def _text(cursor: Cursor, length: int, name: str) -> str:
    start = cursor.position
    text = decode_text(cursor.raw(length))
    if not is_clean(text):
        cursor.notes.append(f"{name}: invalid UTF-8 (byte {start})")
    return text


def _bytes_reader(name: str, nullable: bool, flexible: bool) -> ReadValue:
    read_length = _length_reader(flexible, Cursor.int32)

    def read(cursor: Cursor) -> FieldValue:
        length = read_length(cursor)
        return cursor.raw(length) if length >= 0 else _null(cursor, name, nullable)

    return read


def _kafka_name(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
