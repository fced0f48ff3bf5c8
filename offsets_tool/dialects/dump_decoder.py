"""kafka-dump-log's --offsets-decoder: what is printed as key and payload of a record, by release.

Text of the tool's own until 3.7 (which knows key types 0 to 2), Kafka's JSON from 3.8 on (all types the release knows). A refusal
is a DecodeError with Kafka's words where the tool dies of it, and a printed sentence where it goes on.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from offsets_tool.dialects.assignments import show_assignments
from offsets_tool.dialects.expanded_group import expand_group
from offsets_tool.dialects.loaded_group import LoadedGroup, load_group
from offsets_tool.dialects.serde import CoordinatorRecord, UnknownRecordType, deserialize
from offsets_tool.dialects.text_records import TextKey, TextReader
from offsets_tool.dialects.versions import Release, Table, newest
from offsets_tool.errors import DecodeError
from offsets_tool.rows import LogRecord
from offsets_tool.wire.json import render, to_json
from offsets_tool.wire.text import java_text

_GROUP_METADATA: Final = 2
_DELETE: Final = "<DELETE>"


class Printed(NamedTuple):
    """What stands after `key:` and `payload:`; None where the word itself is missing."""

    key: str | None = None
    payload: str | None = None


class DumpDecoder:
    """The decoder of one release."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._decode = newest(_DECODERS, release)

    def decode(self, record: LogRecord) -> Printed:
        """Raises DecodeError with Kafka's words where the tool would die."""
        return self._decode(record, self._release)


def _missing_key(text: str) -> DecodeError:
    return DecodeError("the record has no key", kafka=text)


_TEXT_MISSING_KEY: Final = "Failed to decode message using offset topic decoder (message had a missing key)"


# ---- text, where a null value hides its key (0.9 to 2.4.0)

ShowGroup = Callable[[str, LoadedGroup, str], Printed]


def _colons(show_group: ShowGroup) -> Callable[[LogRecord, Release], Printed]:
    def decode(record: LogRecord, release: Release) -> Printed:
        if record.value is None:
            return Printed()
        if record.key is None:
            raise _missing_key(_TEXT_MISSING_KEY)
        reader = TextReader(release)
        key = reader.key(record.key)
        assert key is not None
        if key.type_id == _GROUP_METADATA:
            group = _group(key, reader, record.value, release)
            return show_group(group.group_id, group, show_assignments(group, release))
        value = reader.offset_commit(record.value)[1]
        metadata = java_text(value.metadata)
        names = f"{java_text(key.data.group)}:{java_text(key.data.topic)}:{key.data.partition}"
        return Printed(f"offset::{names}", f"{value.offset}:{metadata}" if metadata else str(value.offset))

    return decode


def _group(key: TextKey, reader: TextReader, value: bytes, release: Release) -> LoadedGroup:
    version, metadata = reader.group_metadata(value)
    return load_group(java_text(key.data.group), version, metadata, release)


def _group_in_text(group_id: str, group: LoadedGroup, assignments: str) -> Printed:
    protocol = "null" if group.protocol is None else group.protocol
    payload = f"{group.protocol_type or ''}:{protocol}:{group.generation}:{assignments}"
    return Printed(f"metadata::{group_id}", payload)


def _group_in_raw_json(group_id: str, group: LoadedGroup, assignments: str) -> Printed:
    """Kafka's Json.encode put strings between quotes as they were."""
    fields = _group_fields(group, assignments)
    parts = [f'"{name}":{_raw(value)}' for name, value in fields.items()]
    return Printed(f'{{"metadata":"{group_id}"}}', "{" + ",".join(parts) + "}")


def _raw(value: object) -> str:
    if value is None:
        return "null"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _group_in_json(group_id: str, group: LoadedGroup, assignments: str) -> Printed:
    return Printed(render({"metadata": group_id}), render(_group_fields(group, assignments)))


def _group_fields(group: LoadedGroup, assignments: str) -> dict[str, Any]:
    return {
        "protocolType": group.protocol_type or "",
        "protocol": group.protocol,
        "generationId": group.generation,
        "assignment": assignments,
    }


# ---- text with <DELETE> (2.4.1 to 3.7)


def _named(record: LogRecord, release: Release) -> Printed:
    if record.key is None:
        raise _missing_key(_TEXT_MISSING_KEY)
    reader = TextReader(release)
    key = reader.key(record.key)
    if key is None:
        return Printed(f"unknown::version={int.from_bytes(record.key[:2], 'big', signed=True)}")
    if key.type_id == _GROUP_METADATA:
        return Printed(
            f"group_metadata::group={java_text(key.data.group)}",
            _named_group(key, reader, record.value, release),
        )
    data = key.data
    names = f"group={java_text(data.group)},partition={java_text(data.topic)}-{data.partition}"
    return Printed(f"offset_commit::{names}", _named_offset(reader, record.value))


def _named_offset(reader: TextReader, value: bytes | None) -> str:
    if value is None:
        return _DELETE
    commit = reader.offset_commit(value)[1]
    metadata = java_text(commit.metadata)
    return f"offset={commit.offset},metadata={metadata}" if metadata else f"offset={commit.offset}"


def _named_group(key: TextKey, reader: TextReader, value: bytes | None, release: Release) -> str:
    if value is None:
        return _DELETE
    group = _group(key, reader, value, release)
    return render(_group_fields(group, show_assignments(group, release)))


# ---- JSON (3.8 and later)


def _json(missing_key: str) -> Callable[[LogRecord, Release], Printed]:
    def decode(record: LogRecord, release: Release) -> Printed:
        if record.key is None:
            text = f"Failed to decode message at offset {record.log_offset} using {missing_key} (message had a missing key)"
            raise _missing_key(text)
        try:
            found = deserialize(record.key, record.value, release)
        except UnknownRecordType as unknown:
            return Printed(f"Unknown record type {unknown.type_id} at offset {record.log_offset}, skipping.")
        except DecodeError as error:
            return Printed(f"Error at offset {record.log_offset}, skipping. {error.kafka}")
        return Printed(_json_key(found), _json_value(found))

    return decode


def _json_key(found: CoordinatorRecord) -> str:
    return render({"type": str(found.type_id), "data": to_json(found.key, 0)})


def _json_value(found: CoordinatorRecord) -> str:
    if found.version is None:
        return _DELETE
    shape = max(0, found.version)
    data = to_json(found.value, shape)
    if found.type_id == _GROUP_METADATA:
        expand_group(data, found.value)
    return render({"version": str(found.version), "data": data})


_DECODERS: Final[Table[Callable[[LogRecord, Release], Printed]]] = (
    ((0, 9), _colons(_group_in_text)),
    ((1, 0), _colons(_group_in_raw_json)),
    ((1, 0, 1), _colons(_group_in_json)),
    ((2, 4, 1), _named),
    ((3, 8), _json("offset topic decoder")),
    ((4, 1), _json("the specified decoder")),
)
