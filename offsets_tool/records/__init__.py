"""What Kafka writes to `__consumer_offsets`: one table from record type to key, value and the releases that know them.

`RECORD_TYPES` is the only list of record types. Layouts of one value that share a version number are listed newest first; `since`
is the first release whose code has that layout. A type with `until` was retired after that release.
"""

from typing import NamedTuple

from offsets_tool.records import classic, consumer, offsets, share, streams


class Layout(NamedTuple):
    """A value's declaration, and the first release (as `X.Y`) that reads and writes it."""

    since: str
    value: type


class RecordType(NamedTuple):
    """A kind of record. `name` is Kafka's (CoordinatorRecordType), as in `OffsetCommit`."""

    id: int
    name: str
    key: type
    layouts: tuple[Layout, ...]
    since: str
    until: str = ""


def _type(id_: int, name: str, key: type, *layouts: tuple[str, type], until: str = "") -> RecordType:
    return RecordType(id_, name, key, tuple(Layout(*x) for x in layouts), layouts[-1][0], until)


_TABLE = (
    _type(0, "LegacyOffsetCommit", offsets.LegacyOffsetCommitKey, ("0.8", offsets.OffsetCommitValue)),
    _type(1, "OffsetCommit", offsets.OffsetCommitKey, ("0.8", offsets.OffsetCommitValue)),
    _type(2, "GroupMetadata", classic.GroupMetadataKey, ("0.9", classic.GroupMetadataValue)),
    _type(
        3,
        "ConsumerGroupMetadata",
        consumer.ConsumerGroupMetadataKey,
        ("3.5", consumer.ConsumerGroupMetadataValue),
    ),
    _type(
        4,
        "ConsumerGroupPartitionMetadata",
        consumer.ConsumerGroupPartitionMetadataKey,
        ("3.8", consumer.ConsumerGroupPartitionMetadataValue),
        ("3.6", consumer.ConsumerGroupPartitionMetadataValueV36),
        ("3.5", consumer.ConsumerGroupPartitionMetadataValueV35),
    ),
    _type(
        5,
        "ConsumerGroupMemberMetadata",
        consumer.ConsumerGroupMemberMetadataKey,
        ("3.8", consumer.ConsumerGroupMemberMetadataValue),
        ("3.6", consumer.ConsumerGroupMemberMetadataValueV36),
        ("3.5", consumer.ConsumerGroupMemberMetadataValueV35),
    ),
    _type(
        6,
        "ConsumerGroupTargetAssignmentMetadata",
        consumer.ConsumerGroupTargetAssignmentMetadataKey,
        ("3.5", consumer.ConsumerGroupTargetAssignmentMetadataValue),
    ),
    _type(
        7,
        "ConsumerGroupTargetAssignmentMember",
        consumer.ConsumerGroupTargetAssignmentMemberKey,
        ("3.8", consumer.ConsumerGroupTargetAssignmentMemberValue),
        ("3.5", consumer.ConsumerGroupTargetAssignmentMemberValueV35),
    ),
    _type(
        8,
        "ConsumerGroupCurrentMemberAssignment",
        consumer.ConsumerGroupCurrentMemberAssignmentKey,
        ("3.8", consumer.ConsumerGroupCurrentMemberAssignmentValue),
        ("3.6", consumer.ConsumerGroupCurrentMemberAssignmentValueV36),
        ("3.5", consumer.ConsumerGroupCurrentMemberAssignmentValueV35),
    ),
    _type(
        9,
        "ShareGroupPartitionMetadata",
        share.ShareGroupPartitionMetadataKey,
        ("4.0", share.ShareGroupPartitionMetadataValue),
        ("3.9", share.ShareGroupPartitionMetadataValueV39),
        until="4.0",
    ),
    _type(
        10,
        "ShareGroupMemberMetadata",
        share.ShareGroupMemberMetadataKey,
        ("3.9", share.ShareGroupMemberMetadataValue),
    ),
    _type(
        11,
        "ShareGroupMetadata",
        share.ShareGroupMetadataKey,
        ("4.1", share.ShareGroupMetadataValue),
        ("3.9", share.ShareGroupMetadataValueV39),
    ),
    _type(
        12,
        "ShareGroupTargetAssignmentMetadata",
        share.ShareGroupTargetAssignmentMetadataKey,
        ("4.0", share.ShareGroupTargetAssignmentMetadataValue),
    ),
    _type(
        13,
        "ShareGroupTargetAssignmentMember",
        share.ShareGroupTargetAssignmentMemberKey,
        ("4.0", share.ShareGroupTargetAssignmentMemberValue),
    ),
    _type(
        14,
        "ShareGroupCurrentMemberAssignment",
        share.ShareGroupCurrentMemberAssignmentKey,
        ("4.0", share.ShareGroupCurrentMemberAssignmentValue),
    ),
    _type(
        15,
        "ShareGroupStatePartitionMetadata",
        share.ShareGroupStatePartitionMetadataKey,
        ("4.1", share.ShareGroupStatePartitionMetadataValue),
        ("4.0", share.ShareGroupStatePartitionMetadataValueV40),
    ),
    _type(
        16,
        "ConsumerGroupRegularExpression",
        consumer.ConsumerGroupRegularExpressionKey,
        ("4.0", consumer.ConsumerGroupRegularExpressionValue),
    ),
    _type(
        17,
        "StreamsGroupMetadata",
        streams.StreamsGroupMetadataKey,
        ("4.1", streams.StreamsGroupMetadataValue),
    ),
    # Lived on Kafka's trunk from December 2024 to June 2025, in no release: `until` before `since` says so.
    _type(
        18,
        "StreamsGroupPartitionMetadata",
        streams.StreamsGroupPartitionMetadataKey,
        ("4.1", streams.StreamsGroupPartitionMetadataValue),
        until="4.0",
    ),
    _type(
        19,
        "StreamsGroupMemberMetadata",
        streams.StreamsGroupMemberMetadataKey,
        ("4.1", streams.StreamsGroupMemberMetadataValue),
    ),
    _type(
        20,
        "StreamsGroupTargetAssignmentMetadata",
        streams.StreamsGroupTargetAssignmentMetadataKey,
        ("4.1", streams.StreamsGroupTargetAssignmentMetadataValue),
    ),
    _type(
        21,
        "StreamsGroupTargetAssignmentMember",
        streams.StreamsGroupTargetAssignmentMemberKey,
        ("4.1", streams.StreamsGroupTargetAssignmentMemberValue),
    ),
    _type(
        22,
        "StreamsGroupCurrentMemberAssignment",
        streams.StreamsGroupCurrentMemberAssignmentKey,
        ("4.1", streams.StreamsGroupCurrentMemberAssignmentValue),
    ),
    _type(
        23,
        "StreamsGroupTopology",
        streams.StreamsGroupTopologyKey,
        ("4.1", streams.StreamsGroupTopologyValue),
    ),
)

RECORD_TYPES: dict[int, RecordType] = {t.id: t for t in _TABLE}
