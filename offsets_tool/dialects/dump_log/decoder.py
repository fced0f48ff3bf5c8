"""kafka-dump-log's --offsets-decoder: the key and the payload that it prints of a record, by release.

It prints text of its own until 3.7, and Kafka's JSON of all types that the release knows from 3.8 on (KAFKA-16470). A refusal is a
DecodeError with Kafka's words where the tool dies of it, and a printed sentence where the tool continues. To Kafka's JSON the tool
adds one thing: members' blobs of the consumer protocol as JSON, and as base64 where they do not parse.
Source: DumpLogSegments.OffsetsMessageParser.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from offsets_tool.dialects import knowledge
from offsets_tool.dialects.dump_log.text_decoder import (
    DELETE,
    colons,
    group_in_json,
    group_in_raw_json,
    group_in_text,
    name_value_text,
)
from offsets_tool.dialects.output import Printed
from offsets_tool.dialects.serde import CoordinatorRecord, UnknownRecordType, deserialize
from offsets_tool.dialects.unknown_versions import read_any_version
from offsets_tool.dialects.versions import ByRelease, newest
from offsets_tool.errors import DecodeError
from offsets_tool.records.classic import GroupMetadataValue
from offsets_tool.records.embedded import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from offsets_tool.records.kinds import GROUP_METADATA
from offsets_tool.rows import LogRecord
from offsets_tool.wire.json import JsonObject, Release, render, to_json


class DumpDecoder:
    """The decoder of one release."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._decode = newest(_DECODERS, release)

    def decode(self, record: LogRecord) -> Printed:
        """Return what the tool prints of a record's key and value; DecodeError, in Kafka's words, where the tool would die."""
        return self._decode(record, self._release)


def _json(missing_key: str) -> Callable[[LogRecord, Release], Printed]:
    def decode(record: LogRecord, release: Release) -> Printed:
        if record.key is None:
            text = f"Failed to decode message at offset {record.log_offset} using {missing_key} (message had a missing key)"
            raise DecodeError("the record has no key", kafka=text)
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
        return DELETE
    shape = max(0, found.version)
    data = to_json(found.value, shape)
    if found.type_id == GROUP_METADATA:
        expand_group(data, found.value)
    return render({"version": str(found.version), "data": data})


_DECODERS: Final[ByRelease[Callable[[LogRecord, Release], Printed]]] = (
    ((0, 9), colons(group_in_text)),
    ((1, 0), colons(group_in_raw_json)),
    ((1, 0, 1), colons(group_in_json)),
    ((2, 4, 1), name_value_text),
    ((3, 8), _json("offset topic decoder")),
    ((4, 1), _json("the specified decoder")),
)


_KEPT: Final = 1 << 14
"""Distinct blobs whose JSON is remembered: from one rebalance to the next most members keep theirs."""

_CONSUMER: Final = "consumer"
_BLOBS: Final = {"subscription": ConsumerProtocolSubscription, "assignment": ConsumerProtocolAssignment}


def expand_group(data: JsonObject, value: GroupMetadataValue) -> None:
    """Replace subscription and assignment in `data`, the JSON of `value`, if the group's protocol type is `consumer`."""
    if value.protocol_type != _CONSUMER:
        return
    for shown, member in zip(data["members"], value.members, strict=True):
        for name, cls in _BLOBS.items():
            expanded = _expand(cls, getattr(member, name))
            if expanded is not None:
                shown[name] = expanded


@lru_cache(_KEPT)
def _expand(cls: type, blob: bytes) -> JsonObject | None:
    try:
        version = knowledge.prefix(blob)
        return to_json(read_any_version(cls, version, blob), max(0, version))
    except DecodeError:
        return None
