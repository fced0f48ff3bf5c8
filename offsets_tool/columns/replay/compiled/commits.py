"""Compiled: one commit, effective or pending, as replay.offsets replays it.

What a row of offset_history says when it ends is written here too. A commit whose outcome needs more than the tables is left alone.
"""

from offsets_tool.columns.jit.machine import load_i64, step, store_i64
from offsets_tool.columns.replay.compiled.cells import (
    A_OWNER,
    A_SUBJECT,
    A_TOPIC,
    ABSENT,
    BY_COMMIT,
    COMMIT_FIELDS,
    E_CAUSE,
    E_SUBJECT,
    E_TO,
    E_TO_TIMESTAMP,
    ENDED_LINE,
    F_BEFORE,
    F_BEGIN,
    F_COMMIT_AT,
    F_COMMIT_TIMESTAMP,
    F_COMMITTED,
    F_EFFECTIVE,
    F_FROM,
    F_FROM_TIMESTAMP,
    F_HAS_BEFORE,
    F_NOOP,
    F_OWNER,
    F_PRODUCER,
    F_TEXT,
    F_TOPIC_ID,
    FACTS,
    FIRST_COMMIT_FIELD,
    G_CHANGED,
    G_FIRST,
    G_HEAD,
    G_IN_TABLES,
    G_IS_NEW,
    G_ORPHANS,
    G_OUTSIDE,
    G_PRESENT,
    G_STAMP,
    GO_ON,
    HERE,
    LIFETIME_KNOWN,
    LOG_OFFSET,
    M_GROUP,
    M_LOG_OFFSET,
    M_TIMESTAMP,
    O_BEGAN,
    O_COMMITTED_AT,
    O_GROUP,
    O_LIFETIME,
    O_LIFETIME_TOPIC,
    O_NEXT_OF_GROUP,
    O_OWNER,
    O_OWNER_TOPIC,
    O_STAMP,
    O_STORED_IN,
    OFFSET_LINE,
    R_ASK_COUNT,
    R_ASKS,
    R_BASE,
    R_COUNT,
    R_ENDED,
    R_ENDED_COUNT,
    R_ENDED_MOST,
    R_GROUPS,
    R_HAS_HISTORY,
    R_MADE,
    R_MADE_COUNT,
    R_NEXT_OWNER,
    R_OFFSETS,
    R_ROWS,
    SIMPLE,
    STOP_ALONE,
    STOP_FULL,
    STOP_LOAD,
    SUBJECT,
    SUPERSEDED,
    TIMESTAMP,
    WORD,
    get_group,
    get_offset,
    set_ask,
    set_ended,
    set_group,
    set_made,
    set_offset,
)
from offsets_tool.columns.replay.compiled.tables import NO_TOPIC_ID, NONE, UNCHAINED


@step
def row_cell(run: int, field: int, row: int) -> int:
    """Return what a row says in a field."""
    return load_i64(load_i64(run + R_ROWS) + WORD * (field * load_i64(run + R_COUNT) + row))


@step
def commit(run: int, row: int) -> int:
    """Make a row's commit effective; return GO_ON, or why that cannot be done here."""
    offsets, groups = load_i64(run + R_OFFSETS), load_i64(run + R_GROUPS)
    subject = row_cell(run, SUBJECT, row)
    group = get_offset(offsets, subject, O_GROUP)
    if get_group(groups, group, G_OUTSIDE):
        return STOP_LOAD
    log_offset, timestamp = row_cell(run, LOG_OFFSET, row), row_cell(run, TIMESTAMP, row)
    stop = make_simple_group(run, group, log_offset, timestamp)
    if stop != GO_ON:
        return stop
    line = offsets + subject * OFFSET_LINE
    if end_effective(run, subject, log_offset, timestamp) == STOP_FULL:
        return STOP_FULL
    write_commit(run, row, line)
    store_i64(line + WORD * F_BEGIN, BY_COMMIT)
    store_i64(line + WORD * F_EFFECTIVE, 1)
    store_i64(line + WORD * F_PRODUCER, NONE)
    if load_i64(run + R_HAS_HISTORY):
        store_i64(line + WORD * F_OWNER, owner_number(run, subject, load_i64(line + WORD * F_TOPIC_ID)))
        live(offsets, subject, timestamp)
    put_in_tables(offsets, groups, subject, group)
    return GO_ON


@step
def make_simple_group(run: int, group: int, log_offset: int, timestamp: int) -> int:
    """Make a simple group with its first commit, if the group is absent; a history reads of it in the table of made groups.

    With a history, stop before a commit by which other offsets of the group come back.
    """
    groups, has_history = load_i64(run + R_GROUPS), load_i64(run + R_HAS_HISTORY)
    if get_group(groups, group, G_PRESENT) != ABSENT:
        return GO_ON
    if has_history and (get_group(groups, group, G_IN_TABLES) or get_group(groups, group, G_ORPHANS)):
        return STOP_ALONE
    set_group(groups, group, G_PRESENT, SIMPLE)
    set_group(groups, group, G_FIRST, log_offset)
    set_group(groups, group, G_IS_NEW, 1)
    if has_history:
        made, number = load_i64(run + R_MADE), load_i64(run + R_MADE_COUNT)
        store_i64(run + R_MADE_COUNT, number + 1)
        set_made(made, number, M_GROUP, group)
        set_made(made, number, M_LOG_OFFSET, log_offset)
        set_made(made, number, M_TIMESTAMP, timestamp)
        if timestamp >= 0:
            set_group(groups, group, G_CHANGED, timestamp)
    return GO_ON


