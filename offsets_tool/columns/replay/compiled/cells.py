"""Compiled code's names for the cells of the tables: plain integers, and loads and stores of a cell. No rule is here."""

from typing import Final

from offsets_tool.columns.jit.machine import load_cell, store_cell
from offsets_tool.columns.replay.compiled.tables import (
    WIDTHS,
    Ask,
    Ended,
    Fact,
    Group,
    Held,
    Kind,
    Offset,
    Present,
    Producer,
    RowField,
    Run,
    Slot,
    Stop,
)
from offsets_tool.history.rows import OffsetBeginCause, OffsetEndCause

BEGAN: Final = tuple(OffsetBeginCause)
ENDS: Final = tuple(OffsetEndCause)
"""Causes by their numbers in the tables."""

get_offset: Final = load_cell(WIDTHS[Offset])
set_offset: Final = store_cell(WIDTHS[Offset])
get_group: Final = load_cell(WIDTHS[Group])
set_group: Final = store_cell(WIDTHS[Group])
get_producer: Final = load_cell(WIDTHS[Producer])
set_producer: Final = store_cell(WIDTHS[Producer])
get_slot: Final = load_cell(WIDTHS[Slot])
set_slot: Final = store_cell(WIDTHS[Slot])
set_ended: Final = store_cell(WIDTHS[Ended])
set_ask: Final = store_cell(WIDTHS[Ask])

# Compiled code takes plain integers.
WORD: Final = 8
OFFSET_LINE: Final = WORD * WIDTHS[Offset]
SLOT_LINE: Final = WORD * WIDTHS[Slot]
ENDED_LINE: Final = WORD * WIDTHS[Ended]
FACTS: Final = len(Fact)
SAID: Final = 5

KIND: Final = int(RowField.KIND)
SUBJECT: Final = int(RowField.SUBJECT)
PRODUCER: Final = int(RowField.PRODUCER)
PRODUCER_EPOCH: Final = int(RowField.PRODUCER_EPOCH)
LOG_OFFSET: Final = int(RowField.LOG_OFFSET)
TIMESTAMP: Final = int(RowField.TIMESTAMP)
FIRST_SAID: Final = int(RowField.COMMITTED_OFFSET)

IS_COMMIT: Final = int(Kind.COMMIT)
IS_PENDING: Final = int(Kind.PENDING)
IS_COMMIT_MARKER: Final = int(Kind.COMMIT_MARKER)
IS_ABORT_MARKER: Final = int(Kind.ABORT_MARKER)
IS_TOMBSTONE: Final = int(Kind.TOMBSTONE)
IS_PASSED: Final = int(Kind.PASSED)

F_COMMITTED: Final = int(Fact.COMMITTED_OFFSET)
F_COMMIT_TIMESTAMP: Final = int(Fact.COMMIT_TIMESTAMP)
F_TOPIC_ID: Final = int(Fact.TOPIC_ID)
F_COMMIT_AT: Final = int(Fact.COMMIT_LOG_OFFSET)
F_TEXT: Final = int(Fact.TEXT)
F_FROM: Final = int(Fact.FROM_LOG_OFFSET)
F_FROM_TIMESTAMP: Final = int(Fact.FROM_TIMESTAMP)
F_BEGIN: Final = int(Fact.BEGIN_CAUSE)
F_EFFECTIVE: Final = int(Fact.IS_EFFECTIVE)
F_BEFORE: Final = int(Fact.BEFORE)
F_HAS_BEFORE: Final = int(Fact.HAS_BEFORE)
F_OWNER: Final = int(Fact.OWNER)
F_PRODUCER: Final = int(Fact.PRODUCER)
F_NOOP: Final = int(Fact.NOOP_TOMBSTONE)

