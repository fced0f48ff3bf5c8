"""Assignments in an evidence, after its replay to a moment: who owned what from when to when, and their audits.

Audits replay the records of groups once more, by rows where that pays. offsets_tool.history declares what an assignment is.
"""

from collections.abc import Iterable, Iterator

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import PartitionSnapshot
from offsets_tool.events import Event
from offsets_tool.evidence.lanes import RowLane
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.history.assignment_audits import AssignmentAuditRow, AssignmentAudits
from offsets_tool.history.assignments import AssignmentRow, assignment_rows
from offsets_tool.history.replayed_rows import replayed_rows
from offsets_tool.history.rows import MemberHistoryRow
from offsets_tool.records.kinds import COMMITS
from offsets_tool.replay.changes import Change, GroupOf, MemberOf

_Replayed = Iterator[tuple[Event, tuple[Change, ...]]]


def assignments_of(replay: EvidenceReplay, wanted: Wanted) -> list[AssignmentRow]:
    """Return who owned the wanted partitions, by group, partition and time, after `replay` was run.

    Tasks of streams groups are named by subtopologies, which `wanted` topics leave out.
    """
    members: list[MemberHistoryRow] = []
    # With the commits too: what Kafka wrote at once, and so why a row ended, is told by what stands between the records of groups.
    for _, replayed in replay.once_more():
        rows = replayed_rows(replayed, replay.snapshot.names.name)
        members += (row for row in rows if isinstance(row, MemberHistoryRow) and wanted.has_group(row.group))
    members.sort(key=lambda row: row.from_log_offset)
    is_any = not wanted.topics and wanted.partition is None
    return [
        row
        for row in assignment_rows(members)
        if is_any or (row.topic is not None and wanted.has_offset(row.topic, row.partition))
    ]


def audits_of(replay: EvidenceReplay, wanted: Wanted) -> list[AssignmentAuditRow]:
    """Return an audit of each assignment of the wanted groups, by group and place, after `replay` was run."""
    found: list[AssignmentAuditRow] = []
    for partition, replayed in _of_groups(replay):
        audits = AssignmentAudits(
            replay.snapshot.names.name,
            proven_from=partition.coverage.proven_from or 0,
            committed=partition.state,
        )
        found += (
            row
            for _, changes in replayed
            for change in changes
            if (row := audits.follow(change)) is not None and wanted.has_group(row.group)
        )
    return sorted(found, key=lambda row: (row.group, row.log_offset))


def _of_groups(replay: EvidenceReplay) -> Iterator[tuple[PartitionSnapshot, _Replayed]]:
    """Yield the records of groups once more, partition by partition, with their changes."""
    if replay.rows_pay:
        for partition, (coordinator, reads) in replay.rows_once_more():
            yield partition, _only_groups(RowLane.replayed_alone(partition, coordinator, reads))
    else:
        for partition, replayed in replay.once_more():
            yield partition, _only_groups(replayed)


def _only_groups(replayed: Iterable[tuple[Event, tuple[Change, ...]]]) -> _Replayed:
    """Yield the records that are about a group itself or a member, with what they changed of these."""
    for event, changes in replayed:
        if event.type_id not in COMMITS and event.control is None:
            yield event, tuple(each for each in changes if isinstance(each.subject, GroupOf | MemberOf))
