"""Compiled: a write of tombstones that end commits and do nothing else, as replay.offsets replays it, with a history.

What expiry asks of it is written to tables: the tombstones, and of what each group has left the oldest of each kind. A write that
may do more is left alone.
"""

from typing import Final

import numpy as np

from offsets_tool.columns.jit.machine import load_i64, step, store_i64
from offsets_tool.columns.replay.compiled.cells import (
    D_CHANGED,
    D_GROUP,
    D_KINDS,
    D_LEFT,
    D_ROW,
    DELETED,
    F_COMMIT_TIMESTAMP,
    F_EXPIRE_TIMESTAMP,
    F_TOPIC_ID,
    G_CHANGED,
    G_HEAD,
    G_IN_TABLES,
    G_LOST,
    G_OUTSIDE,
    G_PENDING,
    G_REMOVAL,
    GO_ON,
    HERE,
    L_COMMIT_TIMESTAMP,
    L_EXPIRE_TIMESTAMP,
    L_SUBJECT,
    L_TOPIC_ID,
    LIFETIME_KNOWN,
    LIFETIME_UNKNOWN,
    LOG_OFFSET,
    NOWHERE,
    O_BEGAN,
    O_COMMITTED_AT,
    O_GROUP,
    O_LIFETIME,
    O_NEXT_OF_GROUP,
    O_REMOVED_BY,
    O_STORED_IN,
    O_TOPIC,
    OFFSET_LINE,
    R_BASE,
    R_ENDED_COUNT,
    R_ENDED_MOST,
    R_GROUPS,
    R_KINDS,
    R_LEFT,
    R_LEFT_COUNT,
    R_LEFT_MOST,
    R_OFFSETS,
    R_REMOVAL_COUNT,
    R_REMOVALS,
    R_TOMBSTONE_COUNT,
    R_TOMBSTONES,
    STOP_ALONE,
    STOP_FULL,
    STOP_LOAD,
    SUBJECT,
    T_BEGAN,
    T_COMMITTED_AT,
    T_ENDED,
    T_LIFETIME,
    T_REMOVAL,
    T_ROW,
    TIMESTAMP,
    WORD,
    WRITE_END,
    get_group,
    get_left,
    get_offset,
    get_removal,
    set_group,
    set_left,
    set_offset,
    set_removal,
    set_tombstone,
)
from offsets_tool.columns.replay.compiled.commits import end_row, row_cell
from offsets_tool.columns.replay.compiled.tables import NONE, UNCHAINED

_SCATTER: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = np.uint64(32)


@step
def remove_write(run: int, row: int) -> int:
    """Remove what the write of tombstones that begins with a row is about; return GO_ON, or why that cannot be done here."""
    end = row_cell(run, WRITE_END, row)
    stop = _count_lost(run, row, end)
    if stop == GO_ON:
        first = load_i64(run + R_REMOVAL_COUNT)
        for each in range(row, end):
            _remove(run, row, each)
        for removal in range(first, load_i64(run + R_REMOVAL_COUNT)):
            _write_left(run, removal)
    groups = load_i64(run + R_GROUPS)
    for each in range(row, end):
        group = get_offset(load_i64(run + R_OFFSETS), row_cell(run, SUBJECT, each), O_GROUP)
        set_group(groups, group, G_LOST, NONE)
        set_group(groups, group, G_REMOVAL, NONE)
    return stop


