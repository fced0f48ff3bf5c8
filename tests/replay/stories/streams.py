"""Streams groups of KIP-1071: Kafka's GroupMetadataManagerTest and GroupCoordinatorShardTest, and which topology was validated."""

from typing import Any

from offsets_tool.records import streams as kafka
from offsets_tool.replay.changes import GroupOf, MemberOf
from tests.replay.stories.consumer_records import new_only
from tests.replay.story import Anomaly, At, StoryRecord, commit, record_of, tombstone_of

FOO: Any = {"group_id": "foo"}
M1: Any = {"group_id": "foo", "member_id": "m1"}
EPOCH = kafka.StreamsGroupMetadataKey(**FOO)
TARGET_EPOCH = kafka.StreamsGroupTargetAssignmentMetadataKey(**FOO)
TOPOLOGY = kafka.StreamsGroupTopologyKey(**FOO)
MEMBER = kafka.StreamsGroupMemberMetadataKey(**M1)
TARGET = kafka.StreamsGroupTargetAssignmentMemberKey(**M1)
CURRENT = kafka.StreamsGroupCurrentMemberAssignmentKey(**M1)
STABLE, UNRELEASED = 1, 3
CONFIGURED = (kafka.LastAssignmentConfig(key="num.standby.replicas", value="0"),)
REFUSED = "Kafka refuses to load it"


def epoch(number: int, validated: int | None = 0) -> StoryRecord:
    """Return the record of the group's epoch; `validated` None as in 4.1, with neither topology epoch nor configuration."""
    later = {} if validated is None else {"validated_topology_epoch": validated}
    configs = () if validated is None else CONFIGURED
    value = kafka.StreamsGroupMetadataValue(
        epoch=number, metadata_hash=0, last_assignment_configs=configs, **later
    )
    return record_of(EPOCH, value)


def target_epoch(number: int) -> StoryRecord:
    return record_of(
        TARGET_EPOCH,
        kafka.StreamsGroupTargetAssignmentMetadataValue(assignment_epoch=number, assignment_timestamp=12345),
    )


def joined(member_id: str) -> StoryRecord:
    value = kafka.StreamsGroupMemberMetadataValue(
        instance_id="instance",
        rack_id="rackid",
        client_id="client",
        client_host="host",
        rebalance_timeout_ms=1000,
        topology_epoch=10,
        process_id="processid",
        user_endpoint=kafka.Endpoint(host="localhost", port=9999),
        client_tags=(kafka.KeyValue(key="key", value="value"),),
    )
    return record_of(kafka.StreamsGroupMemberMetadataKey(group_id="foo", member_id=member_id), value)


def owns(member_id: str, epoch: int, active: tuple[int, ...], state: int = STABLE) -> StoryRecord:
    tasks = (kafka.TaskIds(subtopology_id="s", partitions=active, assignment_epochs=None),) if active else ()
    value = kafka.StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=epoch,
        previous_member_epoch=epoch - 1,
        state=state,
        active_tasks=tasks,
        standby_tasks=(),
        warmup_tasks=(),
        active_tasks_pending_revocation=(),
        standby_tasks_pending_revocation=(),
        warmup_tasks_pending_revocation=(),
    )
    return record_of(kafka.StreamsGroupCurrentMemberAssignmentKey(group_id="foo", member_id=member_id), value)


def topology(number: int) -> StoryRecord:
    part = kafka.Subtopology(
        subtopology_id="subtopology-1",
        source_topics=("source-topic",),
        source_topic_regex=(),
        state_changelog_topics=(),
        repartition_sink_topics=("sink-topic",),
        repartition_source_topics=(),
        copartition_groups=(),
    )
    return record_of(TOPOLOGY, kafka.StreamsGroupTopologyValue(epoch=number, subtopologies=(part,)))


def tasks(*partitions: int) -> tuple[Any, ...]:
    return (kafka.TargetTaskIds(subtopology_id="s", partitions=partitions),)


WANTS = record_of(
    TARGET,
    kafka.StreamsGroupTargetAssignmentMemberValue(
        active_tasks=tasks(0, 1), standby_tasks=tasks(3), warmup_tasks=tasks(6)
    ),
)
WANTED = "wants active.s:0,1 standby.s:3 warmup.s:6"
WHO = "client/host/instance"
EMPTY_10 = {"foo": "streams Empty 10/0"}
ONE_MEMBER = {"foo": {"m1": f"{WHO} 0 STABLE"}}


def manager(name: str, *events: Any, **parts: Any) -> Any:
    return new_only(f"GroupMetadataManagerTest.testReplayStreamsGroup{name}", *events, **parts)


