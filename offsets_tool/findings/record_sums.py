"""Sum up the records of a log partition: the bytes of each group, and at which offsets records of which version are.

Takes records one by one, or sums of many. Judges nothing.
"""

from collections import Counter
from collections.abc import Mapping

from offsets_tool.events import Event
from offsets_tool.expiry.log_facts import TypeVersion, UnreadKeys, VersionRange


class RecordSums:
    """Sums over the records of one log partition."""

    def __init__(self, log_partition: int | None) -> None:
        """Start before the first record."""
        self.log_partition = log_partition
        self.bytes: Counter[str] = Counter()
        """By group, the bytes of keys and values of its records."""
        self.versions: Mapping[TypeVersion, VersionRange] = {}
        """Where records of which type and version are, as LogFacts counted them; empty if nobody did."""

        self.unread = UnreadKeys()
        """Records whose keys were not understood, as LogFacts counted them."""

    def bytes_of(self, group: str) -> int:
        """Return the bytes of the keys and values of a group's records."""
        return self.bytes[group]

    def observe(self, event: Event) -> None:
        """Add the record of an event; an absence, which has no record, is ignored."""
        if not event.is_absence and event.group is not None:
            self.bytes[event.group] += len(event.record.key or b"") + len(event.record.value or b"")
