"""Are there offsets that no group is answered with: left behind by a deleted group, or missing in another copy?"""

from collections.abc import Iterator, Sequence
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
    """Yield a finding for all offsets that outlived their group, and one for all that another copy proves removed."""
    offsets = rows.offsets
    hidden = offsets.where(
        offsets.is_any("begin_cause", (OffsetBeginCause.HIDDEN,)) & ~offsets.has("to_log_offset")
    )
    absent = offsets.where(offsets.is_any("end_cause", (OffsetEndCause.ABSENT,)))
    if hidden:
        title = f"outlived the group, which was deleted{at_time(hidden[0].from_timestamp)}"
        yield _orphans(rows, ORPHANS, hidden, hidden[0].from_timestamp, title)
    if absent:
        title = (
            f"are gone from another copy of the log: they were removed{at_time(absent[0].to_timestamp, 'by')}"
        )
        yield _orphans(rows, COMPACTED, absent, absent[0].to_timestamp, title)


def _orphans(
    rows: GroupRows, kind: FindingKind, offsets: Sequence[OffsetHistoryRow], at: int | None, title: str
) -> Finding:
    return found(
        kind,
        rows,
        Places(tuple(row.commit_log_offset for row in offsets), at),
        f"{count(len(offsets), 'offset')} of group {named(rows.group)} {of_topics([row.topic for row in offsets])} {title}",
        topic=only(row.topic for row in offsets),
        partition=offsets[0].partition if len(offsets) == 1 else None,
    )
