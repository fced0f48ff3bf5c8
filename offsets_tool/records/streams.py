"""KIP-1071 streams groups: record types 17 and later (released in 4.1; 18 existed in development only). Declarations only."""

from offsets_tool.wire.schema import (
    Int8,
    Int16,
    Int32,
    Int64,
    String,
    UInt16,
    Uuid,
    message,
    part,
    since,
)


@message()
class StreamsGroupMetadataKey:
    """A streams group."""

    group_id: String


@part
class LastAssignmentConfig:
    """A configuration value the assignor last used."""

    key: String
    value: String


@message(flexible="0+")
class StreamsGroupMetadataValue:
    """The group epoch, the hash of its topics, and which topology was validated and described."""

    epoch: Int32
    metadata_hash: Int64
    validated_topology_epoch: Int32 = since(tag=0, default=-1, release="4.2")
    last_assignment_configs: tuple[LastAssignmentConfig, ...] | None = since(tag=1, default=(), release="4.2")
    stored_description_topology_epoch: Int32 = since(tag=2, default=-1, release="4.4")
    failed_description_topology_epoch: Int32 = since(tag=3, default=-1, release="4.4")


@message()
class StreamsGroupPartitionMetadataKey:
    """A streams group."""

    group_id: String


@part
class StreamsTopicMetadata:
    """A topic of the topology, by id and name."""

    topic_id: Uuid
    topic_name: String
    num_partitions: Int32


@message(flexible="0+")
class StreamsGroupPartitionMetadataValue:
    """The topics of the topology (never in a release)."""

    topics: tuple[StreamsTopicMetadata, ...]


@message()
class StreamsGroupMemberMetadataKey:
    """A member of a streams group."""

    group_id: String
    member_id: String


@part
class Endpoint:
    """Where a member answers interactive queries."""

    host: String
    port: UInt16


@part
class KeyValue:
    """A client tag."""

    key: String
    value: String


@message(flexible="0+")
class StreamsGroupMemberMetadataValue:
    """A member: client, host, process, topology epoch, endpoint, tags."""

    instance_id: String | None
    rack_id: String | None
    client_id: String
    client_host: String
    rebalance_timeout_ms: Int32 = since(default=-1)
    topology_epoch: Int32
    process_id: String
    user_endpoint: Endpoint | None = since(default=None)
    client_tags: tuple[KeyValue, ...]


@message()
class StreamsGroupTargetAssignmentMetadataKey:
    """A streams group."""

    group_id: String


@message(flexible="0+")
class StreamsGroupTargetAssignmentMetadataValue:
    """The epoch of the target assignment."""

    assignment_epoch: Int32
    assignment_timestamp: Int64 = since(tag=0, default=0, release="4.3")


@message()
class StreamsGroupTargetAssignmentMemberKey:
    """A member of a streams group."""

    group_id: String
    member_id: String


@part
class TargetTaskIds:
    """Tasks of one subtopology."""

    subtopology_id: String
    partitions: tuple[Int32, ...]


@message(flexible="0+")
class StreamsGroupTargetAssignmentMemberValue:
    """The tasks the assignor wants a member to run."""

    active_tasks: tuple[TargetTaskIds, ...]
    standby_tasks: tuple[TargetTaskIds, ...]
    warmup_tasks: tuple[TargetTaskIds, ...]


@message()
class StreamsGroupCurrentMemberAssignmentKey:
    """A member of a streams group."""

    group_id: String
    member_id: String


@part
class TaskIds:
    """Tasks of one subtopology, each with the epoch it was assigned in (4.2+)."""

    subtopology_id: String
    partitions: tuple[Int32, ...]
    assignment_epochs: tuple[Int32, ...] | None = since(tag=0, default=(), release="4.2")


@message(flexible="0+")
class StreamsGroupCurrentMemberAssignmentValue:
    """The tasks a member runs and must give up. State: 1 STABLE, 2 UNREVOKED_TASKS, 3 UNRELEASED_TASKS, 127 UNKNOWN."""

    member_epoch: Int32
    previous_member_epoch: Int32
    state: Int8
    active_tasks: tuple[TaskIds, ...]
    standby_tasks: tuple[TaskIds, ...]
    warmup_tasks: tuple[TaskIds, ...]
    active_tasks_pending_revocation: tuple[TaskIds, ...]
    standby_tasks_pending_revocation: tuple[TaskIds, ...]
    warmup_tasks_pending_revocation: tuple[TaskIds, ...]


@message()
class StreamsGroupTopologyKey:
    """A streams group."""

    group_id: String


@part
class TopicConfig:
    """A configuration value of an internal topic."""

    key: String
    value: String


@part
class InternalTopicInfo:
    """An internal topic: repartition or changelog."""

    name: String
    partitions: Int32
    replication_factor: Int16
    topic_configs: tuple[TopicConfig, ...]


@part
class CopartitionGroup:
    """Topics (by index into the subtopology's lists) that must have equally many partitions."""

    source_topics: tuple[Int16, ...]
    source_topic_regex: tuple[Int16, ...]
    repartition_source_topics: tuple[Int16, ...]


@part
class Subtopology:
    """A part of the topology that runs as tasks of its own."""

    subtopology_id: String
    source_topics: tuple[String, ...]
    source_topic_regex: tuple[String, ...]
    state_changelog_topics: tuple[InternalTopicInfo, ...]
    repartition_sink_topics: tuple[String, ...]
    repartition_source_topics: tuple[InternalTopicInfo, ...]
    copartition_groups: tuple[CopartitionGroup, ...]


@message(flexible="0+")
class StreamsGroupTopologyValue:
    """The topology of a streams group."""

    epoch: Int32
    subtopologies: tuple[Subtopology, ...]
