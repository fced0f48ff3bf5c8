"""What groups and their members do: the records of groups, and what commits and tombstones do to groups. Says nothing of offsets.

A value that only changes its group, and nothing else was written of that, is replayed by replay.handling.ValueRules or as the next
generation; other records one at a time by Coordinator. Where only the state counts, values wait until something else happens to
their group: by then, later ones have replaced most of them. Of committed offsets it is told whether a group holds any, which the
set knows for every place. A first commit makes a simple group, and the tombstone that takes the last offset removes it by the
classic rules.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property, partial
from heapq import heappop, heappush
from struct import Struct
from typing import Final, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.columns_of_rows import (
    are_there,
    batches,
    bytes_at,
    encoded,
    flags,
    numbers,
    plain,
)
from offsets_tool.columns.replay.groups.counted_members import CountedMembers
from offsets_tool.columns.replay.groups.group_keys import GroupKey, GroupKeys
from offsets_tool.columns.replay.postponed import WaitingRecord, WaitingRecords
from offsets_tool.columns.replay.row_events import ExpectedEvents, RowEvents
from offsets_tool.columns.replay.subjects import Names
from offsets_tool.errors import DecodeError
from offsets_tool.events import Event, Value
from offsets_tool.expiry.log_facts import TypeVersion
from offsets_tool.records.kinds import Family
from offsets_tool.relations.offsets import NONE, Holdings
from offsets_tool.relations.writes import (
    FIRST_JOINS,
    REMOVALS,
    OffsetAction,
    Writes,
    have_producers,
    own_commits,
)
from offsets_tool.replay.changes import (
    Change,
    CommittedOffset,
    Group,
    GroupKind,
    GroupOf,
    Member,
    MemberOf,
    TopicPartition,
)
from offsets_tool.replay.classic import Generation, generation_of, next_generation
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.epoch_groups import new_group
from offsets_tool.replay.handling import ValueRules
from offsets_tool.replay.offsets import add_simple_group, remove_unused_simple_group
from offsets_tool.replay.rules import Rules, is_of_new
from offsets_tool.replay.step import Step
from offsets_tool.rows import NO_TIMESTAMP


class Held(dict[str, dict[TopicPartition, CommittedOffset]]):
    """Stands for the committed offsets of a State: says which groups hold any, and has none to look at."""

    def __init__(self) -> None:
        """Start with groups that hold nothing."""
        super().__init__()
        self.holds: Callable[[str], bool] = lambda _: False

    def __contains__(self, group: object) -> bool:
        return isinstance(group, str) and self.holds(group)


class GroupEvent(NamedTuple):
    """What the record at a place of a chunk did to groups, or an anomaly that is of none."""

    place: int
    event: Event
    changes: tuple[Change, ...]


class ValueChange(NamedTuple):
    """What the value at a place of a chunk did to a group that goes on, or of which nothing was there, and to its members."""

    place: int
    log_offset: int
    timestamp: int
    before: Group | None
    group: Group
    """The group afterwards: `before` itself where only a member changed."""
    gone: Mapping[str, Member]
    """Members that are no longer there, as they were."""
    written: Mapping[str, Member]
    """Members that are new or changed."""
    known: Member | None = None
    """The member that was written, of a group that is not classic, as it was."""


class GroupChanges(NamedTuple):
    """What the records of a chunk did to groups, in order; `events` are those of them that were replayed one at a time."""

    all: list[GroupEvent | ValueChange]
    events: list[GroupEvent]
    values: list[TypeVersion]
    """Type and version of the values that were replayed at once, whether they changed anything or not."""
    places: list[int]
    """The places of these."""


KeyOf = Callable[[bytes | None], GroupKey | None]
"""Return the key of a group's record, from its bytes; None for others (GroupKeys)."""


class GroupInputs(NamedTuple):
    """A chunk as groups are made of it: its rows, its writes, the groups of these by number, and how many offsets they hold."""

    rows: pa.RecordBatch
    writes: Writes
    names: Names
    holdings: Holdings


