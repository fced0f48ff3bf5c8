"""What kinds of records Kafka writes to `__consumer_offsets`, and the releases that this toolkit knows.

The only place with numbers of record types and with the list of releases: all other modules ask here, by family and by role.
Layouts of one value that share a version number are listed newest first. Knows nothing about bytes, rules and output.
"""

from enum import StrEnum
from typing import Final, NamedTuple

from offsets_tool.records import classic, consumer, offsets, share, streams
from offsets_tool.wire.json import Release
from offsets_tool.wire.schema import Schema, schema_of

RELEASES: Final[tuple[Release, ...]] = (
    (0, 8, 2),
    (0, 9, 0),
    (0, 10, 0),
    (0, 10, 1),
    (0, 10, 2),
    (0, 11, 0),
    (1, 0),
    (1, 1),
    *((2, minor) for minor in range(9)),
    *((3, minor) for minor in range(10)),
    *((4, minor) for minor in range(5)),
)
"""All minor releases of Kafka that have this topic, oldest first."""
NEWEST: Final[Release] = RELEASES[-1]


class Family(StrEnum):
    """A family of record types: the offsets of any group, or one kind of group."""

    OFFSETS = "offsets"
    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


class Role(StrEnum):
    """The meaning of a record within its family. Two record types of one family and one role are replayed alike."""

    COMMIT = "commit"
    """A committed offset."""
    GROUP = "group"
    """The group itself: a classic group as a whole, of any other its epoch. Its tombstone deletes the group."""
    TOPICS = "topics"
    """The topics that a group subscribes to, by id and name."""
    MEMBER = "member"
    """Who a member is and what it asks for."""
    TARGET_METADATA = "target_metadata"
    """The epoch of the target assignment."""
    TARGET = "target"
    """What the assignor wants a member to own."""
    CURRENT = "current"
    """What a member owns."""
    EXPRESSION = "expression"
    """The topics that a regular expression stands for."""
    SHARE_PARTITIONS = "share_partitions"
    """The partitions whose share state is initialized."""
    TOPOLOGY = "topology"
    """The topology of a streams application."""


class Layout(NamedTuple):
    """A value's declaration, and the first release (as `X.Y`) that reads and writes it."""

    since: str
    value: type


class RecordType(NamedTuple):
    """A kind of record. `name` is Kafka's (CoordinatorRecordType), as in `OffsetCommit`; `since` and `until` are the first and the
    last release that has it, `tools` is the first whose formatters and dump-log decode it."""

    id: int
    name: str
    family: Family
    role: Role
    key: type
    layouts: tuple[Layout, ...]
    since: str
    until: str
    tools: str


def _type(
    id_: int,
    name: str,
    family: Family,
    role: Role,
    key: type,
    *layouts: tuple[str, type],
    until: str = "",
    tools: str = "",
) -> RecordType:
    since = layouts[-1][0]
    return RecordType(
        id_, name, family, role, key, tuple(Layout(*x) for x in layouts), since, until, tools or since
    )


