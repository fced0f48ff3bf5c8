"""What went, as facts of one log partition: removals by tombstones, pending commits that markers dropped, and what lives on.

Each is complete in itself, so that those of all log partitions can be brought together anywhere. Nothing here says why.
"""

from typing import NamedTuple
from uuid import UUID

from offsets_tool.replay.changes import ChangeKind, CommittedOffset, Group, PendingOf
from offsets_tool.replay.expiry import Expiry


class Gone(NamedTuple):
    """An offset that ended. `producer_id` says that it was pending; `expiry` is by its rule at that moment, if anything tells it.

    `began_at`: since when the group had an offset there, `committed_at`: when this one was written. Epoch ms, None unknown.
    `commit` None: compaction took it, and left the tombstone.
    """

    topic: str
    partition: int
    commit: CommittedOffset | None
    log_offset: int
    expiry: Expiry | None
    began_at: int | None
    committed_at: int | None
    producer_id: int | None = None


class Removal(NamedTuple):
    """What one batch took of a group. `at` is its record timestamp, None in magic 0; the group last changed at `changed_at`."""

    log_partition: int | None
    at: int | None
    group_id: str
    group: Group | None
    is_new: bool
    """Whether the new coordinator wrote it."""
    gone: tuple[Gone, ...]
    group_gone_at: int | None
    """Log offset of the group's own tombstone in it."""
    left: int
    """Offsets that the group still had after it."""
    left_topics: frozenset[str]
    """Of what went, the topics (by id, where commits have one) that the group still had an offset of."""
    subscribed: frozenset[str]
    """Of what went, the topics that a member read."""
    next_at: int | None
    """When the first of those expires; None if none does."""
    next_base: int | None
    """The earliest time from which retention counts for one of those."""
    changed_at: int | None


class Ended(NamedTuple):
    """A pending commit that its marker dropped: `kind` is `aborted` or `superseded`. `at` as in Removal."""

    log_partition: int | None
    log_offset: int
    at: int | None
    kind: ChangeKind
    pending: PendingOf
    commit: CommittedOffset


class Alive(NamedTuple):
    """Of a topic, at the end: since when (epoch milliseconds) some group has had an offset there without a break."""

    topic: str
    topic_id: UUID | None
    began_at: int


def may_be_one(topic_id: UUID | None, other: UUID | None) -> bool:
    """Whether two ids under one name can be of one topic: not every commit has its topic's id, and one made again has another."""
    return topic_id == other or topic_id is None or other is None
