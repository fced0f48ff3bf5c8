"""Reads messages of unknown versions as Kafka's generated classes do where no caller checks it (3.8, 3.9, members' blobs).

They compare versions field by field: a version beyond the newest reads as the newest, one below the first as the first. Only
structures inside a message check the version, and not those that a declaration shares between fields (`commonStructs`).
"""

from typing import Final

from offsets_tool.errors import DecodeError
from offsets_tool.wire import walk
from offsets_tool.wire.cursor import Cursor
from offsets_tool.wire.schema import FieldSpec, Message, schema_of

_UNCHECKED: Final = frozenset({"MemberMetadata", "TopicPartitions"})


def read_any_version(cls: type, version: int, data: bytes) -> Message:
    """Return a message after its two bytes of version, whatever that is; DecodeError with Kafka's words."""
    if version <= schema_of(cls).versions.high:
        return walk.decode(cls, max(0, version), data, 2).message
    _read_fields(cls, version, data)
    try:
        message = walk.decode(cls, version, data, 2).message
    except DecodeError as error:
        for field in _fields(cls, version, tagged=True):
            if error.path.startswith(f"{field.name}."):
                _refuse(field, version)
        raise
    for field in _fields(cls, version, tagged=True):
        if getattr(message, field.name) not in (None, field.default):
            _refuse(field, version)
    return message


def _read_fields(cls: type, version: int, data: bytes) -> None:
    """Read the fields before the tags, in order; DecodeError where one of them refuses the version."""
    flexible = version in schema_of(cls).flexible
    cursor = Cursor(data, 2)
    for field in _fields(cls, version, tagged=False):
        try:
            held = walk.field_reader(field, version, flexible)(cursor)
        except DecodeError as error:
            if error.path:
                _refuse(field, version)
            raise
        if held:
            _refuse(field, version)


def _fields(cls: type, version: int, *, tagged: bool) -> list[FieldSpec]:
    known = (field for field in schema_of(cls).fields if version in field.versions)
    return [field for field in known if (field.tag is not None) is tagged]


def _refuse(field: FieldSpec, version: int) -> None:
    """Raise what the structures in that field say of the version, if they check it."""
    part = field.shape.part if field.shape.element is None else field.shape.element.part
    if part is not None and part.__name__ not in _UNCHECKED:
        raise DecodeError(f"Can't read version {version} of {part.__name__}")
