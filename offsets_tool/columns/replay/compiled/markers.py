"""Compiled: one marker that ends a transaction, as replay.offsets replays it.

It stops before a marker whose commits nobody is answered, if a history needs rows of them.
"""

from offsets_tool.columns.jit.machine import load_i64, step, store_i64
from offsets_tool.columns.replay.compiled.cells import (
    ABORTED,
    ABSENT,
    C_IS_COMMITTED,
    C_MARKER,
    C_MARKER_EPOCH,
    C_MARKER_TIMESTAMP,
    C_PRODUCER,
    COMMITTED,
    F_BEFORE,
    F_COMMIT_AT,
    F_EFFECTIVE,
    F_FROM,
    F_FROM_TIMESTAMP,
    F_HAS_BEFORE,
    FACTS,
    G_CHANGED,
    G_IN_TABLES,
    G_OUTSIDE,
    G_PENDING,
    G_PRESENT,
    GO_ON,
    HERE,
    LOG_OFFSET,
    NOWHERE,
    O_GROUP,
    O_PENDING,
    O_STORED_IN,
    OFFSET_LINE,
    OUTSIDE,
    P_COMMITS,
    P_COUNT,
    P_EPOCH,
    P_HEAD,
    P_OPEN,
    P_TAIL,
    PRODUCER,
    PRODUCER_EPOCH,
    R_CLOSED,
    R_CLOSED_COUNT,
    R_ENDED_COUNT,
    R_ENDED_MOST,
    R_FREE,
    R_GROUPS,
    R_HAS_HISTORY,
    R_IS_NEW,
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
    TIMESTAMP,
    WORD,
    get_group,
    get_offset,
    get_producer,
    get_slot,
    set_closed,
    set_group,
    set_offset,
    set_producer,
    set_slot,
)
from offsets_tool.columns.replay.compiled.commits import (
    end_effective,
    end_row,
    live,
    make_simple_group,
    put_in_tables,
    row_cell,
)
from offsets_tool.columns.replay.compiled.tables import NONE


@step
def commit_marker(run: int, row: int) -> int:
    """Make a producer's pending commits effective; return GO_ON, or why that cannot be done here."""
    producers, slots, offsets, groups = (
        load_i64(run + R_PRODUCERS),
        load_i64(run + R_SLOTS),
        load_i64(run + R_OFFSETS),
        load_i64(run + R_GROUPS),
    )
    producer = row_cell(run, PRODUCER, row)
    stop = _before_commit(run, producer)
    if stop != GO_ON:
        return stop
    log_offset, timestamp = row_cell(run, LOG_OFFSET, row), row_cell(run, TIMESTAMP, row)
    slot = get_producer(producers, producer, P_HEAD)
    while slot != NONE:
        subject = get_slot(slots, slot, S_SUBJECT)
        group = get_offset(offsets, subject, O_GROUP)
        line = slots + slot * SLOT_LINE
        end_row(run, line, subject, log_offset, timestamp, COMMITTED)
        if _wins(run, slot, subject):
            _commit_slot(run, line, subject, log_offset, timestamp)
            if not load_i64(run + R_IS_NEW):
                make_simple_group(run, group, log_offset, timestamp)
            put_in_tables(offsets, groups, subject, group)
        if timestamp >= 0:
            set_group(groups, group, G_CHANGED, timestamp)
        slot = get_slot(slots, slot, S_NEXT)
    _store_closed(run, producer, row, 1)
    close_transaction(run, producer)
    return GO_ON


@step
def _store_closed(run: int, producer: int, row: int, is_committed: int) -> None:
    """Write the transaction that the marker in a row ends, if any, to the table of closed transactions that a history has."""
    producers, closed = load_i64(run + R_PRODUCERS), load_i64(run + R_CLOSED)
    if not load_i64(run + R_HAS_HISTORY) or get_producer(producers, producer, P_OPEN) != HERE:
        return
    number = load_i64(run + R_CLOSED_COUNT)
    store_i64(run + R_CLOSED_COUNT, number + 1)
    set_closed(closed, number, C_PRODUCER, producer)
    for place in range(P_EPOCH, P_COMMITS + 1):
        set_closed(closed, number, place, get_producer(producers, producer, place))
    set_closed(closed, number, C_MARKER, row_cell(run, LOG_OFFSET, row))
    set_closed(closed, number, C_MARKER_TIMESTAMP, row_cell(run, TIMESTAMP, row))
    set_closed(closed, number, C_MARKER_EPOCH, row_cell(run, PRODUCER_EPOCH, row))
    set_closed(closed, number, C_IS_COMMITTED, is_committed)


@step
def _before_commit(run: int, producer: int) -> int:
    """Return why a COMMIT marker cannot be replayed here; GO_ON if it can."""
    producers, slots, offsets, groups = (
        load_i64(run + R_PRODUCERS),
        load_i64(run + R_SLOTS),
        load_i64(run + R_OFFSETS),
        load_i64(run + R_GROUPS),
    )
    if get_producer(producers, producer, P_OPEN) == OUTSIDE:
        return STOP_ALONE
    has_history = load_i64(run + R_HAS_HISTORY)
    needed = load_i64(run + R_ENDED_COUNT) + 2 * get_producer(producers, producer, P_COUNT)
    if has_history and needed > load_i64(run + R_ENDED_MOST):
        return STOP_FULL
    slot = get_producer(producers, producer, P_HEAD)
    while slot != NONE:
        subject = get_slot(slots, slot, S_SUBJECT)
        group = get_offset(offsets, subject, O_GROUP)
        if get_group(groups, group, G_OUTSIDE):
            return STOP_LOAD
        is_absent = get_group(groups, group, G_PRESENT) == ABSENT
        if has_history and (is_absent or not _wins(run, slot, subject)):
            return STOP_ALONE
        slot = get_slot(slots, slot, S_NEXT)
    return GO_ON


