"""Classic groups: record type 2. Declarations only."""

from offsets_tool.wire.schema import (
    Bytes,
    Int32,
    Int64,
    String,
    message,
    part,
    since,
)


@message()
class GroupMetadataKey:
    """A classic group."""

    group: String


@part
class MemberMetadata:
    """A member of a classic group: its identity, its subscription and its assignment (both in its protocol's own bytes)."""

    member_id: String
    group_instance_id: String | None = since("3+", default=None)
    client_id: String
    client_host: String
    rebalance_timeout: Int32 = since("1+", default=-1)
    session_timeout: Int32
    subscription: Bytes
    assignment: Bytes


@message(versions="0-4", flexible="4+")
class GroupMetadataValue:
    """A generation of a classic group: its protocol, leader, members and their assignments."""

    protocol_type: String
    generation: Int32
    protocol: String | None
    leader: String | None
    current_state_timestamp: Int64 = since("2+", default=-1)
    members: tuple[MemberMetadata, ...]
