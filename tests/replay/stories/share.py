"""Share groups of KIP-932: Kafka's GroupMetadataManagerTest and GroupCoordinatorShardTest, and the layouts of 3.9 and 4.0."""

from dataclasses import replace
from typing import Any

from offsets_tool.records import consumer
from offsets_tool.records import share as kafka
from offsets_tool.replay.changes import GroupOf, MemberOf
from offsets_tool.replay.rules import Rules
from tests.replay.stories.consumer_records import TOPIC, new_only
from tests.replay.story import (
    NOT_ASKED,
    Anomaly,
    At,
    StoryRecord,
    commit,
    record_of,
    tombstone_of,
)

FOO: Any = {"group_id": "foo"}
M1: Any = {"group_id": "foo", "member_id": "m1"}
EPOCH, TARGET_EPOCH = kafka.ShareGroupMetadataKey(**FOO), kafka.ShareGroupTargetAssignmentMetadataKey(**FOO)
STATE = kafka.ShareGroupStatePartitionMetadataKey(**FOO)
MEMBER, TARGET = kafka.ShareGroupMemberMetadataKey(**M1), kafka.ShareGroupTargetAssignmentMemberKey(**M1)
CURRENT = kafka.ShareGroupCurrentMemberAssignmentKey(**M1)
REFUSED = "Kafka refuses to load it"


def epoch(number: int) -> StoryRecord:
    return record_of(EPOCH, kafka.ShareGroupMetadataValue(epoch=number, metadata_hash=2))


def target_epoch(number: int) -> StoryRecord:
    value = kafka.ShareGroupTargetAssignmentMetadataValue(assignment_epoch=number, assignment_timestamp=12345)
    return record_of(TARGET_EPOCH, value)


PARTITIONS = (consumer.TopicPartition(topic_id=TOPIC, partitions=(0, 1, 2)),)
SHARED = kafka.TopicPartitionsInfo(topic_id=TOPIC, topic_name="bar", partitions=(0, 1, 2))
JOINED = record_of(
    MEMBER,
    kafka.ShareGroupMemberMetadataValue(
        rack_id=None, client_id="client", client_host="host", subscribed_topic_names=("tp1",)
    ),
)
WANTS = record_of(TARGET, kafka.ShareGroupTargetAssignmentMemberValue(topic_partitions=PARTITIONS))
OWNS = record_of(
    CURRENT,
    kafka.ShareGroupCurrentMemberAssignmentValue(
        member_epoch=5, previous_member_epoch=4, state=0, assigned_partitions=PARTITIONS
    ),
)
SHARES = record_of(
    STATE,
    kafka.ShareGroupStatePartitionMetadataValue(
        initializing_topics=(), initialized_topics=(SHARED,), deleting_topics=()
    ),
)
LEAVES = (tombstone_of(CURRENT), tombstone_of(TARGET), tombstone_of(MEMBER))
DELETED = (tombstone_of(TARGET_EPOCH), tombstone_of(STATE), tombstone_of(EPOCH))
NEW_MEMBER = {"foo": {"m1": "client/host 0 STABLE"}}

MANAGER = (
    *(
        new_only(
            f"GroupMetadataManagerTest.testShareGroupRecordsNoExceptionOnReplay[{name} tombstone]",
            tombstone_of(key),
        )
        for name, key in (
            ("member", MEMBER),
            ("epoch", EPOCH),
            ("target", TARGET),
            ("target epoch", TARGET_EPOCH),
            ("current", CURRENT),
            ("state", STATE),
        )
    ),
    *(
        new_only(f"GroupMetadataManagerTest.testShareGroupRecordsNoExceptionOnReplay[{name}]", event, **parts)
        for name, event, parts in (
            ("member", JOINED, {"groups": {"foo": "share Stable 0/0"}, "members": NEW_MEMBER}),
            ("epoch", epoch(1), {"groups": {"foo": "share Empty 1/0"}}),
            ("target epoch", target_epoch(5), {"groups": {"foo": "share Empty 0/5"}}),
            (
                "target",
                WANTS,
                {"groups": {"foo": "share Empty 0/0"}, "members": {"foo": {"m1": "wants 1:0,1,2"}}},
            ),
            (
                "current",
                OWNS,
                {"groups": {"foo": "share Stable 0/0"}, "members": {"foo": {"m1": "5 STABLE owns 1:0,1,2"}}},
            ),
            ("state", SHARES, {"groups": {"foo": "share Empty 0/0 shares"}}),
        )
    ),
    new_only(
        "GroupMetadataManagerTest.testReplayShareGroupTargetAssignmentMetadata",
        target_epoch(10),
        groups={"foo": "share Empty 0/10"},
    ),
    new_only(
        "GroupMetadataManagerTest.testReplayShareGroupTargetAssignmentMetadataTombstone",
        tombstone_of(TARGET_EPOCH),
    ),
    new_only(
        "GroupMetadataManagerTest.testReplayShareGroupTargetAssignmentMetadataTombstoneExisting",
        target_epoch(10),
        tombstone_of(TARGET_EPOCH),
        groups={"foo": "share Empty 0/-1"},
    ),
    new_only(
        "GroupCoordinatorShardTest.testReplayShareGroupMetadata",
        epoch(1),
        groups={"foo": "share Empty 1/0"},
    ),
    new_only("GroupCoordinatorShardTest.testReplayShareGroupMetadataWithNullValue", tombstone_of(EPOCH)),
    new_only(
        "GroupCoordinatorShardTest.testReplayShareGroupMemberMetadata",
        JOINED,
        groups={"foo": "share Stable 0/0"},
        members=NEW_MEMBER,
    ),
    new_only(
        "GroupCoordinatorShardTest.testReplayShareGroupMemberMetadataWithNullValue", tombstone_of(MEMBER)
    ),
)

