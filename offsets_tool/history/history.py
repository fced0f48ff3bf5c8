"""Changes of one log partition as rows that hold from one record to another: offsets, groups, members; and anomalies.

A pure function of Changes, from the partition's first record or a saved state on. All changes of a batch are handled together: when
the next batch begins, or by `flush`. The rows that hold at a position are the state at that position.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from offsets_tool.history.end_causes import BatchOutcome, ending, is_one_write
from offsets_tool.history.owners import NameOf, Owner, Owners
from offsets_tool.history.row_builders import anomaly_row, group_row, member_row, offset_row
from offsets_tool.history.rows import (
    AnomalyRow,
    GroupHistoryRow,
    HistoryRow,
    LastingRow,
    MemberHistoryRow,
    OffsetBeginCause,
    OffsetEndCause,
    OffsetHistoryRow,
)
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
    Subject,
    TopicPartition,
)
from offsets_tool.replay.state import State
from offsets_tool.wire.json import uuid_text
from offsets_tool.wire.longs import difference


class RowChange(NamedTuple):
    """A Change as rows: the one that it ended, with its end, and the one that it began; or an anomaly's."""

    change: Change
    before: LastingRow | None = None
    after: LastingRow | None = None
    anomaly: AnomalyRow | None = None


class HistoryState(NamedTuple):
    """All that a History needs to go on later, between two batches, as a checkpoint keeps it."""

    open: dict[Subject, LastingRow]
    next_offset: int
    after_gap: int | None
    owners: State


