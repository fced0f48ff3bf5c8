"""KIP-932 share groups: record types 9-15. Today's layouts first; those of 3.9 and 4.0, which share version 0, below them."""

from offsets_tool.records.consumer import TopicMetadata, TopicPartition
from offsets_tool.wire.schema import (
    Int8,
    Int32,
    Int64,
    String,
    Uuid,
    message,
    part,
    since,
)


@message()
class ShareGroupPartitionMetadataKey:
    """A share group."""

    group_id: String


@message(flexible="0+")
class ShareGroupPartitionMetadataValue:
    """The subscribed topics and their partitions (4.0 only; retired in 4.1)."""

    topics: tuple[TopicMetadata, ...]


@message()
class ShareGroupMemberMetadataKey:
    """A member of a share group."""

    group_id: String
    member_id: String


@message(flexible="0+")
class ShareGroupMemberMetadataValue:
    """A member: client, host and subscription."""

    rack_id: String | None
    client_id: String
    client_host: String
    subscribed_topic_names: tuple[String, ...]


@message()
class ShareGroupMetadataKey:
    """A share group."""

    group_id: String


@message(flexible="0+")
class ShareGroupMetadataValue:
    """The group epoch."""

    epoch: Int32
    metadata_hash: Int64


@message()
class ShareGroupTargetAssignmentMetadataKey:
    """A share group."""

    group_id: String


@message(flexible="0+")
class ShareGroupTargetAssignmentMetadataValue:
    """The epoch of the target assignment."""

    assignment_epoch: Int32
    assignment_timestamp: Int64 = since(tag=0, default=0, release="4.3")


@message()
class ShareGroupTargetAssignmentMemberKey:
    """A member of a share group."""

    group_id: String
    member_id: String


@message(flexible="0+")
class ShareGroupTargetAssignmentMemberValue:
    """The partitions that the assignor lets a member read."""

    topic_partitions: tuple[TopicPartition, ...]


@message()
class ShareGroupCurrentMemberAssignmentKey:
    """A member of a share group."""

    group_id: String
    member_id: String


@message(flexible="0+")
class ShareGroupCurrentMemberAssignmentValue:
    """The partitions that a member reads, and its epochs."""

    member_epoch: Int32
    previous_member_epoch: Int32
    state: Int8
    assigned_partitions: tuple[TopicPartition, ...]


@message()
class ShareGroupStatePartitionMetadataKey:
    """A share group."""

    group_id: String


@part
class TopicPartitionsInfo:
    """Partitions of one topic, by id and name."""

    topic_id: Uuid
    topic_name: String
    partitions: tuple[Int32, ...]


@part
class TopicInfo:
    """A topic, by id and name."""

    topic_id: Uuid
    topic_name: String


@message(flexible="0+")
class ShareGroupStatePartitionMetadataValue:
    """The share-partitions whose state is being initialized, is initialized, or is being deleted."""

    initializing_topics: tuple[TopicPartitionsInfo, ...]
    initialized_topics: tuple[TopicPartitionsInfo, ...]
    deleting_topics: tuple[TopicInfo, ...]


# ---- early access


@message(flexible="0+")
class ShareGroupPartitionMetadataValueV39:
    """The initialized and deleted topics as 3.9 wrote them."""

    initialized_topics: tuple[TopicPartitionsInfo, ...]
    deleting_topics: tuple[TopicInfo, ...]


@message(flexible="0+")
class ShareGroupMetadataValueV39:
    """The group epoch as 3.9 and 4.0 wrote it."""

    epoch: Int32


@message(flexible="0+")
class ShareGroupStatePartitionMetadataValueV40:
    """The share-partitions as 4.0 wrote them."""

    initialized_topics: tuple[TopicPartitionsInfo, ...]
    deleting_topics: tuple[TopicInfo, ...]
