"""What a run of rows did to committed offsets, as lines of the tables that compiled code has written: commits, and ends by markers.

Knows how the tables hang together, not what is said of them.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.compiled.cells import ABORTED, COMMITTED, SUPERSEDED
from offsets_tool.columns.replay.compiled.growing_tables import Tables
from offsets_tool.columns.replay.compiled.tables import (
    NONE,
    EndedCell,
    FactCell,
    Kind,
    OffsetCell,
    RowCell,
    SlotCell,
    StoredIn,
)

_FROM: Final = int(FactCell.FROM_LOG_OFFSET)
_FACTS: Final = len(FactCell)


class CommitsOfRun(NamedTuple):
    """What happened to committed offsets, in the order of the log: their numbers, where and when, and the rows before and after."""

    subjects: Array
    log_offsets: Array
    timestamps: Array
    rows: Array
    """Lines that begin with FactCell: of the row that began, or of the one that a marker ended without another."""
    has_after: Array
    """Whether a row began."""
    before: Array
    """Lines that begin with FactCell; of those without, any."""
    has_before: Array

    def at(self, which: Sequence[int] | Array) -> "CommitsOfRun":
        """Return some of what happened, by its numbers."""
        return CommitsOfRun(*(column[which] for column in self))


class TouchedOffsets(NamedTuple):
    """Committed offsets to which something happened, and its record, in the log's order."""

    subjects: Array
    log_offsets: Array
    timestamps: Array
    ended: Array
    """Lines of what markers ended, or -1."""

    def at(self, which: Array) -> "TouchedOffsets":
        """Return some of them, by their numbers or truth values."""
        return TouchedOffsets(*(column[which] for column in self))


def together(some: Sequence[CommitsOfRun]) -> CommitsOfRun:
    """Return what happened in several runs, one behind the other."""
    return CommitsOfRun(*(np.concatenate(columns) for columns in zip(*some, strict=True)))


def touched_offsets(table: Array, ended: Array) -> TouchedOffsets:
    """Return the offsets of which a run of rows made commits, pending ones too, and of which its markers ended pending ones.

    `table` has the cells of the rows (RowCell), `ended` the rows of history that ended with them (EndedCell).
    """
    kinds, causes = table[RowCell.KIND], ended[:, EndedCell.END_CAUSE]
    rows = np.flatnonzero((kinds == Kind.COMMIT) | (kinds == Kind.PENDING))
    by_marker = np.flatnonzero((causes == COMMITTED) | (causes == ABORTED))
    both = (
        (table[RowCell.SUBJECT, rows], ended[by_marker, EndedCell.SUBJECT]),
        (table[RowCell.LOG_OFFSET, rows], ended[by_marker, EndedCell.TO_LOG_OFFSET]),
        (table[RowCell.TIMESTAMP, rows], ended[by_marker, EndedCell.TO_TIMESTAMP]),
        (np.full(len(rows), -1), by_marker),
    )
    touched = TouchedOffsets(*map(np.concatenate, both))
    return touched.at(np.argsort(touched.log_offsets, kind="stable")) if len(by_marker) else touched


def commits_of_run(touched: TouchedOffsets, ended: Array, tables: Tables) -> CommitsOfRun:
    """Return what happened to some offsets in the run of rows that was replayed last, with which the rows `ended` ended."""
    subjects, log_offsets, timestamps, of_marker = touched
    has_after = np.ones(len(subjects), bool)
    marked = np.flatnonzero(of_marker >= 0)
    has_after[marked] = ended[of_marker[marked], EndedCell.END_CAUSE] == COMMITTED
    rows = np.empty((len(subjects), _FACTS), np.int64)
    began, gone = np.flatnonzero(has_after), np.flatnonzero(~has_after)
    rows[began] = _rows_begun(subjects[began], log_offsets[began], ended, tables)
    rows[gone] = ended[of_marker[gone], :_FACTS]
    replaced = ended[ended[:, EndedCell.END_CAUSE] == SUPERSEDED]
    found = _find(log_offsets, subjects, replaced, EndedCell.TO_LOG_OFFSET)
    has_before = has_after & (found >= 0)
    before = np.zeros_like(rows)
    before[has_before] = replaced[found[has_before], :_FACTS]
    before[gone] = rows[gone]
    return CommitsOfRun(subjects, log_offsets, timestamps, rows, has_after, before, has_before | ~has_after)


def _rows_begun(subjects: Array, log_offsets: Array, ended: Array, tables: Tables) -> Array:
    """Return the lines of rows that began at these offsets of the log: they hold, have ended by now, or are pending."""
    lines: Array = tables.offsets[subjects, :_FACTS]
    hold = tables.offsets[subjects, OffsetCell.STORED_IN] == StoredIn.HERE
    others = np.flatnonzero(~hold | (lines[:, _FROM] != log_offsets))
    found = _find(log_offsets[others], subjects[others], ended, FactCell.FROM_LOG_OFFSET)
    have_ended = found >= 0
    lines[others[have_ended]] = ended[found[have_ended], :_FACTS]
    waiting = others[~have_ended]
    slots = tables.offsets[subjects[waiting], OffsetCell.PENDING]
    while len(waiting):
        # Several producers may have a commit of one offset pending.
        assert (slots != NONE).all()
        here = tables.slots[slots, _FROM] == log_offsets[waiting]
        lines[waiting[here]] = tables.slots[slots[here], :_FACTS]
        waiting, slots = waiting[~here], tables.slots[slots[~here], SlotCell.NEXT_OF_SUBJECT]
    return lines


def _find(log_offsets: Array, subjects: Array, ended: Array, cell: int) -> Array:
    """Return the place of the line of `ended` that has each offset of the log, in `cell`, and its subject; -1 if none has."""
    if not len(ended) or not len(subjects):
        return np.full(len(subjects), -1)
    distinct, codes = np.unique(ended[:, cell], return_inverse=True)
    # One number of both: offsets of the log may be large.
    many = int(max(ended[:, EndedCell.SUBJECT].max(), subjects.max())) + 1
    keys = codes * many + ended[:, EndedCell.SUBJECT]
    order = np.argsort(keys, kind="stable")
    at = np.minimum(np.searchsorted(distinct, log_offsets), len(distinct) - 1)
    wanted = at * many + subjects
    places = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
    return np.where((distinct[at] == log_offsets) & (keys[places] == wanted), places, -1)
