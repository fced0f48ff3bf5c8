"""Rows of group_history and member_history, of what the records of a chunk did to groups; all that was written at once together.

How a row ended is told by all that was written with its end (history.end_causes). Values say it alone: their groups go on.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.groups.group_rows import OpenGroupRows
from offsets_tool.columns.replay.groups.member_rows import OpenMemberRows
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
from offsets_tool.relations.groups import GroupEvent, ValueChange
from offsets_tool.replay.changes import Change, Group, GroupKind, GroupOf, Member, MemberOf
from offsets_tool.wire.arrow import shown_batch


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
