"""Do the clocks agree: the time in a commit with that of its record, and each record's with those before it?"""

from collections.abc import Iterator, Sequence
from typing import Final

from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import MOST_PLACES, Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import at_time, count, named, span
from offsets_tool.history.rows import OffsetHistoryRow
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


@finder(SKEW, BACK)
def find_clocks(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield one finding for all commits whose time is not the log's, and one for where the log's time goes back."""
    offsets = rows.offsets
    at, told = offsets.numbers("from_timestamp"), offsets.numbers("commit_timestamp")
    skewed = offsets.where(offsets.is_commit & (at >= 0) & (told >= 0) & (abs(told - at) >= SKEW_MS))
    if len(skewed):
        yield _skewed(rows, skewed)
    # A time below 0 is none.
    commits = offsets.is_commit.nonzero()[0]
    before, after = at[commits[:-1]], at[commits[1:]]
    went_back = ((after >= 0) & (before >= 0) & (before - after >= SKEW_MS)).nonzero()[0][:MOST_PLACES]
    if len(went_back):
        yield _went_back(rows, list(zip(*(offsets.at(commits[went_back + n]) for n in (0, 1)), strict=True)))


def _skew(commit: OffsetHistoryRow) -> int:
    return abs(difference(commit.commit_timestamp, commit.from_timestamp))


def _skewed(rows: GroupRows, commits: Sequence[OffsetHistoryRow]) -> Finding:
    """Return the finding for commits of which there may be millions."""
    most = max(commits, key=_skew)
    return found(
        SKEW,
        rows,
        Places(
            (most.commit_log_offset, *(commit.commit_log_offset for commit in commits[: MOST_PLACES + 1])),
            commits[0].from_timestamp,
            commits[-1].from_timestamp,
        ),
        f"{count(len(commits), 'commit')} of group {named(rows.group)} say{'s' if len(commits) == 1 else ''} another time than the "
        f"log{_how_far(most)}{at_time(most.from_timestamp)}",
    )


def _how_far(commit: OffsetHistoryRow) -> str:
    """Return in words how far a commit's time is from its record's; of one that can only be wrong, the time itself."""
    skew = _skew(commit)
    if skew > LONGEST_PAUSE_MS:
        return at_time(commit.commit_timestamp, "as far as")
    return f", up to {span(skew)} {'later' if commit.commit_timestamp > commit.from_timestamp else 'earlier'}"


def _went_back(rows: GroupRows, back: list[tuple[OffsetHistoryRow, OffsetHistoryRow]]) -> Finding:
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
