"""The lives of consumer, share and streams groups, with the values of their records."""

from random import Random
from typing import Any

from offsets_tool.records import consumer, share, streams
from tests.replay.appended_records import TOPICS, Unit, Write, by_place, write
from tests.replay.group_lifecycles import Life, Member, subscription

_IDS = tuple(TOPICS.values())
_NAMES = tuple(TOPICS)


def _partitions(units: set[Unit]) -> tuple[consumer.TopicPartition, ...]:
    return tuple(
        consumer.TopicPartition(topic_id=_IDS[place], partitions=partitions)
        for place, partitions in by_place(units).items()
    )


def _epochs(random: Random, partitions: tuple[int, ...], epoch: int) -> tuple[int, ...] | None:
    """Return an epoch for each partition from 4.3 (streams: 4.2) on; None before."""
    choices = (tuple(random.randint(0, max(epoch, 0)) for _ in partitions), (), None)
    return random.choices(choices, (10, 8, 1))[0]


class ConsumerLife(Life):
    """A group of KIP-848, with regular expressions and static members that step out."""

    kind = "consumer"
    group_type, member_type, target_epoch_type, target_type, current_type = 3, 5, 6, 7, 8

    def __init__(self, group: str, random: Random) -> None:
        super().__init__(group, random)
        self._regexes: set[str] = set()

    def aside(self, name: str) -> list[Write]:
        member = self.members[name]
        if member.instance is None:
            return self.besides()
        member.epoch, member.revoking = -2, set()
        return [self.current(name)]

    def besides(self) -> list[Write]:
        if self._random.random() < 0.5:
            return []
        regex = self._random.choice(("o.*", "a|b"))
        if regex in self._regexes and self._random.random() < 0.5:
            self._regexes.remove(regex)
            return [self._regex(regex).tombstone()]
        self._regexes.add(regex)
        return [self._regex(regex)]

    def last(self) -> list[Write]:
        gone = [self._regex(regex).tombstone() for regex in sorted(self._regexes)]
        return [*gone, write(4, group_id=self.group)]

    def _regex(self, regex: str) -> Write:
        topics = tuple(self._random.sample(_NAMES, self._random.randrange(len(_NAMES))))
        value = consumer.ConsumerGroupRegularExpressionValue(
            topics=topics, version=7, timestamp=1_700_000_000_000
        )
        return write(16, value, group_id=self.group, regular_expression=regex)

    def group_value(self) -> Any:
        return consumer.ConsumerGroupMetadataValue(
            epoch=self.epoch, metadata_hash=self._random.choice((0, -5))
        )

    def member_value(self, name: str) -> Any:
        protocols = (consumer.ClassicProtocol(name="range", metadata=subscription(self._random)),)
        spoken = consumer.ClassicMemberMetadata(session_timeout_ms=45_000, supported_protocols=protocols)
        return consumer.ConsumerGroupMemberMetadataValue(
            instance_id=self.members[name].instance,
            rack_id=self._random.choice((None, "rack")),
            client_id="client",
            client_host="/127.0.0.1",
            subscribed_topic_names=tuple(sorted(self._random.sample(_NAMES, self._random.randrange(3)))),
            subscribed_topic_regex=self._random.choice(("", "", None, "o.*")),
            rebalance_timeout_ms=self._random.choice((-1, 300_000)),
            server_assignor=self._random.choice((None, "uniform", "range")),
            classic_member_metadata=spoken if self.members[name].classic else None,
        )

    def target_epoch_value(self) -> Any:
        return consumer.ConsumerGroupTargetAssignmentMetadataValue(
            assignment_epoch=self.assignment_epoch,
            assignment_timestamp=self._random.choice((0, 1_700_000_000_000)),
        )

    def target_value(self, units: set[Unit]) -> Any:
        return consumer.ConsumerGroupTargetAssignmentMemberValue(topic_partitions=_partitions(units))

    def current_value(self, member: Member) -> Any:
        return consumer.ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=member.epoch,
            previous_member_epoch=member.previous,
            state=member.state,
            assigned_partitions=self._owned(member.assigned, member.epoch),
            partitions_pending_revocation=self._owned(member.revoking, member.epoch),
        )

    def _owned(self, units: set[Unit], epoch: int) -> tuple[consumer.TopicPartitions, ...]:
        return tuple(
            consumer.TopicPartitions(
                topic_id=_IDS[place],
                partitions=partitions,
                assignment_epochs=_epochs(self._random, partitions, epoch),
            )
            for place, partitions in by_place(units).items()
        )


