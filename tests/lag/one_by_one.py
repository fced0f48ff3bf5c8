"""Lag of one commit at one moment, and the commits of a history that count: what the columnar forms are held against."""

from collections.abc import Iterable, Iterator

from offsets_tool.lag.ends import Ends
from offsets_tool.lag.lag import Lag, ends_at_moment, lag_of
from offsets_tool.lag.rows import CommittedRow, EffectiveCommit, commit_of, effective_commit
from offsets_tool.lag.samples import CommitAt
from offsets_tool.lag.time_lag import TimeLag, Written, time_lag_of


def lag_at(commit: CommitAt | None, ends: Ends, at: int) -> Lag:
    """Return the lag of a commit at a moment (epoch milliseconds); of a group without commits where it is None."""
    return lag_of(commit, ends_at_moment(commit, ends, at), at)


def time_lag_at(commit: CommitAt | None, ends: Ends, at: int, written: Written | None = None) -> TimeLag:
    """Return the time lag of a commit at a moment; `written` is when its record was written, where its log says so."""
    return time_lag_of(commit, ends_at_moment(commit, ends, at), at, written)


def effective_commits(rows: Iterable[CommittedRow]) -> Iterator[EffectiveCommit]:
    """Yield the effective commits of one group's offset in one partition, in the order of the log."""
    return (effective_commit(row, commit_of(row)) for row in rows if row.is_effective)
