"""What one copy of a partition is, from the headers of its batches and from Kafka's checkpoint files beside it: no record is read.

A checkpoint that is not there, or has other lines than Kafka's, only leaves something unknown; one that cannot be read is an
error. A segment begins where the one before it ended: a file is missing where offsets between two are, though nothing shows that
a cleaner took them. A cleaner leaves gaps between segments, as it writes several into one, and so does fetching from a leader that
was cleaned; but then records are missing inside of segments too.
Source: LogDirUtils' file names, LogCleanerManager, LeaderEpochCheckpointFile, UnifiedLog.roll, Cleaner.groupSegmentsBySize.
"""

import posixpath
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, NamedTuple

from offsets_tool.errors import SourceError
from offsets_tool.log.copies.lineage import NO_END, Branch
from offsets_tool.log.files.checkpoints import (
    NOT_SAID,
    read_leader_epochs,
    read_offset_checkpoint,
    read_partition_metadata,
)
from offsets_tool.log.names import OFFSETS_TOPIC, Segment
from offsets_tool.log.segment import SegmentReading
from offsets_tool.log.storage import StoredPath, as_path
from offsets_tool.rows import NO_TIMESTAMP, Batch, Codec, Unreadable

CLEANER: Final = "cleaner-offset-checkpoint"
LOG_START: Final = "log-start-offset-checkpoint"
LEADER_EPOCHS: Final = "leader-epoch-checkpoint"
METADATA: Final = "partition.metadata"


class MissingOffsets(NamedTuple):
    """Offsets `start` up to but not including `end` that a missing file had."""

    start: int
    end: int


@dataclass(slots=True)
class FileExtent:
    """The offsets of a segment, from the base offset in its name to the end of its last batch, and its number of records."""

    base_offset: int
    end: int = 0
    records: int = 0
    is_counted: bool = True
    """Whether `records` are all: headers of compressed batches before magic 2 do not say how many they have."""

    def observe(self, batch: Batch) -> None:
        """Observe a batch of the segment by its header."""
        self.end = max(self.end, batch.last_offset + 1)
        self.records += batch.count
        self.is_counted = self.is_counted and (batch.magic > 1 or batch.codec is Codec.NONE)

    @property
    def is_cleaned(self) -> bool:
        """Whether records are missing inside of the segment, which means that the cleaner removed them."""
        return self.is_counted and self.base_offset + self.records < self.end


class EpochFacts(NamedTuple):
    """The part of one leader epoch that a copy has."""

    epoch: int
    start: int
    """The first offset that a record or the checkpoint has of it."""
    began_at: int
    """The lowest time of its records, in epoch milliseconds; NO_END where nothing tells."""
    end_by: int
    """The offset after its last record up to the time that was asked for; 0 without one."""
    later_from: int = NO_END
    """The offset of its first record that is later than that time; NO_END without one."""

    def below(self, end: int) -> "EpochFacts":
        """Return the facts of what lies below the offset `end`."""
        later_from = self.later_from if self.later_from < end else NO_END
        return self._replace(end_by=min(self.end_by, end), later_from=later_from)


class BatchesOfEpoch(NamedTuple):
    """Batches of one leader epoch that follow each other: the offset of the first, and their number."""

    epoch: int
    start: int
    batches: int


class CopyCheckpoints(NamedTuple):
    """What Kafka's checkpoint files say of one copy of a partition; what no file says is None, or no epochs."""

    log_start: int | None = None
    cleaned_to: int | None = None
    """The first offset that its cleaner had not reached."""
    leader_epochs: tuple[tuple[int, int], ...] = ()
    """Leader epochs, each with its first offset."""
    topic_id: str | None = None


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
    is_whole: bool = True
    """Whether all of it can be read and is sure to be there, so that what it lacks is not in the log that it copies."""
    topic_id: str | None = None
    missing: tuple[MissingOffsets, ...] = ()
    """What files had that are missing between its own, by rising offset."""
    apart_from: int = NO_END
    """The offset from which on it is of another history than those that count (log.copies.forks); NO_END where it never is."""

    @property
    def shared_epochs(self) -> tuple[EpochFacts, ...]:
        """Its leader epochs, without what lies where it is of another history."""
        return tuple(each.below(self.apart_from) for each in self.epochs if each.start < self.apart_from)

    def lacks_file_at(self, log_offset: int) -> bool:
        """Return whether an offset is one that a missing file had."""
        return any(each.start <= log_offset < each.end for each in self.missing)

    def whole_from(self, end: int) -> int:
        """Return the offset from which on, up to an end, it has all files that its log had."""
        return max((each.end for each in self.missing if each.start < end), default=self.begin)

    def epoch_at(self, log_offset: int) -> int | None:
        """Return the leader epoch that wrote the copy's record at an offset; None where the copy knows no epochs."""
        at = bisect_right(self.epochs, log_offset, key=lambda each: each.start)
        return self.epochs[at - 1].epoch if at else None

    def newest_epoch(self, upto: int) -> int:
        """Return its newest leader epoch that is not above another; -1 without one."""
        return max((each.epoch for each in self.shared_epochs if each.epoch <= upto), default=-1)

    def shares_to(self, branch: Branch) -> int:
        """Return the offset from which on it is not on a branch, or of another history; NO_END if all of it is on it."""
        following = (*(each.start for each in self.epochs[1:]), self.end)
        left = [
            branch.end_of(each.epoch) if each.epoch <= branch.epoch else each.start
            for each, end in zip(self.epochs, following, strict=False)
            if end > branch.end_of(each.epoch)
        ]
        return min([self.apart_from, *left])


