"""Replays values of groups at once, for histories: generations of classic groups, and records of the groups of KIP-848 and later.

Only where the group goes on as it is, and nothing else of it was written with the record: others are replayed as changes, one by
one.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.compiled.tables import GroupCell, Kind
from offsets_tool.columns.replay.groups.counted_members import CountedMembers
from offsets_tool.columns.replay.groups.dictionaries import Place
from offsets_tool.columns.replay.groups.group_rows import OpenGroupRows
from offsets_tool.columns.replay.groups.member_rows import OpenMemberRows
from offsets_tool.columns.replay.groups.sole_values import GroupKey, GroupKeys, SoleValue, sole_values
from offsets_tool.columns.replay.history_rows_replay import HistoryRowsReplay
from offsets_tool.columns.replay.row_events import PLACE, RAW, ExpectedEvents
from offsets_tool.columns.replay.row_facts import observe_values
from offsets_tool.errors import DecodeError
from offsets_tool.events import Event, Value
from offsets_tool.expiry.log_facts import LogFacts, TypeVersion
from offsets_tool.expiry.removal_log import RemovalLog
from offsets_tool.history.end_causes import BatchOutcome
from offsets_tool.history.history import History
from offsets_tool.history.transactions import TransactionLog
from offsets_tool.replay.changes import Change, ChangeKind, Group, GroupOf, Member, MemberOf
from offsets_tool.replay.classic import Generation, next_generation
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.epoch_groups import new_group
from offsets_tool.replay.handling import ValueRules
from offsets_tool.replay.rules import Rules, is_of_new, is_sequence

_COLUMNS = (*PLACE, *RAW)
_LOG_OFFSET, _TIMESTAMP, _VALUE = map(_COLUMNS.index, ("log_offset", "timestamp", "value"))
_PLACE = slice(_LOG_OFFSET, _TIMESTAMP + 1)
_BASE_OFFSET, _MAGIC, _SEQUENCE = map(_COLUMNS.index, ("base_offset", "magic", "sequence"))
_NOBODY: dict[str, Member] = {}


class GroupsReplay(HistoryRowsReplay):
    """A HistoryRowsReplay whose rows of groups and members that ended are columns, but for those of unusual records."""

    def __init__(
        self, coordinator: Coordinator, history: History, removals: RemovalLog, transactions: TransactionLog
    ) -> None:
        """Start with what these know."""
        super().__init__(coordinator, history, removals, transactions)
        self.at_once: list[int] = []
        """The rows that were replayed at once, of those that were replayed last: `replay` does not yield their events."""
        self._group_rows = OpenGroupRows(history, coordinator.log_partition)
        self._member_rows = OpenMemberRows(history, coordinator.log_partition)
        self._keys = GroupKeys(self.events.key)
        self._values: dict[int, SoleValue] = {}
        """By row, what may be replayed at once."""
        self._type_versions: list[TypeVersion] = []
        self._is_of_new = False
        self._counted: dict[str, CountedMembers] = {}
        self._changed: set[str] = set()
        """Groups that changed since compiled code went on."""
        self._states = coordinator.state, removals.tracker.state, history.owners.state

    def choose(self, rows: pa.RecordBatch, kinds: Array) -> None:
        """Choose as others do, and find the values of groups that were written alone."""
        super().choose(rows, kinds)
        self.at_once, self._type_versions, self._is_of_new = [], [], False
        is_new = self.is_unproved or self.coordinator.rules is Rules.NEW
        found = sole_values(rows, kinds, self.writes, self._keys)
        # The classic coordinator passes over what is not its own.
        self._values = {
            row: each for row, each in found if (is_new or each.key.rules is None) and not self.doubtful[row]
        }

    def expected(self, table: Array) -> Array:
        """Return the indices of the rows that will probably be replayed alone."""
        expected = super().expected(table)
        at_once = np.fromiter(self._values, np.int64, len(self._values))
        return expected[~np.isin(expected, at_once)]

    def replay_write(self, table: Array, row: int, events: ExpectedEvents) -> int:
        """Replay values of groups at once, up to one that has to be replayed alone; a write of tombstones as others do."""
        if row not in self._values:
            return super().replay_write(table, row, events)
        first = row
        while (each := self._values.get(row)) is not None and self._replay_value(table, row, each):
            row += 1
        self.kinds[first:row] = Kind.PASSED
        self.at_once += range(first, row)
        self._end_changes()
        if each is not None:
            events.add(row, each.facts)
        return row

    def _replay_value(self, table: Array, row: int, each: SoleValue) -> bool:
        """Replay a value, unless it has to be replayed alone; return whether it was."""
        key, facts = each.key, each.facts
        if self.is_joined(table, row):
            return False
        try:
            value = self.events.values.read(key.type, facts[_VALUE])
        except DecodeError:
            return False
        is_of_new = _is_of_new(key, value, facts)
        if self.is_unproved and is_of_new:
            return False
        if key.rules is None:
            is_done = self._replay_generation(key.group, value, facts)
        else:
            is_done = self._replay_part(key, key.rules, value, facts)
        if is_done:
            self._type_versions.append((key.type.id, value.version))
            self._is_of_new |= is_of_new
        return is_done

    def _replay_generation(self, name: str, value: Value, facts: tuple[Any, ...]) -> bool:
        """Replay the record of a classic group, if it only makes the group's next generation; return whether it does."""
        state, place = self.coordinator.state, facts[_PLACE]
        made = next_generation(state, name, value, facts[_LOG_OFFSET])
        if made is None or (made.before is None and not self._is_unknown(name)):
            return False
        self._begin_change(name, facts[_TIMESTAMP])
        known = state.members.get(name, _NOBODY)
        if made.gone:
            self._end_gone(made, place)
        self._member_rows.generation(made.after, known, made.written, place)
        self._put_group(made.before, made.after, place)
        for each in self._states:
            each.change_members(name, made.gone, made.written)
        return True

    def _end_gone(self, made: Generation, place: Place) -> None:
        name = made.after.group
        change = Change(None, *place, place[0], ChangeKind.SET, GroupOf(name), made.before, made.after)
        outcome = BatchOutcome((change,))
        outcome.observe_instances(name, made.written)
        causes = outcome.ends_of_gone(name, made.gone)
        self._member_rows.end(name, made.gone, causes, place)

    def _is_unknown(self, name: str) -> bool:
        """Return whether nothing at all is known of a group that is not there, so that its first record only makes it."""
        state, number = self.coordinator.state, self.store.subjects.groups.number(name)
        if state.pending or name in state.offsets or name in state.members:
            return False
        if number is None:
            return True
        line = self.store.tables.groups[number]
        return not line[[GroupCell.IS_NEW, GroupCell.IN_TABLES, GroupCell.PENDING]].any()

    def _replay_part(self, key: GroupKey, rules: ValueRules, value: Value, facts: tuple[Any, ...]) -> bool:
        """Replay a value of a group that is of its kind already, or new; return whether it is."""
        name = key.group
        before = group = self.coordinator.state.groups.get(name)
        if group is None and self._is_unknown(name):
            group = new_group(rules.kind, name, facts[_LOG_OFFSET])
        if group is None or group.kind is not rules.kind:
            return False
        counted = self._counted.get(name)
        if counted is None:
            counted = self._counted[name] = CountedMembers(self.coordinator.state.members.get(name, _NOBODY))
        known = self.coordinator.state.members.get(name, _NOBODY).get(key.member_id)
        replayed = rules.replayed(group, known, key.data, value)
        if replayed is not None:
            group, member = replayed
            if member is not None:
                self._put_member(key, group, known, member, facts)
            self._update_group(before, group, rules, counted, facts)
        return True

    def _put_member(
        self, key: GroupKey, group: Group, known: Member | None, member: Member, facts: tuple[Any, ...]
    ) -> None:
        name = key.group
        self._begin_change(name, facts[_TIMESTAMP])
        self._member_rows.member(group, key.member_id, known, member, facts[_PLACE])
        for each in self._states:
            each.put_member(name, key.member_id, member)
        self._counted[name].put(self.coordinator.state.members[name], key.member_id, known, member)

    def _update_group(
        self,
        before: Group | None,
        group: Group,
        rules: ValueRules,
        counted: CountedMembers,
        facts: tuple[Any, ...],
    ) -> None:
        """Find a group's members and state anew, and put it if it changed or is new."""
        after = counted.changed_group(before, group, rules, facts[_LOG_OFFSET])
        if after is not None:
            self._begin_change(group.group, facts[_TIMESTAMP])
            self._put_group(before, after, facts[_PLACE])

    def _begin_change(self, name: str, when: int) -> None:
        """Begin a change of a group, which nothing that was replayed before has a part in."""
        self.end_write()
        if name not in self._changed:
            self._changed.add(name)
            number = self.store.subjects.groups.number(name)
            if number is not None:
                self.store.materialize_change_time(number)
        self.removals.tracker.mark_group(name, when)

    def _put_group(self, before: Group | None, after: Group, place: Place) -> None:
        if before is not None:
            self._group_rows.take(after.group)
        self._group_rows.change(after.group, after, place)
        for each in self._states:
            each.groups[after.group] = after

    def _end_changes(self) -> None:
        """Tell the store and the owners which groups changed."""
        groups = self.store.subjects.groups
        for name in self._changed:
            if (number := groups.number(name)) is not None:
                self.store.look_up_group(number)
            self.raise_stamp(name)
            self.history.owners.forget_holders(name)
        self._changed.clear()

    def observe(self, event: Event, changes: Iterable[Change]) -> None:
        """Pass an event that was replayed alone to the observers; History has the rows that it changes then."""
        made = tuple(changes)
        for change in made:
            if isinstance(change.subject, MemberOf):
                self._member_rows.give_back(change.subject)
                self._counted.pop(change.subject.group, None)
            elif isinstance(change.subject, GroupOf):
                self._group_rows.give_back(change.subject)
                self._counted.pop(change.subject.group, None)
        super().observe(event, made)

    def observe_facts(self, facts: LogFacts, rows: pa.RecordBatch) -> None:
        """Observe the facts of the rows that were replayed at once, of those that were replayed last."""
        offsets, times = (rows.column(name).to_numpy()[self.at_once] for name in ("log_offset", "timestamp"))
        observe_values(facts, self._type_versions, offsets, times, is_new=self._is_of_new)

    def materialize_others(self) -> Coordinator:
        """Return the coordinator; History has all open rows then, but those of the committed offsets in the tables."""
        self._group_rows.give_all_back()
        self._member_rows.give_all_back()
        return super().materialize_others()

    def take_groups(self) -> list[pa.RecordBatch]:
        """Return, once, the rows of group_history that ended by column."""
        return self._group_rows.take_ended()

    def take_members(self) -> list[pa.RecordBatch]:
        """Return, once, the rows of member_history that ended by column."""
        return self._member_rows.take_ended()


def _is_of_new(key: GroupKey, value: Value, facts: tuple[Any, ...]) -> bool:
    """Return whether only the new coordinator writes such a value, given its row's columns PLACE and RAW."""
    has_sequence = facts[_BASE_OFFSET] is not None and is_sequence(facts[_MAGIC], facts[_SEQUENCE])
    return is_of_new(key.type.id, value, has_sequence=has_sequence)