@step
def _count_lost(run: int, row: int, end: int) -> int:
    """Count what each group would lose by a write; return GO_ON if that is all it does, and there is room.

    It may do more where commits are pending, one offset is removed twice, or a group loses its last offset.
    """
    offsets, groups = load_i64(run + R_OFFSETS), load_i64(run + R_GROUPS)
    most = load_i64(run + R_LEFT_COUNT)
    for each in range(row, end):
        subject = row_cell(run, SUBJECT, each)
        group = get_offset(offsets, subject, O_GROUP)
        if get_group(groups, group, G_OUTSIDE):
            return STOP_LOAD
        if get_group(groups, group, G_LOST) == NONE:
            set_group(groups, group, G_LOST, 0)
            most += get_group(groups, group, G_IN_TABLES)
        set_offset(offsets, subject, O_REMOVED_BY, NONE)
    number = load_i64(run + R_BASE) + row
    for each in range(row, end):
        subject = row_cell(run, SUBJECT, each)
        group = get_offset(offsets, subject, O_GROUP)
        lost = get_group(groups, group, G_LOST) + (
            1 if get_offset(offsets, subject, O_STORED_IN) == HERE else 0
        )
        is_last = get_group(groups, group, G_IN_TABLES) == lost
        if (
            is_last
            or get_group(groups, group, G_PENDING)
            or get_offset(offsets, subject, O_REMOVED_BY) == number
        ):
            return STOP_ALONE
        set_offset(offsets, subject, O_REMOVED_BY, number)
        set_group(groups, group, G_LOST, lost)
    has_room = load_i64(run + R_ENDED_COUNT) + end - row <= load_i64(run + R_ENDED_MOST)
    return GO_ON if has_room and most <= load_i64(run + R_LEFT_MOST) else STOP_FULL


@step
def _remove(run: int, first: int, row: int) -> None:
    """Remove a committed offset by the tombstone in a row of the write that begins with row `first`."""
    offsets, groups = load_i64(run + R_OFFSETS), load_i64(run + R_GROUPS)
    subject = row_cell(run, SUBJECT, row)
    group = get_offset(offsets, subject, O_GROUP)
    tombstones, number = load_i64(run + R_TOMBSTONES), load_i64(run + R_TOMBSTONE_COUNT)
    store_i64(run + R_TOMBSTONE_COUNT, number + 1)
    set_tombstone(tombstones, number, T_REMOVAL, _removal(run, first, group))
    set_tombstone(tombstones, number, T_ROW, row)
    set_tombstone(tombstones, number, T_ENDED, NONE)
    if get_offset(offsets, subject, O_STORED_IN) != HERE:
        return
    set_tombstone(tombstones, number, T_ENDED, load_i64(run + R_ENDED_COUNT))
    set_tombstone(tombstones, number, T_LIFETIME, get_offset(offsets, subject, O_LIFETIME))
    set_tombstone(tombstones, number, T_BEGAN, get_offset(offsets, subject, O_BEGAN))
    set_tombstone(tombstones, number, T_COMMITTED_AT, get_offset(offsets, subject, O_COMMITTED_AT))
    line = offsets + subject * OFFSET_LINE
    end_row(run, line, subject, row_cell(run, LOG_OFFSET, row), row_cell(run, TIMESTAMP, row), DELETED)
    set_offset(offsets, subject, O_STORED_IN, NOWHERE)
    set_offset(offsets, subject, O_LIFETIME, LIFETIME_UNKNOWN)
    set_group(groups, group, G_IN_TABLES, get_group(groups, group, G_IN_TABLES) - 1)


@step
def _removal(run: int, row: int, group: int) -> int:
    """Return which removal the write that begins with a row is to a group; begin it, if the write has not."""
    groups, removals = load_i64(run + R_GROUPS), load_i64(run + R_REMOVALS)
    number = get_group(groups, group, G_REMOVAL)
    if number == NONE:
        number = load_i64(run + R_REMOVAL_COUNT)
        store_i64(run + R_REMOVAL_COUNT, number + 1)
        set_group(groups, group, G_REMOVAL, number)
        set_removal(removals, number, D_GROUP, group)
        set_removal(removals, number, D_ROW, row)
        set_removal(removals, number, D_CHANGED, get_group(groups, group, G_CHANGED))
    return number


@step
def _write_left(run: int, removal: int) -> None:
    """Write how many offsets a removal left of its group, and the oldest commit of each kind.

    What is in the group's chain and no longer in the tables is taken out of it.
    """
    offsets, groups, removals = (
        load_i64(run + R_OFFSETS),
        load_i64(run + R_GROUPS),
        load_i64(run + R_REMOVALS),
    )
    group = get_removal(removals, removal, D_GROUP)
    kinds, slots = load_i64(run + R_KINDS), 2
    while slots < 2 * get_group(groups, group, G_IN_TABLES):
        slots *= 2
    for slot in range(slots):
        store_i64(kinds + WORD * slot, NONE)
    first, left = load_i64(run + R_LEFT_COUNT), 0
    subject, before = get_group(groups, group, G_HEAD), NONE
    while subject != NONE:
        next_ = get_offset(offsets, subject, O_NEXT_OF_GROUP)
        if get_offset(offsets, subject, O_STORED_IN) != HERE:
            _unchain(offsets, groups, subject, before)
        else:
            before = subject
            if get_offset(offsets, subject, O_LIFETIME) == LIFETIME_KNOWN:
                left += 1
                _keep_oldest(run, subject, slots - 1)
        subject = next_
    set_removal(removals, removal, D_LEFT, left)
    set_removal(removals, removal, D_KINDS, load_i64(run + R_LEFT_COUNT) - first)


