"""What holds for all groups of a log and no group's rows say alone: its end, its clock, how far others read, where groups belong.

Small, whatever the log's size: whoever has more rows than memory computes the same by other means.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from offsets_tool.as_of.transactions import TransactionOutcome
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.history.change_labels import STATIC_LEFT_EPOCH
from offsets_tool.history.rows import MemberEndCause
from offsets_tool.history.transactions import TransactionRow
from offsets_tool.placement import MOST_PARTITIONS, infer_partitions, partition_for
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.wire.longs import difference


class Furthest(NamedTuple):
    """The highest offset that anybody committed for a partition, and the group that did."""

    committed_offset: int
    group: str


class LogContext(NamedTuple):
    """What holds for all groups."""

    newest_at: int | None = None
    """Time of the newest record, or of the moment asked for, epoch milliseconds."""
    raises_epochs: bool = True
    """Whether markers of committed transactions have a raised epoch somewhere (transaction version 2), or may have."""
    session_timeout_ms: int | None = None
    """Shortest time after which a broker removed a static member that stayed away; None if none did."""
    furthest: Mapping[TopicPartition, Furthest] = {}
    """By partition of a topic, how far the group has read that has read the furthest."""
    commits: int = 0
    """Commits of all groups."""
    partitions: int | None = None
    """Number of partitions of __consumer_offsets, if most groups lie where that number puts them; else None."""


_TELLING: Final = 8
"""Groups of which most must fit a number of partitions before another is said to be misplaced."""
_MOST: Final = 0.8
"""The share of groups that are most of them."""


def context_of(groups: Iterable[GroupRows], *, newest_at: int | None, is_new: bool) -> LogContext:
    """Return what holds for all groups, from the rows of all of them; `is_new`: a broker of 4.0 or newer wrote some."""
    raises_epochs, away, commits = is_new, None, 0
    furthest: dict[TopicPartition, Furthest] = {}
    places: list[tuple[str, int]] = []
    for rows in groups:
        raises_epochs = raises_epochs or any(map(_is_commit_raised, rows.transactions))
        away = min((at for at in (away, *_times_away(rows)) if at is not None), default=None)
        commits += len(rows.offsets)
        for at, highest in _highest(rows):
            furthest[at] = max(furthest.get(at, highest), highest)
        if rows.log_partition is not None:
            places.append((rows.group, rows.log_partition))
    return LogContext(newest_at, raises_epochs, away, furthest, commits, _partitions(places))


def _is_commit_raised(row: TransactionRow) -> bool:
    is_raised = row.marker_epoch is not None and row.marker_epoch > row.producer_epoch
    return is_raised and row.outcome == TransactionOutcome.COMMITTED


def _times_away(rows: GroupRows) -> Iterator[int]:
    """Yield how long each static member stayed away until the broker removed it."""
    for of_member in rows.by_member.values():
        last = of_member[-1]
        if last.end_cause != MemberEndCause.LEFT or last.to_timestamp is None:
            continue
        left = [row.from_timestamp for row in of_member if row.member_epoch == STATIC_LEFT_EPOCH]
        if left:
            yield difference(last.to_timestamp, left[-1])


def _highest(rows: GroupRows) -> Iterator[tuple[TopicPartition, Furthest]]:
    for at, commits in rows.effective.items():
        yield at, Furthest(max(row.committed_offset for row in commits), rows.group)


def _partitions(places: list[tuple[str, int]]) -> int | None:
    """Return the number of partitions under which most groups lie where they were seen; None if no number is plainly it."""
    highest = max((place for _, place in places), default=0)
    fitting = infer_partitions(places, highest)
    if fitting:
        # Where all fit, none is misplaced, whatever the number is.
        return None
    if len(places) < _TELLING:
        return None
    best = max(range(highest + 1, MOST_PARTITIONS + 1), key=lambda count: _fit(places, count))
    return best if _fit(places, best) >= _MOST * len(places) else None


def _fit(places: list[tuple[str, int]], count: int) -> int:
    return sum(partition_for(group, count) == place for group, place in places)
