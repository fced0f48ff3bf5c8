"""Replay of committed offsets: records of commits, and the markers that end transactions.

A plain commit is effective at once. A transactional commit becomes effective with its producer's COMMIT marker, unless a newer
commit (by the commits' own log offsets) is effective by then. A tombstone removes the committed offset; the rules differ where
commits are pending. Source: GroupMetadataManager.doLoadGroupsAndOffsets (classic), OffsetMetadataManager.replay (new);
KAFKA-14505.
"""

from typing import Final

from offsets_tool.events import Event
from offsets_tool.log.batches.control import ControlMarker
from offsets_tool.records.kinds import COMMITS, Role
from offsets_tool.replay.changes import (
    ChangeKind,
    CommittedOffset,
    Group,
    GroupKind,
    GroupOf,
    GroupState,
    LogOf,
    OffsetOf,
    PendingCommit,
    PendingOf,
    TopicPartition,
    Transaction,
    TransactionOf,
)
from offsets_tool.replay.handling import Handling
from offsets_tool.replay.step import Step
from offsets_tool.rows import NO_PRODUCER_ID, LogRecord
from offsets_tool.wire.schema import ZERO_UUID, Message

RETURNED: Final = (
    "committed though it had been deleted while its transaction was open: the living classic coordinator had forgotten it, "
    "and has it again when it loads this log"
)
UNSURE: Final = (
    "a producer id outside a transaction: the classic coordinator counts the commit at once, "
    "the new one waits for a marker"
)


def replay_transaction(step: Step, event: Event) -> None:
    """Open the transaction that a record is in, or extend it; do nothing for a record outside transactions."""
    record = event.record
    if not record.is_transactional or not _has_producer(record):
        return
    assert record.producer_id is not None
    is_commit = event.type_id in COMMITS
    group = event.group if is_commit else None
    known = step.state.transactions.get(record.producer_id) or _opened(record)
    groups = known.groups if group is None or group in known.groups else (*known.groups, group)
    now = known._replace(
        last_offset=record.log_offset,
        last_timestamp=record.timestamp,
        groups=groups,
        commits=known.commits + is_commit,
    )
    step.set(TransactionOf(record.producer_id), now)


def _opened(record: LogRecord) -> Transaction:
    assert record.producer_id is not None
    at, when = record.log_offset, record.timestamp
    epoch = -1 if record.producer_epoch is None else record.producer_epoch
    return Transaction(record.producer_id, epoch, at, when, at, when, ())


def _has_producer(record: LogRecord) -> bool:
    return record.producer_id is not None and record.producer_id != NO_PRODUCER_ID


def replay_unread(step: Step, key: Message, event: Event) -> OffsetOf | PendingOf:
    """Replay a commit whose value was not understood, and return what it is about: that has a value now that nobody knows."""
    add_simple_group(step, key.group)
    offset = OffsetOf(key.group, key.topic, key.partition)
    subject: OffsetOf | PendingOf = offset
    if _is_pending(step, offset, event.record):
        subject = PendingOf(event.record.producer_id or 0, *offset)
    step.lose(subject, event.record.log_offset)
    return subject


def _replay_commit(step: Step, key: Message, event: Event) -> None:
    offset = OffsetOf(key.group, key.topic, key.partition)
    if event.value is None:
        _replay_tombstone(step, offset, event.record)
        return
    add_simple_group(step, key.group)
    commit = committed_offset(event)
    if _is_pending(step, offset, event.record):
        step.set(PendingOf(event.record.producer_id or 0, *offset), PendingCommit(commit))
    else:
        step.set(offset, commit)


def committed_offset(event: Event) -> CommittedOffset:
    """Return the commit that an event has; the event must be a commit with a value."""
    assert event.value is not None
    data = event.value.data
    topic_id = None if data.topic_id == ZERO_UUID else data.topic_id
    return CommittedOffset(
        data.offset,
        data.leader_epoch,
        data.metadata,
        data.commit_timestamp,
        data.expire_timestamp,
        topic_id,
        event.record.log_offset,
    )


def _is_pending(step: Step, offset: OffsetOf, record: LogRecord) -> bool:
    """Return whether a commit waits for a marker.

    The new coordinator goes by the producer id, the classic one by the batch's transactional bit.
    """
    has_producer = _has_producer(record)
    if has_producer != bool(record.is_transactional):
        step.differs = True
        step.anomaly(offset, UNSURE)
    return has_producer if step.is_new else bool(record.is_transactional) and has_producer


def add_simple_group(step: Step, group: str) -> None:
    """Create a simple group with its first commit, if no group of this name is there."""
    if group not in step.state.groups:
        step.set(GroupOf(group), simple_group(group, step.record.log_offset))


def simple_group(group: str, log_offset: int) -> Group:
    """Return a group without members and generation, first seen at this log offset."""
    return Group(group, GroupKind.SIMPLE, GroupState.EMPTY, log_offset, generation=0)


