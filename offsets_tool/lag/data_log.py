"""A data topic's partition from its own directory: where the log begins and ends, how the end grew, when a record was written.

Read are names, index files, checkpoints and batch headers: no record is decoded, no checksum computed but the last batch's.
Times are those that records carry: the clocks of producers, or of the broker where the topic says so. Nothing follows from what
lies in other brokers' directories. Source: LogSegment, TimeIndex, ProducerStateManager (first unstable offset), LogManager.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from offsets_tool.errors import DecodeError, SourceError
from offsets_tool.lag.rows import TimeMethod
from offsets_tool.lag.samples import EndMethod, EndSample, Written
from offsets_tool.log.batches.crc import Checksums
from offsets_tool.log.batches.header import HEADER_SIZE_V2, read_header
from offsets_tool.log.batches.misplaced import OFFSETS_OF_SEGMENT
from offsets_tool.log.files.checkpoints import read_offset_checkpoint
from offsets_tool.log.files.folders import is_file, listing
from offsets_tool.log.files.indexes import (
    IndexedTimestamp,
    read_offset_index,
    read_producer_snapshot,
    read_time_index,
)
from offsets_tool.log.files.mapping import map_file
from offsets_tool.log.files.on_demand import PAGE, BytesOnDemand
from offsets_tool.log.files.open_file import why
from offsets_tool.log.holes import Hole, reason_of
from offsets_tool.log.names import OFFSETS_TOPIC, is_set_aside, partition_directory, segment_name
from offsets_tool.log.storage import as_path
from offsets_tool.log.topics import TopicDirectory, find_topics
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.rows import Batch, Codec, TimestampType
from offsets_tool.wire.longs import MAX_LONG

LOG_START: Final = "log-start-offset-checkpoint"
HIGH_WATERMARK: Final = "replication-offset-checkpoint"
_LEGACY: Final = (0, 1)
_NUMBER: Final = re.compile("[0-9]{1,20}")


class _Tail(NamedTuple):
    """The batches of the last segment: from where its producers are known, or else from its last index entry."""

    end_offset: int
    batches: tuple[Batch, ...]
    last_stable_offset: int | None


class DataLog:
    """The log of one partition of a data topic, from one copy of its directory.

    Properties and methods raise SourceError when a file that they need cannot be read.
    """

    def __init__(self, directory: TopicDirectory) -> None:
        self.directory = directory
        self._folder = as_path(directory.path)
        self._files = [entry.path for entry in listing(self._folder)]
        self._segments = sorted(_segments(self._files))
        """Base offset and file of each segment that is in use."""
        if not self._segments:
            raise SourceError(
                directory.path, "no segment in it is in use; give the directory of a live partition"
            )

    @property
    def end_offset(self) -> int:
        """Log end offset: what the next record gets. Zeros, a torn batch or one with a wrong checksum at the end do not count."""
        return self._tail.end_offset

    @property
    def last_stable_offset(self) -> int | None:
        """First offset of the oldest open transaction, else the end; None when no snapshot of the producers says it."""
        return self._tail.last_stable_offset

    @cached_property
    def log_start_offset(self) -> int:
        """Log start offset."""
        return max(self._segments[0][0], self._checkpoint(LOG_START) or 0)

    @cached_property
    def high_watermark(self) -> int | None:
        """Return the end that the broker checkpointed, which it does every few seconds and when it stops; None without a
        checkpoint.
        """
        return self._checkpoint(HIGH_WATERMARK)

    def _checkpoint(self, name: str) -> int | None:
        path = self._folder.parent / name
        if not is_file(path):
            return None
        at = (self.directory.topic, self.directory.partition)
        return next((entry.offset for entry in read_offset_checkpoint(path) if entry[:2] == at), None)

    @cached_property
    def modified_at(self) -> int:
        """The modification time of the last segment's file, in epoch milliseconds: when it was last written, or copied."""
        path = self._segments[-1][1]
        try:
            return int(path.stat().st_mtime * 1000)
        except OSError as error:
            raise SourceError(
                path.as_posix(), f"cannot be opened ({why(error)}); check its permissions"
            ) from error

    def samples(self, until: int | None = None) -> list[EndSample]:
        """Return samples of the end as it grew, and a last one of the end at `until`, the time of the copy in epoch milliseconds.

        Without `until` the last sample is of the time at which the last segment was written.
        """
        found = []
        newest = 0
        latest = max(self.modified_at, until or 0)
        for timestamp, end in self._growth():
            # A clock that went back: the end was there already. One that is ahead: the file was not written after it was.
            newest = max(newest, min(timestamp, latest))
            found.append(self._sample(newest, end))
        closed = max(newest, self.modified_at if until is None else until)
        found.append(
            self._sample(closed, self.end_offset)._replace(
                log_start_offset=self.log_start_offset, last_stable_offset=self.last_stable_offset
            )
        )
        return found

    def _sample(self, at: int, end: int) -> EndSample:
        directory = self.directory
        return EndSample(
            directory.topic,
            directory.partition,
            at,
            end_offset=end,
            method=EndMethod.INDEX,
            source=directory.path,
            topic_id=directory.topic_id,
        )

    def _growth(self) -> Iterator[tuple[int, int]]:
        """Yield times of records and the log end after each, in the order of offsets."""
        end, limits = 0, [base for base, _ in self._segments[1:]]
        for (base, path), limit in zip(self._segments, [*limits, self.end_offset], strict=True):
            for timestamp, after in points_of(base, path, limit):
                if timestamp >= 0 and after > end:
                    end = after
                    yield timestamp, after
        for batch in self._tail.batches:
            if batch.max_timestamp >= 0 and batch.last_offset >= end:
                yield batch.max_timestamp, batch.last_offset + 1

    @cached_property
    def _tail(self) -> _Tail:
        base, path = self._segments[-1]
        snapshot = self._snapshot(base)
        position = position_of(path, base, MAX_LONG if snapshot is None else snapshot[0])
        # What the index points to may be what is torn, or no batch that comes first.
        batches = sound_batches(path, base, position)
        if not batches or (snapshot is not None and batches[0].base_offset > max(base, snapshot[0])):
            batches = sound_batches(path, base, 0)
        end = batches[-1].last_offset + 1 if batches else base
        if snapshot is None or snapshot[0] > end:
            return _Tail(end, batches, None)
        return _Tail(end, batches, _first_unstable(*snapshot, batches, end))

    def _snapshot(self, base: int) -> tuple[int, dict[int, int]] | None:
        """Return the newest snapshot of producers: its offset, and the first offset of each open transaction by producer id.

        None if there is none that reads; the log's beginning needs no file.
        """
        paths = [path for path in self._files if path.suffix == ".snapshot" and _NUMBER.fullmatch(path.stem)]
        newest = max(paths, key=lambda path: int(path.stem), default=None)
        if newest is None or int(newest.stem) < base:
            return (base, {}) if base == 0 else None
        read = read_producer_snapshot(newest)
        if read.problem is not None:
            return None
        first = {p.producer_id: p.current_txn_first_offset for p in read.entries}
        return read.base_offset, {
            producer: offset for producer, offset in first.items() if offset is not None
        }

    def written(self, offset: int) -> Written | None:
        """Return when the record at an offset was written, or the next record if compaction removed it; None outside of the log.

        Markers of transactions are no records that anybody reads: of one, the next record counts, with its offset in `next_offset`.
        """
        if not self._segments[0][0] <= offset < self.end_offset:
            return None
        first = bisect_right([base for base, _ in self._segments], offset) - 1
        has_marker = False
        for base, path in self._segments[first:]:
            for batch in batches_from(path, base, offset):
                if not batch.is_control:
                    return _written_in(batch, max(offset, batch.base_offset), is_next=has_marker)
                has_marker = True
        return Written(None, None, None, TimeMethod.NONE, self.end_offset) if has_marker else None


