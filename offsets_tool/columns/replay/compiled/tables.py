"""The layouts of the tables of a replay by column: a line of int64 for each committed offset, group, producer and pending commit.

Compiled code (run.py) reads and writes by them; store.py gives State what the tables hold. No rule is here.
"""

from enum import IntEnum
from typing import Final

from offsets_tool.columns.replay.compiled.removal_tables import LeftCell, RemovalCell, TombstoneCell

NONE: Final = -1
NO_TOPIC_ID: Final = 0
"""The number of no topic id."""
UNCHAINED: Final = -2
"""Stands for the next one of what is in no chain."""


class Kind(IntEnum):
    """How a replay by column handles a row: the kind of its record, or ALONE."""

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
    """The cells of a row that compiled code reads; the last five are what a commit says, as the first five of FactCell."""

    KIND = 0
    SUBJECT = 1
    PRODUCER = 2
    PRODUCER_EPOCH = 3
    LOG_OFFSET = 4
    TIMESTAMP = 5
    WRITE_END = 6
    """Of a TOMBSTONE, with a history: the row behind the last of its write."""
    COMMITTED_OFFSET = 7
    LEADER_EPOCH = 8
    COMMIT_TIMESTAMP = 9
    EXPIRE_TIMESTAMP = 10
    TOPIC_ID = 11


class FactCell(IntEnum):
    """The cells of a commit that holds, effective or pending: its fields, since when it holds, and its begin cause."""

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
    """A committed offset: after the facts of the commit that is effective, where STORED_IN says that one is."""

    STORED_IN = 16
    GROUP = 17
    PENDING = 18
    """The first of its pending commits: the number of a slot, or NONE."""
    OWNER_STAMP = 19
    """The group's STAMP when its owner was asked for, the topic id for which, and the owner's number."""
    OWNER_TOPIC_ID = 20
    OWNER = 21
    LIFETIME = 22
    """A LifetimeStatus; the group has had an offset here without a break since BEGAN (NONE if unknown).

    It was of the topic LIFETIME_TOPIC_ID.
    """
    BEGAN = 23
    COMMITTED_AT = 24
    LIFETIME_TOPIC_ID = 25
    TOPIC = 26
    NEXT_OF_GROUP = 27
    """Another committed offset in the chain of its group, or NONE; UNCHAINED where it is not in that.

    All that are HERE are in the chain, and others until compiled code comes by.
    """
    REMOVED_BY = 28
    """The number of the first row of the write that last had a tombstone of it, or NONE."""


class StoredIn(IntEnum):
    """Where a committed offset is stored: nowhere, as there is none; in these tables; or in State, until it is loaded."""

    NOWHERE = 0
    HERE = 1
    OUTSIDE = 2


class LifetimeStatus(IntEnum):
    """Whether an offset's lifetime is known."""

    UNKNOWN = 0
    KNOWN = 1
    DOUBTFUL = 2
    """Only a coordinator that loaded the log has the commit."""


class SlotCell(IntEnum):
    """A pending commit: after its facts, where it belongs. Free slots are chained by NEXT."""

    SUBJECT = 16
    NEXT = 17
    """The next of its producer, in the order in which they were first pending."""
    NEXT_OF_SUBJECT = 18


class GroupCell(IntEnum):
    """The cells of a group that replaying commits and tombstones needs."""

    PRESENT = 0
    FIRST = 1
    """Log offset of the commit that made it, if IS_NEW."""
    IS_NEW = 2
    """Whether a simple group was made here of which State does not know."""
    IN_TABLES = 3
    """How many of its committed offsets are in these tables, pending ones too."""
    PENDING = 4
    """How many of those are pending."""
    IS_OUTSIDE = 5
    """Whether State knows some of its offsets, so that they must be loaded first."""
    STAMP = 6
    """Raised whenever owners in the group may be others."""
    CHANGED = 7
    """When it was made, or a marker last ended commits of it; NONE if that is known elsewhere."""
    HAS_ORPHANS = 8
    """Whether State has offsets of it, but no such group."""
    HEAD = 9
    """The first in the chain of its committed offsets, or NONE."""
    LOST = 10
    """How many commits it loses by the write that is being removed; NONE if that is not about it."""
    REMOVAL = 11
    """Which removal that is, as RemovalCell has it; NONE before it begins."""


class Present(IntEnum):
    """Whether State has a group: not, as a simple group, or as another kind."""

    NO = 0
    SIMPLE = 1
    OTHER = 2


class ProducerCell(IntEnum):
    """A producer's open transaction."""

    OPEN = 0
    """Where the transaction is stored, as STORED_IN of a committed offset."""
    EPOCH = 1
    FIRST = 2
    FIRST_TIMESTAMP = 3
    LAST = 4
    LAST_TIMESTAMP = 5
    COMMITS = 6
    HEAD = 7
    """The producer's first and last pending commit, and how many there are."""
    TAIL = 8
    COUNT = 9


class EndedCell(IntEnum):
    """A row of offset_history that ended: after the facts of its commit, whose it was, and how and when it ended."""

    SUBJECT = 16
    TO_LOG_OFFSET = 17
    TO_TIMESTAMP = 18
    END_CAUSE = 19


class ClosedCell(IntEnum):
    """A transaction that a marker ended: the producer, what its line said as ProducerCell has it, and the marker."""

    PRODUCER = 0
    EPOCH = 1
    FIRST = 2
    FIRST_TIMESTAMP = 3
    LAST = 4
    LAST_TIMESTAMP = 5
    COMMITS = 6
    MARKER_LOG_OFFSET = 7
    MARKER_TIMESTAMP = 8
    MARKER_EPOCH = 9
    IS_COMMITTED = 10


class AskCell(IntEnum):
    """The cells of a question for an owner: the offset, the topic id of its commits, and the number that the owner gets."""

    SUBJECT = 0
    TOPIC_ID = 1
    OWNER = 2


class MadeCell(IntEnum):
    """A simple group that a commit made: the group, and the record's place and time."""

    GROUP = 0
    LOG_OFFSET = 1
    TIMESTAMP = 2


class RunCell(IntEnum):
    """The cells of compiled code's input: addresses of tables, counts, and which rules hold."""

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
    CLOSED = 18
    CLOSED_COUNT = 19
    MADE = 20
    MADE_COUNT = 21
    REMOVALS = 22
    REMOVAL_COUNT = 23
    TOMBSTONES = 24
    TOMBSTONE_COUNT = 25
    LEFT = 26
    LEFT_MOST = 27
    LEFT_COUNT = 28
    KINDS = 29
    """A hash table: places in the table of what is left."""


class Stop(IntEnum):
    """Why compiled code stopped before a row."""

    END = 0
    ALONE = 1
    """The row is replayed one at a time."""
    LOAD = 2
    """Offsets of its group must be loaded first."""
    FULL = 3
    """There is no room for the rows that it ends, or for what it leaves."""


WIDTHS: Final = {
    OffsetCell: max(OffsetCell) + 1,
    SlotCell: max(SlotCell) + 1,
    GroupCell: max(GroupCell) + 1,
    ProducerCell: max(ProducerCell) + 1,
    EndedCell: max(EndedCell) + 1,
    ClosedCell: max(ClosedCell) + 1,
    AskCell: max(AskCell) + 1,
    MadeCell: max(MadeCell) + 1,
    RemovalCell: max(RemovalCell) + 1,
    TombstoneCell: max(TombstoneCell) + 1,
    LeftCell: max(LeftCell) + 1,
}
