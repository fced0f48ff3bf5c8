"""The members' assignments as kafka-dump-log of 0.9 to 3.7 prints them: `{member=[topic-0, topic-1]:USERDATA,...}`.

User data, and assignments of other protocol types than `consumer`, are hexadecimal digits of one big number: leading zeros are
lost. Source: Kafka's DumpLogSegments.OffsetsMessageParser, later GroupMetadataManager.parseGroupMetadata.
"""

from typing import Final

from offsets_tool.dialects.consumer_protocol import read_assignment
from offsets_tool.dialects.loaded_group import LoadedGroup, LoadedMember
from offsets_tool.dialects.scala import map_of
from offsets_tool.errors import DecodeError
from offsets_tool.wire.json import Release
from offsets_tool.wire.text import java_text

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
