"""Classic groups: Kafka's GroupMetadataManagerTest (Scala to 4.0, Java after), GroupCoordinatorShardTest, and our own."""

import struct
from dataclasses import replace

from offsets_tool.records import RECORD_TYPES
from offsets_tool.records.classic import GroupMetadataKey
from offsets_tool.replay.changes import GroupOf, LogOf
from offsets_tool.replay.rules import Rules
from tests.replay.story import (
    ASKED,
    LOG_PARTITION,
    Anomaly,
    At,
    Open,
    Story,
    StoryRecord,
    believed,
    commit,
    group_metadata,
    group_tombstone,
    member,
    tombstone,
    tombstone_of,
    txn_commit,
)

UNKNOWN_TYPE = max(RECORD_TYPES) + 1
FOO0, FOO1, BAR0 = ("foo", "foo", 0), ("foo", "foo", 1), ("foo", "bar", 0)
SIMPLE = {"foo": "simple Empty"}
WITH_MEMBER = group_metadata("foo", 935, member("98098230493"))
STABLE = {"foo": "classic Stable 935 consumer/range 98098230493"}
MEMBER = {"foo": {"98098230493": "client/host"}}

STATIC = tuple(
    member(
        f"member-{at}",
        group_instance_id=f"group-instance-id-{at}",
        client_id=f"client-{at}",
        client_host=f"host-{at}",
        assignment=b"\x02",
    )
    for at in range(2)
)
STATIC_WORDS = {
    "member-0": "client-0/host-0/group-instance-id-0",
    "member-1": "client-1/host-1/group-instance-id-1",
}


def of_version(version: int) -> Story:
    """Return the story of a group's record of one version; 0 has no rebalance timeout, 3 is the first with instance ids."""
    joined = member("m1", **({"rebalance_timeout": -1} if version == 0 else {}))
    return Story(
        name=f"GroupMetadataManagerTest.testCurrentStateTimestampForAllGroupMetadataVersions[{version}]",
        events=(group_metadata("foo", 1, joined, version=version),),
        new=believed(
            groups={"foo": "classic Stable 1 consumer/range m1"}, members={"foo": {"m1": "client/host"}}
        ),
    )


SCALA = (
    Story(
        name="GroupMetadataManagerTest.testLoadOffsetsAndGroup",
        events=((commit(*FOO0, 23), commit(*FOO1, 455), WITH_MEMBER),),
        new=believed(offsets={FOO0: At(23, 0), FOO1: At(455, 1)}, groups=STABLE, members=MEMBER),
    ),
    Story(
        name="GroupMetadataManagerTest.testLoadGroupWithTombstone",
        events=((WITH_MEMBER, group_tombstone("foo")),),
        new=believed(),
    ),
    Story(
        name="GroupMetadataManagerTest.testLoadGroupWithLargeGroupMetadataRecord",
        events=(
            (commit(*FOO0, 23), group_metadata("foo", 15, member("98098230493", assignment=bytes(1 << 20)))),
        ),
        new=believed(
            offsets={FOO0: At(23, 0)},
            groups={"foo": "classic Stable 15 consumer/range 98098230493"},
            members=MEMBER,
        ),
    ),
    Story(
        name="GroupMetadataManagerTest.testOffsetWriteAfterGroupRemoved",
        events=((WITH_MEMBER, group_tombstone("foo"), commit(*FOO0, 23), commit(*FOO1, 455)),),
        new=believed(offsets={FOO0: At(23, 2), FOO1: At(455, 3)}, groups=SIMPLE),
    ),
    Story(
        name="GroupMetadataManagerTest.testLoadGroupAndOffsetsFromDifferentSegments",
        events=(
            (commit(*FOO0, 23), commit(*FOO1, 455), group_metadata("foo", 293, member("a"))),
            (commit(*FOO0, 33), commit(*BAR0, 8992), group_metadata("foo", 293, member("b"))),
        ),
        new=believed(
            offsets={FOO0: At(33, 3), FOO1: At(455, 1), BAR0: At(8992, 4)},
            groups={"foo": "classic Stable 293 consumer/range b"},
            members={"foo": {"b": "client/host"}},
        ),
    ),
    Story(
        name="GroupMetadataManagerTest.testloadGroupWithStaticMember",
        events=(
            group_metadata("foo", 27, member("static", group_instance_id="instance"), member("dynamic")),
        ),
        new=believed(
            groups={"foo": "classic Stable 27 consumer/range static"},
            members={"foo": {"static": "client/host/instance", "dynamic": "client/host"}},
        ),
    ),
    Story(
        name="GroupMetadataManagerTest.testLoadConsumerGroup",
        events=(
            group_metadata(
                "foo", 27, member("member1", subscription=bytes.fromhex("0000000000010003666f6f00000000"))
            ),
        ),
        new=believed(
            groups={"foo": "classic Stable 27 consumer/range member1"},
            members={"foo": {"member1": "client/host"}},
        ),
    ),
    Story(
        name="GroupMetadataManagerTest.testLoadEmptyConsumerGroup",
        events=(group_metadata("foo", 27),),
        new=believed(groups={"foo": "classic Empty 27 consumer/-"}),
    ),
    Story(
        name="GroupMetadataManagerTest.testLoadConsumerGroupWithFaultyConsumerProtocol",
        events=(group_metadata("foo", 27, member("member1", subscription=b"")),),
        new=believed(
            groups={"foo": "classic Stable 27 consumer/range member1"},
            members={"foo": {"member1": "client/host"}},
        ),
    ),
    Story(
        name="GroupMetadataManagerTest.testShouldThrowExceptionForUnsupportedGroupMetadataVersion",
        events=(group_metadata("foo", 1)._replace(value=b"\x80\x00"),),
        new=believed(
            groups={"foo": "classic Unknown 0 -/-"},
            anomalies=(Anomaly(0, GroupOf("foo"), "unknown value version -32768"),),
        ),
    ),
    Story(
        name="GroupMetadataManagerTest.testLoadGroupsAndOffsetsWillIgnoreUnknownMessage",
        events=(
            (
                commit(*FOO0, 23),
                StoryRecord(b"\x7f\xff\x00", b"\x7f\xff"),
                StoryRecord(struct.pack(">hx", UNKNOWN_TYPE), b""),
                WITH_MEMBER,
            ),
        ),
        new=believed(
            offsets={FOO0: At(23, 0)},
            groups=STABLE,
            members=MEMBER,
            anomalies=(
                Anomaly(1, LogOf(LOG_PARTITION), "unknown record type 32767"),
                Anomaly(2, LogOf(LOG_PARTITION), f"unknown record type {UNKNOWN_TYPE}"),
            ),
        ),
    ),
    *(of_version(version) for version in range(5)),
)

