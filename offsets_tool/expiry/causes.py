"""Causes of the removal of offsets, how sure they are, and the explanation that names them. Knows no rule."""

from enum import StrEnum
from typing import NamedTuple

from offsets_tool.expiry.rules import Policy, Rule
from offsets_tool.replay.changes import CommittedOffset


class Cause(StrEnum):
    """Why an offset was removed."""

    RETENTION = "retention"
    """It expired: retention was over."""
    EXPIRE_TIMESTAMP = "expire_timestamp"
    """It expired: the time that the commit itself gives was over."""
    UNSUBSCRIBED_TOPIC = "unsubscribed_topic"
    """It expired: retention was over and no member of the group read the topic any more."""
    OFFSETS_DELETED = "offsets_deleted"
    """A client deleted offsets (OffsetDelete, kafka-consumer-groups --delete-offsets)."""
    GROUP_DELETED = "group_deleted"
    """A client deleted the group (DeleteGroups, kafka-consumer-groups --delete)."""
    TOPIC_DELETED = "topic_deleted"
    """The topic was deleted."""
    ABORTED = "aborted"
    """Its transaction was aborted: it was never effective."""
    SUPERSEDED = "superseded"
    """A newer commit was effective when its transaction was committed: it was never effective itself."""
    UNKNOWN = "unknown"
    """Nothing that is known to write such tombstones could have written this one."""


class Confidence(StrEnum):
    """How sure a cause is."""

    CERTAIN = "certain"
    LIKELY = "likely"
    AMBIGUOUS = "ambiguous"


class Deletion(NamedTuple):
    """Why one offset was removed.

    `at` is when (epoch milliseconds, None in magic 0), `expected_at` when its rule let it expire. `evidence` has places of the
    log, "partition:offset": the commit, the group as it was, the tombstone, the group's own, and removals elsewhere that go with
    it.
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
    policy: Policy | None
    """By which it was judged, that of the brokers at that time; None for what a marker dropped."""


class PolicyConfidence(NamedTuple):
    """Whether release and retention are known to be the broker's, or only supposed."""

    release: bool = True
    retention: bool = True
