"""The heart of the tests: for each record type, value version and layout a literal message and its bytes.

One table feeds encode, decode, Kafka's own serdes and both lanes. The bytes are checked against Kafka's classes by
tests/records/test_against_kafka.py; the golden records in fixtures/vectors are bytes that Kafka's code made.
"""

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from offsets_tool.records import classic, consumer, offsets, share, streams
from tests.corpora import VECTORS

TOPIC_ID = UUID(bytes=bytes(range(16)))
GROUP, MEMBER, TOPIC = "orders", "consumer-1-7c9e", "pagamenti-è"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A key and a value (or tombstone) of one record type. `layout` is the first release that has the value's layout."""

    name: str
    type: int
    key: Any
    version: int | None
    value: Any
    value_hex: str | None
    layout: str = ""

    def __str__(self) -> str:
        return self.name


def commit(version: int, **fields: Any) -> Any:
    return offsets.OffsetCommitValue(
        **{"offset": 1 << 40, "metadata": "mét\x01a", "commit_timestamp": 1700000000000} | fields
    )


COMMIT_KEY = offsets.OffsetCommitKey(group=GROUP, topic=TOPIC, partition=7)
LEGACY_KEY = offsets.LegacyOffsetCommitKey(group=GROUP, topic=TOPIC, partition=7)


def group(version: int) -> Any:
    member = classic.MemberMetadata(
        member_id=MEMBER,
        group_instance_id="instance-1" if version >= 3 else None,
        client_id="consumer-1",
        client_host="/127.0.0.1",
        rebalance_timeout=300000 if version >= 1 else -1,
        session_timeout=45000,
        subscription=bytes.fromhex("000000000001000361626300000000"),
        assignment=b"",
    )
    return classic.GroupMetadataValue(
        protocol_type="consumer",
        generation=3,
        protocol="range",
        leader=MEMBER,
        current_state_timestamp=1700000000000 if version >= 2 else -1,
        members=(member, member),
    )


EMPTY_GROUP = classic.GroupMetadataValue(
    protocol_type="", generation=0, protocol=None, leader=None, current_state_timestamp=1234, members=()
)
GROUP_KEY = classic.GroupMetadataKey(group=GROUP)


def keyed(cls: type, **more: Any) -> Any:
    return cls(group_id=GROUP, **more)


def membered(cls: type, **more: Any) -> Any:
    return cls(group_id=GROUP, member_id=MEMBER, **more)


