"""Which offsets were removed at once: tombstones of one group in one batch (before magic 2: in a run), and the group as it was.

It observes the Changes of one log partition in the order of the log; memory grows with the live offsets. Decides nothing about
causes (removal_causes.py).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from offsets_tool.events import Event
from offsets_tool.expiry.lifetimes import Lifetimes, partly_removed_topics
from offsets_tool.expiry.removals import (
    DroppedCommit,
    KeptOffset,
    Removal,
    RemovedOffset,
    is_noop,
    noop_tombstone,
    oldest_of_each_kind,
    without_values,
)
from offsets_tool.expiry.rules import is_subscribed
from offsets_tool.replay.changes import (
    VISIBILITY,
    Change,
    ChangeKind,
    CommittedOffset,
    Group,
    GroupOf,
    Member,
    MemberOf,
    OffsetOf,
    PendingCommit,
    PendingOf,
)
from offsets_tool.replay.rules import wrote_new
from offsets_tool.replay.state import State

RUN_MS: Final = 1_000
"""How far tombstones of a run may stand apart where every record is a batch of its own."""


@dataclass(slots=True)
class Open:
    """A removal that may not be complete; group and members as they were when it began."""

    at: int | None
    group: Group | None
    members: Mapping[str, Member]
    changed_at: int | None
    is_by_new_coordinator: bool | None
    removed: list[RemovedOffset] = field(default_factory=list)
    group_deleted_at: int | None = None
    _reads: dict[str, bool | None] = field(default_factory=dict)

    def reads(self, topic: str) -> bool | None:
        """Return whether a member reads the topic; None where the coordinator cannot tell."""
        if topic not in self._reads:
            self._reads[topic] = is_subscribed(self.group, self.members, topic) if self.group else None
        return self._reads[topic]


class LastChange(NamedTuple):
    """The batch, the log offset and the time of the last change of the open removals."""

    batch_offset: int
    log_offset: int
    timestamp: int

    def goes_on(self, change: "LastChange", *, is_deletion: bool) -> bool:
        """Return whether what was removed goes on with another change: of one batch or, before magic 2, of a run of tombstones."""
        if change.batch_offset == self.batch_offset:
            return True
        is_alone = self.batch_offset == self.log_offset
        is_next = change.batch_offset == change.log_offset == self.log_offset + 1
        return is_alone and is_next and is_deletion and abs(change.timestamp - self.timestamp) <= RUN_MS


class RemovalTracker:
    """The removals of one log partition: `take` and `take_event` return those that are complete."""

    def __init__(self, log_partition: int | None) -> None:
        """Start without removals."""
        self._log_partition = log_partition
        self._is_by_new_coordinator: bool | None = None
        self.state = State()
        """What a caller that makes no Change of it puts there itself: pending commits, groups, members."""
        self.lifetimes = Lifetimes()
        self.changed: dict[str, int] = {}
        """When each group last changed, epoch milliseconds."""
        self._doubted: tuple[OffsetOf, int] | None = None
        self._open: dict[str, Open] = {}
        self._place = LastChange(-1, -1, -1)

    def take(self, change: Change, *, is_by_new_coordinator: bool | None) -> list[Removal | DroppedCommit]:
        """Return what this change completes; `is_by_new_coordinator` says of a tombstone whether the new coordinator wrote it."""
        self._is_by_new_coordinator = is_by_new_coordinator
        if change.kind in VISIBILITY:
            return []
        place = change.batch_offset, change.log_offset, change.timestamp, change.kind
        done = self.close() if self._open and not self.belongs(*place) else []
        if change.is_anomaly:
            # About what the same record is going to put there.
            if isinstance(change.subject, OffsetOf):
                self._doubted = (change.subject, change.log_offset)
            return done
        dropped = self._observe(change)
        if not isinstance(change.subject, OffsetOf) and not is_noop(change):
            self.state.put(change.subject, change.after)
        if self._open:
            self._place = LastChange(change.batch_offset, change.log_offset, change.timestamp)
        return done if dropped is None else [*done, dropped]

    def take_event(self, event: Event, changes: Sequence[Change]) -> Iterator[Removal | DroppedCommit]:
        """Yield what an event completes, from its changes and from a tombstone that changed nothing."""
        for change in (*changes, *noop_tombstone(event, changes)):
            yield from self.take(change, is_by_new_coordinator=wrote_new(event))

    def _is_heeded(self, offset: OffsetOf, before: object) -> bool:
        """Return if it counts: in a transaction, the classic coordinator heeds a tombstone for pending commits alone."""
        return before is not None or self.lifetimes.get(offset) is None

    def mark_group(self, group: str, timestamp: int) -> None:
        """Note that a record of this time, of which no Change comes here, changed a group or its members."""
        if timestamp >= 0:
            self.changed[group] = timestamp

    def close(self) -> list[Removal | DroppedCommit]:
        """Return the open removals, which are complete now: later records belong to none of them."""
        done: list[Removal | DroppedCommit] = [*self.open_removals()]
        for group in self._open:
            self._forget(group)
        self._open.clear()
        return done

    def open_removals(self) -> Iterator[Removal]:
        """Yield the removals that later records may still extend, as they are now."""
        return (self._removal(group, opened) for group, opened in self._open.items())

    def belongs(self, batch_offset: int, log_offset: int, timestamp: int, kind: ChangeKind) -> bool:
        """Return whether the open removals go on with a change of this kind, by a record of this batch, place and time."""
        change = LastChange(batch_offset, log_offset, timestamp)
        return self._place.goes_on(change, is_deletion=kind is ChangeKind.DELETED)

    def _observe(self, change: Change) -> DroppedCommit | None:
        match change.subject:
            case OffsetOf() as offset:
                self._observe_offset(change, offset)
            case PendingOf() as pending:
                return self._observe_pending(change, pending)
            case GroupOf(group):
                self._observe_group(change, group)
            case MemberOf(group):
                self.mark_group(group, change.timestamp)
        return None

    def _observe_offset(self, change: Change, offset: OffsetOf) -> None:
        before, after = change.before, change.after
        if isinstance(after, CommittedOffset):
            doubtful = self._doubted == (offset, change.log_offset)
            self.lifetimes.commit(offset, after, change.timestamp, is_doubtful=doubtful)
        elif not self._is_heeded(offset, before):
            return
        elif change.kind is ChangeKind.DELETED and (before is None or isinstance(before, CommittedOffset)):
            lifetime = self.lifetimes.end(offset)
            times = (lifetime.began_at, lifetime.committed_at) if lifetime else (None, None)
            self._removed((change.timestamp, change.log_offset), offset, before, times, None)
        elif change.kind in (ChangeKind.ABSENT, ChangeKind.UNREAD):
            # When, and by which write, is not in the log: no removal can be told. What was not understood removed nothing.
            self.lifetimes.end(offset)

    def _removed(
        self,
        place: tuple[int, int],
        offset: OffsetOf,
        commit: CommittedOffset | None,
        times: tuple[int | None, int | None],
        producer_id: int | None,
    ) -> None:
        """Add an offset to its group's removal; `place` is the time and the log offset of the tombstone."""
        timestamp, log_offset = place
        opened = self._opened(timestamp, offset.group)
        reads, has_pending = opened.reads(offset.topic), self._has_pending(offset)
        where = (offset.topic, offset.partition)
        opened.removed.append(
            RemovedOffset(*where, commit, log_offset, reads, has_pending, *times, producer_id)
        )

    def _observe_pending(self, change: Change, pending: PendingOf) -> DroppedCommit | None:
        before = change.before
        if change.after is not None or not isinstance(before, PendingCommit):
            return None
        if change.kind is ChangeKind.DELETED:
            offset = OffsetOf(pending.group, pending.topic, pending.partition)
            place = change.timestamp, change.log_offset
            self._removed(place, offset, before.commit, (None, None), pending.producer_id)
            return None
        self.mark_group(pending.group, change.timestamp)
        # Of a transaction whose marker is in no copy any more, nothing says how it ended.
        if change.kind in (ChangeKind.COMMITTED, ChangeKind.ABSENT, ChangeKind.UNREAD):
            return None
        at = time_or_none(change.timestamp)
        return DroppedCommit(self._log_partition, change.log_offset, at, change.kind, pending, before.commit)

    def _observe_group(self, change: Change, group: str) -> None:
        opened = self._open.get(group)
        if opened is None or change.after is not None:
            if not is_noop(change):
                self.mark_group(group, change.timestamp)
                if change.after is None:
                    self._forget(group, change)
        elif all(each.log_offset != change.log_offset for each in opened.removed):
            # Else it is the classic coordinator's simple group, that goes with its last offset's tombstone.
            opened.group_deleted_at = change.log_offset

    def _forget(self, group: str, deleted: Change | None = None) -> None:
        """Forget when a group last changed, if nothing is left of the group."""
        is_there = deleted is None and group in self.state.groups
        if not is_there and not self.lifetimes.of_group(group):
            self.changed.pop(group, None)

    def _opened(self, timestamp: int, group: str) -> Open:
        if group not in self._open:
            self._open[group] = Open(
                time_or_none(timestamp),
                self.state.groups.get(group),
                dict(self.state.members.get(group, {})),
                self.changed.get(group),
                self._is_by_new_coordinator,
            )
        return self._open[group]

    def _has_pending(self, offset: OffsetOf) -> bool:
        return any(offset in commits for commits in self.state.pending.values())

    def _removal(self, group: str, opened: Open) -> Removal:
        left = self.lifetimes.left_of(group)
        kept = (
            KeptOffset(
                opened.reads(topic),
                self._has_pending(OffsetOf(group, topic, partition)),
                commit_timestamp,
                expire_timestamp,
            )
            for topic, partition, commit_timestamp, expire_timestamp, _ in left
        )
        return Removal(
            self._log_partition,
            opened.at,
            group,
            opened.group and without_values(opened.group),
            opened.is_by_new_coordinator,
            tuple(opened.removed),
            opened.group_deleted_at,
            len(left),
            partly_removed_topics(opened.removed, left),
            oldest_of_each_kind(kept),
            opened.changed_at,
        )


def time_or_none(timestamp: int) -> int | None:
    """Return a record's time, None where it has none."""
    return None if timestamp < 0 else timestamp
