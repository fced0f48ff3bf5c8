"""Consumer groups of KIP-848: Kafka's GroupMetadataManagerTest, GroupCoordinatorShardTest and GroupCoordinatorIntegrationTest."""

from offsets_tool.records import consumer as kafka
from tests.replay.stories.consumer_records import (
    TOPIC,
    UNRELEASED,
    current_key,
    deleted,
    epoch,
    epoch_key,
    expression,
    joined,
    leaves,
    member_key,
    new_only,
    owns,
    regex_key,
    target_epoch,
    target_epoch_key,
    target_key,
    topics,
    topics_key,
    wants,
)
from tests.replay.story import At, commit, group_tombstone, tombstone, tombstone_of

EMPTY_10 = {"foo": "consumer Empty 10/0"}

MANAGER = (
    new_only(
        "GroupMetadataManagerTest.testReplayConsumerGroupMemberMetadata",
        joined("foo", "member"),
        groups={"foo": "consumer Stable 0/0"},
        members={"foo": {"member": "client/host 0 STABLE"}},
    ),
    new_only(
        "GroupMetadataManagerTest.testReplayConsumerGroupMemberMetadataTombstone",
        epoch("foo", 10),
        tombstone_of(member_key("foo", "m1")),
        tombstone_of(member_key("bar", "m1")),
        groups=EMPTY_10,
    ),
    new_only("GroupMetadataManagerTest.testReplayConsumerGroupMetadata", epoch("foo", 10), groups=EMPTY_10),
    new_only(
        "GroupMetadataManagerTest.testReplayConsumerGroupMetadataTombstone",
        tombstone_of(epoch_key("foo")),
    ),
    new_only(
        "GroupMetadataManagerTest.testReplayConsumerGroupPartitionMetadata",
        topics("foo"),
        groups={"foo": "consumer Empty 0/0 topics"},
    ),
    new_only(
        "GroupMetadataManagerTest.testReplayConsumerGroupPartitionMetadataTombstone",
        tombstone_of(topics_key("foo")),
    ),
    new_only(
        "GroupMetadataManagerTest.testReplayConsumerGroupPartitionMetadataTombstoneWithExistentGroup",
        epoch("foo", 10),
        topics("foo"),
        tombstone_of(topics_key("foo")),
        groups=EMPTY_10,
    ),
    new_only(
        "GroupMetadataManagerTest.testReplayConsumerGroupTargetAssignmentMember",
        wants("foo", "m1", 0, 1, 2),
        groups={"foo": "consumer Empty 0/0"},
        members={"foo": {"m1": "wants 1:0,1,2"}},
    ),
    new_only(
        "GroupMetadataManagerTest.testReplayConsumerGroupTargetAssignmentMemberTombstone",
        tombstone_of(target_key("foo", "m1")),
    ),
    new_only(
        "GroupMetadataManagerTest.testReplayConsumerGroupTargetAssignmentMetadata",
        target_epoch("foo", 10),
        groups={"foo": "consumer Empty 0/10"},
    ),
    new_only(
        "GroupMetadataManagerTest.testReplayConsumerGroupTargetAssignmentMetadataTombstone",
        tombstone_of(target_epoch_key("foo")),
    ),
    new_only(
        "GroupMetadataManagerTest.testReplayConsumerGroupTargetAssignmentMetadataTombstoneExisting",
        target_epoch("foo", 10),
        tombstone_of(target_epoch_key("foo")),
        groups={"foo": "consumer Empty 0/-1"},
    ),
    new_only(
        "GroupMetadataManagerTest.testReplayConsumerGroupCurrentMemberAssignment",
        owns("bar", "member", 10, 0, 1, 2, state=UNRELEASED),
        groups={"bar": "consumer Reconciling 0/0"},
        members={"bar": {"member": "10 UNRELEASED_PARTITIONS owns 1:0,1,2"}},
    ),
    new_only(
        "GroupMetadataManagerTest.testReplayConsumerGroupCurrentMemberAssignmentTombstone",
        epoch("foo", 10),
        tombstone_of(current_key("foo", "m1")),
        tombstone_of(current_key("bar", "m1")),
        groups=EMPTY_10,
    ),
    new_only(
        "GroupMetadataManagerTest.testReplayConsumerGroupCurrentMemberAssignmentWithCompaction",
        owns("fooup", "A", 11, 0),
        owns("fooup", "B", 12, 0),
        owns("fooup", "A", 13, 1),
        groups={"fooup": "consumer Reconciling 0/0"},
        members={"fooup": {"A": "13 STABLE owns 1:1", "B": "12 STABLE owns 1:0"}},
    ),
    new_only(
        "GroupMetadataManagerTest.testReplayConsumerGroupCurrentMemberAssignmentUnownedTopicWithCompaction",
        owns("fooup", "A", 11, 0),
        owns("fooup", "B", 12, 0),
        owns("fooup", "B", 13),
        owns("fooup", "A", 14, 5),
        groups={"fooup": "consumer Reconciling 0/0"},
        members={"fooup": {"A": "14 STABLE owns 1:5", "B": "13 STABLE"}},
    ),
    new_only(
        "GroupMetadataManagerTest.testReplayConsumerGroupRegularExpression",
        expression("foo", "abc*", "abc", "abcd"),
        groups={"foo": "consumer Empty 0/0 abc*=abc,abcd"},
    ),
    new_only(
        "GroupMetadataManagerTest.testReplayConsumerGroupRegularExpressionTombstone",
        tombstone_of(regex_key("foo", "abc*")),
        expression("foo", "abc*", "abc", "abcd"),
        expression("foo", "x+", "x"),
        tombstone_of(regex_key("foo", "abc*")),
        groups={"foo": "consumer Empty 0/0 x+=x"},
    ),
    new_only(
        "GroupMetadataManagerTest.testOnLoaded",
        joined("foo", "foo-1"),
        joined("foo", "foo-2"),
        epoch("foo", 10),
        wants("foo", "foo-1", 3, 4, 5),
        target_epoch("foo", 10),
        owns(
            "foo",
            "foo-1",
            9,
            0,
            1,
            2,
            state=1,
            partitions_pending_revocation=(kafka.TopicPartitions(topic_id=TOPIC, partitions=(3, 4, 5)),),
        ),
        owns("foo", "foo-2", 10),
        groups={"foo": "consumer Reconciling 10/10"},
        members={
            "foo": {
                "foo-1": "client/host 9 UNREVOKED_PARTITIONS owns 1:0,1,2 revokes 1:3,4,5 wants 1:3,4,5",
                "foo-2": "client/host 10 STABLE",
            }
        },
    ),
)

