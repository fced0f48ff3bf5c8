"""What becomes of committed offsets, as a set: writes of one log partition in, rows of offset_history out.

A commit takes effect at its own place or, pending, at the next marker of its producer, unless a newer commit of its offset is
effective by then; it holds until the next commit or tombstone of its offset. Each of that is a search among sorted places or a
running maximum, so that no record waits for the one before it. Open rows are carried from chunk to chunk: they stand before the
chunk's own writes as if they were written there. Who owned a partition, and whether its group answers, is joined elsewhere.
The rules are those of replay.offsets, one record at a time, which tests hold this against.
"""

from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.differences import differences
from offsets_tool.columns.replay.columns_of_rows import flags, numbers
from offsets_tool.columns.replay.subjects import Subjects
from offsets_tool.history.rows import OffsetEndCause
from offsets_tool.relations.writes import SUBJECT, WRITES, OffsetAction
from offsets_tool.rows import NO_PRODUCER_ID

ENDS: Final = ("to_log_offset", "to_timestamp", "end_cause")
NEVER: Final = np.iinfo(np.int64).max
"""The place of what does not come, behind all others."""
NONE: Final = -1
PLAIN, HIDDEN, REVEALED = range(3)
CAUSES: Final = tuple(OffsetEndCause)
CAUSE: Final = {cause: number for number, cause in enumerate(CAUSES)}


class Writes(NamedTuple):
    """The writes of a chunk (WRITES), behind the commits that the chunk before left open, as numbers by place."""

    action: Array
    subject: Array
    """The number of the committed offset that a write is about; -1 of others."""
    group: Array
    """The number of that offset's group."""
    producer: Array
    is_read: Array
    committed_offset: Array
    carried: int
    """How many were left open: the first."""

    def of(self, *actions: OffsetAction) -> Array:
        """Return the places of the writes that do one of these, in order."""
        return np.flatnonzero(np.isin(self.action, actions))


class PendingEnds(NamedTuple):
    """Where pending commits end, and how: the place of each, that of its end or NEVER, and its cause or -1."""

    commit: Array
    end: Array
    cause: Array


class Pieces(NamedTuple):
    """Rows of offset_history by places: of the commit, of its beginning, of its end (NEVER while it holds), and how it ended.

    `previous` is the commit that was effective before, and `noop` the last tombstone that a pending commit outlived; -1 for none.
    """

    commit: Array
    begin: Array
    end: Array
    cause: Array
    previous: Array
    noop: Array
    is_effective: Array
    """Whether it took effect; while its group is not there it is hidden all the same."""
    visibility: Array
    """PLAIN, or how a group's coming and going began the row: HIDDEN or REVEALED."""

    def taken(self, mask: Array) -> "Pieces":
        """Return the rows that a mask has."""
        return Pieces(*(column[mask] for column in self))


class Effects(NamedTuple):
    """Writes that took effect, sorted by offset and then in their order: what was written, and the place where it took effect."""

    write: Array
    place: Array
    subject: Array
    is_removal: Array


def numbered(table: pa.Table, subjects: Subjects, carried: int) -> Writes:
    """Return writes (WRITES) as numbers; the first so many are commits that were open before."""
    action = table["action"].to_numpy()
    about = np.flatnonzero(action < OffsetAction.COMMIT_MARKER)
    subject = np.full(len(action), NONE)
    for batch in table.select(SUBJECT).to_batches():
        subject[about] = subjects.of(batch, about)
    producer = numbers(table["producer_id"].combine_chunks(), NO_PRODUCER_ID)
    return Writes(
        action,
        subject,
        np.append(subjects.group_of, NONE)[subject],
        np.unique(producer, return_inverse=True)[1],
        flags(table["is_read"].combine_chunks()),
        numbers(table["committed_offset"].combine_chunks(), NONE),
        carried,
    )


def pieces_of(writes: Writes) -> Pieces:
    """Return the rows of offset_history that writes make: first those of pending commits."""
    ends = _ends_of_pending(writes)
    effects = _effects(writes, ends)
    pending = _pending(writes, ends, effects)
    return Pieces(*map(np.concatenate, zip(pending, _effective(writes, effects, pending), strict=True)))


