"""KIP-848 consumer groups: record types 3-8 and 16. Today's layouts first; those of 3.5-3.7, which share version 0, below them."""

from offsets_tool.wire.schema import (
    Bytes,
    Int8,
    Int16,
    Int32,
    Int64,
    String,
    Uuid,
    message,
    part,
    since,
)


@message()
class ConsumerGroupMetadataKey:
    """A consumer group."""

    group_id: String


@message(flexible="0+")
class ConsumerGroupMetadataValue:
    """The group epoch: rises with every change of members, subscriptions or topics."""

    epoch: Int32
    metadata_hash: Int64 = since(tag=0, default=0, release="4.1")


@message()
class ConsumerGroupPartitionMetadataKey:
    """A consumer group."""

    group_id: String


@part
class PartitionMetadata:
    """A partition and the racks of its replicas."""

    partition: Int32
    racks: tuple[String, ...]


@part
class TopicMetadata:
    """A subscribed topic as the coordinator knew it."""

    topic_id: Uuid
    topic_name: String
    num_partitions: Int32
    partition_metadata: tuple[PartitionMetadata, ...]


@message(flexible="0+")
class ConsumerGroupPartitionMetadataValue:
    """The subscribed topics and their partitions (written up to 4.0; later only as tombstones)."""

    topics: tuple[TopicMetadata, ...]


@message()
class ConsumerGroupMemberMetadataKey:
    """A member of a consumer group."""

    group_id: String
    member_id: String


@part
class ClassicProtocol:
    """An assignment strategy offered by a member that speaks the classic protocol, with its subscription."""

    name: String
    metadata: Bytes


@part
class ClassicMemberMetadata:
    """Data that a consumer group keeps of a member that speaks the classic protocol."""

    session_timeout_ms: Int32
    supported_protocols: tuple[ClassicProtocol, ...]


@message(flexible="0+")
class ConsumerGroupMemberMetadataValue:
    """A member: client, host, subscription, assignor. Null classic metadata marks a native member."""

    instance_id: String | None
    rack_id: String | None
    client_id: String
    client_host: String
    subscribed_topic_names: tuple[String, ...]
    subscribed_topic_regex: String | None
    rebalance_timeout_ms: Int32 = since(default=-1)
    server_assignor: String | None
    # Kafka's generator reads `"default": null` without quotes as an empty structure, so an absent tag is not null.
    classic_member_metadata: ClassicMemberMetadata | None = since(
        tag=0, default=ClassicMemberMetadata(session_timeout_ms=0, supported_protocols=())
    )


@message()
class ConsumerGroupTargetAssignmentMetadataKey:
    """A consumer group."""

    group_id: String


@message(flexible="0+")
class ConsumerGroupTargetAssignmentMetadataValue:
    """The epoch of the target assignment."""

    assignment_epoch: Int32
    assignment_timestamp: Int64 = since(tag=0, default=0, release="4.3")


@message()
class ConsumerGroupTargetAssignmentMemberKey:
    """A member of a consumer group."""

    group_id: String
    member_id: String


@part
class TopicPartition:
    """Partitions of one topic, by topic id."""

    topic_id: Uuid
    partitions: tuple[Int32, ...]


@message(flexible="0+")
class ConsumerGroupTargetAssignmentMemberValue:
    """What the assignor wants a member to own."""

    topic_partitions: tuple[TopicPartition, ...]


@message()
class ConsumerGroupCurrentMemberAssignmentKey:
    """A member of a consumer group."""

    group_id: String
    member_id: String


@part
class TopicPartitions:
    """Partitions of one topic that a member owns, by topic id, each with the epoch it was assigned in (4.3+)."""

    topic_id: Uuid
    partitions: tuple[Int32, ...]
    assignment_epochs: tuple[Int32, ...] | None = since(tag=0, default=(), release="4.3")


@message(flexible="0+")
class ConsumerGroupCurrentMemberAssignmentValue:
    """What a member owns and must give up. State: 0 STABLE, 1 UNREVOKED_PARTITIONS, 2 UNRELEASED_PARTITIONS, 127 UNKNOWN."""

    member_epoch: Int32
    previous_member_epoch: Int32
    state: Int8
    assigned_partitions: tuple[TopicPartitions, ...]
    partitions_pending_revocation: tuple[TopicPartitions, ...]


@message()
class ConsumerGroupRegularExpressionKey:
    """A regular expression that members of a consumer group subscribed with."""

    group_id: String
    regular_expression: String


@message(flexible="0+")
class ConsumerGroupRegularExpressionValue:
    """The topics a regular expression resolved to, at which metadata version and when."""

    topics: tuple[String, ...]
    version: Int64
    timestamp: Int64


# ---- early access


@part
class Assignor:
    """A client-side assignor (an idea given up before the protocol was released)."""

    name: String
    minimum_version: Int16
    maximum_version: Int16
    reason: Int8
    version: Int16
    metadata: Bytes


@message(flexible="0+")
class ConsumerGroupMemberMetadataValueV36:
    """A member as 3.6 and 3.7 wrote it."""

    instance_id: String | None
    rack_id: String | None
    client_id: String
    client_host: String
    subscribed_topic_names: tuple[String, ...]
    subscribed_topic_regex: String | None
    rebalance_timeout_ms: Int32 = since(default=-1)
    server_assignor: String | None
    assignors: tuple[Assignor, ...]


@message(flexible="0+")
class ConsumerGroupMemberMetadataValueV35:
    """A member as 3.5 wrote it."""

    group_epoch: Int32
    instance_id: String | None
    rack_id: String | None
    client_id: String
    client_host: String
    subscribed_topic_names: tuple[String, ...]
    subscribed_topic_regex: String | None
    assignors: tuple[Assignor, ...]


@message(flexible="0+")
class ConsumerGroupPartitionMetadataValueV36:
    """The subscribed topics as 3.6 and 3.7 wrote them."""

    epoch: Int32
    topics: tuple[TopicMetadata, ...]


@part
class TopicMetadataV35:
    """A subscribed topic by its id alone."""

    topic_id: Uuid
    num_partitions: Int32


@message(flexible="0+")
class ConsumerGroupPartitionMetadataValueV35:
    """The subscribed topics as 3.5 wrote them."""

    epoch: Int32
    topics: tuple[TopicMetadataV35, ...]


@message(flexible="0+")
class ConsumerGroupTargetAssignmentMemberValueV35:
    """What the assignor wants a member to own, as 3.5 to 3.7 wrote it."""

    error: Int8
    topic_partitions: tuple[TopicPartition, ...]
    metadata_version: Int16
    metadata_bytes: Bytes


@message(flexible="0+")
class ConsumerGroupCurrentMemberAssignmentValueV36:
    """What a member owns, as 3.6 and 3.7 wrote it."""

    member_epoch: Int32
    previous_member_epoch: Int32
    target_member_epoch: Int32
    assigned_partitions: tuple[TopicPartition, ...]
    partitions_pending_revocation: tuple[TopicPartition, ...]
    partitions_pending_assignment: tuple[TopicPartition, ...]
    error: Int8
    metadata_version: Int16
    metadata_bytes: Bytes


@message(flexible="0+")
class ConsumerGroupCurrentMemberAssignmentValueV35:
    """What a member owns, as 3.5 wrote it."""

    member_epoch: Int32
    error: Int8
    topic_partitions: tuple[TopicPartition, ...]
    metadata_version: Int16
    metadata_bytes: Bytes