class Answers(Protocol):
    """Who answers what is asked about groups before a record changes them (owners.OwnerQuestions)."""

    @property
    def asked(self) -> Collection[int]:
        """The indices in GroupChunk.places of the records before which anything is asked."""

    def answer(self, index: int) -> None:
        """Answer what is asked before the record with this index; call it in order."""

    def forget(self, group: str) -> None:
        """Forget what is known of a group, which changed."""


class NoQuestions:
    """Answers where nothing is asked."""

    asked: Final[Collection[int]] = ()

    def answer(self, index: int) -> None:
        """Answer nothing."""

    def forget(self, group: str) -> None:
        """Forget nothing."""


class GroupReplay:
    """The groups of one log partition: `read` and `replay` take chunks, one after the other."""

    def __init__(
        self, coordinator: Coordinator, observe: Callable[[Event], None], *, is_for_state: bool = False
    ) -> None:
        """Start with the groups of a coordinator, whose state has no offsets.

        `observe` is given each record of groups that is replayed one at a time. If it `is_for_state`, values wait: what they change
        is not returned, and the state is whole after `finish`.
        """
        self.coordinator = coordinator
        self._observe = observe
        self._held = Held()
        coordinator.state.offsets = self._held
        self._events = RowEvents()
        self._keys = GroupKeys(self._events.key)
        self._counted: dict[str, CountedMembers] = {}
        self._waiting = WaitingRecords(self._events.values.read) if is_for_state else None
        self.is_new = False
        """Whether a value that was replayed at once proves the new coordinator."""

    def read(self, chunk: GroupInputs) -> "GroupChunk":
        """Return the records of a chunk that may change groups."""
        if self._waiting is not None and self._waiting.is_full:
            self.finish()
        return GroupChunk(
            chunk, self._keys.of, self.coordinator.state.groups, may_wait=self._waiting is not None
        )

    def replay(self, chunk: "GroupChunk", answers: Answers, proved: int | None) -> GroupChanges:
        """Return what each record did to groups, in order; from the place `proved` on the new coordinator's rules hold."""
        done = GroupChanges([], [], [], [])
        events = ExpectedEvents(self._events, chunk.rows, chunk.expected() - chunk.carried)
        for place, index in chunk.in_order():
            if proved is not None and place >= proved:
                self._prove(chunk, proved)
            value = None
            if index != NONE:
                value = chunk.values[index]
                if index in answers.asked:
                    answers.answer(index)
            if value is None or not self._replay_value(chunk, value, done):
                event = events.at(place - chunk.carried)
                for group in self._replay_event(chunk, place, event, done):
                    answers.forget(group)
                chunk.note_event(value)
            elif value.number != NONE:
                answers.forget(value.key.group)
        self._prove(chunk, proved)
        # Transactions are a set too: here they only tell that a record is in one.
        self.coordinator.state.transactions.clear()
        return done

    def finish(self) -> None:
        """Replay the values that wait; they may wait again later."""
        for group in () if self._waiting is None else self._waiting.groups():
            self._replay_waiting(group)

    def _replay_waiting(self, group: str) -> None:
        """Replay the values of a group that wait, but for those that make no difference any more."""
        state = self.coordinator.state
        for waiting in () if self._waiting is None else self._waiting.pop(group):
            record: GroupValue = waiting.facts
            value = self._events.values.read(record.key.type, record.data)
            if record.key.rules is None:
                made = generation_of(state, group, value, record.where[1])
                self._put_generation(made)
            else:
                self._changed_part(record, record.key.rules, state.groups[group], value)

    def _prove(self, chunk: "GroupChunk", proved: int | None) -> None:
        """Go on by the rules of the new coordinator from the place that proves them, if there is one."""
        if proved is not None and self.coordinator.proved_at is None:
            self.coordinator.rules = Rules.NEW
            self.coordinator.proved_at = chunk.rows.column("log_offset")[proved - chunk.carried].as_py()

    def _replay_event(
        self, chunk: "GroupChunk", place: int, event: Event, done: GroupChanges
    ) -> Iterable[str]:
        """Replay one record by Coordinator; return the groups that it changed."""
        self._held.holds = partial(chunk.holds, place)
        if event.group is not None:
            self._replay_waiting(event.group)
        action = chunk.action(place)
        changes = self._changes(event, action)
        # A tombstone of a group that is not there may belong to what was removed.
        if changes or (action == OffsetAction.NONE and event.tombstone and event.group is not None):
            done.events.append(GroupEvent(place, event, changes))
            done.all.append(done.events[-1])
        subjects = (change.subject for change in changes)
        groups = {subject.group for subject in subjects if isinstance(subject, GroupOf | MemberOf)}
        for group in groups:
            self._counted.pop(group, None)
            if group not in self.coordinator.state.groups:
                chunk.push_next_commit(group, place)
        return groups

    def _changes(self, event: Event, action: OffsetAction) -> tuple[Change, ...]:
        coordinator, group = self.coordinator, event.group or ""
        if action == OffsetAction.NONE:
            self._observe(event)
            return coordinator.replay(event)
        step = Step(coordinator.state, coordinator.rules, coordinator.log_partition, event)
        if action in (OffsetAction.COMMIT, OffsetAction.PENDING):
            add_simple_group(step, group)
        else:
            remove_unused_simple_group(step, group)
            coordinator.observe_difference(step)
        return tuple(step.changes)

    def _replay_value(self, chunk: "GroupChunk", record: "GroupValue", done: GroupChanges) -> bool:
        """Replay a value of a group that goes on, or is new; return whether that is all that it does."""
        key = record.key
        before = self.coordinator.state.groups.get(key.group)
        if not self._goes_on(chunk, record, before):
            return False
        if self._waiting is not None and before is not None:
            is_of_kind = key.rules is not None or before.kind is GroupKind.CLASSIC
            return is_of_kind and self._put_off(self._waiting, record, done)
        value = self._read(record)
        if value is None:
            return False
        if key.rules is not None:
            change = self._changed_part(record, key.rules, before, value)
        else:
            change = self._next_generation(record, before, value)
            if change is None:
                return False
        if change is not None:
            done.all.append(change)
        self._observe_value(record, value.version, value, done)
        return True

    def _read(self, record: "GroupValue") -> Value | None:
        try:
            return self._events.values.read(record.key.type, record.data)
        except DecodeError:
            return None

    def _put_off(self, waiting: WaitingRecords, record: "GroupValue", done: GroupChanges) -> bool:
        """Let a value wait; return False for one that does not read, since what it sets is unknown."""
        [version] = _VERSION.unpack_from(record.data) if record.reads else [NONE]
        value = None
        if not record.reads or self._may_prove(record):
            value = self._read(record)
            if value is None:
                return False
            version = value.version
        self._observe_value(record, version, value, done)
        key = record.key
        waiting.add(key.group, WaitingRecord(key.type.id, id(key), record.data, record))
        return True

    def _may_prove(self, record: "GroupValue") -> bool:
        """Return whether a value may prove the new coordinator by what it says, which nothing has proved yet."""
        behind_version = record.data[_VERSION.size :]
        return not self.is_new and record.key.rules is None and behind_version.startswith(FIRST_JOINS)

    def _observe_value(
        self, record: "GroupValue", version: int, value: Value | None, done: GroupChanges
    ) -> None:
        """Keep the facts of a value that is replayed at once; `value` may be missing where it surely proves nothing by itself."""
        type_id = record.key.type.id
        done.values.append((type_id, version))
        done.places.append(record.where[0])
        self.is_new = self.is_new or is_of_new(type_id, value, has_sequence=record.has_sequence)

    def _goes_on(self, chunk: "GroupChunk", record: "GroupValue", before: Group | None) -> bool:
        """Return whether a value's group was, if anything, of its kind, and is known but for what the value says."""
        key, unread = record.key, self.coordinator.state.unread.groups
        if key.rules is not None:
            is_of_kind = before is None or before.kind is key.rules.kind
            if not is_of_kind or self.coordinator.rules is not Rules.NEW:
                return False
        if (unread and key.group in unread) or not chunk.is_alone(record):
            return False
        return before is not None or not chunk.is_known(record)

    def _next_generation(
        self, record: "GroupValue", before: Group | None, value: Value
    ) -> ValueChange | None:
        """Replay a value of a classic group; return None if it is not its next generation."""
        made = next_generation(self.coordinator.state, record.key.group, value, record.where[1])
        if made is None:
            return None
        self._put_generation(made)
        return ValueChange(*record.where, before, made.after, made.gone, made.written)

    def _put_generation(self, made: Generation) -> None:
        state, name = self.coordinator.state, made.after.group
        state.groups[name] = made.after
        state.change_members(name, made.gone, made.written)

    def _changed_part(
        self, record: "GroupValue", rules: ValueRules, before: Group | None, value: Value
    ) -> ValueChange | None:
        """Replay a value of a group that is of its kind, or new; return None if it changes nothing."""
        state, key = self.coordinator.state, record.key
        members = state.members.get(key.group, _NOBODY)
        counted = self._counted.get(key.group)
        if counted is None:
            counted = self._counted[key.group] = CountedMembers(members)
        known = members.get(key.member_id)
        there = before or new_group(rules.kind, key.group, record.where[1])
        replayed = rules.replayed(there, known, key.data, value)
        if replayed is None:
            return None
        group, member = replayed
        if member is not None:
            state.put_member(key.group, key.member_id, member)
            counted.put(state.members[key.group], key.member_id, known, member)
        after = counted.changed_group(before, group, rules, record.where[1])
        if after is not None:
            state.groups[key.group] = after
        if member is None and after is None:
            return None
        written = _NOBODY if member is None else {key.member_id: member}
        return ValueChange(*record.where, before, after or there, _NOBODY, written, known)


