"""Rows of member_history as numbers: those that hold, and as columns those that ended.

A row is two numbers, because members say the same again and again. Which rows end, and why, is decided by replay and
history.end_causes.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from offsets_tool.history.history import History
from offsets_tool.history.row_builders import client_columns, held_columns, member_columns, target_column
from offsets_tool.history.rows import MemberEndCause, MemberHistoryRow
from offsets_tool.relations.dictionaries import NONE, Dictionary, Place, or_null, pairs
from offsets_tool.replay.changes import Group, GroupKind, Member, MemberOf
from offsets_tool.replay.member_records import Client, Timeouts, lists_of
from offsets_tool.replay.member_state import member_epoch, member_state
from offsets_tool.wire.arrow import arrow_schema, shown_batch
from offsets_tool.wire.schema import Int32, String

_SCHEMA: Final = arrow_schema(MemberHistoryRow)
_CAUSES: Final = tuple(MemberEndCause)
_CAUSE_NUMBERS: Final = {cause: number for number, cause in enumerate(_CAUSES)}
_CHANGED: Final = _CAUSE_NUMBERS[MemberEndCause.CHANGED]
_OpenRow = tuple[int, int]
"""The member's facts and the moment at which they began, by their numbers."""


class _Subject(NamedTuple):
    """The member that a row is about."""

    group: String
    member_id: String


class _Client(NamedTuple):
    """Columns of MemberHistoryRow that a member's metadata says, and the kind of its group."""

    instance_id: String | None
    client_id: String | None
    client_host: String | None
    group_kind: String | None
    session_timeout_ms: Int32 | None
    rebalance_timeout_ms: Int32 | None
    subscription: tuple[String, ...]
    subscribed_regex: String | None


class _Held(NamedTuple):
    """Columns of MemberHistoryRow that say what a member holds."""

    assignment: tuple[String, ...]
    pending_revocation: tuple[String, ...]


class _Target(NamedTuple):
    """The column of MemberHistoryRow that says what a member is to hold."""

    target_assignment: tuple[String, ...]


class _StateName(NamedTuple):
    """The column of MemberHistoryRow that names a member's state."""

    member_state: String | None