class History:
    """The changes of one partition of `__consumer_offsets` as rows that hold from one record to another.

    Give it the changes in their order: `observe_change` and, at the end, `flush` return the rows that have ended; `open_rows`
    returns those that still hold.

    >>> from offsets_tool import Coordinator, open_evidence
    >>> coordinator, history = Coordinator(3), History()
    >>> with open_evidence("fixtures/corpora/3.9.2-txn/segments", log_partition=3) as evidence:
    ...     changes = [change for event in evidence.events() for change in coordinator.replay(event)]
    >>> rows = [*(row for change in changes for row in history.observe_change(change)), *history.flush(), *history.open_rows()]
    >>> [(row.committed_offset, row.from_log_offset, row.to_log_offset) for row in rows if hasattr(row, "committed_offset")]
    [(5, 0, None), (649, 1, None), (601, 2, None), (6, 3, None)]
    """

    def __init__(self, name_of: NameOf = uuid_text, saved: HistoryState | None = None) -> None:
        """Start without rows, or from a saved state; `name_of` returns the name of a topic id, as TopicNames.name does."""
        state = saved or HistoryState({}, 0, None, State())
        self.name_of = name_of
        self.owners = Owners(name_of, state.owners)
        """Who owns a partition after the changes that were flushed."""
        self._open = state.open
        self._batch: list[Change] = []
        self._made: dict[OffsetOf, OffsetHistoryRow] = {}
        """Pending rows that a marker makes effective right now: they know who owned the partition."""
        self._next_offset = state.next_offset
        self._after_gap = state.after_gap

    @property
    def after_gap(self) -> int | None:
        """Offset of the first record behind a missing one; None as long as none is missing."""
        return self._after_gap

    def observe_run(self, first: int, end: int, after_gap: int | None) -> None:
        """Observe many records at once, as `observe_record` does one, before their changes.

        `first` is their first offset, `end` the one after the last, `after_gap` the first offset behind a missing record between
        them.
        """
        self.observe_record(first)
        self._next_offset = end
        self._after_gap = after_gap if self._after_gap is None else self._after_gap

    def take_member(self, member: MemberOf) -> MemberHistoryRow:
        """Remove and return the open row of a member, which the caller continues and puts back; KeyError without one."""
        row = self._open.pop(member)
        assert isinstance(row, MemberHistoryRow)
        return row

    def take_group(self, group: GroupOf) -> GroupHistoryRow:
        """Remove and return the open row of a group, which the caller continues and puts back; KeyError without one."""
        row = self._open.pop(group)
        assert isinstance(row, GroupHistoryRow)
        return row

    def put_row(self, subject: GroupOf | MemberOf, row: LastingRow) -> None:
        """Put an open row back as the caller has continued it; call `flush` before."""
        self._open[subject] = row

    def as_known(self, owner: Owner, commit: CommittedOffset) -> Owner:
        """Return the owner of a commit; `is_known` is False where nobody owned it behind a missing record, which may name one."""
        if owner.member_id is None and self._after_gap is not None and commit.log_offset >= self._after_gap:
            return owner._replace(is_known=False)
        return owner

    def saved_state(self) -> HistoryState:
        """Return the state of this history to save it, after `flush`; save it at once: it goes on with the same objects."""
        return HistoryState(self._open, self._next_offset, self._after_gap, self.owners.state)

    @property
    def settled(self) -> int:
        """The log offset below which rows that ended are final; the batch of later ends may go on and change these rows."""
        return self._batch[0].log_offset if self._batch else self._next_offset

    def observe_record(self, log_offset: int) -> None:
        """Observe a record before its changes; behind a missing record, the absence of an owner is not known.

        Without this call, the log counts as complete from offset 0 on. Owners that are found are right in either case, because
        the cleaner removes the oldest record of a key first.
        """
        if log_offset != self._next_offset and self._after_gap is None:
            self._after_gap = log_offset
        self._next_offset = log_offset + 1

    def observe_change(self, change: Change) -> tuple[HistoryRow, ...]:
        """Observe a change; return the rows that ended with the batch before it."""
        return ended_by(self.row_changes(change))

    def flush(self) -> tuple[HistoryRow, ...]:
        """Return the rows that ended with the last batch, when no change follows."""
        return ended_by(self.flush_row_changes())

    def open_rows(self) -> Iterator[LastingRow]:
        """Return the rows that still hold; call `flush` first."""
        return iter(self._open.values())

    def row_changes(self, change: Change) -> tuple[RowChange, ...]:
        """Observe a change as `observe_change` does; return the rows that each change of the batch before it ended and began."""
        done: tuple[RowChange, ...] = ()
        if self._batch and not is_one_write(self._batch[-1], change.batch_offset, change.timestamp):
            done = self.flush_row_changes()
        self._batch.append(change)
        return done

    def flush_row_changes(self) -> tuple[RowChange, ...]:
        """Return what each change of the last batch ended and began, when no change follows."""
        batch, self._batch = self._batch, []
        return self.row_changes_of(batch)

    def row_changes_of(self, write: Sequence[Change]) -> tuple[RowChange, ...]:
        """Return what each change of one write of Kafka's, of which these are all, ended and began; call `flush` before."""
        outcome = BatchOutcome(write)
        made = (self._row_change(change, outcome) for change in write)
        return tuple(each for each in made if each is not None)

    def _row_change(self, change: Change, outcome: BatchOutcome) -> RowChange | None:
        """Return what a change ended and began; None where an offset stays as effective as it was."""
        if change.is_anomaly:
            return RowChange(change, anomaly=anomaly_row(change))
        self.owners.follow(change)
        known = self._open.get(change.subject)
        if change.kind in VISIBILITY and outcome.is_idle(change, known):
            return None
        self._open.pop(change.subject, None)
        before = None if known is None else _end(known, change, outcome)
        if isinstance(before, OffsetHistoryRow) and before.end_cause is OffsetEndCause.COMMITTED:
            self._made[OffsetOf(before.group, before.topic, before.partition)] = before
        after = self._begin(change, before, outcome)
        if after is not None:
            self._open[change.subject] = after
        return RowChange(change, before, after)

    def _begin(self, change: Change, before: LastingRow | None, outcome: BatchOutcome) -> LastingRow | None:
        match change.subject, change.after:
            case OffsetOf(), CommittedOffset() if change.kind in VISIBILITY:
                assert isinstance(before, OffsetHistoryRow)
                return _visible(before, change)
            case OffsetOf() as subject, CommittedOffset() as commit:
                return self._offset(change, subject, commit)
            case PendingOf() as subject, PendingCommit() as pending:
                return self._pending(change, subject, pending, before)
            case GroupOf(), Group() as group:
                return group_row(change, group, _previous_kind(change, group, before, outcome))
            case MemberOf() as subject, Member() as member:
                return member_row(change, subject, member, self.owners.group(subject.group), self.name_of)
            case _:
                return None

    def _offset(self, change: Change, subject: OffsetOf, commit: CommittedOffset) -> OffsetHistoryRow:
        was = change.before
        delta = _delta(commit, was) if isinstance(was, CommittedOffset) else None
        pending = self._made.pop(subject, None) if change.kind is ChangeKind.COMMITTED else None
        if pending is None:
            return self._commit(change, subject, commit, delta)
        return _from(pending, change)._replace(is_effective=True, delta=delta)

    def _pending(
        self, change: Change, subject: PendingOf, pending: PendingCommit, before: LastingRow | None
    ) -> OffsetHistoryRow:
        if isinstance(before, OffsetHistoryRow) and before.commit_log_offset == pending.commit.log_offset:
            return _from(before, change)._replace(noop_tombstone_log_offset=pending.deleted_at)
        offset = OffsetOf(subject.group, subject.topic, subject.partition)
        was = self._open.get(offset)
        commit = pending.commit
        delta = _delta(commit, was) if isinstance(was, OffsetHistoryRow) else None
        return self._commit(change, offset, commit, delta)._replace(
            is_effective=False,
            begin_cause=OffsetBeginCause.TRANSACTION,
            producer_id=subject.producer_id,
            noop_tombstone_log_offset=pending.deleted_at,
        )

    def _commit(
        self, change: Change, offset: OffsetOf, commit: CommittedOffset, delta: int | None
    ) -> OffsetHistoryRow:
        """Return a commit's row, with the present owner of the partition."""
        at = TopicPartition(offset.topic, offset.partition)
        owner = self.owners.of(offset.group, at, commit.topic_id)
        return offset_row(change, offset, commit, self.as_known(owner, commit), delta)


