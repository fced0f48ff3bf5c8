"""Committed offsets and their groups by number, from rows that name them: what repeats in a batch is looked up once.

As plain_commits.Subjects does from raw keys, where rows have none.
"""

from typing import Final

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.plain_commits import numbers
from offsets_tool.columns.replay.row_events import encoded
from offsets_tool.replay.changes import OffsetOf
from offsets_tool.wire.text import from_shown, shown

_PARTITION: Final = 0xFFFF_FFFF


class RowSubjects:
    """Numbers are given in the order of being seen, and stay."""

    def __init__(self) -> None:
        self.offsets: list[OffsetOf] = []
        self.shown: list[tuple[str, str]] = []
        """By subject: its group and topic as rows have them."""
        self.groups: list[str] = []
        self.of_group: list[list[int]] = []
        """By group: its subjects."""
        self.group_of: Array = np.zeros(1 << 10, np.int64)
        """By subject: its group."""
        self._group_numbers: dict[str, int] = {}
        self._topic_numbers: dict[tuple[str, str], int] = {}
        self._topics: list[tuple[str, str]] = []
        """Groups and topics, by number."""
        self._subject_numbers: dict[int, int] = {}

    def group_number(self, group: str) -> int | None:
        """A group's number, if it was seen."""
        return self._group_numbers.get(group)

    def number(self, offset: OffsetOf) -> int | None:
        """A committed offset's number, if it was seen."""
        topic = self._topic_numbers.get((offset.group, offset.topic))
        return None if topic is None else self._subject_numbers.get(_key(topic, offset.partition))

    def of(self, rows: pa.RecordBatch, places: Array) -> Array:
        """The subjects of the commits at these places."""
        some = rows.select(["group", "topic", "partition"]).take(pa.array(places))
        groups, topics = encoded(some.column("group")), encoded(some.column("topic"))
        pairs = groups.indices.to_numpy().astype(np.int64) << 32 | topics.indices.to_numpy()
        distinct, which = np.unique(pairs, return_inverse=True)
        known = [
            self._topic(
                *map(
                    from_shown,
                    (groups.dictionary[pair >> 32].as_py(), topics.dictionary[pair & _PARTITION].as_py()),
                )
            )
            for pair in distinct.tolist()
        ]
        partitions = numbers(some.column("partition"), 0).astype(np.int64) & _PARTITION
        keys = np.array(known, np.int64)[which] << 32 | partitions
        distinct, which = np.unique(keys, return_inverse=True)
        found: Array = np.array([self._subject(key) for key in distinct.tolist()], np.int64)[which]
        return found

    def _topic(self, group: str, topic: str) -> int:
        number = self._topic_numbers.setdefault((group, topic), len(self._topics))
        if number == len(self._topics):
            self._topics.append((group, topic))
            if self._group_numbers.setdefault(group, len(self.groups)) == len(self.groups):
                self.groups.append(group)
                self.of_group.append([])
        return number

    def _subject(self, key: int) -> int:
        number = self._subject_numbers.get(key)
        if number is not None:
            return number
        number = self._subject_numbers[key] = len(self.offsets)
        partition = key & _PARTITION
        offset = OffsetOf(*self._topics[key >> 32], partition - (partition >> 31 << 32))
        self.offsets.append(offset)
        self.shown.append((shown(offset.group), shown(offset.topic)))
        group = self._group_numbers[offset.group]
        self.of_group[group].append(number)
        if number == len(self.group_of):
            self.group_of = np.concatenate((self.group_of, np.zeros_like(self.group_of)))
        self.group_of[number] = group
        return number


def _key(topic: int, partition: int) -> int:
    return topic << 32 | (partition & _PARTITION)
