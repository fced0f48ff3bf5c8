"""A chunk of a log: its rows and writes, the rows of history that come of them, and what of that is odd.

Odd is what the two coordinators take for something else, what Kafka's code rules out, and what only a coordinator has that loaded
the log. By masks, as replay.offsets says it of one record after the other.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from offsets_tool.as_of.transactions import EndedTransaction
from offsets_tool.columns.arrays import Array
from offsets_tool.columns.columns_of_rows import flags
from offsets_tool.relations.groups import GroupChanges, GroupEvent, ValueChange
from offsets_tool.relations.lifetimes import RowLifetimes
from offsets_tool.relations.offsets import Holdings, Past, Pieces
from offsets_tool.relations.subjects import Subjects
from offsets_tool.relations.transactions import Markers, Transactions
from offsets_tool.relations.visibility import late
from offsets_tool.relations.writes import NONE, TOMBSTONES, OffsetAction, Writes, have_producers
from offsets_tool.replay.changes import UNREAD, Change, ChangeKind, TransactionOf
from offsets_tool.replay.offsets import RETURNED, UNSURE
from offsets_tool.replay.state import State


class HistoryChunk(NamedTuple):
    """Rows of a log, what they do behind the commits that are open before them, and the rows of history that come of it.

    `past` is what is known of those commits. `problems` has what is wrong with commits that do not read, by row.
    """

    rows: pa.RecordBatch
    writes: Writes
    past: Past
    pieces: Pieces
    is_unsure: Array
    """By place, whether it is a commit that the two coordinators take for one in a transaction or not."""
    problems: Mapping[int, str]


class ReplayedChunk(NamedTuple):
    """A chunk and what its records came to, of which no rows are made yet.

    `pieces` are rows of offset_history as they were to be seen, where those of the chunk know nothing of groups; `owners` and
    `of_writes` are the numbers of owners and of Kafka's writes by place. `groups_before` has groups that tombstones are about.
    """

    chunk: HistoryChunk
    pieces: Pieces
    owners: Array
    of_groups: GroupChanges
    of_writes: Array
    lifetimes: RowLifetimes
    groups_before: State
    over: Transactions
    """The transactions that ended."""
    markers: Markers


class StateChanges(NamedTuple):
    """What rows did besides to committed offsets: anomalies, what became of groups, and the transactions that ended."""

    anomalies: list[Change]
    groups: Sequence[GroupEvent | ValueChange]
    ended: Iterator[EndedTransaction]
    """In the order of their markers; made when it is asked for."""

    def and_then(self, later: "StateChanges") -> "StateChanges":
        """Return what these rows did, and later ones."""
        return StateChanges(
            [*self.anomalies, *later.anomalies],
            [*self.groups, *later.groups],
            chain(self.ended, later.ended),
        )


def in_transactions(chunk: HistoryChunk, events: Sequence[GroupEvent]) -> Array:
    """Return the places of the records that are in transactions: of committed offsets, and of groups."""
    writes = chunk.writes
    is_in = writes.subject != NONE
    is_in[: writes.carried] = False
    is_in[writes.carried :] &= flags(chunk.rows.column("is_transactional")) & have_producers(chunk.rows)
    subjects = ((place, change.subject) for place, _, changes in events for change in changes)
    is_in[[place for place, subject in subjects if isinstance(subject, TransactionOf)]] = True
    return np.flatnonzero(is_in)


def absent_transactions(chunk: HistoryChunk) -> Array:
    """Return the places of absences that show that a transaction had ended: nothing of it is pending behind them."""
    writes, pieces = chunk.writes, chunk.pieces
    places = writes.of(OffsetAction.PENDING_ABSENCE)
    if not len(places):
        return places
    producers = np.unique(writes.producer, return_inverse=True)[1]
    pending = pieces.taken(~pieces.is_effective & writes.is_read[pieces.commit])
    held = Holdings(producers[pending.commit], pending.begin, pending.end, len(writes.action) + 1)
    ended: Array = places[held.counts(producers[places], places) == 0]
    return ended


def are_unsure(rows: pa.RecordBatch, writes: Writes) -> Array:
    """Return which writes are commits that the two coordinators take for one in a transaction or not."""
    is_unsure = writes.action <= OffsetAction.PENDING
    is_unsure[: writes.carried] = False
    is_unsure[writes.carried :] &= have_producers(rows) != flags(rows.column("is_transactional"))
    return is_unsure


def depend_on_rules(chunk: HistoryChunk) -> Array:
    """Return which writes the two coordinators take for something else, as Step.differs says it of offsets."""
    rows, writes, pieces = chunk.rows, chunk.writes, chunk.pieces
    differs = chunk.is_unsure.copy()
    tombstones = writes.of(*TOMBSTONES)
    if not len(tombstones):
        return differs
    waiting = pieces.taken(~pieces.is_effective & writes.is_read[pieces.commit])
    subjects = writes.subject[waiting.commit]
    counts = Holdings(subjects, waiting.begin, waiting.end, len(writes.action) + 1).counts
    has_waiting = counts(writes.subject[tombstones], tombstones - 1) > 0
    differs[tombstones] = has_waiting | have_producers(rows)[tombstones - writes.carried]
    return differs


def are_back(chunk: HistoryChunk) -> Array:
    """Return which rows begin with a marker though a tombstone had come that only a running classic coordinator acts on."""
    writes, pieces = chunk.writes, chunk.pieces
    is_back = late(writes, pieces)
    if not is_back.any():
        return is_back
    is_back &= writes.is_read[pieces.commit]
    noop = np.append(chunk.past.noop, NONE)[np.minimum(pieces.commit[is_back], writes.carried)]
    is_back[is_back] = (noop != NONE) | (pieces.noop[is_back] != NONE)
    return is_back


def are_doubtful(chunk: HistoryChunk) -> Array:
    """Return which rows are of commits that only a coordinator has that loaded this log, and not the one that wrote it."""
    pieces, is_doubtful = chunk.pieces, are_back(chunk)
    if chunk.is_unsure.any():
        is_plain = pieces.is_effective & (pieces.begin == pieces.commit)
        is_doubtful |= is_plain & chunk.is_unsure[pieces.commit]
    return is_doubtful


def anomalies(
    chunk: HistoryChunk, subjects: Subjects, log_partition: int | None
) -> Iterator[tuple[int, Change]]:
    """Yield what Kafka's code rules out of commits, each with its place.

    They are of no transaction for sure, not understood, or back though they were deleted.
    """
    writes = chunk.writes
    notes = [(place, place, UNSURE) for place in np.flatnonzero(chunk.is_unsure).tolist()]
    for row, problem in chunk.problems.items():
        notes.append((row + writes.carried, row + writes.carried, f"{UNREAD}{problem}"))
    back = chunk.pieces.taken(are_back(chunk))
    notes += [(*places, RETURNED) for places in zip(back.commit.tolist(), back.begin.tolist(), strict=True)]
    for commit, place, note in notes:
        log_offset, timestamp = int(writes.log_offset[place]), int(writes.timestamp[place])
        where = log_partition, log_offset, timestamp, log_offset
        subject = subjects.offsets[int(writes.subject[commit])]
        yield place, Change(*where, ChangeKind.ANOMALY, subject, None, None, note)
