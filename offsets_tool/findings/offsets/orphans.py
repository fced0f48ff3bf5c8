"""Are there offsets that nobody is answered with: of a group that was deleted and left them, or that another copy lacks?"""

from collections.abc import Iterator
from typing import Final

from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import at_time, count, named, of_topics, only
from offsets_tool.history.rows import OffsetBeginCause, OffsetEndCause, OffsetHistoryRow

ORPHANS: Final = FindingKind(
    "orphan_offsets",
    Severity.NOTICE,
    "The group was deleted and some of its offsets were not: the coordinator keeps them and answers nobody with them.",
    "They count again if the group comes back: delete them, or expect it to begin there.",
)
COMPACTED: Final = FindingKind(
    "offsets_absent",
    Severity.NOTICE,
    "Offsets are in one copy of the log and not in another that was compacted later: they were removed in between.",
    "The tombstones are gone with compaction; an older copy, or the broker's log of that time, may say who removed them.",
)


@finder(ORPHANS, COMPACTED)
def find_orphans(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for all offsets that outlived their group, and one for all that only another copy's lack of them tells of."""
    hidden = [
        row
        for row in rows.offsets
        if row.begin_cause == OffsetBeginCause.HIDDEN and row.to_log_offset is None
    ]
    absent = [row for row in rows.offsets if row.end_cause == OffsetEndCause.ABSENT]
    if hidden:
        title = "outlived the group, which was deleted"
        yield _told(rows, ORPHANS, hidden, title, hidden[0].from_timestamp)
    if absent:
        title = "are gone from another copy of the log: they were removed by"
        yield _told(rows, COMPACTED, absent, title, absent[0].to_timestamp)


def _told(
    rows: GroupRows, kind: FindingKind, offsets: list[OffsetHistoryRow], title: str, at: int | None
) -> Finding:
    when = at_time(at)
    return found(
        kind,
        rows,
        Places(tuple(row.commit_log_offset for row in offsets), at),
        f"{count(len(offsets), 'offset')} of group {named(rows.group)} {of_topics([row.topic for row in offsets])} {title}"
        f"{when[3:] if title.endswith('by') else when}",
        topic=only(row.topic for row in offsets),
        partition=offsets[0].partition if len(offsets) == 1 else None,
    )
