"""Views with typed columns, one for each kind of record: the JSON of values is read by a schema made from their declarations.

A kind with several layouts has the columns of all of them. Names are Kafka's in snake case, inside structures too.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

from offsets_tool.records.classic import MemberMetadata
from offsets_tool.records.kinds import COMMITS, GROUP_METADATA, RECORD_TYPES, RecordType
from offsets_tool.views.view import View, at
from offsets_tool.wire.arrow import message_ddl
from offsets_tool.wire.json import camel
from offsets_tool.wire.schema import OPEN_END, FieldSpec, schema_of

_WRITTEN: Final = {"written_at": "When the record was written, UTC; null if it has no time."}


def _kind(type_: RecordType) -> View:
    fields = _fields([layout.value for layout in type_.layouts])
    comment = f"{type_.name}, record type {type_.id}: {_sentence(type_.layouts[0].value)} Tombstones too: no value, nulls."
    columns = ", ".join(["value_version", "layout", *_columns(fields, "value"), "problem"])
    return View(
        _snake(type_.name),
        comment,
        f"SELECT {_origin_columns(type_)}, is_tombstone, {columns} FROM ({_values(type_)})",
        _WRITTEN | {f.name: f"{camel(f.name)} of the value; null where its layout has none." for f in fields},
    )


def _members(type_: RecordType) -> View:
    """Return the view of classic groups' members, with a row for each member of a GroupMetadata record."""
    group = ("protocol_type", "generation", "protocol", "leader")
    of_group = ", ".join(f"value.{name} AS {name}" for name in group)
    fields = schema_of(MemberMetadata).fields
    return View(
        f"{_snake(type_.name)}_members",
        "A member of a generation of a classic group, as that generation's record has it.",
        f"""
        SELECT {_origin_columns(type_)}, {of_group}, {", ".join(_columns(fields, "member"))}
        FROM (SELECT *, explode(value.members) AS member FROM ({_values(type_)}) WHERE value IS NOT NULL)
        """,
        _WRITTEN
        | {name: f"{camel(name)} of the group's value." for name in group}
        | {f.name: f"{camel(f.name)} of the member." for f in fields},
    )


def _values(type_: RecordType) -> str:
    """Return SQL for the events of a kind, with their JSON as the structure `value`, read by Kafka's names and renamed to ours."""
    layouts = [layout.value for layout in type_.layouts]
    theirs, ours = (message_ddl(layouts, named) for named in (camel, _unchanged))
    read = f"CAST(from_json(value_json, '{theirs}') AS {ours})"
    return f"SELECT *, {read} AS value FROM events WHERE record_type = {type_.id}"


def _origin_columns(type_: RecordType) -> str:
    named = [f.name for f in schema_of(type_.key).fields if f.name in ("member_id", "regular_expression")]
    columns = (
        "cluster",
        "source",
        "log_partition",
        "log_offset",
        f"{at('timestamp')} AS written_at",
        "`group`",
    )
    return ", ".join((*columns, *named))


def _columns(fields: Sequence[FieldSpec], struct: str) -> list[str]:
    return [f"{_column(field, struct)} AS {field.name}" for field in fields]


def _column(field: FieldSpec, struct: str) -> str:
    """Return SQL for a column: a field that Kafka's JSON leaves out has its declared default."""
    value = f"{struct}.{field.name}"
    default = field.default
    is_left_out = field.tag is not None or (field.versions.low, field.versions.high) != (0, OPEN_END)
    if not is_left_out or field.shape.primitive is None or not isinstance(default, int):
        return value
    return f"nvl2({struct}, coalesce({value}, {default}), NULL)"


def _fields(layouts: Sequence[type]) -> list[FieldSpec]:
    """Return the fields of all layouts, each as the first layout that has it declares it."""
    found: dict[str, FieldSpec] = {}
    for layout in layouts:
        for field in schema_of(layout).fields:
            found.setdefault(field.name, field)
    return list(found.values())


def _sentence(declaration: Any) -> str:
    return " ".join((declaration.__doc__ or "").split())


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _unchanged(name: str) -> str:
    return name


# Of commits `events` has the columns.
_OF_KINDS: Final = [type_ for number, type_ in RECORD_TYPES.items() if number not in COMMITS]
VIEWS: Final = (*map(_kind, _OF_KINDS), _members(RECORD_TYPES[GROUP_METADATA]))