@step
def write_commit(run: int, row: int, line: int) -> None:
    """Write the commit in a row to a line of a table; it holds from this row on."""
    for place in range(COMMIT_FIELDS):
        store_i64(line + WORD * place, row_cell(run, FIRST_COMMIT_FIELD + place, row))
    log_offset = row_cell(run, LOG_OFFSET, row)
    store_i64(line + WORD * F_COMMIT_AT, log_offset)
    store_i64(line + WORD * F_TEXT, load_i64(run + R_BASE) + row)
    store_i64(line + WORD * F_FROM, log_offset)
    store_i64(line + WORD * F_FROM_TIMESTAMP, row_cell(run, TIMESTAMP, row))
    store_i64(line + WORD * F_NOOP, NONE)


@step
def end_effective(run: int, subject: int, log_offset: int, timestamp: int) -> int:
    """End the history row of an offset's effective commit, and keep its committed offset as the previous one of the next row."""
    offsets = load_i64(run + R_OFFSETS)
    line = offsets + subject * OFFSET_LINE
    is_held = get_offset(offsets, subject, O_STORED_IN) == HERE
    if is_held:
        if end_row(run, line, subject, log_offset, timestamp, SUPERSEDED) == STOP_FULL:
            return STOP_FULL
        store_i64(line + WORD * F_BEFORE, load_i64(line + WORD * F_COMMITTED))
    store_i64(line + WORD * F_HAS_BEFORE, 1 if is_held else 0)
    return GO_ON


@step
def end_row(run: int, line: int, subject: int, log_offset: int, timestamp: int, cause: int) -> int:
    """Write an ended history row for the commit in a line; none if it began at this very record."""
    if not load_i64(run + R_HAS_HISTORY) or load_i64(line + WORD * F_FROM) == log_offset:
        return GO_ON
    ended, number = load_i64(run + R_ENDED), load_i64(run + R_ENDED_COUNT)
    if number == load_i64(run + R_ENDED_MOST):
        return STOP_FULL
    store_i64(run + R_ENDED_COUNT, number + 1)
    for place in range(FACTS):
        store_i64(ended + number * ENDED_LINE + WORD * place, load_i64(line + WORD * place))
    set_ended(ended, number, E_SUBJECT, subject)
    set_ended(ended, number, E_TO, log_offset)
    set_ended(ended, number, E_TO_TIMESTAMP, timestamp)
    set_ended(ended, number, E_CAUSE, cause)
    return GO_ON


@step
def owner_number(run: int, subject: int, topic_id: int) -> int:
    """Return the number of an offset's owner; if it is not known or may have changed, add a question for it with a new number."""
    offsets, groups = load_i64(run + R_OFFSETS), load_i64(run + R_GROUPS)
    stamp = get_group(groups, get_offset(offsets, subject, O_GROUP), G_STAMP)
    is_known = get_offset(offsets, subject, O_STAMP) == stamp
    if is_known and get_offset(offsets, subject, O_OWNER_TOPIC) == topic_id:
        return get_offset(offsets, subject, O_OWNER)
    number, asks = load_i64(run + R_NEXT_OWNER), load_i64(run + R_ASK_COUNT)
    store_i64(run + R_NEXT_OWNER, number + 1)
    store_i64(run + R_ASK_COUNT, asks + 1)
    set_ask(load_i64(run + R_ASKS), asks, A_SUBJECT, subject)
    set_ask(load_i64(run + R_ASKS), asks, A_TOPIC, topic_id)
    set_ask(load_i64(run + R_ASKS), asks, A_OWNER, number)
    set_offset(offsets, subject, O_STAMP, stamp)
    set_offset(offsets, subject, O_OWNER_TOPIC, topic_id)
    set_offset(offsets, subject, O_OWNER, number)
    return number


@step
def live(offsets: int, subject: int, timestamp: int) -> None:
    """Keep since when the group has had an offset here without a break (expiry.lifetimes)."""
    topic_id = get_offset(offsets, subject, F_TOPIC_ID)
    at = timestamp
    if at < 0:
        at = get_offset(offsets, subject, F_COMMIT_TIMESTAMP)
    if at < 0:
        at = NONE
    was = get_offset(offsets, subject, O_LIFETIME_TOPIC)
    may_be_one = was == topic_id or was == NO_TOPIC_ID or topic_id == NO_TOPIC_ID
    goes_on = get_offset(offsets, subject, O_LIFETIME) == LIFETIME_KNOWN and may_be_one
    if not goes_on:
        set_offset(offsets, subject, O_BEGAN, at)
    if not goes_on or topic_id != NO_TOPIC_ID:
        set_offset(offsets, subject, O_LIFETIME_TOPIC, topic_id)
    set_offset(offsets, subject, O_LIFETIME, LIFETIME_KNOWN)
    set_offset(offsets, subject, O_COMMITTED_AT, at)


@step
def put_in_tables(offsets: int, groups: int, subject: int, group: int) -> None:
    """Note that an offset is in these tables from now on: count it for its group, and see that it is in the group's chain."""
    if get_offset(offsets, subject, O_STORED_IN) != HERE:
        set_offset(offsets, subject, O_STORED_IN, HERE)
        set_group(groups, group, G_IN_TABLES, get_group(groups, group, G_IN_TABLES) + 1)
        if get_offset(offsets, subject, O_NEXT_OF_GROUP) == UNCHAINED:
            set_offset(offsets, subject, O_NEXT_OF_GROUP, get_group(groups, group, G_HEAD))
            set_group(groups, group, G_HEAD, subject)
