"""What can become of an offset, how sure that is, and the explanation that says so. Knows no rule."""

from enum import StrEnum
from typing import NamedTuple

from offsets_tool.expiry.rules import Rule
from offsets_tool.replay.changes import CommittedOffset


class Cause(StrEnum):
    """What became of an offset."""

    RETENTION = "retention"
    """Expired: retention was over."""
    EXPIRE_TIMESTAMP = "expire_timestamp"
    """Expired: its own time was over."""
    UNSUBSCRIBED_TOPIC = "unsubscribed_topic"
    """Expired: retention was over and no member of the group read the topic any more."""
    OFFSETS_DELETED = "offsets_deleted"
    """A client deleted offsets (OffsetDelete, kafka-consumer-groups --delete-offsets)."""
    GROUP_DELETED = "group_deleted"
    """A client deleted the group (DeleteGroups, kafka-consumer-groups --delete)."""
    TOPIC_DELETED = "topic_deleted"
    """The topic was deleted."""
    ABORTED = "aborted"
    """Its transaction was aborted: it never counted."""
    SUPERSEDED = "superseded"
    """A newer commit stood there when its transaction was committed: it never counted."""
    UNKNOWN = "unknown"
    """Nothing that is known to write such a tombstone could have written this one."""


class Confidence(StrEnum):
    """How sure a cause is."""

    CERTAIN = "certain"
    LIKELY = "likely"
    AMBIGUOUS = "ambiguous"


class Deletion(NamedTuple):
    """Why an offset went. `at` is when (epoch milliseconds, None in magic 0), `expected_at` when by its rule it was to expire.

    `evidence` are places of the log, "partition:offset": the commit, the group as it was, the tombstone, the group's own; and what
    went elsewhere with it.
    """

    log_partition: int | None
    log_offset: int
    at: int | None
    group: str
    topic: str
    partition: int
    producer_id: int | None
    commit: CommittedOffset | None
    cause: Cause
    confidence: Confidence
    alternatives: tuple[Cause, ...]
    rule: Rule | None
    expected_at: int | None
    evidence: tuple[str, ...]


class PolicyConfidence(NamedTuple):
    """What an explanation may take for granted: whether release and retention are the broker's, or only supposed."""

    release: bool = True
    retention: bool = True