KAFKAS = (
    Story(
        name="GroupMetadataManagerTest.testReplayGroupMetadataRecords",
        events=(group_metadata("group-id", 1, *STATIC),),
        new=believed(
            groups={"group-id": "classic Stable 1 consumer/range member-0"},
            members={"group-id": STATIC_WORDS},
        ),
    ),
    Story(
        name="GroupMetadataManagerTest.testReplayGroupMetadataRecords[useDefaultRebalanceTimeout]",
        events=(group_metadata("group-id", 1, *(replace(each, rebalance_timeout=-1) for each in STATIC)),),
        new=believed(
            groups={"group-id": "classic Stable 1 consumer/range member-0"},
            members={"group-id": STATIC_WORDS},
        ),
    ),
    Story(
        name="GroupCoordinatorShardTest.testReplayGroupMetadata",
        events=(group_metadata("goo", 0, protocol_type=""),),
        new=believed(groups={"goo": "classic Empty 0 -/-"}),
    ),
    Story(
        name="GroupCoordinatorShardTest.testReplayGroupMetadataWithNullValue",
        events=(tombstone_of(GroupMetadataKey(group="goo")),),
        new=believed(),
    ),
    Story(
        name="GroupCoordinatorShardTest.testReplayKeyCannotBeNull",
        events=(StoryRecord(None, None),),
        new=believed(anomalies=(Anomaly(0, LogOf(LOG_PARTITION), "no key"),)),
    ),
)

OURS = (
    Story(
        name="a static member is replaced: another member id, the same generation",
        events=(
            group_metadata("foo", 3, member("old", group_instance_id="i"), member("other")),
            group_metadata("foo", 3, member("new", group_instance_id="i"), member("other")),
        ),
        new=believed(
            groups={"foo": "classic Stable 3 consumer/range new"},
            members={"foo": {"new": "client/host/i", "other": "client/host"}},
        ),
    ),
    Story(
        name="the last member leaves: Empty, one generation on, the protocol type stays",
        events=(WITH_MEMBER, group_metadata("foo", 936)),
        new=believed(groups={"foo": "classic Empty 936 consumer/-"}),
    ),
    Story(
        name="a generation goes back",
        events=(WITH_MEMBER, group_metadata("foo", 2)),
        new=believed(
            groups={"foo": "classic Empty 2 consumer/-"},
            anomalies=(Anomaly(1, GroupOf("foo"), "generation goes back from 935 to 2"),),
        ),
    ),
    Story(
        name="a deleted group may begin again at any generation",
        events=(WITH_MEMBER, group_tombstone("foo"), group_metadata("foo", 1)),
        new=believed(groups={"foo": "classic Empty 1 consumer/-"}),
    ),
    Story(
        name="a group's tombstone leaves its offsets: orphans, or a simple group",
        events=(commit(*FOO0, 1), WITH_MEMBER, group_tombstone("foo")),
        new=believed(offsets={FOO0: At(1, 0)}),
        classic=believed(offsets={FOO0: At(1, 0)}, groups=SIMPLE),
    ),
    Story(
        name="all offsets expire, then the group",
        events=(commit(*FOO0, 1), group_metadata("foo", 2), (tombstone(*FOO0), group_tombstone("foo"))),
        new=believed(),
    ),
    Story(
        name="a classic group keeps its place with its last offset deleted",
        events=(commit(*FOO0, 1), group_metadata("foo", 2), tombstone(*FOO0)),
        new=believed(groups={"foo": "classic Empty 2 consumer/-"}),
    ),
    # The classic loader refuses a log that ends so, and takes it again when the transaction has ended.
    Story(
        name="a group's tombstone while a transaction waits",
        asked={Rules.NEW: ASKED[Rules.NEW]},
        events=(group_metadata("foo", 2), txn_commit(5, *FOO0, 1), group_tombstone("foo")),
        new=believed(pending={(5, *FOO0): At(1, 1)}, transactions={5: Open(1, 1, ("foo",), 1)}),
        classic=believed(
            pending={(5, *FOO0): At(1, 1)}, transactions={5: Open(1, 1, ("foo",), 1)}, groups=SIMPLE
        ),
    ),
    Story(
        name="a protocol that is not the consumer's",
        events=(group_metadata("connect-x", 4, member("w1"), protocol_type="connect", protocol="sessioned"),),
        new=believed(
            groups={"connect-x": "classic Stable 4 connect/sessioned w1"},
            members={"connect-x": {"w1": "client/host"}},
        ),
    ),
)

STORIES = SCALA + KAFKAS + OURS