class ShareLife(Life):
    """A group of KIP-932, in the layouts of 4.1 and later: partitions are shared, their state is set up and taken down."""

    kind = "share"
    group_type, member_type, target_epoch_type, target_type, current_type = 11, 10, 12, 13, 14
    exclusive = False

    def besides(self) -> list[Write]:
        if self._random.random() < 0.5:
            return []
        place = self._random.randrange(len(_IDS))
        info = share.TopicPartitionsInfo(topic_id=_IDS[place], topic_name=_NAMES[place], partitions=(0, 1))
        gone = share.TopicInfo(topic_id=_IDS[place], topic_name=_NAMES[place])
        there = self._random.randrange(3)
        value = share.ShareGroupStatePartitionMetadataValue(
            initializing_topics=(info,) if there == 0 else (),
            initialized_topics=(info,) if there == 1 else (),
            deleting_topics=(gone,) if there == 2 else (),
        )
        return [write(15, value, group_id=self.group)]

    def last(self) -> list[Write]:
        return [write(15, group_id=self.group)]

    def group_value(self) -> Any:
        return share.ShareGroupMetadataValue(epoch=self.epoch, metadata_hash=7)

    def member_value(self, name: str) -> Any:
        return share.ShareGroupMemberMetadataValue(
            rack_id=None,
            client_id="client",
            client_host="/127.0.0.1",
            subscribed_topic_names=tuple(sorted(self._random.sample(_NAMES, 2))),
        )

    def target_epoch_value(self) -> Any:
        return share.ShareGroupTargetAssignmentMetadataValue(assignment_epoch=self.assignment_epoch)

    def target_value(self, units: set[Unit]) -> Any:
        return share.ShareGroupTargetAssignmentMemberValue(topic_partitions=_partitions(units))

    def current_value(self, member: Member) -> Any:
        return share.ShareGroupCurrentMemberAssignmentValue(
            member_epoch=member.epoch,
            previous_member_epoch=member.previous,
            state=0,
            assigned_partitions=_partitions(member.assigned),
        )


class StreamsLife(Life):
    """A group of KIP-1071: tasks of subtopologies; a topology that grows older, and may not be validated yet."""

    kind = "streams"
    group_type, member_type, target_epoch_type, target_type, current_type = 17, 19, 20, 21, 22

    def __init__(self, group: str, random: Random) -> None:
        super().__init__(group, random)
        self._topology = -1

    def besides(self) -> list[Write]:
        if self._topology >= 0 and self._random.random() < 0.8:
            return []
        self._topology += 1
        subtopologies = tuple(
            streams.Subtopology(
                subtopology_id=str(place),
                source_topics=(name,),
                source_topic_regex=(),
                state_changelog_topics=(),
                repartition_sink_topics=(),
                repartition_source_topics=(),
                copartition_groups=(),
            )
            for place, name in enumerate(_NAMES)
        )
        value = streams.StreamsGroupTopologyValue(epoch=self._topology, subtopologies=subtopologies)
        return [write(23, value, group_id=self.group)]

    def last(self) -> list[Write]:
        return []

    def ends(self) -> list[Write]:
        return [*super().ends(), write(23, group_id=self.group)]

    def group_value(self) -> Any:
        return streams.StreamsGroupMetadataValue(
            epoch=self.epoch,
            metadata_hash=7,
            validated_topology_epoch=max(self._topology - self._random.choice((0, 0, 0, 1)), -1),
            last_assignment_configs=(streams.LastAssignmentConfig(key="num.standby.replicas", value="0"),),
        )

    def member_value(self, name: str) -> Any:
        return streams.StreamsGroupMemberMetadataValue(
            instance_id=self.members[name].instance,
            rack_id=None,
            client_id="client",
            client_host="/127.0.0.1",
            rebalance_timeout_ms=300_000,
            topology_epoch=max(self._topology, 0),
            process_id=f"process-of-{name}",
            user_endpoint=self._random.choice((None, streams.Endpoint(host="h", port=65535))),
            client_tags=(streams.KeyValue(key="zone", value="z"),) if self._random.random() < 0.3 else (),
        )

    def target_epoch_value(self) -> Any:
        return streams.StreamsGroupTargetAssignmentMetadataValue(assignment_epoch=self.assignment_epoch)

    def target_value(self, units: set[Unit]) -> Any:
        tasks = tuple(
            streams.TargetTaskIds(subtopology_id=str(place), partitions=partitions)
            for place, partitions in by_place(units).items()
        )
        return streams.StreamsGroupTargetAssignmentMemberValue(
            active_tasks=tasks, standby_tasks=(), warmup_tasks=()
        )

    def current_value(self, member: Member) -> Any:
        standby = set(self._random.sample(sorted(member.target), len(member.target) // 3))
        return streams.StreamsGroupCurrentMemberAssignmentValue(
            member_epoch=member.epoch,
            previous_member_epoch=member.previous,
            state=member.state + 1,
            active_tasks=self._tasks(member.assigned, member.epoch),
            standby_tasks=self._tasks(standby, None),
            warmup_tasks=(),
            active_tasks_pending_revocation=self._tasks(member.revoking, member.epoch),
            standby_tasks_pending_revocation=(),
            warmup_tasks_pending_revocation=(),
        )

    def _tasks(self, units: set[Unit], epoch: int | None) -> tuple[streams.TaskIds, ...]:
        return tuple(
            streams.TaskIds(
                subtopology_id=str(place),
                partitions=partitions,
                assignment_epochs=() if epoch is None else _epochs(self._random, partitions, epoch),
            )
            for place, partitions in by_place(units).items()
        )