def _replay_tombstone(step: Step, offset: OffsetOf, record: LogRecord) -> None:
    # In the order of producer ids: which transaction began first decides nothing, and is not always known.
    waiting = [
        PendingOf(producer, *offset)
        for producer, commits in sorted(step.state.pending.items())
        if offset in commits
    ]
    step.differs |= bool(waiting) or _has_producer(record)
    if step.is_new:
        step.delete(offset)
        unread = [producer for producer, commits in step.state.unread.pending.items() if offset in commits]
        for pending in (*waiting, *(PendingOf(producer, *offset) for producer in unread)):
            step.delete(pending)
    elif record.is_transactional:
        step.delete(PendingOf(record.producer_id or 0, *offset))
    else:
        step.delete(offset)
        for pending in waiting:
            _mark_deleted(step, pending)
    remove_unused_simple_group(step, offset.group)


def _mark_deleted(step: Step, pending: PendingOf) -> None:
    before = step.state.get(pending)
    assert isinstance(before, PendingCommit)
    step.set(pending, before._replace(deleted_at=step.record.log_offset))


def remove_unused_simple_group(step: Step, group: str) -> None:
    """Delete a simple group that has lost its last offset, by the classic rules.

    The new coordinator keeps such a group until its own tombstone. Where an abort leaves it without offsets, both keep it for a
    while.
    """
    known = step.state.groups.get(group)
    if known is None or known.kind is not GroupKind.SIMPLE or holds_offsets(step, group):
        return
    step.differs = True
    if not step.is_new:
        step.delete(GroupOf(group))


def replay_absence(step: Step, event: Event) -> None:
    """Remove the committed offset whose key a copy no longer has, or the pending commit whose transaction has ended."""
    assert event.key is not None
    key, producer = event.key.data, event.record.producer_id
    offset = OffsetOf(key.group, key.topic, key.partition)
    if producer is None:
        step.delete(offset)
        return
    step.delete(PendingOf(producer, *offset))
    if not step.state.pending.get(producer):
        step.delete(TransactionOf(producer))


def remove_unused_group(step: Step, group: str) -> None:
    """Delete a simple group whose last offset an absence removed: the log no longer has the group's own tombstone."""
    known = step.state.groups.get(group)
    if known is not None and known.kind is GroupKind.SIMPLE and not holds_offsets(step, group):
        step.delete(GroupOf(group))


def holds_offsets(step: Step, group: str) -> bool:
    """Return whether a group has offsets, committed or pending, known or not."""
    state = step.state
    return (
        group in state.offsets
        or group in state.unread.offsets
        or any(True for _ in state.pending_for(group))
        or any(offset.group == group for commits in state.unread.pending.values() for offset in commits)
    )


def replay_marker(step: Step, marker: ControlMarker) -> None:
    """Replay a COMMIT or ABORT marker; ignore other control records.

    Marker and transaction are paired by the producer id alone, because KIP-890 raises the epoch.
    """
    if marker.type not in ("COMMIT", "ABORT"):
        return
    producer = step.record.producer_id
    if producer is None:
        step.anomaly(
            LogOf(step.record.log_partition), "a marker without a producer id ends no known transaction"
        )
        return
    for offset, waiting in list(step.state.pending.get(producer, {}).items()):
        if marker.type == "COMMIT":
            _commit(step, producer, offset, waiting)
        else:
            step.set(PendingOf(producer, *offset), None, ChangeKind.ABORTED)
    for offset, log_offset in list(step.state.unread.pending.get(producer, {}).items()):
        step.state.unread.take(PendingOf(producer, *offset))
        if marker.type == "COMMIT" and _is_newer(step, offset, log_offset):
            step.lose(offset, log_offset)
    ended = ChangeKind.COMMITTED if marker.type == "COMMIT" else ChangeKind.ABORTED
    step.set(TransactionOf(producer), None, ended)


def _commit(step: Step, producer: int, offset: OffsetOf, waiting: PendingCommit) -> None:
    """Make a pending commit effective unless a later record is.

    The classic loader compares batches instead of records, which comes to the same: a batch has one producer.
    """
    wins = _is_newer(step, offset, waiting.commit.log_offset)
    step.set(PendingOf(producer, *offset), None, ChangeKind.COMMITTED if wins else ChangeKind.SUPERSEDED)
    if not wins:
        return
    if waiting.deleted_at is not None:
        step.anomaly(offset, RETURNED)
    if not step.is_new:
        add_simple_group(step, offset.group)
    step.set(offset, waiting.commit, ChangeKind.COMMITTED)


def _is_newer(step: Step, offset: OffsetOf, log_offset: int) -> bool:
    """Return whether a pending commit, whose record is at `log_offset`, is newer than what its offset has."""
    at = TopicPartition(offset.topic, offset.partition)
    there = step.state.offsets.get(offset.group, {}).get(at)
    unread = step.state.unread.offsets.get(offset.group, {}).get(at, -1)
    return max(unread, -1 if there is None else there.log_offset) < log_offset


REPLAYS: Final = {Role.COMMIT: Handling(_replay_commit)}
"""How records of commits are replayed, by role."""
