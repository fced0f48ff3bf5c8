"""From a declaration to Kafka's own JSON (its generated JsonConverter classes, rendered by Jackson).

`to_json` gives plain Python values in Kafka's field order and names; `render` gives Jackson's exact text. Declared fields that the
asked release does not know yet are left out, as that release's converter leaves them out.
"""

import base64
import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from offsets_tool.wire.schema import FieldSpec, FieldValue, Message, Primitive, Shape, schema_of
from offsets_tool.wire.text import java_text

Release: TypeAlias = tuple[int, ...]
"""A release of Kafka as numbers that compare: `(3, 9, 2)`; before 1.0 its family has three numbers: `(0, 10, 2, 1)`."""
Json: TypeAlias = Any
"""A value as `json` reads and writes it: None, a truth value, a number, a text, a list or an object of these."""
JsonObject: TypeAlias = dict[str, Any]
"""An object of JSON, its fields in the order in which they are written."""
Convert: TypeAlias = Callable[[FieldValue], Json]
"""Makes the JSON of one field's value."""

NEWEST: Release = (99,)


def camel(name: str) -> str:
    """Return Kafka's JSON name of a field, given its name in snake case."""
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def release_of(text: str) -> Release:
    """Return a release such as `4.1` or `3.9.2` as numbers that compare; an empty text is before all releases."""
    return tuple(int(number) for number in text.split(".")) if text else ()


def to_json(
    message: Message,
    version: int,
    release: Release = NEWEST,
    *,
    unknown_tags: bool = False,
    texts: Callable[[str], str] = java_text,
) -> JsonObject:
    """Return a message as its JsonConverter in a release writes it: without absent fields and without tags equal to their default.

    With `unknown_tags`, tags that no known release declares are added to the structure that holds them, as `"unknownTags": {"7":
    "<hex>"}`; Kafka's converters drop them. `texts` writes texts: by default as Java shows them, `shown` for our own tables, `str`
    to leave them as they were decoded.
    """
    form = _Form(version, release, unknown_tags, texts)
    data = {
        name: convert(getattr(message, spec.name))
        for spec, name, convert in _converters(type(message), form)  # type: ignore[arg-type]
        if spec.tag is None or getattr(message, spec.name) != spec.default
    }
    if unknown_tags and message.unknown_tags:
        data["unknownTags"] = {str(tag): payload.hex() for tag, payload in message.unknown_tags}
    return data


class _Form(NamedTuple):
    """How `to_json` writes a message: the version and release it is for, unknown tags, and texts."""

    version: int
    release: Release
    unknown_tags: bool
    texts: Callable[[str], str]


@cache
def _converters(cls: type, form: _Form) -> list[tuple[FieldSpec, str, Convert]]:
    return [
        (spec, camel(spec.name), _converter(spec.shape, form))
        for spec in schema_of(cls).fields
        if form.version in spec.versions and release_of(spec.release) <= form.release
    ]


def _converter(shape: Shape, form: _Form) -> Convert:
    if shape.is_nullable:
        convert = _converter(shape._replace(is_nullable=False), form)
        return lambda value: None if value is None else convert(value)
    if shape.element is not None:
        convert_element = _converter(shape.element, form)
        return lambda values: [convert_element(value) for value in values]
    if shape.part is not None:
        version, release, unknown_tags, texts = form
        return lambda value: to_json(value, version, release, unknown_tags=unknown_tags, texts=texts)
    if shape.primitive is Primitive.STRING:
        return form.texts
    assert shape.primitive is not None
    return _PRIMITIVES.get(shape.primitive, lambda value: value)


def uuid_text(value: UUID) -> str:
    """Return an id as Kafka's Uuid.toString shows it: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


def parse_uuid(text: str) -> UUID | None:
    """Return the id that `uuid_text` shows as this text, or None for a text that shows none."""
    try:
        raw = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except ValueError:
        return None
    return UUID(bytes=raw) if len(raw) == 16 and uuid_text(UUID(bytes=raw)) == text else None


def bytes_text(value: bytes) -> str:
    """Return bytes as Jackson's BinaryNode shows them: standard base64 with padding."""
    return base64.b64encode(value).decode()


_PRIMITIVES: dict[Primitive, Convert] = {
    Primitive.BYTES: bytes_text,
    Primitive.UUID: uuid_text,
}


_ESCAPES = re.compile(r"\\(u00[01][0-9a-f]|.)")


def render(value: Json) -> str:
    """Return a JSON value as Jackson's compact text: no spaces, non-ASCII characters as they are, control characters in upper-case
    hex.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if "\\u00" not in text:
        return text
    return _ESCAPES.sub(lambda found: "\\u" + found[1][1:].upper() if found[1][0] == "u" else found[0], text)


def text_in_json(text: str) -> str:
    """Return a text as it stands between its quotes in Jackson's JSON."""
    return render(text)[1:-1]