class Recovered:
    """Which records only one copy still has, though others had them: up to where each copy of a partition had the log of a branch.

    An archive or a damaged copy may never have had the records that it lacks: its lack makes no record recovered.
    """

    def __init__(self, copies: Sequence[CopyFacts], branch: Branch) -> None:
        """Hold, for each copy, how far any other one reaches on the branch."""
        reach = [min(copy.end, copy.shares_to(branch)) if copy.is_whole else 0 for copy in copies]
        self._others = {
            1 << number: max((*reach[:number], *reach[number + 1 :]), default=0)
            for number in range(len(reach))
        }

    def has(self, copies: int, log_offset: int) -> bool:
        """Return whether a record of the branch is recovered, given the copies that have it, a bit for each."""
        return log_offset < self._others.get(copies, 0)


def copy_facts(name: str, segments: Sequence[Segment], time: int | None = None) -> CopyFacts:
    """Return the facts of a copy from its segments of one partition, in their order; `time` (epoch ms) is for EpochFacts.end_by."""
    first = segments[0]
    epochs = ObservedEpochs(time)
    is_damaged = False
    files: list[FileExtent] = []
    for segment in segments:
        file = FileExtent(segment.base_offset or 0)
        files += [file] if segment.base_offset is not None else []
        for batch in _batches(segment):
            if batch is None:
                is_damaged = True
            else:
                epochs.observe(batch)
                file.observe(batch)
    return epochs.copy_facts(name, files, checkpoints_of(first), first.cluster_id, is_damaged=is_damaged)


def checkpoints_of(segment: Segment) -> CopyCheckpoints:
    """Return what the checkpoint files beside a segment say of its partition; SourceError for one that cannot be read."""
    return CopyCheckpoints(
        _checkpoint(segment, LOG_START),
        _checkpoint(segment, CLEANER),
        tuple((epoch, start) for epoch, start in _epoch_starts(segment)),
        topic_id_of(segment),
    )


def topic_id_of(segment: Segment) -> str | None:
    """Return the topic id that the partition.metadata beside a segment has; None without one, SourceError if it cannot be read."""
    if segment.log_partition is None:
        return None
    with suppress(*NOT_SAID):
        return read_partition_metadata(*_sibling(segment, METADATA)).topic_id
    return None


def _batches(segment: Segment) -> Iterator[Batch | None]:
    """Yield the headers of a segment's readable batches that are not misplaced; None for each range without such a batch."""
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


class _Run(NamedTuple):
    """Batches of one leader epoch that follow each other."""

    facts: EpochFacts
    batches: int


