"""Did a group change its kind: from the classic protocol to the consumer protocol, or back?"""

from collections.abc import Iterator
from typing import Final

from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import at_time, count, named
from offsets_tool.history.rows import GroupHistoryRow
from offsets_tool.replay.changes import GroupKind

CONVERTED: Final = FindingKind(
    "group_converted",
    Severity.NOTICE,
    "The group changed its kind: its members went over to another protocol (KIP-848, KIP-1071), or the last of them left.",
    "If that was not meant, compare group.protocol of the group's clients: the kind follows them.",
)


@finder(CONVERTED)
def find_conversions(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for each conversion; a simple group whose first member joins is none."""
    for row in rows.groups:
        if row.previous_kind not in (None, GroupKind.SIMPLE, row.kind):
            yield _conversion(rows, row)


def _conversion(rows: GroupRows, row: GroupHistoryRow) -> Finding:
    return found(
        CONVERTED,
        rows,
        Places((row.from_log_offset,), row.from_timestamp, row.from_timestamp),
        f"Group {named(rows.group)} was converted from {row.previous_kind} to {row.kind}{at_time(row.from_timestamp)}, "
        f"with {count(row.members, 'member')}",
    )
