"""Assignments in an evidence, after its replay to a moment: who owned what from when to when, and their audits.

offsets_tool.history declares what an assignment is.
"""

from itertools import chain

from offsets_tool.as_of.selection import Wanted
from offsets_tool.evidence.partition_histories import PartitionHistories
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.history.assignment_audits import AssignmentAuditRow, AssignmentAudits
from offsets_tool.history.assignments import AssignmentRow, assignment_rows
from offsets_tool.history.rows import MemberHistoryRow


def assignments_of(replay: EvidenceReplay, wanted: Wanted) -> list[AssignmentRow]:
    """Run the replay; return who owned the wanted partitions, by group, partition and time.

    Tasks of streams groups are named by subtopologies, which `wanted` topics leave out.
    """
    rows = chain.from_iterable(replay.ask(lambda histories: histories.rows(MemberHistoryRow)))
    members = [row for row in rows if wanted.has_group(row.group)]
    members.sort(key=lambda row: row.from_log_offset)
    is_any = not wanted.topics and wanted.partition is None
    return [
        row
        for row in assignment_rows(members)
        if is_any or (row.topic is not None and wanted.has_offset(row.topic, row.partition))
    ]


def audits_of(replay: EvidenceReplay, wanted: Wanted) -> list[AssignmentAuditRow]:
    """Run the replay; return an audit of each assignment of the wanted groups, by group and place."""
    audits = chain.from_iterable(replay.ask(_audits))
    rows = [row for row in audits if wanted.has_group(row.group)]
    return sorted(rows, key=lambda row: (row.group, row.log_offset))


def _audits(histories: PartitionHistories) -> list[AssignmentAuditRow]:
    # With all changes, so that the partition is what it is at the moment: an audit asks what is committed there.
    changes, partition = histories.group_changes(), histories.partition
    proven_from = partition.coverage.proven_from or 0
    audits = AssignmentAudits(histories.name_of, proven_from=proven_from, committed=partition.state)
    return [row for row in map(audits.follow, changes) if row is not None]
