"""Groups that change their kind, and what records of consumer groups cannot do. Source: Kafka's tests, or else its code."""

from offsets_tool.records import consumer as kafka
from offsets_tool.replay.changes import GroupOf, MemberOf
from tests.replay.stories.consumer_records import (
    current_key,
    deleted,
    epoch,
    epoch_key,
    joined,
    leaves,
    new_only,
    owns,
    target_epoch,
    target_epoch_key,
    target_key,
    wants,
)
from tests.replay.story import (
    Anomaly,
    At,
    Story,
    believed,
    commit,
    group_metadata,
    group_tombstone,
    member,
    tombstone_of,
)

REFUSED = "Kafka refuses to load it"
CLASSIC_M1 = group_metadata("foo", 3, member("m1"))
UPGRADE = (
    group_tombstone("foo"),
    joined("foo", "m1"),
    epoch("foo", 3),
    wants("foo", "m1", 0, 1),
    target_epoch("foo", 3),
    owns("foo", "m1", 3, 0, 1),
)
UPGRADED = {"foo": {"m1": "client/host 3 STABLE owns 1:0,1 wants 1:0,1"}}
DOWNGRADE = (*leaves("foo", "m1"), *deleted("foo"), group_metadata("foo", 4, member("m1")))
OFFSET = {("foo", "bar", 0): At(5, 0)}

CONVERSIONS = (
    new_only(
        "GroupMetadataManagerTest.testConsumerGroupHeartbeatWithStableClassicGroup",
        CLASSIC_M1,
        UPGRADE,
        groups={"foo": "consumer Stable 3/3"},
        members=UPGRADED,
    ),
    new_only(
        "GroupMetadataManagerTest.testLastStaticConsumerProtocolMemberReplacedByClassicProtocolMember",
        UPGRADE,
        DOWNGRADE,
        groups={"foo": "classic Stable 4 consumer/range m1"},
        members={"foo": {"m1": "client/host"}},
    ),
    new_only(
        "GroupMetadataManagerTest.testClassicGroupJoinWithEmptyConsumerGroup",
        epoch("foo", 1),
        target_epoch("foo", 1),
        (*deleted("foo"), group_metadata("foo", 0, protocol_type="")),
        groups={"foo": "classic Empty 0 -/-"},
    ),
    new_only(
        "classic to consumer to classic is one group, and its offsets stay",
        commit("foo", "bar", 0, 5),
        CLASSIC_M1,
        UPGRADE,
        DOWNGRADE,
        offsets=OFFSET,
        groups={"foo": "classic Stable 4 consumer/range m1"},
        members={"foo": {"m1": "client/host"}},
    ),
    Story(
        name="a group that only has offsets becomes a consumer group; the classic coordinator passes over it",
        events=(commit("foo", "bar", 0, 5), epoch("foo", 1)),
        new=believed(offsets=OFFSET, groups={"foo": "consumer Empty 1/0"}),
        classic=believed(
            offsets=OFFSET,
            groups={"foo": "simple Empty"},
            anomalies=(Anomaly(1, GroupOf("foo"), "which the classic one passes over"),),
        ),
    ),
    new_only(
        "a classic group of no protocol type and no members gives way as well",
        group_metadata("foo", 0, protocol_type=""),
        epoch("foo", 1),
        groups={"foo": "consumer Empty 1/0"},
    ),
    new_only(
        "a tombstone makes a consumer group of one that only has offsets",
        commit("foo", "bar", 0, 5),
        tombstone_of(current_key("foo", "m1")),
        offsets=OFFSET,
        groups={"foo": "consumer Empty 0/0"},
    ),
    new_only(
        "a deleted consumer group's tombstones after a commit leave orphans",
        commit("foo", "bar", 0, 5),
        (*leaves("foo", "m1"), *deleted("foo")),
        offsets=OFFSET,
    ),
    new_only(
        "a tombstone of type 2 removes a consumer group with all its members",
        commit("foo", "bar", 0, 5),
        UPGRADE,
        group_tombstone("foo"),
        offsets=OFFSET,
    ),
    new_only(
        "a classic group's record takes a consumer group's place",
        UPGRADE,
        group_metadata("foo", 1, member("m2")),
        groups={"foo": "classic Stable 1 consumer/range m2"},
        members={"foo": {"m2": "client/host"}},
    ),
)

