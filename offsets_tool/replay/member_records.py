"""What a member is, asks for and owns, read from its records whatever its protocol: client, subscription, partitions or tasks.

Topics stand by name or by id, as the record has them; naming ids is left to whoever shows them. A blob that cannot be read owns
nothing. Source: ConsumerGroupMember, ShareGroupMember, StreamsGroupMember; ConsumerProtocol for classic members.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain
from typing import Final, NamedTuple
from uuid import UUID

from offsets_tool.blobs import consumer_assignment, consumer_subscription
from offsets_tool.events import Value
from offsets_tool.records.classic import MemberMetadata
from offsets_tool.replay.changes import Member
from offsets_tool.wire.kept import Kept
from offsets_tool.wire.schema import Message, schema_of

CONSUMER_PROTOCOL = "consumer"

Owned = tuple[str | UUID, int]
"""A partition: of a topic by name or by id, or of a subtopology (a task)."""
OwnedOfTopic = tuple[str | UUID, tuple[int, ...]]
"""Partitions of one topic, or tasks of one subtopology."""


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
    return Client(instance_id_of(member), metadata.data.client_id, metadata.data.client_host)


def instance_id_of(member: Member) -> str | None:
    """Return the `group.instance.id` of a member; None if it is not static."""
    metadata = member.metadata
    if isinstance(metadata, MemberMetadata):
        return metadata.group_instance_id
    return None if metadata is None else getattr(metadata.data, "instance_id", None)


class Timeouts(NamedTuple):
    """How long the coordinator waits for a member, in milliseconds; None where no record says it."""

    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None


_NO_TIMEOUTS: Final = Timeouts()


def timeouts_of(member: Member) -> Timeouts:
    """Return a member's timeouts; the session timeout of the consumer protocol is the broker's setting and in no record."""
    metadata = member.metadata
    if metadata is None:
        return _NO_TIMEOUTS
    if isinstance(metadata, MemberMetadata):
        return Timeouts(metadata.session_timeout, metadata.rebalance_timeout)
    classic = getattr(metadata.data, "classic_member_metadata", None)
    # The tagged field's default says that the member does not use the classic protocol.
    session = classic.session_timeout_ms if classic is not None else 0
    return Timeouts(session or None, getattr(metadata.data, "rebalance_timeout_ms", None))


def subscribed_topics(subscription: bytes) -> tuple[str, ...] | None:
    """Return the topics in a classic consumer's subscription; None for bytes whose topics brokers cannot read."""
    topics = _SUBSCRIPTIONS.get(subscription)
    if topics is None:
        message = consumer_subscription(subscription)
        topics = (None if message is None else message.topics,)
        _SUBSCRIPTIONS.put(subscription, topics, len(subscription))
    return topics[0]


def subscription(member: Member, protocol_type: str | None) -> tuple[str, ...]:
    """Return the topics that a member asks for by name; none for a streams member, whose topology names them."""
    metadata = member.metadata
    if isinstance(metadata, MemberMetadata):
        return (subscribed_topics(metadata.subscription) or ()) if protocol_type == CONSUMER_PROTOCOL else ()
    return () if metadata is None else getattr(metadata.data, "subscribed_topic_names", ())


def subscribed_regex(member: Member) -> str | None:
    """Return the regular expression that a member of a consumer group asks for; None if it has none."""
    if isinstance(member.metadata, Value):
        return getattr(member.metadata.data, "subscribed_topic_regex", None) or None
    return None


def owned(member: Member, protocol_type: str | None) -> Iterator[Owned]:
    """Yield what a member owns, including partitions that it was asked to give up: it reads and commits them until it does."""
    return _one_by_one(chain(assigned_by_topic(member, protocol_type), to_give_up_by_topic(member)))


def assigned(member: Member, protocol_type: str | None) -> Iterator[Owned]:
    """Yield the partitions, or the active tasks, that a member has been given, as the coordinator answers them."""
    return _one_by_one(assigned_by_topic(member, protocol_type))


