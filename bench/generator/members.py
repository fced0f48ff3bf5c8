"""Groups that rebalance: what the classic coordinator and the one of KIP-848 write when a group of ten members does.

A rebalance changes the generation or epochs always, and the members and their assignments now and then: then blobs are new.
"""

from collections.abc import Mapping
from functools import cached_property
from random import Random
from typing import Any, Final
from uuid import UUID

from bench.generator.batches import Record
from bench.generator.clients import topic_id
from bench.generator.templates import EPOCH, TIME, Template, key, value
from offsets_tool.records.classic import GroupMetadataValue, MemberMetadata
from offsets_tool.records.consumer import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataValue,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataValue,
    TopicPartition,
    TopicPartitions,
)
from offsets_tool.records.embedded import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartitionNames,
)
from offsets_tool.wire import walk

MEMBERS: Final = 10
_TOPICS: Final = 3
_PARTITIONS: Final = 24
_ARRANGEMENTS: Final = 4
"""Ways in which a group has been seen to share out its partitions: it goes from one to another."""


class ClassicGroup:
    """A group of the classic protocol; each rebalance is one record."""

    def __init__(self, name: str, random: Random, topics: Mapping[str, int] | None = None) -> None:
        """Take the topics that the group consumes, with their numbers of partitions; without any, they are topics of its own."""
        self._key = key(2, group=name)
        consumed = topics or _topics(name)
        self._arrangements = [_ClassicArrangement(name, consumed, random) for _ in range(_ARRANGEMENTS)]
        self._generation = random.randrange(1000)
        self._random = random

    def rebalance(self, time: int) -> list[list[Record]]:
        """Return the records that a rebalance writes, batch by batch; `time` in milliseconds."""
        self._generation += 1
        template = self._random.choice(self._arrangements).template
        return [[Record(self._key, template.fill(_int32(self._generation), time.to_bytes(8, "big")))]]


class _ClassicArrangement:
    """One way in which a classic group shares out its partitions, among members of its own; encoded when it is asked for."""

    def __init__(self, group: str, topics: Mapping[str, int], random: Random) -> None:
        self._group = group
        self._shares = _shares(topics, random)
        self._uuids = [_uuid(random) for _ in self._shares]

    @cached_property
    def template(self) -> Template:
        """The template of the group's record; the holes are its generation and times."""
        members = tuple(map(self._member, range(MEMBERS)))
        data = GroupMetadataValue(
            protocol_type="consumer",
            generation=EPOCH,
            protocol="range",
            leader=members[0].member_id,
            current_state_timestamp=TIME,
            members=members,
        )
        return Template(value(3, data), (EPOCH, TIME))

    def _member(self, place: int) -> MemberMetadata:
        client, share = f"{self._group}-client-{place}", self._shares[place]
        owned = tuple(TopicPartitionNames(topic=topic, partitions=held) for topic, held in share.items())
        subscription = ConsumerProtocolSubscription(
            topics=tuple(share), owned_partitions=owned, generation_id=4
        )
        assignment = ConsumerProtocolAssignment(assigned_partitions=owned, user_data=None)
        return MemberMetadata(
            member_id=f"{client}-{self._uuids[place]}",
            client_id=client,
            client_host=f"/10.1.{place}.17",
            rebalance_timeout=300_000,
            session_timeout=45_000,
            subscription=_blob(3, subscription),
            assignment=_blob(3, assignment),
        )


