"""The context of findings, which no group's rows give alone: the log's end and clock, how far others read, where groups belong.

Small, whatever the log's size: whoever has more rows than memory sums it up part by part.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from offsets_tool.as_of.transactions import TransactionOutcome
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.history.change_labels import STATIC_LEFT_EPOCH
from offsets_tool.history.rows import MemberEndCause
from offsets_tool.history.transactions import TransactionRow
from offsets_tool.placement import homes_of_moved, infer_mostly, infer_partitions
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.rows import NO_TIMESTAMP
from offsets_tool.server_log.join import NO_SERVER_LOG, ServerLog
from offsets_tool.wire.longs import difference


class Furthest(NamedTuple):
    """The highest offset that anybody committed for a partition, and the group that did."""

    committed_offset: int
    group: str


class KnownEnds(NamedTuple):
    """The end offsets of data partitions that are known, and not only bounded, and of which time they are (epoch milliseconds)."""

    offsets: Mapping[TopicPartition, int] = {}
    at: int = NO_TIMESTAMP


NO_ENDS: Final = KnownEnds()
"""No end is known."""


class Overtaken(NamedTuple):
    """A committed offset below the start of its partition's log: records that were deleted before the group had committed them."""

    committed_offset: int
    log_start_offset: int

    @property
    def records(self) -> int:
        """How many offsets were deleted that the group has not committed."""
        return self.log_start_offset - self.committed_offset


class NotOfTopic(NamedTuple):
    """A committed offset that is none of the topic that has the name now: beyond the end, or of an earlier topic."""

    committed_offset: int
    end_offset: int | None
    """None where it is not known."""
    is_beyond: bool
    is_topic_recreated: bool


class Moved(NamedTuple):
    """The log partitions in which one group lies, and the one where its coordinator looks for it now; None if that is not clear."""

    places: tuple[int, ...]
    home: int | None


class LogContext(NamedTuple):
    """What finders must know that holds for all groups of a log."""

    newest_at: int | None = None
    """Time of the newest record, or of the moment asked for, epoch milliseconds."""
    has_raised_epochs: bool = True
    """Whether markers of committed transactions have a raised epoch somewhere (transaction version 2), or may have."""
    session_timeout_ms: int | None = None
    """Shortest time after which a broker removed a static member that stayed away; None if none did."""
    furthest: Mapping[TopicPartition, Furthest] = {}
    """By partition of a topic, how far the group has read that has read the furthest."""
    commits: int = 0
    """Commits of all groups."""
    partitions: int | None = None
    """Number of partitions of __consumer_offsets, if most groups lie where that number puts them; else None."""
    server_log: ServerLog = NO_SERVER_LOG
    """What the brokers' own logs say; nothing where none was given."""
    ends: KnownEnds = NO_ENDS
    """Where data partitions end, by what was given beside the log."""
    overtaken: Mapping[str, Mapping[TopicPartition, Overtaken]] = {}
    """By group, the offsets below the start of their partition's log, where that is known."""
    not_of_topic: Mapping[str, Mapping[TopicPartition, NotOfTopic]] = {}
    """By group, the offsets that are none of the topic that has the name now, where ends prove it."""
    moved: Mapping[str, Moved] = {}
    """Groups that lie in several log partitions."""
    contradicted_at: Mapping[int | None, int] = {}
    """By log partition, the first offset at which copies have different records of one leader epoch."""


_TELLING: Final = 8
"""Groups of which most must fit a number of partitions before another is said to be misplaced."""
_MOST: Final = 0.8
"""The share of groups that are most of them."""


class ContextParts:
    """Sums up groups, in any order, into a LogContext; stays small, whatever the log's size."""

    def __init__(self) -> None:
        """Start without groups."""
        self._has_raised_epochs = False
        self._away: int | None = None
        self._furthest: dict[TopicPartition, Furthest] = {}
        self._commits = 0
        self._places: list[tuple[str, int]] = []

    def observe(self, rows: GroupRows, highest: Mapping[TopicPartition, int], commits: int) -> None:
        """Add a group: its rows, perhaps without offsets, its highest commit in each partition, and its number of commits."""
        self._has_raised_epochs = self._has_raised_epochs or any(map(_is_commit_raised, rows.transactions))
        self._away = min((at for at in (self._away, *_times_away(rows)) if at is not None), default=None)
        if rows.log_partition is not None:
            self._places.append((rows.group, rows.log_partition))
        self._commits += commits
        self._reach({at: Furthest(committed_offset, rows.group) for at, committed_offset in highest.items()})

    def merge(self, other: "ContextParts") -> None:
        """Add the sums over other groups."""
        self._has_raised_epochs = self._has_raised_epochs or other._has_raised_epochs
        self._away = min((at for at in (self._away, other._away) if at is not None), default=None)
        self._commits += other._commits
        self._places += other._places
        self._reach(other._furthest)

    def _reach(self, furthest: Mapping[TopicPartition, Furthest]) -> None:
        for at, mine in furthest.items():
            self._furthest[at] = max(self._furthest.get(at, mine), mine)

    def context(self, *, newest_at: int | None, is_new: bool) -> LogContext:
        """Return the LogContext of all groups added; `is_new` says that a broker of 4.0 or newer wrote some of the log."""
        has_raised_epochs = self._has_raised_epochs or is_new
        places = sorted(set(self._places))
        moved = _moved(places)
        partitions = _partitions([place for place in places if place[0] not in moved])
        return LogContext(
            newest_at, has_raised_epochs, self._away, self._furthest, self._commits, partitions, moved=moved
        )


def _is_commit_raised(row: TransactionRow) -> bool:
    return row.is_epoch_raised and row.outcome == TransactionOutcome.COMMITTED


def _times_away(rows: GroupRows) -> Iterator[int]:
    """Yield how long each static member stayed away until the broker removed it."""
    for of_member in rows.by_member.values():
        last = of_member[-1]
        if last.end_cause != MemberEndCause.LEFT or last.to_timestamp is None:
            continue
        left = [row.from_timestamp for row in of_member if row.member_epoch == STATIC_LEFT_EPOCH]
        if left:
            yield difference(last.to_timestamp, left[-1])


def _moved(places: list[tuple[str, int]]) -> dict[str, Moved]:
    homes = homes_of_moved(places, max((place for _, place in places), default=0))
    found: dict[str, list[int]] = {group: [] for group in homes}
    for group, place in places:
        if group in found:
            found[group].append(place)
    return {group: Moved(tuple(found[group]), home) for group, home in homes.items()}


def _partitions(places: list[tuple[str, int]]) -> int | None:
    """Return the topic's number of partitions, for which most groups lie in their own partition; None if none clearly fits best."""
    highest = max((place for _, place in places), default=0)
    fitting = infer_partitions(places, highest)
    if fitting:
        # Where all fit, none is misplaced, whatever the number is.
        return None
    if len(places) < _TELLING:
        return None
    return infer_mostly(places, _MOST, highest)
