"""How a row of history ended, from all that Kafka wrote together with its end: one batch.

A tombstone alone says little: with the group's own it is the group's deletion, with records of another kind a conversion, with a
member of the same instance id a replacement. Source: the batches that GroupMetadataManager (both) writes.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from offsets_tool.history.rows import (
    GroupEndCause,
    LastingRow,
    MemberEndCause,
    OffsetBeginCause,
    OffsetEndCause,
    OffsetHistoryRow,
)
from offsets_tool.replay.changes import (
    VISIBILITY,
    Change,
    ChangeKind,
    Group,
    GroupKind,
    GroupOf,
    Member,
    MemberOf,
    OffsetOf,
    PendingCommit,
    PendingOf,
)
from offsets_tool.replay.member_records import instance_id_of
from offsets_tool.rows import NO_TIMESTAMP


def is_one_write(last: Change, batch_offset: int, timestamp: int) -> bool:
    """Return whether Kafka wrote a record at once with the change before it: in one batch, or, for groups and deletions, in one
    millisecond.

    Archives keep no batches, formats before v2 have one for each record, and all records of a write have its time.
    """
    if last.batch_offset == batch_offset:
        return True
    tells = last.after is None or last.kind in VISIBILITY or isinstance(last.subject, GroupOf | MemberOf)
    return tells and last.timestamp == timestamp != NO_TIMESTAMP


_SAID_BY_KIND: Final = frozenset(
    {ChangeKind.ABORTED, ChangeKind.HIDDEN, ChangeKind.REVEALED, ChangeKind.ABSENT, ChangeKind.UNREAD}
)
"""Kinds of changes of an offset that say by themselves how its row ended."""


class BatchOutcome:
    """The outcome of all changes of one batch: groups deleted, written and converted, members written and replaced."""

    def __init__(self, batch: Sequence[Change]) -> None:
        self._gone: dict[str, Change] = {}
        """Groups that this batch deleted, with the first deletion."""
        self._groups: dict[str, Group | None] = {}
        """Groups that this batch changed, as it left them."""
        self._members: set[MemberOf] = set()
        """Members that this batch wrote and did not delete."""
        self._instances: dict[tuple[str, str | None], str] = {}
        """The static members among them: member id by group and instance id."""
        # Most batches are commits: nothing above concerns them.
        for change in batch:
            if not change.is_anomaly:
                self._observe(change)

    def _observe(self, change: Change) -> None:
        subject, after = change.subject, change.after
        if isinstance(subject, GroupOf):
            self._groups[subject.group] = after if isinstance(after, Group) else None
            if after is None:
                self._gone.setdefault(subject.group, change)
        elif isinstance(subject, MemberOf) and isinstance(after, Member):
            self._members.add(subject)
            self.observe_instances(subject.group, {subject.member_id: after})
        elif isinstance(subject, MemberOf):
            self._members.discard(subject)

    def observe_instances(self, group: str, written: Mapping[str, Member]) -> None:
        """Observe the members that the batch wrote: a static one may replace another."""
        for member_id, member in written.items():
            instance_id = instance_id_of(member)
            if instance_id is not None:
                self._instances[group, instance_id] = member_id

    def group_deleted(self, group: str) -> Change | None:
        """Return the change that deleted the group; None if the batch did not, or created it again."""
        return self._gone.get(group) if self._groups.get(group) is None else None

    def lost_record(self, group: str) -> bool:
        """Return whether the group's record was deleted: the group is deleted, or a simple group of its offsets is left."""
        after = self._groups.get(group)
        return group in self._groups and (after is None or after.kind is GroupKind.SIMPLE)

    def is_idle(self, change: Change, row: LastingRow | None) -> bool:
        """Return whether a change of visibility comes to nothing: the batch has the group back, or the row was never hidden."""
        if change.kind is ChangeKind.HIDDEN:
            return isinstance(change.subject, OffsetOf) and self._groups.get(change.subject.group) is not None
        return isinstance(row, OffsetHistoryRow) and row.begin_cause != OffsetBeginCause.HIDDEN

    def group_after(self, group: str) -> Group | None:
        """Return the group as the batch left it; None if it deleted or did not change it."""
        return self._groups.get(group)

    def has_member(self, subject: MemberOf) -> bool:
        """Return whether the batch wrote the member and did not delete it."""
        return subject in self._members

    def _replaces(self, group: str, member_id: str, before: Member) -> bool:
        """Return whether the batch wrote another member with the instance id that a member had."""
        return self._instances.get((group, instance_id_of(before)), member_id) != member_id

    def ends_of_gone(self, group: str, gone: Mapping[str, Member]) -> list[MemberEndCause]:
        """Return how members of a group ended that the batch deleted: `gone` are those as they were, by member id."""
        cause = MemberEndCause.GROUP_DELETED if self.lost_record(group) else MemberEndCause.LEFT
        if not self._instances:
            return [cause] * len(gone)
        return [
            MemberEndCause.REPLACED if self._replaces(group, member_id, before) else cause
            for member_id, before in gone.items()
        ]

    def previous_kind(self, change: Change, group: Group) -> GroupKind | None:
        """Return the kind that the group had before; None if it is the same.

        A deletion earlier in the batch does not count: the kind is then that of the deleted group.
        """
        gone = self._gone.get(group.group)
        before = change.before
        if before is None and gone is not None and gone.log_offset <= change.log_offset:
            before = gone.before
        return before.kind if isinstance(before, Group) and before.kind is not group.kind else None


