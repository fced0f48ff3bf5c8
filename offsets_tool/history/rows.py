"""One row of each history: a committed offset, a group, a member, each held from one record to another; and anomalies.

Declared once: the command line's fields and the lake's tables come from here (wire.arrow). A row holds after the record at
`from_log_offset` until the record at `to_log_offset`; a row that still holds has no end. A column's sentence says what null means.
"""

from enum import StrEnum
from typing import Annotated, NamedTuple

from offsets_tool.table_rows import LogPartition
from offsets_tool.wire.schema import Int32, Int64, String

Group = Annotated[String, "The group."]
FromOffset = Annotated[Int64, "Offset in the log of the record from which on the row holds."]
FromTimestamp = Annotated[Int64, "When that record was written, epoch milliseconds; -1 if it has no time."]
ToOffset = Annotated[Int64 | None, "Offset in the log of the record that ended it; null while it holds."]
ToTimestamp = Annotated[
    Int64 | None, "When that record was written, epoch milliseconds (-1: no time); null while it holds."
]
ClientId = Annotated[String | None, "Client id of that member; null if there is none or no record says it."]
ClientHost = Annotated[String | None, "Host of that member; null if there is none or no record says it."]
InstanceId = Annotated[String | None, "group.instance.id of that member; null if it is not static."]


class OffsetBeginCause(StrEnum):
    """Why a row of an offset history begins."""

    COMMIT = "commit"
    TRANSACTION = "transaction"
    HIDDEN = "hidden"
    """The group was deleted and the offset was not: the coordinator keeps it and answers nobody with it."""
    REVEALED = "revealed"
    """The group exists again: a hidden commit is effective again."""


class OffsetEndCause(StrEnum):
    """Why a row of an offset history ends."""

    SUPERSEDED = "superseded"
    """A newer commit replaced it."""
    DELETED = "deleted"
    """A tombstone removed it: it expired, or was deleted on request."""
    GROUP_DELETED = "group deleted"
    """A tombstone removed it, written at once with that of the group itself."""
    COMMITTED = "committed"
    """It was pending and its transaction was committed; another row follows."""
    ABORTED = "aborted"
    """It was pending and its transaction was aborted."""
    HIDDEN = "hidden"
    """The group was deleted and the offset was not; another row follows, not effective."""
    REVEALED = "revealed"
    """It was hidden and its group exists again; another row follows."""
    NOOP_TOMBSTONE = "no-op tombstone"
    """It is pending, and a tombstone came that only a running classic coordinator acts on; another row follows."""
    ABSENT = "absent"
    """Another copy of the log, compacted later, no longer has its key: it was removed before."""
    UNREAD = "unread"
    """A later commit was not understood: the partition has another offset, or the same again, and nobody knows which."""


class OffsetHistoryRow(NamedTuple):
    """A committed offset from the record that made it effective to the one that ended it, with the partition's owner at commit.

    Commits of open transactions have rows too, not effective, from their own record to the transaction's marker.
    """

    group: Group
    topic: Annotated[String, "Topic of the committed offset."]
    partition: Annotated[Int32, "Partition of that topic."]
    is_effective: Annotated[
        bool,
        "Whether the group would be answered with it; false while its transaction is open (also if it was aborted later), and "
        "while it is hidden.",
    ]
    committed_offset: Annotated[Int64, "The committed position."]
    delta: Annotated[
        Int64 | None,
        "Difference to the committed offset that was effective before; negative for a rewind, null without one. Below 0 is none.",
    ]
    leader_epoch: Annotated[Int32, "Leader epoch given with the commit; -1 if none was."]
    metadata: Annotated[String, "Text the client added to the commit; empty if none."]
    commit_timestamp: Annotated[Int64, "Time in the commit, epoch milliseconds."]
    expire_timestamp: Annotated[Int64, "Explicit expiry, epoch milliseconds; -1 if none."]
    topic_id: Annotated[String | None, "Id of the topic as the commit gives it; null if it does not."]
    log_partition: LogPartition
    commit_log_offset: Annotated[Int64, "Offset in the log of the commit's own record."]
    from_log_offset: FromOffset
    from_timestamp: FromTimestamp
    to_log_offset: ToOffset
    to_timestamp: ToTimestamp
    begin_cause: Annotated[
        String,
        "commit, or transaction: it waits, or waited, for a marker; hidden: a 4.x coordinator keeps it though its group is gone; "
        "revealed: the group came back.",
    ]
    end_cause: Annotated[
        String | None,
        "superseded, deleted, group deleted, committed, aborted, hidden, revealed, no-op tombstone, absent or unread (a later "
        "commit was not understood); null while it holds.",
    ]
    producer_id: Annotated[Int64 | None, "Producer id of the transaction; null for a plain commit."]
    noop_tombstone_log_offset: Annotated[
        Int64 | None, "Offset in the log of a tombstone that the pending commit outlives; null without one."
    ]
    group_kind: Annotated[
        String | None,
        "Kind of the group when it was committed: simple, classic, consumer ...; null without one.",
    ]
    generation: Annotated[
        Int32 | None, "Generation of the classic group when it was committed; null for other kinds."
    ]
    group_epoch: Annotated[
        Int32 | None, "Epoch of the group when it was committed; null for classic and simple groups."
    ]
    member_epoch: Annotated[Int32 | None, "Epoch of the owner; null without one and in classic groups."]
    is_owner_known: Annotated[
        bool,
        "Whether the log tells who owned the partition; false if records are missing, a topic id has no name, or an assignment "
        "does not read.",
    ]
    member_id: Annotated[
        String | None,
        "Member that owned the partition when it was committed; null if nobody did or it is not known.",
    ]
    instance_id: InstanceId
    client_id: ClientId
    client_host: ClientHost


