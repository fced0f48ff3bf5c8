"""Does the log hold what Kafka's code rules out: records that contradict each other?"""

from collections.abc import Iterator
from typing import Final

from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import count, named

CONTRADICTION: Final = FindingKind(
    "contradiction",
    Severity.NOTICE,
    "Records of the group contradict each other: no coordinator would have written them so.",
    "`offsets-tool history --kind anomalies` says what each record contradicts; records may be missing, or a broker had a defect.",
)


@finder(CONTRADICTION)
def find_contradictions(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield one finding for all contradictions of the group."""
    if rows.anomalies:
        first, last = rows.anomalies[0], rows.anomalies[-1]
        yield found(
            CONTRADICTION,
            rows,
            Places(tuple(row.log_offset for row in rows.anomalies), first.timestamp, last.timestamp),
            f"{count(len(rows.anomalies), 'record')} of group {named(rows.group)} cannot be as they are; the first: {first.note}",
        )
