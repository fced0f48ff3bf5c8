"""Compiled code's names for the cells of the tables: plain integers, and loads and stores of a cell. No rule is here."""

from typing import Final

from offsets_tool.columns.jit.machine import load_cell, store_cell
from offsets_tool.columns.replay.compiled.removal_tables import LeftCell, RemovalCell, TombstoneCell
from offsets_tool.columns.replay.compiled.tables import (
    WIDTHS,
    AskCell,
    ClosedCell,
    EndedCell,
    FactCell,
    GroupCell,
    Kind,
    LifetimeStatus,
    MadeCell,
    OffsetCell,
    Present,
    ProducerCell,
    RowCell,
    RunCell,
    SlotCell,
    Stop,
    StoredIn,
)
from offsets_tool.history.rows import OffsetBeginCause, OffsetEndCause

BEGAN: Final = tuple(OffsetBeginCause)
ENDS: Final = tuple(OffsetEndCause)
"""Causes by their numbers in the tables."""

get_offset: Final = load_cell(WIDTHS[OffsetCell])
set_offset: Final = store_cell(WIDTHS[OffsetCell])
get_group: Final = load_cell(WIDTHS[GroupCell])
set_group: Final = store_cell(WIDTHS[GroupCell])
get_producer: Final = load_cell(WIDTHS[ProducerCell])
set_producer: Final = store_cell(WIDTHS[ProducerCell])
get_slot: Final = load_cell(WIDTHS[SlotCell])
set_slot: Final = store_cell(WIDTHS[SlotCell])
set_ended: Final = store_cell(WIDTHS[EndedCell])
set_closed: Final = store_cell(WIDTHS[ClosedCell])
set_ask: Final = store_cell(WIDTHS[AskCell])
set_made: Final = store_cell(WIDTHS[MadeCell])
get_removal: Final = load_cell(WIDTHS[RemovalCell])
set_removal: Final = store_cell(WIDTHS[RemovalCell])
set_tombstone: Final = store_cell(WIDTHS[TombstoneCell])
get_left: Final = load_cell(WIDTHS[LeftCell])
set_left: Final = store_cell(WIDTHS[LeftCell])

# Compiled code takes plain integers.
WORD: Final = 8
OFFSET_LINE: Final = WORD * WIDTHS[OffsetCell]
SLOT_LINE: Final = WORD * WIDTHS[SlotCell]
ENDED_LINE: Final = WORD * WIDTHS[EndedCell]
FACTS: Final = len(FactCell)
COMMIT_FIELDS: Final = 5

KIND: Final = int(RowCell.KIND)
SUBJECT: Final = int(RowCell.SUBJECT)
PRODUCER: Final = int(RowCell.PRODUCER)
PRODUCER_EPOCH: Final = int(RowCell.PRODUCER_EPOCH)
LOG_OFFSET: Final = int(RowCell.LOG_OFFSET)
TIMESTAMP: Final = int(RowCell.TIMESTAMP)
WRITE_END: Final = int(RowCell.WRITE_END)
FIRST_COMMIT_FIELD: Final = int(RowCell.COMMITTED_OFFSET)

IS_COMMIT: Final = int(Kind.COMMIT)
IS_PENDING: Final = int(Kind.PENDING)
IS_COMMIT_MARKER: Final = int(Kind.COMMIT_MARKER)
IS_ABORT_MARKER: Final = int(Kind.ABORT_MARKER)
IS_TOMBSTONE: Final = int(Kind.TOMBSTONE)
IS_PASSED: Final = int(Kind.PASSED)

F_COMMITTED: Final = int(FactCell.COMMITTED_OFFSET)
F_COMMIT_TIMESTAMP: Final = int(FactCell.COMMIT_TIMESTAMP)
F_EXPIRE_TIMESTAMP: Final = int(FactCell.EXPIRE_TIMESTAMP)
F_TOPIC_ID: Final = int(FactCell.TOPIC_ID)
F_COMMIT_AT: Final = int(FactCell.COMMIT_LOG_OFFSET)
F_TEXT: Final = int(FactCell.TEXT)
F_FROM: Final = int(FactCell.FROM_LOG_OFFSET)
F_FROM_TIMESTAMP: Final = int(FactCell.FROM_TIMESTAMP)
F_BEGIN: Final = int(FactCell.BEGIN_CAUSE)
F_EFFECTIVE: Final = int(FactCell.IS_EFFECTIVE)
F_BEFORE: Final = int(FactCell.BEFORE)
F_HAS_BEFORE: Final = int(FactCell.HAS_BEFORE)
F_OWNER: Final = int(FactCell.OWNER)
F_PRODUCER: Final = int(FactCell.PRODUCER)
F_NOOP: Final = int(FactCell.NOOP_TOMBSTONE)

