"""What a log proves at a moment: where records are missing, and which keys have an unknown value then.

Compaction removes a record when a newer one has its key, even one from after the moment. So where offsets are missing, a key whose
first record lies behind the moment may have had a value before. Every other key's value is in the log, because the cleaner removes
the oldest record first. Keys that were deleted and then removed altogether leave nothing: `missing` counts offsets, not keys.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from offsets_tool.events import Event
from offsets_tool.records.kinds import COMMITS
from offsets_tool.replay.changes import GroupOf, OffsetOf


class Contradiction(NamedTuple):
    """Copies of one log partition that are of several histories, of which one was replayed."""

    log_offset: int
    """From where on they are."""
    copy: str
    """A copy of the history that was replayed."""
    left_out: int
    """Records of the others."""
    left_out_at: int | None
    """The newest time of these, in epoch milliseconds."""
    doubted: frozenset[OffsetOf | GroupOf] = frozenset()
    """What has other records in another history, where nothing says which is in force."""


class Coverage:
    """What one partition of the log proves at a moment; call its methods for all events, in the order of their offsets."""

    def __init__(self, end: int | None, *, keys: bool) -> None:
        """Start before the first event; `end` is the moment's end offset, if that is given.

        `keys` False: no event comes after the moment, so no keys need be remembered.
        """
        self.proven_from = 0
        """Every record from this offset up to the moment is present."""
        self.missing = 0
        """Number of offsets below the moment that have no record."""
        self.first_offset: int | None = None
        self.next_offset = 0
        """The offset after the last record that counts."""
        self.end = end
        self._after = False
        self.remembers = keys
        self.keys: set[bytes | None] = set()
        """Raw keys of all events so far, if they are remembered."""
        self.later: dict[OffsetOf | GroupOf, int] = {}
        """Subjects whose key first appears behind the moment, with the offset where it does."""
        self._own: set[str] = set()
        self.contradiction: Contradiction | None = None

    def observe(self, event: Event) -> None:
        """Observe an event that lies before the moment."""
        self._reach(event.record.log_offset)
        self.next_offset = max(self.next_offset, event.record.log_offset + 1)
        # The key of a control record is none, whatever its bytes are.
        if self.remembers and not event.record.is_control:
            self.keys.add(event.record.key)
            self.observe_group_record(event)

    def observe_run(self, first: int, last: int, missing: int, proven_from: int) -> None:
        """Observe all events from offset `first` to `last`, which lie before the moment, without looking at each.

        `missing` offsets between them have no record, the last of these right before `proven_from`. The caller adds their raw
        keys to `keys`, and gives groups that have records of their own to `observe_groups`.
        """
        self._reach(first)
        self.next_offset = max(self.next_offset, last + 1)
        if missing:
            self.missing += missing
            self.proven_from = proven_from

    def observe_group_record(self, event: Event) -> None:
        """Remember that a group has a record of its own, if the event is one."""
        if self.remembers and event.type_id not in COMMITS and event.group is not None:
            self._own.add(event.group)

    def observe_groups(self, groups: Iterable[str]) -> None:
        """Remember that these groups have records of their own."""
        self._own.update(groups)

    def observe_later(self, event: Event, end: int) -> None:
        """Observe an event behind the moment, whose end offset is `end`."""
        if not self._after:
            self._after = True
            self._reach(min(end, event.record.log_offset))
            self.next_offset = max(self.next_offset, end)
        key = event.record.key
        if key in self.keys or (subject := subject_of(event)) is None:
            return
        self.keys.add(key)
        self.later.setdefault(subject, event.record.log_offset)

    def _reach(self, log_offset: int) -> None:
        """Advance to the offset of the next record, and count what is missing before it."""
        if self.first_offset is None:
            self.first_offset = log_offset
        if log_offset > self.next_offset:
            self.missing += log_offset - self.next_offset
            self.proven_from = log_offset

    @property
    def unknown(self) -> Mapping[OffsetOf | GroupOf, int | None]:
        """Subjects that may have had another value at the moment, or one at all, by the offset of their first remaining record.

        None where no record ends that: copies contradict each other.
        """
        doubted = dict.fromkeys(self.contradiction.doubted) if self.contradiction else {}
        return {**(self.later if self.missing else {}), **doubted}

    def proves_kind(self, group: str) -> bool:
        """Return whether a record of the group itself remains from before the moment."""
        return group in self._own


def subject_of(event: Event) -> OffsetOf | GroupOf | None:
    """Return what a record is about; None where its key does not read."""
    if event.key is None:
        return None
    if event.type_id in COMMITS:
        data = event.key.data
        return OffsetOf(data.group, data.topic, data.partition)
    return GroupOf(event.group or "")