SHARD = tuple(
    new_only(f"GroupCoordinatorShardTest.testReplayConsumerGroup{name}", event, **parts)
    for name, event, parts in (
        ("Metadata", epoch("goo", 1), {"groups": {"goo": "consumer Empty 1/0"}}),
        ("MetadataWithNullValue", tombstone_of(epoch_key("goo")), {}),
        ("PartitionMetadata", topics("goo"), {"groups": {"goo": "consumer Empty 0/0 topics"}}),
        ("PartitionMetadataWithNullValue", tombstone_of(topics_key("goo")), {}),
        (
            "MemberMetadata",
            joined("goo", "m"),
            {"groups": {"goo": "consumer Stable 0/0"}, "members": {"goo": {"m": "client/host 0 STABLE"}}},
        ),
        ("MemberMetadataWithNullValue", tombstone_of(member_key("goo", "m")), {}),
        ("TargetAssignmentMetadata", target_epoch("goo", 3), {"groups": {"goo": "consumer Empty 0/3"}}),
        ("TargetAssignmentMetadataWithNullValue", tombstone_of(target_epoch_key("goo")), {}),
        (
            "TargetAssignmentMember",
            wants("goo", "m", 1),
            {"groups": {"goo": "consumer Empty 0/0"}, "members": {"goo": {"m": "wants 1:1"}}},
        ),
        ("TargetAssignmentMemberKeyWithNullValue", tombstone_of(target_key("goo", "m")), {}),
        (
            "CurrentMemberAssignment",
            owns("goo", "m", 0, 1),
            {"groups": {"goo": "consumer Stable 0/0"}, "members": {"goo": {"m": "0 STABLE owns 1:1"}}},
        ),
        ("CurrentMemberAssignmentWithNullValue", tombstone_of(current_key("goo", "m")), {}),
        (
            "RegularExpression",
            expression("goo", "r", "a"),
            {"groups": {"goo": "consumer Empty 0/0 r=a"}},
        ),
        ("RegularExpressionTombstone", tombstone_of(regex_key("goo", "r")), {}),
    )
)

INTEGRATION = (
    new_only(
        "GroupCoordinatorIntegrationTest.testCoordinatorFailoverAfterCompactingPartitionWithConsumerGroupMemberJoiningAndLeaving",
        target_epoch("grp", 2),
        commit("grp", "foo", 0, 0),
        (*leaves("grp", "m1"), epoch("grp", 3)),
        offsets={("grp", "foo", 0): At(0, 1)},
        groups={"grp": "consumer Empty 3/2"},
    ),
    # The first member's tombstones meet a group that only has offsets, and make it a consumer group.
    new_only(
        "GroupCoordinatorIntegrationTest.testCoordinatorFailoverCompactingPartitionWithManualOffsetCommitsAndConsumerGroupMemberUnsubscribingAndResubscribing",
        commit("grp", "foo", 0, 0),
        leaves("grp", "m1"),
        target_epoch("grp", 4),
        (*leaves("grp", "m2"), epoch("grp", 5)),
        offsets={("grp", "foo", 0): At(0, 0)},
        groups={"grp": "consumer Empty 5/4"},
    ),
    new_only(
        "GroupCoordinatorIntegrationTest.testCoordinatorFailoverAfterCompactingPartitionWithConsumerGroupDeleted",
        leaves("grp", "m1"),
        (tombstone("grp", "foo", 0), *deleted("grp")),
    ),
    new_only(
        "GroupCoordinatorIntegrationTest.testCoordinatorFailoverAfterCompactingPartitionWithUpgradedConsumerGroup",
        commit("grp", "foo", 0, 0),
        (group_tombstone("grp"), target_epoch("grp", 3)),
        (*leaves("grp", "m1"), epoch("grp", 4)),
        offsets={("grp", "foo", 0): At(0, 0)},
        groups={"grp": "consumer Empty 4/3"},
    ),
)

STORIES = MANAGER + SHARD + INTEGRATION
