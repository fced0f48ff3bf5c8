"""What a replay by column holds: tables of int64, a line for each committed offset, group, producer and pending commit.

Compiled code (commit_run.py) reads and writes them by these layouts; store.py gives State what they hold. No rule is here.
"""

from enum import IntEnum
from typing import Final

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import address

NONE: Final = -1


class Kind(IntEnum):
    """What a row is to a replay by column."""

    ALONE = 0
    """Replayed one at a time."""
    COMMIT = 1
    """A commit that is effective at once."""
    PENDING = 2
    """A commit in a transaction."""
    COMMIT_MARKER = 3
    ABORT_MARKER = 4
    TOMBSTONE = 5
    """An offset's tombstone, of no producer and in no transaction."""
    PASSED = 6
    """A record that makes no difference to whoever asks."""


MARKERS: Final = (Kind.COMMIT_MARKER, Kind.ABORT_MARKER)


class RowCell(IntEnum):
    """What compiled code reads of a row; the last five are what a commit says, as the first five of Fact."""

    KIND = 0
    SUBJECT = 1
    PRODUCER = 2
    PRODUCER_EPOCH = 3
    LOG_OFFSET = 4
    TIMESTAMP = 5
    COMMITTED_OFFSET = 6
    LEADER_EPOCH = 7
    COMMIT_TIMESTAMP = 8
    EXPIRE_TIMESTAMP = 9
    TOPIC_ID = 10


class FactCell(IntEnum):
    """A commit that holds, effective or pending: what it says, since when it holds, and how that began."""

    COMMITTED_OFFSET = 0
    LEADER_EPOCH = 1
    COMMIT_TIMESTAMP = 2
    EXPIRE_TIMESTAMP = 3
    TOPIC_ID = 4
    COMMIT_LOG_OFFSET = 5
    TEXT = 6
    """The number of the row that has its metadata, counted from the replay's first."""
    FROM_LOG_OFFSET = 7
    FROM_TIMESTAMP = 8
    BEGIN_CAUSE = 9
    IS_EFFECTIVE = 10
    BEFORE = 11
    """What was committed before it, if HAS_BEFORE."""
    HAS_BEFORE = 12
    OWNER = 13
    PRODUCER = 14
    NOOP_TOMBSTONE = 15


class OffsetCell(IntEnum):
    """A committed offset: after the facts of the commit that is effective, where HELD says that one is."""

    HELD = 16
    GROUP = 17
    PENDING = 18
    """The first of its pending commits: the number of a slot, or NONE."""
    OWNER_STAMP = 19
    """The group's STAMP when its owner was asked for, the topic id for which, and the owner's number."""
    OWNER_TOPIC_ID = 20
    OWNER = 21
    LIFE = 22
    """Whether the group has had an offset here without a break since BEGAN (NONE if unknown), of the topic LIFE_TOPIC_ID."""
    BEGAN = 23
    COMMITTED_AT = 24
    LIFE_TOPIC_ID = 25


class HeldBy(IntEnum):
    """Who knows a committed offset: nobody, as there is none; these tables; or State, until it is loaded."""

    NOWHERE = 0
    HERE = 1
    OUTSIDE = 2


class SlotCell(IntEnum):
    """A pending commit: after its facts, where it belongs. Free slots are chained by NEXT."""

    SUBJECT = 16
    NEXT = 17
    """The next of its producer, in the order in which they were first pending."""
    NEXT_OF_SUBJECT = 18


class GroupCell(IntEnum):
    """A group, as far as commits need it."""

    PRESENT = 0
    FIRST = 1
    """Log offset of the commit that made it, if IS_NEW."""
    IS_NEW = 2
    """Whether a simple group was made here of which State does not know."""
    HELD = 3
    """How many of its offsets are held here, pending ones too."""
    PENDING = 7
    """How many of those are pending."""
    IS_OUTSIDE = 4
    """Whether State knows some of its offsets, so that they must be loaded first."""
    STAMP = 5
    """Raised whenever owners in the group may be others."""
    CHANGED = 6
    """When a marker last made its commits effective; NONE if that is known elsewhere."""


class Present(IntEnum):
    """Whether a group is there, and as what."""

    NO = 0
    SIMPLE = 1
    OTHER = 2


class ProducerCell(IntEnum):
    """A producer's open transaction."""

    OPEN = 0
    """Held, as of a committed offset."""
    EPOCH = 1
    FIRST = 2
    FIRST_TIMESTAMP = 3
    LAST = 4
    LAST_TIMESTAMP = 5
    COMMITS = 6
    HEAD = 7
    """Its first and its last pending commit, and how many there are."""
    TAIL = 8
    COUNT = 9