_NOBODY: Final[Mapping[str, Member]] = {}
_VERSION: Final = Struct(">h")


class GroupValue(NamedTuple):
    """A value of a group of which nothing else than values of the same kind was written with it."""

    key: GroupKey
    data: bytes
    where: tuple[int, int, int]
    """Its place in the chunk, its offset in the log and its time."""
    write: int
    has_sequence: bool
    """Whether its batch has a sequence."""
    number: int
    """The number of its group; NONE if that commits nothing."""
    reads: bool
    """Whether its row says that the value reads; others may all the same."""


class GroupChunk:
    """The records of a chunk that may change groups, and the offsets that groups hold."""

    def __init__(
        self, chunk: GroupInputs, key_of: KeyOf, groups: Mapping[str, Group], *, may_wait: bool
    ) -> None:
        """Find them; `groups` are those that are there before. If values `may_wait`, what was written with them does not matter."""
        rows, writes, names, self._holdings = chunk
        self.rows, self.carried = rows, writes.carried
        self._writes, self._names = writes, names
        self._span = len(writes.action) + 1
        self._later: list[tuple[int, int]] = []
        self._events: dict[str, int] = {}
        """The last write of each group of which a value was replayed one at a time."""
        records = writes.of(OffsetAction.NONE)
        last_tombstones, of_writes = self._last_tombstones(), _writes(rows)
        values = _Values(rows, None if may_wait else of_writes, records, writes.carried, key_of)
        self._emptied = set(
            zip(
                of_writes[last_tombstones - writes.carried].tolist(),
                writes.group[last_tombstones].tolist(),
                strict=True,
            )
        )
        """Writes with the groups whose last offsets they removed."""
        of_offsets = np.concatenate((self._first_commits(groups), last_tombstones))
        places = np.concatenate((records, of_offsets))
        order = np.argsort(places, kind="stable")
        self.places: Array = places[order]
        of_records = values.numbers(names)
        self.groups: Array = np.concatenate((of_records, writes.group[of_offsets]))[order]
        """The number of the group that each record is about; NONE where it commits nothing."""
        self.values: list[GroupValue | None] = [None] * len(places)
        """By record, what may be replayed at once."""
        for index, value in zip(
            np.flatnonzero(np.append(values.are_sole, np.zeros(len(of_offsets), bool))[order]).tolist(),
            values.sole(of_records),
            strict=True,
        ):
            self.values[index] = value

    def expected(self) -> Array:
        """Return the places of the records that surely are replayed one at a time."""
        return self.places[[value is None for value in self.values]]

    def in_order(self) -> Iterator[tuple[int, int]]:
        """Yield the places of all records with their indices, and of those that were pushed meanwhile with NONE."""
        later = self._later
        for index, place in enumerate(self.places.tolist()):
            while later and later[0][0] < place:
                yield heappop(later)
            yield place, index
        while later:
            yield heappop(later)

    def action(self, place: int) -> OffsetAction:
        """Return what the record at a place does to offsets."""
        return OffsetAction(self._writes.action[place])

    def is_alone(self, value: GroupValue) -> bool:
        """Return whether nothing of the value's write and group was replayed one at a time."""
        return self._events.get(value.key.group) != value.write

    def is_known(self, value: GroupValue) -> bool:
        """Return whether anything is known of the group of a value, or its write may have deleted it."""
        if value.number == NONE:
            return False
        return (value.write, value.number) in self._emptied or self.holds(value.where[0], value.key.group)

    def note_event(self, value: GroupValue | None) -> None:
        """Note that a record, which may be such a value, was replayed one at a time."""
        if value is not None:
            self._events[value.key.group] = value.write

    def _last_tombstones(self) -> Array:
        """Return the places of tombstones behind which their groups hold nothing."""
        places = self._writes.of(*REMOVALS)
        last: Array = places[self._holdings.counts(self._writes.group[places], places) == 0]
        return last

    def _first_commits(self, groups: Mapping[str, Group]) -> Array:
        """Return the places of the first commit of each group that is not there."""
        commits, names = own_commits(self._writes), self._names.texts
        first = np.full(len(names), NONE)
        first[self._writes.group[commits][::-1]] = commits[::-1]
        committing = np.flatnonzero(first != NONE)
        places: Array = first[committing[[names[number] not in groups for number in committing.tolist()]]]
        return places

    @cached_property
    def _commits(self) -> Array:
        """The commits, as numbers of a group and a place, sorted."""
        commits = own_commits(self._writes)
        return np.sort(self._writes.group[commits] * self._span + commits)

    def push_next_commit(self, group: str, place: int) -> None:
        """Have the next commit of a group looked at that is not there behind a place."""
        number = self._names.number(group)
        if number is None:
            return
        index = int(np.searchsorted(self._commits, number * self._span + place, "right"))
        if index < len(self._commits) and self._commits[index] // self._span == number:
            heappush(self._later, (int(self._commits[index]) % self._span, NONE))

    def holds(self, place: int, group: str) -> bool:
        """Return whether a group holds offsets behind a place."""
        number = self._names.number(group)
        return number is not None and bool(self._holdings.counts(np.array([number]), np.array([place]))[0])