class ObservedEpochs:
    """The leader epochs of a copy, as the headers of its batches have them; observe these in the order of the log.

    No checksum covers a batch's epoch, and epochs never fall along a log: of runs that contradict each other the longer one
    counts, and `has_odd` is set.
    """

    def __init__(self, time: int | None) -> None:
        self._time = time
        self._runs: list[_Run] = []
        self._starts: dict[int, int] = {}
        self.end = 0
        self.has_odd = False

    def observe(self, batch: Batch) -> None:
        """Observe the next batch by its header."""
        self.end = max(self.end, batch.last_offset + 1)
        # The cleaner keeps the time at which a tombstone may go where the base timestamp was (KAFKA-8522).
        is_marked = batch.delete_horizon_ms is not None or batch.base_timestamp == NO_TIMESTAMP
        at = batch.max_timestamp if is_marked else batch.base_timestamp
        counts = self._time is not None and at <= self._time
        is_later = self._time is not None and at > self._time
        seen = EpochFacts(
            batch.partition_leader_epoch,
            batch.base_offset,
            at,
            batch.last_offset + 1 if counts else 0,
            batch.base_offset if is_later else NO_END,
        )
        self._add(seen, 1)

    def _add(self, seen: EpochFacts, batches: int) -> None:
        last = self._runs[-1] if self._runs else None
        if last is not None and last.facts.epoch == seen.epoch:
            self._runs[-1] = _Run(_joined(last.facts, seen), last.batches + batches)
        else:
            self._runs.append(_Run(seen, batches))

    def reach(self, end: int) -> None:
        """Observe that the batches reach up to the offset `end`."""
        self.end = max(self.end, end)

    def observe_run(self, run: BatchesOfEpoch) -> None:
        """Observe the next batches of one epoch at once; their times are not known."""
        self._add(EpochFacts(run.epoch, run.start, NO_END, 0), run.batches)

    def copy_facts(
        self,
        name: str,
        files: Sequence[FileExtent],
        checkpoints: CopyCheckpoints,
        cluster_id: str | None,
        *,
        is_damaged: bool,
    ) -> CopyFacts:
        """Return the facts of the copy; `files` are those of its segments whose names have a base offset."""
        for epoch, start in checkpoints.leader_epochs:
            self._starts[epoch] = start
        found = self.facts()
        begin = max(min((file.base_offset for file in files), default=0), checkpoints.log_start or 0)
        is_whole = not (is_damaged or self.has_odd)
        return CopyFacts(
            name,
            begin,
            self.end,
            checkpoints.cleaned_to,
            found,
            cluster_id,
            is_whole=is_whole,
            topic_id=checkpoints.topic_id,
            missing=missing_files(files, checkpoints.cleaned_to),
        )

    def facts(self) -> tuple[EpochFacts, ...]:
        """Return the epochs by rising number."""
        kept: list[_Run] = []
        for run in self._runs:
            while kept and kept[-1].facts.epoch > run.facts.epoch and kept[-1].batches < run.batches:
                self.has_odd = True
                kept.pop()
            if kept and kept[-1].facts.epoch > run.facts.epoch:
                self.has_odd = True
            elif kept and kept[-1].facts.epoch == run.facts.epoch:
                kept[-1] = _Run(_joined(kept[-1].facts, run.facts), kept[-1].batches + run.batches)
            else:
                kept.append(run)
        found = {run.facts.epoch: run.facts for run in kept}
        for epoch, start in self._starts.items():
            known = found.get(epoch) or EpochFacts(epoch, start, NO_END, 0)
            found[epoch] = known._replace(start=min(known.start, start))
        return tuple(found[epoch] for epoch in sorted(found))


def _joined(one: EpochFacts, other: EpochFacts) -> EpochFacts:
    return EpochFacts(
        one.epoch,
        min(one.start, other.start),
        min(one.began_at, other.began_at),
        max(one.end_by, other.end_by),
        min(one.later_from, other.later_from),
    )


def _epoch_starts(segment: Segment) -> Iterable[tuple[int, int]]:
    with suppress(*NOT_SAID):
        return read_leader_epochs(*_sibling(segment, LEADER_EPOCHS))
    return ()


def _checkpoint(segment: Segment, name: str) -> int | None:
    """Return the offset that a checkpoint of the data directory has for the segment's partition."""
    if segment.log_partition is None:
        return None
    with suppress(*NOT_SAID):
        for entry in read_offset_checkpoint(*_sibling(segment, f"../{name}")):
            if (entry.topic, entry.partition) == (OFFSETS_TOPIC, segment.log_partition):
                return entry.offset
    return None


def _sibling(segment: Segment, name: str) -> tuple[str, str]:
    """Return the path of a file in the folder of a segment, and its member name if both are in a tar."""
    if segment.member:
        return segment.path, posixpath.normpath(posixpath.join(posixpath.dirname(segment.member), name))
    folder = as_path(segment.path).parent
    if isinstance(folder, StoredPath) and name.startswith("../"):
        return (folder.parent / name.removeprefix("../")).as_posix(), ""
    return (folder / name).as_posix(), ""


def missing_files(files: Iterable[FileExtent], cleaned_to: int | None) -> tuple[MissingOffsets, ...]:
    """Return the offsets that missing files had, given all segments of a copy and the first offset its cleaner had not reached.

    None are known of a copy that lacks records inside of a segment: it was cleaned, or has what its leader's cleaner had left.
    """
    found, rising = [], sorted(files, key=attrgetter("base_offset"))
    if any(file.is_cleaned for file in rising):
        return ()
    reached = max(cleaned_to or 0, rising[0].base_offset) if rising else 0
    for file in rising:
        if reached < file.base_offset:
            found.append(MissingOffsets(reached, file.base_offset))
        reached = max(reached, file.base_offset, file.end)
    return tuple(found)
