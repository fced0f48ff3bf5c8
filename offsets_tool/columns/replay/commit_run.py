"""Compiled: runs of commits, markers and tombstones, row by row, as replay.offsets replays them; stops before all else.

Knows what holds by the tables (tables.py) and nothing that is not in them: a row whose outcome needs more is ALONE. With a history,
it says which rows of offset_history ended, and takes only what cannot show in one that began or ended otherwise.
"""

from typing import Final

from offsets_tool.columns.jit.machine import compiled, load_cell, load_i64, step, store_cell, store_i64
from offsets_tool.columns.replay.tables import (
    NONE,
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
from offsets_tool.history.rows import OffsetBegan, OffsetEnd

BEGAN: Final = tuple(OffsetBegan)
ENDS: Final = tuple(OffsetEnd)
"""Causes by their numbers in the tables."""

_offset: Final = load_cell(WIDTHS[Offset])
_set_offset: Final = store_cell(WIDTHS[Offset])
_group: Final = load_cell(WIDTHS[Group])
_set_group: Final = store_cell(WIDTHS[Group])
_producer: Final = load_cell(WIDTHS[Producer])
_set_producer: Final = store_cell(WIDTHS[Producer])
_slot: Final = load_cell(WIDTHS[Slot])
_set_slot: Final = store_cell(WIDTHS[Slot])
_set_ended: Final = store_cell(WIDTHS[Ended])
_set_ask: Final = store_cell(WIDTHS[Ask])

# Compiled code takes plain integers.
_WORD: Final = 8
_OFFSET_LINE: Final = _WORD * WIDTHS[Offset]
_SLOT_LINE: Final = _WORD * WIDTHS[Slot]
_ENDED_LINE: Final = _WORD * WIDTHS[Ended]
_FACTS: Final = len(Fact)
_SAID: Final = 5
_NONE: Final = NONE

_KIND: Final = int(RowField.KIND)
_SUBJECT: Final = int(RowField.SUBJECT)
_PRODUCER: Final = int(RowField.PRODUCER)
_PRODUCER_EPOCH: Final = int(RowField.PRODUCER_EPOCH)
_LOG_OFFSET: Final = int(RowField.LOG_OFFSET)
_TIMESTAMP: Final = int(RowField.TIMESTAMP)
_FIRST_SAID: Final = int(RowField.COMMITTED_OFFSET)

_IS_COMMIT: Final = int(Kind.COMMIT)
_IS_PENDING: Final = int(Kind.PENDING)
_IS_COMMIT_MARKER: Final = int(Kind.COMMIT_MARKER)
_IS_ABORT_MARKER: Final = int(Kind.ABORT_MARKER)
_IS_TOMBSTONE: Final = int(Kind.TOMBSTONE)
_IS_PASSED: Final = int(Kind.PASSED)

_F_COMMITTED: Final = int(Fact.COMMITTED_OFFSET)
_F_COMMIT_TIMESTAMP: Final = int(Fact.COMMIT_TIMESTAMP)
_F_TOPIC_ID: Final = int(Fact.TOPIC_ID)
_F_COMMIT_AT: Final = int(Fact.COMMIT_LOG_OFFSET)
_F_TEXT: Final = int(Fact.TEXT)
_F_FROM: Final = int(Fact.FROM_LOG_OFFSET)
_F_FROM_TIMESTAMP: Final = int(Fact.FROM_TIMESTAMP)
_F_BEGIN: Final = int(Fact.BEGIN_CAUSE)
_F_EFFECTIVE: Final = int(Fact.IS_EFFECTIVE)
_F_BEFORE: Final = int(Fact.BEFORE)
_F_HAS_BEFORE: Final = int(Fact.HAS_BEFORE)
_F_OWNER: Final = int(Fact.OWNER)
_F_PRODUCER: Final = int(Fact.PRODUCER)
_F_NOOP: Final = int(Fact.NOOP_TOMBSTONE)

_O_HELD: Final = int(Offset.HELD)
_O_GROUP: Final = int(Offset.GROUP)
_O_PENDING: Final = int(Offset.PENDING)
_O_STAMP: Final = int(Offset.OWNER_STAMP)
_O_OWNER_TOPIC: Final = int(Offset.OWNER_TOPIC_ID)
_O_OWNER: Final = int(Offset.OWNER)
_O_LIFE: Final = int(Offset.LIFE)
_O_BEGAN: Final = int(Offset.BEGAN)
_O_COMMITTED_AT: Final = int(Offset.COMMITTED_AT)
_O_LIFE_TOPIC: Final = int(Offset.LIFE_TOPIC_ID)
_NOWHERE: Final = int(Held.NOWHERE)
_HERE: Final = int(Held.HERE)
_OUTSIDE: Final = int(Held.OUTSIDE)

_S_SUBJECT: Final = int(Slot.SUBJECT)
_S_NEXT: Final = int(Slot.NEXT)
_S_NEXT_OF_SUBJECT: Final = int(Slot.NEXT_OF_SUBJECT)

_G_PRESENT: Final = int(Group.PRESENT)
_G_FIRST: Final = int(Group.FIRST)
_G_IS_NEW: Final = int(Group.IS_NEW)
_G_HELD: Final = int(Group.HELD)
_G_OUTSIDE: Final = int(Group.IS_OUTSIDE)
_G_STAMP: Final = int(Group.STAMP)
_G_CHANGED: Final = int(Group.CHANGED)
_ABSENT: Final = int(Present.NO)
_SIMPLE: Final = int(Present.SIMPLE)

_P_OPEN: Final = int(Producer.OPEN)
_P_EPOCH: Final = int(Producer.EPOCH)
_P_FIRST: Final = int(Producer.FIRST)
_P_FIRST_TIMESTAMP: Final = int(Producer.FIRST_TIMESTAMP)
_P_LAST: Final = int(Producer.LAST)
_P_LAST_TIMESTAMP: Final = int(Producer.LAST_TIMESTAMP)
_P_COMMITS: Final = int(Producer.COMMITS)
_P_HEAD: Final = int(Producer.HEAD)
_P_TAIL: Final = int(Producer.TAIL)
_P_COUNT: Final = int(Producer.COUNT)

_E_SUBJECT: Final = int(Ended.SUBJECT)
_E_TO: Final = int(Ended.TO_LOG_OFFSET)
_E_TO_TIMESTAMP: Final = int(Ended.TO_TIMESTAMP)
_E_CAUSE: Final = int(Ended.END_CAUSE)
_A_SUBJECT: Final = int(Ask.SUBJECT)
_A_TOPIC: Final = int(Ask.TOPIC_ID)
_A_OWNER: Final = int(Ask.OWNER)

_R_ROWS: Final = _WORD * Run.ROWS
_R_COUNT: Final = _WORD * Run.COUNT
_R_BASE: Final = _WORD * Run.BASE
_R_OFFSETS: Final = _WORD * Run.OFFSETS
_R_GROUPS: Final = _WORD * Run.GROUPS
_R_PRODUCERS: Final = _WORD * Run.PRODUCERS
_R_SLOTS: Final = _WORD * Run.SLOTS
_R_FREE: Final = _WORD * Run.FREE_SLOT
_R_ENDED: Final = _WORD * Run.ENDED
_R_ENDED_MOST: Final = _WORD * Run.ENDED_MOST
_R_ENDED_COUNT: Final = _WORD * Run.ENDED_COUNT
_R_ASKS: Final = _WORD * Run.ASKS
_R_ASK_COUNT: Final = _WORD * Run.ASK_COUNT
_R_NEXT_OWNER: Final = _WORD * Run.NEXT_OWNER
_R_IS_NEW: Final = _WORD * Run.IS_NEW
_R_HAS_HISTORY: Final = _WORD * Run.HAS_HISTORY
_R_OUTSIDE: Final = _WORD * Run.OUTSIDE

_STOP_END: Final = int(Stop.END)
_STOP_ALONE: Final = int(Stop.ALONE)
_STOP_LOAD: Final = int(Stop.LOAD)
_STOP_FULL: Final = int(Stop.FULL)
_GO_ON: Final = -1

_BY_COMMIT: Final = BEGAN.index(OffsetBegan.COMMIT)
_BY_TRANSACTION: Final = BEGAN.index(OffsetBegan.TRANSACTION)
_SUPERSEDED: Final = ENDS.index(OffsetEnd.SUPERSEDED)
_COMMITTED: Final = ENDS.index(OffsetEnd.COMMITTED)


@compiled
def replay_run(run: int, row: int) -> tuple[int, int]:
    """Replay rows from `row` on; return the row before which it stopped, and why (Stop)."""
    count = load_i64(run + _R_COUNT)
    while row < count:
        kind = _cell(run, _KIND, row)
        if kind == _IS_COMMIT:
            stop = _commit(run, row)
        elif kind == _IS_PENDING:
            stop = _pending(run, row)
        elif kind == _IS_COMMIT_MARKER:
            stop = _commit_marker(run, row)
        elif kind == _IS_ABORT_MARKER:
            stop = _abort_marker(run, row)
        elif kind == _IS_TOMBSTONE:
            stop = _tombstone(run, row)
        elif kind == _IS_PASSED:
            stop = _GO_ON
        else:
            stop = _STOP_ALONE
        if stop != _GO_ON:
            return row, stop
        row += 1
    return row, _STOP_END


@step
def _cell(run: int, field: int, row: int) -> int:
    return load_i64(load_i64(run + _R_ROWS) + _WORD * (field * load_i64(run + _R_COUNT) + row))


@step
def _commit(run: int, row: int) -> int:
    offsets, groups = load_i64(run + _R_OFFSETS), load_i64(run + _R_GROUPS)
    subject = _cell(run, _SUBJECT, row)
    group = _offset(offsets, subject, _O_GROUP)
    if _group(groups, group, _G_OUTSIDE):
        return _STOP_LOAD
    log_offset = _cell(run, _LOG_OFFSET, row)
    stop = _make_simple_group(run, group, log_offset)
    if stop != _GO_ON:
        return stop
    timestamp = _cell(run, _TIMESTAMP, row)
    line = offsets + subject * _OFFSET_LINE
    if _end_effective(run, subject, log_offset, timestamp) == _STOP_FULL:
        return _STOP_FULL
    _say(run, row, line)
    store_i64(line + _WORD * _F_BEGIN, _BY_COMMIT)
    store_i64(line + _WORD * _F_EFFECTIVE, 1)
    store_i64(line + _WORD * _F_PRODUCER, _NONE)
    if load_i64(run + _R_HAS_HISTORY):
        store_i64(line + _WORD * _F_OWNER, _owner(run, subject, load_i64(line + _WORD * _F_TOPIC_ID)))
        _live(offsets, subject, timestamp)
    _hold(offsets, groups, subject, group)
    return _GO_ON


@step
def _make_simple_group(run: int, group: int, log_offset: int) -> int:
    """Make a group of its first commit. A history tells a new group's row, and so replays such a commit alone."""
    groups = load_i64(run + _R_GROUPS)
    if _group(groups, group, _G_PRESENT) != _ABSENT:
        return _GO_ON
    if load_i64(run + _R_HAS_HISTORY):
        return _STOP_ALONE
    _set_group(groups, group, _G_PRESENT, _SIMPLE)
    _set_group(groups, group, _G_FIRST, log_offset)
    _set_group(groups, group, _G_IS_NEW, 1)
    return _GO_ON


@step
def _say(run: int, row: int, line: int) -> None:
    """Write what a row's commit says to a line, and that it holds from this row on."""
    for place in range(_SAID):
        store_i64(line + _WORD * place, _cell(run, _FIRST_SAID + place, row))
    log_offset = _cell(run, _LOG_OFFSET, row)
    store_i64(line + _WORD * _F_COMMIT_AT, log_offset)
    store_i64(line + _WORD * _F_TEXT, load_i64(run + _R_BASE) + row)
    store_i64(line + _WORD * _F_FROM, log_offset)
    store_i64(line + _WORD * _F_FROM_TIMESTAMP, _cell(run, _TIMESTAMP, row))
    store_i64(line + _WORD * _F_NOOP, _NONE)


@step
def _end_effective(run: int, subject: int, log_offset: int, timestamp: int) -> int:
    """End the row of the commit that is effective, and keep what it committed as what was before the next."""
    offsets = load_i64(run + _R_OFFSETS)
    line = offsets + subject * _OFFSET_LINE
    is_held = _offset(offsets, subject, _O_HELD) == _HERE
    if is_held:
        if _end(run, line, subject, log_offset, timestamp, _SUPERSEDED) == _STOP_FULL:
            return _STOP_FULL
        store_i64(line + _WORD * _F_BEFORE, load_i64(line + _WORD * _F_COMMITTED))
    store_i64(line + _WORD * _F_HAS_BEFORE, 1 if is_held else 0)
    return _GO_ON


@step
def _end(run: int, line: int, subject: int, log_offset: int, timestamp: int, cause: int) -> int:
    """Tell that the commit in a line held until here; not if it began here."""
    if not load_i64(run + _R_HAS_HISTORY) or load_i64(line + _WORD * _F_FROM) == log_offset:
        return _GO_ON
    ended, number = load_i64(run + _R_ENDED), load_i64(run + _R_ENDED_COUNT)
    if number == load_i64(run + _R_ENDED_MOST):
        return _STOP_FULL
    store_i64(run + _R_ENDED_COUNT, number + 1)
    for place in range(_FACTS):
        store_i64(ended + number * _ENDED_LINE + _WORD * place, load_i64(line + _WORD * place))
    _set_ended(ended, number, _E_SUBJECT, subject)
    _set_ended(ended, number, _E_TO, log_offset)
    _set_ended(ended, number, _E_TO_TIMESTAMP, timestamp)
    _set_ended(ended, number, _E_CAUSE, cause)
    return _GO_ON


@step
def _owner(run: int, subject: int, topic_id: int) -> int:
    """Return the number of an offset's owner; one that is not known, or may be another by now, is asked for."""
    offsets, groups = load_i64(run + _R_OFFSETS), load_i64(run + _R_GROUPS)
    stamp = _group(groups, _offset(offsets, subject, _O_GROUP), _G_STAMP)
    is_known = _offset(offsets, subject, _O_STAMP) == stamp
    if is_known and _offset(offsets, subject, _O_OWNER_TOPIC) == topic_id:
        return _offset(offsets, subject, _O_OWNER)
    number, asks = load_i64(run + _R_NEXT_OWNER), load_i64(run + _R_ASK_COUNT)
    store_i64(run + _R_NEXT_OWNER, number + 1)
    store_i64(run + _R_ASK_COUNT, asks + 1)
    _set_ask(load_i64(run + _R_ASKS), asks, _A_SUBJECT, subject)
    _set_ask(load_i64(run + _R_ASKS), asks, _A_TOPIC, topic_id)
    _set_ask(load_i64(run + _R_ASKS), asks, _A_OWNER, number)
    _set_offset(offsets, subject, _O_STAMP, stamp)
    _set_offset(offsets, subject, _O_OWNER_TOPIC, topic_id)
    _set_offset(offsets, subject, _O_OWNER, number)
    return number


@step
def _live(offsets: int, subject: int, timestamp: int) -> None:
    """Keep since when the group has had an offset here without a break (expiry.lifetimes)."""
    topic_id = _offset(offsets, subject, _F_TOPIC_ID)
    at = timestamp
    if at < 0:
        at = _offset(offsets, subject, _F_COMMIT_TIMESTAMP)
    if at < 0:
        at = _NONE
    was = _offset(offsets, subject, _O_LIFE_TOPIC)
    goes_on = _offset(offsets, subject, _O_LIFE) == 1 and (was == topic_id or was == 0 or topic_id == 0)
    if not goes_on:
        _set_offset(offsets, subject, _O_BEGAN, at)
    if not goes_on or topic_id != 0:
        _set_offset(offsets, subject, _O_LIFE_TOPIC, topic_id)
    _set_offset(offsets, subject, _O_LIFE, 1)
    _set_offset(offsets, subject, _O_COMMITTED_AT, at)


@step
def _hold(offsets: int, groups: int, subject: int, group: int) -> None:
    if _offset(offsets, subject, _O_HELD) != _HERE:
        _set_offset(offsets, subject, _O_HELD, _HERE)
        _set_group(groups, group, _G_HELD, _group(groups, group, _G_HELD) + 1)


@step
def _pending(run: int, row: int) -> int:
    offsets, groups, slots = (
        load_i64(run + _R_OFFSETS),
        load_i64(run + _R_GROUPS),
        load_i64(run + _R_SLOTS),
    )
    subject, producer = _cell(run, _SUBJECT, row), _cell(run, _PRODUCER, row)
    group = _offset(offsets, subject, _O_GROUP)
    if _producer(load_i64(run + _R_PRODUCERS), producer, _P_OPEN) == _OUTSIDE:
        return _STOP_ALONE
    if _group(groups, group, _G_OUTSIDE):
        return _STOP_LOAD
    log_offset = _cell(run, _LOG_OFFSET, row)
    stop = _make_simple_group(run, group, log_offset)
    if stop != _GO_ON:
        return stop
    slot = _offset(offsets, subject, _O_PENDING)
    while slot != _NONE and _slot(slots, slot, _F_PRODUCER) != producer:
        slot = _slot(slots, slot, _S_NEXT_OF_SUBJECT)
    if slot == _NONE:
        slot = _take_slot(run, subject, producer)
        _set_group(groups, group, _G_HELD, _group(groups, group, _G_HELD) + 1)
    elif (
        _end(run, slots + slot * _SLOT_LINE, subject, log_offset, _cell(run, _TIMESTAMP, row), _SUPERSEDED)
        == _STOP_FULL
    ):
        return _STOP_FULL
    _say(run, row, slots + slot * _SLOT_LINE)
    _extend_transaction(run, row, producer)
    _set_slot(slots, slot, _F_BEGIN, _BY_TRANSACTION)
    _set_slot(slots, slot, _F_EFFECTIVE, 0)
    _set_slot(slots, slot, _F_PRODUCER, producer)
    _set_slot(slots, slot, _F_HAS_BEFORE, 1 if _offset(offsets, subject, _O_HELD) == _HERE else 0)
    _set_slot(slots, slot, _F_BEFORE, _offset(offsets, subject, _F_COMMITTED))
    if load_i64(run + _R_HAS_HISTORY):
        _set_slot(slots, slot, _F_OWNER, _owner(run, subject, _slot(slots, slot, _F_TOPIC_ID)))
    return _GO_ON


@step
def _take_slot(run: int, subject: int, producer: int) -> int:
    """Take a free slot, the last of its producer's and the first of its subject's."""
    offsets, producers, slots = (
        load_i64(run + _R_OFFSETS),
        load_i64(run + _R_PRODUCERS),
        load_i64(run + _R_SLOTS),
    )
    slot = load_i64(run + _R_FREE)
    store_i64(run + _R_FREE, _slot(slots, slot, _S_NEXT))
    _set_slot(slots, slot, _S_SUBJECT, subject)
    _set_slot(slots, slot, _S_NEXT, _NONE)
    _set_slot(slots, slot, _S_NEXT_OF_SUBJECT, _offset(offsets, subject, _O_PENDING))
    _set_offset(offsets, subject, _O_PENDING, slot)
    last = _producer(producers, producer, _P_TAIL)
    if last == _NONE:
        _set_producer(producers, producer, _P_HEAD, slot)
    else:
        _set_slot(slots, last, _S_NEXT, slot)
    _set_producer(producers, producer, _P_TAIL, slot)
    _set_producer(producers, producer, _P_COUNT, _producer(producers, producer, _P_COUNT) + 1)
    return slot


@step
def _extend_transaction(run: int, row: int, producer: int) -> None:
    producers = load_i64(run + _R_PRODUCERS)
    log_offset, timestamp = _cell(run, _LOG_OFFSET, row), _cell(run, _TIMESTAMP, row)
    if _producer(producers, producer, _P_OPEN) == _NOWHERE:
        _set_producer(producers, producer, _P_OPEN, _HERE)
        _set_producer(producers, producer, _P_EPOCH, _cell(run, _PRODUCER_EPOCH, row))
        _set_producer(producers, producer, _P_FIRST, log_offset)
        _set_producer(producers, producer, _P_FIRST_TIMESTAMP, timestamp)
        _set_producer(producers, producer, _P_COMMITS, 0)
    _set_producer(producers, producer, _P_LAST, log_offset)
    _set_producer(producers, producer, _P_LAST_TIMESTAMP, timestamp)
    _set_producer(producers, producer, _P_COMMITS, _producer(producers, producer, _P_COMMITS) + 1)


@step
def _commit_marker(run: int, row: int) -> int:
    producers, slots, offsets, groups = (
        load_i64(run + _R_PRODUCERS),
        load_i64(run + _R_SLOTS),
        load_i64(run + _R_OFFSETS),
        load_i64(run + _R_GROUPS),
    )
    producer = _cell(run, _PRODUCER, row)
    stop = _before_commit(run, producer)
    if stop != _GO_ON:
        return stop
    log_offset, timestamp = _cell(run, _LOG_OFFSET, row), _cell(run, _TIMESTAMP, row)
    slot = _producer(producers, producer, _P_HEAD)
    while slot != _NONE:
        subject = _slot(slots, slot, _S_SUBJECT)
        group = _offset(offsets, subject, _O_GROUP)
        line = slots + slot * _SLOT_LINE
        _end(run, line, subject, log_offset, timestamp, _COMMITTED)
        if _wins(run, slot, subject):
            _commit_slot(run, line, subject, log_offset, timestamp)
            if not load_i64(run + _R_IS_NEW):
                _make_simple_group(run, group, log_offset)
            _hold(offsets, groups, subject, group)
        if timestamp >= 0:
            _set_group(groups, group, _G_CHANGED, timestamp)
        slot = _slot(slots, slot, _S_NEXT)
    _close(run, producer)
    return _GO_ON


@step
def _before_commit(run: int, producer: int) -> int:
    """Return why a COMMIT marker cannot be replayed here; GO_ON if it can."""
    producers, slots, offsets, groups = (
        load_i64(run + _R_PRODUCERS),
        load_i64(run + _R_SLOTS),
        load_i64(run + _R_OFFSETS),
        load_i64(run + _R_GROUPS),
    )
    if _producer(producers, producer, _P_OPEN) == _OUTSIDE:
        return _STOP_ALONE
    has_history = load_i64(run + _R_HAS_HISTORY)
    needed = load_i64(run + _R_ENDED_COUNT) + 2 * _producer(producers, producer, _P_COUNT)
    if has_history and needed > load_i64(run + _R_ENDED_MOST):
        return _STOP_FULL
    slot = _producer(producers, producer, _P_HEAD)
    while slot != _NONE:
        subject = _slot(slots, slot, _S_SUBJECT)
        group = _offset(offsets, subject, _O_GROUP)
        if _group(groups, group, _G_OUTSIDE):
            return _STOP_LOAD
        is_absent = _group(groups, group, _G_PRESENT) == _ABSENT
        if has_history and (is_absent or not _wins(run, slot, subject)):
            return _STOP_ALONE
        slot = _slot(slots, slot, _S_NEXT)
    return _GO_ON


@step
def _wins(run: int, slot: int, subject: int) -> bool:
    """Return whether no later commit is effective than the pending one."""
    offsets, slots = load_i64(run + _R_OFFSETS), load_i64(run + _R_SLOTS)
    if _offset(offsets, subject, _O_HELD) != _HERE:
        return True
    return _offset(offsets, subject, _F_COMMIT_AT) < _slot(slots, slot, _F_COMMIT_AT)


@step
def _commit_slot(run: int, slot_line: int, subject: int, log_offset: int, timestamp: int) -> None:
    """Make a pending commit effective: it keeps its owner and how it began."""
    offsets = load_i64(run + _R_OFFSETS)
    line = offsets + subject * _OFFSET_LINE
    _end_effective(run, subject, log_offset, timestamp)
    before, has_before = load_i64(line + _WORD * _F_BEFORE), load_i64(line + _WORD * _F_HAS_BEFORE)
    for place in range(_FACTS):
        store_i64(line + _WORD * place, load_i64(slot_line + _WORD * place))
    store_i64(line + _WORD * _F_FROM, log_offset)
    store_i64(line + _WORD * _F_FROM_TIMESTAMP, timestamp)
    store_i64(line + _WORD * _F_EFFECTIVE, 1)
    store_i64(line + _WORD * _F_BEFORE, before)
    store_i64(line + _WORD * _F_HAS_BEFORE, has_before)
    if load_i64(run + _R_HAS_HISTORY):
        _live(offsets, subject, timestamp)


@step
def _close(run: int, producer: int) -> None:
    """End a producer's transaction, and free the slots of its pending commits."""
    producers, slots, offsets, groups = (
        load_i64(run + _R_PRODUCERS),
        load_i64(run + _R_SLOTS),
        load_i64(run + _R_OFFSETS),
        load_i64(run + _R_GROUPS),
    )
    slot = _producer(producers, producer, _P_HEAD)
    while slot != _NONE:
        subject = _slot(slots, slot, _S_SUBJECT)
        group = _offset(offsets, subject, _O_GROUP)
        _set_group(groups, group, _G_HELD, _group(groups, group, _G_HELD) - 1)
        _unlink(offsets, slots, subject, slot)
        next_ = _slot(slots, slot, _S_NEXT)
        _set_slot(slots, slot, _S_NEXT, load_i64(run + _R_FREE))
        store_i64(run + _R_FREE, slot)
        slot = next_
    _set_producer(producers, producer, _P_HEAD, _NONE)
    _set_producer(producers, producer, _P_TAIL, _NONE)
    _set_producer(producers, producer, _P_COUNT, 0)
    _set_producer(producers, producer, _P_OPEN, _NOWHERE)


@step
def _unlink(offsets: int, slots: int, subject: int, slot: int) -> None:
    """Take a slot out of its subject's chain."""
    at = _offset(offsets, subject, _O_PENDING)
    next_ = _slot(slots, slot, _S_NEXT_OF_SUBJECT)
    if at == slot:
        _set_offset(offsets, subject, _O_PENDING, next_)
    else:
        while _slot(slots, at, _S_NEXT_OF_SUBJECT) != slot:
            at = _slot(slots, at, _S_NEXT_OF_SUBJECT)
        _set_slot(slots, at, _S_NEXT_OF_SUBJECT, next_)


@compiled
def forget_transaction(run: int, producer: int) -> None:
    """Empty a producer's line, whose transaction State knows by now."""
    _close(run, producer)


@step
def _abort_marker(run: int, row: int) -> int:
    """Drop what is pending. A history tells what was dropped, and so replays such a marker alone."""
    producers = load_i64(run + _R_PRODUCERS)
    producer = _cell(run, _PRODUCER, row)
    if _producer(producers, producer, _P_OPEN) == _OUTSIDE:
        return _STOP_ALONE
    if load_i64(run + _R_HAS_HISTORY) and _producer(producers, producer, _P_COUNT):
        return _STOP_ALONE
    _close(run, producer)
    return _GO_ON


@step
def _tombstone(run: int, row: int) -> int:
    """Remove an offset, where that is all: nothing is pending there, and the group stays, or is not there."""
    offsets, groups = load_i64(run + _R_OFFSETS), load_i64(run + _R_GROUPS)
    subject = _cell(run, _SUBJECT, row)
    group = _offset(offsets, subject, _O_GROUP)
    if load_i64(run + _R_HAS_HISTORY) or load_i64(run + _R_OUTSIDE):
        return _STOP_ALONE
    if _offset(offsets, subject, _O_PENDING) != _NONE:
        return _STOP_ALONE
    if _group(groups, group, _G_OUTSIDE):
        return _STOP_LOAD
    is_held = _offset(offsets, subject, _O_HELD) == _HERE
    left = _group(groups, group, _G_HELD) - (1 if is_held else 0)
    if left == 0 and _group(groups, group, _G_PRESENT) == _SIMPLE:
        return _STOP_ALONE
    _set_group(groups, group, _G_HELD, left)
    _set_offset(offsets, subject, _O_HELD, _NOWHERE)
    return _GO_ON