def assigned_by_topic(member: Member, protocol_type: str | None) -> Iterable[OwnedOfTopic]:
    """Return what `assigned` yields, the partitions of a topic together."""
    if isinstance(member.metadata, MemberMetadata):
        return _assigned(member.metadata.assignment) if protocol_type == CONSUMER_PROTOCOL else ()
    return () if member.current is None else _partitions(member.current.data, *_ASSIGNED)


def has_unread_assignment(member: Member, protocol_type: str | None) -> bool:
    """Return whether a classic consumer has an assignment whose bytes do not read: it owns something, and nobody knows what."""
    metadata = member.metadata
    if protocol_type != CONSUMER_PROTOCOL or not isinstance(metadata, MemberMetadata):
        return False
    return bool(metadata.assignment) and _read_assignment(metadata.assignment) is None


def to_give_up(member: Member) -> Iterator[Owned]:
    """Yield what a member still owns and has been asked to give up."""
    return _one_by_one(to_give_up_by_topic(member))


def to_give_up_by_topic(member: Member) -> Iterable[OwnedOfTopic]:
    """Return what `to_give_up` yields, the partitions of a topic together."""
    return () if member.current is None else _partitions(member.current.data, *_PENDING_REVOCATION)


def tasks(value: Value | None, kind: str) -> Iterator[Owned]:
    """Yield a streams member's tasks of one kind from an assignment or a target; none if there is no value.

    `kind` is `active_tasks`, `standby_tasks` or `warmup_tasks`.
    """
    return _one_by_one(() if value is None else _partitions(value.data, kind))


def target(member: Member) -> Iterator[Owned]:
    """Yield the partitions, or the active tasks, that the assignor wants a member to hold."""
    return _one_by_one(target_by_topic(member))


def target_by_topic(member: Member) -> Iterable[OwnedOfTopic]:
    """Yield what `target` yields, the partitions of a topic together."""
    return () if member.target is None else _partitions(member.target.data, *_TARGET)


_ASSIGNED: Final = ("assigned_partitions", "topic_partitions", "active_tasks")
_TARGET: Final = ("topic_partitions", "active_tasks")
_PENDING_REVOCATION: Final = ("partitions_pending_revocation", "active_tasks_pending_revocation")


def lists_of(value: Value) -> tuple[object, ...]:
    """Return the lists of a current assignment that `owned` is read from; values whose bytes end alike share them (wire.walk)."""
    kind: type = type(value.data)
    return _getter(kind)(value.data)


@cache
def _getter(kind: type) -> Callable[[Message], tuple[object, ...]]:
    fields = {spec.name for spec in schema_of(kind).fields}
    names = [name for name in (*_ASSIGNED, *_PENDING_REVOCATION) if name in fields]
    return lambda data: tuple([getattr(data, name) for name in names])


def _partitions(data: Message, *names: str) -> Iterator[OwnedOfTopic]:
    for name in names:
        for entry in getattr(data, name, ()):
            of = entry.topic_id if hasattr(entry, "topic_id") else entry.subtopology_id
            yield of, entry.partitions


def _one_by_one(by_topic: Iterable[OwnedOfTopic]) -> Iterator[Owned]:
    return ((of, partition) for of, partitions in by_topic for partition in partitions)


_ASSIGNMENTS: Final[Kept[tuple[tuple[OwnedOfTopic, ...] | None]]] = Kept(4 << 20)
"""Partitions in classic members' assignments by their blobs, which generations repeat; None for those that do not read."""
_SUBSCRIPTIONS: Final[Kept[tuple[tuple[str, ...] | None]]] = Kept(4 << 20)
"""Topics in classic members' subscriptions by their blobs, each in a tuple of its own; None for those that do not read."""


def _assigned(blob: bytes) -> tuple[OwnedOfTopic, ...]:
    return _read_assignment(blob) or ()


def _read_assignment(blob: bytes) -> tuple[OwnedOfTopic, ...] | None:
    """Return the partitions in a classic member's assignment; None for bytes that do not read."""
    known = _ASSIGNMENTS.get(blob)
    if known is None:
        message = consumer_assignment(blob)
        topics = None if message is None else message.assigned_partitions
        known = (None if topics is None else tuple((topic.topic, topic.partitions) for topic in topics),)
        _ASSIGNMENTS.put(blob, known, len(blob))
    return known[0]