O_STORED_IN: Final = int(OffsetCell.STORED_IN)
O_GROUP: Final = int(OffsetCell.GROUP)
O_PENDING: Final = int(OffsetCell.PENDING)
O_STAMP: Final = int(OffsetCell.OWNER_STAMP)
O_OWNER_TOPIC: Final = int(OffsetCell.OWNER_TOPIC_ID)
O_OWNER: Final = int(OffsetCell.OWNER)
O_LIFETIME: Final = int(OffsetCell.LIFETIME)
O_BEGAN: Final = int(OffsetCell.BEGAN)
O_COMMITTED_AT: Final = int(OffsetCell.COMMITTED_AT)
O_LIFETIME_TOPIC: Final = int(OffsetCell.LIFETIME_TOPIC_ID)
O_TOPIC: Final = int(OffsetCell.TOPIC)
O_NEXT_OF_GROUP: Final = int(OffsetCell.NEXT_OF_GROUP)
O_REMOVED_BY: Final = int(OffsetCell.REMOVED_BY)
LIFETIME_UNKNOWN: Final = int(LifetimeStatus.UNKNOWN)
LIFETIME_KNOWN: Final = int(LifetimeStatus.KNOWN)
NOWHERE: Final = int(StoredIn.NOWHERE)
HERE: Final = int(StoredIn.HERE)
OUTSIDE: Final = int(StoredIn.OUTSIDE)

S_SUBJECT: Final = int(SlotCell.SUBJECT)
S_NEXT: Final = int(SlotCell.NEXT)
S_NEXT_OF_SUBJECT: Final = int(SlotCell.NEXT_OF_SUBJECT)

G_PRESENT: Final = int(GroupCell.PRESENT)
G_FIRST: Final = int(GroupCell.FIRST)
G_IS_NEW: Final = int(GroupCell.IS_NEW)
G_IN_TABLES: Final = int(GroupCell.IN_TABLES)
G_PENDING: Final = int(GroupCell.PENDING)
G_OUTSIDE: Final = int(GroupCell.IS_OUTSIDE)
G_STAMP: Final = int(GroupCell.STAMP)
G_ORPHANS: Final = int(GroupCell.HAS_ORPHANS)
G_CHANGED: Final = int(GroupCell.CHANGED)
G_HEAD: Final = int(GroupCell.HEAD)
G_LOST: Final = int(GroupCell.LOST)
G_REMOVAL: Final = int(GroupCell.REMOVAL)
ABSENT: Final = int(Present.NO)
SIMPLE: Final = int(Present.SIMPLE)

P_OPEN: Final = int(ProducerCell.OPEN)
P_EPOCH: Final = int(ProducerCell.EPOCH)
P_FIRST: Final = int(ProducerCell.FIRST)
P_FIRST_TIMESTAMP: Final = int(ProducerCell.FIRST_TIMESTAMP)
P_LAST: Final = int(ProducerCell.LAST)
P_LAST_TIMESTAMP: Final = int(ProducerCell.LAST_TIMESTAMP)
P_COMMITS: Final = int(ProducerCell.COMMITS)
P_HEAD: Final = int(ProducerCell.HEAD)
P_TAIL: Final = int(ProducerCell.TAIL)
P_COUNT: Final = int(ProducerCell.COUNT)

