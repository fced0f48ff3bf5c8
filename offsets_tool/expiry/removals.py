"""What went, as facts of one log partition: removals by tombstones, pending commits that markers dropped, and what lives on.

Each is complete in itself and knows no policy, so that those of all log partitions can be brought together anywhere and at any
time. A tombstone that changed nothing is a fact too: compaction had taken what it is for. Nothing here says why.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from uuid import UUID

from offsets_tool.events import Event
from offsets_tool.records.kinds import COMMITS, Family, Role, types_of
from offsets_tool.replay.changes import (
    Change,
    ChangeKind,
    CommittedOffset,
    Group,
    GroupOf,
    OffsetOf,
    PendingOf,
)

_GROUPS: Final = types_of(Role.GROUP, family=(Family.CLASSIC, Family.CONSUMER, Family.STREAMS))
"""The record types that delete groups which commit offsets."""


def noop_tombstone(event: Event, changes: Iterable[Change]) -> Iterator[Change]:
    """A tombstone of an offset or a group that changed nothing of what it is for."""
    if event.key is None or event.value is not None or event.kept_raw is not None:
        return
    subject = _subject(event)
    told = (OffsetOf, PendingOf) if isinstance(subject, OffsetOf) else (GroupOf,)
    if subject is None or any(isinstance(change.subject, told) for change in changes):
        return
    record = event.record
    batch = record.log_offset if record.batch is None else record.batch.base_offset
    yield Change(
        record.log_partition, record.log_offset, record.timestamp, batch, ChangeKind.DELETED, subject
    )


def _subject(event: Event) -> OffsetOf | GroupOf | None:
    """The offset, or the group by its own record, that an event is about."""
    if event.type_id in COMMITS and event.key is not None:
        key = event.key.data
        return OffsetOf(key.group, key.topic, key.partition)
    return GroupOf(event.group) if event.type_id in _GROUPS and event.group is not None else None


def is_noop(change: Change) -> bool:
    """Whether a Change is of nothing to nothing."""
    return change.before is None and change.after is None


class RemovedOffset(NamedTuple):
    """An offset that ended. `producer_id` says that it was pending; `commit` None: compaction took it, and left the tombstone.

    `reads`: whether a member read its topic (None: the coordinator could not tell). `has_pending`: whether a transaction was open
    that commits the partition. `began_at`: since when the group had an offset there, `committed_at`: when this one was written, in
    epoch ms, None unknown.
    """

    topic: str
    partition: int
    commit: CommittedOffset | None
    log_offset: int
    reads: bool | None
    has_pending: bool
    began_at: int | None
    committed_at: int | None
    producer_id: int | None = None


class KeptOffset(NamedTuple):
    """The oldest of those offsets that a removal left which no rule of expiry tells apart by anything but their age."""

    reads: bool | None
    has_pending: bool
    commit_timestamp: int
    expire_timestamp: int


class Removal(NamedTuple):
    """What one batch took of a group. `at` is its record timestamp, None in magic 0; the group last changed at `changed_at`."""

    log_partition: int | None
    at: int | None
    group_id: str
    group: Group | None
    """As it was, without the values of its records."""
    written_new: bool | None
    """Whether the new coordinator wrote it; None where its records do not say."""
    gone: tuple[RemovedOffset, ...]
    group_gone_at: int | None
    """Log offset of the group's own tombstone in it."""
    left: int
    """Offsets that the group still had after it."""
    left_topics: frozenset[str]
    """Of what went, the topics (by id, where commits have one) that the group still had an offset of."""
    kept: tuple[KeptOffset, ...]
    changed_at: int | None

    @property
    def first_offset(self) -> int:
        """Log offset of its first tombstone."""
        return self.gone[0].log_offset

    @property
    def last_offset(self) -> int:
        """Log offset of its last, which may be the group's own."""
        return max(self.gone[-1].log_offset, -1 if self.group_gone_at is None else self.group_gone_at)


class DroppedCommit(NamedTuple):
    """A pending commit that its marker dropped: `kind` is `aborted` or `superseded`. `at` as in Removal."""

    log_partition: int | None
    log_offset: int
    at: int | None
    kind: ChangeKind
    pending: PendingOf
    commit: CommittedOffset


class LongestLifetime(NamedTuple):
    """Of a topic, at the end: since when (epoch milliseconds) some group has had an offset there without a break."""

    topic: str
    topic_id: UUID | None
    began_at: int


def may_be_one(topic_id: UUID | None, other: UUID | None) -> bool:
    """Whether two ids under one name can be of one topic: not every commit has its topic's id, and one made again has another."""
    return topic_id == other or topic_id is None or other is None
