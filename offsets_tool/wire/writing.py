"""From a declaration to its writer: the other half of wire/walk.py, which knows the same rules for versions, nulls and tags.

A writer is a tree of small closures, built once for each (class, version). It writes what Kafka's generated classes write:
tags that differ from their default, in ascending order.
"""

import struct
from collections.abc import Callable
from functools import cache

from offsets_tool.wire.primitives import FIXED_WRITERS, WriteValue, write_unsigned_varint
from offsets_tool.wire.schema import (
    FieldSpec,
    FieldValue,
    Message,
    Primitive,
    Shape,
    schema_of,
    tagged,
    untagged,
)
from offsets_tool.wire.text import encode_text


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
