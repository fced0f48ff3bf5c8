"""What groups and their members do: the records of groups, and what commits and tombstones do to groups. Says nothing of offsets.

A value that only changes its group, and nothing else was written of that, is replayed by replay.handling.ValueRules or as the next
generation; other records one at a time by Coordinator. Where only the state counts, values wait until something else happens to
their group: by then, later ones have replaced most of them. Of committed offsets it is told whether a group holds any, which the
set knows for every place. A first commit makes a simple group, and the tombstone that takes the last offset removes it by the
classic rules.

Which values a value replaces, its handler states (replay.handling.Replaces). Members are counted as they change, how many there
are and who is behind; what counts is said by replay.changes and replay.member_state.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from struct import Struct
from typing import Final, NamedTuple, Protocol

from offsets_tool.errors import DecodeError
from offsets_tool.events import Event, Value
from offsets_tool.expiry.log_facts import TypeVersion
from offsets_tool.records.kinds import RecordType
from offsets_tool.relations.group_keys import GroupKey, kept_keys
from offsets_tool.relations.group_values import GroupChunk, GroupInputs, GroupValue
from offsets_tool.relations.row_events import ExpectedEvents, RowEvents
from offsets_tool.relations.writes import FIRST_JOINS, NONE, OffsetAction
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
from offsets_tool.replay.coordinator import REPLAYS, Coordinator
from offsets_tool.replay.epoch_groups import changed_group, new_group
from offsets_tool.replay.handling import Replaces, ValueRules
from offsets_tool.replay.member_state import is_behind
from offsets_tool.replay.offsets import (
    add_simple_group,
    remove_unused_group,
    remove_unused_simple_group,
)
from offsets_tool.replay.rules import Rules, is_of_new
from offsets_tool.replay.step import Step

_LEAST: Final = 64
"""For so many bytes a record counts besides its value: about those of its key."""
_FEW: Final = 64
"""So many records of a group are kept without a look at what they replace."""
_MOST_BYTES: Final = 32 << 20
"""Bytes of all records that are put off, at most; memory stays flat however many groups there are."""
_FACTS: Final = frozenset(
    type_id for type_id, handling in REPLAYS.items() if handling.replaces is Replaces.FACT
)
_WHOLE: Final = frozenset(
    type_id for type_id, handling in REPLAYS.items() if handling.replaces is Replaces.GROUP
)


def _size(records: Iterable[GroupValue]) -> int:
    """Return about how many bytes records take."""
    return sum([_LEAST + len(record.data) for record in records])


class _OfGroup:
    """The records of one group, in their order, their size, and how many there may be before replaced ones are dropped."""

    __slots__ = ("most", "records", "size")

    def __init__(self) -> None:
        self.records: list[GroupValue] = []
        self.size = 0
        self.most = _FEW


class WaitingValues:
    """Values of groups that are replayed later, but for those that make no difference by then."""

    def __init__(self, decode: Callable[[RecordType, bytes], Value]) -> None:
        """Start without records; `decode` does as events.decode_value."""
        self._decode = decode
        self._groups: dict[str, _OfGroup] = {}
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether the records take so many bytes that all are due; memory stays flat however many groups there are."""
        return self._bytes > _MOST_BYTES

    def groups(self) -> list[str]:
        """Return the groups that records wait for."""
        return list(self._groups)

    def add(self, group: str, records: Sequence[GroupValue]) -> None:
        """Add records of a group, in their order: of such as are the whole group, one."""
        of_group = self._groups.get(group)
        if of_group is None:
            of_group = self._groups[group] = _OfGroup()
        if records[0].key.type.id in _WHOLE:
            self._bytes -= of_group.size
            of_group.records, of_group.size = [], 0
        size = _size(records)
        of_group.records += records
        of_group.size += size
        self._bytes += size
        if len(of_group.records) > of_group.most:
            self._drop_replaced(of_group)

    def pop(self, group: str) -> list[GroupValue]:
        """Return what is due of a group, in order, once."""
        of_group = self._groups.pop(group, None)
        if of_group is None:
            return []
        self._bytes -= of_group.size
        return self._needed(of_group.records)

    def _drop_replaced(self, of_group: _OfGroup) -> None:
        """Drop the records of a group that make no difference to the state after the last one."""
        of_group.records = self._needed(of_group.records)
        of_group.most = max(_FEW, 4 * len(of_group.records))
        before, of_group.size = of_group.size, _size(of_group.records)
        self._bytes += of_group.size - before

    def _needed(self, records: list[GroupValue]) -> list[GroupValue]:
        """Return the records that make a difference to the state after the last one."""
        changed = self._last_change(records)
        # In the order in which keys came first: members stay in the order of coming.
        newest = {id(record.key): record for record in records[:changed]}
        return [*newest.values(), *records[changed:]]

    def _last_change(self, records: list[GroupValue]) -> int:
        """Return the place of the last record that surely changes its group; 0 if there is none.

        What comes before it makes no difference to the group's log offset, which is that of its last change.
        """
        newest: dict[int, int] = {}
        replaced: list[tuple[int, int]] = []
        for place, record in enumerate(records):
            if record.key.type.id in _FACTS:
                key = id(record.key)
                if key in newest:
                    replaced.append((newest[key], place))
                newest[key] = place
        for earlier, place in reversed(replaced):
            before, after = records[earlier], records[place]
            if before.data != after.data and self._value(before) != self._value(after):
                return place
        return 0

    def _value(self, record: GroupValue) -> Value:
        return self._decode(record.key.type, record.data)