_TABLE: Final = (
    _type(
        0,
        "LegacyOffsetCommit",
        Family.OFFSETS,
        Role.COMMIT,
        offsets.LegacyOffsetCommitKey,
        ("0.8", offsets.OffsetCommitValue),
        tools="0.8.2",
    ),
    _type(
        1,
        "OffsetCommit",
        Family.OFFSETS,
        Role.COMMIT,
        offsets.OffsetCommitKey,
        ("0.8", offsets.OffsetCommitValue),
        tools="0.9",
    ),
    _type(
        2,
        "GroupMetadata",
        Family.CLASSIC,
        Role.GROUP,
        classic.GroupMetadataKey,
        ("0.9", classic.GroupMetadataValue),
    ),
    _type(
        3,
        "ConsumerGroupMetadata",
        Family.CONSUMER,
        Role.GROUP,
        consumer.ConsumerGroupMetadataKey,
        ("3.5", consumer.ConsumerGroupMetadataValue),
        tools="3.8",
    ),
    _type(
        4,
        "ConsumerGroupPartitionMetadata",
        Family.CONSUMER,
        Role.TOPICS,
        consumer.ConsumerGroupPartitionMetadataKey,
        ("3.8", consumer.ConsumerGroupPartitionMetadataValue),
        ("3.6", consumer.ConsumerGroupPartitionMetadataValueV36),
        ("3.5", consumer.ConsumerGroupPartitionMetadataValueV35),
        tools="3.8",
    ),
    _type(
        5,
        "ConsumerGroupMemberMetadata",
        Family.CONSUMER,
        Role.MEMBER,
        consumer.ConsumerGroupMemberMetadataKey,
        ("3.8", consumer.ConsumerGroupMemberMetadataValue),
        ("3.6", consumer.ConsumerGroupMemberMetadataValueV36),
        ("3.5", consumer.ConsumerGroupMemberMetadataValueV35),
        tools="3.8",
    ),
    _type(
        6,
        "ConsumerGroupTargetAssignmentMetadata",
        Family.CONSUMER,
        Role.TARGET_METADATA,
        consumer.ConsumerGroupTargetAssignmentMetadataKey,
        ("3.5", consumer.ConsumerGroupTargetAssignmentMetadataValue),
        tools="3.8",
    ),
    _type(
        7,
        "ConsumerGroupTargetAssignmentMember",
        Family.CONSUMER,
        Role.TARGET,
        consumer.ConsumerGroupTargetAssignmentMemberKey,
        ("3.8", consumer.ConsumerGroupTargetAssignmentMemberValue),
        ("3.5", consumer.ConsumerGroupTargetAssignmentMemberValueV35),
        tools="3.8",
    ),
    _type(
        8,
        "ConsumerGroupCurrentMemberAssignment",
        Family.CONSUMER,
        Role.CURRENT,
        consumer.ConsumerGroupCurrentMemberAssignmentKey,
        ("3.8", consumer.ConsumerGroupCurrentMemberAssignmentValue),
        ("3.6", consumer.ConsumerGroupCurrentMemberAssignmentValueV36),
        ("3.5", consumer.ConsumerGroupCurrentMemberAssignmentValueV35),
        tools="3.8",
    ),
    _type(
        9,
        "ShareGroupPartitionMetadata",
        Family.SHARE,
        Role.TOPICS,
        share.ShareGroupPartitionMetadataKey,
        ("4.0", share.ShareGroupPartitionMetadataValue),
        ("3.9", share.ShareGroupPartitionMetadataValueV39),
        until="4.0",
        tools="4.0",
    ),
    _type(
        10,
        "ShareGroupMemberMetadata",
        Family.SHARE,
        Role.MEMBER,
        share.ShareGroupMemberMetadataKey,
        ("3.9", share.ShareGroupMemberMetadataValue),
        tools="4.0",
    ),
    _type(
        11,
        "ShareGroupMetadata",
        Family.SHARE,
        Role.GROUP,
        share.ShareGroupMetadataKey,
        ("4.1", share.ShareGroupMetadataValue),
        ("3.9", share.ShareGroupMetadataValueV39),
        tools="4.0",
    ),
    _type(
        12,
        "ShareGroupTargetAssignmentMetadata",
        Family.SHARE,
        Role.TARGET_METADATA,
        share.ShareGroupTargetAssignmentMetadataKey,
        ("4.0", share.ShareGroupTargetAssignmentMetadataValue),
    ),
    _type(
        13,
        "ShareGroupTargetAssignmentMember",
        Family.SHARE,
        Role.TARGET,
        share.ShareGroupTargetAssignmentMemberKey,
        ("4.0", share.ShareGroupTargetAssignmentMemberValue),
    ),
    _type(
        14,
        "ShareGroupCurrentMemberAssignment",
        Family.SHARE,
        Role.CURRENT,
        share.ShareGroupCurrentMemberAssignmentKey,
        ("4.0", share.ShareGroupCurrentMemberAssignmentValue),
    ),
    _type(
        15,
        "ShareGroupStatePartitionMetadata",
        Family.SHARE,
        Role.SHARE_PARTITIONS,
        share.ShareGroupStatePartitionMetadataKey,
        ("4.1", share.ShareGroupStatePartitionMetadataValue),
        ("4.0", share.ShareGroupStatePartitionMetadataValueV40),
    ),
    _type(
        16,
        "ConsumerGroupRegularExpression",
        Family.CONSUMER,
        Role.EXPRESSION,
        consumer.ConsumerGroupRegularExpressionKey,
        ("4.0", consumer.ConsumerGroupRegularExpressionValue),
    ),
    _type(
        17,
        "StreamsGroupMetadata",
        Family.STREAMS,
        Role.GROUP,
        streams.StreamsGroupMetadataKey,
        ("4.1", streams.StreamsGroupMetadataValue),
    ),
    # Lived on Kafka's trunk from December 2024 to June 2025, in no release: `until` before `since` says so.
    _type(
        18,
        "StreamsGroupPartitionMetadata",
        Family.STREAMS,
        Role.TOPICS,
        streams.StreamsGroupPartitionMetadataKey,
        ("4.1", streams.StreamsGroupPartitionMetadataValue),
        until="4.0",
    ),
    _type(
        19,
        "StreamsGroupMemberMetadata",
        Family.STREAMS,
        Role.MEMBER,
        streams.StreamsGroupMemberMetadataKey,
        ("4.1", streams.StreamsGroupMemberMetadataValue),
    ),
    _type(
        20,
        "StreamsGroupTargetAssignmentMetadata",
        Family.STREAMS,
        Role.TARGET_METADATA,
        streams.StreamsGroupTargetAssignmentMetadataKey,
        ("4.1", streams.StreamsGroupTargetAssignmentMetadataValue),
    ),
    _type(
        21,
        "StreamsGroupTargetAssignmentMember",
        Family.STREAMS,
        Role.TARGET,
        streams.StreamsGroupTargetAssignmentMemberKey,
        ("4.1", streams.StreamsGroupTargetAssignmentMemberValue),
    ),
    _type(
        22,
        "StreamsGroupCurrentMemberAssignment",
        Family.STREAMS,
        Role.CURRENT,
        streams.StreamsGroupCurrentMemberAssignmentKey,
        ("4.1", streams.StreamsGroupCurrentMemberAssignmentValue),
    ),
    _type(
        23,
        "StreamsGroupTopology",
        Family.STREAMS,
        Role.TOPOLOGY,
        streams.StreamsGroupTopologyKey,
        ("4.1", streams.StreamsGroupTopologyValue),
    ),
)

