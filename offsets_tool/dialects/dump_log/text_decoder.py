"""kafka-dump-log's --offsets-decoder up to 3.7: text of the tool's own, for key types 0 to 2.

Until 2.4.0 a null value hides its key, and groups changed from text to JSON on the way (1.0); from 2.4.1 on (KAFKA-9293) a
tombstone says <DELETE>. Every refusal is a DecodeError with the words the tool dies with. Assignments read
`{member=[topic-0, topic-1]:USERDATA,...}`, where user data, and assignments of other protocol types than `consumer`, are
hexadecimal digits of one big number: leading zeros are lost. Source: DumpLogSegments.OffsetsMessageParser, later
GroupMetadataManager.parseGroupMetadata.
"""

from collections.abc import Callable
from typing import Final

from offsets_tool.dialects.consumer_protocol import read_assignment
from offsets_tool.dialects.loaded_group import LoadedGroup, LoadedMember, load_group
from offsets_tool.dialects.output import Printed
from offsets_tool.dialects.scala import map_of
from offsets_tool.dialects.text_records import TextKey, TextReader
from offsets_tool.errors import DecodeError
from offsets_tool.records.kinds import GROUP_METADATA
from offsets_tool.rows import LogRecord
from offsets_tool.wire.json import JsonObject, Release, render
from offsets_tool.wire.text import java_text

DELETE: Final = "<DELETE>"
MISSING_KEY: Final = "Failed to decode message using offset topic decoder (message had a missing key)"


ShowGroup = Callable[[str, LoadedGroup, str], Printed]


def colons(show_group: ShowGroup) -> Callable[[LogRecord, Release], Printed]:
    """Return the decoder of 0.9 to 2.4.0, which puts colons between fields; `show_group` prints a group as the release does."""

    def decode(record: LogRecord, release: Release) -> Printed:
        if record.value is None:
            return Printed()
        if record.key is None:
            raise DecodeError("the record has no key", kafka=MISSING_KEY)
        reader = TextReader(release)
        key = reader.key(record.key)
        assert key is not None
        if key.type_id == GROUP_METADATA:
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


def group_in_text(group_id: str, group: LoadedGroup, assignments: str) -> Printed:
    """Return a group as 0.9 to 0.11 print it: fields with colons between them."""
    protocol = "null" if group.protocol is None else group.protocol
    payload = f"{group.protocol_type or ''}:{protocol}:{group.generation}:{assignments}"
    return Printed(f"metadata::{group_id}", payload)


def group_in_raw_json(group_id: str, group: LoadedGroup, assignments: str) -> Printed:
    """Return a group as 1.0.0 prints it: JSON whose strings are not escaped, as in its Json.encode."""
    fields = _group_fields(group, assignments)
    parts = [f'"{name}":{_raw(value)}' for name, value in fields.items()]
    return Printed(f'{{"metadata":"{group_id}"}}', "{" + ",".join(parts) + "}")


def _raw(value: object) -> str:
    if value is None:
        return "null"
    return f'"{value}"' if isinstance(value, str) else str(value)


def group_in_json(group_id: str, group: LoadedGroup, assignments: str) -> Printed:
    """Return a group as 1.0.1 to 2.4.0 print it: JSON."""
    return Printed(render({"metadata": group_id}), render(_group_fields(group, assignments)))


def _group_fields(group: LoadedGroup, assignments: str) -> JsonObject:
    return {
        "protocolType": group.protocol_type or "",
        "protocol": group.protocol,
        "generationId": group.generation,
        "assignment": assignments,
    }


def name_value_text(record: LogRecord, release: Release) -> Printed:
    """Return a record as 2.4.1 to 3.7 print it: fields as `name=value`."""
    if record.key is None:
        raise DecodeError("the record has no key", kafka=MISSING_KEY)
    reader = TextReader(release)
    key = reader.key(record.key)
    if key is None:
        return Printed(f"unknown::version={int.from_bytes(record.key[:2], 'big', signed=True)}")
    if key.type_id == GROUP_METADATA:
        return Printed(
            f"group_metadata::group={java_text(key.data.group)}",
            _group_text(key, reader, record.value, release),
        )
    data = key.data
    names = f"group={java_text(data.group)},partition={java_text(data.topic)}-{data.partition}"
    return Printed(f"offset_commit::{names}", _offset_text(reader, record.value))


def _offset_text(reader: TextReader, value: bytes | None) -> str:
    if value is None:
        return DELETE
    commit = reader.offset_commit(value)[1]
    metadata = java_text(commit.metadata)
    return f"offset={commit.offset},metadata={metadata}" if metadata else f"offset={commit.offset}"


def _group_text(key: TextKey, reader: TextReader, value: bytes | None, release: Release) -> str:
    if value is None:
        return DELETE
    group = _group(key, reader, value, release)
    return render(_group_fields(group, show_assignments(group, release)))


_CONSUMER: Final = "consumer"
_HEX_WORKS: Final = (0, 10, 1)
_NULL_WORKS: Final = (2, 4, 1)  # KAFKA-9293


def show_assignments(group: LoadedGroup, release: Release) -> str:
    """Return the assignments of a group's members as 0.9 to 3.7 print them. DecodeError, in Kafka's words, where it cannot."""
    ordered = map_of(release).ordered((member.member_id, member) for member in group.members)
    shown = [f"{key}={_assignment(member, group.protocol_type, release)}" for key, member in ordered]
    return "{" + ",".join(shown) + "}"


def _assignment(member: LoadedMember, protocol_type: str | None, release: Release) -> str:
    if protocol_type != _CONSUMER:
        return _hex(member.assignment, release)
    assignment = read_assignment(member.assignment, release)
    partitions = ", ".join(
        f"{java_text(topic.topic)}-{partition}"
        for topic in assignment.assigned_partitions
        for partition in topic.partitions
    )
    user_data = _user_data(assignment.user_data, release)
    return f"[{partitions}]:{user_data}" if user_data else f"[{partitions}]"


def _user_data(user_data: bytes | None, release: Release) -> str:
    if user_data is not None:
        return _hex(user_data, release)
    if release < _NULL_WORKS:
        raise DecodeError("the user data is null", kafka="java.lang.NullPointerException")
    return ""


def _hex(data: bytes, release: Release) -> str:
    if not data:
        return ""
    if release < _HEX_WORKS:
        # Its format string was given a number of Scala's that Java cannot format.
        raise DecodeError("bytes that this release cannot print", kafka="x != scala.math.BigInt")
    return f"{int.from_bytes(data, 'big'):X}"
