"""The lag of one group over time: at its commits and at moments between, in the partitions whose ends a file or directory tells.

offsets_tool.lag has the rules by which lag is measured.
"""

from collections.abc import Iterator
from functools import partial
from typing import Final

from offsets_tool.evidence.ends import EndSources
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.history.rows import OffsetHistoryRow
from offsets_tool.lag.rows import (
    EffectiveCommit,
    LagRow,
    commit_of,
    effective_commit,
    lag_at_commits,
    lag_on_grid,
)
from offsets_tool.replay.changes import OffsetOf, TopicPartition
from offsets_tool.wire.times import is_time

_MOMENTS: Final = 200
"""Moments of the grid, from the first commit to the newest record or sample."""
_MOST_COMMITS: Final = 20_000
"""Commits of a group up to which each has its lag; of more, the moments of the grid have."""


def group_lag(replay: EvidenceReplay, rows: GroupRows, ends: EndSources) -> list[LagRow]:
    """Return a group's lag by partition and time, after `replay` was run; none where only commits tell of the end.

    `rows` are those of a GroupFindings. A group that stopped committing has rows on the grid: its lag grows.
    """
    known = {partition: some for partition, some in rows.effective.items() if ends.knows(partition)}
    if not known:
        return []
    ends.find(replay.snapshot, known)
    is_each = sum(map(len, known.values())) <= _MOST_COMMITS
    return [
        row
        for partition in sorted(known)
        for row in _of_partition(OffsetOf(rows.group, *partition), known[partition], ends, is_each=is_each)
    ]


def _of_partition(
    of: OffsetOf, rows: list[OffsetHistoryRow], ends: EndSources, *, is_each: bool
) -> Iterator[LagRow]:
    commits = [effective_commit(row, commit_of(row)) for row in rows if is_time(row.from_timestamp)]
    if not commits:
        return
    commits.sort(key=lambda each: each.since)
    partition = TopicPartition(of.topic, of.partition)
    written = partial(ends.written, partition)
    if is_each:
        yield from lag_at_commits(of, commits, ends.of(partition), written)
    yield from lag_on_grid(of, commits, ends.of(partition), _grid(commits, ends.at), written)


def _grid(commits: list[EffectiveCommit], until: int) -> range:
    first = commits[0].since
    return range(first, until + 1, max((until - first) // _MOMENTS, 1))
