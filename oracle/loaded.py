"""What a coordinator held after it had loaded a log: Kafka's own objects, field by field, as typed Python.

One shape for every release and both coordinators; what a release does not have is None, or -1 where Kafka would say so.
Partitions are held by topic id (as text) or, for streams, by task kind and subtopology ("active 0"), each with the epoch it
was assigned in.
"""

from typing import NamedTuple
from uuid import UUID

Place = tuple[str, str, int]
"""Group, topic, partition of a committed offset."""
Assigned = dict[str, dict[int, int | None]]
"""Partitions by topic id or task kind and subtopology, with their assignment epoch where the release keeps one."""


class LoadError(NamedTuple):
    """What ended a load: the record's offset (classic: the base offset of its batch), the exception's class, its message."""

    offset: int
    type: str
    message: str | None


class LoadedOffset(NamedTuple):
    """A commit; times in ms, -1 for none (1.1.1: an expiry is always there, commit time and retention if nothing was said).

    `record_offset` is what decides at a marker: the record's own, in the classic coordinator that of its batch's first record.
    """

    committed_offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    expire_timestamp: int
    record_offset: int | None
    topic_id: UUID | None


class LoadedMember(NamedTuple):
    """A member of any kind of group. Timeouts in ms; `subscription` is sorted; `protocols` are the classic ones: name, bytes."""

    instance_id: str | None
    client_id: str
    client_host: str
    rack_id: str | None
    rebalance_timeout: int | None
    session_timeout: int | None
    member_epoch: int | None
    previous_member_epoch: int | None
    state: str | None
    subscription: tuple[str, ...]
    subscribed_regex: str | None
    server_assignor: str | None
    assigned: Assigned
    pending_revocation: Assigned
    protocols: tuple[tuple[str, bytes], ...] | None
    assignment: bytes | None
    topology_epoch: int | None
    process_id: str | None
    user_endpoint: tuple[str, int] | None
    client_tags: dict[str, str]


class LoadedRegex(NamedTuple):
    """What a regular expression resolved to: topics sorted, metadata version, time in ms."""

    topics: tuple[str, ...]
    version: int
    timestamp: int


class ShareTopics(NamedTuple):
    """Share-partitions by the progress of their state: name and partitions by topic id, ids alone where being deleted."""

    initializing: dict[str, tuple[str, tuple[int, ...]]]
    initialized: dict[str, tuple[str, tuple[int, ...]]]
    deleting: tuple[str, ...]


class LoadedGroup(NamedTuple):
    """A group; `kind` is classic, simple, consumer, share or streams, `state` Kafka's word.

    4.1 calls a streams group NotReady after every load. `current_state_timestamp` in ms; None where the log said none and the
    loader looked at its clock. `subscribed_topics` is what a classic coordinator made of the members' subscriptions.
    """

    kind: str
    state: str
    generation: int | None
    epoch: int | None
    assignment_epoch: int | None
    assignment_timestamp: int | None
    metadata_hash: int | None
    protocol_type: str | None
    protocol: str | None
    leader: str | None
    current_state_timestamp: int | None
    members: dict[str, LoadedMember]
    target: dict[str, Assigned]
    regular_expressions: dict[str, LoadedRegex]
    subscribed_topics: tuple[str, ...] | None
    topology_epoch: int | None
    validated_topology_epoch: int | None
    share_topics: ShareTopics | None


class LoadedState(NamedTuple):
    """A coordinator after a load. With an `error` it is what was replayed until there (a broker would have none of it).

    `pending` are the commits of open transactions, by producer id.
    """

    error: LoadError | None
    offsets: dict[Place, LoadedOffset]
    pending: dict[int, dict[Place, LoadedOffset]]
    groups: dict[str, LoadedGroup]