def ending(change: Change, outcome: BatchOutcome) -> OffsetEndCause | GroupEndCause | MemberEndCause:
    """Return how the value that this change replaced or removed ended."""
    match change.subject:
        case OffsetOf(group) | PendingOf(_, group):
            return _offset_end(change, outcome.group_deleted(group))
        case MemberOf() as subject:
            return _member_end(change, subject, outcome)
        case _:
            return _group_end(change, outcome)


def _offset_end(change: Change, group_deleted: Change | None) -> OffsetEndCause:
    match change.kind, change.before, change.after:
        case ChangeKind.DELETED, _, _:
            # To the classic coordinator a simple group goes with its last offset: that is no deletion of the group.
            by_record = (
                group_deleted is not None
                and group_deleted.kind is not ChangeKind.ABSENT
                and group_deleted.log_offset != change.log_offset
            )
            return OffsetEndCause.GROUP_DELETED if by_record else OffsetEndCause.DELETED
        case kind, _, _ if kind in _SAID_BY_KIND:
            return OffsetEndCause(kind.value)
        case ChangeKind.COMMITTED, PendingCommit(), _:
            return OffsetEndCause.COMMITTED
        case _, PendingCommit() as before, PendingCommit() as after if before.commit == after.commit:
            return OffsetEndCause.NOOP_TOMBSTONE
        case _:
            return OffsetEndCause.SUPERSEDED


def _group_end(change: Change, outcome: BatchOutcome) -> GroupEndCause:
    before, after = change.before, change.after
    assert isinstance(before, Group)
    if change.kind is ChangeKind.ABSENT:
        return GroupEndCause.ABSENT
    if not isinstance(after, Group):
        after = outcome.group_after(before.group)
    if after is None or (after.kind is GroupKind.SIMPLE and before.kind is not GroupKind.SIMPLE):
        return GroupEndCause.DELETED
    return GroupEndCause.CHANGED if after.kind is before.kind else GroupEndCause.CONVERTED


def _member_end(change: Change, subject: MemberOf, outcome: BatchOutcome) -> MemberEndCause:
    before = change.before
    if change.after is not None or outcome.has_member(subject):
        return MemberEndCause.CHANGED
    assert isinstance(before, Member)
    if change.kind is ChangeKind.ABSENT:
        return MemberEndCause.ABSENT
    [cause] = outcome.ends_of_gone(subject.group, {subject.member_id: before})
    return cause
