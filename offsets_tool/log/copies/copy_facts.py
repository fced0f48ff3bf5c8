"""What one copy of a partition is, from the headers of its batches and from Kafka's checkpoint files beside it: no record is read.

A checkpoint that is not there, or does not read, only leaves something unknown. Source: LogDirUtils' file names, LogCleanerManager,
LeaderEpochCheckpointFile.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from offsets_tool.errors import SourceError
from offsets_tool.log.copies.lineage import NO_END, Branch
from offsets_tool.log.files.checkpoints import read_leader_epochs, read_offset_checkpoint
from offsets_tool.log.names import OFFSETS_TOPIC, Segment
from offsets_tool.log.segment import SegmentReading
from offsets_tool.rows import NO_TIMESTAMP, Batch, Unreadable

CLEANER: Final = "cleaner-offset-checkpoint"
LOG_START: Final = "log-start-offset-checkpoint"
LEADER_EPOCHS: Final = "leader-epoch-checkpoint"


class EpochFacts(NamedTuple):
    """What a copy has of one leader epoch."""

    epoch: int
    start: int
    """The first offset that a record or the checkpoint has of it."""
    began_at: int
    """The lowest time of its records, in epoch milliseconds; NO_END where nothing tells."""
    end_by: int
    """The offset after its last record up to the time that was asked for; 0 without one."""


class CopyFacts(NamedTuple):
    """One copy of a partition: where it begins and ends, its leader epochs by rising number, and how far its cleaner came."""

    name: str
    """The directory around the partition's own, as it was given; of an archive or a live topic its name."""
    begin: int = 0
    """The log start offset: what lies below does not count after a load."""
    end: int = 0
    """The offset after its last batch."""
    cleaned_to: int | None = None
    """The first offset that its cleaner had not reached; None where no checkpoint says it."""
    epochs: tuple[EpochFacts, ...] = ()
    cluster_id: str | None = None
    is_damaged: bool = False
    """Whether some of its bytes cannot be read: what it lacks may be there."""

    def newest_epoch(self, upto: int) -> int:
        """Return its newest leader epoch that is not above another; -1 without one."""
        return max((each.epoch for each in self.epochs if each.epoch <= upto), default=-1)

    def shares_to(self, branch: Branch) -> int:
        """Return the offset from which on it is not on a branch; NO_END if all of it is."""
        following = (*(each.start for each in self.epochs[1:]), self.end)
        left = [
            branch.end_of(each.epoch) if each.epoch <= branch.epoch else each.start
            for each, end in zip(self.epochs, following, strict=False)
            if end > branch.end_of(each.epoch)
        ]
        return min(left, default=NO_END)


def copy_facts(name: str, segments: Sequence[Segment], time: int | None = None) -> CopyFacts:
    """Return the facts of a copy from its segments of one partition, in their order; `time` (epoch ms) is for EpochFacts.end_by."""
    first = segments[0]
    epochs = EpochsSeen(time)
    is_damaged = False
    for segment in segments:
        for batch in _batches(segment):
            if batch is None:
                is_damaged = True
            else:
                epochs.observe(batch)
    for epoch, start in _epoch_starts(first):
        epochs.observe_start(epoch, start)
    begins = min((segment.base_offset for segment in segments if segment.base_offset is not None), default=0)
    return CopyFacts(
        name,
        max(begins, _checkpoint(first, LOG_START) or 0),
        epochs.end,
        _checkpoint(first, CLEANER),
        epochs.facts(),
        first.cluster_id,
        is_damaged,
    )


def _batches(segment: Segment) -> Iterator[Batch | None]:
    """Yield the headers of the batches that can be read and stand where they say; None for each range where there are none."""
    try:
        reading = SegmentReading(segment)
    except SourceError:
        yield None
        return
    misplaced = reading.verdict()
    for item in reading.walker.walk(reading.first):
        if isinstance(item, Unreadable):
            if not item.kind.is_tail:
                yield None
        else:
            is_sound = item.crc_valid and misplaced.get(item.position) is None
            yield item if is_sound else None


class EpochsSeen:
    """What the batches of a copy tell of its leader epochs; give it their headers in any order."""

    def __init__(self, time: int | None) -> None:
        self._time = time
        self._facts: dict[int, EpochFacts] = {}
        self.end = 0

    def observe(self, batch: Batch) -> None:
        self.end = max(self.end, batch.last_offset + 1)
        known = self._of(batch.partition_leader_epoch)
        at = batch.base_timestamp if batch.base_timestamp != NO_TIMESTAMP else batch.max_timestamp
        counts = self._time is not None and at <= self._time
        self._facts[known.epoch] = known._replace(
            start=min(known.start, batch.base_offset),
            began_at=min(known.began_at, at),
            end_by=max(known.end_by, batch.last_offset + 1) if counts else known.end_by,
        )

    def observe_start(self, epoch: int, start: int) -> None:
        known = self._of(epoch)
        self._facts[epoch] = known._replace(start=min(known.start, start))

    def _of(self, epoch: int) -> EpochFacts:
        return self._facts.get(epoch) or EpochFacts(epoch, NO_END, NO_END, 0)

    def facts(self) -> tuple[EpochFacts, ...]:
        return tuple(self._facts[epoch] for epoch in sorted(self._facts))


def _epoch_starts(segment: Segment) -> Iterable[tuple[int, int]]:
    if segment.member:
        return ()
    with suppress(SourceError):
        return read_leader_epochs(Path(segment.path).parent / LEADER_EPOCHS)
    return ()


def _checkpoint(segment: Segment, name: str) -> int | None:
    """Return the offset that a checkpoint of the data directory has for the segment's partition."""
    if segment.member or segment.log_partition is None:
        return None
    with suppress(SourceError):
        for entry in read_offset_checkpoint(Path(segment.path).parent.parent / name):
            if (entry.topic, entry.partition) == (OFFSETS_TOPIC, segment.log_partition):
                return entry.offset
    return None
