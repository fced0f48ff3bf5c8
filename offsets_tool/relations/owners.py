"""Who owned a partition at each commit: an as-of join of commits with what groups and members did between them.

Owners are looked up once for each committed offset and topic id between two changes of its group, by history.owners: while groups
are replayed, before each record that may change one.
"""

from collections.abc import Sequence
from typing import Any, Final, TypeVar
from uuid import UUID

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.numbering import Numbers
from offsets_tool.history.owners import NameOf, Owner, Owners
from offsets_tool.history.rows import OffsetHistoryRow
from offsets_tool.relations.offsets import OPEN, distinct
from offsets_tool.relations.writes import NONE, WriteReader, Writes, own_commits
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.replay.state import State
from offsets_tool.wire.arrow import arrow_schema
from offsets_tool.wire.text import shown

_T = TypeVar("_T")
_SCHEMA: Final = arrow_schema(OffsetHistoryRow)
_TOPIC_ID_BITS: Final = 32
_TOPIC_ID: Final = (1 << _TOPIC_ID_BITS) - 1
_NUMBERED: Final = ("owner", "lifetime_topic_id")
"""Columns of open commits (offsets.OPEN) that have numbers of owners, and of topic ids."""


class OwnerJoin:
    """Finds the owners of commits, chunk by chunk, and gives each distinct one a number."""

    def __init__(self, name_of: NameOf, reader: WriteReader, groups: State) -> None:
        """Start with these groups and members, which others change; `reader` makes the writes."""
        self._owners = Owners(name_of, groups)
        self.forget = self._owners.forget_holders
        """Forgets who holds what in a group, which changed."""
        self._subjects, self._topic_ids = reader.subjects, reader.topic_ids
        self._numbers: dict[Owner, int] = {}
        self._by_number: list[Owner] = []
        self._pairs = Numbers()
        """Committed offsets with topic ids: each has one owner as long as its group does not change."""
        self.known: Array = np.zeros(0, np.int64)
        """The number of the owner of each pair; NONE where it is to be found anew."""

    def renumbered(
        self, open_: pa.Table, owners: Sequence[Owner], topic_ids: Sequence[UUID | None]
    ) -> pa.Table:
        """Return open commits (offsets.OPEN) of a checkpoint with the numbers that these owners and topic ids have here."""
        numbers = (
            [self._number(owner) for owner in owners],
            [self._topic_ids.number(topic_id) for topic_id in topic_ids],
        )
        for name, known in zip(_NUMBERED, numbers, strict=True):
            column = pa.array(known, pa.int64()).take(open_[name].combine_chunks())
            open_ = open_.set_column(OPEN.get_field_index(name), name, column)
        return open_

    def carried(self, open_: pa.Table) -> tuple[pa.Table, list[Owner], list[UUID | None]]:
        """Return open commits (offsets.OPEN) with the owners and topic ids that they have, and the numbers of these."""
        owner, topic_id = _NUMBERED
        open_, owners = _numbered_anew(open_, owner, self._by_number)
        open_, topic_ids = _numbered_anew(open_, topic_id, self._topic_ids.ids)
        return open_, owners, topic_ids

    def ask(self, writes: Writes, places: Array, groups: Array) -> "OwnerQuestions":
        """Return what is asked of a chunk's commits.

        `places` are those of records that may change groups, `groups` the numbers of these; NONE for one without commits.
        """
        commits = own_commits(writes)
        pairs = self._pairs.of(writes.subject[commits] << _TOPIC_ID_BITS | writes.topic_id[commits])
        self.known = np.append(self.known, np.full(self._pairs.count - len(self.known), NONE))
        self.known[np.isin(self._subjects.group_of[self._pairs.keys >> _TOPIC_ID_BITS], groups)] = NONE
        return OwnerQuestions(self, writes, pairs, places, groups)

    def answers(self, pairs: Array) -> list[int]:
        """Return the number of the owner of each committed offset with its topic id, by the present state of the groups."""
        keys, names = self._pairs.keys[pairs], self._subjects.groups.texts
        groups = self._subjects.group_of[keys >> _TOPIC_ID_BITS].tolist()
        nobody = {
            group: self._number(self._owners.nobody(names[group]))
            for group in set(groups)
            if not self._owners.has_any(names[group])
        }
        return [
            nobody[group] if group in nobody else self._answer(pair)
            for group, pair in zip(groups, keys.tolist(), strict=True)
        ]

    def _answer(self, pair: int) -> int:
        group, topic, partition = self._subjects.offsets[pair >> _TOPIC_ID_BITS]
        topic_id = self._topic_ids.ids[pair & _TOPIC_ID]
        return self._number(self._owners.of(group, TopicPartition(topic, partition), topic_id))

    def _number(self, owner: Owner) -> int:
        number = self._numbers.setdefault(owner, len(self._by_number))
        if number == len(self._by_number):
            self._by_number.append(owner)
        return number

    def columns(
        self, numbers: Array, commit_log_offsets: Array, after_gap: int | None
    ) -> dict[str, pa.Array]:
        """Return the columns of the owners with these numbers; `after_gap` is the first offset behind a missing record."""
        coded = pa.array(np.ascontiguousarray(numbers)).dictionary_encode()
        owners = [self._by_number[number] for number in coded.dictionary.to_pylist()]
        return _columns(owners, coded.indices.to_numpy(), commit_log_offsets, after_gap)