def data_logs(paths: Iterable[str]) -> dict[TopicPartition, list[DataLog]]:
    """Return the copies of partitions in folders, of all topics but the offsets topic, without what Kafka has renamed (-delete,
    -future, -stray), and folders that cannot be listed."""
    logs: dict[TopicPartition, list[DataLog]] = {}
    for path in paths:
        try:
            directories = find_topics([path])
        except SourceError:
            # A folder that cannot be listed was named when the segments were looked for.
            continue
        for directory in directories:
            name = partition_directory(Path(directory.path).name)
            if directory.topic != OFFSETS_TOPIC and name is not None and not name.fate:
                partition = TopicPartition(directory.topic, directory.partition)
                # Kafka has set aside all that is in some.
                with suppress(SourceError):
                    log = DataLog(directory)
                    logs.setdefault(partition, []).append(log)
    return logs


def _segments(files: Iterable[Path]) -> Iterator[tuple[int, Path]]:
    for path in files:
        name = segment_name(path.name)
        if name is not None and not is_set_aside(name.kind) and name.base_offset is not None:
            yield name.base_offset, path


def _first_unstable(since: int, open_: dict[int, int], batches: tuple[Batch, ...], end: int) -> int:
    """Return the first offset of the oldest transaction that is open after the batches behind `since`; the end if none is."""
    for batch in batches:
        if batch.base_offset < since or not batch.is_transactional:
            continue
        if batch.is_control:
            open_.pop(batch.producer_id, None)
        else:
            open_.setdefault(batch.producer_id, batch.base_offset)
    return min(open_.values(), default=end)


def _written_in(batch: Batch, offset: int, *, is_next: bool) -> Written | None:
    """Return when a record of a batch was written; `is_next` if it is the first behind markers."""
    written = _time_in(batch, offset)
    return written if written is None or not is_next else written._replace(next_offset=batch.base_offset)


def _time_in(batch: Batch, offset: int) -> Written | None:
    first, last = batch.base_timestamp, batch.max_timestamp
    if last < 0:
        return None
    if batch.timestamp_type is TimestampType.LOG_APPEND_TIME or (
        batch.magic in _LEGACY and batch.codec is Codec.NONE
    ):
        return Written(last, last, last, TimeMethod.RECORD)
    if batch.magic in _LEGACY or batch.delete_horizon_ms is not None or first < 0:
        # Its time is the latest in it, and the first one's is not told.
        return Written(last, None, last, TimeMethod.RECORD)
    whole = batch.count == batch.last_offset - batch.base_offset + 1
    if whole and offset == batch.base_offset:
        return Written(first, first, first, TimeMethod.RECORD)
    first = min(first, last)
    share = (offset - batch.base_offset) / max(1, batch.last_offset - batch.base_offset)
    return Written(first + round((last - first) * max(0.0, share)), first, last, TimeMethod.RECORD)


