"""What was removed of a group at once, in a chunk: tombstones of one batch (before magic 2: of a run), with the group as it was.

What belongs together, and what counts as removed, is as expiry.removal_tracker has it, change by change. Removals are few: they are
put together one by one, of what the relations tell. A removal that nothing has ended yet is kept until something does.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise, repeat
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.columns_of_rows import are_there, batches, flags, tuples_of
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
from offsets_tool.relations.lifetimes import RowLifetimes
from offsets_tool.relations.offsets import CAUSE, NEVER, Holdings, Pieces, order_of
from offsets_tool.relations.row_events import MAGIC
from offsets_tool.relations.subjects import Subjects
from offsets_tool.relations.writes import (
    NONE,
    TOMBSTONES,
    OffsetAction,
    WriteReader,
    Writes,
    have_producers,
)
from offsets_tool.replay.changes import (
    Change,
    ChangeKind,
    CommittedOffset,
    GroupOf,
    MemberOf,
    OffsetOf,
    PendingOf,
)
from offsets_tool.replay.rules import wrote_new_by
from offsets_tool.replay.state import State

_MARKERS: Final = (int(OffsetAction.COMMIT_MARKER), int(OffsetAction.ABORT_MARKER))
_DROPPED: Final = {
    CAUSE[OffsetEndCause.ABORTED]: ChangeKind.ABORTED,
    CAUSE[OffsetEndCause.SUPERSEDED]: ChangeKind.SUPERSEDED,
}
"""What markers do to pending commits that they drop, by the cause of the end."""
_ENDED_UNTOLD: Final = (CAUSE[OffsetEndCause.ABSENT], CAUSE[OffsetEndCause.UNREAD])
"""Ends of pending commits of which no marker tells."""
_ROWS: Final = 1 << 20
"""How many rows of history are looked at at once for what removals left."""


class RemovalInputs(NamedTuple):
    """What removals of a chunk are made of: its rows and writes, rows of history with their lifetimes, and what groups did.

    `state` has the groups that have tombstones of offsets, with their members, as they were before; it changes. `has_changes` says
    by place which records change anything.
    """

    rows: pa.RecordBatch
    writes: Writes
    pieces: Pieces
    lifetimes: RowLifetimes
    of_groups: GroupChanges
    state: State
    has_changes: Array
    reader: WriteReader


class SavedRemovals(NamedTuple):
    """When each group last changed (epoch milliseconds), and the removals that nothing has ended yet."""

    changed: dict[str, int]
    open: list[Removal]


def groups_with_tombstones(writes: Writes, subjects: Subjects) -> set[str]:
    """Return the groups that have tombstones of offsets among these writes."""
    numbers = np.unique(writes.group[writes.of(*TOMBSTONES)]).tolist()
    return {subjects.groups.texts[number] for number in numbers}


class RemovalRelation:
    """The removals of one log partition: `advance` takes chunks and returns those that are complete."""

    def __init__(self, log_partition: int | None, saved: SavedRemovals) -> None:
        """Start with what goes on, which changes from here on."""
        self._log_partition = log_partition
        self.saved = saved
        """What goes on."""

    def advance(self, chunk: RemovalInputs) -> list[Removal | DroppedCommit]:
        """Return the removals that are complete, and the commits that markers dropped."""
        walk = _Walk(chunk, self._log_partition, self.saved.changed)
        complete: list[Removal] = []
        if len(walk.changed):
            complete, self.saved = self.saved.open, self.saved._replace(open=[])
        for removal, is_complete in walk.removals():
            (complete if is_complete else self.saved.open).append(removal)
        return [*complete, *walk.dropped()]


class _Tombstone(NamedTuple):
    """A tombstone of a committed offset, and what it did.

    `is_deletion`: it may go on with what tombstones before it removed. `removes`: it removed an offset, or is all that is left of
    one. `lost` are the places of the commits that it deleted, among all: the effective one first, pending ones by producer.
    """

    offset: OffsetOf
    stood: LastChange
    is_by_new_coordinator: bool | None
    is_deletion: bool
    removes: bool
    has_pending: bool
    lost: range


_NOTHING_LOST: Final = range(0)


class _Left(NamedTuple):
    """How many offsets a removal left, the oldest of each kind, and whether an open transaction commits that."""

    number: int
    oldest: Sequence[tuple[LeftOffset, bool]]


class _Closing(NamedTuple):
    """A removal that ends with the record at a place, and whether another record follows."""

    group: str
    removal: Open
    end: int
    is_complete: bool


class _Walk:
    """One chunk, looked at from removal to removal."""

    def __init__(self, chunk: RemovalInputs, log_partition: int | None, changed: dict[str, int]) -> None:
        self._chunk, self._log_partition, self._changed = chunk, log_partition, changed
        self._state, self._have_tombstones = (
            chunk.state,
            groups_with_tombstones(chunk.writes, chunk.reader.subjects),
        )
        self._span = len(chunk.writes.action) + 1
        self._events = {event.place: event for event in chunk.of_groups.events}
        self._next_event = iter(chunk.of_groups.all)
        self._upcoming = next(self._next_event, None)
        self._marked_at: dict[str, int] = {}
        """Where a group was last marked as changed, of events that were followed."""
        self._places = chunk.writes.of(*TOMBSTONES)
        has_changes = chunk.has_changes.copy()
        has_changes[self._places] = True
        events = (event for event in chunk.of_groups.events if event.changes or any(_noop_of_group(event)))
        has_changes[[event.place for event in events]] = True
        self.changed = np.flatnonzero(has_changes)
        pieces = chunk.pieces
        self._first = int(np.count_nonzero(~pieces.is_effective))
        """The first row of an effective commit: rows of pending ones stand before those."""
        self._is_over = chunk.writes.is_read[pieces.commit] & (pieces.end != NEVER)

    def removals(self) -> Iterator[tuple[Removal, bool]]:
        """Yield the removals, and whether they are complete."""
        end, closings = NONE, list[_Closing]()
        indices = np.searchsorted(self.changed, self._places).tolist()
        for (place, tombstone), index in zip(self._tombstones.items(), indices, strict=True):
            if place > end and tombstone.removes:
                opened: dict[str, Open] = {}
                end, is_complete = self._run(index, opened)
                closings += (_Closing(*removal, end, is_complete) for removal in opened.items())
                for group in opened:
                    if group not in self._state.groups:
                        self._forget(group, end)
        self._follow_before(NEVER)
        self._keep_marks()
        for closing, left in zip(closings, self._left(closings), strict=True):
            yield self._removal(closing.group, closing.removal, left), closing.is_complete

    def _run(self, index: int, opened: dict[str, Open]) -> tuple[int, bool]:
        """Open the removals of a run of records, whose first is the one at this index of those that change anything.

        Return the place of the last one, and whether another one follows.
        """
        place = int(self.changed[index])
        last = self._stood(place)
        while True:
            self._follow_before(place)
            tombstone = self._tombstones.get(place)
            # A tombstone that removes nothing is looked at when its record has done all it does.
            if tombstone is not None and tombstone.lost:
                self._remove(place, tombstone, opened)
                self._follow_at(place, opened)
            else:
                self._follow_at(place, opened)
                if tombstone is not None and tombstone.removes:
                    self._remove(place, tombstone, opened)
            if not self._is_anomaly(place):
                last = self._stood(place)
            index += 1
            if index == len(self.changed):
                return place, False
            following = int(self.changed[index])
            if not last.goes_on(self._stood(following), is_deletion=self._begins_with_deletion(following)):
                return place, True
            place = following

    def _stood(self, place: int) -> LastChange:
        """Return the batch, the offset and the time of the record at a place."""
        if place in self._tombstones:
            return self._tombstones[place].stood
        writes = self._chunk.writes
        batch = int(self._batches[place - writes.carried])
        return LastChange(batch, int(writes.log_offset[place]), int(writes.timestamp[place]))

    @cached_property
    def _batches(self) -> Array:
        return batches(self._chunk.rows)

    def _begins_with_deletion(self, place: int) -> bool:
        if place in self._tombstones:
            return self._tombstones[place].is_deletion
        event = self._events.get(place)
        if event is None:
            return False
        changes = (*event.changes, *_noop_of_group(event))
        return bool(changes) and changes[0].kind is ChangeKind.DELETED

    def _is_anomaly(self, place: int) -> bool:
        """Return whether a record changed nothing, and only shows what cannot be."""
        event = self._events.get(place)
        if event is None and place in self._tombstones:
            return False
        writes, ends = self._chunk.writes, self._chunk.pieces.end
        if writes.action[place] <= OffsetAction.PENDING:
            return not writes.is_read[place] and event is None and not (ends[self._is_over] == place).any()
        if event is None:
            return False
        return all(change.is_anomaly for change in (*event.changes, *_noop_of_group(event)))

    @cached_property
    def _tombstones(self) -> dict[int, _Tombstone]:
        """The tombstones by place."""
        places, writes, pieces = self._places, self._chunk.writes, self._chunk.pieces
        if not len(places):
            return {}
        rows, subjects, of_rows = self._chunk.rows, writes.subject[places], places - writes.carried
        is_noop = pieces.cause == CAUSE[OffsetEndCause.NOOP_TOMBSTONE]
        is_passed = np.isin(places, pieces.end[self._is_over & is_noop])
        _, deleted = self._deleted
        is_deleted = np.isin(places, [*deleted])
        is_in_transaction = (flags(rows.column("is_transactional")) & have_producers(rows))[of_rows]
        is_left = writes.action[places] != OffsetAction.PENDING_TOMBSTONE
        if not is_left.all():
            is_left |= self._held(slice(self._first, None)).counts(subjects, places) == 0
        stood = self._batches[of_rows], writes.log_offset[places], writes.timestamp[places]
        tombstones = tuples_of(
            _Tombstone,
            map(self._chunk.reader.subjects.offsets.__getitem__, subjects.tolist()),
            tuples_of(LastChange, *(column.tolist() for column in stood)),
            self._written_by_new(of_rows),
            (~is_in_transaction & (is_deleted | ~is_passed)).tolist(),
            (is_deleted | (~is_passed & is_left)).tolist(),
            self._have_pending.tolist(),
            (deleted.get(place, _NOTHING_LOST) for place in places.tolist()),
        )
        return dict(zip(places.tolist(), tombstones, strict=True))

    @cached_property
    def _have_pending(self) -> Array:
        """Whether the offset of each tombstone has pending commits; to the new coordinator it goes with them."""
        writes, places = self._chunk.writes, self._places
        behind = places - (writes.action[places] == OffsetAction.REMOVAL)
        have_pending: Array = self._pending.counts(writes.subject[places], behind) > 0
        return have_pending

    def _written_by_new(self, of_rows: Array) -> Iterator[bool | None]:
        """Yield whether the new coordinator wrote each row, None where its batch does not tell."""
        names = ("base_offset", "magic", "sequence", "is_transactional")
        base, *facts = self._chunk.rows.select(names).take(pa.array(of_rows)).columns
        for is_there, *told in zip(
            are_there(base).tolist(), *(column.to_pylist() for column in facts), strict=True
        ):
            yield _wrote_new(*told) if is_there else None

    def _held(self, rows: slice) -> Holdings:
        """Return how many commits each committed offset has, of some rows of history."""
        pieces, writes = self._chunk.pieces, self._chunk.writes
        commits, begins, ends = (column[rows] for column in (pieces.commit, pieces.begin, pieces.end))
        is_read = writes.is_read[commits]
        return Holdings(writes.subject[commits[is_read]], begins[is_read], ends[is_read], self._span)

    @cached_property
    def _deleted(self) -> tuple[Array, dict[int, range]]:
        """The rows of history that tombstones deleted, the effective one of each first, and by place which they are."""
        pieces = self._chunk.pieces
        rows = np.flatnonzero(self._is_over & (pieces.cause == CAUSE[OffsetEndCause.DELETED]))
        producers = self._chunk.writes.producer[pieces.commit[rows]]
        rows = rows[np.lexsort((producers, ~pieces.is_effective[rows], pieces.end[rows]))]
        first = np.flatnonzero(np.diff(pieces.end[rows], prepend=NONE))
        bounds = pairwise([*first.tolist(), len(rows)])
        return rows, dict(
            zip(pieces.end[rows[first]].tolist(), (range(*bound) for bound in bounds), strict=True)
        )

    def _remove(self, place: int, tombstone: _Tombstone, opened: dict[str, Open]) -> None:
        """Add what a tombstone removed to its group's removal."""
        (group, topic, partition), (_, log_offset, timestamp), is_by_new, *_ = tombstone
        removal = opened.get(group)
        if removal is None:
            removal = opened[group] = Open(
                time_or_none(timestamp),
                self._state.groups.get(group),
                dict(self._state.members.get(group, {})),
                self._changed_at(group, place),
                is_by_new,
            )
        reads, has_pending = removal.reads(topic), tombstone.has_pending
        if not tombstone.lost:
            nothing = RemovedOffset(topic, partition, None, log_offset, reads, has_pending, None, None)
            removal.removed.append(nothing)
        for lost in self._lost[tombstone.lost.start : tombstone.lost.stop]:
            removal.removed.append(
                lost if reads is None else RemovedOffset._make((*lost[:4], reads, *lost[5:]))
            )

    @cached_property
    def _lost(self) -> list[RemovedOffset]:
        """Commits that tombstones removed; whether members read their topics is not told."""
        (rows, _), writes, reader = self._deleted, self._chunk.writes, self._chunk.reader
        pieces = self._chunk.pieces.taken(rows)
        is_pending, times = rows < self._first, np.full((2, len(rows)), NONE)
        times[:, ~is_pending] = self._chunk.lifetimes.of(rows[~is_pending])[:2]
        began_at, committed_at = (map(time_or_none, line.tolist()) for line in times)
        has_pending = is_pending | self._have_pending[np.searchsorted(self._places, pieces.end)]
        offsets = [reader.subjects.offsets[subject] for subject in writes.subject[pieces.commit].tolist()]
        return list(
            tuples_of(
                RemovedOffset,
                [offset.topic for offset in offsets],
                [offset.partition for offset in offsets],
                self._commits(rows),
                writes.log_offset[pieces.end].tolist(),
                repeat(None, len(rows)),
                has_pending.tolist(),
                began_at,
                committed_at,
                (
                    producer if pending else None
                    for producer, pending in zip(
                        writes.producer[pieces.commit].tolist(), is_pending.tolist(), strict=True
                    )
                ),
            )
        )

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
            name = event.group.group
            self._mark(name, place, event.timestamp)
            if name in self._have_tombstones:
                self._state.groups[name] = event.group
                self._state.change_members(name, event.gone, event.written)
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
        number = self._chunk.reader.subjects.groups.number(group)
        if number is None or not len(self._live(np.array([number]), np.array([place]))[0]):
            self._changed.pop(group, None)
            self._marked_at[group] = place

    def _changed_at(self, group: str, place: int) -> int | None:
        """Return when a group last changed before a place: a record of it, or a marker that ended what it had pending."""
        places, times = self._marks.get(group, ((), ()))
        index = bisect_left(places, place) - 1
        if index >= 0 and places[index] > self._marked_at.get(group, NONE):
            return times[index]
        return self._changed.get(group)

    def _keep_marks(self) -> None:
        for group, (places, times) in self._marks.items():
            if places[-1] > self._marked_at.get(group, NONE):
                self._changed[group] = times[-1]

    @cached_property
    def _marks(self) -> dict[str, tuple[list[int], list[int]]]:
        """Where and when it ended what groups had pending, by group: a marker, an absence, or a commit that was not understood."""
        if not self._first:
            return {}
        pieces, writes = self._chunk.pieces, self._chunk.writes
        rows = np.flatnonzero(self._is_over[: self._first])
        ends, causes = pieces.end[rows], pieces.cause[rows]
        is_mark = np.isin(writes.action[ends], _MARKERS) | np.isin(causes, _ENDED_UNTOLD)
        is_mark &= writes.timestamp[ends] >= 0
        ends, groups = ends[is_mark], writes.group[pieces.commit[rows[is_mark]]]
        groups, ends = np.divmod(np.unique(groups * self._span + ends), self._span)
        first = np.flatnonzero(np.diff(groups, prepend=NONE))
        names, bounds = self._chunk.reader.subjects.groups.texts, [*first.tolist(), len(groups)]
        places, times = ends.tolist(), writes.timestamp[ends].tolist()
        return {
            names[group]: (places[begin:end], times[begin:end])
            for group, (begin, end) in zip(groups[first].tolist(), pairwise(bounds), strict=True)
        }

    @cached_property
    def _by_group(self) -> tuple[Array, Array]:
        """The rows of effective commits by group, and the numbers of their groups, sorted."""
        pieces, writes = self._chunk.pieces, self._chunk.writes
        rows = np.flatnonzero(writes.is_read[pieces.commit[self._first :]]) + self._first
        groups = writes.group[pieces.commit[rows]]
        order = order_of(groups)
        return rows[order], groups[order]

    def _live(self, groups: Array, places: Array) -> tuple[Array, Array]:
        """Return the rows of history of groups' offsets that are effective behind places, and of each the index of the group."""
        pieces, (rows, of_rows) = self._chunk.pieces, self._by_group
        begins = np.searchsorted(of_rows, groups)
        counts = np.searchsorted(of_rows, groups, "right") - begins
        which = np.repeat(np.arange(len(groups)), counts)
        rows = rows[np.arange(len(which)) + np.repeat(begins + counts - np.cumsum(counts), counts)]
        is_live = (pieces.begin[rows] <= places[which]) & (pieces.end[rows] > places[which])
        return rows[is_live], which[is_live]

    def _left(self, closings: Sequence[_Closing]) -> Iterator[_Left]:
        """Yield what each removal left, as far as the rules of expiry ask."""
        numbers = (self._chunk.reader.subjects.groups.number(closing.group) for closing in closings)
        groups = np.array([NONE if number is None else number for number in numbers], np.int64)
        ends = np.array([closing.end for closing in closings], np.int64)
        largest = np.bincount(self._by_group[1]).max(initial=1) if closings else 1
        step = max(1, _ROWS // int(largest))
        for first in range(0, len(closings), step):
            yield from self._left_of(groups[first : first + step], ends[first : first + step])

    def _left_of(self, groups: Array, ends: Array) -> Iterator[_Left]:
        """Yield what groups have behind places, but for what only a coordinator has that loaded the log."""
        rows, which = self._live(groups, ends)
        is_sure = ~self._chunk.lifetimes.is_doubtful[rows]
        rows, which = rows[is_sure], which[is_sure]
        writes, names, ids = (
            self._chunk.writes,
            self._chunk.reader.subjects.offsets,
            self._chunk.reader.topic_ids.ids,
        )
        commits = self._chunk.pieces.commit[rows]
        has_pending = self._pending.counts(writes.subject[commits], ends[which]) > 0
        subjects, *times, topic_ids = (
            column[commits]
            for column in (
                writes.subject,
                writes.commit_timestamp,
                writes.expire_timestamp,
                writes.topic_id,
            )
        )
        committed_at, expires_at = times
        lasting = np.where(expires_at == NONE, 0, expires_at - committed_at)
        topics = self._chunk.reader.subjects.topics_of(subjects)
        # The difference wraps, but for its sign.
        kinds = which, topics, topic_ids, has_pending, expires_at == NONE, lasting, expires_at < committed_at
        order = np.lexsort((committed_at, *kinds))
        begins = np.append(True, np.logical_or.reduce([np.diff(kind[order]) != 0 for kind in kinds]))
        oldest = np.sort(order[begins[: len(order)]])
        columns = which, subjects, *times, topic_ids, has_pending
        facts = zip(*(column[oldest].tolist() for column in columns), strict=True)
        left: list[list[tuple[LeftOffset, bool]]] = [[] for _ in groups]
        for index, subject, committed, expires, number, is_pending in facts:
            _, topic, partition = names[subject]
            left[index].append((LeftOffset(topic, partition, committed, expires, ids[number]), is_pending))
        return map(_Left, np.bincount(which, minlength=len(groups)).tolist(), left)

    def _removal(self, group: str, opened: Open, left: _Left) -> Removal:
        kept = (
            KeptOffset(
                opened.reads(offset.topic), is_pending, offset.commit_timestamp, offset.expire_timestamp
            )
            for offset, is_pending in left.oldest
        )
        return Removal(
            self._log_partition,
            opened.at,
            group,
            opened.group and without_values(opened.group),
            opened.is_by_new_coordinator,
            tuple(opened.removed),
            opened.group_deleted_at,
            left.number,
            partly_removed_topics(opened.removed, (offset for offset, _ in left.oldest)),
            oldest_of_each_kind(kept),
            opened.changed_at,
        )

    @cached_property
    def _pending(self) -> Holdings:
        """How many pending commits committed offsets have."""
        return self._held(slice(0, self._first))

    def _commits(self, rows: Array) -> Iterator[CommittedOffset]:
        """Yield the commits of rows of history."""
        return self._chunk.reader.commits(self._chunk.writes.taken(self._chunk.pieces.commit[rows]))

    def dropped(self) -> Iterator[DroppedCommit]:
        """Yield the pending commits that markers dropped, in the order of markers and commits."""
        if not self._first:
            return
        pieces, writes = self._chunk.pieces, self._chunk.writes
        rows = np.flatnonzero(self._is_over[: self._first])
        rows = rows[
            np.isin(pieces.cause[rows], list(_DROPPED)) & np.isin(writes.action[pieces.end[rows]], _MARKERS)
        ]
        rows = rows[np.lexsort((pieces.commit[rows], pieces.end[rows]))]
        ends, commits = pieces.end[rows], pieces.commit[rows]
        facts = zip(
            writes.log_offset[ends].tolist(),
            map(time_or_none, writes.timestamp[ends].tolist()),
            pieces.cause[rows].tolist(),
            writes.producer[commits].tolist(),
            writes.subject[commits].tolist(),
            self._commits(rows),
            strict=True,
        )
        for log_offset, at, cause, producer, subject, commit in facts:
            pending = PendingOf(producer, *self._chunk.reader.subjects.offsets[subject])
            yield DroppedCommit(self._log_partition, log_offset, at, _DROPPED[cause], pending, commit)


@lru_cache
def _wrote_new(magic: int | None, sequence: int | None, is_transactional: bool | None) -> bool | None:
    return wrote_new_by(MAGIC if magic is None else magic, sequence, is_transactional=bool(is_transactional))


def _noop_of_group(event: GroupEvent) -> Iterator[Change]:
    """Yield, as a Change, the tombstone of a group that was not there."""
    for change in noop_tombstone(event.event, event.changes):
        if isinstance(change.subject, GroupOf):
            yield change