_PARTITIONS = consumer.TopicPartition(topic_id=TOPIC_ID, partitions=(0, 1, 5))
_EPOCHS = consumer.TopicPartitions(topic_id=TOPIC_ID, partitions=(0, 1), assignment_epochs=(3, 4))
_NO_EPOCHS = consumer.TopicPartitions(topic_id=TOPIC_ID, partitions=(2,))
_NULL_EPOCHS = consumer.TopicPartitions(topic_id=TOPIC_ID, partitions=(), assignment_epochs=None)
_RACKS = consumer.PartitionMetadata(partition=0, racks=("a", "b"))
_TOPIC = consumer.TopicMetadata(
    topic_id=TOPIC_ID, topic_name=TOPIC, num_partitions=1, partition_metadata=(_RACKS,)
)
_ASSIGNOR = consumer.Assignor(
    name="a", minimum_version=-1, maximum_version=3, reason=1, version=2, metadata=b"\x00\x01"
)
_MEMBER = {
    "instance_id": None,
    "rack_id": "rack",
    "client_id": "client",
    "client_host": "/127.0.0.1",
    "subscribed_topic_names": ("a", TOPIC),
    "subscribed_topic_regex": "",
}
_NEWER_MEMBER = _MEMBER | {"rebalance_timeout_ms": 300000, "server_assignor": "uniform"}
_CLASSIC = consumer.ClassicMemberMetadata(
    session_timeout_ms=45000,
    supported_protocols=(consumer.ClassicProtocol(name="range", metadata=b"\x00\x00"),),
)
_INFO = share.TopicPartitionsInfo(topic_id=TOPIC_ID, topic_name=TOPIC, partitions=(0, 1))
_GONE = share.TopicInfo(topic_id=TOPIC_ID, topic_name=TOPIC)
_TASKS = streams.TaskIds(subtopology_id="0", partitions=(0, 1), assignment_epochs=(2, 3))
_PLAIN_TASKS = streams.TaskIds(subtopology_id="1", partitions=(4,))
_TARGET = streams.TargetTaskIds(subtopology_id="0", partitions=(0, 1))
_CONFIG = streams.TopicConfig(key="cleanup.policy", value="compact")
_INTERNAL = streams.InternalTopicInfo(
    name="changelog", partitions=0, replication_factor=3, topic_configs=(_CONFIG,)
)
_SUBTOPOLOGY = streams.Subtopology(
    subtopology_id="0",
    source_topics=("a",),
    source_topic_regex=("b.*",),
    state_changelog_topics=(_INTERNAL,),
    repartition_sink_topics=("r",),
    repartition_source_topics=(_INTERNAL,),
    copartition_groups=(
        streams.CopartitionGroup(source_topics=(0,), source_topic_regex=(-1,), repartition_source_topics=()),
    ),
)
_STREAMS_MEMBER = {
    "instance_id": "i",
    "rack_id": None,
    "client_id": "c",
    "client_host": "/h",
    "rebalance_timeout_ms": 5,
    "topology_epoch": 1,
    "process_id": "p",
    "client_tags": (streams.KeyValue(key="zone", value="z1"),),
}