O_HELD: Final = int(Offset.HELD)
O_GROUP: Final = int(Offset.GROUP)
O_PENDING: Final = int(Offset.PENDING)
O_STAMP: Final = int(Offset.OWNER_STAMP)
O_OWNER_TOPIC: Final = int(Offset.OWNER_TOPIC_ID)
O_OWNER: Final = int(Offset.OWNER)
O_LIFE: Final = int(Offset.LIFE)
O_BEGAN: Final = int(Offset.BEGAN)
O_COMMITTED_AT: Final = int(Offset.COMMITTED_AT)
O_LIFE_TOPIC: Final = int(Offset.LIFE_TOPIC_ID)
NOWHERE: Final = int(Held.NOWHERE)
HERE: Final = int(Held.HERE)
OUTSIDE: Final = int(Held.OUTSIDE)

S_SUBJECT: Final = int(Slot.SUBJECT)
S_NEXT: Final = int(Slot.NEXT)
S_NEXT_OF_SUBJECT: Final = int(Slot.NEXT_OF_SUBJECT)

G_PRESENT: Final = int(Group.PRESENT)
G_FIRST: Final = int(Group.FIRST)
G_IS_NEW: Final = int(Group.IS_NEW)
G_HELD: Final = int(Group.HELD)
G_OUTSIDE: Final = int(Group.IS_OUTSIDE)
G_STAMP: Final = int(Group.STAMP)
G_CHANGED: Final = int(Group.CHANGED)
ABSENT: Final = int(Present.NO)
SIMPLE: Final = int(Present.SIMPLE)

P_OPEN: Final = int(Producer.OPEN)
P_EPOCH: Final = int(Producer.EPOCH)
P_FIRST: Final = int(Producer.FIRST)
P_FIRST_TIMESTAMP: Final = int(Producer.FIRST_TIMESTAMP)
P_LAST: Final = int(Producer.LAST)
P_LAST_TIMESTAMP: Final = int(Producer.LAST_TIMESTAMP)
P_COMMITS: Final = int(Producer.COMMITS)
P_HEAD: Final = int(Producer.HEAD)
P_TAIL: Final = int(Producer.TAIL)
P_COUNT: Final = int(Producer.COUNT)

E_SUBJECT: Final = int(Ended.SUBJECT)
E_TO: Final = int(Ended.TO_LOG_OFFSET)
E_TO_TIMESTAMP: Final = int(Ended.TO_TIMESTAMP)
E_CAUSE: Final = int(Ended.END_CAUSE)
A_SUBJECT: Final = int(Ask.SUBJECT)
A_TOPIC: Final = int(Ask.TOPIC_ID)
A_OWNER: Final = int(Ask.OWNER)

R_ROWS: Final = WORD * Run.ROWS
R_COUNT: Final = WORD * Run.COUNT
R_BASE: Final = WORD * Run.BASE
R_OFFSETS: Final = WORD * Run.OFFSETS
R_GROUPS: Final = WORD * Run.GROUPS
R_PRODUCERS: Final = WORD * Run.PRODUCERS
R_SLOTS: Final = WORD * Run.SLOTS
R_FREE: Final = WORD * Run.FREE_SLOT
R_ENDED: Final = WORD * Run.ENDED
R_ENDED_MOST: Final = WORD * Run.ENDED_MOST
R_ENDED_COUNT: Final = WORD * Run.ENDED_COUNT
R_ASKS: Final = WORD * Run.ASKS
R_ASK_COUNT: Final = WORD * Run.ASK_COUNT
R_NEXT_OWNER: Final = WORD * Run.NEXT_OWNER
R_IS_NEW: Final = WORD * Run.IS_NEW
R_HAS_HISTORY: Final = WORD * Run.HAS_HISTORY
R_OUTSIDE: Final = WORD * Run.OUTSIDE

STOP_END: Final = int(Stop.END)
STOP_ALONE: Final = int(Stop.ALONE)
STOP_LOAD: Final = int(Stop.LOAD)
STOP_FULL: Final = int(Stop.FULL)
GO_ON: Final = -1

BY_COMMIT: Final = BEGAN.index(OffsetBeginCause.COMMIT)
BY_TRANSACTION: Final = BEGAN.index(OffsetBeginCause.TRANSACTION)
SUPERSEDED: Final = ENDS.index(OffsetEndCause.SUPERSEDED)
COMMITTED: Final = ENDS.index(OffsetEndCause.COMMITTED)