OURS = (
    new_only(
        "a share group's life: it knows two states",
        JOINED,
        epoch(6),
        WANTS,
        target_epoch(6),
        OWNS,
        SHARES,
        groups={"foo": "share Stable 6/6 shares"},
        members={"foo": {"m1": "client/host 5 STABLE owns 1:0,1,2 wants 1:0,1,2"}},
    ),
    new_only(
        "a share group's member leaves",
        (JOINED, epoch(6), WANTS, target_epoch(6), OWNS, SHARES),
        (*LEAVES, epoch(7)),
        groups={"foo": "share Empty 7/6 shares"},
    ),
    new_only(
        "a share group is deleted",
        (JOINED, epoch(6), WANTS, target_epoch(6), OWNS, SHARES),
        (*LEAVES, epoch(7)),
        DELETED,
    ),
    new_only(
        "a share group does not take the place of a group that only has offsets",
        commit("foo", "bar", 0, 5),
        epoch(1),
        offsets={("foo", "bar", 0): At(5, 0)},
        groups={"foo": "share Empty 1/0"},
        anomalies=(Anomaly(1, GroupOf("foo"), "a record of a share group for a simple group"),),
    ),
    new_only(
        "nor do a share group's tombstones",
        commit("foo", "bar", 0, 5),
        tombstone_of(CURRENT),
        offsets={("foo", "bar", 0): At(5, 0)},
        groups={"foo": "simple Empty"},
        anomalies=(Anomaly(1, GroupOf("foo"), "a record of a share group for a simple group"),),
    ),
    new_only(
        "a share group's member is removed that has not left",
        JOINED,
        OWNS,
        tombstone_of(MEMBER),
        groups={"foo": "share Empty 0/0"},
        anomalies=(Anomaly(2, MemberOf("foo", "m1"), REFUSED),),
    ),
)

TOPICS_39 = kafka.ShareGroupPartitionMetadataValueV39(initialized_topics=(SHARED,), deleting_topics=())
STATE_40 = kafka.ShareGroupStatePartitionMetadataValueV40(initialized_topics=(SHARED,), deleting_topics=())
TOPIC_40 = consumer.TopicMetadata(topic_id=TOPIC, topic_name="bar", num_partitions=3, partition_metadata=())
TOPICS_40 = kafka.ShareGroupPartitionMetadataValue(topics=(TOPIC_40,))

# 3.9 forgets its share groups with every load, 4.0 refuses its own share-partitions, and nobody else reads their layouts.
NEVER_LOADED = tuple(
    replace(story, asked=NOT_ASKED)
    for story in (
        new_only(
            "3.9: topics and epoch in layouts of their own",
            record_of(kafka.ShareGroupPartitionMetadataKey(**FOO), TOPICS_39),
            record_of(EPOCH, kafka.ShareGroupMetadataValueV39(epoch=3)),
            groups={"foo": "share Empty 3/0 topics"},
        ),
        new_only(
            "3.9: a member leaves with its own tombstone alone",
            *(JOINED, tombstone_of(MEMBER), record_of(EPOCH, kafka.ShareGroupMetadataValueV39(epoch=4))),
            groups={"foo": "share Empty 4/0"},
        ),
        new_only(
            "4.0: topics, epoch and share-partitions",
            record_of(EPOCH, kafka.ShareGroupMetadataValueV39(epoch=3)),
            record_of(kafka.ShareGroupPartitionMetadataKey(**FOO), TOPICS_40),
            record_of(STATE, STATE_40),
            groups={"foo": "share Empty 3/0 topics shares"},
        ),
    )
)
OF_40 = tuple(
    replace(story, asked={Rules.NEW: "4.0.2"})
    for story in (
        new_only(
            "4.0: the topics' tombstone",
            record_of(EPOCH, kafka.ShareGroupMetadataValueV39(epoch=3)),
            record_of(kafka.ShareGroupPartitionMetadataKey(**FOO), TOPICS_40),
            tombstone_of(kafka.ShareGroupPartitionMetadataKey(**FOO)),
            groups={"foo": "share Empty 3/0"},
        ),
    )
)

STORIES = MANAGER + OURS + NEVER_LOADED + OF_40
