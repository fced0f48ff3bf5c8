"""The one thing kafka-dump-log's JSON (3.8 and later) adds to Kafka's converters: members' blobs of the consumer protocol as JSON.

A blob that does not parse stays base64. Source: DumpLogSegments.OffsetsMessageParser.prepareGroupMetadataValue.
"""

from typing import Any, Final

from offsets_tool.dialects import knowledge
from offsets_tool.dialects.serde import unknown_version_refused
from offsets_tool.errors import DecodeError
from offsets_tool.records.classic import GroupMetadataValue
from offsets_tool.records.embedded import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from offsets_tool.wire import walk
from offsets_tool.wire.json import to_json

_CONSUMER: Final = "consumer"
_BLOBS: Final = {"subscription": ConsumerProtocolSubscription, "assignment": ConsumerProtocolAssignment}


def expand_group(data: dict[str, Any], value: GroupMetadataValue) -> None:
    """Replaces subscription and assignment in `data`, the JSON of `value`, if the group's protocol type is `consumer`."""
    if value.protocol_type != _CONSUMER:
        return
    for shown, member in zip(data["members"], value.members, strict=True):
        for name, cls in _BLOBS.items():
            expanded = _expand(cls, getattr(member, name))
            if expanded is not None:
                shown[name] = expanded


def _expand(cls: type, blob: bytes) -> dict[str, Any] | None:
    try:
        version = max(0, knowledge.prefix(blob))
        message = walk.decode(cls, version, blob, 2).message
    except DecodeError:
        return None
    if unknown_version_refused(message, version):
        return None
    return to_json(message, version)
