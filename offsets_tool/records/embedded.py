"""The blobs inside members: what clients put into subscription, assignment and user data. Declarations only.

Consumer protocol (ConsumerProtocolSubscription, ConsumerProtocolAssignment), the sticky assignors' user data, Kafka Streams'
SubscriptionInfo and AssignmentInfo, Kafka Connect's worker protocol. Each is read after its version prefix.
"""

from offsets_tool.wire.schema import (
    ZERO_UUID,
    Bytes,
    Int8,
    Int16,
    Int32,
    Int64,
    JavaChars,
    JavaUtf,
    String,
    Uuid,
    message,
    part,
    since,
)

# ---- consumer protocol


@part
class TopicPartitionNames:
    """Partitions of one topic, by name."""

    topic: String
    partitions: tuple[Int32, ...]


@message(versions="0-3")
class ConsumerProtocolSubscription:
    """A consumer's subscription: the topics it asks for, the partitions it owns already, its generation and rack."""

    topics: tuple[String, ...]
    user_data: Bytes | None = since(default=None)
    owned_partitions: tuple[TopicPartitionNames, ...] = since("1+", default=())
    generation_id: Int32 = since("2+", default=-1)
    rack_id: String | None = since("3+", default=None)


@message(versions="0-3")
class ConsumerProtocolAssignment:
    """The partitions that the group leader assigned to a consumer."""

    assigned_partitions: tuple[TopicPartitionNames, ...]
    user_data: Bytes | None


# ---- assignors


@message(versions="0-1")
class StickyUserData:
    """The partitions that a member of a `sticky` group owned, and in which generation (2.3+)."""

    previous_assignment: tuple[TopicPartitionNames, ...]
    generation: Int32 = since("1+", default=-1)


@message()
class CooperativeStickyUserData:
    """The generation in which a member of a `cooperative-sticky` group got the partitions that it owns."""

    generation: Int32


# ---- Kafka Streams


@part
class StreamsTaskId:
    """A task: subtopology and partition."""

    topic_group_id: Int32
    partition: Int32


@part
class PartitionToOffsetSum:
    """How far a task's state stores have come (-2 running, -3 unknown sum, -4 offset unknown)."""

    partition: Int32
    offset_sum: Int64


@part
class TaskOffsetSum:
    """How far a subtopology's tasks have come; since version 10 one entry a task."""

    topic_group_id: Int32
    partition: Int32 = since("10+", default=0)
    offset_sum: Int64 = since("10+", default=0)
    named_topology: String | None = since("10+", default=None)
    partition_to_offset_sum: tuple[PartitionToOffsetSum, ...] = since("7-9", default=())


@part
class ClientTag:
    """A tag of a Streams client (rack awareness), as bytes."""

    key: Bytes
    value: Bytes


@message(versions="1-11")
class SubscriptionInfo:
    """User data of a Streams member's subscription: its process, its tasks, its endpoint."""

    latest_supported_version: Int32 = since("3+", default=-1)
    process_id: Uuid = since(default=ZERO_UUID)
    prev_tasks: tuple[StreamsTaskId, ...] = since("1-6", default=())
    standby_tasks: tuple[StreamsTaskId, ...] = since("1-6", default=())
    user_end_point: Bytes = since("2+", default=b"")
    task_offset_sums: tuple[TaskOffsetSum, ...] = since("7+", default=())
    unique_field: Int8 = since("8+", default=0)
    error_code: Int32 = since("9+", default=0)
    client_tags: tuple[ClientTag, ...] = since("11+", default=())


@part
class AssignedTask:
    """A task: subtopology, partition, and since version 10 the named topology ("" for none)."""

    subtopology: Int32
    partition: Int32
    named_topology: JavaChars = since("10+", default="")


@part
class AssignedTopicPartition:
    """A partition by topic name."""

    topic: JavaUtf
    partition: Int32


@part
class StandbyTask:
    """A standby task and the partitions it follows."""

    task: AssignedTask
    partitions: tuple[AssignedTopicPartition, ...]


@part
class HostPartitions:
    """The partitions whose state a host serves (versions 2-4)."""

    host: JavaUtf
    port: Int32
    partitions: tuple[AssignedTopicPartition, ...]


@part
class DictionaryEntry:
    """A topic name and its number in this message."""

    index: Int32
    topic: JavaUtf


@part
class IndexedTopicPartition:
    """A partition, with its topic's number in the dictionary of topic names."""

    topic_index: Int32
    partition: Int32


@part
class HostIndexedPartitions:
    """The partitions whose state a host serves (version 5 and later)."""

    host: JavaUtf
    port: Int32
    partitions: tuple[IndexedTopicPartition, ...]


@message(versions="1-11")
class AssignmentInfo:
    """User data of a Streams member's assignment: its tasks, who serves which state, errors, the next rebalance."""

    commonly_supported_version: Int32 = since("3+", default=-1)
    active_tasks: tuple[AssignedTask, ...]
    standby_tasks: tuple[StandbyTask, ...]
    partitions_by_host: tuple[HostPartitions, ...] = since("2-4", default=())
    topic_dictionary: tuple[DictionaryEntry, ...] = since("5+", default=())
    indexed_partitions_by_host: tuple[HostIndexedPartitions, ...] = since("5+", default=())
    indexed_standby_partitions_by_host: tuple[HostIndexedPartitions, ...] = since("6+", default=())
    err_code: Int32 = since("4+", default=0)
    next_rebalance_ms: Int64 = since("7+", default=0x7FFFFFFFFFFFFFFF)


# ---- Kafka Connect


@part
class ConnectorTasks:
    """A connector and its tasks on a worker; task -1 is the connector itself."""

    connector: String
    tasks: tuple[Int32, ...]


@message(versions="0-2", has_lenient_end=True)
class ConnectWorkerMetadata:
    """A worker: its URL, the config offset it has read to, and (1, 2) what it runs now."""

    url: String
    config_offset: Int64
    allocation: Bytes | None = since("1+", default=None)


@message(versions="0-2", has_lenient_end=True)
class ConnectAssignment:
    """What the leader gave a worker. Error 1 is CONFIG_MISMATCH; `revoked` and `delay` (ms) since version 1."""

    error: Int16
    leader: String | None
    leader_url: String | None
    config_offset: Int64
    assignment: tuple[ConnectorTasks, ...] | None
    revoked: tuple[ConnectorTasks, ...] | None = since("1+", default=None)
    delay: Int32 = since("1+", default=0)
