"""Rows of group_history and member_history, of what the records of a chunk did to groups; all that was written at once together.

How a row ended is told by all that was written with its end (history.end_causes). Values say it alone: their groups go on.

Rows that hold are tuples of numbers, those that ended columns.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.history.end_causes import BatchOutcome, ending
from offsets_tool.history.history import History
from offsets_tool.history.row_builders import anomaly_row
from offsets_tool.history.rows import (
    AnomalyRow,
    GroupEndCause,
    GroupHistoryRow,
    MemberEndCause,
    MemberHistoryRow,
)
from offsets_tool.relations.dictionaries import NONE, Dictionary, Place, or_null
from offsets_tool.relations.groups import GroupEvent, ValueChange
from offsets_tool.relations.member_rows import OpenMemberRows
from offsets_tool.replay.changes import Change, Group, GroupKind, GroupOf, Member, MemberOf
from offsets_tool.wire.arrow import arrow_schema, shown_batch
from offsets_tool.wire.schema import Int64, String

_SCHEMA: Final = arrow_schema(GroupHistoryRow)
_CAUSES: Final = tuple(GroupEndCause)
_CAUSE_NUMBERS: Final = {cause: number for number, cause in enumerate(_CAUSES)}
_CHANGED: Final = GroupEndCause.CHANGED
_CELLS: Final = {
    name: place
    for place, name in enumerate(
        (
            "generation",
            "epoch",
            "assignment_epoch",
            "members",
            "log_offset",
            "from_log_offset",
            "from_timestamp",
            "to_log_offset",
            "to_timestamp",
        ),
        2,
    )
}
"""Columns that are numbers, by their place in a row that ended, behind the numbers of two values."""
_OR_NONE: Final = ("generation", "epoch", "assignment_epoch")
"""Those of them that a group may lack; others may be any number, NONE too."""
_FROM: Final = _CELLS["from_log_offset"]
_OPEN: Final = dict(list(_CELLS.items())[: -len(("to_log_offset", "to_timestamp"))])
"""Those of a row that holds."""

_OpenRow = tuple[int, ...]


class _Name(NamedTuple):
    """What a group's rows say of it for long, and what one was converted from."""

    group: String
    kind: String
    protocol_type: String | None
    protocol: String | None
    leader: String | None
    previous_kind: String | None


class _Phase(NamedTuple):
    """The state that a group is in, and since when if it says so."""

    state: String
    current_state_timestamp: Int64 | None


