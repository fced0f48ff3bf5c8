"""The words for consumer groups: their records by the declared classes, in the order of their types."""

from typing import Any
from uuid import UUID

from offsets_tool.records import consumer as kafka
from tests.replay.story import (
    ONLY_NEW,
    Story,
    StoryEvent,
    StoryRecord,
    believed,
    record_of,
    tombstone_of,
)

TOPIC = UUID(int=1)
UNRELEASED = 2


def epoch_key(group: str) -> Any:
    return kafka.ConsumerGroupMetadataKey(group_id=group)


def topics_key(group: str) -> Any:
    return kafka.ConsumerGroupPartitionMetadataKey(group_id=group)


def member_key(group: str, member_id: str) -> Any:
    return kafka.ConsumerGroupMemberMetadataKey(group_id=group, member_id=member_id)


def target_epoch_key(group: str) -> Any:
    return kafka.ConsumerGroupTargetAssignmentMetadataKey(group_id=group)


def target_key(group: str, member_id: str) -> Any:
    return kafka.ConsumerGroupTargetAssignmentMemberKey(group_id=group, member_id=member_id)


def current_key(group: str, member_id: str) -> Any:
    return kafka.ConsumerGroupCurrentMemberAssignmentKey(group_id=group, member_id=member_id)


def regex_key(group: str, expression: str) -> Any:
    return kafka.ConsumerGroupRegularExpressionKey(group_id=group, regular_expression=expression)


def epoch(group: str, number: int) -> StoryRecord:
    return record_of(epoch_key(group), kafka.ConsumerGroupMetadataValue(epoch=number))


def topics(group: str) -> StoryRecord:
    topic = kafka.TopicMetadata(topic_id=TOPIC, topic_name="bar", num_partitions=10, partition_metadata=())
    return record_of(topics_key(group), kafka.ConsumerGroupPartitionMetadataValue(topics=(topic,)))


def joined(group: str, member_id: str, instance_id: str | None = None) -> StoryRecord:
    value = kafka.ConsumerGroupMemberMetadataValue(
        instance_id=instance_id,
        rack_id="rackid",
        client_id="client",
        client_host="host",
        subscribed_topic_names=("foo",),
        subscribed_topic_regex=None,
        server_assignor="range",
    )
    return record_of(member_key(group, member_id), value)


def target_epoch(group: str, number: int) -> StoryRecord:
    value = kafka.ConsumerGroupTargetAssignmentMetadataValue(
        assignment_epoch=number, assignment_timestamp=12345
    )
    return record_of(target_epoch_key(group), value)


def wants(group: str, member_id: str, *partitions: int) -> StoryRecord:
    held = kafka.TopicPartition(topic_id=TOPIC, partitions=partitions)
    return record_of(
        target_key(group, member_id), kafka.ConsumerGroupTargetAssignmentMemberValue(topic_partitions=(held,))
    )


def owns(group: str, member_id: str, epoch: int, *partitions: int, **more: Any) -> StoryRecord:
    held = (kafka.TopicPartitions(topic_id=TOPIC, partitions=partitions),) if partitions else ()
    said: dict[str, Any] = {
        "previous_member_epoch": epoch - 1,
        "state": 0,
        "partitions_pending_revocation": (),
    }
    value = kafka.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=epoch, assigned_partitions=held, **(said | more)
    )
    return record_of(current_key(group, member_id), value)


def expression(group: str, text: str, *names: str) -> StoryRecord:
    value = kafka.ConsumerGroupRegularExpressionValue(topics=names, version=10, timestamp=12345)
    return record_of(regex_key(group, text), value)


def leaves(group: str, member_id: str) -> tuple[StoryRecord, ...]:
    """Return the tombstones of a member that leaves, in the order in which Kafka writes them."""
    return (
        tombstone_of(current_key(group, member_id)),
        tombstone_of(target_key(group, member_id)),
        tombstone_of(member_key(group, member_id)),
    )


def deleted(group: str) -> tuple[StoryRecord, ...]:
    """Return the tombstones of an empty group."""
    return (tombstone_of(target_epoch_key(group)), tombstone_of(epoch_key(group)))


def new_only(name: str, *events: StoryEvent, **parts: Any) -> Story:
    return Story(name=name, events=events, new=believed(**parts), rules=ONLY_NEW)
