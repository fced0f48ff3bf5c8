"""Consumer groups of the early access (3.5 to 3.7): types 4, 5, 7 and 8 in layouts of their own, under the same version.

No release that can be asked reads them; what they mean is told by ConsumerGroupMember of those releases.
"""

from dataclasses import replace

from offsets_tool.records import consumer as kafka
from tests.replay.stories.consumer_records import (
    TOPIC,
    current_key,
    epoch,
    new_only,
    target_epoch,
    target_key,
)
from tests.replay.story import NOT_ASKED, StoryRecord, record_of


def early_member(instance_id: str) -> StoryRecord:
    value = kafka.ConsumerGroupMemberMetadataValueV36(
        instance_id=instance_id,
        rack_id=None,
        client_id="client",
        client_host="host",
        subscribed_topic_names=("bar",),
        subscribed_topic_regex=None,
        server_assignor=None,
        assignors=(
            kafka.Assignor(
                name="range", minimum_version=0, maximum_version=1, reason=0, version=1, metadata=b"x"
            ),
        ),
    )
    return record_of(kafka.ConsumerGroupMemberMetadataKey(group_id="foo", member_id="m1"), value)


def early_current(epoch: int, target: int, pending: tuple[int, ...]) -> StoryRecord:
    def held(*partitions: int) -> tuple[kafka.TopicPartition, ...]:
        return (kafka.TopicPartition(topic_id=TOPIC, partitions=partitions),) if partitions else ()

    value = kafka.ConsumerGroupCurrentMemberAssignmentValueV36(
        member_epoch=epoch,
        previous_member_epoch=epoch - 1,
        target_member_epoch=target,
        assigned_partitions=held(0),
        partitions_pending_revocation=(),
        partitions_pending_assignment=held(*pending),
        error=0,
        metadata_version=0,
        metadata_bytes=b"x",
    )
    return record_of(current_key("foo", "m1"), value)


EARLY_TOPIC = kafka.TopicMetadata(topic_id=TOPIC, topic_name="bar", num_partitions=3, partition_metadata=())
EARLY_TARGET = kafka.ConsumerGroupTargetAssignmentMemberValueV35(
    error=0,
    topic_partitions=(kafka.TopicPartition(topic_id=TOPIC, partitions=(0, 1)),),
    metadata_version=0,
    metadata_bytes=b"x",
)
EARLY_GROUP = (
    early_member("i"),
    record_of(
        kafka.ConsumerGroupPartitionMetadataKey(group_id="foo"),
        kafka.ConsumerGroupPartitionMetadataValueV36(epoch=2, topics=(EARLY_TOPIC,)),
    ),
    epoch("foo", 2),
    record_of(target_key("foo", "m1"), EARLY_TARGET),
    target_epoch("foo", 2),
)

EARLIEST_MEMBER = kafka.ConsumerGroupMemberMetadataValueV35(
    group_epoch=2,
    instance_id=None,
    rack_id=None,
    client_id="client",
    client_host="host",
    subscribed_topic_names=("bar",),
    subscribed_topic_regex=None,
    assignors=(),
)
EARLIEST_CURRENT = kafka.ConsumerGroupCurrentMemberAssignmentValueV35(
    member_epoch=2,
    error=0,
    topic_partitions=(kafka.TopicPartition(topic_id=TOPIC, partitions=(0, 1)),),
    metadata_version=0,
    metadata_bytes=b"",
)
EARLIEST_TOPICS = kafka.ConsumerGroupPartitionMetadataValueV35(
    epoch=2, topics=(kafka.TopicMetadataV35(topic_id=TOPIC, num_partitions=3),)
)
MEMBER = kafka.ConsumerGroupMemberMetadataKey(group_id="foo", member_id="m1")
WANTS = "wants 1:0,1"

_STORIES = (
    new_only(
        "3.6: a member that waits for a partition is Reconciling",
        *EARLY_GROUP,
        early_current(2, 2, (1,)),
        groups={"foo": "consumer Reconciling 2/2 topics"},
        members={"foo": {"m1": f"client/host/i 2 ASSIGNING owns 1:0 {WANTS}"}},
    ),
    new_only(
        "3.6: a member is reconciled to the target epoch that its record names",
        *EARLY_GROUP,
        early_current(2, 2, ()),
        groups={"foo": "consumer Stable 2/2 topics"},
        members={"foo": {"m1": f"client/host/i 2 STABLE owns 1:0 {WANTS}"}},
    ),
    new_only(
        "3.6: and not to another",
        *EARLY_GROUP,
        early_current(2, 1, ()),
        groups={"foo": "consumer Reconciling 2/2 topics"},
        members={"foo": {"m1": f"client/host/i 2 STABLE owns 1:0 {WANTS}"}},
    ),
    new_only(
        "3.5: a member, its topics, its partitions",
        record_of(MEMBER, EARLIEST_MEMBER),
        record_of(kafka.ConsumerGroupPartitionMetadataKey(group_id="foo"), EARLIEST_TOPICS),
        epoch("foo", 2),
        record_of(target_key("foo", "m1"), EARLY_TARGET),
        target_epoch("foo", 2),
        record_of(current_key("foo", "m1"), EARLIEST_CURRENT),
        groups={"foo": "consumer Stable 2/2 topics"},
        members={"foo": {"m1": f"client/host 2 STABLE owns 1:0,1 {WANTS}"}},
    ),
)

STORIES = tuple(replace(story, asked=NOT_ASKED) for story in _STORIES)