@step
def _unchain(offsets: int, groups: int, subject: int, before: int) -> None:
    """Take an offset out of its group's chain, given the one before it there, or NONE."""
    next_ = get_offset(offsets, subject, O_NEXT_OF_GROUP)
    if before == NONE:
        set_group(groups, get_offset(offsets, subject, O_GROUP), G_HEAD, next_)
    else:
        set_offset(offsets, before, O_NEXT_OF_GROUP, next_)
    set_offset(offsets, subject, O_NEXT_OF_GROUP, UNCHAINED)


@step
def _keep_oldest(run: int, subject: int, mask: int) -> None:
    """Write a commit that is left to the line of its kind, unless that has an older one."""
    offsets, left, kinds = load_i64(run + R_OFFSETS), load_i64(run + R_LEFT), load_i64(run + R_KINDS)
    at = _kind_of(offsets, subject) & mask
    place = load_i64(kinds + WORD * at)
    while place != NONE and not _is_same_kind(offsets, subject, get_left(left, place, L_SUBJECT)):
        at = (at + 1) & mask
        place = load_i64(kinds + WORD * at)
    committed = get_offset(offsets, subject, F_COMMIT_TIMESTAMP)
    if place == NONE:
        place = load_i64(run + R_LEFT_COUNT)
        store_i64(run + R_LEFT_COUNT, place + 1)
        store_i64(kinds + WORD * at, place)
    elif committed >= get_left(left, place, L_COMMIT_TIMESTAMP):
        return
    set_left(left, place, L_SUBJECT, subject)
    set_left(left, place, L_COMMIT_TIMESTAMP, committed)
    set_left(left, place, L_EXPIRE_TIMESTAMP, get_offset(offsets, subject, F_EXPIRE_TIMESTAMP))
    set_left(left, place, L_TOPIC_ID, get_offset(offsets, subject, F_TOPIC_ID))


@step
def _kind_of(offsets: int, subject: int) -> int:
    """Return a number that commits of one kind have in common."""
    named = get_offset(offsets, subject, O_TOPIC) << 32 ^ get_offset(offsets, subject, F_TOPIC_ID)
    mixed = (np.uint64(named) ^ np.uint64(_time_to_expiry(offsets, subject))) * _SCATTER
    return int(np.int64(mixed ^ mixed >> _HALF))


@step
def _is_same_kind(offsets: int, subject: int, other: int) -> bool:
    """Return whether two commits have one topic, one topic id and one time from commit to expiry, or none."""
    is_same = get_offset(offsets, subject, O_TOPIC) == get_offset(offsets, other, O_TOPIC)
    is_same &= get_offset(offsets, subject, F_TOPIC_ID) == get_offset(offsets, other, F_TOPIC_ID)
    is_same &= _wraps(offsets, subject) == _wraps(offsets, other)
    return is_same and _time_to_expiry(offsets, subject) == _time_to_expiry(offsets, other)


@step
def _time_to_expiry(offsets: int, subject: int) -> int:
    """Return the time from commit to expiry, which wraps as int64 does; 0 where the commit does not say when it expires."""
    expires = get_offset(offsets, subject, F_EXPIRE_TIMESTAMP)
    return 0 if expires == NONE else expires - get_offset(offsets, subject, F_COMMIT_TIMESTAMP)


@step
def _wraps(offsets: int, subject: int) -> int:
    """Return the rest of the time from commit to expiry: whether there is one, and its sign."""
    expires = get_offset(offsets, subject, F_EXPIRE_TIMESTAMP)
    if expires == NONE:
        return 0
    return 1 if expires < get_offset(offsets, subject, F_COMMIT_TIMESTAMP) else 2
