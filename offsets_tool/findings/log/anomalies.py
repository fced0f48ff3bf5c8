"""Does the log hold what Kafka's code rules out: records that contradict each other?"""

from collections.abc import Iterator
from typing import Final

from offsets_tool.expiry.causes import Confidence
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import count, named
from offsets_tool.replay.changes import is_unread_note

CONTRADICTION: Final = FindingKind(
    "contradiction",
    Severity.NOTICE,
    "Records of the group do not fit each other: some are missing, or their coordinator believed otherwise when it wrote them.",
    "`offsets-tool history --kind anomalies` says what each record contradicts; records may be missing, or a broker had a defect.",
)


@finder(CONTRADICTION)
def find_contradictions(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield one finding for all contradictions of the group."""
    anomalies = [row for row in rows.anomalies if not is_unread_note(row.note)]
    if anomalies:
        first, last = anomalies[0], anomalies[-1]
        does = "does" if len(anomalies) == 1 else "do"
        is_proven = first.log_offset >= rows.proven_from
        yield found(
            CONTRADICTION,
            rows,
            Places(tuple(row.log_offset for row in anomalies), first.timestamp, last.timestamp),
            f"{count(len(anomalies), 'record')} of group {named(rows.group)} {does} not fit "
            f"what the log says before; the first: {first.note}",
            confidence=Confidence.CERTAIN if is_proven else Confidence.AMBIGUOUS,
            alternatives=() if is_proven else ("compaction",),
        )
