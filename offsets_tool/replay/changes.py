"""What replay says: Change, what it is about, and the values that it takes from and puts in its place.

Values are immutable and complete: whoever keeps the newest `after` of every subject has the coordinator's state. Knows nothing
about files, commands or tables; group records are kept as they were decoded (events.Value), never interpreted here.
"""

from enum import StrEnum
from typing import Final, NamedTuple
from uuid import UUID

from offsets_tool.events import Value
from offsets_tool.records.classic import GroupMetadataValue, MemberMetadata

LEFT_EPOCH = -1
"""Member epoch of a member whose current assignment was deleted (ConsumerGroupHeartbeatRequest.LEAVE_GROUP_MEMBER_EPOCH)."""


class TopicPartition(NamedTuple):
    """A partition of a topic, by name."""

    topic: str
    partition: int


class CommittedOffset(NamedTuple):
    """A commit as the log has it. `log_offset` is the commit's own record, also where a marker made it count later.

    Timestamps are epoch milliseconds; -1 where the version has none. `leader_epoch` is -1 where the client did not say.
    """

    committed_offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    expire_timestamp: int
    topic_id: UUID | None
    log_offset: int


class PendingCommit(NamedTuple):
    """A transactional commit whose transaction is open.

    `deleted_at` is the log offset of a later tombstone for the same partition, which only the new coordinator heeds.
    """

    commit: CommittedOffset
    deleted_at: int | None = None


class GroupKind(StrEnum):
    """GroupType of Kafka, and `simple`: a classic group that only has offsets."""

    SIMPLE = "simple"
    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


class GroupState(StrEnum):
    """GroupState of Kafka, as far as the log can prove it."""

    EMPTY = "Empty"
    STABLE = "Stable"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    NOT_READY = "NotReady"


class Group(NamedTuple):
    """A group but for its members, whose number it has; fields that its kind does not have are None.

    `epoch` is the group epoch, `assignment_epoch` that of the target assignment; a classic group has a generation.
    """

    group: str
    kind: GroupKind
    state: GroupState
    log_offset: int
    """The latest record that changed one of these facts; of a classic group, its record; of a simple one, its first commit."""
    members: int = 0
    generation: int | None = None
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    current_state_timestamp: int | None = None
    epoch: int | None = None
    assignment_epoch: int | None = None
    metadata: Value | None = None
    """Value of the group's own record: type 2, 3, 11 or 17."""
    target_metadata: Value | None = None
    """Types 6, 12, 20."""
    topics: Value | None = None
    """Subscribed topics: types 4, 9, 18."""
    share_partitions: Value | None = None
    """Type 15."""
    topology: Value | None = None
    """Type 23."""
    expressions: tuple[tuple[str, Value], ...] = ()
    """Resolved regular expressions (type 16), by expression."""


class Member(NamedTuple):
    """A member as its records have it; a classic group's has only `metadata`, its part of the group's record."""

    metadata: Value | MemberMetadata | None = None
    """Types 5, 10, 19."""
    current: Value | None = None
    """Types 8, 14, 22."""
    target: Value | None = None
    """Types 7, 13, 21."""
    left: bool = False
    """Whether `current` was deleted: the member is leaving, its epoch is LEFT_EPOCH."""

    @property
    def is_member(self) -> bool:
        """Whether the coordinator counts it among the members: a target alone makes none."""
        return self.metadata is not None or self.current is not None or self.left


class Transaction(NamedTuple):
    """A producer's data between two markers. Offsets are of the log, times record timestamps in epoch milliseconds."""

    producer_id: int
    producer_epoch: int
    first_offset: int
    first_timestamp: int
    last_offset: int
    last_timestamp: int
    groups: tuple[str, ...]
    """Groups whose offsets it commits, in the order of their first commit."""
    commits: int = 0


class OffsetOf(NamedTuple):
    """Subject: the committed offset of a group in a partition."""

    group: str
    topic: str
    partition: int


class PendingOf(NamedTuple):
    """Subject: a producer's pending commit for a group in a partition."""

    producer_id: int
    group: str
    topic: str
    partition: int


class GroupOf(NamedTuple):
    """Subject: a group."""

    group: str


class MemberOf(NamedTuple):
    """Subject: a member of a group."""

    group: str
    member_id: str


class TransactionOf(NamedTuple):
    """Subject: a producer's open transaction."""

    producer_id: int


class LogOf(NamedTuple):
    """Subject of anomalies: a record that belongs to no group."""

    log_partition: int | None


Subject = OffsetOf | PendingOf | GroupOf | MemberOf | TransactionOf | LogOf
Subjected = CommittedOffset | PendingCommit | Group | Member | Transaction


class ChangeKind(StrEnum):
    """What an event did to its subject."""

    SET = "set"
    """The subject has a new value (`after`), by its own record."""
    DELETED = "deleted"
    """A tombstone took the value away."""
    COMMITTED = "committed"
    """A COMMIT marker: the pending commit counts now, or the transaction has ended."""
    ABORTED = "aborted"
    """An ABORT marker dropped it."""
    SUPERSEDED = "superseded"
    """A COMMIT marker found a newer commit in its place and dropped the pending one."""
    HIDDEN = "hidden"
    """Its group is gone while the offset stays: the coordinator keeps it and answers nobody with it. The value is the same."""
    REVEALED = "revealed"
    """Its group is there again: the offset that was kept is answered again. The value is the same."""
    ANOMALY = "anomaly"
    """What cannot be, going by Kafka's code: `note` says why. Nothing is changed by this Change itself."""


VISIBILITY: Final = (ChangeKind.HIDDEN, ChangeKind.REVEALED)
"""Changes that leave the value as it is, and alter only whether the coordinator answers with it."""


class Change(NamedTuple):
    """What an event did to one subject; `before` or `after` is None where there was or is nothing.

    `batch_offset` is the base offset of the event's batch (the event's own offset without one): what Kafka writes at once, as a
    conversion of a group, shares it.
    """

    log_partition: int | None
    log_offset: int
    timestamp: int
    batch_offset: int
    kind: ChangeKind
    subject: Subject
    before: Subjected | None = None
    after: Subjected | None = None
    note: str | None = None


def classic_value(group: Group) -> GroupMetadataValue | None:
    """The group's GroupMetadata value, if it is a classic group that has one."""
    data = group.metadata.data if group.metadata else None
    return data if isinstance(data, GroupMetadataValue) else None
