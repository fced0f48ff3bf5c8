"""The layouts of what compiled code says of writes of tombstones that it has replayed: a line of int64 for each thing.

No rule is here.
"""

from enum import IntEnum


class RemovalCell(IntEnum):
    """What a write of tombstones did to one group, and how much of the group it left."""

    GROUP = 0
    ROW = 1
    """The first row of the write."""
    CHANGED = 2
    """The group's CHANGED at that time."""
    LEFT = 3
    """How many offsets with a known lifetime it left."""
    KINDS = 4
    """How many lines of LeftCell are about it."""


class TombstoneCell(IntEnum):
    """A tombstone in such a write: its removal, its row, the ended row of the commit (NONE without one), and the lifetime."""

    REMOVAL = 0
    ROW = 1
    ENDED = 2
    LIFETIME = 3
    BEGAN = 4
    COMMITTED_AT = 5


class LeftCell(IntEnum):
    """The oldest commit of a kind that a removal left; the kinds are topics, their ids and times from commit to expiry."""

    SUBJECT = 0
    COMMIT_TIMESTAMP = 1
    EXPIRE_TIMESTAMP = 2
    TOPIC_ID = 3
