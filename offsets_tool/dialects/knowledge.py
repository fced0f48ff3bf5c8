"""The record types, layouts, value versions, fields and tags that the readers of each release know.

`read_key` and `read_value` read a message as the generated classes of that release do: a tag that it does not know yet is skipped,
bytes after the last field are ignored. Knows nothing about what is printed.
"""

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final

from offsets_tool.dialects.versions import ByRelease, newest
from offsets_tool.errors import DecodeError
from offsets_tool.records.kinds import GROUP_METADATA, LEGACY_OFFSET_COMMIT, OFFSET_COMMIT, RECORD_TYPES
from offsets_tool.wire import walk
from offsets_tool.wire.json import Release, release_of
from offsets_tool.wire.schema import FieldSpec, Message, Schema, Shape, schema_of

_LEGACY_OFFSET_COMMIT_ALONE: Final = (4, 1)
"""Since then type 0 has a declaration of its own, with value version 0 only; before, it shared that of type 1."""
_OFFSET_COMMIT_VERSIONS: Final[ByRelease[int]] = (
    ((0, 8, 2), 0),
    ((0, 9), 1),
    ((2, 1), 3),
    ((3, 4, 1), 4),
)
_GROUP_METADATA_VERSIONS: Final[ByRelease[int]] = (
    ((0, 9), 0),
    ((0, 10, 1), 1),
    ((2, 1), 2),
    ((2, 3), 3),
    ((3, 4, 1), 4),
)
_HIGHEST_VERSIONS: Final[Mapping[int, ByRelease[int]]] = {
    LEGACY_OFFSET_COMMIT: (*_OFFSET_COMMIT_VERSIONS, (_LEGACY_OFFSET_COMMIT_ALONE, 0)),
    OFFSET_COMMIT: _OFFSET_COMMIT_VERSIONS,
    GROUP_METADATA: _GROUP_METADATA_VERSIONS,
}
"""By record type and release, the highest version of the value; of all other types it is that of the declaration."""

_MINOR: Final = 2
"""Numbers of a release before that of the patch, since 1.0."""
_NULL_SINCE: Final = {
    ("GroupMetadataValue", "protocol"): (0, 10, 1),
    ("GroupMetadataValue", "leader"): (0, 10, 1),
}


def knows(type_id: int, release: Release) -> bool:
    """Return whether the release's tools have that record type."""
    known = RECORD_TYPES.get(type_id)
    if known is None or release < release_of(known.tools):
        return False
    return not known.until or release[:_MINOR] <= release_of(known.until)


def reads_version(type_id: int, release: Release, version: int) -> bool:
    """Return whether the release declares that version of a record type's value."""
    return 0 <= version <= _highest_version(type_id, release)


def _highest_version(type_id: int, release: Release) -> int:
    if type_id in _HIGHEST_VERSIONS:
        return newest(_HIGHEST_VERSIONS[type_id], release)
    return schema_of(value_class(type_id, release)).versions.high


@lru_cache(maxsize=4096)
def read_key(type_id: int, release: Release, data: bytes) -> Message:
    """Return the key after its two bytes of record type; DecodeError with Kafka's words. Keys repeat heavily, hence the cache."""
    return walk.decode(as_of(RECORD_TYPES[type_id].key, release), 0, data, 2).message


def read_value(type_id: int, release: Release, version: int, data: bytes) -> Message:
    """Return the value after its two bytes of version, in the release's layout; DecodeError with Kafka's words."""
    return walk.decode(value_class(type_id, release), version, data, 2).message


@cache
def value_class(type_id: int, release: Release) -> type:
    """Return the class that declares a record type's value as the release has it."""
    layouts = RECORD_TYPES[type_id].layouts
    return as_of(next(layout.value for layout in layouts if release_of(layout.since) <= release), release)


def prefix(data: bytes) -> int:
    """Return the int16 that every key and value begins with; DecodeError with Kafka's words, a buffer underflow, without it."""
    if len(data) < 2:
        raise DecodeError(f"2 byte(s) wanted, only {len(data)} left", kafka="null")
    return int.from_bytes(data[:2], "big", signed=True)


@cache
def as_of(cls: type, release: Release) -> type:
    """Return a declaration as the release has it: the class itself, or a subclass without the fields that came later."""
    schema = schema_of(cls)
    kept = tuple(
        _field_as_of(schema.name, field, release)
        for field in schema.fields
        if release_of(field.release) <= release
    )
    if kept == schema.fields:
        return cls
    older: Schema = schema._replace(fields=kept)
    return type(cls.__name__, (cls,), {"__slots__": (), "__schema__": older, "__module__": cls.__module__})


def _field_as_of(message: str, field: FieldSpec, release: Release) -> FieldSpec:
    shape = _shape_as_of(field.shape, release)
    if release < _NULL_SINCE.get((message, field.name), ()):
        shape = shape._replace(is_nullable=False)
    return field._replace(shape=shape)


def _shape_as_of(shape: Shape, release: Release) -> Shape:
    if shape.element is not None:
        return shape._replace(element=_shape_as_of(shape.element, release))
    return shape if shape.part is None else shape._replace(part=as_of(shape.part, release))