class OpenGroupRows:
    """Rows of some groups; History has those of all others, and gives a row when its group is first asked for."""

    def __init__(self, history: History, log_partition: int | None) -> None:
        """Start without groups."""
        self._history = history
        self._log_partition = log_partition
        self._open: dict[str, _OpenRow] = {}
        self._ended: list[_OpenRow] = []
        self._names, self._phases = Dictionary(_Name), Dictionary(_Phase)

    def change(
        self,
        group: str,
        after: Group | None,
        place: Place,
        cause: GroupEndCause = _CHANGED,
        previous_kind: str | None = None,
    ) -> None:
        """End the row of a group, if it is open, for this cause, and begin another, unless nothing is left of the group.

        A row that one record both begins and ends is none: of its steps, the first knows what the group was converted from.
        """
        row = self._open.pop(group, None)
        if row is not None and row[_FROM] == place[0]:
            previous_kind = self._names.values[row[0]].previous_kind
        elif row is not None:
            self._ended.append((*row, *place, _CAUSE_NUMBERS[cause]))
        if after is not None:
            self._open[group] = self._numbered(after, previous_kind, place)

    def take(self, group: str) -> None:
        """Take the open row of a group from History, if it is not here."""
        if group not in self._open:
            row = self._history.take_group(GroupOf(group))
            place = row.from_log_offset, row.from_timestamp
            self._open[group] = self._numbered(row, row.previous_kind, place)

    def take_all(self) -> None:
        """Take all open rows of groups from History."""
        for row in list(self._history.open_rows()):
            if isinstance(row, GroupHistoryRow):
                self.take(row.group)

    def _numbered(self, of: Group | GroupHistoryRow, previous_kind: str | None, place: Place) -> _OpenRow:
        """Return an open row of a group as numbers."""
        name = _Name(of.group, of.kind, of.protocol_type, of.protocol, of.leader, previous_kind)
        return (
            self._names.number(name),
            self._phases.number(_Phase(of.state, of.current_state_timestamp)),
            NONE if of.generation is None else of.generation,
            NONE if of.epoch is None else of.epoch,
            NONE if of.assignment_epoch is None else of.assignment_epoch,
            of.members,
            of.log_offset,
            *place,
        )

    def give_back(self, subject: GroupOf) -> None:
        """Give the open row of a group back to History, if it is here."""
        row = self._open.pop(subject.group, None)
        if row is not None:
            self._history.put_row(subject, self._row(row))

    def _row(self, row: _OpenRow) -> GroupHistoryRow:
        name, phase, *cells = row
        numbers: dict[str, Any] = {
            column: None if cell == NONE and column in _OR_NONE else cell
            for column, cell in zip(_OPEN, cells, strict=True)
        }
        return GroupHistoryRow(
            **self._names.values[name]._asdict(),
            **self._phases.values[phase]._asdict(),
            **numbers,
            log_partition=self._log_partition,
            to_log_offset=None,
            to_timestamp=None,
            end_cause=None,
        )

    def give_all_back(self) -> None:
        """Give all open rows back to History."""
        for group in list(self._open):
            self.give_back(GroupOf(group))

    def take_ended(self) -> list[pa.RecordBatch]:
        """Return, once, the rows that ended."""
        if not self._ended:
            return []
        lines: Array = np.array(self._ended, np.int64)
        self._ended.clear()
        ends = {name: _column(name, lines[:, cell]) for name, cell in _CELLS.items() if name not in _OPEN}
        ends["end_cause"] = pa.array(_CAUSES, pa.string()).take(pa.array(np.ascontiguousarray(lines[:, -1])))
        batch = self._batch(lines, ends)
        self._forget()
        return [batch]

    def open_rows(self) -> pa.RecordBatch:
        """Return the rows that hold."""
        if not self._open:
            return shown_batch(GroupHistoryRow, [])
        lines: Array = np.array(list(self._open.values()), np.int64)
        names = ("to_log_offset", "to_timestamp", "end_cause")
        return self._batch(lines, {name: pa.nulls(len(lines), _SCHEMA.field(name).type) for name in names})

    def _batch(self, lines: Array, ends: Mapping[str, pa.Array]) -> pa.RecordBatch:
        columns = {**ends, **{name: _column(name, lines[:, cell]) for name, cell in _OPEN.items()}}
        columns |= self._names.columns(lines[:, 0]) | self._phases.columns(lines[:, 1])
        columns["log_partition"] = pa.repeat(pa.scalar(self._log_partition, pa.int32()), len(lines))
        return pa.record_batch([columns[name] for name in _SCHEMA.names], schema=_SCHEMA)

    def _forget(self) -> None:
        """Forget the values that no open row has, if they are many, and number the rest anew."""
        if self._names.are_many(len(self._open)) or self._phases.are_many(len(self._open)):
            names, phases = self._names.forget_all(), self._phases.forget_all()
            self._open = {
                group: (self._names.number(names[name]), self._phases.number(phases[phase]), *cells)
                for group, (name, phase, *cells) in self._open.items()
            }


def _column(name: str, cells: Array) -> pa.Array:
    type_ = _SCHEMA.field(name).type
    return or_null(cells, type_) if name in _OR_NONE else pa.array(np.ascontiguousarray(cells)).cast(type_)


class GroupTables(NamedTuple):
    """Rows of groups and members, as columns, and anomalies of groups."""

    groups: pa.RecordBatch
    members: pa.RecordBatch
    anomalies: list[AnomalyRow]


NO_GROUPS: Final = GroupTables(shown_batch(GroupHistoryRow, []), shown_batch(MemberHistoryRow, []), [])
"""What has no rows; nobody adds anomalies to it."""


