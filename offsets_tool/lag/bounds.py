"""What commits of all groups say about the ends of partitions, gathered while the log is replayed.

Kept is only what goes beyond all before it in the same log partition, so that memory stays small however long the log is.
"""

from collections.abc import Iterable, Iterator

from offsets_tool.lag.samples import CommitAt, EndSample, committed_at, committed_ends
from offsets_tool.log_clock import LogClock
from offsets_tool.replay.changes import (
    VISIBILITY,
    Change,
    CommittedOffset,
    OffsetOf,
    PendingCommit,
    PendingOf,
    TopicPartition,
)
from offsets_tool.wire.json import uuid_text


class Bounds:
    """Commits by the partition that they are for."""

    def __init__(self) -> None:
        self._commits: dict[TopicPartition, dict[int | None, list[CommitAt]]] = {}
        self._clocks: dict[tuple[TopicPartition, int | None], LogClock] = {}
        self.is_whole = False
        """Whether all commits of the logs are here, with the times of their records."""

    def add(self, log_partition: int | None, partition: TopicPartition, commit: CommitAt) -> None:
        """Add a commit; commits of one log partition come in their order. `log_partition` None: of no particular log partition."""
        # One clock that stood in another year does not date the ends that others committed.
        clock = self._clocks.setdefault((partition, log_partition), LogClock())
        commit = commit._replace(at=clock.dated(0, commit.at))
        kept = self._commits.setdefault(partition, {}).setdefault(log_partition, [])
        last = kept[-1] if kept else None
        if (
            last is None
            or last.topic_id != commit.topic_id
            or commit.committed_offset > last.committed_offset
        ):
            kept.append(commit)

    def observe(self, log_partition: int | None, changes: Iterable[Change]) -> None:
        """Add the commits in some changes, also those of open or aborted transactions: the records that they name existed."""
        for partition, commit in commits_in(changes):
            self.add(log_partition, partition, commit)

    def forget(self, log_partition: int | None) -> None:
        """Forget what a log partition said, which is going to say it again."""
        for partition, by_log in self._commits.items():
            by_log.pop(log_partition, None)
            self._clocks.pop((partition, log_partition), None)

    def samples(self, partition: TopicPartition) -> Iterator[EndSample]:
        """Return what the commits of a partition say of its end, as samples in the order of time."""
        by_log = self._commits.get(partition, {}).values()
        commits = sorted((commit for kept in by_log for commit in kept), key=lambda commit: commit.at)
        yield from committed_ends(*partition, commits)


def commits_in(changes: Iterable[Change]) -> Iterator[tuple[TopicPartition, CommitAt]]:
    """Yield the commits in some changes, each with the partition that it is for."""
    for change in changes:
        if change.kind in VISIBILITY:
            continue
        match change.subject, change.after:
            case (OffsetOf() | PendingOf()) as at, (CommittedOffset() | PendingCommit()) as after:
                commit = after.commit if isinstance(after, PendingCommit) else after
                yield TopicPartition(at.topic, at.partition), _commit_at(change, commit)


def _commit_at(change: Change, commit: CommittedOffset) -> CommitAt:
    at = committed_at(change.timestamp, commit.commit_timestamp)
    return CommitAt(
        at, commit.committed_offset, None if commit.topic_id is None else uuid_text(commit.topic_id)
    )
