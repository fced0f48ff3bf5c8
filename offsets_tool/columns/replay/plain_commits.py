"""Commits that count at once and make nothing else happen, told by column: which rows they are, and of which committed offset.

A plain commit is readable without a problem, of no producer and in no transaction: the one kind of record whose replay is but to
put it in its place (replay.offsets). Everything else is somebody else's, whatever it is.
"""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.row_events import encoded
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.rows import NO_PRODUCER_ID
from offsets_tool.wire.text import from_shown

CommitSubject = tuple[str, TopicPartition]
"""A group, and where it committed."""

_NOT_SEEN: Final = -1


def numbers(column: pa.Array, null: int) -> Array:
    """A column of numbers with `null` for null."""
    filled: Array = (pc.fill_null(column, null) if column.null_count else column).to_numpy(
        zero_copy_only=False
    )
    return filled


def are_plain(rows: pa.RecordBatch) -> Array:
    """Which rows are plain commits."""
    plain: Array = rows.column("committed_offset").is_valid().to_numpy(zero_copy_only=False)
    plain = plain & (numbers(rows.column("producer_id"), NO_PRODUCER_ID) == NO_PRODUCER_ID)
    for name in ("is_transactional", "is_control"):
        column = rows.column(name)
        if column.true_count:
            plain &= ~pc.fill_null(column, False).to_numpy(zero_copy_only=False)
    if rows.column("problem").null_count < rows.num_rows:
        plain &= rows.column("problem").is_null().to_numpy(zero_copy_only=False)
    return plain


class Subjects:
    """Committed offsets and their groups by number, from the raw keys of their commits: what repeats is looked up in tables."""

    def __init__(self) -> None:
        self.subjects: list[CommitSubject] = []
        self.groups: list[str] = []
        self.of_group: list[list[int]] = []
        """By group: its subjects."""
        self.group_of: Array = np.zeros(1 << 10, np.int32)
        """By subject: its group."""
        self._numbers: dict[CommitSubject, int] = {}
        self._group_numbers: dict[str, int] = {}
        self._by_key: dict[bytes, int] = {}
        self._keys: pa.Array = pa.array([], pa.binary())
        self._by_code: Array = np.zeros(0, np.int32)

    def group_number(self, group: str) -> int | None:
        """A group's number, if it has ever committed."""
        return self._group_numbers.get(group)

    def number(self, group: str, at: TopicPartition) -> int | None:
        """A committed offset's number, if it has ever been committed."""
        return self._numbers.get((group, at))

    def of(self, rows: pa.RecordBatch, places: Array) -> Array:
        """The subjects of the plain commits at these places."""
        keys = encoded(rows.column("key"))
        self._know(keys.dictionary)
        codes = numbers(keys.indices, 0)[places]
        found = self._by_code[codes]
        new = np.flatnonzero(found == _NOT_SEEN)
        if len(new):
            self._learn(rows, codes[new], places[new], keys.dictionary)
            found = self._by_code[codes]
        return found

    def _know(self, keys: pa.Array) -> None:
        """Codes are those of this dictionary now; most often it is the one before, with some keys more."""
        before = len(self._keys)
        if len(keys) < before or not keys.slice(0, before).equals(self._keys):
            self._by_code, before = np.zeros(0, np.int32), 0
        added = np.full(len(keys) - before, _NOT_SEEN, np.int32)
        if len(added):
            self._by_code = np.concatenate((self._by_code, added))
        self._keys = keys

    def _learn(self, rows: pa.RecordBatch, codes: Array, places: Array, keys: pa.Array) -> None:
        codes, first = np.unique(codes, return_index=True)
        raw = keys.take(pa.array(codes)).to_pylist()
        unknown = np.array([key not in self._by_key for key in raw])
        if unknown.any():
            some = rows.select(["group", "topic", "partition"]).take(pa.array(places[first[unknown]]))
            subjects = zip(*(column.to_pylist() for column in some.columns), strict=True)
            for at, (group, topic, partition) in zip(np.flatnonzero(unknown), subjects, strict=True):
                of = TopicPartition(from_shown(topic), partition)
                self._by_key[raw[at]] = self._number((from_shown(group), of))
        self._by_code[codes] = [self._by_key[key] for key in raw]

    def _number(self, subject: CommitSubject) -> int:
        """Keys of both types (0 and 1) are of one subject."""
        known = self._numbers.get(subject)
        if known is not None:
            return known
        number = self._numbers[subject] = len(self.subjects)
        self.subjects.append(subject)
        group = self._group_numbers.setdefault(subject[0], len(self.groups))
        if group == len(self.groups):
            self.groups.append(subject[0])
            self.of_group.append([])
        self.of_group[group].append(number)
        if number == len(self.group_of):
            self.group_of = np.concatenate((self.group_of, np.zeros_like(self.group_of)))
        self.group_of[number] = group
        return number