class GroupRelation:
    """The open rows of groups and members of one log partition: `advance` takes what a chunk did and returns what it ended."""

    def __init__(self, history: History, log_partition: int | None, groups: Mapping[str, Group]) -> None:
        """Start with the groups that are there; `history` gives their open rows, and names of topic ids."""
        self._group_rows = OpenGroupRows(history, log_partition)
        self._member_rows = OpenMemberRows(history, log_partition)
        self._groups = dict(groups)
        """The groups as they are at the row that is being looked at."""
        self.take()

    def take(self) -> None:
        """Take all open rows from History."""
        self._group_rows.take_all()
        self._member_rows.take_all()

    def give(self) -> None:
        """Give all open rows to History, where a checkpoint has them."""
        self._group_rows.give_all_back()
        self._member_rows.give_all_back()

    def advance(self, changes: Sequence[GroupEvent | ValueChange], of_writes: Array) -> GroupTables:
        """Return the rows that records ended, and anomalies; `of_writes` are the numbers of Kafka's writes by place."""
        anomalies: list[AnomalyRow] = []
        batch: list[Change] = []
        last = None
        for change in changes:
            if isinstance(change, GroupEvent) and not change.changes:
                continue
            if batch and of_writes[change.place] != last:
                anomalies += self._end_write(batch)
                batch = []
            if isinstance(change, ValueChange):
                self._put_value(change)
            else:
                last = of_writes[change.place]
                batch += (
                    of_event
                    for of_event in change.changes
                    if of_event.is_anomaly or isinstance(of_event.subject, GroupOf | MemberOf)
                )
        anomalies += self._end_write(batch)
        groups, members = self._group_rows.take_ended(), self._member_rows.take_ended()
        return GroupTables(
            groups[0] if groups else shown_batch(GroupHistoryRow, []),
            members[0] if members else shown_batch(MemberHistoryRow, []),
            anomalies,
        )

    def open_rows(self) -> GroupTables:
        """Return the rows that hold."""
        return GroupTables(self._group_rows.open_rows(), self._member_rows.open_rows(), [])

    def _put_value(self, change: ValueChange) -> None:
        """End and begin the rows that a value changes."""
        group, before = change.group, change.before
        where = change.log_offset, change.timestamp
        if group.kind is not GroupKind.CLASSIC:
            for member_id, member in change.written.items():
                self._member_rows.member(group, member_id, change.known, member, where)
        else:
            if change.gone:
                causes = _ends_of_gone(change)
                self._member_rows.end(group.group, change.gone, causes, where)
            self._member_rows.generation(group, None, change.written, where)
        if group is not before:
            self._group_rows.change(group.group, group, where)
            self._groups[group.group] = group

    def _end_write(self, batch: Sequence[Change]) -> list[AnomalyRow]:
        """End and begin the rows that the changes of one write concern; return its anomalies."""
        outcome = BatchOutcome(batch)
        for change in batch:
            match change.subject:
                case _ if change.is_anomaly:
                    continue
                case GroupOf(group):
                    self._change_group(group, change, outcome)
                case MemberOf(group, member_id):
                    self._change_member(group, member_id, change, outcome)
        return [anomaly_row(change) for change in batch if change.is_anomaly]

    def _change_group(self, group: str, change: Change, outcome: BatchOutcome) -> None:
        after = change.after
        assert after is None or isinstance(after, Group)
        cause = GroupEndCause.CHANGED if change.before is None else GroupEndCause(ending(change, outcome))
        previous_kind = None if after is None else outcome.previous_kind(change, after)
        place = change.log_offset, change.timestamp
        self._group_rows.change(group, after, place, cause, previous_kind)
        if after is None:
            self._groups.pop(group, None)
        else:
            self._groups[group] = after

    def _change_member(self, group: str, member_id: str, change: Change, outcome: BatchOutcome) -> None:
        after = change.after
        assert after is None or isinstance(after, Member)
        cause = MemberEndCause.CHANGED if change.before is None else MemberEndCause(ending(change, outcome))
        place = change.log_offset, change.timestamp
        self._member_rows.change(self._groups[group], member_id, after, place, cause)


def _ends_of_gone(change: ValueChange) -> list[MemberEndCause]:
    """Return how the members ended that a classic group's value no longer has."""
    name, outcome = change.group.group, BatchOutcome(())
    outcome.observe_instances(name, change.written)
    return outcome.ends_of_gone(name, change.gone)
