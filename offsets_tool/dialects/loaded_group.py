"""A classic group as Kafka's tools of 0.9 to 3.9 load it before they print it, and what that loading refuses.

Strings are what Java shows. Source: Kafka's GroupMetadataManager.readGroupMessageValue, GroupMetadata.loadGroup and add.
"""

from typing import Final, NamedTuple

from offsets_tool.dialects.consumer_protocol import refused_subscription
from offsets_tool.dialects.scala import map_of, option
from offsets_tool.errors import DecodeError
from offsets_tool.records.classic import GroupMetadataValue, MemberMetadata
from offsets_tool.wire.json import Release
from offsets_tool.wire.text import java_text

_CONSUMER: Final = "consumer"
_STATES_AND_OPTIONS: Final = (0, 10, 1)
"""Since then an empty group is Empty, and until 1.0.1 has no protocol type whatever its record says (KAFKA-6287)."""
_KEEPS_PROTOCOL_TYPE: Final = (1, 0, 1)
_COUNTS_PROTOCOLS: Final = (2, 1)
_NULL_IS_NO_INSTANCE: Final = (2, 8)
_STATIC_MEMBERS_ONCE: Final = (3, 0)
_READS_SUBSCRIPTIONS: Final = (2, 4)


class LoadedMember(NamedTuple):
    """A member as Kafka's MemberMetadata prints it; `instance_id` is a printed Option of Scala, `protocol` may be `null`."""

    member_id: str
    instance_id: str
    client_id: str
    client_host: str
    session_timeout: int
    rebalance_timeout: int
    protocol: str
    subscription: bytes
    assignment: bytes


class LoadedGroup(NamedTuple):
    """A group as Kafka's GroupMetadata prints it; `members` are as the record lists them, even one that is listed twice."""

    group_id: str
    generation: int
    protocol_type: str | None
    protocol: str | None
    state: str
    members: tuple[LoadedMember, ...]


def load_group(group_id: str, version: int, value: GroupMetadataValue, release: Release) -> LoadedGroup:
    """Return a group as a release's coordinator loads it; DecodeError with Kafka's words where it decodes but cannot be loaded."""
    members = tuple(_member(member, value, version, release) for member in value.members)
    group = LoadedGroup(
        group_id,
        value.generation,
        _protocol_type(value, release),
        None if value.protocol is None else java_text(value.protocol),
        "Empty" if not members and release >= _STATES_AND_OPTIONS else "Stable",
        members,
    )
    refusal = _refused_members(group, value, release) or _refused_subscription(group, release)
    if refusal is not None:
        raise DecodeError("Kafka cannot load this group", kafka=refusal)
    return group


def _member(
    member: MemberMetadata, value: GroupMetadataValue, version: int, release: Release
) -> LoadedMember:
    return LoadedMember(
        java_text(member.member_id),
        _instance_id(member, version, release),
        java_text(member.client_id),
        java_text(member.client_host),
        member.session_timeout,
        member.session_timeout if version == 0 else member.rebalance_timeout,
        _or_null(value.protocol),
        member.subscription,
        member.assignment,
    )


def _instance_id(member: MemberMetadata, version: int, release: Release) -> str:
    if member.group_instance_id is None and version >= 3 and release < _NULL_IS_NO_INSTANCE:
        return "Some(null)"
    return option(None if member.group_instance_id is None else java_text(member.group_instance_id))


def _or_null(text: str | None) -> str:
    return "null" if text is None else java_text(text)


def _protocol_type(value: GroupMetadataValue, release: Release) -> str | None:
    if value.members or release < _STATES_AND_OPTIONS:
        return java_text(value.protocol_type)
    return java_text(value.protocol_type) or None if release >= _KEEPS_PROTOCOL_TYPE else None


def _refused_members(group: LoadedGroup, value: GroupMetadataValue, release: Release) -> str | None:
    """Return what Kafka throws when it adds the members one by one; None if it does not throw."""
    if release < _COUNTS_PROTOCOLS:
        return None
    added: set[str] = set()
    instances: set[str] = set()
    came_twice = False
    for member, stored in zip(group.members, value.members, strict=True):
        if stored.group_instance_id is not None and release >= _STATIC_MEMBERS_ONCE:
            instance_id = java_text(stored.group_instance_id)
            if instance_id in instances:
                return _static_twice(instance_id, group.group_id)
            instances.add(instance_id)
        # Every member supports the one protocol, so Kafka's count is wrong only once a member has come twice.
        if came_twice:
            return "assertion failed"
        came_twice = member.member_id in added
        added.add(member.member_id)
    return None


def _static_twice(instance_id: str, group_id: str) -> str:
    return (
        f"Static member with groupInstanceId={instance_id} cannot be added to group {group_id} "
        "since it is already a member"
    )


def _refused_subscription(group: LoadedGroup, release: Release) -> str | None:
    if release < _READS_SUBSCRIPTIONS or group.protocol_type != _CONSUMER or group.protocol is None:
        return None
    ordered = map_of(release).ordered((member.member_id, member.subscription) for member in group.members)
    return refused_subscription((subscription for _, subscription in ordered), release)