E_SUBJECT: Final = int(EndedCell.SUBJECT)
E_TO: Final = int(EndedCell.TO_LOG_OFFSET)
E_TO_TIMESTAMP: Final = int(EndedCell.TO_TIMESTAMP)
E_CAUSE: Final = int(EndedCell.END_CAUSE)
C_PRODUCER: Final = int(ClosedCell.PRODUCER)
C_MARKER: Final = int(ClosedCell.MARKER_LOG_OFFSET)
C_MARKER_TIMESTAMP: Final = int(ClosedCell.MARKER_TIMESTAMP)
C_MARKER_EPOCH: Final = int(ClosedCell.MARKER_EPOCH)
C_IS_COMMITTED: Final = int(ClosedCell.IS_COMMITTED)
A_SUBJECT: Final = int(AskCell.SUBJECT)
A_TOPIC: Final = int(AskCell.TOPIC_ID)
A_OWNER: Final = int(AskCell.OWNER)
M_GROUP: Final = int(MadeCell.GROUP)
M_LOG_OFFSET: Final = int(MadeCell.LOG_OFFSET)
M_TIMESTAMP: Final = int(MadeCell.TIMESTAMP)
D_GROUP: Final = int(RemovalCell.GROUP)
D_ROW: Final = int(RemovalCell.ROW)
D_CHANGED: Final = int(RemovalCell.CHANGED)
D_LEFT: Final = int(RemovalCell.LEFT)
D_KINDS: Final = int(RemovalCell.KINDS)
T_REMOVAL: Final = int(TombstoneCell.REMOVAL)
T_ROW: Final = int(TombstoneCell.ROW)
T_ENDED: Final = int(TombstoneCell.ENDED)
T_LIFETIME: Final = int(TombstoneCell.LIFETIME)
T_BEGAN: Final = int(TombstoneCell.BEGAN)
T_COMMITTED_AT: Final = int(TombstoneCell.COMMITTED_AT)
L_SUBJECT: Final = int(LeftCell.SUBJECT)
L_COMMIT_TIMESTAMP: Final = int(LeftCell.COMMIT_TIMESTAMP)
L_EXPIRE_TIMESTAMP: Final = int(LeftCell.EXPIRE_TIMESTAMP)
L_TOPIC_ID: Final = int(LeftCell.TOPIC_ID)

R_ROWS: Final = WORD * RunCell.ROWS
R_COUNT: Final = WORD * RunCell.COUNT
R_BASE: Final = WORD * RunCell.BASE
R_OFFSETS: Final = WORD * RunCell.OFFSETS
R_GROUPS: Final = WORD * RunCell.GROUPS
R_PRODUCERS: Final = WORD * RunCell.PRODUCERS
R_SLOTS: Final = WORD * RunCell.SLOTS
R_FREE: Final = WORD * RunCell.FREE_SLOT
R_ENDED: Final = WORD * RunCell.ENDED
R_ENDED_MOST: Final = WORD * RunCell.ENDED_MOST
R_ENDED_COUNT: Final = WORD * RunCell.ENDED_COUNT
R_ASKS: Final = WORD * RunCell.ASKS
R_ASK_COUNT: Final = WORD * RunCell.ASK_COUNT
R_NEXT_OWNER: Final = WORD * RunCell.NEXT_OWNER
R_IS_NEW: Final = WORD * RunCell.IS_NEW
R_HAS_HISTORY: Final = WORD * RunCell.HAS_HISTORY
R_OUTSIDE: Final = WORD * RunCell.OUTSIDE
R_END: Final = WORD * RunCell.END
R_CLOSED: Final = WORD * RunCell.CLOSED
R_CLOSED_COUNT: Final = WORD * RunCell.CLOSED_COUNT
R_MADE: Final = WORD * RunCell.MADE
R_MADE_COUNT: Final = WORD * RunCell.MADE_COUNT
R_REMOVALS: Final = WORD * RunCell.REMOVALS
R_REMOVAL_COUNT: Final = WORD * RunCell.REMOVAL_COUNT
R_TOMBSTONES: Final = WORD * RunCell.TOMBSTONES
R_TOMBSTONE_COUNT: Final = WORD * RunCell.TOMBSTONE_COUNT
R_LEFT: Final = WORD * RunCell.LEFT
R_LEFT_MOST: Final = WORD * RunCell.LEFT_MOST
R_LEFT_COUNT: Final = WORD * RunCell.LEFT_COUNT
R_KINDS: Final = WORD * RunCell.KINDS

STOP_END: Final = int(Stop.END)
STOP_ALONE: Final = int(Stop.ALONE)
STOP_LOAD: Final = int(Stop.LOAD)
STOP_FULL: Final = int(Stop.FULL)
GO_ON: Final = -1

BY_COMMIT: Final = BEGAN.index(OffsetBeginCause.COMMIT)
BY_TRANSACTION: Final = BEGAN.index(OffsetBeginCause.TRANSACTION)
SUPERSEDED: Final = ENDS.index(OffsetEndCause.SUPERSEDED)
COMMITTED: Final = ENDS.index(OffsetEndCause.COMMITTED)
DELETED: Final = ENDS.index(OffsetEndCause.DELETED)
ABORTED: Final = ENDS.index(OffsetEndCause.ABORTED)