class _Values:
    """The values among records that are not about offsets."""

    def __init__(
        self, rows: pa.RecordBatch, of_writes: Array | None, places: Array, carried: int, key_of: KeyOf
    ) -> None:
        self._rows, self._places = rows, places
        self._records = records = places - carried
        few = rows.select(_OF_RECORD).take(pa.array(records))
        keys = encoded(plain(few.column("key")))
        self._keys = [*map(key_of, keys.dictionary.to_pylist()), None]
        self._codes = numbers(keys.indices, len(self._keys) - 1)
        # Values are long: they stay where they are.
        may = are_there(rows.column("value"))[records] & ~flags(few.column("is_transactional"))
        may &= ~flags(few.column("is_control")) & ~have_producers(few)
        self._families = np.array([_family(key) for key in self._keys])[self._codes]
        may &= self._families != NONE
        self._reads = are_there(few.column("value_version")) & ~are_there(few.column("problem"))
        self._writes = np.full(len(records), NONE) if of_writes is None else of_writes[records]
        self.are_sole = self._are_sole(may) if of_writes is not None and len(records) else may
        """Which of them are values of a group of which nothing else was written with them, or values that may wait."""

    def _are_sole(self, may: Array) -> Array:
        """Return which records, of those that may be, are written with nothing but values of one kind of their group.

        Of a classic group one value tells all of its members: more than one are not alone.
        """
        of_group: dict[str, int] = {}
        names = ["" if key is None else key.group for key in self._keys]
        codes = np.array([of_group.setdefault(name, len(of_group)) for name in names])[self._codes]
        family = self._families
        may &= self._writes != NONE
        _, first, part = np.unique(
            self._writes * len(of_group) + codes, return_index=True, return_inverse=True
        )
        is_mixed = family != family[first][part]
        is_mixed |= ~may
        is_mixed |= (family == _CLASSIC) & (np.bincount(part)[part] > 1)
        sole: Array = np.bincount(part, is_mixed)[part] == 0
        return sole

    def numbers(self, names: Names) -> Array:
        """Return the number of each record's group; NONE where it commits nothing."""
        known = (None if key is None else names.number(key.group) for key in self._keys)
        return np.array([NONE if number is None else number for number in known], np.int64)[self._codes]

    def sole(self, groups: Array) -> Iterator[GroupValue]:
        """Yield the values that are sole, given the numbers of all records' groups."""
        names, rows = (
            ("sequence", "magic", "base_offset", "log_offset", "timestamp"),
            self._records[self.are_sole],
        )
        few = self._rows.select(names).take(pa.array(rows))
        have_sequence = (numbers(few.column("sequence"), NONE) >= 0) & are_there(few.column("base_offset"))
        have_sequence &= numbers(few.column("magic"), NONE) == _MAGIC
        data = bytes_at(self._rows.column("value"), rows)
        where = (few.column(name).to_pylist() for name in names[3:])
        keys = (self._keys[code] for code in self._codes[self.are_sole].tolist())
        places = zip(self._places[self.are_sole].tolist(), *where, strict=True)
        writes, of_groups = self._writes[self.are_sole].tolist(), groups[self.are_sole].tolist()
        reads = self._reads[self.are_sole].tolist()
        return map(GroupValue, keys, data, places, writes, have_sequence.tolist(), of_groups, reads)