class CountedMembers:
    """Counts of one group's members; `put` follows each change of theirs."""

    __slots__ = ("_behind", "_epoch", "_members", "count")

    def __init__(self, members: Mapping[str, Member]) -> None:
        """Start with all records of members that the group has; `members` is that of a State, which changes."""
        self.count = sum([member.is_member for member in members.values()])
        """How many members the group has."""
        self._members = members
        self._epoch: int | None = None
        self._behind: set[str] = set()
        """Who is behind the target assignment of this epoch."""

    def put(
        self, members: Mapping[str, Member], member_id: str, before: Member | None, after: Member
    ) -> None:
        """Observe a member of the group's `members`, as it was and as it is there now."""
        self._members = members
        self.count += after.is_member - (before is not None and before.is_member)
        if self._epoch is None:
            return
        if is_behind(after, self._epoch):
            self._behind.add(member_id)
        else:
            self._behind.discard(member_id)

    def is_any_behind(self, assignment_epoch: int) -> bool:
        """Return whether a member is behind the target assignment of this epoch."""
        if assignment_epoch != self._epoch:
            self._epoch = assignment_epoch
            of_members = self._members.items()
            self._behind = {name for name, member in of_members if is_behind(member, assignment_epoch)}
        return bool(self._behind)

    def changed_group(
        self, before: Group | None, group: Group, rules: ValueRules, log_offset: int
    ) -> Group | None:
        """Return a group with members and state found anew, as a record at this log offset leaves it; None if it is as before."""
        now = group if self.count == group.members else group._replace(members=self.count)
        state = rules.state_of(now, lambda: self.is_any_behind(now.assignment_epoch or 0))
        return changed_group(before, now, state, log_offset)


class Held(dict[str, dict[TopicPartition, CommittedOffset]]):
    """Stands for the committed offsets of a State: says which groups hold any, and has none to look at."""

    def __init__(self) -> None:
        """Start with groups that hold nothing."""
        super().__init__()
        self.holds: Callable[[str], bool] = _holds_nothing

    def __contains__(self, group: object) -> bool:
        return isinstance(group, str) and self.holds(group)


