"""Streams groups: Kafka's GroupCoordinatorShardTest, which topology was validated, and groups that change their kind."""

from dataclasses import replace

from offsets_tool.replay.changes import GroupOf
from tests.replay.stories.consumer_records import new_only
from tests.replay.stories.streams import (
    CURRENT,
    EPOCH,
    MEMBER,
    ONE_MEMBER,
    TARGET,
    TARGET_EPOCH,
    TOPOLOGY,
    WANTED,
    WANTS,
    WHO,
    epoch,
    joined,
    owns,
    target_epoch,
    topology,
)
from tests.replay.story import (
    NOT_ASKED,
    Anomaly,
    At,
    commit,
    group_metadata,
    group_tombstone,
    member,
    tombstone_of,
)

SHARD = tuple(
    new_only(f"GroupCoordinatorShardTest.testReplayStreamsGroup{name}", event, **parts)
    for name, event, parts in (
        ("Metadata", epoch(1), {"groups": {"foo": "streams Empty 1/0"}}),
        ("MetadataWithNullValue", tombstone_of(EPOCH), {}),
        ("Topology", topology(0), {"groups": {"foo": "streams Empty 0/0 topology 0"}}),
        ("TopologyWithNullValue", tombstone_of(TOPOLOGY), {}),
        ("MemberMetadata", joined("m1"), {"groups": {"foo": "streams NotReady 0/0"}, "members": ONE_MEMBER}),
        ("MemberMetadataWithNullValue", tombstone_of(MEMBER), {}),
        ("TargetAssignmentMetadata", target_epoch(3), {"groups": {"foo": "streams Empty 0/3"}}),
        ("TargetAssignmentMetadataWithNullValue", tombstone_of(TARGET_EPOCH), {}),
        (
            "TargetAssignmentMember",
            WANTS,
            {"groups": {"foo": "streams Empty 0/0"}, "members": {"foo": {"m1": WANTED}}},
        ),
        ("TargetAssignmentMemberKeyWithNullValue", tombstone_of(TARGET), {}),
        (
            "CurrentMemberAssignment",
            owns("m1", 1, (0,)),
            {
                "groups": {"foo": "streams NotReady 0/0"},
                "members": {"foo": {"m1": "1 STABLE owns active.s:0"}},
            },
        ),
        ("CurrentMemberAssignmentWithNullValue", tombstone_of(CURRENT), {}),
    )
)

AT_WORK = (joined("m1"), topology(2), target_epoch(5), WANTS, owns("m1", 5, (0, 1)))
WORKING = {"foo": {"m1": f"{WHO} 5 STABLE owns active.s:0,1 {WANTED}"}}

TOPOLOGIES = (
    new_only(
        "the topology was validated",
        *AT_WORK,
        epoch(5, validated=2),
        groups={"foo": "streams Stable 5/5 topology 2"},
        members=WORKING,
    ),
    new_only(
        "an earlier topology was validated",
        *AT_WORK,
        epoch(5, validated=1),
        groups={"foo": "streams NotReady 5/5 topology 2"},
        members=WORKING,
    ),
    new_only(
        "no topology was validated yet",
        *AT_WORK,
        epoch(5, validated=-1),
        groups={"foo": "streams NotReady 5/5 topology 2"},
        members=WORKING,
    ),
    # 4.1 keeps for itself what it validated; whoever loads its log, 4.1 too, says NotReady until the next heartbeat.
    replace(
        new_only(
            "4.1: any topology counts",
            *AT_WORK,
            epoch(5, validated=None),
            groups={"foo": "streams Stable 5/5 topology 2"},
            members=WORKING,
        ),
        asked=NOT_ASKED,
    ),
    new_only(
        "before the group's own record, topology epoch 0 is the validated one",
        joined("m1"),
        topology(0),
        groups={"foo": "streams Reconciling 0/0 topology 0"},
        members=ONE_MEMBER,
    ),
    new_only(
        "NotReady comes before Assigning",
        *AT_WORK,
        epoch(6, validated=1),
        groups={"foo": "streams NotReady 6/5 topology 2"},
        members=WORKING,
    ),
    new_only(
        "Assigning",
        *AT_WORK,
        epoch(6, validated=2),
        groups={"foo": "streams Assigning 6/5 topology 2"},
        members=WORKING,
    ),
    new_only(
        "Reconciling",
        *(*AT_WORK, target_epoch(6)),
        epoch(6, validated=2),
        groups={"foo": "streams Reconciling 6/6 topology 2"},
        members=WORKING,
    ),
)

DELETED = (
    tombstone_of(CURRENT),
    tombstone_of(TARGET),
    tombstone_of(MEMBER),
    tombstone_of(TARGET_EPOCH),
    tombstone_of(EPOCH),
    tombstone_of(TOPOLOGY),
)

KINDS = (
    new_only("deleted: the topology's tombstone comes after the group's", *AT_WORK, epoch(5, 2), DELETED),
    new_only(
        "GroupMetadataManagerTest.testStreamsGroupHeartbeatWithEmptyClassicGroup",
        commit("foo", "bar", 0, 5),
        group_metadata("foo", 7),
        (group_tombstone("foo"), joined("m1"), epoch(1), topology(0)),
        offsets={("foo", "bar", 0): At(5, 0)},
        groups={"foo": "streams Assigning 1/0 topology 0"},
        members=ONE_MEMBER,
    ),
    new_only(
        "GroupMetadataManagerTest.testClassicGroupJoinWithEmptyStreamsGroup",
        *(epoch(3), target_epoch(3)),
        (
            tombstone_of(TARGET_EPOCH),
            tombstone_of(EPOCH),
            tombstone_of(TOPOLOGY),
            group_metadata("foo", 0, protocol_type=""),
        ),
        groups={"foo": "classic Empty 0 -/-"},
    ),
    new_only(
        "a streams group's record for a classic group with members",
        group_metadata("foo", 7, member("m1")),
        epoch(1),
        groups={"foo": "streams Empty 1/0"},
        anomalies=(Anomaly(1, GroupOf("foo"), "a record of a streams group for a classic group"),),
    ),
)

STORIES = SHARD + TOPOLOGIES + KINDS