class GroupEndCause(StrEnum):
    """Why a row of a group history ends."""

    CHANGED = "changed"
    CONVERTED = "converted"
    """The group continues as another kind: at once, or deleted and written again in one batch."""
    DELETED = "deleted"
    """The group's record was deleted. Where offsets stay, a classic coordinator continues with a simple group."""
    ABSENT = "absent"
    """Another copy of the log, compacted later, has nothing of the group: it was deleted before."""


class GroupHistoryRow(NamedTuple):
    """A state of a group, from the record that began it to the one that ended it."""

    group: Group
    kind: Annotated[String, "classic, simple, consumer, share or streams."]
    state: Annotated[
        String,
        "Empty, Stable, Assigning, Reconciling or NotReady, as far as the log can prove it; Unknown once a record of it was not "
        "understood: all else in the row is from before that.",
    ]
    generation: Annotated[Int32 | None, "Generation of a classic or simple group; null for other kinds."]
    epoch: Annotated[Int32 | None, "Group epoch; null for classic and simple groups."]
    assignment_epoch: Annotated[
        Int32 | None, "Epoch of the target assignment; null for classic and simple groups."
    ]
    protocol_type: Annotated[String | None, "Protocol type of a classic group; null if it has none."]
    protocol: Annotated[String | None, "Protocol that its members agreed on; null if there is none."]
    leader: Annotated[String | None, "Member id of the leader; null if there is none."]
    current_state_timestamp: Annotated[
        Int64 | None,
        "Since when a classic group is in its state, epoch milliseconds; null if it does not say.",
    ]
    members: Annotated[Int32, "Number of members."]
    log_partition: LogPartition
    log_offset: Annotated[
        Int64, "Latest record about the group that is in this state; the first commit if simple."
    ]
    from_log_offset: FromOffset
    from_timestamp: FromTimestamp
    to_log_offset: ToOffset
    to_timestamp: ToTimestamp
    previous_kind: Annotated[
        String | None, "Kind that the group had before, where this row began by a conversion; else null."
    ]
    end_cause: Annotated[String | None, "changed, converted, deleted or absent; null while it holds."]


class MemberEndCause(StrEnum):
    """Why a row of a member history ends."""

    CHANGED = "changed"
    LEFT = "left"
    """The member left, was removed, or is not in the next generation."""
    REPLACED = "replaced"
    """A member with the same instance id and another member id replaced it at once."""
    GROUP_DELETED = "group deleted"
    ABSENT = "absent"
    """Another copy of the log, compacted later, no longer has the member: it left before."""


class MemberHistoryRow(NamedTuple):
    """A state of a member, from the record that began it to the one that ended it."""

    group: Group
    member_id: Annotated[String, "The member."]
    instance_id: Annotated[String | None, "Its group.instance.id; null if it is not static."]
    client_id: Annotated[String | None, "Its client id; null if no record says it."]
    client_host: Annotated[String | None, "Its host; null if no record says it."]
    group_kind: Annotated[String | None, "Kind of the group; null if no record says it."]
    generation: Annotated[
        Int32 | None, "Generation of the classic group with which this row began; null for other kinds."
    ]
    member_epoch: Annotated[
        Int32 | None,
        "Epoch that it has reached, -1 when it is leaving; null in classic groups, and if it only has a target.",
    ]
    member_state: Annotated[String | None, "Kafka's name for its state; null as member_epoch."]
    session_timeout_ms: Annotated[
        Int32 | None,
        "Session timeout that it asked for by the classic protocol, milliseconds; null where the broker's settings give it.",
    ]
    rebalance_timeout_ms: Annotated[
        Int32 | None,
        "How long a rebalance waits for it, milliseconds (max.poll.interval.ms); null or -1 if no record says it.",
    ]
    subscription: Annotated[tuple[String, ...], "Topics that it asks for by name."]
    subscribed_regex: Annotated[
        String | None, "Regular expression that it asks for topics with; null if none."
    ]
    assignment: Annotated[
        tuple[String, ...],
        "What it has been given, as topic-partition (id-partition if no name is known, subtopology_partition).",
    ]
    pending_revocation: Annotated[
        tuple[String, ...],
        "What it holds beside that and has still to give up, written as assignment is; empty in classic groups.",
    ]
    target_assignment: Annotated[
        tuple[String, ...],
        "What it is to hold, written as assignment is; empty in classic groups, whose target nobody records.",
    ]
    log_partition: LogPartition
    from_log_offset: FromOffset
    from_timestamp: FromTimestamp
    to_log_offset: ToOffset
    to_timestamp: ToTimestamp
    end_cause: Annotated[
        String | None, "changed, left, replaced, group deleted or absent; null while it holds."
    ]

    @property
    def held(self) -> tuple[str, ...]:
        """The partitions that the member had: assigned to it, or still to be given up."""
        return (*self.assignment, *self.pending_revocation)


class AnomalyRow(NamedTuple):
    """Something that Kafka's code rules out, and the record that shows it."""

    group: Annotated[String | None, "The group that it is about; null if no record says it."]
    about: Annotated[
        String | None, "Topic and partition, or member; null if it is about the whole group or none."
    ]
    log_partition: LogPartition
    log_offset: Annotated[Int64, "Offset in the log of the record that shows it."]
    timestamp: Annotated[Int64, "When that record was written, epoch milliseconds; -1 if it has no time."]
    note: Annotated[String, "What is wrong."]


LastingRow = OffsetHistoryRow | GroupHistoryRow | MemberHistoryRow
"""A row that holds from one record of the log to another."""
HistoryRow = LastingRow | AnomalyRow
