"""The tables of a replay by column, which grow as offsets, groups, producers and pending commits come. No rule is here."""

from enum import IntEnum
from typing import Final

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import address
from offsets_tool.columns.replay.compiled.removal_tables import LeftCell, RemovalCell, TombstoneCell
from offsets_tool.columns.replay.compiled.tables import (
    NONE,
    UNCHAINED,
    WIDTHS,
    AskCell,
    ClosedCell,
    EndedCell,
    GroupCell,
    MadeCell,
    OffsetCell,
    ProducerCell,
    RunCell,
    SlotCell,
)

_FIRST: Final = 1 << 10


class Tables:
    """The tables of one replay by column, which grow with the log; a new line is empty."""

    def __init__(self, *, has_history: bool) -> None:
        """Start empty; `has_history` says whether rows that end are kept."""
        self.run: Array = np.zeros(len(RunCell), np.int64)
        self.offsets = _filled(_EMPTY_OFFSET, _FIRST)
        self.groups = _filled(_EMPTY_GROUP, _FIRST)
        self.producers = _filled(_EMPTY_PRODUCER, _FIRST)
        self.slots: Array = np.zeros((0, WIDTHS[SlotCell]), np.int64)
        self.ended = _filled(_empty(EndedCell), _FIRST)
        self.closed = _filled(_empty(ClosedCell), _FIRST)
        self.asks = _filled(_EMPTY_ASK, _FIRST)
        self.made = _filled(_EMPTY_MADE, _FIRST)
        self.removals = _filled(_EMPTY_REMOVAL, _FIRST)
        self.tombstones = _filled(_EMPTY_TOMBSTONE, _FIRST)
        self.left = _filled(_EMPTY_LEFT, _FIRST)
        self._kinds: Array = np.zeros(0, np.int64)
        self.run[RunCell.FREE_SLOT] = NONE
        self.run[RunCell.HAS_HISTORY] = has_history
        self._free = 0
        self.make_room(0, 0, 0, 0)

    def make_room(self, offsets: int, groups: int, producers: int, rows: int) -> None:
        """Grow the tables to hold this many offsets, groups and producers, and what `rows` more rows can add.

        Rows can add pending commits, questions for owners, ended transactions, simple groups and tombstones. Of what a write
        leaves, there is always room for that of one.
        """
        self.offsets = _grown(self.offsets, offsets, _EMPTY_OFFSET)
        self.groups = _grown(self.groups, groups, _EMPTY_GROUP)
        self.producers = _grown(self.producers, producers, _EMPTY_PRODUCER)
        self.asks = _grown(self.asks, rows, _EMPTY_ASK)
        self.closed = _grown(self.closed, rows, _EMPTY_CLOSED)
        self.made = _grown(self.made, rows, _EMPTY_MADE)
        self.removals = _grown(self.removals, rows, _EMPTY_REMOVAL)
        self.tombstones = _grown(self.tombstones, rows, _EMPTY_TOMBSTONE)
        self.left = _grown(self.left, len(self.offsets), _EMPTY_LEFT)
        if len(self._kinds) < 4 * len(self.offsets):
            # The power of two from twice the number of offsets on is less than four times that.
            self._kinds = np.zeros(4 * len(self.offsets), np.int64)
        self._add_slots(rows)
        self._point()

    def begin_offsets(self, offsets: Array, groups: Array, topics: Array) -> None:
        """Write to the lines of new committed offsets their groups and topics."""
        self.offsets[offsets, OffsetCell.GROUP] = groups
        self.offsets[offsets, OffsetCell.TOPIC] = topics

    def chain(self, offsets: Array) -> None:
        """Add committed offsets, which are in the tables by now, to the chains of their groups; they may be in them already."""
        lines, heads = self.offsets, self.groups[:, GroupCell.HEAD]
        added = offsets[lines[offsets, OffsetCell.NEXT_OF_GROUP] == UNCHAINED]
        order = np.argsort(lines[added, OffsetCell.GROUP], kind="stable")
        numbers = added[order]
        groups = lines[numbers, OffsetCell.GROUP]
        is_next = np.append(False, np.diff(groups) == 0)[: len(groups)]
        lines[numbers, OffsetCell.NEXT_OF_GROUP] = np.where(is_next, np.roll(numbers, 1), heads[groups])
        # Of each group, the last stays.
        heads[groups] = numbers

    def has_room_for_ended(self, more: int) -> bool:
        """Return whether at least one row, and twice `more`, can still end."""
        return bool(self.run[RunCell.ENDED_COUNT] + max(1, 2 * more) <= len(self.ended))

    def make_room_for_ended(self, more: int) -> None:
        """Replace the table of ended rows, which was too short and has been read, by an empty one of at least twice the length.

        It has room for at least twice `more`.
        """
        self.ended = np.empty((max(2 * more, 2 * len(self.ended)), WIDTHS[EndedCell]), np.int64)
        self._point()

    def forget_ended(self) -> None:
        """Forget the rows and transactions that ended, which the caller has read."""
        self.run[RunCell.ENDED_COUNT] = self.run[RunCell.CLOSED_COUNT] = 0

    def _add_slots(self, rows: int) -> None:
        """Have a free slot for each row."""
        taken = int(self.producers[:, ProducerCell.COUNT].sum())
        before = len(self.slots)
        more = max(taken + rows - before, 0)
        if not more:
            return
        more += before
        added: Array = np.zeros((more, WIDTHS[SlotCell]), np.int64)
        added[:, SlotCell.NEXT] = np.arange(before + 1, before + more + 1)
        added[-1, SlotCell.NEXT] = self.run[RunCell.FREE_SLOT]
        self.slots = np.concatenate((self.slots, added))
        self.run[RunCell.FREE_SLOT] = before

    def _point(self) -> None:
        for field, table in (
            (RunCell.OFFSETS, self.offsets),
            (RunCell.GROUPS, self.groups),
            (RunCell.PRODUCERS, self.producers),
            (RunCell.SLOTS, self.slots),
            (RunCell.ENDED, self.ended),
            (RunCell.ASKS, self.asks),
            (RunCell.CLOSED, self.closed),
            (RunCell.MADE, self.made),
            (RunCell.REMOVALS, self.removals),
            (RunCell.TOMBSTONES, self.tombstones),
            (RunCell.LEFT, self.left),
            (RunCell.KINDS, self._kinds),
        ):
            self.run[field] = address(table)
        self.run[RunCell.ENDED_MOST] = len(self.ended)
        self.run[RunCell.LEFT_MOST] = len(self.left)


