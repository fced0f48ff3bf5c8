"""`offsets-tool schema`: the record types, and the fields of each in all its versions. Needs no evidence."""

from collections.abc import Iterator

import click

from offsets_tool.cli.options import Option, format_option
from offsets_tool.cli.render import default_format, output, write_rows
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.errors import UsageError
from offsets_tool.evidence.filters import letters
from offsets_tool.evidence.nearest import did_you_mean
from offsets_tool.records import RECORD_TYPES, RecordType, embedded
from offsets_tool.rows import Row
from offsets_tool.wire.json import camel
from offsets_tool.wire.schema import OPEN_END, FieldSpec, Shape, Versions, schema_of

_TYPES = PrintedTable.of(
    Column.number("type", 1),
    Column.word("name", 2),
    Column.word("since", 4),
    Column.word("until", 5),
    Column.word("layouts", 6),
    Column.text("about", 3),
)
_FIELDS = PrintedTable.of(
    Column.name("message", 4),
    Column.name("field", 1),
    Column.name("kind", 2),
    Column.word("versions", 3),
    Column.number("tag", 5),
    Column.name("default", 6),
    Column.word("release", 7),
)


@click.command("schema", epilog="\b\nExamples:\n  offsets-tool schema\n  offsets-tool schema OffsetCommit\n")
@click.argument("record_type", required=False, metavar="[TYPE]")
@format_option
def schema_command(record_type: str | None, format_: str | None, **options: Option) -> None:
    """List the record types, or the fields of one (by number or name) or of a client's blob (by name), in all versions."""
    rows = _all_types() if record_type is None else _fields(record_type)
    chosen = format_ or default_format()
    table = (_TYPES if record_type is None else _FIELDS).chosen(chosen, options)
    with output(None) as out:
        write_rows(out, rows, chosen, table)


def _all_types() -> Iterator[Row]:
    for record_type in RECORD_TYPES.values():
        yield {
            "type": record_type.id,
            "name": record_type.name,
            "since": record_type.since,
            "until": record_type.until or None,
            "layouts": " ".join(layout.since for layout in record_type.layouts),
            "about": record_type.layouts[0].value.__doc__,
        }


def _messages() -> dict[str, type]:
    """Return by name the declarations of the blobs that clients put into records."""
    found = vars(embedded).values()
    return {
        cls.__name__: cls for cls in found if isinstance(cls, type) and cls.__module__ == embedded.__name__
    }


def _fields(wanted: str) -> Iterator[Row]:
    name = letters(wanted)
    chosen = [t for t in RECORD_TYPES.values() if name in (str(t.id), letters(t.name))]
    blobs = {letters(of): cls for of, cls in _messages().items()}
    if chosen:
        yield from _record_type_fields(chosen[0])
    elif name in blobs:
        yield from _message_fields(blobs[name])
    else:
        known = [*(record_type.name for record_type in RECORD_TYPES.values()), *_messages()]
        raise UsageError(
            f"no record type or blob {wanted!r}: `offsets-tool schema` lists the types; blobs are {', '.join(_messages())}."
            f"{did_you_mean(wanted, known)}"
        )


def _record_type_fields(record_type: RecordType) -> Iterator[Row]:
    yield from _message_fields(record_type.key)
    for layout in record_type.layouts:
        yield from _message_fields(layout.value)


def _message_fields(cls: type, prefix: str = "", known: Versions | None = None) -> Iterator[Row]:
    schema = schema_of(cls)
    known = known or schema.versions
    for spec in schema.fields:
        in_range = Versions(max(spec.versions.low, known.low), min(spec.versions.high, known.high))
        yield {
            "message": cls.__name__,
            "field": prefix + camel(spec.name),
            "kind": _kind(spec.shape),
            "versions": _range_text(in_range),
            "tag": spec.tag,
            "default": _default_text(spec),
            "release": spec.release or None,
        }
        inner = spec.shape.part or (spec.shape.element.part if spec.shape.element else None)
        if inner is not None:
            yield from _message_fields(inner, f"{prefix}{camel(spec.name)}.", in_range)


def _kind(shape: Shape) -> str:
    mark = "?" if shape.is_nullable else ""
    if shape.element is not None:
        return f"[]{_kind(shape.element)}{mark}"
    return f"{shape.part.__name__ if shape.part else shape.primitive}{mark}"


def _range_text(versions: Versions) -> str:
    if versions.high == OPEN_END:
        return f"{versions.low}+"
    return str(versions.low) if versions.low == versions.high else f"{versions.low}-{versions.high}"


def _default_text(spec: FieldSpec) -> str | None:
    return None if spec.default in ((), "", b"", 0, None) else str(spec.default)