class OpenMemberRows:
    """Rows of the members of some groups; History has those of all others, and gives a row when its member is first asked for."""

    def __init__(self, history: History, log_partition: int | None) -> None:
        """Start without members."""
        self._history = history
        self._log_partition = log_partition
        self._open: dict[str, dict[str, _OpenRow]] = {}
        self._ended: list[_OpenRow] = []
        """Rows that ended."""
        self._ends: list[tuple[int, int]] = []
        """Of each row that ended, the moment of the end and the number of its cause."""
        self._subjects, self._clients, self._states = (
            Dictionary(_Subject),
            Dictionary(_Client),
            Dictionary(_StateName),
        )
        self._held, self._targets = Dictionary(_Held), Dictionary(_Target)
        self._parts: Final[tuple[Dictionary[Any], ...]] = (
            self._subjects,
            self._clients,
            self._held,
            self._targets,
            self._states,
        )
        self._facts: Dictionary[tuple[int, ...]] = Dictionary(tuple)
        """The facts of members, as numbers of their parts."""
        self._member_lists: Dictionary[tuple[int, ...]] = Dictionary(tuple)
        """The facts of all members that a classic group's record has."""
        self._moments: Dictionary[tuple[int, ...]] = Dictionary(tuple)
        """Log offset, timestamp, generation and epoch with which rows began or ended."""

    def end(self, group: str, gone: Iterable[str], causes: Sequence[MemberEndCause], place: Place) -> None:
        """End the rows of members, given why each of them ended."""
        end = self._moments.add((*place, NONE, NONE))
        self._end_rows(group, gone, end, [_CAUSE_NUMBERS[cause] for cause in causes])

    def _end_rows(self, group: str, members: Iterable[str], end: int, causes: Iterable[int]) -> None:
        open_ = self._open.setdefault(group, {})
        self._ended += [open_.pop(each) if each in open_ else self._take(group, each) for each in members]
        self._ends += zip(repeat(end), causes, strict=False)

    def change(
        self, group: Group, member_id: str, after: Member | None, place: Place, cause: MemberEndCause
    ) -> None:
        """End the row of a member of any group, if it is open, and begin another, unless nothing is left of the member.

        A row that one record both begins and ends is none.
        """
        row = self._open.setdefault(group.group, {}).pop(member_id, None)
        if row is not None and self._moments.values[row[1]][0] != place[0]:
            self._ended.append(row)
            self._ends.append((self._moments.add((*place, NONE, NONE)), _CAUSE_NUMBERS[cause]))
        if after is not None and group.kind is GroupKind.CLASSIC:
            generation = NONE if group.generation is None else group.generation
            begin = self._moments.add((*place, generation, NONE))
            self._open[group.group][member_id] = self._of_classic(group, member_id, after), begin
        elif after is not None:
            self.member(group, member_id, None, after, place)

    def generation(
        self, group: Group, known: Mapping[str, Member] | None, written: Mapping[str, Member], place: Place
    ) -> None:
        """End and begin the rows of the members that a classic group's record has `written`.

        `known` are those before it; None: those whose rows are open here.
        """
        open_ = self._open.setdefault(group.group, {})
        generation = NONE if group.generation is None else group.generation
        begin = self._moments.add((*place, generation, NONE))
        before = open_ if known is None else known
        if not before.keys().isdisjoint(written):
            changed = [member_id for member_id in written if member_id in before]
            self._end_rows(group.group, changed, begin, [_CHANGED] * len(changed))
        open_.update(
            zip(written, zip(self._of_all(group, written), repeat(begin), strict=False), strict=True)
        )

    def _of_all(self, group: Group, written: Mapping[str, Member]) -> Sequence[int]:
        """Return the facts of members of a classic group's record; kept where they are all of them, whom generations share."""
        key = id(written), group.group, group.protocol_type
        found = self._member_lists.of_source(key)
        if found is not None:
            return self._member_lists.values[found]
        facts = tuple([self._of_classic(group, *each) for each in written.items()])
        if len(facts) == group.members:
            self._member_lists.keep_source(key, written, facts)
        return facts

    def member(
        self, group: Group, member_id: str, before: Member | None, after: Member, place: Place
    ) -> None:
        """End the row of a member of a group that is not classic, if it is there, and begin another."""
        name, open_ = group.group, self._open.setdefault(group.group, {})
        if before is None:
            subject, client = self._subjects.number(_Subject(name, member_id)), self._client(group, after)
            target, (held, state, epoch) = self._target(group, after), self._current(group, after)
            begin = self._moments.add((*place, NONE, epoch))
        else:
            row = open_.get(member_id) or self._take(name, member_id)
            subject, client, held, target, state = self._facts.values[row[0]]
            epoch = self._moments.values[row[1]][-1]
            if after.metadata is not before.metadata:
                client = self._client(group, after)
            if after.target is not before.target:
                target = self._target(group, after)
            # Without a current assignment, other facts tell of it.
            if after.current is None or after.current is not before.current:
                held, state, epoch = self._current(group, after)
            begin = self._moments.add((*place, NONE, epoch))
            self._ended.append(row)
            self._ends.append((begin, _CHANGED))
        open_[member_id] = self._facts.number((subject, client, held, target, state)), begin

    def _current(self, group: Group, member: Member) -> tuple[int, int, int]:
        """Return what a member holds, its state and its epoch, which its current assignment says if there is one."""
        epoch, state = (member_epoch(member), member_state(member)) if member.is_member else (NONE, None)
        return self._what_it_holds(group, member), self._state(state), epoch

    def _state(self, name: str | None) -> int:
        number = self._states.of_source(name)
        return self._states.keep_source(name, None, _StateName(name)) if number is None else number

    def _of_classic(self, group: Group, member_id: str, member: Member) -> int:
        key = id(member.metadata), group.group, group.protocol_type
        found = self._facts.of_source(key)
        if found is not None:
            return found
        said = member_columns(member, group.protocol_type, self._history.name_of, is_task=False)
        facts = (
            self._subjects.number(_Subject(group.group, member_id)),
            self._clients.number(_client(group, *said[:4])),
            self._held.number(_Held(said.assignment, said.pending_revocation)),
            self._target(group, member),
            self._state(None),
        )
        return self._facts.keep_source(key, member.metadata, facts)

    def _client(self, group: Group, member: Member) -> int:
        key = id(member.metadata), group.kind
        found = self._clients.of_source(key)
        if found is None:
            client = _client(group, *client_columns(member, group.protocol_type))
            found = self._clients.keep_source(key, member.metadata, client)
        return found

    def _what_it_holds(self, group: Group, member: Member) -> int:
        lists = () if member.current is None else lists_of(member.current)
        key = group.kind, *map(id, lists)
        found = self._held.of_source(key)
        if found is None:
            found = self._held.keep_source(key, lists, self._held_by(group, member))
        return found

    def _held_by(self, group: Group, member: Member) -> _Held:
        is_task = group.kind is GroupKind.STREAMS
        return _Held(*held_columns(member, group.protocol_type, self._history.name_of, is_task))

    def _target(self, group: Group, member: Member) -> int:
        key = id(member.target), group.kind
        found = self._targets.of_source(key)
        if found is None:
            is_task = group.kind is GroupKind.STREAMS
            target = _Target(target_column(member, self._history.name_of, is_task))
            found = self._targets.keep_source(key, member.target, target)
        return found

    def _take(self, group: str, member_id: str) -> _OpenRow:
        """Take the open row of a member from History."""
        return self._numbered(self._history.take_member(MemberOf(group, member_id)))

    def take_all(self) -> None:
        """Take all open rows of members from History."""
        for row in list(self._history.open_rows()):
            if isinstance(row, MemberHistoryRow):
                open_ = self._open.setdefault(row.group, {})
                open_[row.member_id] = self._take(row.group, row.member_id)

    def _numbered(self, row: MemberHistoryRow) -> _OpenRow:
        facts = (
            self._subjects.number(_Subject(row.group, row.member_id)),
            self._clients.number(_Client(*(getattr(row, name) for name in _Client._fields))),
            self._held.number(_Held(row.assignment, row.pending_revocation)),
            self._targets.number(_Target(row.target_assignment)),
            self._states.number(_StateName(row.member_state)),
        )
        generation = NONE if row.generation is None else row.generation
        epoch = NONE if row.member_epoch is None else row.member_epoch
        begin = row.from_log_offset, row.from_timestamp, generation, epoch
        return self._facts.number(facts), self._moments.add(begin)

    def give_back(self, subject: MemberOf) -> None:
        """Give the open row of a member back to History, if it is here."""
        row = self._open.get(subject.group, {}).pop(subject.member_id, None)
        if row is not None:
            self._history.put_row(subject, self._row(row))

    def _row(self, row: _OpenRow) -> MemberHistoryRow:
        columns: dict[str, Any] = {}
        for part, number in zip(self._parts, self._facts.values[row[0]], strict=True):
            columns |= part.values[number]._asdict()
        at, when, generation, epoch = self._moments.values[row[1]]
        return MemberHistoryRow(
            **columns,
            generation=None if generation == NONE else generation,
            member_epoch=None if epoch == NONE else epoch,
            log_partition=self._log_partition,
            from_log_offset=at,
            from_timestamp=when,
            to_log_offset=None,
            to_timestamp=None,
            end_cause=None,
        )

    def give_all_back(self) -> None:
        """Give all open rows back to History."""
        for group, open_ in self._open.items():
            for member_id in list(open_):
                self.give_back(MemberOf(group, member_id))
        self._open.clear()

    def take_ended(self) -> list[pa.RecordBatch]:
        """Return, once, the rows that ended."""
        if not self._ended:
            return []
        end, cause = pairs(self._ends).T
        moments = self._moments.lines(end)
        ends = {
            "to_log_offset": pa.array(np.ascontiguousarray(moments[:, 0])),
            "to_timestamp": pa.array(np.ascontiguousarray(moments[:, 1])),
            "end_cause": pa.array(_CAUSES, pa.string()).take(pa.array(np.ascontiguousarray(cause))),
        }
        batch = self._batch(self._ended, ends)
        self._ended.clear()
        self._ends.clear()
        self._forget()
        return [batch]

    def open_rows(self) -> pa.RecordBatch:
        """Return the rows that hold."""
        rows = [row for open_ in self._open.values() for row in open_.values()]
        if not rows:
            return shown_batch(MemberHistoryRow, [])
        names = ("to_log_offset", "to_timestamp", "end_cause")
        return self._batch(rows, {name: pa.nulls(len(rows), _SCHEMA.field(name).type) for name in names})

    def _batch(self, rows: Sequence[_OpenRow], ends: Mapping[str, pa.Array]) -> pa.RecordBatch:
        facts, begin = pairs(rows).T
        moments, parts = self._moments.lines(begin), self._facts.lines(facts)
        columns = {
            **ends,
            "from_log_offset": pa.array(np.ascontiguousarray(moments[:, 0])),
            "from_timestamp": pa.array(np.ascontiguousarray(moments[:, 1])),
            "generation": or_null(moments[:, 2], pa.int32()),
            "member_epoch": or_null(moments[:, 3], pa.int32()),
            "log_partition": pa.repeat(pa.scalar(self._log_partition, pa.int32()), len(rows)),
        }
        for place, part in enumerate(self._parts):
            columns |= part.columns(parts[:, place])
        return pa.record_batch([columns[name] for name in _SCHEMA.names], schema=_SCHEMA)

    def _forget(self) -> None:
        """Forget what no open row has, where it is much, and number the rest anew."""
        many = sum(map(len, self._open.values()))
        if self._moments.are_many(many):
            moments = self._moments.forget_all()
            for open_ in self._open.values():
                for member_id, (facts, begin) in open_.items():
                    open_[member_id] = facts, self._moments.add(moments[begin])
        if any(table.are_many(many) for table in (*self._parts, self._facts, self._member_lists)):
            self._forget_facts()

    def _forget_facts(self) -> None:
        self._member_lists.forget_all()
        *parts, facts = [table.forget_all() for table in (*self._parts, self._facts)]
        for open_ in self._open.values():
            for member_id, (number, begin) in open_.items():
                of_parts = zip(self._parts, parts, facts[number], strict=True)
                anew = tuple([table.number(before[each]) for table, before, each in of_parts])
                open_[member_id] = self._facts.number(anew), begin


def _client(
    group: Group, client: Client, timeouts: Timeouts, topics: tuple[str, ...], regex: str | None
) -> _Client:
    return _Client(*client, group.kind, *timeouts, topics, regex)