@step
def _wins(run: int, slot: int, subject: int) -> bool:
    """Return whether no later commit is effective than the pending one."""
    offsets, slots = load_i64(run + R_OFFSETS), load_i64(run + R_SLOTS)
    if get_offset(offsets, subject, O_STORED_IN) != HERE:
        return True
    return get_offset(offsets, subject, F_COMMIT_AT) < get_slot(slots, slot, F_COMMIT_AT)


@step
def _commit_slot(run: int, slot_line: int, subject: int, log_offset: int, timestamp: int) -> None:
    """Make a pending commit effective: it keeps its owner and how it began."""
    offsets = load_i64(run + R_OFFSETS)
    line = offsets + subject * OFFSET_LINE
    end_effective(run, subject, log_offset, timestamp)
    before, has_before = load_i64(line + WORD * F_BEFORE), load_i64(line + WORD * F_HAS_BEFORE)
    for place in range(FACTS):
        store_i64(line + WORD * place, load_i64(slot_line + WORD * place))
    store_i64(line + WORD * F_FROM, log_offset)
    store_i64(line + WORD * F_FROM_TIMESTAMP, timestamp)
    store_i64(line + WORD * F_EFFECTIVE, 1)
    store_i64(line + WORD * F_BEFORE, before)
    store_i64(line + WORD * F_HAS_BEFORE, has_before)
    if load_i64(run + R_HAS_HISTORY):
        live(offsets, subject, timestamp)


@step
def close_transaction(run: int, producer: int) -> None:
    """End a producer's transaction, and free the slots of its pending commits."""
    producers, slots, offsets, groups = (
        load_i64(run + R_PRODUCERS),
        load_i64(run + R_SLOTS),
        load_i64(run + R_OFFSETS),
        load_i64(run + R_GROUPS),
    )
    slot = get_producer(producers, producer, P_HEAD)
    while slot != NONE:
        subject = get_slot(slots, slot, S_SUBJECT)
        group = get_offset(offsets, subject, O_GROUP)
        set_group(groups, group, G_IN_TABLES, get_group(groups, group, G_IN_TABLES) - 1)
        set_group(groups, group, G_PENDING, get_group(groups, group, G_PENDING) - 1)
        _unlink(offsets, slots, subject, slot)
        next_ = get_slot(slots, slot, S_NEXT)
        set_slot(slots, slot, S_NEXT, load_i64(run + R_FREE))
        store_i64(run + R_FREE, slot)
        slot = next_
    set_producer(producers, producer, P_HEAD, NONE)
    set_producer(producers, producer, P_TAIL, NONE)
    set_producer(producers, producer, P_COUNT, 0)
    set_producer(producers, producer, P_OPEN, NOWHERE)


@step
def _unlink(offsets: int, slots: int, subject: int, slot: int) -> None:
    """Take a slot out of its subject's chain."""
    at = get_offset(offsets, subject, O_PENDING)
    next_ = get_slot(slots, slot, S_NEXT_OF_SUBJECT)
    if at == slot:
        set_offset(offsets, subject, O_PENDING, next_)
    else:
        while get_slot(slots, at, S_NEXT_OF_SUBJECT) != slot:
            at = get_slot(slots, at, S_NEXT_OF_SUBJECT)
        set_slot(slots, at, S_NEXT_OF_SUBJECT, next_)


@step
def abort_marker(run: int, row: int) -> int:
    """Drop the pending commits of a transaction that an ABORT marker ends; return GO_ON, or why that cannot be done here."""
    producers, slots, offsets, groups = (
        load_i64(run + R_PRODUCERS),
        load_i64(run + R_SLOTS),
        load_i64(run + R_OFFSETS),
        load_i64(run + R_GROUPS),
    )
    producer = row_cell(run, PRODUCER, row)
    if get_producer(producers, producer, P_OPEN) == OUTSIDE:
        return STOP_ALONE
    needed = load_i64(run + R_ENDED_COUNT) + get_producer(producers, producer, P_COUNT)
    if load_i64(run + R_HAS_HISTORY) and needed > load_i64(run + R_ENDED_MOST):
        return STOP_FULL
    log_offset, timestamp = row_cell(run, LOG_OFFSET, row), row_cell(run, TIMESTAMP, row)
    slot = get_producer(producers, producer, P_HEAD)
    while slot != NONE:
        subject = get_slot(slots, slot, S_SUBJECT)
        end_row(run, slots + slot * SLOT_LINE, subject, log_offset, timestamp, ABORTED)
        if timestamp >= 0:
            set_group(groups, get_offset(offsets, subject, O_GROUP), G_CHANGED, timestamp)
        slot = get_slot(slots, slot, S_NEXT)
    _store_closed(run, producer, row, 0)
    close_transaction(run, producer)
    return GO_ON
