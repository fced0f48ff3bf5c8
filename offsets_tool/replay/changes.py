"""The values that replay produces: a Change, the subject that it is about, and the subject's values before and after.

Values are immutable and complete: the newest `after` of every subject is the coordinator's state. Group records are kept as they
were decoded (events.Value) and never interpreted here. Knows nothing about files, commands or tables.
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
    """A commit as its record has it.

    `log_offset` is that record's offset, also where the commit took effect later, with its transaction's marker. Timestamps are
    epoch milliseconds, -1 where the version has none. `leader_epoch` is -1 where the client gave none.
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

    `deleted_at` is the log offset of a later tombstone for the same partition; only the new coordinator acts on such a tombstone.
    """

    commit: CommittedOffset
    deleted_at: int | None = None


class GroupKind(StrEnum):
    """The kind of a group: Kafka's GroupType, and `simple` for a classic group that only has offsets."""

    SIMPLE = "simple"
    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


class GroupState(StrEnum):
    """The state of a group: Kafka's GroupState, as far as a log can prove it."""

    EMPTY = "Empty"
    STABLE = "Stable"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    NOT_READY = "NotReady"
    UNKNOWN = "Unknown"
    """A later record of the group was not understood: all else that is said of the group is from before it."""


class Group(NamedTuple):
    """A group, with the number of its members but without them; fields that its kind does not have are None.

    `epoch` is the group epoch and `assignment_epoch` that of the target assignment; a classic group has a generation instead.
    """

    group: str
    kind: GroupKind
    state: GroupState
    log_offset: int
    """Offset of the latest record that changed one of these facts: a classic group's own record, a simple group's first commit."""
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
    """Value of record type 6, 12 or 20."""
    topics: Value | None = None
    """Subscribed topics: value of record type 4, 9 or 18."""
    share_partitions: Value | None = None
    """Value of record type 15."""
    topology: Value | None = None
    """Value of record type 23."""
    expressions: tuple[tuple[str, Value], ...] = ()
    """Resolved regular expressions (record type 16), in the order of their texts; the last field, for a checkpoint."""


class Member(NamedTuple):
    """A member's records; a classic group's member has only `metadata`, its part of the group's record."""

    metadata: Value | MemberMetadata | None = None
    """Value of record type 5, 10 or 19, or a classic group's member."""
    current: Value | None = None
    """Value of record type 8, 14 or 22."""
    target: Value | None = None
    """Value of record type 7, 13 or 21."""
    has_left: bool = False
    """Whether `current` was deleted: the member is leaving, and its epoch is LEFT_EPOCH."""

    @property
    def is_member(self) -> bool:
        """Whether the coordinator counts this as a member of the group; a target assignment alone does not make one."""
        return self.metadata is not None or self.current is not None or self.has_left


class Transaction(NamedTuple):
    """A producer's open transaction: its data since the last marker.

    Offsets are those of the log, times are record timestamps in epoch milliseconds.
    """

    producer_id: int
    producer_epoch: int
    first_offset: int
    first_timestamp: int
    last_offset: int
    last_timestamp: int
    groups: tuple[str, ...]
    """Groups whose offsets the transaction commits, in the order of their first commit."""
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
    """The subject's own record gave it a new value (`after`)."""
    DELETED = "deleted"
    """A tombstone removed the value."""
    ABSENT = "absent"
    """The value is gone: a copy of the log that had been compacted by this place no longer has its key."""
    COMMITTED = "committed"
    """A COMMIT marker made the pending commit effective, or ended the transaction."""
    ABORTED = "aborted"
    """An ABORT marker dropped the pending commit, or ended the transaction."""
    SUPERSEDED = "superseded"
    """A COMMIT marker dropped the pending commit, because a newer commit is effective."""
    HIDDEN = "hidden"
    """The group was deleted and its offset was not: the coordinator keeps the offset and answers nobody with it.

    `before` and `after` are equal.
    """
    REVEALED = "revealed"
    """The group exists again: the coordinator answers again with the offset that it kept.

    `before` and `after` are equal.
    """
    UNREAD = "unread"
    """The subject's own record gave it a value that was not understood: there is one, and nobody knows which."""
    ANOMALY = "anomaly"
    """Something that Kafka's code rules out; `note` says what. This Change itself changes nothing."""


# Python 3.11 looks members of an enumeration up slowly, and this one is asked for with each change.
_ANOMALY: Final = ChangeKind.ANOMALY
VISIBILITY: Final = (ChangeKind.HIDDEN, ChangeKind.REVEALED)
"""Kinds of changes that leave the value as it is, and alter only whether the coordinator answers with it."""


class Change(NamedTuple):
    """What an event did to one subject; `before` or `after` is None where the subject had or has no value.

    `batch_offset` is the base offset of the event's batch, or the event's own offset where there is no batch. Records that Kafka
    writes at once, such as those of a group's conversion, share it.
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

    @property
    def is_anomaly(self) -> bool:
        """Whether the change records something that Kafka's code rules out; such a change leaves the state as it is."""
        return self.kind is _ANOMALY

    @property
    def is_unread(self) -> bool:
        """Whether the change is the anomaly of a record that was not understood."""
        return self.kind is _ANOMALY and is_unread_note(self.note)


UNREAD: Final = "a record that was not understood, so that what it set is unknown: "
"""How the note of an anomaly begins that is of such a record; behind it stands what was wrong with the record."""


def is_unread_note(note: str | None) -> bool:
    """Return whether the note of an anomaly says that its record was not understood."""
    return note is not None and note.startswith(UNREAD)


def classic_value(group: Group) -> GroupMetadataValue | None:
    """Return the group's GroupMetadata value; None if the group is not a classic one with a record of its own."""
    data = group.metadata.data if group.metadata else None
    return data if isinstance(data, GroupMetadataValue) else None