# name, type, key, value version, value, layout ("" where there is only one)
_ROWS: tuple[tuple[str, int, Any, int | None, Any, str], ...] = (
    ("legacy_commit_v0", 0, LEGACY_KEY, 0, commit(0), ""),
    ("legacy_commit_v1", 0, LEGACY_KEY, 1, commit(1, expire_timestamp=1700000000001), ""),
    ("legacy_commit_tombstone", 0, LEGACY_KEY, None, None, ""),
    ("commit_v0", 1, COMMIT_KEY, 0, commit(0), ""),
    ("commit_v1", 1, COMMIT_KEY, 1, commit(1, expire_timestamp=1700000000001), ""),
    ("commit_v1_no_expiry", 1, COMMIT_KEY, 1, commit(1), ""),
    ("commit_v2", 1, COMMIT_KEY, 2, commit(2), ""),
    ("commit_v3", 1, COMMIT_KEY, 3, commit(3, leader_epoch=12), ""),
    ("commit_v3_no_epoch", 1, COMMIT_KEY, 3, commit(3, metadata=""), ""),
    ("commit_v4", 1, COMMIT_KEY, 4, commit(4, leader_epoch=0), ""),
    ("commit_v4_topic_id", 1, COMMIT_KEY, 4, commit(4, topic_id=TOPIC_ID, metadata="m" * 200), ""),
    ("commit_v4_unknown_tag", 1, COMMIT_KEY, 4, commit(4, unknown_tags=((9, b"\xca\xfe"),)), ""),
    ("commit_tombstone", 1, COMMIT_KEY, None, None, ""),
    ("group_v0", 2, GROUP_KEY, 0, group(0), ""),
    ("group_v1", 2, GROUP_KEY, 1, group(1), ""),
    ("group_v2", 2, GROUP_KEY, 2, group(2), ""),
    ("group_v3", 2, GROUP_KEY, 3, group(3), ""),
    ("group_v4", 2, GROUP_KEY, 4, group(4), ""),
    ("group_v3_empty", 2, GROUP_KEY, 3, EMPTY_GROUP, ""),
    ("group_tombstone", 2, GROUP_KEY, None, None, ""),
    (
        "consumer_group",
        3,
        keyed(consumer.ConsumerGroupMetadataKey),
        0,
        consumer.ConsumerGroupMetadataValue(epoch=5),
        "",
    ),
    (
        "consumer_group_hash",
        3,
        keyed(consumer.ConsumerGroupMetadataKey),
        0,
        consumer.ConsumerGroupMetadataValue(epoch=5, metadata_hash=-6),
        "",
    ),
    (
        "consumer_topics",
        4,
        keyed(consumer.ConsumerGroupPartitionMetadataKey),
        0,
        consumer.ConsumerGroupPartitionMetadataValue(topics=(_TOPIC,)),
        "3.8",
    ),
    (
        "consumer_topics_3.6",
        4,
        keyed(consumer.ConsumerGroupPartitionMetadataKey),
        0,
        consumer.ConsumerGroupPartitionMetadataValueV36(epoch=5, topics=(_TOPIC,)),
        "3.6",
    ),
    (
        "consumer_topics_3.5",
        4,
        keyed(consumer.ConsumerGroupPartitionMetadataKey),
        0,
        consumer.ConsumerGroupPartitionMetadataValueV35(
            epoch=5, topics=(consumer.TopicMetadataV35(topic_id=TOPIC_ID, num_partitions=3),)
        ),
        "3.5",
    ),
    (
        "consumer_member",
        5,
        membered(consumer.ConsumerGroupMemberMetadataKey),
        0,
        consumer.ConsumerGroupMemberMetadataValue(**_NEWER_MEMBER, classic_member_metadata=None),
        "3.8",
    ),
    (
        "consumer_member_classic",
        5,
        membered(consumer.ConsumerGroupMemberMetadataKey),
        0,
        consumer.ConsumerGroupMemberMetadataValue(**_NEWER_MEMBER, classic_member_metadata=_CLASSIC),
        "3.8",
    ),
    (
        "consumer_member_untagged",
        5,
        membered(consumer.ConsumerGroupMemberMetadataKey),
        0,
        consumer.ConsumerGroupMemberMetadataValue(**_NEWER_MEMBER),
        "3.8",
    ),
    (
        "consumer_member_3.6",
        5,
        membered(consumer.ConsumerGroupMemberMetadataKey),
        0,
        consumer.ConsumerGroupMemberMetadataValueV36(**_NEWER_MEMBER, assignors=(_ASSIGNOR,)),
        "3.6",
    ),
    (
        "consumer_member_3.6_no_assignors",
        5,
        membered(consumer.ConsumerGroupMemberMetadataKey),
        0,
        consumer.ConsumerGroupMemberMetadataValueV36(**_NEWER_MEMBER, assignors=()),
        "3.6",
    ),
    (
        "consumer_member_3.5",
        5,
        membered(consumer.ConsumerGroupMemberMetadataKey),
        0,
        consumer.ConsumerGroupMemberMetadataValueV35(group_epoch=5, **_MEMBER, assignors=(_ASSIGNOR,)),
        "3.5",
    ),
    (
        "consumer_target",
        6,
        keyed(consumer.ConsumerGroupTargetAssignmentMetadataKey),
        0,
        consumer.ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=5),
        "",
    ),
    (
        "consumer_target_timestamp",
        6,
        keyed(consumer.ConsumerGroupTargetAssignmentMetadataKey),
        0,
        consumer.ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=5, assignment_timestamp=9),
        "",
    ),
    (
        "consumer_target_member",
        7,
        membered(consumer.ConsumerGroupTargetAssignmentMemberKey),
        0,
        consumer.ConsumerGroupTargetAssignmentMemberValue(topic_partitions=(_PARTITIONS,)),
        "3.8",
    ),
    (
        "consumer_target_member_3.5",
        7,
        membered(consumer.ConsumerGroupTargetAssignmentMemberKey),
        0,
        consumer.ConsumerGroupTargetAssignmentMemberValueV35(
            error=0, topic_partitions=(_PARTITIONS,), metadata_version=-1, metadata_bytes=b"\x01"
        ),
        "3.5",
    ),
    (
        "consumer_current",
        8,
        membered(consumer.ConsumerGroupCurrentMemberAssignmentKey),
        0,
        consumer.ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=5,
            previous_member_epoch=4,
            state=1,
            assigned_partitions=(_EPOCHS, _NO_EPOCHS),
            partitions_pending_revocation=(_NULL_EPOCHS,),
        ),
        "3.8",
    ),
    (
        "consumer_current_3.6",
        8,
        membered(consumer.ConsumerGroupCurrentMemberAssignmentKey),
        0,
        consumer.ConsumerGroupCurrentMemberAssignmentValueV36(
            member_epoch=5,
            previous_member_epoch=4,
            target_member_epoch=5,
            assigned_partitions=(_PARTITIONS,),
            partitions_pending_revocation=(),
            partitions_pending_assignment=(),
            error=0,
            metadata_version=0,
            metadata_bytes=b"",
        ),
        "3.6",
    ),
    (
        "consumer_current_3.5",
        8,
        membered(consumer.ConsumerGroupCurrentMemberAssignmentKey),
        0,
        consumer.ConsumerGroupCurrentMemberAssignmentValueV35(
            member_epoch=5, error=0, topic_partitions=(_PARTITIONS,), metadata_version=0, metadata_bytes=b""
        ),
        "3.5",
    ),
    (
        "consumer_current_tombstone",
        8,
        membered(consumer.ConsumerGroupCurrentMemberAssignmentKey),
        None,
        None,
        "",
    ),
    (
        "share_topics_4.0",
        9,
        keyed(share.ShareGroupPartitionMetadataKey),
        0,
        share.ShareGroupPartitionMetadataValue(topics=(_TOPIC,)),
        "4.0",
    ),
    (
        "share_topics_3.9",
        9,
        keyed(share.ShareGroupPartitionMetadataKey),
        0,
        share.ShareGroupPartitionMetadataValueV39(initialized_topics=(_INFO,), deleting_topics=(_GONE,)),
        "3.9",
    ),
    (
        "share_member",
        10,
        membered(share.ShareGroupMemberMetadataKey),
        0,
        share.ShareGroupMemberMetadataValue(
            rack_id=None, client_id="c", client_host="/h", subscribed_topic_names=(TOPIC,)
        ),
        "",
    ),
    (
        "share_group",
        11,
        keyed(share.ShareGroupMetadataKey),
        0,
        share.ShareGroupMetadataValue(epoch=5, metadata_hash=77),
        "4.1",
    ),
    (
        "share_group_3.9",
        11,
        keyed(share.ShareGroupMetadataKey),
        0,
        share.ShareGroupMetadataValueV39(epoch=5),
        "3.9",
    ),
    (
        "share_target",
        12,
        keyed(share.ShareGroupTargetAssignmentMetadataKey),
        0,
        share.ShareGroupTargetAssignmentMetadataValue(assignment_epoch=5, assignment_timestamp=9),
        "",
    ),
    (
        "share_target_member",
        13,
        membered(share.ShareGroupTargetAssignmentMemberKey),
        0,
        share.ShareGroupTargetAssignmentMemberValue(topic_partitions=(_PARTITIONS,)),
        "",
    ),
    (
        "share_current",
        14,
        membered(share.ShareGroupCurrentMemberAssignmentKey),
        0,
        share.ShareGroupCurrentMemberAssignmentValue(
            member_epoch=5, previous_member_epoch=4, state=0, assigned_partitions=(_PARTITIONS,)
        ),
        "",
    ),
    (
        "share_state",
        15,
        keyed(share.ShareGroupStatePartitionMetadataKey),
        0,
        share.ShareGroupStatePartitionMetadataValue(
            initializing_topics=(_INFO,), initialized_topics=(), deleting_topics=(_GONE,)
        ),
        "4.1",
    ),
    (
        "share_state_4.0",
        15,
        keyed(share.ShareGroupStatePartitionMetadataKey),
        0,
        share.ShareGroupStatePartitionMetadataValueV40(initialized_topics=(_INFO,), deleting_topics=(_GONE,)),
        "4.0",
    ),
    (
        "consumer_regex",
        16,
        keyed(consumer.ConsumerGroupRegularExpressionKey, regular_expression="a.*"),
        0,
        consumer.ConsumerGroupRegularExpressionValue(topics=(TOPIC,), version=12, timestamp=1700000000000),
        "",
    ),
    (
        "streams_group",
        17,
        keyed(streams.StreamsGroupMetadataKey),
        0,
        streams.StreamsGroupMetadataValue(
            epoch=5,
            metadata_hash=1,
            validated_topology_epoch=2,
            last_assignment_configs=(streams.LastAssignmentConfig(key="k", value="v"),),
            stored_description_topology_epoch=-2,
            failed_description_topology_epoch=4,
        ),
        "",
    ),
    (
        "streams_group_null_configs",
        17,
        keyed(streams.StreamsGroupMetadataKey),
        0,
        streams.StreamsGroupMetadataValue(epoch=5, metadata_hash=1, last_assignment_configs=None),
        "",
    ),
    (
        "streams_topics",
        18,
        keyed(streams.StreamsGroupPartitionMetadataKey),
        0,
        streams.StreamsGroupPartitionMetadataValue(
            topics=(streams.StreamsTopicMetadata(topic_id=TOPIC_ID, topic_name=TOPIC, num_partitions=3),)
        ),
        "",
    ),
    (
        "streams_member",
        19,
        membered(streams.StreamsGroupMemberMetadataKey),
        0,
        streams.StreamsGroupMemberMetadataValue(
            **_STREAMS_MEMBER, user_endpoint=streams.Endpoint(host="h", port=65535)
        ),
        "",
    ),
    (
        "streams_member_no_endpoint",
        19,
        membered(streams.StreamsGroupMemberMetadataKey),
        0,
        streams.StreamsGroupMemberMetadataValue(**_STREAMS_MEMBER),
        "",
    ),
    (
        "streams_target",
        20,
        keyed(streams.StreamsGroupTargetAssignmentMetadataKey),
        0,
        streams.StreamsGroupTargetAssignmentMetadataValue(assignment_epoch=5, assignment_timestamp=9),
        "",
    ),
    (
        "streams_target_member",
        21,
        membered(streams.StreamsGroupTargetAssignmentMemberKey),
        0,
        streams.StreamsGroupTargetAssignmentMemberValue(
            active_tasks=(_TARGET,), standby_tasks=(), warmup_tasks=(_TARGET,)
        ),
        "",
    ),
    (
        "streams_current",
        22,
        membered(streams.StreamsGroupCurrentMemberAssignmentKey),
        0,
        streams.StreamsGroupCurrentMemberAssignmentValue(
            member_epoch=5,
            previous_member_epoch=4,
            state=1,
            active_tasks=(_TASKS,),
            standby_tasks=(_PLAIN_TASKS,),
            warmup_tasks=(),
            active_tasks_pending_revocation=(),
            standby_tasks_pending_revocation=(),
            warmup_tasks_pending_revocation=(_PLAIN_TASKS,),
        ),
        "",
    ),
    (
        "streams_topology",
        23,
        keyed(streams.StreamsGroupTopologyKey),
        0,
        streams.StreamsGroupTopologyValue(epoch=1, subtopologies=(_SUBTOPOLOGY,)),
        "",
    ),
    ("streams_topology_tombstone", 23, keyed(streams.StreamsGroupTopologyKey), None, None, ""),
)

_HEX: dict[str, str] = json.loads((VECTORS / "case_values.json").read_text())

CASES = tuple(
    Case(
        name=name, type=type_, key=key, version=version, value=value, value_hex=_HEX.get(name), layout=layout
    )
    for name, type_, key, version, value, layout in _ROWS
)
