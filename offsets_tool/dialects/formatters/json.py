"""The JSON formatters of Kafka's tools (package org.apache.kafka.tools.consumer), 3.9 and later, byte for byte.

Three shapes of one idea: 3.9 and 4.0 read key and value with the one message they expect, 4.1 decodes the whole record first and
then looks whether it is wanted. No newline follows a record in any of them.
"""

from collections.abc import Callable
from typing import Final

from offsets_tool.dialects import knowledge
from offsets_tool.dialects.output import NOTHING, Output
from offsets_tool.dialects.refusals import trace_head
from offsets_tool.dialects.serde import UnknownRecordType, deserialize
from offsets_tool.dialects.versions import ByRelease, newest
from offsets_tool.errors import DecodeError
from offsets_tool.records.kinds import (
    CLASSIC_TYPES,
    COMMITS,
    GROUP_METADATA,
    OFFSET_COMMIT,
    RECORD_TYPES,
    Family,
    types_of,
)
from offsets_tool.rows import LogRecord
from offsets_tool.wire.json import JsonObject, Release, render, text_in_json, to_json

_OFFSETS: Final = "offsets"
_GROUP_METADATA: Final = "group-metadata"
_WANTED: Final = {
    _OFFSETS: COMMITS,
    _GROUP_METADATA: frozenset({GROUP_METADATA}),
    # ShareGroupMessageFormatter has no case for the type that was retired before it came.
    "share-group": frozenset(n for n in types_of(family=(Family.SHARE,)) if not RECORD_TYPES[n].until),
}
_VALUE_TYPE: Final = {_OFFSETS: OFFSET_COMMIT, _GROUP_METADATA: GROUP_METADATA}
_UNKNOWN: Final = "unknown"


class JsonFormatter:
    """OffsetsMessageFormatter, GroupMetadataMessageFormatter or ShareGroupMessageFormatter of one release."""

    def __init__(self, kind: str, release: Release) -> None:
        self._kind = kind
        self._release = release
        self._read = newest(_FAMILIES, release)

    def text(self, text: str) -> str:
        return text_in_json(text)

    def format(self, record: LogRecord) -> Output:
        try:
            found = self._read(record, self._kind, self._release)
        except DecodeError as error:
            return Output(error=trace_head(error.kafka))
        return NOTHING if found is None else Output(render(found).encode())


def _read_39(record: LogRecord, kind: str, release: Release) -> JsonObject | None:
    """Return what the formatters of Kafka 3.9 print for a record; None if it is of another known kind.

    Unlike later releases they also print unknown record types and records without a key, reading the value as the wanted kind.
    """
    key = None
    if record.key is not None:
        type_id = knowledge.prefix(record.key)
        known = knowledge.knows(type_id, release) and type_id in CLASSIC_TYPES
        data = knowledge.read_key(type_id, release, record.key) if known else None
        if known and type_id not in _WANTED[kind]:
            return None
        key = {"version": type_id, "data": _UNKNOWN if data is None else to_json(data, 0)}
    return {"key": key, "value": _lenient_value(record, kind, release)}


def _read_40(record: LogRecord, kind: str, release: Release) -> JsonObject | None:
    if record.key is None:
        return None
    type_id = knowledge.prefix(record.key)
    if type_id not in _WANTED[kind]:
        return None
    key = {"type": type_id, "data": to_json(knowledge.read_key(type_id, release, record.key), 0)}
    return {"key": key, "value": _lenient_value(record, kind, release)}


def _lenient_value(record: LogRecord, kind: str, release: Release) -> JsonObject | None:
    if record.value is None:
        return None
    version = knowledge.prefix(record.value)
    type_id = _VALUE_TYPE[kind]
    if not knowledge.reads_version(type_id, release, version):
        return {"version": version, "data": _UNKNOWN}
    value = knowledge.read_value(type_id, release, version, record.value)
    return {"version": version, "data": to_json(value, version)}


def _read_41(record: LogRecord, kind: str, release: Release) -> JsonObject | None:
    if record.key is None:
        return None
    try:
        found = deserialize(record.key, record.value, release)
    except UnknownRecordType:
        return None
    except DecodeError as error:
        text = f"Could not read record at offset {record.log_offset} due to: {error.kafka}"
        raise DecodeError(error.reason, kafka=text) from error
    if found.type_id not in _WANTED[kind]:
        return None
    value = None
    if found.version is not None:
        value = {"version": found.version, "data": to_json(found.value, found.version)}
    return {"key": {"type": found.type_id, "data": to_json(found.key, 0)}, "value": value}


_FAMILIES: Final[ByRelease[Callable[[LogRecord, str, Release], JsonObject | None]]] = (
    ((3, 9), _read_39),
    ((4, 0), _read_40),
    ((4, 1), _read_41),
)
