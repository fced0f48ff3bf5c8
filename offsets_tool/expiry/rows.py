"""One row of the tables `expiry` and `removals`, each declared once.

`removals` are facts: what one batch removed of a group's offsets, or which pending ones a marker dropped. `expiry` says of each
live offset when it will expire, and of each removed one why it was removed; its columns are the fields of forecast's rows, of both
kinds together. What null means in a column, its sentence says.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Final, NamedTuple

from offsets_tool.expiry.removal_codec import pack_removal_facts
from offsets_tool.expiry.removals import DroppedCommit, Removal
from offsets_tool.history.rows import Group
from offsets_tool.table_rows import LogPartition
from offsets_tool.wire.schema import Int32, Int64, String
from offsets_tool.wire.times import UtcTime


class ExpiryRow(NamedTuple):
    """A committed offset: if live, when it expires and by which rule; if removed, why and how sure that is."""

    group: Group
    topic: Annotated[String, "Topic of the committed offset."]
    partition: Annotated[Int32, "Partition of that topic."]
    status: Annotated[String, "live or removed."]
    expires_at: Annotated[
        UtcTime | None,
        "Live: it goes with the first check from then on; null if it does not expire as things stand, or beyond the calendar.",
    ]
    expires_in_ms: Annotated[
        Int64 | None,
        "How long after the newest record of the cluster that is, milliseconds; null if it does not expire as things stand.",
    ]
    removed_at: Annotated[
        UtcTime | None,
        "Removed: when its tombstone or marker was written; null if live, or if that record's timestamp is no time.",
    ]
    cause: Annotated[
        String | None,
        "Removed: retention, expire_timestamp, unsubscribed_topic, offsets_deleted, group_deleted, topic_deleted, aborted, "
        "superseded or unknown; null if live.",
    ]
    confidence: Annotated[
        String | None, "certain, likely, or ambiguous: alternatives leave the same records; null if live."
    ]
    alternatives: Annotated[tuple[String, ...], "Other causes that are possible."]
    expected_at: Annotated[
        UtcTime | None,
        "Removed: when by its rule it was to expire; null if nothing tells, if live, or if it is no time of the calendar.",
    ]
    rule: Annotated[
        String | None,
        "By which rule it expires or was to: retention_since_commit, retention_since_empty, unsubscribed_topic, expire_timestamp; "
        "or why it does not: subscribed, has_members, pending, share_group, no_group; null if nothing tells.",
    ]
    base_timestamp: Annotated[
        Int64 | None,
        "Live: what retention counts from, epoch milliseconds; null where nothing is counted, or removed.",
    ]
    committed_offset: Annotated[Int64 | None, "The committed position; null if compaction took the commit."]
    leader_epoch: Annotated[
        Int32 | None, "Leader epoch given with the commit; -1 if none was; null as committed_offset."
    ]
    metadata: Annotated[
        String | None, "Text the client added to the commit; empty if none; null as committed_offset."
    ]
    commit_timestamp: Annotated[
        Int64 | None, "Time in the commit, epoch milliseconds; null as committed_offset."
    ]
    expire_timestamp: Annotated[
        Int64 | None, "Explicit expiry, epoch milliseconds; -1 if none; null as committed_offset."
    ]
    topic_id: Annotated[String | None, "Id of the topic as the commit gives it; null if it does not."]
    producer_id: Annotated[
        Int64 | None, "Producer id of the transaction it was pending in; null for a plain commit."
    ]
    evidence: Annotated[
        tuple[String, ...],
        "Removed: places of the log, partition:offset: the commit, the group, the tombstones. Empty if live.",
    ]
    log_partition: LogPartition
    log_offset: Annotated[
        Int64, "Offset in the log of the commit if live, of the tombstone or marker if removed."
    ]
    release: Annotated[String, "The release whose rules apply, as X.Y."]
    retention_ms: Annotated[Int64, "offsets.retention.minutes that this counts with, in milliseconds."]
    check_interval_ms: Annotated[Int64, "offsets.retention.check.interval.ms that this counts with."]


_OF_LIVE: Final = frozenset({"expires_at", "expires_in_ms", "base_timestamp"})
"""The fields that only live offsets have."""
_OF_REMOVED: Final = frozenset(
    {"removed_at", "cause", "confidence", "alternatives", "expected_at", "producer_id", "evidence"}
)
"""The fields that only removed offsets have."""


def expiry_row(row: Mapping[str, Any]) -> ExpiryRow:
    """Return the row for the fields that `forecast` gives, without those of the other status; KeyError where one is lacking."""
    absent = _OF_REMOVED if row["status"] == "live" else _OF_LIVE
    fields: dict[str, Any] = {name: None if name in absent else row[name] for name in ExpiryRow._fields}
    return ExpiryRow(**fields | {name: tuple(fields[name] or ()) for name in ("alternatives", "evidence")})


class RemovalKind(StrEnum):
    """What removed the offsets."""

    REMOVED = "removed"
    """Tombstones."""
    ABORTED = "aborted"
    """An ABORT marker, with the transaction that they were pending in."""
    SUPERSEDED = "superseded"
    """A COMMIT marker, because newer commits were effective."""


class RemovalRow(NamedTuple):
    """Offsets that one group lost at once, with the group as it was; the table `expiry` says why.

    They went by tombstones in one batch (before magic 2: in a run) or, while they were pending, by a marker.
    """

    group: Group
    log_partition: LogPartition
    from_log_offset: Annotated[Int64, "Offset in the log of the first tombstone, or of the marker."]
    to_log_offset: Annotated[
        Int64 | None,
        "Offset in the log of the last tombstone, or of the marker; null while the next record may be one more.",
    ]
    removed_at: Annotated[
        UtcTime | None,
        "When the first of them was written; null if its timestamp is no time of the calendar.",
    ]
    timestamp: Annotated[Int64 | None, "Timestamp of that record, epoch milliseconds; null if it has none."]
    kind: Annotated[String, "removed, or of pending commits aborted or superseded."]
    topics: Annotated[tuple[String, ...], "Topics that it took something of."]
    offsets: Annotated[Int64, "How many it took."]
    offsets_left: Annotated[
        Int64 | None, "How many the group still had after it; null if a marker dropped them."
    ]
    group_tombstone_log_offset: Annotated[
        Int64 | None, "Offset in the log of the group's own tombstone in the batch; null if there is none."
    ]
    is_by_new_coordinator: Annotated[
        bool | None,
        "Whether the new coordinator wrote the tombstones; null if they do not say, or it is a marker.",
    ]
    facts: Annotated[
        String, "JSON: each offset, the group, and what it had left, as the rules of expiry ask."
    ]


def removal_row(removal: Removal, *, is_open: bool) -> RemovalRow:
    """Return the row of a removal; `is_open`: the next record may belong to it."""
    return RemovalRow(
        removal.group_id,
        removal.log_partition,
        removal.first_offset,
        None if is_open else removal.last_offset,
        removal.at,
        removal.at,
        RemovalKind.REMOVED.value,
        tuple(sorted({removed.topic for removed in removal.removed})),
        len(removal.removed),
        removal.left,
        removal.group_deleted_at,
        removal.is_by_new_coordinator,
        pack_removal_facts([removal]),
    )


def removal_rows(
    removals: Iterable[Removal | DroppedCommit], *, are_open: bool = False
) -> Iterator[RemovalRow]:
    """Yield the rows of removals, complete or open; commits of a group that one marker dropped in one way are one row."""
    by_marker: dict[tuple[int, str, str], list[DroppedCommit]] = {}
    for removal in removals:
        if isinstance(removal, Removal):
            yield removal_row(removal, is_open=are_open)
        else:
            key = removal.log_offset, removal.pending.group, removal.kind
            by_marker.setdefault(key, []).append(removal)
    yield from map(dropped_row, by_marker.values())


def dropped_row(dropped: Sequence[DroppedCommit]) -> RemovalRow:
    """Return the row of pending commits of one group that one marker dropped in one way; facts are in the commits' order."""
    dropped = sorted(dropped, key=lambda drop: drop.commit.log_offset)
    first = dropped[0]
    kind, topics = RemovalKind(first.kind.value).value, {each.pending.topic for each in dropped}
    place = (first.pending.group, first.log_partition, first.log_offset, first.log_offset, first.at, first.at)
    return RemovalRow(
        *place, kind, tuple(sorted(topics)), len(dropped), None, None, None, pack_removal_facts(dropped)
    )
