"""Does a group lie in a partition of the log where no coordinator looks for it?"""

from collections.abc import Iterator
from typing import Final

from offsets_tool.expiry.causes import Confidence
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import named
from offsets_tool.placement import partition_for

MISPLACED: Final = FindingKind(
    "group_misplaced",
    Severity.WARNING,
    "A group lies where no coordinator looks for it: the topic was given more partitions, or files are misnamed.",
    "If __consumer_offsets was given more partitions, its groups began anew: set their offsets from the old partition.",
)


@finder(MISPLACED)
def find_misplaced(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for a group in a log partition where its coordinator, by the partitions of most groups, does not look."""
    if context.partitions is None or rows.log_partition is None:
        return
    home = partition_for(rows.group, context.partitions)
    if home != rows.log_partition:
        yield found(
            MISPLACED,
            rows,
            Places(_first(rows)),
            f"Group {named(rows.group)} lies in partition {rows.log_partition} of __consumer_offsets; of {context.partitions} "
            f"partitions, which most groups here fit, it belongs in {home}",
            confidence=Confidence.LIKELY,
        )


def _first(rows: GroupRows) -> tuple[int, ...]:
    """Return the log offset of the group's first record, alone in a tuple."""
    began = [row.from_log_offset for some in (rows.groups, rows.offsets, rows.members) for row in some[:1]]
    return (min(began, default=0),)
