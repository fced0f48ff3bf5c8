"""The one thing kafka-dump-log's JSON (3.8 and later) adds to Kafka's converters: members' blobs of the consumer protocol as JSON.

A blob that does not parse stays base64. Source: DumpLogSegments.OffsetsMessageParser.prepareGroupMetadataValue.
"""

from functools import lru_cache
from typing import Final

from offsets_tool.dialects import knowledge
from offsets_tool.dialects.unknown_versions import read_any_version
from offsets_tool.errors import DecodeError
from offsets_tool.records.classic import GroupMetadataValue
from offsets_tool.records.embedded import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from offsets_tool.wire.json import JsonObject, to_json

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
