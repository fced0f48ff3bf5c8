"""Facts of one log partition: removals by tombstones, pending commits that markers dropped, and topics that have live offsets.

Each fact is complete in itself and knows no policy, so that those of all log partitions can be brought together anywhere and at
any time. A tombstone that changed nothing is a fact too: compaction had removed its commit. Nothing here says why.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, get_type_hints
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
_NONE: Final = -1
_NO_VALUES: Final[dict[str, Any]] = {
    name: Group._field_defaults[name] for name, kind in get_type_hints(Group).items() if "Value" in str(kind)
}
"""The fields of a group that keep values of records, all empty."""


def noop_tombstone(event: Event, changes: Iterable[Change]) -> Iterator[Change]:
    """Yield, as a Change, the tombstone of an offset or a group that changed nothing of its subject; nothing for an absence."""
    if event.key is None or event.value is not None or event.kept_raw is not None or event.is_absence:
        return
    subject = _subject(event)
    reporting = (OffsetOf, PendingOf) if isinstance(subject, OffsetOf) else (GroupOf,)
    if subject is None or any(isinstance(change.subject, reporting) for change in changes):
        return
    record = event.record
    batch = record.log_offset if record.batch is None else record.batch.base_offset
    yield Change(
        record.log_partition, record.log_offset, record.timestamp, batch, ChangeKind.DELETED, subject
    )


def _subject(event: Event) -> OffsetOf | GroupOf | None:
    """Return the offset, or the group by its own record, that an event is about; None for others."""
    if event.type_id in COMMITS and event.key is not None:
        key = event.key.data
        return OffsetOf(key.group, key.topic, key.partition)
    return GroupOf(event.group) if event.type_id in _GROUPS and event.group is not None else None


def is_noop(change: Change) -> bool:
    """Return whether a Change has no value before and none after."""
    return change.before is None and change.after is None


class RemovedOffset(NamedTuple):
    """An offset that was removed.

    `producer_id` tells that it was pending; `commit` is None where compaction removed it and left the tombstone. `reads`: whether
    a member read its topic (None: the coordinator could not tell). `has_pending`: whether an open transaction commits the
    partition. `began_at`: since when the group had an offset there, `committed_at`: when this one was written, in epoch
    milliseconds, None unknown.
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
    """The oldest of the offsets that a removal left and that the rules of expiry distinguish by nothing but their age."""

    reads: bool | None
    has_pending: bool
    commit_timestamp: int
    expire_timestamp: int


def oldest_of_each_kind(kept: Iterable[KeptOffset]) -> tuple[KeptOffset, ...]:
    """Return the oldest of the offsets that a removal left, one of each kind that the rules of expiry distinguish."""
    oldest: dict[tuple[bool | None, bool, int | None], KeptOffset] = {}
    for each in kept:
        is_own = each.expire_timestamp != _NONE
        kind = (*each[:2], each.expire_timestamp - each.commit_timestamp if is_own else None)
        known = oldest.get(kind)
        if known is None or each.commit_timestamp <= known.commit_timestamp:
            oldest[kind] = each
    return tuple(sorted(oldest.values(), key=repr))


def without_values(group: Group) -> Group:
    """Return a group without the values of its records."""
    return group._replace(**_NO_VALUES)


class Removal(NamedTuple):
    """What one batch removed of a group's offsets.

    `at` is its record timestamp, None in magic 0; the group last changed at `changed_at`. Times are epoch milliseconds.
    """

    log_partition: int | None
    at: int | None
    group_id: str
    group: Group | None
    """The group as it was, without the values of its records."""
    is_by_new_coordinator: bool | None
    """Whether the new coordinator wrote it; None where its records do not say."""
    removed: tuple[RemovedOffset, ...]
    group_deleted_at: int | None
    """Log offset of the group's own tombstone in the batch; None without one."""
    left: int
    """Number of offsets that the group still had after it."""
    partly_removed_topics: frozenset[str]
    """Topics that it removed offsets of (by id, where commits have one) and that the group still had an offset of."""
    kept: tuple[KeptOffset, ...]
    changed_at: int | None

    @property
    def first_offset(self) -> int:
        """Log offset of its first tombstone."""
        return self.removed[0].log_offset

    @property
    def last_offset(self) -> int:
        """Log offset of its last tombstone, which may be the group's own."""
        return max(
            self.removed[-1].log_offset, -1 if self.group_deleted_at is None else self.group_deleted_at
        )


class DroppedCommit(NamedTuple):
    """A pending commit that its transaction's marker dropped.

    `kind` is `aborted` or `superseded`; `at` is the marker's timestamp, None in magic 0.
    """

    log_partition: int | None
    log_offset: int
    at: int | None
    kind: ChangeKind
    pending: PendingOf
    commit: CommittedOffset


class LongestLifetime(NamedTuple):
    """A topic with live offsets at the end of the log; since `began_at` (epoch milliseconds) a group has had one all the time."""

    topic: str
    topic_id: UUID | None
    began_at: int


def may_be_one(topic_id: UUID | None, other: UUID | None) -> bool:
    """Return whether two ids under one name can be of one topic: not every commit has its topic's id."""
    return topic_id == other or topic_id is None or other is None