def _delta(commit: CommittedOffset, before: CommittedOffset | OffsetHistoryRow) -> int | None:
    """Return how far a commit moved the offset; None where one of the two is below zero, which is no offset."""
    if commit.committed_offset < 0 or before.committed_offset < 0:
        return None
    return difference(commit.committed_offset, before.committed_offset)


def _from(row: OffsetHistoryRow, change: Change) -> OffsetHistoryRow:
    """Return the row of the same commit, beginning at this change."""
    return row._replace(
        from_log_offset=change.log_offset,
        from_timestamp=change.timestamp,
        to_log_offset=None,
        to_timestamp=None,
        end_cause=None,
    )


def _visible(row: OffsetHistoryRow, change: Change) -> OffsetHistoryRow:
    """Return the row of the same commit, hidden or revealed by this change."""
    is_hidden = change.kind is ChangeKind.HIDDEN
    began = OffsetBeginCause.HIDDEN if is_hidden else OffsetBeginCause.REVEALED
    return _from(row, change)._replace(is_effective=not is_hidden, begin_cause=began, delta=None)


def _previous_kind(
    change: Change, group: Group, before: LastingRow | None, outcome: BatchOutcome
) -> str | None:
    """Return the kind that a group was converted from; of a record's two steps, the first knows it."""
    if isinstance(before, GroupHistoryRow) and before.from_log_offset == change.log_offset:
        return before.previous_kind
    return outcome.previous_kind(change, group)


def _end(row: LastingRow, change: Change, outcome: BatchOutcome) -> LastingRow:
    ended = ending(change, outcome)
    return row._replace(to_log_offset=change.log_offset, to_timestamp=change.timestamp, end_cause=ended)


def ended_by(turns: Iterable[RowChange]) -> tuple[HistoryRow, ...]:
    """Return the rows that ended, and anomalies, without rows that one record both began and ended."""
    rows: list[HistoryRow] = []
    for turn in turns:
        if turn.anomaly is not None:
            rows.append(turn.anomaly)
        elif turn.before is not None and turn.before.from_log_offset != turn.before.to_log_offset:
            rows.append(turn.before)
    return tuple(rows)