class ConsumerGroup:
    """A group of KIP-848; a rebalance writes the epoch, two members, ten target assignments and ten current ones."""

    def __init__(self, number: int, random: Random) -> None:
        self._name = f"consumer-{number}"
        self._members = [f"{_uuid(random)}" for _ in range(MEMBERS)]
        self._epoch = random.randrange(1000)
        self._random = random
        self._arrangements = [
            _ConsumerArrangement(self._name, self._members, random) for _ in range(_ARRANGEMENTS)
        ]

    def rebalance(self, time: int) -> list[list[Record]]:
        """Return the records that a rebalance writes, batch by batch; `time` in milliseconds."""
        self._epoch += 1
        epoch, before = _int32(self._epoch), _int32(self._epoch - 1)
        arrangement = self._random.choice(self._arrangements)
        head = ConsumerGroupMetadataValue(epoch=self._epoch, metadata_hash=0x1234_5678_9ABC)
        goal = ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=self._epoch)
        first = self._random.randrange(MEMBERS - 1)
        begun = [*self._described[first : first + 2], Record(key(3, group_id=self._name), value(0, head))]
        decided = [*arrangement.targets, Record(key(6, group_id=self._name), value(0, goal))]
        taken = [[Record(key, template.fill(epoch, before))] for key, template in arrangement.currents]
        return [begun, decided, *taken]

    @cached_property
    def _described(self) -> list[Record]:
        return [self._member(place) for place in range(MEMBERS)]

    def _member(self, place: int) -> Record:
        data = ConsumerGroupMemberMetadataValue(
            instance_id=None,
            rack_id=f"rack-{place % 3}",
            client_id=f"{self._name}-client-{place}",
            client_host=f"/10.1.{place}.17",
            subscribed_topic_names=tuple(_topics(self._name)),
            subscribed_topic_regex=None,
            rebalance_timeout_ms=300_000,
            server_assignor="uniform",
            classic_member_metadata=None,
        )
        return Record(key(5, group_id=self._name, member_id=self._members[place]), value(0, data))


class _ConsumerArrangement:
    """One way in which a KIP-848 group shares out its partitions; encoded when it is asked for."""

    def __init__(self, group: str, members: list[str], random: Random) -> None:
        self._group = group
        self._shares = dict(zip(members, _shares(_topics(group), random), strict=True))

    @cached_property
    def targets(self) -> list[Record]:
        """The records of the members' target assignments."""
        return [
            Record(self._key(7, member), value(0, _target(share))) for member, share in self._shares.items()
        ]

    @cached_property
    def currents(self) -> list[tuple[bytes, Template]]:
        """The keys of the members' current assignments with templates of their values; the holes are the epochs."""
        return [
            (self._key(8, member), Template(value(0, _current(share)), (EPOCH, EPOCH)))
            for member, share in self._shares.items()
        ]

    def _key(self, type_id: int, member: str) -> bytes:
        return key(type_id, group_id=self._group, member_id=member)


def _target(share: dict[str, tuple[int, ...]]) -> ConsumerGroupTargetAssignmentMemberValue:
    return ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=tuple(
            TopicPartition(topic_id=topic_id(topic), partitions=held) for topic, held in share.items()
        )
    )


def _current(share: dict[str, tuple[int, ...]]) -> ConsumerGroupCurrentMemberAssignmentValue:
    return ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=EPOCH,
        previous_member_epoch=EPOCH,
        state=0,
        assigned_partitions=tuple(
            TopicPartitions(topic_id=topic_id(topic), partitions=held) for topic, held in share.items()
        ),
        partitions_pending_revocation=(),
    )


def _topics(group: str) -> dict[str, int]:
    return {f"topic-{number}.of.{group}": _PARTITIONS for number in range(_TOPICS)}


def _shares(topics: Mapping[str, int], random: Random) -> list[dict[str, tuple[int, ...]]]:
    """Return all partitions of all topics, shared out among the members so that each has some of every topic."""
    shares: list[dict[str, tuple[int, ...]]] = [{} for _ in range(MEMBERS)]
    for topic, count in topics.items():
        partitions = random.sample(range(count), count)
        for place, share in enumerate(shares):
            share[topic] = tuple(sorted(partitions[place::MEMBERS]))
    return shares


def _blob(version: int, data: Any) -> bytes:
    return version.to_bytes(2, "big") + walk.encode(data, version)


def _int32(number: int) -> bytes:
    return number.to_bytes(4, "big")


def _uuid(random: Random) -> UUID:
    return UUID(int=random.getrandbits(128))
