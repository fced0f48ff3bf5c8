"""Every declaration, field by field, against the message declarations inside Kafka's own jars, release by release."""

from collections.abc import Iterator
from typing import Any

import pytest

from offsets_tool.records import RECORD_TYPES, embedded
from offsets_tool.records.kinds import NEWEST
from offsets_tool.wire.json import camel, release_of
from offsets_tool.wire.schema import OPEN_END, ZERO_UUID, FieldSpec, Shape, Versions, schema_of
from oracle.declarations import declarations
from oracle.jars import DECLARED

RELEASES = sorted((release for release in DECLARED if release_of(release) >= (3, 5)), key=release_of)

pytestmark = pytest.mark.java

Row = tuple[str, str, str, bool, int | None, object]
"""Path, kind, versions, nullable, tag, default."""


def declared_for(release: str) -> Iterator[tuple[str, type]]:
    """Yield our classes under the names of Kafka's declarations of a release."""
    asked = release_of(release)[:2]
    for record_type in RECORD_TYPES.values():
        if not release_of(record_type.since) <= asked <= release_of(record_type.until or "99"):
            continue
        if record_type.name == "LegacyOffsetCommit" and asked < (4, 1):
            continue
        yield f"{record_type.name}Key", record_type.key
        yield (
            f"{record_type.name}Value",
            next(layout.value for layout in record_type.layouts if release_of(layout.since) <= asked),
        )


def test_the_newest_release_is_compared() -> None:
    assert release_of(RELEASES[-1])[: len(NEWEST)] == NEWEST


def test_no_declaration_of_kafka_is_missing_here() -> None:
    for release in RELEASES:
        ours = {name for name, _ in declared_for(release)}
        theirs = {
            name for name, message in declarations(release).items() if _is_coordinator_record(name, message)
        }
        assert theirs == ours, release


def _is_coordinator_record(name: str, message: dict[str, Any]) -> bool:
    families = (
        "OffsetCommit",
        "GroupMetadata",
        "LegacyOffsetCommit",
        "ConsumerGroup",
        "ShareGroup",
        "StreamsGroup",
    )
    return message["type"] in ("data", "coordinator-key", "coordinator-value") and name.startswith(families)


@pytest.mark.parametrize("release", RELEASES)
def test_every_field_is_as_kafka_declares_it(release: str) -> None:
    theirs, compared = declarations(release), 0
    for name, cls in declared_for(release):
        theirs_rows = list(_kafka_rows(theirs[name]))
        if name.endswith("Key"):
            # Until 4.0 a key's only version was its record type.
            theirs_rows = [(*row[:2], "0", *row[3:]) for row in theirs_rows]
        if name == "LegacyOffsetCommitValue":
            # Type 0 carries any version of the value, though 4.1 declares version 0 alone for it.
            continue
        if release == "3.5.2" and name == "GroupMetadataValue":
            # Absent in version 0 means -1 since 3.6, and 0 before; we say what today's brokers say.
            theirs_rows = [
                (*row[:5], -1) if row[0] == "members.rebalanceTimeout" else row for row in theirs_rows
            ]
        assert list(_our_rows(cls, release_of(release)[:2])) == theirs_rows, (release, name)
        compared += len(theirs_rows)
    assert compared > 30


@pytest.mark.parametrize(
    ("name", "cls"),
    [
        ("ConsumerProtocolSubscription", embedded.ConsumerProtocolSubscription),
        ("ConsumerProtocolAssignment", embedded.ConsumerProtocolAssignment),
        ("SubscriptionInfoData", embedded.SubscriptionInfo),
    ],
)
def test_blobs_that_kafka_declares(name: str, cls: type) -> None:
    theirs = [row for row in _kafka_rows(declarations("4.3.1")[name]) if row[0] != "version"]
    assert list(_our_rows(cls, (4, 3))) == theirs


def _our_rows(
    cls: type, release: tuple[int, ...], path: str = "", within: Versions | None = None
) -> Iterator[Row]:
    within = within or schema_of(cls).versions
    for spec in schema_of(cls).fields:
        if release_of(spec.release) > release:
            continue
        known = _overlap(spec.versions, within)
        name = path + camel(spec.name)
        yield name, _our_kind(spec.shape), _text(known), spec.shape.is_nullable, spec.tag, _our_default(spec)
        inner = spec.shape.part or (spec.shape.element and spec.shape.element.part)
        if inner:
            yield from _our_rows(inner, release, f"{name}.", known)


def _our_kind(shape: Shape) -> str:
    if shape.element is not None:
        return f"[]{_our_kind(shape.element)}"
    return "struct" if shape.part else str(shape.primitive)


def _our_default(spec: FieldSpec) -> object:
    """Return our default of a field as Kafka's JSON states it, where it is not the type's zero."""
    plain = spec.shape.part is None and spec.shape.element is None
    if not plain or spec.default in (None, "", b"", 0, ZERO_UUID):
        return None
    return spec.default


def _kafka_rows(message: dict[str, Any]) -> Iterator[Row]:
    structs = {struct["name"]: struct["fields"] for struct in message.get("commonStructs", [])}
    yield from _fields(message["fields"], structs, "", _range(message["validVersions"]))


def _fields(
    declared: list[dict[str, Any]], structs: dict[str, Any], path: str, within: Versions
) -> Iterator[Row]:
    for field in declared:
        known = _overlap(_range(field.get("versions") or field["taggedVersions"]), within)
        kind, name = field["type"], path + field["name"][0].lower() + field["name"][1:]
        element = kind.removeprefix("[]")
        inner = field.get("fields") or structs.get(element)
        shown = "[]" * kind.startswith("[]") + ("struct" if inner else element)
        yield name, shown, _text(known), "nullableVersions" in field, field.get("tag"), _kafka_default(field)
        if inner:
            yield from _fields(inner, structs, f"{name}.", known)


def _kafka_default(field: dict[str, Any]) -> object:
    """Return Kafka's default of a field if it is a number; the three unquoted nulls have tests of their own."""
    default = field.get("default")
    return None if default in (None, "null", "", 0, "0") else int(default)


def _range(text: str) -> Versions:
    low, dash, high = text.removesuffix("+").partition("-")
    return Versions(int(low), OPEN_END if text.endswith("+") else int(high) if dash else int(low))


def _overlap(first: Versions, second: Versions) -> Versions:
    return Versions(max(first.low, second.low), min(first.high, second.high))


def _text(known: Versions) -> str:
    if known.high == OPEN_END:
        return f"{known.low}+"
    return str(known.low) if known.low == known.high else f"{known.low}-{known.high}"
