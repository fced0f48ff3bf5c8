"""Committed offsets, groups, producers and topic ids by number, from rows that name them: each is a line of the tables.

Numbers are given in the order of being seen, and stay. Knows nothing of what is committed.
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.columns_of_rows import encoded, numbers, uuid_of
from offsets_tool.columns.numbering import Numbers
from offsets_tool.replay.changes import OffsetOf
from offsets_tool.wire.json import uuid_text
from offsets_tool.wire.text import from_shown, shown

_PARTITION: Final = 0xFFFF_FFFF
_TOPIC_SHIFT: Final = 22
_NAME_BITS: Final = 20
_GROUP_SHIFT: Final = _TOPIC_SHIFT + _NAME_BITS
NO_TOPIC_ID: Final = 0
"""The number of the id that stands for none."""
NOT_NAMED: Final = -1
"""The number of a name that is null."""


class Names:
    """Numbers of texts, as rows show them; each distinct one is looked up once for each dictionary that it comes in."""

    def __init__(self) -> None:
        """Start without names."""
        self.shown: list[str] = []
        self._column: pa.Array = pa.array([], pa.string())
        self.texts: list[str] = []
        """The names as Kafka wrote them."""
        self._numbers: dict[str, int] = {}
        self._dictionary: pa.Array = pa.array([], pa.string())
        self._by_code: Array = np.zeros(0, np.int64)

    def of(self, column: pa.Array) -> Array:
        """Return the number of the name in each row; NOT_NAMED for null."""
        coded = encoded(column)
        self._know(coded.dictionary)
        codes = numbers(coded.indices, len(self._by_code) - 1)
        return self._by_code[codes]

    def column(self, numbers: Array) -> pa.Array:
        """Return the name with each of these numbers, as rows show it."""
        added = self.shown[len(self._column) :]
        if added:
            self._column = pa.concat_arrays([self._column, pa.array(added, pa.string())])
        return self._column.take(pa.array(numbers))

    def number(self, text: str) -> int | None:
        """Return the number of a name as Kafka wrote it, if it was seen."""
        return self._numbers.get(text)

    def add(self, text: str) -> int:
        """Return the number of a name as Kafka wrote it, which gets one if it is new."""
        return self._number(shown(text))

    def _know(self, names: pa.Array) -> None:
        """Number a dictionary's names: most often it is the one before, with some more."""
        before = len(self._dictionary)
        if len(names) < before or not names.slice(0, before).equals(self._dictionary):
            before = 0
        added = [self._number(name) for name in names.slice(before).to_pylist()]
        self._by_code = np.concatenate((self._by_code[:before], np.array([*added, NOT_NAMED], np.int64)))
        self._dictionary = names

    def _number(self, shown: str) -> int:
        text = from_shown(shown)
        number = self._numbers.setdefault(text, len(self.texts))
        if number == len(self.texts):
            self.texts.append(text)
            self.shown.append(shown)
        return number


class TopicIdNumbers:
    """Numbers of topic ids, from 1 on."""

    def __init__(self) -> None:
        """Start without ids."""
        self.ids: list[UUID | None] = [None]
        self._numbers: dict[UUID | None, int] = {None: NO_TOPIC_ID}
        self._names = Names()
        self._by_name: Array = np.array([NO_TOPIC_ID], np.int64)

    def of(self, column: pa.Array) -> Array:
        """Return the number of the id in each row; NO_TOPIC_ID for null and for the id that stands for none."""
        named = self._names.of(column)
        added = self._names.texts[len(self._by_name) - 1 :]
        if added:
            known = [self.number(uuid_of(text)) for text in added]
            self._by_name = np.array([*self._by_name[:-1].tolist(), *known, NO_TOPIC_ID], np.int64)
        return self._by_name[named]

    def column(self, numbers: Array) -> pa.Array:
        """Return the id with each of these numbers, as rows show it."""
        if not numbers.any():
            return pa.nulls(len(numbers), pa.string())
        texts = [None if topic_id is None else uuid_text(topic_id) for topic_id in self.ids]
        return pa.array(texts, pa.string()).take(pa.array(numbers))

    def number(self, topic_id: UUID | None) -> int:
        """Return the number of an id, which is added if it is new."""
        number = self._numbers.setdefault(topic_id, len(self.ids))
        if number == len(self.ids):
            self.ids.append(topic_id)
        return number


