"""What becomes of committed offsets, as a set: writes of one log partition in, rows of offset_history out.

A commit takes effect at its own place or, pending, at the next marker of its producer, unless a newer commit of its offset is
effective by then; it holds until the next commit or tombstone of its offset. Each of that is a search among sorted places or a
running maximum, so that no record waits for the one before it. Open rows are carried from chunk to chunk: they stand before the
chunk's own writes as if they were written there. Who owned a partition, and whether its group answers, is joined elsewhere.
The rules are those of replay.offsets, one record at a time, which tests hold this against.
"""

from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array, repeated, taken
from offsets_tool.history.rows import OffsetEndCause
from offsets_tool.relations.writes import (
    COMMIT,
    IN_TRANSACTION,
    NONE,
    SAID,
    Metadata,
    OffsetAction,
    WriteReader,
    Writes,
)
from offsets_tool.rows import NO_PRODUCER_ID

NEVER: Final = np.iinfo(np.int64).max
"""The place of what does not come, behind all others."""
PLAIN, HIDDEN, REVEALED = range(3)
CAUSES: Final = tuple(OffsetEndCause)
CAUSE: Final = {cause: number for number, cause in enumerate(CAUSES)}


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

    def taken(self, rows: Array) -> "Pieces":
        """Return the rows with these numbers, or that a mask has."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        # Some columns are the same one: plain commits begin where they stand.
        columns = {id(column): taken(column, rows) for column in self}
        return Pieces(*(columns[id(column)] for column in self))

    def by_commit(self, mask: Array) -> "Pieces":
        """Return the rows that a mask has, in the order of their commits: what is asked of these then lies side by side."""
        rows = np.flatnonzero(mask)
        return self.taken(rows[order_of(self.commit[rows])])


class Effects(NamedTuple):
    """Writes that took effect, sorted by offset and then in their order: what was written, and the place where it took effect."""

    write: Array
    place: Array
    subject: Array
    is_removal: Array


def pieces_of(writes: Writes) -> Pieces:
    """Return the rows of offset_history that writes make: first those of pending commits, then others by offset and place."""
    ends = _ends_of_pending(writes)
    effects = _effects(writes, ends)
    effective = _effective(writes, effects)
    if not len(ends.commit):
        return effective
    pending = _pending(writes, ends, effects)
    # Of several tombstones that a pending commit outlived, the last.
    outlived = np.full(len(writes.action), NONE)
    outlived[pending.commit] = pending.noop
    effective = effective._replace(noop=outlived[effective.commit])
    return Pieces(*map(np.concatenate, zip(pending, effective, strict=True)))


def order_of(numbers: Array) -> Array:
    """Return the stable order of numbers that are not negative: digit by digit, which takes NumPy a fifth of the time of a sort."""
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    for shift in range(16, int(numbers.max(initial=0)).bit_length(), 16):
        order = order[np.argsort((numbers[order] >> shift).astype(np.uint16), kind="stable")]
    return order


def distinct(values: Array) -> tuple[Array, Array]:
    """Return the distinct ones of numbers that are not negative, in their order, and which of them each number is."""
    order = order_of(values)
    in_order = values[order]
    is_new = np.append(True, in_order[1:] != in_order[:-1])[: len(values)]
    which = np.empty(len(values), np.int64)
    which[order] = np.cumsum(is_new) - 1
    return in_order[is_new], which


class Holdings:
    """How many committed offsets each group of a chunk holds, effective or pending, behind each of its writes."""

    def __init__(self, groups: Array, begins: Array, ends: Array, span: int) -> None:
        """Count what is held of a group from one write to another; `ends` are `span` or more where it still is."""
        self._groups, self._begins, self._ends, self._span = groups, begins, ends, span

    @cached_property
    def of_groups(self) -> Array:
        """By group, up to the last of them, whether it ever holds anything."""
        return np.bincount(self._groups) > 0

    @cached_property
    def _counted(self) -> tuple[Array, Array]:
        """Where something begins or ends to be held, as numbers of a group and a place, and the sums before each."""
        over = np.flatnonzero(self._ends < self._span)
        places = np.concatenate((self._begins, self._ends[over]))
        keys = np.concatenate((self._groups, self._groups[over])) * self._span + places
        order = order_of(keys)
        changes = np.where(order < len(self._begins), 1, -1)
        return keys[order], np.append(0, np.cumsum(changes))

    def counts(self, groups: Array, places: Array) -> Array:
        """Return how many offsets each group holds behind the write at each place; before the first one at -1."""
        if not len(groups):
            return groups
        keys, sums = self._counted
        last = np.searchsorted(keys, groups * self._span + places, "right")
        first = np.searchsorted(keys, groups * self._span)
        counts: Array = sums[np.maximum(last, first)] - sums[first]
        return counts


def _next(groups: Array, events: Array, places: Array) -> Array:
    """Return the place of the first event of the same group behind each place; NEVER where none comes."""
    following = np.full(len(places), NEVER)
    if not len(events):
        return following
    span = len(groups)
    keys, wanted = groups[events] * span + events, groups[places]
    keys = keys[order_of(keys)]
    index = np.searchsorted(keys, wanted * span + places, "right")
    candidate = keys[np.minimum(index, len(keys) - 1)]
    is_same = (index < len(keys)) & (candidate // span == wanted)
    following[is_same] = candidate[is_same] % span
    return following


def _ends_of_pending(writes: Writes) -> PendingEnds:
    """Return what ends each pending commit first: its marker, the next one of its transaction, or a tombstone."""
    commit = writes.of(OffsetAction.PENDING)
    if not len(commit):
        return PendingEnds(commit, commit, commit)
    in_transactions, producer, pair = writes.of(*IN_TRANSACTION), *np.zeros((2, len(writes.action)), np.int64)
    producer[in_transactions] = np.unique(writes.producer[in_transactions], return_inverse=True)[1]
    pairs = producer[in_transactions] * (writes.subject.max() + 2) + writes.subject[in_transactions] + 1
    pair[in_transactions] = np.unique(pairs, return_inverse=True)[1]
    marker = _next(producer, writes.of(OffsetAction.COMMIT_MARKER, OffsetAction.ABORT_MARKER), commit)
    again = _next(pair, commit, commit)
    removed = np.minimum(
        _next(writes.subject, writes.of(OffsetAction.REMOVAL), commit),
        _next(pair, writes.of(OffsetAction.PENDING_TOMBSTONE, OffsetAction.PENDING_ABSENCE), commit),
    )
    end = np.minimum(np.minimum(marker, again), removed)
    at = np.minimum(end, len(writes.action) - 1)
    cause = np.where(writes.is_read[at], CAUSE[OffsetEndCause.SUPERSEDED], CAUSE[OffsetEndCause.UNREAD])
    cause[end == removed] = _removed_by(writes, at[end == removed])
    is_commit = writes.action[at] == OffsetAction.COMMIT_MARKER
    cause[end == marker] = np.where(
        is_commit, CAUSE[OffsetEndCause.COMMITTED], CAUSE[OffsetEndCause.ABORTED]
    )[end == marker]
    cause[end == NEVER] = NONE
    return PendingEnds(commit, end, cause)


def _effects(writes: Writes, ends: PendingEnds) -> Effects:
    """Return the writes that take effect; pending commits that newer ones forestall become superseded in `ends`."""
    committed = np.flatnonzero(ends.cause == CAUSE[OffsetEndCause.COMMITTED])
    plain = writes.of(OffsetAction.COMMIT, OffsetAction.REMOVAL, OffsetAction.TOMBSTONE, OffsetAction.ABSENCE)
    if not len(committed):
        write = plain[order_of(writes.subject[plain])]
        return Effects(write, write, writes.subject[write], writes.action[write] > OffsetAction.PENDING)
    write = np.concatenate((plain, ends.commit[committed]))
    place = np.concatenate((plain, ends.end[committed]))
    by_place = np.argsort(place, kind="stable")
    order = by_place[order_of(writes.subject[write[by_place]])]
    write, place = write[order], place[order]
    subject, is_removal = writes.subject[write], writes.action[write] > OffsetAction.PENDING
    # What a tombstone leaves behind it is no older than anything.
    era = np.cumsum(is_removal | _is_first(subject))
    age = era * (len(writes.action) + 1) + np.where(is_removal, 0, write + 1)
    wins = is_removal | (age == np.maximum.accumulate(age))
    ends.cause[committed[order[~wins] - len(plain)]] = CAUSE[OffsetEndCause.SUPERSEDED]
    return Effects(write[wins], place[wins], subject[wins], is_removal[wins])


def _removed_by(writes: Writes, places: Array) -> Array:
    """Return how rows ended that writes at these places removed: by a tombstone, or by one that only an absence shows."""
    is_absence = writes.action[places] >= OffsetAction.ABSENCE
    return np.where(is_absence, CAUSE[OffsetEndCause.ABSENT], CAUSE[OffsetEndCause.DELETED])


def _is_first(subject: Array) -> Array:
    """Return which of sorted subjects begin a run."""
    return np.append(True, subject[1:] != subject[:-1])[: len(subject)]


def _effective(writes: Writes, effects: Effects) -> Pieces:
    """Return the rows of commits that were effective: each to the next effect on its offset; not which tombstones it outlived."""
    write, place, subject, is_removal = effects
    begins = _is_first(subject)
    is_last = np.append(begins[1:], True)[: len(subject)]
    end = np.where(is_last, NEVER, np.append(place[1:], 0)[: len(place)])
    following = np.append(write[1:], 0)[: len(write)]
    removed = np.append(is_removal[1:], False)[: len(write)]
    cause = np.where(
        writes.is_read[following], CAUSE[OffsetEndCause.SUPERSEDED], CAUSE[OffsetEndCause.UNREAD]
    )
    cause[removed] = _removed_by(writes, following[removed])
    cause[is_last] = NONE
    before = np.append(0, write[:-1])[: len(write)]
    is_after = ~begins & ~np.append(True, is_removal[:-1])[: len(write)] & writes.is_read[before]
    previous = np.where(is_after, before, NONE)
    none, is_effective, plain = (repeated(value, len(write)) for value in (NONE, True, PLAIN))
    pieces = Pieces(write, place, end, cause, previous, none, is_effective, plain)
    return pieces.taken(~is_removal) if is_removal.any() else pieces


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


class Past(NamedTuple):
    """What is known of commits from where their rows began, as numbers."""

    before: Array
    """The committed offset that was effective before; NONE without one."""
    noop: Array
    """The log offset of the last tombstone that it outlived while it was pending; NONE without one."""
    visibility: Array
    owner: Array
    """The number of the owner."""
    began_at: Array
    committed_at: Array
    lifetime_topic_id: Array
    is_doubtful: Array


_METADATA_KEPT: Final = 1 << 16
_TOLD: Final = [
    name for name in (*SAID, *Past._fields) if name not in ("subject", "group", "topic_id", "text")
]
OPEN: Final = pa.schema([*COMMIT, *((name, pa.int64()) for name in _TOLD if name not in COMMIT.names)])
"""Rows of history that hold, as a table: what the commit says, and the other fields of Writes and Past."""


class Begun(NamedTuple):
    """Rows of history as they begin: their commits, which stand where the rows begin, and what is known of these."""

    rows: Writes
    past: Past

    def taken(self, places: Array) -> "Begun":
        """Return the rows at these places."""
        return Begun(self.rows.taken(places), Past(*(field[places] for field in self.past)))


def begun(writes: Writes, past: Past, pieces: Pieces, owners: Array) -> Begun:
    """Return rows of history as they begin; their lifetimes are not told.

    `past` is that of the commits that were open before, and `owners` are the commits' owners by place.
    """
    commits, count = pieces.commit, len(pieces.commit)
    has_before = (pieces.previous != NONE) & (pieces.visibility == PLAIN)
    before = np.where(has_before, writes.committed_offset[pieces.previous], NONE)
    noop, outlived = np.full(count, NONE), np.flatnonzero(pieces.noop != NONE)
    noop[outlived] = writes.commit_log_offset[pieces.noop[outlived]]
    carried = np.flatnonzero(commits < writes.carried)
    unpassed = carried[pieces.noop[carried] == NONE]
    noop[unpassed] = past.noop[commits[unpassed]]
    goes_on = carried[~pieces.is_effective[carried] | (pieces.begin[carried] == commits[carried])]
    before[goes_on] = past.before[commits[goes_on]]
    rows = writes.taken(commits)._replace(
        action=np.where(pieces.is_effective, OffsetAction.COMMIT, OffsetAction.PENDING),
        log_offset=writes.log_offset[pieces.begin],
        timestamp=writes.timestamp[pieces.begin],
    )
    untold = repeated(0, count)
    return Begun(rows, Past(before, noop, pieces.visibility, owners[commits], untold, untold, untold, untold))


class OpenCommits:
    """The rows of history that hold, a line each; those that a chunk does not touch stay where they are."""

    def __init__(self) -> None:
        """Start without rows."""
        self._lines: Array = np.zeros((0, len(SAID) + len(Past._fields)), np.int64)
        self._subjects: Array = np.zeros(0, np.int64)
        """By line; NONE where it is free."""
        self._pending_of: Array = np.zeros(0, np.int64)
        """By line the producer whose transaction is open; NO_PRODUCER_ID for none."""
        self._free: Array = np.zeros(0, np.int64)

    def taken(self, is_touched: Array, producers: Array) -> Begun:
        """Take out the rows of some committed offsets, and of those that transactions of these producers are about.

        `is_touched` says it of each offset, and last of none. They are returned in the log's order.
        """
        if len(producers):
            is_touched[self._subjects[np.isin(self._pending_of, producers)]] = True
        places = np.flatnonzero(is_touched[self._subjects])
        rows = self._begun(places)
        self._subjects[places] = self._pending_of[places] = NONE
        self._free = np.append(self._free, places)
        return rows

    def put(self, begun: Begun) -> None:
        """Add rows."""
        rows, past = begun
        lack = len(rows.action) - len(self._free)
        if lack > 0:
            self._grow(max(lack, len(self._lines)))
        places, self._free = np.split(self._free, [len(rows.action)])
        self._lines[places] = np.stack((*rows[:-1], *past), axis=1)
        self._subjects[places] = rows.subject
        is_pending = rows.action == OffsetAction.PENDING
        self._pending_of[places] = np.where(is_pending, rows.producer, NO_PRODUCER_ID)

    def _grow(self, count: int) -> None:
        self._free = np.append(self._free, np.arange(len(self._lines), len(self._lines) + count))
        self._lines = np.concatenate((self._lines, np.zeros((count, self._lines.shape[1]), np.int64)))
        none = np.full(count, NONE)
        self._subjects = np.append(self._subjects, none)
        self._pending_of = np.append(self._pending_of, none)

    def forget_metadata(self, metadata: Metadata) -> None:
        """Let metadata that no row has be forgotten, if there is much of it."""
        if len(metadata) > _METADATA_KEPT + 2 * len(self._lines):
            places, text = np.flatnonzero(self._subjects != NONE), SAID.index("text")
            self._lines[places, text] = metadata.keep(self._lines[places, text])

    def all(self) -> Begun:
        """Return all rows, in the log's order."""
        return self._begun(np.flatnonzero(self._subjects != NONE))

    def table(self, reader: WriteReader) -> pa.Table:
        """Return all rows as OPEN; `reader` knows what their numbers mean."""
        rows, past = self.all()
        numbers = rows._asdict() | past._asdict()
        topics, partitions = reader.subjects.names_of(rows.subject)
        columns = {name: pa.array(numbers[name]) for name in OPEN.names if name in numbers} | {
            "group": reader.subjects.groups.column(rows.group),
            "topic": topics,
            "partition": partitions,
            "metadata": reader.metadata.column(rows.text),
            "topic_id": reader.topic_ids.column(rows.topic_id),
        }
        return pa.table([columns[name] for name in OPEN.names], OPEN.names).cast(OPEN)

    def put_table(self, table: pa.Table, reader: WriteReader) -> None:
        """Add rows (OPEN), whose names `reader` learns."""
        batch = pa.concat_batches(table.to_batches()) if len(table) else pa.RecordBatch.from_pylist([], OPEN)
        told = {name: batch.column(name).to_numpy() for name in _TOLD}
        rows = reader.said(batch, np.ones(len(table), bool))
        rows = rows._replace(**{name: told[name] for name in SAID if name in told})
        self.put(Begun(rows, Past(*(told[name] for name in Past._fields))))

    def _begun(self, places: Array) -> Begun:
        order = np.argsort(self._lines[places, SAID.index("commit_log_offset")], kind="stable")
        fields = np.ascontiguousarray(self._lines[places[order]].T)
        rows = Writes(*fields[: len(SAID)])
        return Begun(rows._replace(is_read=rows.is_read != 0), Past(*fields[len(SAID) :]))
