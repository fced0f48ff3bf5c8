"""A row of the table `expiry`, declared once: of what is there when it goes, as things stand, and of what is gone why it went.

Its columns are the fields of views_expiry's rows, of both kinds together. Null means what the column's sentence says.
"""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from offsets_tool.history.rows import Group
from offsets_tool.table_rows import LogPartition
from offsets_tool.wire.schema import Int32, Int64, String


class ExpiryRow(NamedTuple):
    """A committed offset: when it expires and by which rule if it is there, why it went and how sure that is if it is gone."""

    group: Group
    topic: Annotated[String, "Topic of the committed offset."]
    partition: Annotated[Int32, "Partition of that topic."]
    status: Annotated[String, "live or gone."]
    expires_at: Annotated[
        Int64 | None,
        "Live: it goes with the first check from then on, epoch milliseconds; null if it does not expire as things stand.",
    ]
    in_ms: Annotated[
        Int64 | None, "How long after the newest record of the cluster that is; null as expires_at."
    ]
    gone_at: Annotated[
        Int64 | None,
        "Gone: when its tombstone or marker was written, epoch milliseconds; null if live or without a time.",
    ]
    cause: Annotated[
        String | None,
        "Gone: retention, expire_timestamp, unsubscribed_topic, offsets_deleted, group_deleted, topic_deleted, aborted, "
        "superseded or unknown; null if live.",
    ]
    confidence: Annotated[
        String | None, "certain, likely, or ambiguous: alternatives leave the same records; null if live."
    ]
    alternatives: Annotated[tuple[String, ...], "Other causes that are possible."]
    expected_at: Annotated[
        Int64 | None,
        "Gone: when by its rule it was to expire, epoch milliseconds; null if nothing tells, or live.",
    ]
    rule: Annotated[
        String | None,
        "By which rule it expires or was to: retention_since_commit, retention_since_empty, unsubscribed_topic, expire_timestamp; "
        "or why it does not: subscribed, has_members, pending, share_group, no_group; null if nothing tells.",
    ]
    base_timestamp: Annotated[
        Int64 | None,
        "Live: what retention counts from, epoch milliseconds; null where nothing is counted, or gone.",
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
        "Gone: places of the log, partition:offset: the commit, the group, the tombstones. Empty if live.",
    ]
    log_partition: LogPartition
    log_offset: Annotated[
        Int64, "Offset in the log of the commit if live, of the tombstone or marker if gone."
    ]
    release: Annotated[String, "By whose rules: the release as X.Y."]
    retention_ms: Annotated[Int64, "offsets.retention.minutes that this counts with, in milliseconds."]
    check_interval_ms: Annotated[Int64, "offsets.retention.check.interval.ms that this counts with."]


def expiry_row(row: Mapping[str, Any]) -> ExpiryRow:
    """A row of views_expiry."""
    fields: dict[str, Any] = {name: row.get(name) for name in ExpiryRow._fields}
    return ExpiryRow(**fields | {name: tuple(fields[name] or ()) for name in ("alternatives", "evidence")})