class EndedCell(IntEnum):
    """A row of offset_history that ended: after the facts of its commit, whose it was, and how and when it ended."""

    SUBJECT = 16
    TO_LOG_OFFSET = 17
    TO_TIMESTAMP = 18
    END_CAUSE = 19


class AskCell(IntEnum):
    """An owner that is to be found: of which offset, for commits with which topic id, and by what number it is called."""

    SUBJECT = 0
    TOPIC_ID = 1
    OWNER = 2


class RunCell(IntEnum):
    """What compiled code is given: addresses, counts, and which rules hold."""

    ROWS = 0
    COUNT = 1
    BASE = 2
    """The number of the first row, counted from the replay's first."""
    OFFSETS = 3
    GROUPS = 4
    PRODUCERS = 5
    SLOTS = 6
    FREE_SLOT = 7
    ENDED = 8
    ENDED_MOST = 9
    ENDED_COUNT = 10
    ASKS = 11
    ASK_COUNT = 12
    NEXT_OWNER = 13
    IS_NEW = 14
    """Whether the new coordinator's rules hold."""
    HAS_HISTORY = 15
    OUTSIDE = 16
    """How many producers State knows."""
    END = 17
    """The row before which a run ends."""


class Stop(IntEnum):
    """Why compiled code stopped before a row."""

    END = 0
    ALONE = 1
    """The row is replayed one at a time."""
    LOAD = 2
    """Offsets of its group must be loaded first."""
    FULL = 3
    """There is no room for the rows that it ends."""


WIDTHS: Final = {
    OffsetCell: max(OffsetCell) + 1,
    SlotCell: max(SlotCell) + 1,
    GroupCell: max(GroupCell) + 1,
    ProducerCell: max(ProducerCell) + 1,
    EndedCell: max(EndedCell) + 1,
    AskCell: max(AskCell) + 1,
}
_FIRST: Final = 1 << 10


class Tables:
    """The tables, which grow; a new line is empty."""

    def __init__(self, *, has_history: bool) -> None:
        """Start empty; `has_history` says whether rows that end are kept."""
        self.run: Array = np.zeros(len(RunCell), np.int64)
        self.offsets = _filled(_EMPTY_OFFSET, _FIRST)
        self.groups = _filled(_EMPTY_GROUP, _FIRST)
        self.producers = _filled(_EMPTY_PRODUCER, _FIRST)
        self.slots: Array = np.zeros((0, WIDTHS[SlotCell]), np.int64)
        self.ended = _filled(_empty(EndedCell), _FIRST)
        self.asks = _filled(_EMPTY_ASK, _FIRST)
        self.run[RunCell.FREE_SLOT] = NONE
        self.run[RunCell.HAS_HISTORY] = has_history
        self._free = 0
        self.make_room(0, 0, 0, 0)

    def make_room(self, offsets: int, groups: int, producers: int, rows: int) -> None:
        """Make room for so many lines, and for what so many rows may add."""
        self.offsets = _grown(self.offsets, offsets, _EMPTY_OFFSET)
        self.groups = _grown(self.groups, groups, _EMPTY_GROUP)
        self.producers = _grown(self.producers, producers, _EMPTY_PRODUCER)
        self.asks = _grown(self.asks, rows, _EMPTY_ASK)
        self._add_slots(rows)
        self._point()

    def make_room_for_ended(self, more: int) -> None:
        """Make room for so many rows that end in one step, and for as many again."""
        self.ended = np.empty((2 * more + 2 * len(self.ended), WIDTHS[EndedCell]), np.int64)
        self._point()

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
        ):
            self.run[field] = address(table)
        self.run[RunCell.ENDED_MOST] = len(self.ended)


def _empty(kind: type[IntEnum], **cells: int) -> Array:
    known: dict[int, int] = {kind[name]: value for name, value in cells.items()}
    return np.array([known.get(cell, 0) for cell in range(WIDTHS[kind])], np.int64)


_EMPTY_OFFSET: Final = _empty(OffsetCell, PENDING=NONE, OWNER_STAMP=NONE)
_EMPTY_GROUP: Final = _empty(GroupCell, CHANGED=NONE)
_EMPTY_PRODUCER: Final = _empty(ProducerCell, HEAD=NONE, TAIL=NONE)
_EMPTY_ASK: Final = _empty(AskCell)


def _filled(line: Array, lines: int) -> Array:
    return np.tile(line, (lines, 1))


def _grown(table: Array, lines: int, empty: Array) -> Array:
    if lines <= len(table):
        return table
    return np.concatenate((table, _filled(empty, max(lines, 2 * len(table)) - len(table))))
