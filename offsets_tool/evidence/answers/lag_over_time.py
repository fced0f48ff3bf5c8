"""The lag of one group over time: at its commits and at moments between, in the partitions whose ends a file or directory tells.

offsets_tool.lag has the rules by which lag is measured.
"""

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Final

from offsets_tool.evidence.ends import EndSources
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.history.rows import OffsetHistoryRow
from offsets_tool.lag.rows import LagRow
from offsets_tool.replay.changes import OffsetOf
from offsets_tool.rows import NO_TIMESTAMP
from offsets_tool.wire.times import is_time

_MOMENTS: Final = 200
"""Moments of the grid, from the first commit to the newest record or sample."""
_MOST_COMMITS: Final = 20_000
"""Commits of a group up to which each has its lag; of more, the moments of the grid have."""


def group_lag(replay: EvidenceReplay, rows: GroupRows, ends: EndSources) -> list[LagRow]:
    """Return a group's lag by partition and time, after `replay` was run; none where only commits tell of the end.

    `rows` are those of a GroupFindings. A group that stopped committing has rows on the grid: its lag grows.
    """
    from offsets_tool.lag.lags import Position, lags_of  # noqa: PLC0415 - NumPy, for this alone

    commits = {partition: rows.effective[partition] for partition in ends.known(rows.effective)}
    if not commits:
        return []
    ends.find(replay.snapshot, commits)
    is_each = sum(map(len, commits.values())) <= _MOST_COMMITS
    positions = [
        Position(OffsetOf(rows.group, *partition), at, row.committed_offset, row.from_timestamp, row.topic_id)
        for partition in sorted(commits)
        for at, row in _moments(commits[partition], ends.at, is_each=is_each)
    ]
    samples = {partition: ends.samples(partition) for partition in commits}
    return lags_of(positions, samples, ends.commits, ends.written, is_last_stable=ends.is_last_stable)


def _moments(
    rows: Sequence[OffsetHistoryRow], until: int, *, is_each: bool
) -> Iterator[tuple[int, OffsetHistoryRow]]:
    """Yield moments, with the commit that was effective then: those of commits, if `is_each`, and those of the grid."""
    commits = sorted((row for row in rows if is_time(row.from_timestamp)), key=attrgetter("from_timestamp"))
    if is_each:
        yield from ((row.from_timestamp, row) for row in commits)
    number = -1
    for at in _grid(commits, until):
        while number + 1 < len(commits) and commits[number + 1].from_timestamp <= at:
            number += 1
        ends_at = commits[number].to_timestamp
        if ends_at is None or ends_at == NO_TIMESTAMP or at < ends_at:
            yield at, commits[number]


def _grid(commits: Sequence[OffsetHistoryRow], until: int) -> range:
    if not commits:
        return range(0)
    first = commits[0].from_timestamp
    return range(first, until + 1, max((until - first) // _MOMENTS, 1))
