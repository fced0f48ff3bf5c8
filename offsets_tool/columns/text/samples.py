"""Values and keys of any declaration, made up to see what a printer makes of them: with all that can be in them, and with little.

Their Kafka JSON is what compiled code prints of such values. What has bytes in it has no samples: bytes may hold a format of their
own, which a printer may know and print.
"""

from typing import Final, NamedTuple
from uuid import UUID

from offsets_tool.events import Key, Value, decode_key, decode_value, encode_key, encode_value
from offsets_tool.records import RECORD_TYPES
from offsets_tool.wire.json import render, to_json
from offsets_tool.wire.schema import FieldValue, Message, Primitive, Shape, schema_of

_TEXT: Final = 'sämple\U0001f600/\n\r\t\b\f"\\'
"""Characters that one JSON writer or another may escape, but for those that kernel.find_marks finds."""
_FULL: Final = {Primitive.STRING: _TEXT, Primitive.UUID: UUID(int=0xFEDC << 96)}
_BARE: Final = {Primitive.STRING: "", Primitive.UUID: UUID(int=0)}
_PART_MARK: Final = b'":{'


class Sample(NamedTuple):
    """Bytes, and their Kafka JSON."""

    data: bytes
    json: bytes


class _Kind(NamedTuple):
    is_full: bool
    has_parts: bool
    text: str = _TEXT


class HasBytes(Exception):
    """The declaration has bytes in it."""


def sample_values(type_id: int, version: int, *, parts: bool) -> tuple[Sample, Sample] | None:
    """Return two values in the newest layout, one with everything in it and one with little; None where none can be made.

    `parts` tells whether nullable structures are present.
    """
    record_type = RECORD_TYPES[type_id]
    layout = record_type.layouts[0]
    samples = []
    for full in (True, False):
        try:
            message = _message(layout.value, version, _Kind(full, parts))
        except HasBytes:
            return None
        data = encode_value(Value(version, layout.since, message))
        read = decode_value(record_type, data)
        json = render(to_json(message, version, unknown_tags=True)).encode()
        if read != Value(version, layout.since, message) or has_part(json) != parts:
            return None
        samples.append(Sample(data, json))
    return samples[0], samples[1]


def sample_keys(type_id: int) -> tuple[bytes, bytes]:
    """Return two keys of a record type that differ in every field and in size."""
    key = RECORD_TYPES[type_id].key
    one, other = (_message(key, 0, _Kind(True, True, text)) for text in ("wkwkwkwkwk", "mgmgmgmgmgmgmgm"))
    return encode_key(Key(RECORD_TYPES[type_id], one)), encode_key(Key(RECORD_TYPES[type_id], other))


def key_json(data: bytes) -> bytes | None:
    """Return the JSON of a key that decodes; None where JSON writers may differ about it."""
    text = render(to_json(decode_key(data).data, 0))
    return text.encode() if text.isascii() and text.isprintable() and "\\" not in text else None


def has_part(json: bytes) -> bool:
    """Return whether JSON has a structure outside of arrays."""
    return _PART_MARK in json


def _message(cls: type, version: int, kind: _Kind) -> Message:
    schema = schema_of(cls)
    values = {}
    for field in schema.fields:
        if version not in field.versions or (field.tag is not None and not kind.is_full):
            values[field.name] = field.default
        else:
            values[field.name] = _sample(field.shape, version, kind)
    return cls(**values)


def _sample(shape: Shape, version: int, kind: _Kind) -> FieldValue:
    if shape.part is not None:
        return _message(shape.part, version, kind) if kind.has_parts or not shape.is_nullable else None
    if shape.is_nullable and not kind.is_full:
        return None
    if shape.element is not None:
        return (_sample(shape.element, version, kind),) * 2 if kind.is_full else ()
    if shape.primitive is Primitive.BYTES:
        raise HasBytes
    if shape.primitive is Primitive.STRING and kind.is_full:
        return kind.text
    return (_FULL if kind.is_full else _BARE).get(shape.primitive or Primitive.INT8, 7 if kind.is_full else 0)
