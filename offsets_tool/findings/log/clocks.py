"""Do the clocks agree: the time in a commit with that of its record, and each record's with those before it?"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import at_time, count, named, span
from offsets_tool.history.rows import OffsetHistoryRow
from offsets_tool.wire.longs import difference

SKEW: Final = FindingKind(
    "commit_time_skew",
    Severity.NOTICE,
    "Commits give another time than the log: a client chose it, or clocks differ. Retention may count from the commit's time.",
    "Compare the clocks of the brokers; a client that sends its own commit time can make its offsets expire early or never.",
)
BACK: Final = FindingKind(
    "clock_went_back",
    Severity.NOTICE,
    "Records of the group are older than the records before them: the broker's clock was set back, or another broker led.",
    "Compare the clocks of the brokers (ntp): times of this log order events only within a broker's lead.",
)
SKEW_MS: Final = 60_000
"""How far two clocks that somebody looks after are never apart."""


@finder(SKEW, BACK)
def find_clocks(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield one finding for all commits whose time is not the log's, and one for where the log's time goes back."""
    sums = rows.sums
    skewed = [row for row in (rows.commits if sums.most_skew >= SKEW_MS else ()) if _skew(row) >= SKEW_MS]
    if skewed:
        yield _skewed(rows, skewed)
    back = [
        after
        for before, after in pairwise(rows.commits if sums.most_back >= SKEW_MS else ())
        if _back(before, after) >= SKEW_MS
    ]
    if back:
        yield _went_back(rows, back)


def _skew(row: OffsetHistoryRow) -> int:
    has_both = row.from_timestamp >= 0 and row.commit_timestamp >= 0
    return abs(difference(row.commit_timestamp, row.from_timestamp)) if has_both else 0


def _back(before: OffsetHistoryRow, after: OffsetHistoryRow) -> int:
    has_both = before.from_timestamp >= 0 and after.from_timestamp >= 0
    return difference(before.from_timestamp, after.from_timestamp) if has_both else 0


def _skewed(rows: GroupRows, skewed: list[OffsetHistoryRow]) -> Finding:
    most = max(skewed, key=_skew)
    return found(
        SKEW,
        rows,
        Places(
            (most.commit_log_offset, *(row.commit_log_offset for row in skewed)),
            skewed[0].from_timestamp,
            skewed[-1].from_timestamp,
        ),
        f"{count(len(skewed), 'commit')} of group {named(rows.group)} say{'s' if len(skewed) == 1 else ''} another time than the "
        f"log, up to {span(_skew(most))} {'later' if most.commit_timestamp > most.from_timestamp else 'earlier'}"
        f"{at_time(most.from_timestamp)}",
    )


def _went_back(rows: GroupRows, back: list[OffsetHistoryRow]) -> Finding:
    first = back[0]
    before = rows.commits[rows.commits.index(first) - 1]
    return found(
        BACK,
        rows,
        Places(
            (first.commit_log_offset, before.commit_log_offset, *(row.commit_log_offset for row in back)),
            first.from_timestamp,
            before.from_timestamp,
        ),
        f"The log's time went back by {span(_back(before, first))} between two commits of group {named(rows.group)},"
        f"{at_time(first.from_timestamp, 'to')}",
    )