class _Unverified(Checksums):
    """Computes none: a checksum takes the whole batch, a header its first bytes."""

    def crc32(self, start: int, end: int) -> int:
        return 0

    def crc32c(self, start: int, end: int) -> int:
        return 0


def _sibling(path: Path, suffix: str) -> Path:
    return path.with_name(path.name.split(".")[0] + suffix)


def points_of(base: int, path: Path, limit: int) -> Iterator[tuple[int, int]]:
    """Yield times (epoch milliseconds) with an end that the partition had by then; the segment has no offset from `limit` on.

    They come from the segment's first record, and from its time index as far as that is sound, or from the headers of all batches
    where these contradict it: an index may be damaged, or of another file, and brokers then make it anew from the log.
    """
    first = next(_headers(path, 0), None)
    if first is not None:
        yield first.base_timestamp, max(base, first.base_offset) + 1
    index = _sibling(path, ".timeindex")
    entries = read_time_index(index).entries if is_file(index) else ()
    if _is_of_log(entries, path, base, limit):
        yield from ((entry.timestamp, entry.offset + 1) for entry in entries)
    else:
        yield from ((batch.max_timestamp, batch.last_offset + 1) for batch in _headers(path, 0))


def _is_of_log(entries: Sequence[IndexedTimestamp], path: Path, base: int, limit: int) -> bool:
    """Return whether no header contradicts a time index: a few of its entries are held against the batches that they name."""
    chosen = (
        {0, len(entries) // 4, len(entries) // 2, 3 * len(entries) // 4, len(entries) - 1}
        if entries
        else set()
    )
    return all(_is_entry_of_log(entries[number], path, base, limit) for number in sorted(chosen))


def _is_entry_of_log(entry: IndexedTimestamp, path: Path, base: int, limit: int) -> bool:
    if not base <= entry.offset < limit:
        return False
    with suppress(SourceError):
        batch = next(batches_from(path, base, entry.offset), None)
        return batch is not None and batch.max_timestamp == entry.timestamp
    # That part of the file is not at hand, and contradicts nothing.
    return True


def position_of(path: Path, base: int, offset: int) -> int:
    """Return the position, in bytes, of a batch that begins no later than the batch with the offset."""
    index = _sibling(path, ".index")
    if offset <= base or not is_file(index):
        return 0
    entries = read_offset_index(index).entries
    i = bisect_right(entries, offset, key=lambda entry: entry.offset)
    # An entry has the last offset of the batch that it points to: the one before it begins not after the offset's batch.
    return entries[i - 1].position if i else 0


def _headers(path: Path, position: int) -> Iterator[Batch]:
    """Yield the batches of a segment from a position on, by their headers; it ends at zeros, a torn batch or damage."""
    log = map_file(path.as_posix(), block=PAGE)
    unverified = _Unverified(log.data)
    with suppress(DecodeError):
        while position < len(log.data):
            _check(path, log.fetch(position, position + HEADER_SIZE_V2))
            batch = read_header(log.data, position, unverified)
            yield batch
            position += batch.size


def _check(path: Path, holes: Sequence[Hole]) -> None:
    if holes:
        raise SourceError(path.as_posix(), f"{reason_of(holes)}; copy it again")


def batches_from(path: Path, base: int, offset: int) -> Iterator[Batch]:
    """Yield the batches of the segment whose last offset is not below `offset`."""
    position = position_of(path, base, offset)
    first = next(_headers(path, position), None)
    if first is None or first.base_offset > offset:
        # Not where a batch begins: the index is not of this file, or is damaged.
        position = 0
    yield from (batch for batch in _headers(path, position) if batch.last_offset >= offset)


def sound_batches(path: Path, base: int, position: int) -> tuple[Batch, ...]:
    """Return the headers of batches from `position` to the segment's end, without a last batch whose checksum is wrong.

    SourceError where offsets go back, or the last is further from the segment's base than any can be.
    """
    batches = list(_headers(path, position))
    log = map_file(path.as_posix(), block=PAGE)
    while batches and not _is_sound(path, log, batches[-1]):
        batches.pop()
    is_far = batches and batches[-1].magic == 2 and batches[-1].last_offset - base >= OFFSETS_OF_SEGMENT
    if is_far or any(
        before.last_offset >= after.base_offset for before, after in pairwise(batches) if after.magic == 2
    ):
        raise SourceError(path.as_posix(), "its batches are not in the order of their offsets; copy it again")
    return tuple(batches)


def _is_sound(path: Path, log: BytesOnDemand, batch: Batch) -> bool:
    _check(path, log.fetch(batch.position, batch.position + batch.size))
    return read_header(log.data, batch.position).crc_valid