def _columns(
    owners: Sequence[Owner], which: Array, commit_log_offsets: Array, after_gap: int | None
) -> dict[str, pa.Array]:
    """Return the columns of offset_history that tell of each row's owner, looked up once for each owner.

    `which` is the index of a row's owner; `after_gap` the first offset behind a missing record, as History.as_known heeds it.
    """
    known = np.array([owner.is_known for owner in owners], bool)[which]
    if after_gap is not None:
        nobody = np.array([owner.member_id is None for owner in owners], bool)[which]
        known &= ~(nobody & (commit_log_offsets >= after_gap))
    values: dict[str, list[Any]] = {
        "group_kind": [owner.kind for owner in owners],
        "generation": [owner.generation for owner in owners],
        "group_epoch": [owner.group_epoch for owner in owners],
        "member_epoch": [owner.member_epoch for owner in owners],
        "member_id": [_shown_or_null(owner.member_id) for owner in owners],
        "instance_id": [_shown_or_null(owner.client.instance_id) for owner in owners],
        "client_id": [_shown_or_null(owner.client.client_id) for owner in owners],
        "client_host": [_shown_or_null(owner.client.client_host) for owner in owners],
    }
    at, types = pa.array(which), {name: _SCHEMA.field(name).type for name in values}
    made = {
        name: pa.nulls(len(which), types[name])
        if column.count(None) == len(column)
        else pa.array(column, types[name]).take(at)
        for name, column in values.items()
    }
    return {**made, "is_owner_known": pa.array(known)}


def _shown_or_null(text: str | None) -> str | None:
    return None if text is None else shown(text)


def _numbered_anew(open_: pa.Table, name: str, known: Sequence[_T]) -> tuple[pa.Table, list[_T]]:
    """Return open commits (offsets.OPEN) whose numbers in a column are places of those values that they have, and these values."""
    numbers, places = np.unique(open_[name].to_numpy(), return_inverse=True)
    open_ = open_.set_column(OPEN.get_field_index(name), name, pa.array(places))
    return open_, [known[number] for number in numbers.tolist()]


class OwnerQuestions:
    """Who owned the partitions of a chunk's commits: asked before the records that may change their groups, and at the end."""

    def __init__(self, join: OwnerJoin, writes: Writes, pairs: Array, places: Array, groups: Array) -> None:
        """Ask for the owner of each commit's pair, before the next one of the records that may change its group, or behind all."""
        self._join, self._writes = join, writes
        self.forget = join.forget
        commits = own_commits(writes)
        self._owners = join.known[pairs]
        self._unknown = np.flatnonzero(self._owners == NONE)
        following, count = (
            _next_changes(writes.group[commits], commits, groups, places),
            max(len(join.known), 1),
        )
        questions, self._which = distinct(following[self._unknown] * count + pairs[self._unknown])
        indices, self._pairs = np.divmod(questions, count)
        asked, ends = np.unique(indices, return_index=True)
        self.asked = dict(zip(asked.tolist(), [*ends[1:].tolist(), len(indices)], strict=False))
        """How many are answered behind the answers to those before each of these records."""
        self._answers: list[int] = []

    def answer(self, index: int) -> None:
        """Answer what is asked before the record with this index, by the present state of the groups."""
        self._answers += self._join.answers(self._pairs[len(self._answers) : self.asked[index]])

    def numbers(self) -> Array:
        """Return the number of the owner at each commit, by place, 0 of other rows; call it behind the last record."""
        # What is asked behind the last change of a group holds until the next one.
        last = self._pairs[len(self._answers) :]
        self._answers += self._join.answers(last)
        self._join.known[last] = self._answers[len(self._answers) - len(last) :]
        self._owners[self._unknown] = np.array(self._answers, np.int64)[self._which]
        numbers = np.zeros(len(self._writes.action), np.int64)
        numbers[own_commits(self._writes)] = self._owners
        return numbers


def _next_changes(groups: Array, places: Array, changed: Array, changes: Array) -> Array:
    """Return for each commit the index of the next record that may change its group; the number of all records where none does.

    Of records, the groups and the places are given, in order. The commit that makes its group is such a record, too: its owner is
    asked for behind that.
    """
    index = np.flatnonzero(changed != NONE)
    nothing = np.full(len(groups), len(changes))
    if not len(index):
        return nothing
    span = int(max(places.max(initial=0), changes[-1])) + 1
    keys = changed[index] * span + changes[index]
    order = np.argsort(keys)
    keys, index = keys[order], index[order]
    after = np.searchsorted(keys, groups * span + places, "right")
    behind = np.minimum(after, len(keys) - 1)
    is_next = (after < len(keys)) & (keys[behind] // span == groups)
    return np.where(is_next, index[behind], nothing)
