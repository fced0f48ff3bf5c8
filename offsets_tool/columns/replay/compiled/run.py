"""Compiled: replays runs of commits, markers and tombstones as replay.offsets does, and stops before every other record.

It knows only the state in the tables (tables.py). With a history, it also writes the rows of offset_history that ended, and stops
where a row could begin or end in another way.
"""

from offsets_tool.columns.jit.machine import compiled, load_i64, step
from offsets_tool.columns.replay.compiled.cells import (
    G_IN_TABLES,
    G_OUTSIDE,
    G_PRESENT,
    GO_ON,
    HERE,
    IS_ABORT_MARKER,
    IS_COMMIT,
    IS_COMMIT_MARKER,
    IS_PASSED,
    IS_PENDING,
    IS_TOMBSTONE,
    KIND,
    NOWHERE,
    O_GROUP,
    O_PENDING,
    O_STORED_IN,
    R_END,
    R_GROUPS,
    R_HAS_HISTORY,
    R_OFFSETS,
    R_OUTSIDE,
    SIMPLE,
    STOP_ALONE,
    STOP_END,
    STOP_LOAD,
    SUBJECT,
    WRITE_END,
    get_group,
    get_offset,
    set_group,
    set_offset,
)
from offsets_tool.columns.replay.compiled.commits import commit, row_cell
from offsets_tool.columns.replay.compiled.markers import abort_marker, close_transaction, commit_marker
from offsets_tool.columns.replay.compiled.pending import pending
from offsets_tool.columns.replay.compiled.removals import remove_write
from offsets_tool.columns.replay.compiled.tables import NONE


@compiled
def replay_run(run: int, row: int) -> tuple[int, int]:
    """Replay rows from `row` on; return the row before which it stopped, and why (Stop)."""
    end = load_i64(run + R_END)
    while row < end:
        kind = row_cell(run, KIND, row)
        if kind == IS_COMMIT:
            stop = commit(run, row)
        elif kind == IS_PENDING:
            stop = pending(run, row)
        elif kind == IS_COMMIT_MARKER:
            stop = commit_marker(run, row)
        elif kind == IS_ABORT_MARKER:
            stop = abort_marker(run, row)
        elif kind == IS_TOMBSTONE and load_i64(run + R_HAS_HISTORY):
            stop = STOP_ALONE if load_i64(run + R_OUTSIDE) else remove_write(run, row)
            if stop == GO_ON:
                row = row_cell(run, WRITE_END, row) - 1
        elif kind == IS_TOMBSTONE:
            stop = _tombstone(run, row)
        elif kind == IS_PASSED:
            stop = GO_ON
        else:
            stop = STOP_ALONE
        if stop != GO_ON:
            return row, stop
        row += 1
    return row, STOP_END


@compiled
def replay_write(run: int, row: int) -> int:
    """Replay the write of tombstones that begins with a row, whatever State knows of producers; return STOP_END, or why not."""
    stop = remove_write(run, row)
    return STOP_END if stop == GO_ON else stop


@compiled
def forget_transaction(run: int, producer: int) -> None:
    """Empty a producer's line, whose transaction State knows by now."""
    close_transaction(run, producer)


@step
def _tombstone(run: int, row: int) -> int:
    """Remove a committed offset by its tombstone; stop before a tombstone that also drops pending commits or a group."""
    offsets, groups = load_i64(run + R_OFFSETS), load_i64(run + R_GROUPS)
    subject = row_cell(run, SUBJECT, row)
    group = get_offset(offsets, subject, O_GROUP)
    if load_i64(run + R_OUTSIDE):
        return STOP_ALONE
    if get_offset(offsets, subject, O_PENDING) != NONE:
        return STOP_ALONE
    if get_group(groups, group, G_OUTSIDE):
        return STOP_LOAD
    is_held = get_offset(offsets, subject, O_STORED_IN) == HERE
    left = get_group(groups, group, G_IN_TABLES) - (1 if is_held else 0)
    if left == 0 and get_group(groups, group, G_PRESENT) == SIMPLE:
        return STOP_ALONE
    set_group(groups, group, G_IN_TABLES, left)
    set_offset(offsets, subject, O_STORED_IN, NOWHERE)
    return GO_ON
