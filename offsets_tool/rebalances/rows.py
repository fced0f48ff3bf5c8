"""One row of the rebalances of a group: when, how long, why, who came and went, and what changed hands.

Declared once: the fields of the command and the table of the lake come from here.
"""

from enum import StrEnum
from typing import Annotated, NamedTuple

from offsets_tool.table_rows import LogPartition
from offsets_tool.wire.schema import Int32, Int64, String
from offsets_tool.wire.times import UtcTime


class RebalanceOutcome(StrEnum):
    """How a rebalance ended."""

    SETTLED = "settled"
    """Every member has what it is to have."""
    SUPERSEDED = "superseded"
    """Another change of the group came before all members had reached the epoch."""
    OPEN = "open"
    """Some members have not reached the epoch at the end of the log."""


class DurationMethod(StrEnum):
    """What the duration of a rebalance is measured by."""

    LAST_SIGN = "last_sign"
    """From the last record of the generation before, or the last commit of its members, to the record of the new one.

    PreparingRebalance is in no record. It began in that time; where members committed as they gave up partitions, a little before.
    """
    RECORDS = "records"
    """From the record of the epoch to that of the last member that reached it."""


class MemberName(NamedTuple):
    """A member by its id, and the names that its client gave."""

    member_id: String
    instance_id: String | None
    client_id: String | None


class HeldBack(NamedTuple):
    """A member that was to give up partitions which others waited for."""

    member_id: String
    instance_id: String | None
    client_id: String | None
    partitions: tuple[String, ...]
    held_ms: Int64 | None
    """How long it kept them, milliseconds; null while it does."""


class RebalanceRow(NamedTuple):
    """A rebalance of a group: the step in which it began a generation, or an epoch until its members had reached it."""

    group: Annotated[String, "The group."]
    kind: Annotated[String, "classic, consumer, share or streams."]
    generation: Annotated[Int32 | None, "Generation that began; null for other kinds than classic."]
    epoch: Annotated[Int32 | None, "Group epoch that began; null for classic groups."]
    skipped: Annotated[
        Int32, "Generations or epochs between the one before and this one, which left no record of their own."
    ]
    from_log_offset: Annotated[
        Int64 | None,
        "Offset in the log of the last sign of the generation before, or of the epoch's record; null if nobody was there before.",
    ]
    from_at: Annotated[UtcTime | None, "When that was written; null as from_log_offset, or without a time."]
    to_log_offset: Annotated[
        Int64 | None,
        "Offset in the log of the record that ended it: the generation's own, the last member's; null while it lasts.",
    ]
    to_at: Annotated[UtcTime | None, "When that was written; null as to_log_offset, or without a time."]
    duration_ms: Annotated[
        Int64 | None,
        "How long it took, as duration_method says, milliseconds; null if the log does not tell.",
    ]
    duration_method: Annotated[
        String | None,
        "last_sign: the generation before gave no more sign (classic: an upper bound, but for commits at its beginning); "
        "records: from the epoch to the last member that reached it; null without a duration.",
    ]
    outcome: Annotated[
        String,
        "settled; superseded: another change came before all had reached the epoch; open at the end of the log.",
    ]
    assignment_ms: Annotated[
        Int64 | None,
        "How long the assignment took: of a classic group since all had joined, else since the epoch began, milliseconds; null if "
        "not told.",
    ]
    cause: Annotated[
        String,
        "member_joined, member_left, session_expired, rebalance_timeout, static_member_replaced, member_resubscribed, "
        "topics_changed, partitions_given_up, member_rejoined, group_converted or unknown.",
    ]
    confidence: Annotated[
        String,
        "certain: the records prove it; likely: all speaks for it; ambiguous: other causes fit as well.",
    ]
    alternatives: Annotated[tuple[String, ...], "What else it can have been, or what came at the same time."]
    joined: Annotated[tuple[MemberName, ...], "Members that are new."]
    left: Annotated[tuple[MemberName, ...], "Members that are gone."]
    replaced: Annotated[
        tuple[MemberName, ...],
        "Static members of which another took the place; neither in joined nor in left.",
    ]
    resubscribed: Annotated[tuple[MemberName, ...], "Members that asked for other topics than before."]
    members: Annotated[Int32, "Members after it."]
    leader: Annotated[
        String | None, "Member id of the leader; null if there is none, as in all kinds but classic."
    ]
    previous_leader: Annotated[
        String | None, "Member id of the leader before, if it was another; null otherwise."
    ]
    protocol: Annotated[String | None, "Protocol that its members agreed on; null if there is none."]
    previous_protocol: Annotated[String | None, "The protocol before, if it was another; null otherwise."]
    topics: Annotated[tuple[String, ...], "Topics that members ask for or hold, before or after it."]
    partitions: Annotated[
        Int32 | None, "Partitions that members hold after it; null where no record says it in a known form."
    ]
    new_partitions: Annotated[
        Int32 | None, "Those of them that no member ever held before; null as partitions."
    ]
    moved: Annotated[
        Int32 | None,
        "Partitions that another member holds than before, of those that somebody had; null as partitions.",
    ]
    least_moves: Annotated[
        Int32 | None,
        "How many had to move, if each member is to hold as many as it does and only topics that it asks for; null as partitions.",
    ]
    unowned: Annotated[
        Int32 | None,
        "Partitions that somebody held before and nobody did at some time of it; null where the protocol does not tell.",
    ]
    held_back: Annotated[
        tuple[HeldBack, ...],
        "Members that had partitions to give up (KIP-848), the longest first; empty in classic groups, which record none.",
    ]
    log_partition: LogPartition
    log_offset: Annotated[Int64, "Offset in the log of the record that began the generation or the epoch."]
