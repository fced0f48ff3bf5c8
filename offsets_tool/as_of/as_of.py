"""Which part of a log counts: all up to a time, or up to the end offsets of named partitions. Decides event by event.

A time T means, in each partition, everything before the first record whose timestamp is later than T: all records at T are in.
What comes after that record is out, even with an earlier timestamp (clients' clocks, a change of leader); such records are counted
in `late`. A record whose time is absurd beside those before it cuts nothing. Knows nothing of what the records do.
"""

from collections.abc import Mapping
from typing import NamedTuple

from offsets_tool.events import Event
from offsets_tool.log_clock import LogClock
from offsets_tool.records.kinds import COMMITS
from offsets_tool.rows import NO_TIMESTAMP


class AsOf(NamedTuple):
    """The moment asked for: epoch milliseconds, or end offsets by log partition, or (neither) the end of the log.

    With end offsets, a partition that is not named counts as empty.
    """

    time: int | None = None
    ends: Mapping[int, int] | None = None
    epochs: Mapping[int, int] | None = None
    """Leader epochs by log partition: records of later ones do not count."""

    @property
    def is_end(self) -> bool:
        """Whether the moment is the end of the log, so that every record counts."""
        return self.time is None and self.ends is None

    def cut(self, log_partition: int | None) -> "Cut":
        """Return the cut that this moment makes in one log partition."""
        if self.ends is None:
            return Cut(self.time, None)
        return Cut(None, self.ends.get(log_partition, 0) if log_partition is not None else 0)


class Late(NamedTuple):
    """Records behind the cut whose timestamps are not later than the moment.

    The oldest of them is `back_ms` older than the record that made the cut.
    """

    records: int
    back_ms: int
    until: int
    """The end offset that includes them all."""


class Cut:
    """The end of one partition at a moment.

    `end` is the first offset that does not count; None as long as every record so far counts.
    """

    def __init__(self, time: int | None, end: int | None) -> None:
        self.end = end
        self.clock = LogClock()
        """Has observed the records that count."""
        self.late: Late | None = None
        self.time = time
        self.cut_by: int | None = None
        """Timestamp of the record that made the cut; None if no time is asked for, or the log does not go beyond it."""

    @property
    def newest_timestamp(self) -> int | None:
        """The time of the last record that counts, epoch milliseconds; None without one. Records that others contradict do not."""
        return self.clock.newest

    def holds(self, event: Event) -> bool:
        """Return whether an event lies before the moment; call this for all events in the order of their offsets."""
        timestamp = timestamp_of(event)
        if self._is_past(event.record.log_offset, timestamp):
            if self.time is not None and timestamp is not None and timestamp <= self.time:
                self._add_late(event.record.log_offset, timestamp)
            return False
        if timestamp is not None and not event.is_absence:
            self.clock.observe(event.record.log_offset, timestamp)
        return True

    def _is_past(self, log_offset: int, timestamp: int | None) -> bool:
        if self.end is not None and (self.cut_by is not None or log_offset >= self.end):
            return log_offset >= self.end
        if self.time is None or timestamp is None or not self.is_over(timestamp):
            return False
        self.end, self.cut_by = log_offset, timestamp
        return True

    def is_over(self, timestamp: int) -> bool:
        """Return whether a record of this time, after all observed ones, shows that the time asked for is over."""
        return self.time is not None and timestamp > self.time and not self.clock.is_absurd(timestamp)

    def _add_late(self, log_offset: int, timestamp: int) -> None:
        if self.cut_by is None:
            # Cut by its offset: no record says that the time is over.
            return
        records, back_ms, _ = self.late or Late(0, 0, 0)
        self.late = Late(records + 1, max(back_ms, self.cut_by - timestamp), log_offset + 1)


def timestamp_of(event: Event) -> int | None:
    """Return the record's time in epoch milliseconds; None where it has none.

    Magic 0 has no timestamps: a commit's own time replaces it there, and a record without one is as old as those around it.
    """
    timestamp = event.record.timestamp
    if timestamp != NO_TIMESTAMP:
        return timestamp
    if event.type_id in COMMITS and event.value is not None:
        commit_timestamp: int = event.value.data.commit_timestamp
        return commit_timestamp
    return None
