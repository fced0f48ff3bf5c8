"""What a question is about: groups by name, and topics and a partition of theirs where it is about offsets."""

from typing import NamedTuple


class Wanted(NamedTuple):
    """Empty sets and None leave nothing out."""

    groups: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    partition: int | None = None

    def has_group(self, group: str) -> bool:
        """Whether the group is asked for."""
        return not self.groups or group in self.groups

    def has_offset(self, topic: str, partition: int) -> bool:
        """Whether offsets of this partition are asked for."""
        if self.topics and topic not in self.topics:
            return False
        return self.partition is None or partition == self.partition