_OF_RECORD: Final = ("key", "is_transactional", "is_control", "producer_id", "value_version", "problem")
_MAGIC: Final = 2
"""The format of batches that have sequences."""
_FAMILIES: Final = tuple(Family)
_CLASSIC: Final = _FAMILIES.index(Family.CLASSIC)


def _family(key: GroupKey | None) -> int:
    return NONE if key is None else _FAMILIES.index(key.type.family)


def _writes(rows: pa.RecordBatch) -> Array:
    """Return a number of each row's write, which may be more than what Kafka wrote at once, but is not less.

    Records of one batch, or of one time next to each other, are one write. NONE where it is unclear.
    """
    bases, times = batches(rows), rows.column("timestamp").to_numpy()
    if (np.diff(bases) < 0).any():
        return np.full(len(bases), NONE)
    is_apart = (bases[1:] != bases[:-1]) & ((times[1:] != times[:-1]) | (times[1:] == NO_TIMESTAMP))
    writes = np.append(0, np.cumsum(is_apart))
    if (np.diff(times) >= 0).all():
        return writes
    # Where a time comes again, what stands between may have changed nothing.
    _, which = np.unique(times, return_inverse=True)
    last = np.zeros(which.max() + 1, np.int64)
    np.maximum.at(last, which, writes)
    return np.where(np.isin(writes, writes[last[which] > writes]), NONE, writes)
