"""Tombstones that changed nothing, as Changes: compaction had taken what they are for, and yet they tell that it went."""

from collections.abc import Iterable, Iterator
from typing import Final

from offsets_tool.events import Event
from offsets_tool.replay.changes import Change, ChangeKind, GroupOf, OffsetOf, PendingOf

_OFFSETS: Final = (0, 1)
_GROUPS: Final = (2, 3, 17)


def bare_tombstone(event: Event, changes: Iterable[Change]) -> Iterator[Change]:
    """A tombstone of an offset or a group that changed nothing of what it is for."""
    if event.key is None or event.value is not None or event.kept_raw is not None:
        return
    subject = _subject(event)
    told = (OffsetOf, PendingOf) if isinstance(subject, OffsetOf) else (GroupOf,)
    if subject is None or any(isinstance(change.subject, told) for change in changes):
        return
    record = event.record
    batch = record.log_offset if record.batch is None else record.batch.base_offset
    yield Change(
        record.log_partition, record.log_offset, record.timestamp, batch, ChangeKind.DELETED, subject
    )


def _subject(event: Event) -> OffsetOf | GroupOf | None:
    """The offset, or the group by its own record, that an event is about."""
    if event.type_id in _OFFSETS and event.key is not None:
        key = event.key.data
        return OffsetOf(key.group, key.topic, key.partition)
    return GroupOf(event.group) if event.type_id in _GROUPS and event.group is not None else None


def is_bare(change: Change) -> bool:
    """Whether a Change is of nothing to nothing."""
    return change.before is None and change.after is None