def _empty(kind: type[IntEnum], **cells: int) -> Array:
    known: dict[int, int] = {kind[name]: value for name, value in cells.items()}
    return np.array([known.get(cell, 0) for cell in range(WIDTHS[kind])], np.int64)


_EMPTY_OFFSET: Final = _empty(
    OffsetCell, PENDING=NONE, OWNER_STAMP=NONE, NEXT_OF_GROUP=UNCHAINED, REMOVED_BY=NONE
)
_EMPTY_GROUP: Final = _empty(GroupCell, CHANGED=NONE, HEAD=NONE, LOST=NONE, REMOVAL=NONE)
_EMPTY_PRODUCER: Final = _empty(ProducerCell, HEAD=NONE, TAIL=NONE)
_EMPTY_ASK: Final = _empty(AskCell)
_EMPTY_CLOSED: Final = _empty(ClosedCell)
_EMPTY_MADE: Final = _empty(MadeCell)
_EMPTY_REMOVAL: Final = _empty(RemovalCell)
_EMPTY_TOMBSTONE: Final = _empty(TombstoneCell)
_EMPTY_LEFT: Final = _empty(LeftCell)


def _filled(line: Array, lines: int) -> Array:
    return np.tile(line, (lines, 1))


def _grown(table: Array, lines: int, empty: Array) -> Array:
    if lines <= len(table):
        return table
    return np.concatenate((table, _filled(empty, max(lines, 2 * len(table)) - len(table))))
