"""What a member is, asks for and owns, read from its records whatever its protocol: client, subscription, partitions or tasks.

Topics stand by name or by id, as the record has them; naming ids is left to whoever shows them. A blob that cannot be read owns
nothing. Source: ConsumerGroupMember, ShareGroupMember, StreamsGroupMember; ConsumerProtocol for classic members.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple
from uuid import UUID

from offsets_tool.blobs import consumer_assignment, consumer_subscription
from offsets_tool.events import Value
from offsets_tool.records.classic import MemberMetadata
from offsets_tool.replay.changes import Member

CONSUMER_PROTOCOL = "consumer"

Owned = tuple[str | UUID, int]
"""A partition: of a topic by name or by id, or of a subtopology (a task)."""


class Client(NamedTuple):
    """Who runs a member; None where no record says it."""

    instance_id: str | None = None
    client_id: str | None = None
    client_host: str | None = None


NOBODY = Client()
"""A client of which no record says anything."""


def client_of(member: Member) -> Client:
    """Return the client behind a member; members of share groups have no instance id."""
    metadata = member.metadata
    if metadata is None:
        return NOBODY
    if isinstance(metadata, MemberMetadata):
        return Client(metadata.group_instance_id, metadata.client_id, metadata.client_host)
    data = metadata.data
    return Client(getattr(data, "instance_id", None), data.client_id, data.client_host)


def subscription(member: Member, protocol_type: str | None) -> tuple[str, ...]:
    """Return the topics that a member asks for by name; none for a streams member, whose topology names them."""
    metadata = member.metadata
    if isinstance(metadata, MemberMetadata):
        return _subscribed(metadata.subscription) if protocol_type == CONSUMER_PROTOCOL else ()
    return () if metadata is None else getattr(metadata.data, "subscribed_topic_names", ())


def subscribed_regex(member: Member) -> str | None:
    """Return the regular expression that a member of a consumer group asks for; None if it has none."""
    if isinstance(member.metadata, Value):
        return getattr(member.metadata.data, "subscribed_topic_regex", None) or None
    return None


def owned(member: Member, protocol_type: str | None) -> Iterator[Owned]:
    """Yield what a member holds, including what it has still to give up: it reads and commits that until then."""
    yield from assigned(member, protocol_type)
    yield from to_give_up(member)


def assigned(member: Member, protocol_type: str | None) -> Iterator[Owned]:
    """Yield the partitions, or the active tasks, that a member has been given, as the coordinator answers them."""
    if isinstance(member.metadata, MemberMetadata):
        if protocol_type == CONSUMER_PROTOCOL:
            yield from _assigned(member.metadata.assignment)
    elif member.current is not None:
        yield from _partitions(member.current.data, *_ASSIGNED)


def to_give_up(member: Member) -> Iterator[Owned]:
    """Yield what a member still holds and has been asked to give up."""
    if member.current is not None:
        yield from _partitions(member.current.data, *_PENDING_REVOCATION)


def tasks(value: Value | None, kind: str) -> Iterator[Owned]:
    """Yield a streams member's tasks of one kind from an assignment or a target; none if there is no value.

    `kind` is `active_tasks`, `standby_tasks` or `warmup_tasks`.
    """
    if value is not None:
        yield from _partitions(value.data, kind)


def target(member: Member) -> Iterator[Owned]:
    """Yield the partitions, or the active tasks, that the assignor wants a member to hold."""
    if member.target is not None:
        yield from _partitions(member.target.data, "topic_partitions", "active_tasks")


_ASSIGNED: Final = ("assigned_partitions", "topic_partitions", "active_tasks")
_PENDING_REVOCATION: Final = ("partitions_pending_revocation", "active_tasks_pending_revocation")


def _partitions(data: Any, *names: str) -> Iterator[Owned]:
    for name in names:
        for entry in getattr(data, name, ()):
            of = entry.topic_id if hasattr(entry, "topic_id") else entry.subtopology_id
            yield from ((of, partition) for partition in entry.partitions)


@lru_cache(4096)
def _assigned(blob: bytes) -> tuple[Owned, ...]:
    """Return the partitions in a classic member's assignment; cached, since generations repeat their members' blobs."""
    message = consumer_assignment(blob)
    return (
        tuple((each.topic, p) for each in message.assigned_partitions for p in each.partitions)
        if message
        else ()
    )


@lru_cache(4096)
def _subscribed(blob: bytes) -> tuple[str, ...]:
    message = consumer_subscription(blob)
    return message.topics if message else ()
