"""Compiled: one commit in a transaction, which waits for its producer's marker, as replay.offsets replays it."""

from offsets_tool.columns.jit.machine import load_i64, step, store_i64
from offsets_tool.columns.replay.compiled.cells import (
    BY_TRANSACTION,
    F_BEFORE,
    F_BEGIN,
    F_COMMITTED,
    F_EFFECTIVE,
    F_HAS_BEFORE,
    F_OWNER,
    F_PRODUCER,
    F_TOPIC_ID,
    G_IN_TABLES,
    G_OUTSIDE,
    G_PENDING,
    GO_ON,
    HERE,
    LOG_OFFSET,
    NOWHERE,
    O_GROUP,
    O_PENDING,
    O_STORED_IN,
    OUTSIDE,
    P_COMMITS,
    P_COUNT,
    P_EPOCH,
    P_FIRST,
    P_FIRST_TIMESTAMP,
    P_HEAD,
    P_LAST,
    P_LAST_TIMESTAMP,
    P_OPEN,
    P_TAIL,
    PRODUCER,
    PRODUCER_EPOCH,
    R_FREE,
    R_GROUPS,
    R_HAS_HISTORY,
    R_OFFSETS,
    R_PRODUCERS,
    R_SLOTS,
    S_NEXT,
    S_NEXT_OF_SUBJECT,
    S_SUBJECT,
    SLOT_LINE,
    STOP_ALONE,
    STOP_FULL,
    STOP_LOAD,
    SUBJECT,
    SUPERSEDED,
    TIMESTAMP,
    get_group,
    get_offset,
    get_producer,
    get_slot,
    set_group,
    set_offset,
    set_producer,
    set_slot,
)
from offsets_tool.columns.replay.compiled.commits import (
    end_row,
    make_simple_group,
    owner_number,
    row_cell,
    write_commit,
)
from offsets_tool.columns.replay.compiled.tables import NONE


@step
def pending(run: int, row: int) -> int:
    """Keep a row's commit until its producer's marker; return GO_ON, or why that cannot be done here."""
    offsets, groups, slots = (
        load_i64(run + R_OFFSETS),
        load_i64(run + R_GROUPS),
        load_i64(run + R_SLOTS),
    )
    subject, producer = row_cell(run, SUBJECT, row), row_cell(run, PRODUCER, row)
    group = get_offset(offsets, subject, O_GROUP)
    if get_producer(load_i64(run + R_PRODUCERS), producer, P_OPEN) == OUTSIDE:
        return STOP_ALONE
    if get_group(groups, group, G_OUTSIDE):
        return STOP_LOAD
    log_offset, timestamp = row_cell(run, LOG_OFFSET, row), row_cell(run, TIMESTAMP, row)
    stop = make_simple_group(run, group, log_offset, timestamp)
    if stop != GO_ON:
        return stop
    slot = get_offset(offsets, subject, O_PENDING)
    while slot != NONE and get_slot(slots, slot, F_PRODUCER) != producer:
        slot = get_slot(slots, slot, S_NEXT_OF_SUBJECT)
    if slot == NONE:
        slot = _take_slot(run, subject, producer)
        set_group(groups, group, G_IN_TABLES, get_group(groups, group, G_IN_TABLES) + 1)
        set_group(groups, group, G_PENDING, get_group(groups, group, G_PENDING) + 1)
    elif end_row(run, slots + slot * SLOT_LINE, subject, log_offset, timestamp, SUPERSEDED) == STOP_FULL:
        return STOP_FULL
    write_commit(run, row, slots + slot * SLOT_LINE)
    _extend_transaction(run, row, producer)
    set_slot(slots, slot, F_BEGIN, BY_TRANSACTION)
    set_slot(slots, slot, F_EFFECTIVE, 0)
    set_slot(slots, slot, F_PRODUCER, producer)
    set_slot(slots, slot, F_HAS_BEFORE, 1 if get_offset(offsets, subject, O_STORED_IN) == HERE else 0)
    set_slot(slots, slot, F_BEFORE, get_offset(offsets, subject, F_COMMITTED))
    if load_i64(run + R_HAS_HISTORY):
        set_slot(slots, slot, F_OWNER, owner_number(run, subject, get_slot(slots, slot, F_TOPIC_ID)))
    return GO_ON


@step
def _take_slot(run: int, subject: int, producer: int) -> int:
    """Take a free slot for a pending commit and return its number.

    It becomes the last slot in the chain of its producer and the first in that of its subject.
    """
    offsets, producers, slots = (
        load_i64(run + R_OFFSETS),
        load_i64(run + R_PRODUCERS),
        load_i64(run + R_SLOTS),
    )
    slot = load_i64(run + R_FREE)
    store_i64(run + R_FREE, get_slot(slots, slot, S_NEXT))
    set_slot(slots, slot, S_SUBJECT, subject)
    set_slot(slots, slot, S_NEXT, NONE)
    set_slot(slots, slot, S_NEXT_OF_SUBJECT, get_offset(offsets, subject, O_PENDING))
    set_offset(offsets, subject, O_PENDING, slot)
    last = get_producer(producers, producer, P_TAIL)
    if last == NONE:
        set_producer(producers, producer, P_HEAD, slot)
    else:
        set_slot(slots, last, S_NEXT, slot)
    set_producer(producers, producer, P_TAIL, slot)
    set_producer(producers, producer, P_COUNT, get_producer(producers, producer, P_COUNT) + 1)
    return slot


@step
def _extend_transaction(run: int, row: int, producer: int) -> None:
    producers = load_i64(run + R_PRODUCERS)
    log_offset, timestamp = row_cell(run, LOG_OFFSET, row), row_cell(run, TIMESTAMP, row)
    if get_producer(producers, producer, P_OPEN) == NOWHERE:
        set_producer(producers, producer, P_OPEN, HERE)
        set_producer(producers, producer, P_EPOCH, row_cell(run, PRODUCER_EPOCH, row))
        set_producer(producers, producer, P_FIRST, log_offset)
        set_producer(producers, producer, P_FIRST_TIMESTAMP, timestamp)
        set_producer(producers, producer, P_COMMITS, 0)
    set_producer(producers, producer, P_LAST, log_offset)
    set_producer(producers, producer, P_LAST_TIMESTAMP, timestamp)
    set_producer(producers, producer, P_COMMITS, get_producer(producers, producer, P_COMMITS) + 1)
