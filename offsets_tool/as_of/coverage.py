"""What a log still proves at a moment: where records are gone, and of which keys the value at that moment is unknowable.

Compaction takes a record when a newer one has its key, also one from after the moment. So a key whose first record lies behind the
moment may have had a value before, wherever offsets are missing; every other key's value stands in the log, for the cleaner takes
the oldest first. Keys that were deleted and then taken altogether leave nothing: `missing` counts offsets, not keys.
"""

from offsets_tool.events import Event
from offsets_tool.records.kinds import COMMITS
from offsets_tool.replay.changes import GroupOf, OffsetOf


class Coverage:
    """Of one partition; told of every event in the order of their offsets."""

    def __init__(self, end: int | None, *, keys: bool) -> None:
        """`keys` False: no event will come after the moment, so that none need be remembered."""
        self.proven_from = 0
        """From here on up to the moment, every record is there."""
        self.missing = 0
        """How many offsets below the moment have no record."""
        self.first_offset: int | None = None
        self.next_offset = 0
        """The offset after the last record that counts."""
        self.end = end
        self._after = False
        self.remembers = keys
        self.keys: set[bytes | None] = set()
        """Raw keys of all events up to now, if it remembers them."""
        self.later: dict[OffsetOf | GroupOf, int] = {}
        """Subjects of which a key first stands behind the moment, by its offset."""
        self._own: set[str] = set()

    def observe(self, event: Event) -> None:
        """An event that counts."""
        self._reach(event.record.log_offset)
        self.next_offset = max(self.next_offset, event.record.log_offset + 1)
        if self.remembers:
            self.keys.add(event.record.key)
            self.observe_group_record(event)

    def observe_run(self, first: int, last: int, missing: int, proven_from: int) -> None:
        """Take in events that count, from offset `first` to `last`, without looking at each.

        `missing` offsets between them have no record, the last of these right before `proven_from`. The caller adds their raw
        keys to `keys`, and gives records of groups to `observe_group_record`.
        """
        self._reach(first)
        self.next_offset = max(self.next_offset, last + 1)
        if missing:
            self.missing += missing
            self.proven_from = proven_from

    def observe_group_record(self, event: Event) -> None:
        """An event that may be a group's own."""
        if self.remembers and event.type_id not in COMMITS and event.group is not None:
            self._own.add(event.group)

    def observe_later(self, event: Event, end: int) -> None:
        """An event behind the moment, which ends at `end`."""
        if not self._after:
            self._after = True
            self._reach(min(end, event.record.log_offset))
            self.next_offset = max(self.next_offset, end)
        key = event.record.key
        if key in self.keys or event.key is None:
            return
        self.keys.add(key)
        data = event.key.data
        is_offset = event.type_id in COMMITS
        subject = (
            OffsetOf(data.group, data.topic, data.partition) if is_offset else GroupOf(event.group or "")
        )
        self.later.setdefault(subject, event.record.log_offset)

    def _reach(self, log_offset: int) -> None:
        """The next record stands here."""
        if self.first_offset is None:
            self.first_offset = log_offset
        if log_offset > self.next_offset:
            self.missing += log_offset - self.next_offset
            self.proven_from = log_offset

    @property
    def unknown(self) -> dict[OffsetOf | GroupOf, int]:
        """Subjects that may have had another value at the moment, or one at all: by the offset of the first record left of them."""
        return self.later if self.missing else {}

    def proves_kind(self, group: str) -> bool:
        """Whether a record of the group itself is left from before the moment."""
        return group in self._own
