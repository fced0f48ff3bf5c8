"""Which records Kafka wrote at once, of those of a chunk: what one did may depend on what was written with it.

As history.end_causes.is_one_write says of Changes, one after the other; here of all rows that change anything.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.columns_of_rows import are_there, batches, flags
from offsets_tool.expiry.removal_tracker import RUN_MS
from offsets_tool.history.rows import OffsetEndCause
from offsets_tool.relations.groups import GroupChanges, GroupEvent, ValueChange
from offsets_tool.relations.offsets import CAUSE, NEVER, Pieces
from offsets_tool.relations.writes import NONE, REMOVALS, OffsetAction, Writes, have_producers
from offsets_tool.replay.changes import VISIBILITY, GroupOf, MemberOf
from offsets_tool.rows import NO_TIMESTAMP


def last_cut(rows: pa.RecordBatch) -> int:
    """Return how many of the first rows surely were not written with any later one.

    A commit is written with what is in its batch and nothing else; other records of one time may have been written at once, and
    tombstones that are batches of their own are one removal within a second of each other (RemovalTracker).
    """
    bases, times = batches(rows), rows.column("timestamp").to_numpy()
    # Most often it is near the end.
    for first in (max(0, rows.num_rows - _NEAR), 0):
        few = rows.slice(first)
        is_commit = are_there(few.column("committed_offset")) & ~are_there(few.column("problem"))
        is_later = times[first + 1 :] > _highest(times, first)[:-1] + RUN_MS
        is_apart = (bases[first + 1 :] > _highest(bases, first)[:-1]) & (is_commit[:-1] | is_later)
        if is_apart.any() or not first:
            end = first + int(np.flatnonzero(is_apart).max(initial=NONE)) + 1
            # Commits alone wait for nothing: no broker writes a batch in two parts.
            return rows.num_rows if is_commit[end - first :].all() else end
    return 0


def _highest(numbers: Array, first: int) -> Array:
    """Return the highest number up to each place from the first on."""
    highest = np.maximum.accumulate(numbers[first:])
    return np.maximum(highest, numbers[:first].max()) if first else highest


_NEAR: Final = 1 << 10
_REMOVED: Final = (CAUSE[OffsetEndCause.DELETED], CAUSE[OffsetEndCause.ABSENT])
_COMMITS: Final = (int(OffsetAction.COMMIT), int(OffsetAction.PENDING))


def write_numbers(
    rows: pa.RecordBatch, writes: Writes, pieces: Pieces, of_groups: GroupChanges, ending: Array
) -> Array:
    """Return the number of the write that each record belongs to; NONE of records that change nothing.

    `ending` are the places of markers that ended a transaction.
    """
    if not of_groups.all and not len(
        writes.of(*REMOVALS, OffsetAction.COMMIT_MARKER, OffsetAction.ABORT_MARKER)
    ):
        # Of nothing but commits nobody asks which were written at once.
        is_commit = writes.action <= OffsetAction.PENDING
        is_commit[: writes.carried] = False
        return np.where(is_commit, 0, NONE)
    has_changes, is_open = _changes(rows, writes, pieces)
    has_changes[ending] = is_open[ending] = True
    values = [change.place for change in of_groups.all if isinstance(change, ValueChange)]
    has_changes[values] = is_open[values] = True
    for place, _, changes in of_groups.events:
        # What a first commit does to its group comes before what it does to its offset.
        if changes and writes.action[place] not in _COMMITS:
            last = changes[-1]
            is_of_group = isinstance(last.subject, GroupOf | MemberOf)
            has_changes[place], is_open[place] = (
                True,
                last.after is None or last.kind in VISIBILITY or is_of_group,
            )
    changed = np.flatnonzero(has_changes)
    bases, times = batches(rows), rows.column("timestamp").to_numpy()
    before, after = changed[:-1] - writes.carried, changed[1:] - writes.carried
    is_same_time = (times[before] == times[after]) & (times[after] != NO_TIMESTAMP)
    is_one = (bases[before] == bases[after]) | (is_open[changed[:-1]] & is_same_time)
    numbers = np.full(len(writes.action), NONE)
    numbers[changed] = np.append(0, np.cumsum(~is_one))[: len(changed)]
    return numbers


def _changes(rows: pa.RecordBatch, writes: Writes, pieces: Pieces) -> tuple[Array, Array]:
    """Return which records change something of offsets, and whose write later ones of the same time may belong to.

    These are the ones whose last change removes something.
    """
    over = pieces.taken(writes.is_read[pieces.commit] & (pieces.end != NEVER))
    has_ended, is_deletion, is_passed = (np.zeros(len(writes.action), bool) for _ in range(3))
    has_ended[over.end] = True
    is_deletion[over.end[np.isin(over.cause, _REMOVED)]] = True
    is_passed[over.end[over.cause == CAUSE[OffsetEndCause.NOOP_TOMBSTONE]]] = True
    has_changes, is_open = has_ended.copy(), np.zeros(len(writes.action), bool)
    commits = writes.of(OffsetAction.COMMIT, OffsetAction.PENDING)
    commits = commits[commits >= writes.carried]
    has_changes[commits], is_open[commits] = True, ~writes.is_read[commits]
    tombstones = writes.of(*REMOVALS)
    is_in_transaction = (flags(rows.column("is_transactional")) & have_producers(rows))[
        tombstones - writes.carried
    ]
    has_changes[tombstones] |= is_in_transaction
    is_open[tombstones] = (is_deletion & ~is_passed)[tombstones]
    # A marker does to pending commits what it does in their order: the last of them tells.
    pending = over.taken(np.flatnonzero(~over.is_effective))
    pending = pending.taken(np.argsort(pending.commit, kind="stable"))
    is_open[writes.of(OffsetAction.COMMIT_MARKER, OffsetAction.ABORT_MARKER)] = True
    by_marker = writes.action[pending.end] >= OffsetAction.COMMIT_MARKER
    is_open[pending.end[by_marker]] = pending.cause[by_marker] != CAUSE[OffsetEndCause.COMMITTED]
    return has_changes, is_open


class GroupEnd(NamedTuple):
    """A group that a write deleted and did not make again; `place` is that of the first deletion, which may be an absence."""

    write: int
    group: str
    place: int
    is_absence: bool


def groups_gone(events: Sequence[GroupEvent], numbers: Array) -> list[GroupEnd]:
    """Return the groups that were gone behind a write which deleted them; `numbers` are those of the writes, by place."""
    first: dict[tuple[int, str], tuple[int, bool]] = {}
    is_there: dict[tuple[int, str], bool] = {}
    for place, event, changes in events:
        for change in changes:
            if isinstance(change.subject, GroupOf) and not change.is_anomaly:
                key = int(numbers[place]), change.subject.group
                is_there[key] = change.after is not None
                if change.after is None:
                    first.setdefault(key, (place, event.is_absence))
    return [GroupEnd(*key, *deletion) for key, deletion in first.items() if not is_there[key]]


def with_group_ends(
    pieces: Pieces, groups: Array, numbers: Array, ends: dict[tuple[int, int], int]
) -> Pieces:
    """Return rows of history; those whose tombstone was written with their group's own are ended by that.

    `groups` are the numbers of the rows' groups, `numbers` those of the writes by place; `ends` has the place of the group's
    tombstone by write and group. To the classic coordinator a simple group goes with its last offset: that is no such end.
    """
    causes = pieces.cause.copy()
    for index in np.flatnonzero(causes == CAUSE[OffsetEndCause.DELETED]).tolist() if ends else ():
        place = int(pieces.end[index])
        deletion = ends.get((int(numbers[place]), int(groups[index])))
        if deletion is not None and deletion != place:
            causes[index] = CAUSE[OffsetEndCause.GROUP_DELETED]
    return pieces._replace(cause=causes)
