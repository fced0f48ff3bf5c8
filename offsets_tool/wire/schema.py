"""The vocabulary of declarations: a message, or a structure in one, is a class that reads like Kafka's own message table.

A field is `name: Type`, in Kafka's order, with Kafka's name in snake case. `since(...)` states its versions, tag and default, and
the release that introduced it. Everything else (codec, JSON, Arrow types) is derived.
Declarations hold no behaviour; the decorated classes are frozen, slotted, keyword-only dataclasses.
"""

import types
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields
from dataclasses import field as dataclass_field
from enum import StrEnum
from typing import (
    Annotated,
    Any,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
)
from uuid import UUID

T = TypeVar("T")
FieldValue: TypeAlias = Any
"""What a field holds: its type is known only from its declaration (Shape)."""
Message: TypeAlias = Any
"""An instance of a declared class, of which the caller knows or asks (`schema_of`) the declaration."""

ZERO_UUID = UUID(int=0)


class Primitive(StrEnum):
    """The kinds of value Kafka's message format has, and two that only Streams' Java serialization uses."""

    INT8 = "int8"
    INT16 = "int16"
    UINT16 = "uint16"
    INT32 = "int32"
    INT64 = "int64"
    STRING = "string"
    BYTES = "bytes"
    UUID = "uuid"
    JAVA_UTF = "java utf"
    """java.io.DataOutput.writeUTF: u16 byte count, modified UTF-8."""
    JAVA_CHARS = "java chars"
    """int32 character count, UTF-16BE characters (Streams' named topology)."""


Int8 = Annotated[int, Primitive.INT8]
Int16 = Annotated[int, Primitive.INT16]
UInt16 = Annotated[int, Primitive.UINT16]
Int32 = Annotated[int, Primitive.INT32]
Int64 = Annotated[int, Primitive.INT64]
String = Annotated[str, Primitive.STRING]
Bytes = Annotated[bytes, Primitive.BYTES]
Uuid = Annotated[UUID, Primitive.UUID]
JavaUtf = Annotated[str, Primitive.JAVA_UTF]
JavaChars = Annotated[str, Primitive.JAVA_CHARS]


class Versions(NamedTuple):
    """An inclusive range of versions: "0-4", "3+", "1", or "none"."""

    low: int
    high: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.low <= version <= self.high


OPEN_END = 0x7FFF


def versions(text: str) -> Versions:
    """Return a range of versions from Kafka's way to write it: "0-4", "3+", "1" or "none"."""
    if text == "none":
        return Versions(1, 0)
    low, dash, high = text.removesuffix("+").partition("-")
    if text.endswith("+"):
        return Versions(int(low), OPEN_END)
    return Versions(int(low), int(high) if dash else int(low))


class Shape(NamedTuple):
    """The type of a field: a primitive, a structure (`part`), or an array of `element`."""

    primitive: Primitive | None = None
    part: "type | None" = None
    element: "Shape | None" = None
    is_nullable: bool = False


class FieldSpec(NamedTuple):
    """One declared field. `release` is the Kafka release that introduced it, "" for fields as old as the message."""

    name: str
    shape: Shape
    versions: Versions
    tag: int | None
    default: FieldValue
    release: str


class Schema(NamedTuple):
    """A declared message, or a structure inside of one: its fields, and the versions that it has."""

    name: str
    fields: tuple[FieldSpec, ...]
    versions: Versions
    flexible: Versions
    has_lenient_end: bool
    """Missing trailing fields read as their defaults (Connect's protocol does that)."""


def untagged(schema: Schema, version: int) -> list[FieldSpec]:
    """Return the fields of a version that are written in their order, without a tag."""
    return [f for f in schema.fields if f.tag is None and version in f.versions]


def tagged(schema: Schema, version: int) -> list[FieldSpec]:
    """Return the fields of a version that are written as tags."""
    return [f for f in schema.fields if f.tag is not None and version in f.versions]


def absent(schema: Schema, version: int) -> dict[str, FieldValue]:
    """Return the fields that a version lacks, with the values that Kafka gives them."""
    return {f.name: f.default for f in schema.fields if version not in f.versions}


UnknownTags = tuple[tuple[int, bytes], ...]
_SPEC = "kafka"


def since(
    version: str = "0+", *, default: FieldValue = MISSING, tag: int | None = None, release: str = ""
) -> FieldValue:
    """Declare a field that is not simply in every version, untagged and without a default.

    `version` is the range of versions that have it, `tag` its number as a tag, `release` the Kafka release that introduced it.
    `default` is the value of the field in a version without it, and of an absent tag.
    """
    metadata = {_SPEC: (versions(version), tag, None if default is MISSING else default, release)}
    if default is MISSING:
        return dataclass_field(metadata=metadata)
    return dataclass_field(default=default, metadata=metadata)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(since,))
def message(
    *, versions: str = "0", flexible: str = "none", has_lenient_end: bool = False
) -> Callable[[type[T]], type[T]]:
    """Declare a message: decorate a class whose annotations are the fields of all its versions.

    `versions` and `flexible` are Kafka's ranges; with `has_lenient_end`, missing fields at the end read as their defaults.
    """
    return lambda cls: _declare(cls, versions, flexible, has_lenient_end)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(since,))
def part(cls: type[T]) -> type[T]:
    """Declare a structure inside a message, which has the versions and the flexibility of the message around it."""
    return _declare(cls, "0+", "none", False)


def schema_of(cls: type) -> Schema:
    """Return the declaration of a message or part class."""
    schema: Schema = cls.__schema__  # type: ignore[attr-defined]
    return schema


def _declare(cls: type[T], known: str, flexible: str, has_lenient_end: bool) -> type[T]:
    cls.__annotations__["unknown_tags"] = UnknownTags
    cls.unknown_tags = ()  # type: ignore[attr-defined]
    made = dataclass(frozen=True, slots=True, kw_only=True)(cls)
    specs = tuple(_field_spec(f) for f in fields(made) if f.name != "unknown_tags")  # type: ignore[arg-type]
    made.__schema__ = Schema(  # type: ignore[attr-defined]
        cls.__name__, specs, versions(known), versions(flexible), has_lenient_end
    )
    return made


def _field_spec(declared: "Field[FieldValue]") -> FieldSpec:
    shape = _shape(declared.type)
    known, tag, default, release = declared.metadata.get(_SPEC, (versions("0+"), None, None, ""))
    return FieldSpec(declared.name, shape, known, tag, _zero(shape) if default is None else default, release)


def _shape(annotation: object) -> Shape:
    origin = get_origin(annotation)
    if origin is Annotated:
        return Shape(primitive=get_args(annotation)[1])
    if origin is tuple:
        return Shape(element=_shape(get_args(annotation)[0]))
    if origin in (Union, types.UnionType):
        inner = next(a for a in get_args(annotation) if a is not type(None))
        return _shape(inner)._replace(is_nullable=True)
    assert isinstance(annotation, type)
    return Shape(part=annotation)


_ZEROS: dict[Primitive, FieldValue] = {
    Primitive.STRING: "",
    Primitive.BYTES: b"",
    Primitive.UUID: ZERO_UUID,
    Primitive.JAVA_UTF: "",
    Primitive.JAVA_CHARS: "",
}


def _zero(shape: Shape) -> FieldValue:
    """Return the value that Kafka's generator gives a field without a declared default."""
    if shape.is_nullable:
        return None
    if shape.element is not None:
        return ()
    return _ZEROS.get(shape.primitive, 0) if shape.primitive else None
