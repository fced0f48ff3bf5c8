"""What was removed of a group at once, in a chunk: tombstones of one batch (before magic 2: of a run), with the group as it was.

What belongs together, and what counts as removed, is as expiry.removal_tracker has it, change by change. Removals are few: they are
put together one by one, of what the relations tell. A removal that nothing has ended yet is kept until something does.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple
from uuid import UUID

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.columns_of_rows import batches, flags
from offsets_tool.columns.replay.row_events import batches_of
from offsets_tool.columns.replay.subjects import Subjects
from offsets_tool.expiry.lifetimes import LeftOffset, partly_removed_topics
from offsets_tool.expiry.removal_tracker import LastChange, Open, time_or_none
from offsets_tool.expiry.removals import (
    DroppedCommit,
    KeptOffset,
    Removal,
    RemovedOffset,
    noop_tombstone,
    oldest_of_each_kind,
    without_values,
)
from offsets_tool.history.rows import OffsetEndCause
from offsets_tool.relations.groups import GroupChanges, GroupEvent, ValueChange
from offsets_tool.relations.lifetimes import LifetimeColumns
from offsets_tool.relations.offsets import CAUSE, NEVER, NONE, Pieces
from offsets_tool.relations.writes import Metadata, OffsetAction, Writes, have_producers
from offsets_tool.replay.changes import (
    Change,
    ChangeKind,
    CommittedOffset,
    GroupOf,
    MemberOf,
    PendingOf,
)
from offsets_tool.replay.rules import wrote_new_in
from offsets_tool.replay.state import State
from offsets_tool.wire.text import from_shown

# Python 3.11 looks members of an enumeration up slowly, and these are asked for at each tombstone.
_TOMBSTONES: Final = tuple(
    map(int, (OffsetAction.REMOVAL, OffsetAction.TOMBSTONE, OffsetAction.PENDING_TOMBSTONE))
)
_MARKERS: Final = tuple(map(int, (OffsetAction.COMMIT_MARKER, OffsetAction.ABORT_MARKER)))
_COMMITS: Final = tuple(map(int, (OffsetAction.COMMIT, OffsetAction.PENDING)))


class RemovalInputs(NamedTuple):
    """What removals of a chunk are made of: its rows and writes, rows of history with their lifetimes, and what groups did.

    `has_changes` says by place which records change anything.
    """

    rows: pa.RecordBatch
    writes: Writes
    pieces: Pieces
    lifetimes: LifetimeColumns
    of_groups: GroupChanges
    has_changes: Array
    subjects: Subjects
    topic_ids: Sequence[UUID | None]
    metadata: Metadata


class SavedRemovals(NamedTuple):
    """When each group last changed (epoch milliseconds), and the removals that nothing has ended yet."""

    changed: dict[str, int]
    open: list[Removal]


class RemovalRelation:
    """The removals of one log partition: `advance` takes chunks and returns those that are complete."""

    def __init__(self, log_partition: int | None, groups: State, saved: SavedRemovals) -> None:
        """Start with groups and members, and with what goes on; both change from here on."""
        self._log_partition = log_partition
        self._state = groups
        self.saved = saved
        """What goes on."""

    def advance(self, chunk: RemovalInputs) -> list[Removal | DroppedCommit]:
        """Return the removals that are complete, and the commits that markers dropped."""
        walk = _Walk(chunk, self._log_partition, self._state, self.saved.changed)
        complete: list[Removal] = []
        if len(walk.changed):
            complete, self.saved = self.saved.open, self.saved._replace(open=[])
        for removals, is_complete in walk.removals():
            (complete if is_complete else self.saved.open).extend(removals)
        return [*complete, *walk.dropped()]


class _Walk:
    """One chunk, looked at from removal to removal."""

    def __init__(
        self, chunk: RemovalInputs, log_partition: int | None, state: State, changed: dict[str, int]
    ) -> None:
        self._chunk, self._log_partition, self._state, self._changed = chunk, log_partition, state, changed
        self._carried = chunk.writes.carried
        self._events = {event.place: event for event in chunk.of_groups.events}
        self._next_event = iter(chunk.of_groups.all)
        self._upcoming = next(self._next_event, None)
        self._marked_at: dict[str, int] = {}
        """Where a group was last marked as changed, of events that were followed."""
        self._places = (
            batches(chunk.rows),
            *(chunk.rows.column(name).to_numpy() for name in ("log_offset", "timestamp")),
        )
        pieces, writes = chunk.pieces, chunk.writes
        self._producers = chunk.writes.producer
        over = writes.is_read[pieces.commit] & (pieces.end != NEVER)
        self._has_ended = np.zeros(len(writes.action), bool)
        """Where something ended that was committed."""
        self._has_ended[pieces.end[over]] = True
        self._deleted = self._by_end(over & (pieces.cause == CAUSE[OffsetEndCause.DELETED]))
        self._passed = set(pieces.end[over & (pieces.cause == CAUSE[OffsetEndCause.NOOP_TOMBSTONE])].tolist())
        self._tombstones = np.flatnonzero(np.isin(writes.action, _TOMBSTONES))
        has_changes = chunk.has_changes.copy()
        has_changes[self._tombstones] = True
        events = (event for event in chunk.of_groups.events if event.changes or any(_noop_of_group(event)))
        has_changes[[event.place for event in events]] = True
        self.changed = np.flatnonzero(has_changes)

    def _by_end(self, mask: Array) -> dict[int, list[int]]:
        """Return rows of history by the place of their end: the effective one first, pending ones by producer."""
        by_end: dict[int, list[int]] = defaultdict(list)
        pieces = self._chunk.pieces
        rows = np.flatnonzero(mask)
        producers = self._producers[pieces.commit[rows]]
        for index in np.lexsort((producers, ~pieces.is_effective[rows], pieces.end[rows])).tolist():
            by_end[int(pieces.end[rows[index]])].append(int(rows[index]))
        return by_end

    @cached_property
    def _pending(self) -> dict[int, list[tuple[int, int]]]:
        """From where to where commits were pending, by the number of the offset, of those that have tombstones."""
        pieces, writes = self._chunk.pieces, self._chunk.writes
        subjects = np.concatenate((writes.subject[self._tombstones], self._subjects_left))
        is_wanted = (
            ~pieces.is_effective
            & writes.is_read[pieces.commit]
            & np.isin(writes.subject[pieces.commit], subjects)
        )
        ends: dict[int, int] = {}
        for commit, end in zip(
            pieces.commit[is_wanted].tolist(), pieces.end[is_wanted].tolist(), strict=True
        ):
            ends[commit] = max(end, ends.get(commit, end))
        pending: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for commit, end in ends.items():
            pending[int(writes.subject[commit])].append((commit, end))
        return pending

    @cached_property
    def _subjects_left(self) -> Array:
        """The offsets of groups that have tombstones: these may be left."""
        writes = self._chunk.writes
        is_of_group = np.isin(writes.group, writes.group[self._tombstones]) & (writes.subject != NONE)
        subjects: Array = np.unique(writes.subject[is_of_group])
        return subjects

    def removals(self) -> Iterator[tuple[list[Removal], bool]]:
        """Yield the removals of each run of records that belong together, and whether they are complete."""
        end = NONE
        for place in self._tombstones.tolist():
            if place > end and self._removes(place):
                opened: dict[str, Open] = {}
                end, is_complete = self._run(int(np.searchsorted(self.changed, place)), opened)
                yield self._close(opened, end), is_complete
        self._follow_before(NEVER)
        self._keep_marks()

    def _run(self, index: int, opened: dict[str, Open]) -> tuple[int, bool]:
        """Open the removals of a run of records, whose first is the one at this index of those that change anything.

        Return the place of the last one, and whether another one follows.
        """
        last = self._place(int(self.changed[index]))
        while True:
            place = int(self.changed[index])
            self._follow_before(place)
            if place in self._deleted:
                self._remove(place, opened)
                self._follow_at(place, opened)
            else:
                # A tombstone that removes nothing is looked at when its record has done all it does.
                self._follow_at(place, opened)
                self._remove(place, opened)
            if not self._is_anomaly(place):
                last = self._place(place)
            index += 1
            if index == len(self.changed) or not self._belongs(last, int(self.changed[index])):
                return place, index < len(self.changed)

    def _place(self, place: int) -> LastChange:
        """Return the batch, the offset and the time of the record at a place."""
        row = place - self._carried
        return LastChange(*(int(column[row]) for column in self._places))

    def _belongs(self, last: LastChange, place: int) -> bool:
        """Return whether a record goes on with what was removed, given the place of the last one."""
        return last.goes_on(self._place(place), is_deletion=self._begins_with_deletion(place))

    def _begins_with_deletion(self, place: int) -> bool:
        event = self._events.get(place)
        if self._chunk.writes.action[place] in _TOMBSTONES:
            rows, row = self._chunk.rows, place - self._carried
            one = rows.slice(row, 1)
            return not (flags(one.column("is_transactional"))[0] and have_producers(one)[0]) and (
                place in self._deleted or place not in self._passed
            )
        if event is None:
            return False
        changes = (*event.changes, *_noop_of_group(event))
        return bool(changes) and changes[0].kind is ChangeKind.DELETED

    def _is_anomaly(self, place: int) -> bool:
        """Return whether a record changed nothing, and only shows what cannot be."""
        event = self._events.get(place)
        if self._chunk.writes.action[place] in _COMMITS:
            return not self._chunk.writes.is_read[place] and not self._has_ended[place] and event is None
        if event is None:
            return False
        return all(change.is_anomaly for change in (*event.changes, *_noop_of_group(event)))

    def _removes(self, place: int) -> bool:
        """Return whether a record removes an offset, or its tombstone is all that is left of one."""
        action = self._chunk.writes.action[place]
        if action not in _TOMBSTONES:
            return False
        if place in self._deleted:
            return True
        if place in self._passed:
            return False
        return action != OffsetAction.PENDING_TOMBSTONE or not self._is_held(place)

    def _is_held(self, place: int) -> bool:
        """Return whether the offset of a tombstone is effective there."""
        pieces, writes = self._chunk.pieces, self._chunk.writes
        holds = pieces.is_effective & (writes.subject[pieces.commit] == writes.subject[place])
        holds &= (pieces.begin < place) & (pieces.end > place) & writes.is_read[pieces.commit]
        return bool(holds.any())

    def _remove(self, place: int, opened: dict[str, Open]) -> None:
        """Add what a tombstone removed to its group's removal."""
        if not self._removes(place):
            return
        writes, lifetimes = self._chunk.writes, self._chunk.lifetimes
        group, topic, partition = self._chunk.subjects.offsets[int(writes.subject[place])]
        if group not in opened:
            members = dict(self._state.members.get(group, {}))
            opened[group] = Open(
                time_or_none(self._place(place).timestamp),
                self._state.groups.get(group),
                members,
                self._changed_at(group, place),
                self._written_by[place],
            )
        removal, log_offset = opened[group], self._place(place).log_offset
        reads = removal.reads(topic)
        is_removal = int(writes.action[place] == OffsetAction.REMOVAL)
        # To the new coordinator it goes with its pending commits.
        has_pending = self._has_pending(int(writes.subject[place]), place - is_removal)
        for row in self._deleted.get(place, [NONE]):
            where = topic, partition, None if row == NONE else self._commit(row), log_offset, reads
            if row == NONE:
                removal.removed.append(RemovedOffset(*where, has_pending, None, None, None))
            elif self._chunk.pieces.is_effective[row]:
                times = (
                    time_or_none(int(lifetimes.began_at[row])),
                    time_or_none(int(lifetimes.committed_at[row])),
                )
                removal.removed.append(RemovedOffset(*where, has_pending, *times, None))
            else:
                producer = int(self._producers[self._chunk.pieces.commit[row]])
                removal.removed.append(RemovedOffset(*where, True, None, None, producer))

    def _has_pending(self, subject: int, place: int) -> bool:
        """Return whether an open transaction commits an offset behind a place."""
        return any(begin <= place < end for begin, end in self._pending.get(subject, ()))

    def _commit(self, row: int) -> CommittedOffset:
        return self._commits[int(self._chunk.pieces.commit[row])]

    def _follow_before(self, place: int) -> None:
        """Follow what groups did before a place, where no removal is open."""
        while self._upcoming is not None and self._upcoming.place < place:
            self._follow_at(self._upcoming.place, {})

    def _follow_at(self, place: int, opened: dict[str, Open]) -> None:
        """Follow what the record at a place did to groups."""
        event = self._upcoming
        if event is None or event.place != place:
            return
        self._upcoming = next(self._next_event, None)
        if isinstance(event, ValueChange):
            self._mark(event.group.group, place, event.timestamp)
            self._state.groups[event.group.group] = event.group
            self._state.change_members(event.group.group, event.gone, event.written)
            return
        for change in (*event.changes, *_noop_of_group(event)):
            if not change.is_anomaly and isinstance(change.subject, GroupOf | MemberOf):
                self._follow(place, change, opened.get(change.subject.group))

    def _follow(self, place: int, change: Change, opened: Open | None) -> None:
        """Follow a change of a group or a member, whose removal is open or not."""
        group, is_noop = change.subject.group, change.before is None and change.after is None  # type: ignore[union-attr]
        is_end = isinstance(change.subject, GroupOf) and change.after is None
        if is_end and opened is not None:
            # Else it is the classic coordinator's simple group, that goes with its last offset's tombstone.
            if all(removed.log_offset != change.log_offset for removed in opened.removed):
                opened.group_deleted_at = change.log_offset
        elif not is_noop:
            self._mark(group, place, change.timestamp)
            if is_end:
                self._forget(group, place)
        if not is_noop:
            self._state.put(change.subject, change.after)

    def _mark(self, group: str, place: int, timestamp: int) -> None:
        if timestamp >= 0:
            self._changed[group] = timestamp
            self._marked_at[group] = place

    def _forget(self, group: str, place: int) -> None:
        """Forget when a group last changed, if nothing is left of its offsets."""
        if not len(self._live(group, place)):
            self._changed.pop(group, None)
            self._marked_at[group] = place

    def _changed_at(self, group: str, place: int) -> int | None:
        """Return when a group last changed before a place: a record of it, or a marker that ended what it had pending."""
        marks = self._marks.get(group, ())
        before = [mark for mark in marks if mark[0] < place]
        if before and before[-1][0] > self._marked_at.get(group, NONE):
            return before[-1][1]
        return self._changed.get(group)

    def _keep_marks(self) -> None:
        for group, marks in self._marks.items():
            if marks[-1][0] > self._marked_at.get(group, NONE):
                self._changed[group] = marks[-1][1]

    @cached_property
    def _marks(self) -> dict[str, list[tuple[int, int]]]:
        """Where and when it ended what groups had pending, by group: by a marker, or a commit that was not understood."""
        pieces, writes = self._chunk.pieces, self._chunk.writes
        is_over = ~pieces.is_effective & writes.is_read[pieces.commit] & (pieces.end != NEVER)
        is_over &= np.isin(pieces.cause, [CAUSE[cause] for cause in _MARKING])
        is_over[is_over] &= (pieces.cause[is_over] != CAUSE[OffsetEndCause.SUPERSEDED]) | np.isin(
            writes.action[pieces.end[is_over]], _MARKERS
        )
        times = writes.timestamp[pieces.end[is_over]]
        marks = sorted(
            {
                (place, int(group), when)
                for place, group, when in zip(
                    pieces.end[is_over].tolist(),
                    writes.group[pieces.commit[is_over]].tolist(),
                    times.tolist(),
                    strict=True,
                )
                if when >= 0
            }
        )
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, group, when in marks:
            found[self._chunk.subjects.groups.texts[group]].append((place, when))
        return found

    @cached_property
    def _by_group(self) -> tuple[Array, Array]:
        """The rows of effective commits by group, and the numbers of their groups, sorted."""
        pieces, writes = self._chunk.pieces, self._chunk.writes
        rows = np.flatnonzero(pieces.is_effective & writes.is_read[pieces.commit])
        groups = writes.group[pieces.commit[rows]]
        order = np.argsort(groups, kind="stable")
        return rows[order], groups[order]

    def _live(self, group: str, place: int) -> Array:
        """Return the rows of history of a group's offsets that are effective behind a place."""
        number, (rows, groups) = self._chunk.subjects.groups.number(group), self._by_group
        if number is None:
            return rows[:0]
        begin, end = np.searchsorted(groups, [number, number + 1])
        of_group, pieces = rows[begin:end], self._chunk.pieces
        live: Array = of_group[(pieces.begin[of_group] <= place) & (pieces.end[of_group] > place)]
        return live

    def _close(self, opened: dict[str, Open], end: int) -> list[Removal]:
        """Return the removals that end with the record at a place."""
        removals = [self._removal(group, removal, end) for group, removal in opened.items()]
        for group in opened:
            if group not in self._state.groups:
                self._forget(group, end)
        return removals

    def _removal(self, group: str, opened: Open, end: int) -> Removal:
        live = self._live(group, end)
        commits = self._chunk.pieces.commit[live[~self._chunk.lifetimes.is_doubtful[live]]]
        left, subjects = self._left(commits), self._chunk.writes.subject[commits].tolist()
        kept = (
            KeptOffset(
                opened.reads(offset.topic),
                self._has_pending(subject, end),
                offset.commit_timestamp,
                offset.expire_timestamp,
            )
            for offset, subject in zip(left, subjects, strict=True)
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

    @cached_property
    def _written_by(self) -> dict[int, bool | None]:
        """Whether the new coordinator wrote each tombstone, by place; None where its batch does not tell."""
        batches = batches_of(self._chunk.rows, self._tombstones - self._carried)
        return {
            place: wrote_new_in(batch)
            for place, batch in zip(self._tombstones.tolist(), batches, strict=True)
        }

    def _left(self, commits: Array) -> list[LeftOffset]:
        """Return commits, given by place, as far as the rules of expiry ask."""
        offsets, ids, writes = self._chunk.subjects.offsets, self._chunk.topic_ids, self._chunk.writes
        subjects, committed_at, expires_at, numbers_left = (
            column[commits].tolist()
            for column in (writes.subject, writes.commit_timestamp, writes.expire_timestamp, writes.topic_id)
        )
        named = zip(subjects, committed_at, expires_at, numbers_left, strict=True)
        return [
            LeftOffset(offsets[subject].topic, offsets[subject].partition, committed, expires, ids[number])
            for subject, committed, expires, number in named
        ]

    @cached_property
    def _commits(self) -> dict[int, CommittedOffset]:
        """The commits that were removed or dropped, by place."""
        pieces, dropped = self._chunk.pieces, self._dropped_rows
        rows = [*(row for removed in self._deleted.values() for row in removed), *dropped.tolist()]
        places = np.unique(pieces.commit[np.array(rows, np.int64)])
        writes, ids = self._chunk.writes, self._chunk.topic_ids
        columns = (
            writes.committed_offset,
            writes.leader_epoch,
            writes.commit_timestamp,
            writes.expire_timestamp,
            writes.topic_id,
            writes.commit_log_offset,
        )
        said = zip(*(column[places].tolist() for column in columns), strict=True)
        texts = self._chunk.metadata.column(writes.text[places]).to_pylist()
        return {
            place: CommittedOffset(offset, epoch, from_shown(text), at, expires_at, ids[number], log_offset)
            for place, text, (offset, epoch, at, expires_at, number, log_offset) in zip(
                places.tolist(), texts, said, strict=True
            )
        }

    @cached_property
    def _dropped_rows(self) -> Array:
        """The rows of history of pending commits that markers dropped."""
        pieces, writes = self._chunk.pieces, self._chunk.writes
        is_dropped = ~pieces.is_effective & writes.is_read[pieces.commit] & (pieces.end != NEVER)
        is_dropped &= np.isin(pieces.cause, [CAUSE[OffsetEndCause.ABORTED], CAUSE[OffsetEndCause.SUPERSEDED]])
        is_dropped[is_dropped] &= np.isin(writes.action[pieces.end[is_dropped]], _MARKERS)
        rows: Array = np.flatnonzero(is_dropped)
        return rows

    def dropped(self) -> Iterator[DroppedCommit]:
        """Yield the pending commits that markers dropped, in the order of markers and commits."""
        pieces, writes = self._chunk.pieces, self._chunk.writes
        rows = self._dropped_rows
        for row in rows[np.lexsort((pieces.commit[rows], pieces.end[rows]))].tolist():
            commit = int(pieces.commit[row])
            offset = self._chunk.subjects.offsets[int(writes.subject[commit])]
            is_abort = pieces.cause[row] == CAUSE[OffsetEndCause.ABORTED]
            _, log_offset, timestamp = self._place(int(pieces.end[row]))
            yield DroppedCommit(
                self._log_partition,
                log_offset,
                time_or_none(timestamp),
                ChangeKind.ABORTED if is_abort else ChangeKind.SUPERSEDED,
                PendingOf(int(self._producers[commit]), *offset),
                self._commit(row),
            )


_MARKING: Final = (
    OffsetEndCause.COMMITTED,
    OffsetEndCause.ABORTED,
    OffsetEndCause.SUPERSEDED,
    OffsetEndCause.UNREAD,
)


def _noop_of_group(event: GroupEvent) -> Iterator[Change]:
    """Yield, as a Change, the tombstone of a group that was not there."""
    for change in noop_tombstone(event.event, event.changes):
        if isinstance(change.subject, GroupOf):
            yield change