RECORD_TYPES: Final[dict[int, RecordType]] = {each.id: each for each in _TABLE}


def types_of(*roles: Role, family: tuple[Family, ...] = tuple(Family)) -> frozenset[int]:
    """Return the ids of record types by role and family; without roles, of every role."""
    return frozenset(
        each.id for each in _TABLE if each.family in family and (not roles or each.role in roles)
    )


def _lists_of_names(type_: RecordType) -> tuple[str, ...]:
    """Return the names of a value's fields, in all its layouts, that list topics with id and name."""
    found = (
        field.name
        for layout in type_.layouts
        for field in schema_of(layout.value).fields
        if field.shape.element is not None and field.shape.element.part is not None
        if _has_names(schema_of(field.shape.element.part))
    )
    return tuple(dict.fromkeys(found))


def _has_names(part: Schema) -> bool:
    return {"topic_id", "topic_name"} <= {field.name for field in part.fields}


LEGACY_OFFSET_COMMIT: Final = 0
"""The record type of a commit of 0.8.2."""
OFFSET_COMMIT: Final = 1
"""The record type of a commit."""
GROUP_METADATA: Final = 2
"""The record type of a classic group."""
COMMITS: Final = types_of(Role.COMMIT)
"""The record types of commits, whose fields are columns of their own wherever there are columns."""
CLASSIC_TYPES: Final = types_of(family=(Family.OFFSETS, Family.CLASSIC))
"""The record types that a classic coordinator writes; from any other one the log is known to be a new coordinator's."""
TOPIC_LISTS: Final[dict[int, tuple[str, ...]]] = {
    each.id: lists for each in _TABLE if (lists := _lists_of_names(each))
}
"""By record type, the fields of its values that list topics with id and name: what names of ids are learned from."""