def _next(groups: Array, events: Array, places: Array) -> Array:
    """Return the place of the first event of the same group behind each place; NEVER where none comes."""
    following = np.full(len(places), NEVER)
    if not len(events) or not len(places):
        return following
    codes = np.unique(np.concatenate((groups[events], groups[places])), return_inverse=True)[1]
    span, code = len(groups), codes[len(events) :]
    keys = np.sort(codes[: len(events)] * span + events)
    index = np.searchsorted(keys, code * span + places, "right")
    candidate = keys[np.minimum(index, len(keys) - 1)]
    is_same = (index < len(keys)) & (candidate // span == code)
    following[is_same] = candidate[is_same] % span
    return following


def _ends_of_pending(writes: Writes) -> PendingEnds:
    """Return what ends each pending commit first: its marker, the next one of its transaction, or a tombstone."""
    commit = writes.of(OffsetAction.PENDING)
    pair = writes.producer * (writes.subject.max(initial=0) + 2) + writes.subject
    marker = _next(writes.producer, writes.of(OffsetAction.COMMIT_MARKER, OffsetAction.ABORT_MARKER), commit)
    again = _next(pair, commit, commit)
    removed = np.minimum(
        _next(writes.subject, writes.of(OffsetAction.REMOVAL), commit),
        _next(pair, writes.of(OffsetAction.PENDING_TOMBSTONE), commit),
    )
    end = np.minimum(np.minimum(marker, again), removed)
    at = np.minimum(end, len(writes.action) - 1)
    cause = np.where(writes.is_read[at], CAUSE[OffsetEndCause.SUPERSEDED], CAUSE[OffsetEndCause.UNREAD])
    cause[end == removed] = CAUSE[OffsetEndCause.DELETED]
    is_commit = writes.action[at] == OffsetAction.COMMIT_MARKER
    cause[end == marker] = np.where(
        is_commit, CAUSE[OffsetEndCause.COMMITTED], CAUSE[OffsetEndCause.ABORTED]
    )[end == marker]
    cause[end == NEVER] = NONE
    return PendingEnds(commit, end, cause)


def _effects(writes: Writes, ends: PendingEnds) -> Effects:
    """Return the writes that take effect; pending commits that newer ones forestall become superseded in `ends`."""
    committed = np.flatnonzero(ends.cause == CAUSE[OffsetEndCause.COMMITTED])
    plain, removals = writes.of(OffsetAction.COMMIT), writes.of(OffsetAction.REMOVAL, OffsetAction.TOMBSTONE)
    write = np.concatenate((plain, ends.commit[committed], removals))
    place = np.concatenate((plain, ends.end[committed], removals))
    span = len(writes.action) + 1
    order = np.argsort(writes.subject[write] * span + place, kind="stable")
    subject, is_removal = writes.subject[write][order], order >= len(plain) + len(committed)
    # What a tombstone leaves behind it is no older than anything.
    era = np.cumsum(is_removal | _is_first(subject))
    age = era * span + np.where(is_removal, 0, write[order] + 1)
    wins = is_removal | (age == np.maximum.accumulate(age))
    index = order[~wins] - len(plain)
    ends.cause[committed[index]] = CAUSE[OffsetEndCause.SUPERSEDED]
    kept = order[wins]
    return Effects(write[kept], place[kept], subject[wins], is_removal[wins])


def _is_first(subject: Array) -> Array:
    """Return which of sorted subjects begin a run."""
    return np.append(True, subject[1:] != subject[:-1])[: len(subject)]


def _effective(writes: Writes, effects: Effects, pending: Pieces) -> Pieces:
    """Return the rows of commits that were effective: each to the next effect on its offset."""
    write, place, subject, is_removal = effects
    begins = _is_first(subject)
    is_last = np.append(begins[1:], True)[: len(subject)]
    end = np.where(is_last, NEVER, np.append(place[1:], 0)[: len(place)])
    following = np.append(write[1:], 0)[: len(write)]
    removed = np.append(is_removal[1:], False)[: len(write)]
    cause = np.where(
        writes.is_read[following], CAUSE[OffsetEndCause.SUPERSEDED], CAUSE[OffsetEndCause.UNREAD]
    )
    cause[removed] = CAUSE[OffsetEndCause.DELETED]
    cause[is_last] = NONE
    before = np.append(0, write[:-1])[: len(write)]
    is_after = ~begins & ~np.append(True, is_removal[:-1])[: len(write)] & writes.is_read[before]
    previous = np.where(is_after, before, NONE)
    outlived = np.full(len(writes.action), NONE)
    # Of several tombstones that a pending commit outlived, the last.
    outlived[pending.commit] = pending.noop
    pieces = Pieces(
        write,
        place,
        end,
        cause,
        previous,
        outlived[write],
        np.ones(len(write), bool),
        np.full(len(write), PLAIN),
    )
    return pieces.taken(~is_removal)


def _pending(writes: Writes, ends: PendingEnds, effects: Effects) -> Pieces:
    """Return the rows of pending commits: each to its end, cut where the classic coordinator passes over a tombstone."""
    span, subject = len(writes.action) + 1, writes.subject[ends.commit]
    removals = writes.of(OffsetAction.TOMBSTONE)
    tombstones = np.append(np.sort(writes.subject[removals] * span + removals), NEVER)
    first = np.searchsorted(tombstones, subject * span + ends.commit)
    counts = np.searchsorted(tombstones, subject * span + np.minimum(ends.end, span - 1)) - first + 1
    index = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    which = np.repeat(np.arange(len(counts)), counts)
    is_last = index == counts[which] - 1
    cut = tombstones[first[which] + index] % span
    begin = np.where(index == 0, ends.commit[which], tombstones[first[which] + index - 1] % span)
    return Pieces(
        ends.commit[which],
        begin,
        np.where(is_last, ends.end[which], cut),
        np.where(is_last, ends.cause[which], CAUSE[OffsetEndCause.NOOP_TOMBSTONE]),
        _effective_at(writes, effects, ends.commit)[which],
        np.where(index == 0, NONE, begin),
        np.zeros(len(which), bool),
        np.full(len(which), PLAIN),
    )


def _effective_at(writes: Writes, effects: Effects, places: Array) -> Array:
    """Return the commit that was effective when something was written about its offset; -1 without one, or if it was not read."""
    span = len(writes.action) + 1
    index = (
        np.searchsorted(effects.subject * span + effects.place, writes.subject[places] * span + places) - 1
    )
    at = np.maximum(index, 0)
    if not len(effects.write):
        return np.full(len(places), NONE)
    is_there = (index >= 0) & (effects.subject[at] == writes.subject[places]) & ~effects.is_removal[at]
    return np.where(is_there & writes.is_read[effects.write[at]], effects.write[at], NONE)


def begun(table: pa.Table, writes: Writes, pieces: Pieces) -> pa.Table:
    """Return the commits (WRITES) of rows of history, with where and when each row begins."""
    rows = table.take(pa.array(pieces.commit))
    columns = {name: rows[name] for name in WRITES.names}
    for name in ("from_log_offset", "from_timestamp"):
        columns[name] = table[name].take(pa.array(pieces.begin))
    noop = table["commit_log_offset"].take(pa.array(pieces.noop, mask=pieces.noop == NONE))
    columns["noop_tombstone_log_offset"] = pc.coalesce(noop, rows["noop_tombstone_log_offset"])
    is_carried = (pieces.commit < writes.carried) & (~pieces.is_effective | (pieces.begin == pieces.commit))
    columns["delta"] = pc.if_else(pa.array(is_carried), rows["delta"], _deltas(writes, pieces))
    columns["visibility"] = pa.array(pieces.visibility.astype(np.int8))
    actions = np.where(pieces.is_effective, int(OffsetAction.COMMIT), int(OffsetAction.PENDING))
    columns["action"] = pa.array(actions.astype(np.int8))
    return pa.table(columns).cast(WRITES)


def _deltas(writes: Writes, pieces: Pieces) -> pa.Array:
    """Return how far each commit moved its offset; null where one of the two is below zero, which is no offset."""
    committed, before = writes.committed_offset[pieces.commit], writes.committed_offset[pieces.previous]
    has_delta = (pieces.previous != NONE) & (pieces.visibility == PLAIN) & (committed >= 0) & (before >= 0)
    return pa.array(differences(committed, before), mask=~has_delta)


def ended(table: pa.Table, pieces: Pieces) -> dict[str, pa.Array]:
    """Return the columns that tell how rows of history ended."""
    places = pa.array(pieces.end)
    causes = pa.array([cause.value for cause in CAUSES]).take(pa.array(pieces.cause))
    stood = (table[name].take(places) for name in ("from_log_offset", "from_timestamp"))
    return dict(zip(ENDS, (*stood, causes), strict=True))
