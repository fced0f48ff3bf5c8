"""Which offsets will expire soon, if nothing more is committed?"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from offsets_tool.expiry.causes import Confidence
from offsets_tool.expiry.rows import ExpiryRow
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import count, from_time, named, of_topics, only, s, was

DUE: Final = FindingKind(
    "expiry_due",
    Severity.NOTICE,
    "Committed offsets are in the last part of their retention, or overdue: they expire if nothing more is committed.",
    "Start the group, or save its offsets with `offsets-tool offsets --format csv` to set them again later.",
)
HORIZON: Final = 7
"""The part of the retention that is soon, one in so many: the last day of the default week."""


@finder(DUE)
def find_due(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield one finding for all offsets of the group that expire soon."""
    due = [
        row
        for row in rows.live
        if row.expires_in_ms is not None and row.expires_in_ms <= row.retention_ms // HORIZON
    ]
    if due and context.newest_at is not None:
        yield _due(rows, sorted(due, key=lambda row: row.expires_in_ms or 0), context.newest_at)


def _due(rows: GroupRows, due: list[ExpiryRow], newest_at: int) -> Finding:
    by_rule = defaultdict[str, int](int)
    for row in due:
        by_rule[row.rule or ""] += 1
    first = due[0]
    is_overdue = (first.expires_in_ms or 0) < 0
    when = f"{was(len(due))} to expire" if is_overdue else f"expire{s(len(due))}"
    rules = ", ".join(f"{rule.replace('_', ' ')}" for rule in by_rule)
    return found(
        DUE,
        rows,
        Places(tuple(row.log_offset for row in due), newest_at),
        f"{count(len(due), 'offset')} of group {named(rows.group)} {of_topics([row.topic for row in due])} {when}"
        f"{from_time(first.expires_at)} ({rules})",
        confidence=Confidence.LIKELY,
        alternatives=("other_retention",),
        topic=only(row.topic for row in due),
        partition=due[0].partition if len(due) == 1 else None,
    )
