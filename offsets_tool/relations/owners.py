"""Who owned a partition at each commit: an as-of join of commits with what groups and members did between them.

Owners are looked up once for each committed offset and topic id between two changes of its group, by history.owners.
"""

from collections.abc import Sequence
from typing import Final, TypeVar
from uuid import UUID

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.compiled.numbering import Numbers
from offsets_tool.columns.replay.ended_rows import owner_columns
from offsets_tool.history.owners import NameOf, Owner, Owners
from offsets_tool.relations.groups import GroupEvent
from offsets_tool.relations.offsets import NONE, OPEN
from offsets_tool.relations.writes import OffsetAction, WriteReader, Writes
from offsets_tool.replay.changes import GroupOf, MemberOf, TopicPartition
from offsets_tool.replay.state import State

_T = TypeVar("_T")
_TOPIC_ID_BITS: Final = 32
_TOPIC_ID: Final = (1 << _TOPIC_ID_BITS) - 1
_NUMBERED: Final = ("owner", "lifetime_topic_id")
"""Columns of open commits (offsets.OPEN) that have numbers of owners, and of topic ids."""


class OwnerJoin:
    """Finds the owners of commits, chunk by chunk, and gives each distinct one a number."""

    def __init__(self, name_of: NameOf, reader: WriteReader, groups: State) -> None:
        """Start with these groups and members, which change from here on; `reader` makes the writes."""
        self._owners = Owners(name_of, groups)
        self._subjects, self._topic_ids = reader.subjects, reader.topic_ids
        self._numbers: dict[Owner, int] = {}
        self._pairs = Numbers()
        """Committed offsets with topic ids: each has one owner as long as its group does not change."""
        self._known: Array = np.zeros(0, np.int64)
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
        open_, owners = _numbered_anew(open_, owner, list(self._numbers))
        open_, topic_ids = _numbered_anew(open_, topic_id, self._topic_ids.ids)
        return open_, owners, topic_ids

    def numbers(self, writes: Writes, events: Sequence[GroupEvent]) -> Array:
        """Return the number of the owner at each commit of a chunk, 0 of other rows; the owners follow the events."""
        commits = writes.of(OffsetAction.COMMIT, OffsetAction.PENDING)
        commits = commits[commits >= writes.carried]
        pairs = self._pairs.of(writes.subject[commits] << _TOPIC_ID_BITS | writes.topic_id[commits])
        self._known = np.append(self._known, np.full(self._pairs.count - len(self._known), NONE))
        numbers = np.zeros(len(writes.action), np.int64)
        numbers[commits] = self._as_of(pairs, writes.group[commits], commits, events)
        return numbers

    def _as_of(self, pairs: Array, groups: Array, places: Array, events: Sequence[GroupEvent]) -> Array:
        """Return the number of each commit's owner, and follow the changes of groups between them."""
        of_groups = [self._group_numbers(event) for event in events]
        asked = _next_changes(groups, places, of_groups, [event.place for event in events])
        changed = np.unique(np.array([group for numbers in of_groups for group in numbers], np.int64))
        self._known[np.isin(self._subjects.group_of[self._pairs.keys >> _TOPIC_ID_BITS], changed)] = NONE
        owners = self._known[pairs]
        unknown = np.flatnonzero(owners == NONE)
        questions, which = np.unique(asked[unknown] * len(self._known) + pairs[unknown], return_inverse=True)
        asked_at, of_pairs = np.divmod(questions, max(len(self._known), 1))
        answers: list[int] = []
        bounds = np.searchsorted(asked_at, np.arange(1, len(events) + 1)).tolist()
        for event, end in zip(events, bounds, strict=True):
            answers += self._answers(of_pairs[len(answers) : end])
            for change in event.changes:
                self._owners.follow(change)
        # What is asked behind the last change of a group holds until the next one.
        last = len(answers)
        answers += self._answers(of_pairs[last:])
        self._known[of_pairs[last:]] = answers[last:]
        owners[unknown] = np.array(answers, np.int64)[which]
        return owners

    def _group_numbers(self, event: GroupEvent) -> list[int]:
        """Return the groups that an event changed, of those that commit offsets."""
        subjects = (change.subject for change in event.changes if not change.is_anomaly)
        names = {subject.group for subject in subjects if isinstance(subject, GroupOf | MemberOf)}
        known = (self._subjects.groups.number(name) for name in names)
        return [number for number in known if number is not None]

    def _answers(self, pairs: Array) -> list[int]:
        """Return the number of the owner of each committed offset with its topic id, by the present state of the groups."""
        nobody: dict[str, int | None] = {}
        answers = []
        for pair in self._pairs.keys[pairs].tolist():
            group, topic, partition = self._subjects.offsets[pair >> _TOPIC_ID_BITS]
            if group not in nobody:
                nobody[group] = (
                    None if self._owners.has_any(group) else self._number(self._owners.nobody(group))
                )
            number = nobody[group]
            if number is None:
                topic_id = self._topic_ids.ids[pair & _TOPIC_ID]
                number = self._number(self._owners.of(group, TopicPartition(topic, partition), topic_id))
            answers.append(number)
        return answers

    def _number(self, owner: Owner) -> int:
        return self._numbers.setdefault(owner, len(self._numbers))

    def columns(
        self, numbers: Array, commit_log_offsets: Array, after_gap: int | None
    ) -> dict[str, pa.Array]:
        """Return the columns of the owners with these numbers; `after_gap` is the first offset behind a missing record."""
        return owner_columns(list(self._numbers), numbers, commit_log_offsets, after_gap)


def _numbered_anew(open_: pa.Table, name: str, known: Sequence[_T]) -> tuple[pa.Table, list[_T]]:
    """Return open commits (offsets.OPEN) whose numbers in a column are places of those values that they have, and these values."""
    numbers, places = np.unique(open_[name].to_numpy(), return_inverse=True)
    open_ = open_.set_column(OPEN.get_field_index(name), name, pa.array(places))
    return open_, [known[number] for number in numbers.tolist()]


def _next_changes(
    groups: Array, places: Array, of_groups: Sequence[Sequence[int]], at: Sequence[int]
) -> Array:
    """Return for each commit the index of the next event that changes its group; the number of all events where none does.

    Of events, the groups and the place are given. The one by which a commit makes its group stands at the same place, before it.
    """
    index = np.array([i for i, numbers in enumerate(of_groups) for _ in numbers], np.int64)
    changed = np.array([group for numbers in of_groups for group in numbers], np.int64)
    nothing = np.full(len(groups), len(at))
    if not len(index):
        return nothing
    span = int(max(places.max(initial=0), at[-1])) + 1
    keys = changed * span + np.array(at, np.int64)[index]
    order = np.argsort(keys)
    keys, index = keys[order], index[order]
    after = np.searchsorted(keys, groups * span + places, "right")
    behind = np.minimum(after, len(keys) - 1)
    is_next = (after < len(keys)) & (keys[behind] // span == groups)
    return np.where(is_next, index[behind], nothing)
