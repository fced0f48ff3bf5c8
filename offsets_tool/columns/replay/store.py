"""Moves what a replay by column holds between its tables and State: to State before a handler looks at it, back after that.

A committed offset is stored in one of them at a time (StoredIn), and so is a transaction. Knows no record; decides nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import address
from offsets_tool.columns.replay.columns_of_rows import plain
from offsets_tool.columns.replay.compiled.growing_tables import Tables
from offsets_tool.columns.replay.compiled.run import forget_transaction
from offsets_tool.columns.replay.compiled.tables import (
    NONE,
    FactCell,
    GroupCell,
    OffsetCell,
    Present,
    ProducerCell,
    RowCell,
    RunCell,
    SlotCell,
    StoredIn,
)
from offsets_tool.columns.replay.row_table import row_table
from offsets_tool.columns.replay.subjects import Subjects, TopicIdNumbers
from offsets_tool.replay.changes import (
    CommittedOffset,
    GroupKind,
    OffsetOf,
    PendingCommit,
    TopicPartition,
    Transaction,
)
from offsets_tool.replay.offsets import simple_group
from offsets_tool.replay.state import State
from offsets_tool.wire.text import from_shown, shown

_COMMIT_FACTS: Final = [
    FactCell.COMMITTED_OFFSET,
    FactCell.LEADER_EPOCH,
    FactCell.TEXT,
    FactCell.COMMIT_TIMESTAMP,
    FactCell.EXPIRE_TIMESTAMP,
    FactCell.TOPIC_ID,
    FactCell.COMMIT_LOG_OFFSET,
]
"""The facts of a CommittedOffset, in its order."""
_TEXT: Final = _COMMIT_FACTS.index(FactCell.TEXT)
_TOPIC_ID: Final = _COMMIT_FACTS.index(FactCell.TOPIC_ID)


class ReplayStore:
    """The committed offsets, transactions and groups of one log partition."""

    def __init__(self, state: State, *, has_history: bool = False) -> None:
        """Start with all offsets, transactions and groups in `state`; `has_history` says whether ended rows are kept."""
        self.state = state
        self.subjects = Subjects()
        self.topic_ids = TopicIdNumbers()
        self.tables = Tables(has_history=has_history)
        self.texts = Texts()
        for producer_id in (*state.transactions, *state.pending):
            # Their pending commits may be in the way of tombstones that come before they do.
            self.subjects.producer_number(producer_id)
        self._groups = self._offsets = self._producers = 0
        """How many lines are in use."""

    def begin(self, rows: pa.RecordBatch, kinds: Array) -> Array:
        """Begin to replay rows of some `kinds`; return their table, to which compiled code now points."""
        table = row_table(rows, kinds, self.subjects, self.topic_ids)
        self.add_lines(rows.num_rows)
        run = self.tables.run
        run[RunCell.BASE] += run[RunCell.COUNT]
        run[RunCell.ROWS], run[RunCell.COUNT], run[RunCell.END] = address(table), rows.num_rows, rows.num_rows
        self.texts.begin(int(run[RunCell.BASE]), rows.column("metadata"))
        return table

    def end(self, table: Array) -> None:
        """End the rows that `begin` took: keep the metadata of commits that still hold, as `table` has their subjects."""
        if not self.texts.has_some():
            return
        subjects = np.unique(table[RowCell.SUBJECT])
        held = self.tables.offsets[subjects[subjects != NONE], FactCell.TEXT]
        self.texts.keep(np.concatenate((held, self.tables.slots[:, FactCell.TEXT])))
        used = self.tables.offsets[:, FactCell.TEXT], self.tables.slots[:, FactCell.TEXT]
        self.texts.prune(np.concatenate(used))

    def add_lines(self, rows: int) -> None:
        """Add lines of all that has a number by now, and room for what `rows` can add."""
        subjects = self.subjects
        groups, offsets = len(subjects.groups.texts), subjects.count
        self.tables.make_room(offsets, groups, subjects.producers, rows)
        for group in range(self._groups, groups):
            self.look_up_group(group)
        added = np.arange(self._offsets, offsets)
        self.tables.begin_offsets(added, subjects.group_of[added], subjects.topics_of(added))
        if self._offsets < offsets and self.state.offsets:
            self._find_outside(self._offsets)
        for producer in range(self._producers, subjects.producers):
            self.look_up_producer(producer)
        self._groups, self._offsets, self._producers = groups, offsets, subjects.producers

    def _find_outside(self, first: int) -> None:
        """Note which of the committed offsets from number `first` on are in State."""
        subjects, there = self.subjects, self.state.offsets
        known = np.array([name in there for name in subjects.groups.texts], bool)
        for number in (first + np.flatnonzero(known[subjects.group_of[first:]])).tolist():
            group, topic, partition = subjects.offsets[number]
            if TopicPartition(topic, partition) in there[group]:
                self._leave_outside(number)

    def look_up_group(self, group: int) -> None:
        """Write to a group's line whether State has the group."""
        line, name = self.tables.groups[group], self.subjects.groups.texts[group]
        known = self.state.groups.get(name)
        if known is None:
            line[GroupCell.PRESENT] = Present.NO
            has_pending = bool(self.state.pending) and any(True for _ in self.state.pending_for(name))
            line[GroupCell.HAS_ORPHANS] = name in self.state.offsets or has_pending
        else:
            line[GroupCell.PRESENT] = Present.SIMPLE if known.kind is GroupKind.SIMPLE else Present.OTHER

    def look_up_producer(self, producer: int) -> None:
        """Write to a producer's line whether State has a transaction of the producer."""
        producer_id = self.subjects.producer(producer)
        is_known = producer_id in self.state.transactions or producer_id in self.state.pending
        line = self.tables.producers[producer]
        if is_known != (line[ProducerCell.OPEN] == StoredIn.OUTSIDE):
            line[ProducerCell.OPEN] = StoredIn.OUTSIDE if is_known else StoredIn.NOWHERE
            self.tables.run[RunCell.OUTSIDE] += 1 if is_known else -1

    def materialize(self) -> None:
        """Move everything from the tables to State."""
        self.materialize_others()
        self._materialize(self.in_tables())

    def in_tables(self) -> Array:
        """Return the numbers of the committed offsets that the tables have."""
        stored_in = self.tables.offsets[: self._offsets, OffsetCell.STORED_IN]
        return np.flatnonzero(stored_in == StoredIn.HERE)

    def materialize_others(self) -> None:
        """Move everything but committed offsets from the tables to State."""
        for group in np.flatnonzero(self.tables.groups[:, GroupCell.IS_NEW]).tolist():
            self.materialize_simple_group(group)
        open_ = self.tables.producers[: self._producers, ProducerCell.OPEN] == StoredIn.HERE
        for producer in np.flatnonzero(open_).tolist():
            self.materialize_transaction(producer)

    def materialize_simple_group(self, group: int) -> None:
        """Make a Group in State of the simple group that a commit made, if the tables have it."""
        line = self.tables.groups[group]
        if line[GroupCell.IS_NEW]:
            line[GroupCell.IS_NEW] = 0
            name = self.subjects.groups.texts[group]
            self.state.groups[name] = simple_group(name, int(line[GroupCell.FIRST]))

    def materialize_some(self, numbers: Sequence[int]) -> None:
        """Move committed offsets of one group, given by their numbers, to State, where they stay until they are loaded."""
        found = np.array(numbers, np.int64)
        held = self.tables.offsets[found, OffsetCell.STORED_IN]
        if (held == StoredIn.OUTSIDE).all():
            return
        self._materialize(found[held == StoredIn.HERE])
        for number in numbers:
            self._leave_outside(number)

    def materialize_one(self, group: int) -> None:
        """Move one committed offset of a group to State, if the tables have one."""
        held = self.offsets_in_tables(group)
        if len(held):
            self.materialize_some(held[:1].tolist())

    def offsets_in_tables(self, group: int) -> Array:
        """Return the numbers of a group's committed offsets that are in the tables."""
        numbers = self.subjects.of_group(group)
        is_here: Array = self.tables.offsets[numbers, OffsetCell.STORED_IN] == StoredIn.HERE
        return numbers[is_here]

    def materialize_pending(self, group: int) -> None:
        """Move the transactions that have pending commits of a group to State."""
        if not self.tables.groups[group, GroupCell.PENDING]:
            return
        numbers = self.subjects.of_group(group)
        slots = self.tables.slots
        producers: set[int] = set()
        for slot in self.tables.offsets[numbers, OffsetCell.PENDING].tolist():
            at = slot
            while at != NONE:
                producers.add(int(slots[at, FactCell.PRODUCER]))
                at = int(slots[at, SlotCell.NEXT_OF_SUBJECT])
        for producer in sorted(
            producers, key=lambda each: int(self.tables.producers[each, ProducerCell.FIRST])
        ):
            self.materialize_transaction(producer)

    def materialize_transaction(self, producer: int) -> None:
        """Move a producer's open transaction, given by the producer's number, to State."""
        line = self.tables.producers[producer]
        if line[ProducerCell.OPEN] != StoredIn.HERE:
            return
        producer_id = self.subjects.producer(producer)
        for slot, number in self._slots_of(producer):
            self.materialize_simple_group(self.subjects.group_of[number])
            self.materialize_pending_commit(producer_id, self.subjects.offsets[number], slot)
        self.state.transactions[producer_id] = self.transaction(producer)
        forget_transaction(address(self.tables.run), producer)
        self.look_up_producer(producer)

    def transaction(self, producer: int) -> Transaction:
        """Return a producer's open transaction, which the tables have."""
        line = self.tables.producers[producer]
        epoch, first, first_at, last, last_at, commits = line[ProducerCell.EPOCH : ProducerCell.HEAD].tolist()
        groups = dict.fromkeys(self.subjects.offsets[number].group for _, number in self._slots_of(producer))
        producer_id = self.subjects.producer(producer)
        return Transaction(producer_id, epoch, first, first_at, last, last_at, tuple(groups), commits)

    def _slots_of(self, producer: int) -> Iterator[tuple[int, int]]:
        """Yield a producer's pending commits: the number of the slot, and of the committed offset."""
        slot = int(self.tables.producers[producer, ProducerCell.HEAD])
        while slot != NONE:
            yield slot, int(self.tables.slots[slot, SlotCell.SUBJECT])
            slot = int(self.tables.slots[slot, SlotCell.NEXT])

    def materialize_pending_commit(self, producer_id: int, offset: OffsetOf, slot: int) -> None:
        """Put one pending commit of a producer, the one in line `slot`, into State."""
        [commit] = self.commits_of(self.tables.slots[slot : slot + 1])
        self.state.pending.setdefault(producer_id, {})[offset] = PendingCommit(commit)

    def groups_of(self, producer: int) -> set[int]:
        """Return the groups that a producer's pending commits are of."""
        return {self.subjects.group_of[number] for _, number in self._slots_of(producer)}

    def load_group(self, group: int) -> None:
        """Move the committed offsets of a group from State to the tables."""
        numbers = self.subjects.of_group(group)
        lines = self.tables.offsets
        outside = numbers[lines[numbers, OffsetCell.STORED_IN] == StoredIn.OUTSIDE]
        lines[outside, OffsetCell.STORED_IN] = StoredIn.NOWHERE
        here = np.array([number for number in outside.tolist() if self.take(number, lines[number])], np.int64)
        lines[here, OffsetCell.STORED_IN] = StoredIn.HERE
        self.tables.groups[group, GroupCell.IN_TABLES] += len(here)
        self.tables.chain(here)
        self.tables.groups[group, GroupCell.IS_OUTSIDE] = 0

    def take(self, number: int, line: Array) -> bool:
        """Move a committed offset from State to its `line`; return whether State had it."""
        offset = self.subjects.offsets[number]
        there = self.state.offsets.get(offset.group, {})
        commit = there.pop(TopicPartition(offset.topic, offset.partition), None)
        if not there:
            self.state.offsets.pop(offset.group, None)
        if commit is None:
            return False
        line[_COMMIT_FACTS] = (
            commit.committed_offset,
            commit.leader_epoch,
            self.texts.add(shown(commit.metadata)),
            commit.commit_timestamp,
            commit.expire_timestamp,
            self.topic_ids.number(commit.topic_id),
            commit.log_offset,
        )
        return True

    def put(self, numbers: Sequence[int], commits: Iterable[CommittedOffset]) -> None:
        """Put the commits of offsets, given by their numbers, into State."""
        offsets, there = self.subjects.offsets, self.state.offsets
        for number, commit in zip(numbers, commits, strict=True):
            group, topic, partition = offsets[number]
            there.setdefault(group, {})[TopicPartition(topic, partition)] = commit

    def _leave_outside(self, number: int) -> None:
        self.tables.offsets[number, OffsetCell.STORED_IN] = StoredIn.OUTSIDE
        self.tables.groups[self.subjects.group_of[number], GroupCell.IS_OUTSIDE] = 1

    def _materialize(self, numbers: Array) -> None:
        if not len(numbers):
            return
        self.put(numbers.tolist(), self.commits(numbers))
        self.tables.offsets[numbers, OffsetCell.STORED_IN] = StoredIn.OUTSIDE
        groups = self.tables.offsets[numbers, OffsetCell.GROUP]
        np.subtract.at(self.tables.groups[:, GroupCell.IN_TABLES], groups, 1)
        self.tables.groups[groups, GroupCell.IS_OUTSIDE] = 1

    def commits(self, numbers: Array) -> Iterator[CommittedOffset]:
        """Yield the commits of offsets that the tables have, given by their numbers."""
        return self.commits_of(self.tables.offsets[numbers])

    def commits_of(self, lines: Array) -> Iterator[CommittedOffset]:
        """Yield the commits in lines of a table that begin with FactCell."""
        columns, ids = lines[:, _COMMIT_FACTS].T.tolist(), self.topic_ids.ids
        columns[_TEXT] = map(from_shown, self.texts.texts(lines[:, FactCell.TEXT]))
        columns[_TOPIC_ID] = map(ids.__getitem__, columns[_TOPIC_ID])
        return map(CommittedOffset._make, zip(*columns, strict=True))


