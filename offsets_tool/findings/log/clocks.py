"""Do the clocks agree: the time in a commit with that of its record, and each record's with those before it?"""

from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Final, NamedTuple

from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import MOST_PLACES, Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import at_time, count, named, span
from offsets_tool.log_clock import LONGEST_PAUSE_MS
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


class _Commit(NamedTuple):
    """What is compared of each commit: fields of OffsetHistoryRow."""

    commit_log_offset: int
    from_timestamp: int
    commit_timestamp: int


@finder(SKEW, BACK)
def find_clocks(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield one finding for all commits whose time is not the log's, and one for where the log's time goes back."""
    sums = rows.offsets.sums
    if sums.most_skew >= SKEW_MS:
        skewed = (each for each in _commits(rows) if _skew(each) >= SKEW_MS)
        yield from (_skewed(rows, first, skewed) for first in islice(skewed, 1))
    if sums.most_back >= SKEW_MS:
        back = (pair for pair in pairwise(_commits(rows)) if _is_back(*pair))
        if some := list(islice(back, MOST_PLACES)):
            yield _went_back(rows, some)


def _commits(rows: GroupRows) -> Iterator[_Commit]:
    return map(_Commit._make, rows.offsets.commit_fields(*_Commit._fields))


def _skew(commit: _Commit) -> int:
    has_both = commit.from_timestamp >= 0 and commit.commit_timestamp >= 0
    return abs(difference(commit.commit_timestamp, commit.from_timestamp)) if has_both else 0


def _is_back(before: _Commit, after: _Commit) -> bool:
    """Return whether the log's time went back between two commits; a time below 0 is none."""
    return 0 <= after.from_timestamp <= before.from_timestamp - SKEW_MS


def _skewed(rows: GroupRows, first: _Commit, others: Iterator[_Commit]) -> Finding:
    """Return the finding for commits of which there may be millions: few are held."""
    some = [first, *islice(others, MOST_PLACES)]
    number, last, most = len(some), some[-1], max(some, key=_skew)
    for last in others:
        number += 1
        most = max(most, last, key=_skew)
    return found(
        SKEW,
        rows,
        Places(
            (most.commit_log_offset, *(each.commit_log_offset for each in some)),
            first.from_timestamp,
            last.from_timestamp,
        ),
        f"{count(number, 'commit')} of group {named(rows.group)} say{'s' if number == 1 else ''} another time than the "
        f"log{_how_far(most)}{at_time(most.from_timestamp)}",
    )


def _how_far(commit: _Commit) -> str:
    """Return in words how far a commit's time is from its record's; of one that can only be wrong, the time itself."""
    skew = _skew(commit)
    if skew > LONGEST_PAUSE_MS:
        return at_time(commit.commit_timestamp, "as far as")
    return f", up to {span(skew)} {'later' if commit.commit_timestamp > commit.from_timestamp else 'earlier'}"


def _went_back(rows: GroupRows, back: list[tuple[_Commit, _Commit]]) -> Finding:
    before, first = back[0]
    by = before.from_timestamp - first.from_timestamp
    how = at_time(before.from_timestamp, "from") if by > LONGEST_PAUSE_MS else f" by {span(by)}"
    return found(
        BACK,
        rows,
        Places(
            (
                first.commit_log_offset,
                before.commit_log_offset,
                *(after.commit_log_offset for _, after in back),
            ),
            first.from_timestamp,
            before.from_timestamp,
        ),
        f"The log's time went back{how} between two commits of group {named(rows.group)},"
        f"{at_time(first.from_timestamp, 'to')}",
    )