def _holds_nothing(_: str) -> bool:
    return False


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
        self._key_of = kept_keys(self._events.key)
        self._counted: dict[str, CountedMembers] = {}
        self._waiting = WaitingValues(self._events.values.read) if is_for_state else None
        self.is_new = False
        """Whether a value that was replayed at once proves the new coordinator."""

    def read(self, chunk: GroupInputs) -> GroupChunk:
        """Return the records of a chunk that may change groups."""
        may_wait = self._waiting is not None
        if self._waiting is not None and self._waiting.is_full:
            self.finish()
        return GroupChunk(chunk, self._key_of, self.coordinator.state.groups, may_wait=may_wait)

    def replay(self, chunk: GroupChunk, answers: Answers, proved: int | None) -> GroupChanges:
        """Return what each record did to groups, in order; from the place `proved` on the new coordinator's rules hold.

        If values may wait, that is the first place.
        """
        done = GroupChanges([], [], *chunk.told)
        events = ExpectedEvents(self._events, chunk.rows, chunk.expected() - chunk.carried)
        for place, index in chunk.in_order():
            if proved is not None and place >= proved:
                self._prove(chunk, proved)
            if index in answers.asked:
                answers.answer(index)
            value = None if index == NONE else chunk.values[index]
            for group in self._replay_record(chunk, place, value, events, done):
                answers.forget(group)
        self._prove(chunk, proved)
        for values in chunk.waiting:
            for index, value in enumerate(values):
                if self._may_wait(value.key):
                    self._put_off(values[index:])
                    break
                self._replay_record(chunk, value.where[0], value, events, done)
        done.events.sort(key=itemgetter(0))
        # What is asked of the chunk is answered: it need not stay.
        self._held.holds = _holds_nothing
        # Transactions are a set too: here they only tell that a record is in one.
        self.coordinator.state.transactions.clear()
        return done

    def _replay_record(
        self,
        chunk: GroupChunk,
        place: int,
        value: GroupValue | None,
        events: ExpectedEvents,
        done: GroupChanges,
    ) -> Iterable[str]:
        """Replay the record at a place, which may be a value; return the groups that changed and may commit offsets."""
        if value is not None and self._replay_value(chunk, value, done):
            return () if value.number == NONE else (value.key.group,)
        chunk.note_event(value)
        self._held.holds = partial(chunk.holds, place)
        action = chunk.action(place)
        if action == OffsetAction.NONE:
            event = events.at(place - chunk.carried)
            changes = self._replay_event(event)
        else:
            group, event = chunk.of_offsets(place)
            changes = self._replay_offset(group, event, action)
        # A tombstone of a group that is not there may belong to what was removed.
        is_noop = action == OffsetAction.NONE and event.tombstone and not event.is_absence
        if changes or (is_noop and event.group is not None):
            done.events.append(GroupEvent(place, event, changes))
            done.all.append(done.events[-1])
        subjects = (change.subject for change in changes)
        groups = {subject.group for subject in subjects if isinstance(subject, GroupOf | MemberOf)}
        for group in groups:
            self._counted.pop(group, None)
            if group not in self.coordinator.state.groups:
                chunk.push_next_commit(group, place)
        return groups

    def _may_wait(self, key: GroupKey) -> bool:
        """Return whether a value with this key may wait: it reads, and only changes its group."""
        state, group = self.coordinator.state, self.coordinator.state.groups.get(key.group)
        if group is None or key.group in state.unread.groups:
            return False
        if key.rules is None:
            return group.kind is GroupKind.CLASSIC
        return group.kind is key.rules.kind and self.coordinator.rules is Rules.NEW

    def _put_off(self, values: Sequence[GroupValue]) -> None:
        """Let values of one group wait, all of which read; one of a classic group replaces those before."""
        assert self._waiting is not None
        self.is_new = self.is_new or any(map(self._proves_new, values))
        values = values[-1:] if values[0].key.rules is None else values
        self._waiting.add(values[0].key.group, values)

    def _proves_new(self, value: GroupValue) -> bool:
        """Return whether a value that reads proves the new coordinator."""
        key = value.key
        may_say_so = key.rules is None and value.data.startswith(FIRST_JOINS, _VERSION.size)
        data = self._read(value) if may_say_so else None
        return is_of_new(key.type.id, data, has_sequence=value.has_sequence)

    def finish(self) -> None:
        """Replay the values that wait; they may wait again later."""
        for group in () if self._waiting is None else self._waiting.groups():
            self._replay_waiting(group)

    def _replay_waiting(self, group: str) -> None:
        """Replay the values of a group that wait, but for those that make no difference any more."""
        state = self.coordinator.state
        for record in () if self._waiting is None else self._waiting.pop(group):
            value = self._events.values.read(record.key.type, record.data)
            if record.key.rules is None:
                self._put_generation(generation_of(state, group, value, record.where[1]))
            else:
                self._changed_part(record, record.key.rules, state.groups[group], value)

    def _prove(self, chunk: GroupChunk, proved: int | None) -> None:
        """Go on by the rules of the new coordinator from the place that proves them, if there is one."""
        if proved is not None and self.coordinator.proved_at is None:
            self.coordinator.rules = Rules.NEW
            self.coordinator.proved_at = chunk.rows.column("log_offset")[proved - chunk.carried].as_py()

    def _replay_event(self, event: Event) -> tuple[Change, ...]:
        """Replay one record by Coordinator; return what it changed."""
        if event.group is not None:
            self._replay_waiting(event.group)
        self._observe(event)
        return self.coordinator.replay(event)

    def _replay_offset(self, group: str, event: Event, action: OffsetAction) -> tuple[Change, ...]:
        """Return what a first commit, or the tombstone of the last offset, changed of its group."""
        self._replay_waiting(group)
        coordinator = self.coordinator
        step = Step(coordinator.state, coordinator.rules, coordinator.log_partition, event)
        if action in (OffsetAction.COMMIT, OffsetAction.PENDING):
            add_simple_group(step, group)
        elif event.is_absence:
            remove_unused_group(step, group)
        else:
            remove_unused_simple_group(step, group)
            coordinator.observe_difference(step)
        return tuple(step.changes)

    def _replay_value(self, chunk: GroupChunk, record: GroupValue, done: GroupChanges) -> bool:
        """Replay a value of a group that goes on, or is new; return whether that is all that it does."""
        key = record.key
        if self._waiting is not None:
            self._replay_waiting(key.group)
        before = self.coordinator.state.groups.get(key.group)
        if not self._goes_on(chunk, record, before):
            return False
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
        done.values.append((key.type.id, value.version))
        done.places.append(record.where[0])
        self.is_new = self.is_new or is_of_new(key.type.id, value, has_sequence=record.has_sequence)
        return True

    def _read(self, record: GroupValue) -> Value | None:
        try:
            return self._events.values.read(record.key.type, record.data)
        except DecodeError:
            return None

    def _goes_on(self, chunk: GroupChunk, record: GroupValue, before: Group | None) -> bool:
        """Return whether a value's group was, if anything, of its kind, and is known but for what the value says."""
        key, unread = record.key, self.coordinator.state.unread.groups
        if key.rules is not None:
            is_of_kind = before is None or before.kind is key.rules.kind
            if not is_of_kind or self.coordinator.rules is not Rules.NEW:
                return False
        if (unread and key.group in unread) or not chunk.is_alone(record):
            return False
        return before is not None or not chunk.is_known(record)

    def _next_generation(self, record: GroupValue, before: Group | None, value: Value) -> ValueChange | None:
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
        self, record: GroupValue, rules: ValueRules, before: Group | None, value: Value
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