_NO_TEXT: Final = -1
_TEXTS_KEPT: Final = 1 << 12
_FEW: Final = 8


class Texts:
    """The metadata of commits that hold, by the number that FactCell.TEXT has; empty ones are not kept."""

    def __init__(self) -> None:
        """Start without texts."""
        self._kept: dict[int, str] = {}
        self._base = 0
        self._column: pa.Array = pa.array([], pa.string())
        self._has_some = False
        self._added = _NO_TEXT

    def begin(self, base: int, column: pa.Array) -> None:
        """Start on the next rows: `column` has their texts, and `base` is the number of the first row."""
        self._base, self._column = base, column
        self._has_some = bool(pc.sum(pc.binary_length(column)).as_py())

    def texts(self, numbers: Array) -> list[str]:
        """Return the text of each number as rows show it."""
        found = (
            [self._kept.get(number, "") for number in numbers.tolist()] if self._kept else [""] * len(numbers)
        )
        here = np.flatnonzero(numbers >= self._base) if self._has_some else np.zeros(0, np.int64)
        if len(here):
            for place, text in zip(here.tolist(), self._of_rows(numbers[here] - self._base), strict=True):
                found[place] = text
        return found

    def _of_rows(self, places: Array) -> list[str]:
        if len(places) <= _FEW:
            # One by one takes less time than to prepare for many.
            return [self._column[place].as_py() for place in places.tolist()]
        return plain(self._column.take(pa.array(places))).to_pylist()  # type: ignore[no-any-return]

    def add(self, text: str) -> int:
        """Keep a text that no row has, and return its number."""
        if not text:
            return _NO_TEXT
        self._added -= 1
        self._kept[self._added] = text
        return self._added

    def has_some(self) -> bool:
        """Return whether any of the rows that `begin` took has a text."""
        return self._has_some

    def keep(self, numbers: Array) -> None:
        """Keep the texts with these numbers, as far as they are of the rows that `begin` took."""
        places = np.unique(numbers[numbers >= self._base]) - self._base
        found = plain(self._column.take(pa.array(places))).to_pylist()
        self._kept.update(
            (self._base + place, text) for place, text in zip(places.tolist(), found, strict=True) if text
        )

    def column(self, numbers: Array) -> pa.Array:
        """Return the text of each number."""
        if not self._kept:
            # Most commits have no metadata at all.
            places = np.where(numbers >= self._base, numbers - self._base, NONE)
        else:
            held = np.flatnonzero(numbers < self._base)
            texts = [self._kept.get(number, "") for number in numbers[held].tolist()]
            places = numbers - self._base
            places[held] = len(self._column) + np.arange(len(held))
            all_ = pa.concat_arrays([plain(self._column).cast(pa.string()), pa.array(texts, pa.string())])
            return all_.take(pa.array(places))
        taken = plain(self._column).cast(pa.string()).take(pa.array(places, mask=places < 0))
        return pc.fill_null(taken, "")

    def prune(self, used: Array) -> None:
        """Forget texts that nothing refers to, if they are many."""
        if len(self._kept) > _TEXTS_KEPT + 2 * len(used):
            self._kept = {number: self._kept[number] for number in used.tolist() if number in self._kept}
