"""The positions of an OffsetCommitValue's fields in its bytes, by version, from its declaration, for compiled code.

Each field but `metadata` has a fixed size, so that its position counts from the value's first byte, or from the end of `metadata`.
Importing this module refuses any other declaration. Knows nothing about compiled code.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from offsets_tool.records.offsets import OffsetCommitValue
from offsets_tool.wire.schema import FieldSpec, Primitive, schema_of, tagged, untagged

_SIZES: Final = {Primitive.INT32: 4, Primitive.INT64: 8}
_VERSION_SIZE: Final = 2
_TEXT: Final = "metadata"
NONE: Final = -1
"""The place of a field that a version does not have."""


class CommitLayout(NamedTuple):
    """Places of one version's fields: `before` counted from the value's first byte, `after` from the end of metadata.

    `text` is where the size of metadata stands, `tail` how many bytes follow metadata, without tags.
    """

    before: dict[str, int]
    text: int
    after: dict[str, int]
    tail: int


_SCHEMA: Final = schema_of(OffsetCommitValue)


def _layout(version: int) -> CommitLayout:
    fields = untagged(_SCHEMA, version)
    names = [field.name for field in fields]
    if _TEXT not in names:
        raise TypeError(f"version {version} of {_SCHEMA.name} has no {_TEXT}: the lane cannot read it")
    place = names.index(_TEXT)
    before = dict(_placed(fields[:place], _VERSION_SIZE))
    after = dict(_placed(fields[place + 1 :], 0))
    return CommitLayout(before, _end(fields[:place], _VERSION_SIZE), after, _end(fields[place + 1 :], 0))


def _placed(fields: list[FieldSpec], at: int) -> Iterator[tuple[str, int]]:
    for field in fields:
        yield field.name, at
        at += _size(field)


def _end(fields: list[FieldSpec], at: int) -> int:
    return at + sum(map(_size, fields))


def _size(field: FieldSpec) -> int:
    if field.shape.primitive not in _SIZES:
        raise TypeError(f"{_SCHEMA.name}.{field.name} has no size of its own: the lane cannot read it")
    return _SIZES[field.shape.primitive]


FLEXIBLE_VERSION: Final = _SCHEMA.flexible.low
"""The first version with compact metadata and tags; the lane reads no later one."""
PLAIN: Final = tuple(map(_layout, range(FLEXIBLE_VERSION)))
"""The layouts of all versions before."""
FLEXIBLE: Final = _layout(FLEXIBLE_VERSION)
TOPIC_ID_TAG: Final = next(f.tag for f in tagged(_SCHEMA, FLEXIBLE_VERSION) if f.name == "topic_id") or 0


def fixed_position(name: str) -> int:
    """Return the position in a value, in bytes, that a field has in all versions; TypeError if it has several."""
    places = {(each.before | each.after).get(name, NONE) for each in (*PLAIN, FLEXIBLE)}
    if len(places) != 1:
        raise TypeError(f"{_SCHEMA.name}.{name} has not one position in all versions")
    return places.pop()
