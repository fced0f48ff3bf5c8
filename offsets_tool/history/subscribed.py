"""Reads from records what an assignor was called with: a classic group's one record, or the records of a consumer group's members.

Only records of consumer groups up to 4.0 say how many partitions a topic has: elsewhere it is the highest partition that a member
was assigned, owned or committed.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple
from uuid import UUID

from offsets_tool.assignors.subscriptions import Assignment, Partition, Subscriber
from offsets_tool.blobs import (
    consumer_assignment,
    consumer_subscription,
    has_cut_subscription,
    subscription_user_data,
)
from offsets_tool.events import Value
from offsets_tool.history.owners import NameOf
from offsets_tool.records.classic import GroupMetadataValue, MemberMetadata
from offsets_tool.records.embedded import CooperativeStickyUserData, StickyUserData, TopicPartitionNames
from offsets_tool.replay.changes import Group, Member
from offsets_tool.replay.member_records import OwnedOfTopic, client_of, subscription, target_by_topic
from offsets_tool.wire.json import uuid_text

_KEEPS_OWNED: Final = "cooperative-sticky"
"""The assignor to which members say what they own in a field behind those of version 0."""


class Recorded(NamedTuple):
    """The members that an assignor was called with, and their assignment; `problem` says which bytes cannot be read."""

    members: tuple[Subscriber, ...]
    assigned: Assignment
    problem: str | None = None


def of_classic(value: GroupMetadataValue) -> Recorded:
    """Return what a classic group's record says of its last assignment."""
    members: list[Subscriber] = []
    assigned: dict[str, frozenset[Partition]] = {}
    for member in value.members:
        asked = consumer_subscription(member.subscription)
        given = consumer_assignment(member.assignment) if member.assignment else None
        if asked is None or (member.assignment and given is None):
            what = "subscription" if asked is None else "assignment"
            return Recorded((), {}, f"the {what} of member {member.member_id} does not read")
        if value.protocol == _KEEPS_OWNED and has_cut_subscription(member.subscription):
            return Recorded((), {}, f"what member {member.member_id} owned does not read in its subscription")
        members.append(_classic_member(value.protocol or "", member, asked))
        assigned[member.member_id] = _partitions(given.assigned_partitions if given else ())
    return Recorded(tuple(members), assigned)


def _classic_member(protocol: str, member: MemberMetadata, asked: Any) -> Subscriber:
    """Return a member with what it claims to own: in a field of the subscription, or where the assignor `sticky` keeps it."""
    user_data = subscription_user_data(protocol, member.subscription)
    claims, generation = _partitions(asked.owned_partitions), asked.generation_id
    if protocol == "sticky":
        said = user_data if isinstance(user_data, StickyUserData) else StickyUserData(previous_assignment=())
        claims, generation = _partitions(said.previous_assignment), said.generation
    elif generation < 0 and isinstance(user_data, CooperativeStickyUserData):
        generation = user_data.generation
    return Subscriber(
        member.member_id,
        frozenset(asked.topics),
        member.group_instance_id,
        asked.rack_id or None,
        claims,
        generation,
    )


def _partitions(topics: Iterable[TopicPartitionNames]) -> frozenset[Partition]:
    return frozenset((each.topic, partition) for each in topics for partition in each.partitions)


def of_consumer(
    group: Group, members: Mapping[str, Member], before: Mapping[str, frozenset[Partition]], name_of: NameOf
) -> Recorded:
    """Return what the records of a consumer group say of its target assignment; `before` is the one that it had, by member id."""
    resolved = {text: frozenset(value.data.topics) for text, value in group.expressions}
    there = {member_id: member for member_id, member in members.items() if isinstance(member.metadata, Value)}
    subscribers = tuple(
        _consumer_member(group, member_id, member, resolved, before) for member_id, member in there.items()
    )
    try:
        assigned = {member_id: _by_name(target_by_topic(each), name_of) for member_id, each in there.items()}
    except KeyError as unnamed:
        return Recorded(
            subscribers, {}, f"topic id {unnamed.args[0]} has no known name; give it by --topic-id"
        )
    return Recorded(subscribers, assigned)


def _consumer_member(
    group: Group,
    member_id: str,
    member: Member,
    resolved: Mapping[str, frozenset[str]],
    before: Mapping[str, frozenset[Partition]],
) -> Subscriber:
    assert isinstance(member.metadata, Value)
    data = member.metadata.data
    expression = getattr(data, "subscribed_topic_regex", None) or ""
    topics = frozenset(subscription(member, group.protocol_type)) | resolved.get(expression, frozenset())
    instance_id = client_of(member).instance_id
    rack = getattr(data, "rack_id", None) or None
    return Subscriber(member_id, topics, instance_id, rack, before.get(member_id, frozenset()))


def _by_name(by_topic: Iterable[OwnedOfTopic], name_of: NameOf) -> frozenset[Partition]:
    """Return partitions by the names of their topics; KeyError with a topic id that has no known name."""
    partitions: list[Partition] = []
    for of, numbers in by_topic:
        topic = of if isinstance(of, str) else name_of(of)
        if isinstance(of, UUID) and topic == uuid_text(of):
            raise KeyError(topic)
        partitions += ((topic, number) for number in numbers)
    return frozenset(partitions)


def recorded_counts(group: Group) -> dict[str, int]:
    """Return how many partitions topics have by the group's own record of them, which brokers up to 4.0 write."""
    topics = group.topics.data.topics if group.topics else ()
    return {each.topic_name: each.num_partitions for each in topics if hasattr(each, "num_partitions")}


def least_counts(partitions: Iterable[Partition]) -> dict[str, int]:
    """Return how many partitions topics have at least, if these are partitions of theirs."""
    counts: dict[str, int] = {}
    for topic, number in partitions:
        counts[topic] = max(counts.get(topic, 0), number + 1)
    return counts