LIFE = (
    new_only(
        "joins, is assigned, reconciles, leaves, is deleted",
        (joined("foo", "m1"), epoch("foo", 1), wants("foo", "m1", 0), target_epoch("foo", 1)),
        owns("foo", "m1", 1, 0),
        (*leaves("foo", "m1"), epoch("foo", 2)),
        deleted("foo"),
    ),
    new_only(
        "a newer group epoch than the target's: Assigning",
        UPGRADE,
        epoch("foo", 4),
        groups={"foo": "consumer Assigning 4/3"},
        members=UPGRADED,
    ),
    new_only(
        "a newer target than the member's: Reconciling",
        UPGRADE,
        epoch("foo", 4),
        target_epoch("foo", 4),
        groups={"foo": "consumer Reconciling 4/4"},
        members=UPGRADED,
    ),
    new_only(
        "a member that leaves is there until its own tombstone",
        UPGRADE,
        tombstone_of(current_key("foo", "m1")),
        groups={"foo": "consumer Reconciling 3/3"},
        members={"foo": {"m1": "client/host -1 STABLE wants 1:0,1"}},
    ),
    new_only(
        "a static member leaves for a while at epoch -2, and another comes with its instance id",
        joined("foo", "old", "i"),
        owns("foo", "old", -2),
        (*leaves("foo", "old"), joined("foo", "new", "i")),
        groups={"foo": "consumer Stable 0/0"},
        members={"foo": {"new": "client/host/i 0 STABLE"}},
    ),
    new_only(
        "a target outlives the member that compaction took",
        epoch("foo", 2),
        wants("foo", "m1", 0),
        tombstone_of(current_key("foo", "m1")),
        tombstone_of(kafka.ConsumerGroupMemberMetadataKey(group_id="foo", member_id="m1")),
        groups={"foo": "consumer Empty 2/0"},
        members={"foo": {"m1": "wants 1:0"}},
    ),
)

IMPOSSIBLE = (
    new_only(
        "a member is removed that has not left",
        joined("foo", "m1"),
        owns("foo", "m1", 1, 0),
        tombstone_of(kafka.ConsumerGroupMemberMetadataKey(group_id="foo", member_id="m1")),
        groups={"foo": "consumer Empty 0/0"},
        anomalies=(Anomaly(2, MemberOf("foo", "m1"), REFUSED),),
    ),
    new_only(
        "a member is removed that never had an assignment",
        joined("foo", "m1"),
        tombstone_of(kafka.ConsumerGroupMemberMetadataKey(group_id="foo", member_id="m1")),
        groups={"foo": "consumer Empty 0/0"},
        anomalies=(Anomaly(1, MemberOf("foo", "m1"), REFUSED),),
    ),
    new_only(
        "a member is removed that still has a target",
        joined("foo", "m1"),
        wants("foo", "m1", 0),
        tombstone_of(current_key("foo", "m1")),
        tombstone_of(kafka.ConsumerGroupMemberMetadataKey(group_id="foo", member_id="m1")),
        groups={"foo": "consumer Empty 0/0"},
        members={"foo": {"m1": "wants 1:0"}},
        anomalies=(Anomaly(3, MemberOf("foo", "m1"), REFUSED),),
    ),
    new_only(
        "the target's epoch is deleted before the targets",
        wants("foo", "m1", 0),
        tombstone_of(target_epoch_key("foo")),
        groups={"foo": "consumer Empty 0/-1"},
        members={"foo": {"m1": "wants 1:0"}},
        anomalies=(Anomaly(1, GroupOf("foo"), REFUSED),),
    ),
    new_only(
        "a group is deleted with a member in it",
        joined("foo", "m1"),
        *deleted("foo"),
        anomalies=(Anomaly(2, GroupOf("foo"), "1 member(s)"),),
    ),
    new_only(
        "a group is deleted before its target's epoch",
        epoch("foo", 1),
        tombstone_of(epoch_key("foo")),
        anomalies=(Anomaly(1, GroupOf("foo"), "assignment epoch 0"),),
    ),
    new_only(
        "a consumer group's record for a classic group with members",
        CLASSIC_M1,
        epoch("foo", 4),
        groups={"foo": "consumer Empty 4/0"},
        anomalies=(Anomaly(1, GroupOf("foo"), "a record of a consumer group for a classic group"),),
    ),
    new_only(
        "a consumer group's tombstone for a classic group with members",
        CLASSIC_M1,
        tombstone_of(target_key("foo", "m1")),
        groups={"foo": "classic Stable 3 consumer/range m1"},
        members={"foo": {"m1": "client/host"}},
        anomalies=(Anomaly(1, GroupOf("foo"), "a record of a consumer group for a classic group"),),
    ),
)

STORIES = CONVERSIONS + LIFE + IMPOSSIBLE