MANAGER = (
    manager("MemberMetadata", joined("m1"), groups={"foo": "streams NotReady 0/0"}, members=ONE_MEMBER),
    manager(
        "MemberMetadataWithSimpleClassicGroup",
        commit("foo", "bar", 0, 5),
        joined("m1"),
        offsets={("foo", "bar", 0): At(5, 0)},
        groups={"foo": "streams NotReady 0/0"},
        members=ONE_MEMBER,
    ),
    manager("MemberMetadataTombstoneNotExisting", epoch(10), tombstone_of(MEMBER), groups=EMPTY_10),
    manager(
        "MemberMetadataTombstoneExisting",
        *(epoch(10), joined("m1"), WANTS),
        *(tombstone_of(CURRENT), tombstone_of(TARGET), tombstone_of(MEMBER)),
        groups=EMPTY_10,
    ),
    manager(
        "MemberMetadataTombstoneExisting[not left]",
        *(epoch(10), joined("m1"), tombstone_of(MEMBER)),
        groups=EMPTY_10,
        anomalies=(Anomaly(2, MemberOf("foo", "m1"), REFUSED),),
    ),
    manager(
        "MemberMetadataTombstoneExisting[target left]",
        *(epoch(10), joined("m1"), WANTS, tombstone_of(CURRENT), tombstone_of(MEMBER)),
        groups=EMPTY_10,
        members={"foo": {"m1": WANTED}},
        anomalies=(Anomaly(4, MemberOf("foo", "m1"), REFUSED),),
    ),
    manager("Metadata", epoch(10), groups=EMPTY_10),
    manager("EpochTombstoneNotExisting", tombstone_of(EPOCH)),
    manager(
        "EpochTombstoneExisting",
        *(epoch(10), target_epoch(10), joined("m1"), WANTS),
        *(
            tombstone_of(TARGET),
            tombstone_of(CURRENT),
            tombstone_of(MEMBER),
            tombstone_of(TARGET_EPOCH),
            tombstone_of(EPOCH),
        ),
    ),
    manager(
        "EpochTombstoneExisting[member left]",
        *(epoch(10), target_epoch(10), joined("m1"), tombstone_of(EPOCH)),
        anomalies=(Anomaly(3, GroupOf("foo"), "1 member(s)"),),
    ),
    manager(
        "EpochTombstoneExisting[target epoch left]",
        *(epoch(10), target_epoch(10), tombstone_of(EPOCH)),
        anomalies=(Anomaly(2, GroupOf("foo"), "assignment epoch 10"),),
    ),
    manager(
        "TargetAssignmentMember", WANTS, groups={"foo": "streams Empty 0/0"}, members={"foo": {"m1": WANTED}}
    ),
    manager("TargetAssignmentMemberTombstoneNonExisting", tombstone_of(TARGET)),
    manager(
        "TargetAssignmentMemberTombstoneExisting", epoch(10), WANTS, tombstone_of(TARGET), groups=EMPTY_10
    ),
    manager("TargetAssignmentMetadata", target_epoch(10), groups={"foo": "streams Empty 0/10"}),
    manager("TargetAssignmentMetadataTombstoneNotExisting", tombstone_of(TARGET_EPOCH)),
    manager(
        "TargetAssignmentMetadataTombstoneExisting",
        *(epoch(10), target_epoch(10), WANTS, tombstone_of(TARGET), tombstone_of(TARGET_EPOCH)),
        groups={"foo": "streams Empty 10/-1"},
    ),
    manager(
        "TargetAssignmentMetadataTombstoneExisting[target left]",
        *(epoch(10), target_epoch(10), WANTS, tombstone_of(TARGET_EPOCH)),
        groups={"foo": "streams Empty 10/-1"},
        members={"foo": {"m1": WANTED}},
        anomalies=(Anomaly(3, GroupOf("foo"), REFUSED),),
    ),
    manager(
        "CurrentMemberAssignment",
        owns("m1", 10, (0, 1, 2), UNRELEASED),
        groups={"foo": "streams NotReady 0/0"},
        members={"foo": {"m1": "10 UNRELEASED_TASKS owns active.s:0,1,2"}},
    ),
    manager("CurrentMemberAssignmentTombstoneNotExisting", epoch(10), tombstone_of(CURRENT), groups=EMPTY_10),
    manager(
        "CurrentMemberAssignmentTombstoneExisting",
        *(epoch(10), joined("m1"), owns("m1", 1, (0,)), tombstone_of(CURRENT)),
        groups={"foo": "streams NotReady 10/0"},
        members={"foo": {"m1": f"{WHO} -1 STABLE"}},
    ),
    manager(
        "CurrentMemberAssignmentWithCompaction",
        *(joined("A"), joined("B"), owns("A", 11, (0,)), owns("B", 12, (0,)), owns("A", 13, (1,))),
        groups={"foo": "streams NotReady 0/0"},
        members={"foo": {"A": f"{WHO} 13 STABLE owns active.s:1", "B": f"{WHO} 12 STABLE owns active.s:0"}},
    ),
    manager(
        "CurrentMemberAssignmentUnownedTopologyWithCompaction",
        *(joined("A"), joined("B"), owns("A", 11, (0,)), owns("B", 12, (0,)), owns("B", 13, ())),
        owns("A", 14, (5,)),
        groups={"foo": "streams NotReady 0/0"},
        members={"foo": {"A": f"{WHO} 14 STABLE owns active.s:5", "B": f"{WHO} 13 STABLE"}},
    ),
    manager("Topology", topology(12), groups={"foo": "streams Empty 0/0 topology 12"}),
    manager("TopologyTombstoneNotExists", epoch(10), tombstone_of(TOPOLOGY), groups=EMPTY_10),
    manager("TopologyTombstoneExists", epoch(10), topology(10), tombstone_of(TOPOLOGY), groups=EMPTY_10),
)

STORIES = MANAGER