class Subjects:
    """Committed offsets and their groups, and producers, of one log partition."""

    def __init__(self) -> None:
        """Start without any."""
        self.groups = Names()
        self.topics = Names()
        self.group_of: Array = np.zeros(0, np.int64)
        """By committed offset: the number of its group."""
        self._topics_of: Array = np.zeros(0, np.int64)
        self._partitions_of: Array = np.zeros(0, np.int32)
        """By committed offset: the number of its topic, and its partition."""
        self._pairs = Numbers()
        """Groups with topics, where their numbers are too large for one key with the partition."""
        self._offsets = Numbers()
        self._named_offsets: list[OffsetOf] = []
        self._by_offset: dict[OffsetOf, int] = {}
        """Made when they are asked for: most replays name few committed offsets."""
        self._by_group: Array = np.zeros(0, np.int64)
        self._bounds: Array = np.zeros(1, np.int64)
        """Committed offsets by group, and where each group's begin and end."""
        self._producers = Numbers()

    @property
    def count(self) -> int:
        """How many committed offsets have a number."""
        return len(self.group_of)

    @property
    def offsets(self) -> Sequence[OffsetOf]:
        """The committed offsets by their numbers."""
        known = len(self._named_offsets)
        if known < len(self.group_of):
            groups, topics = self.groups.texts, self.topics.texts
            numbers = self.group_of[known:], self._topics_of[known:], self._partitions_of[known:]
            self._named_offsets += (
                OffsetOf(groups[group], topics[topic], partition)
                for group, topic, partition in zip(*map(np.ndarray.tolist, numbers), strict=True)
            )
        return self._named_offsets

    def number(self, offset: OffsetOf) -> int | None:
        """Return the number of a committed offset, if it was seen."""
        known = len(self._by_offset)
        if known < len(self.group_of):
            self._by_offset.update(zip(self.offsets[known:], range(known, len(self.group_of)), strict=True))
        return self._by_offset.get(offset)

    def of_group(self, group: int) -> Array:
        """Return the numbers of a group's committed offsets."""
        if len(self._by_group) < len(self.group_of):
            self._by_group = np.argsort(self.group_of, kind="stable")
            self._bounds = np.append(0, np.cumsum(np.bincount(self.group_of)))
        if group + 1 >= len(self._bounds):
            return self._by_group[:0]
        return self._by_group[self._bounds[group] : self._bounds[group + 1]]

    def producer(self, number: int) -> int:
        """Return the producer id with this number."""
        return int(self._producers.keys[number])

    def producer_ids(self, numbers: Array) -> Array:
        """Return the producer id with each of these numbers; any id where a number is none."""
        return self._producers.keys[numbers]

    @property
    def producers(self) -> int:
        """How many producers have a number."""
        return self._producers.count

    def of(self, rows: pa.RecordBatch, places: Array | slice) -> Array:
        """Return the number of the committed offset that each row at these places names."""
        groups = self.groups.of(rows.column("group"))[places]
        topics = self.topics.of(rows.column("topic"))[places]
        partitions = numbers(rows.column("partition"), 0)[places].astype(np.int64) & _PARTITION
        return self.numbers_of(groups, topics, partitions)

    def numbers_of(self, groups: Array, topics: Array, partitions: Array) -> Array:
        """Return the number of each committed offset, given the numbers of its group and topic, and its partition, not negative."""
        found = self._offsets.of(self._keys(groups, topics, partitions))
        self._add_all(self._offsets.keys[self.count :])
        return found

    def _keys(self, groups: Array, topics: Array, partitions: Array) -> Array:
        """Return a key of each committed offset: all three numbers in one where they are small, else a negative key."""
        keys: Array = groups << _GROUP_SHIFT | topics << _TOPIC_SHIFT | partitions
        large = np.flatnonzero((groups | topics) >> _NAME_BITS | partitions >> _TOPIC_SHIFT)
        if len(large):
            pairs = self._pairs.of(groups[large] << 32 | topics[large])
            keys[large] = ~(pairs << 32 | partitions[large])
        return keys

    def _named(self, keys: Array) -> tuple[Array, Array, Array]:
        """Return the group, the topic and the partition of each key."""
        pairs = np.where(keys < 0, ~keys >> 32, 0)
        named = self._pairs.keys[pairs] if len(self._pairs.keys) else pairs
        mask = (1 << _NAME_BITS) - 1
        groups = np.where(keys < 0, named >> 32, keys >> _GROUP_SHIFT)
        topics = np.where(keys < 0, named & _PARTITION, keys >> _TOPIC_SHIFT & mask)
        partitions = np.where(keys < 0, ~keys & _PARTITION, keys & ((1 << _TOPIC_SHIFT) - 1))
        return groups, topics, partitions

    def names_of(self, offsets: Array) -> tuple[pa.Array, pa.Array]:
        """Return the topic, as rows show it, and the partition of each committed offset, given its number."""
        return self.topics.column(self.topics_of(offsets)), pa.array(self.partitions_of(offsets))

    def topics_of(self, offsets: Array) -> Array:
        """Return the number of each committed offset's topic, given the offset's own."""
        return self._topics_of[offsets]

    def _add_all(self, keys: Array) -> None:
        if not len(keys):
            return
        groups, topics, partitions = self._named(keys)
        self.group_of = np.concatenate((self.group_of, groups))
        self._topics_of = np.concatenate((self._topics_of, topics))
        self._partitions_of = np.concatenate((self._partitions_of, partitions.astype(np.int32)))

    def partitions_of(self, offsets: Array) -> Array:
        """Return each committed offset's partition (int32), given the offset's number."""
        return self._partitions_of[offsets]
