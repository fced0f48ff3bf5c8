"""Reads one segment from front to back, whole or a range of its bytes; memory stays flat whatever its length.

Every byte is in a BatchRead or an Unreadable, and ranges that meet add up to the whole. Knows nothing about directories
(discover.py) or what keys and values mean (events).
"""

import threading
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from offsets_tool.errors import SourceError
from offsets_tool.log.batches.batch import extent_of, read_content
from offsets_tool.log.batches.crc import Checksums
from offsets_tool.log.batches.header import HEADER_SIZE_V2, Span, read_span
from offsets_tool.log.batches.limits import LIMITS, Limits
from offsets_tool.log.batches.misplaced import (
    NONE_MISPLACED,
    BatchExtent,
    BatchExtents,
    Misplacements,
    SegmentBounds,
    are_in_order,
    judge,
)
from offsets_tool.log.batches.walk import Walker
from offsets_tool.log.files.mapping import map_file, raw_pieces, sha256, sha256_of
from offsets_tool.log.ledger import Ledger
from offsets_tool.log.names import Segment
from offsets_tool.log.storage import as_path
from offsets_tool.rows import Batch, BatchRead, Codec, Unreadable

_HASH_BESIDE: Final = 1 << 20
"""The size, in bytes, from which on a file is hashed in a thread of its own."""

T = TypeVar("T")


def read_segment(
    segment: Segment | str | Path,
    *,
    log_partition: int | None = None,
    start: int = 0,
    end: int | None = None,
    resume: bool = False,
    verify: bool = True,
    limits: Limits = LIMITS,
    ledger: Ledger | None = None,
) -> Iterator[BatchRead | Unreadable]:
    """Yield batches in the order of the file, and Unreadable for the bytes between them.

    `start` and `end` cut by batch: let P(x) be the first proven batch at or after byte x; the range is [P(start), P(end)),
    with P(0) = 0 and P(x) the file's end where no batch follows. They count bytes of the decompressed log.
    `resume` takes `start` as it is: an end where an earlier reading stopped.
    `verify=False` also reads the records of batches whose checksum is wrong.
    `ledger` receives the size, every item, and, when the whole file has been read, its SHA-256.
    Raises SourceError when the file cannot be opened or decompressed; never for what its bytes are.
    """
    reading = SegmentReading(
        segment,
        log_partition=log_partition,
        start=start,
        end=end,
        resume=resume,
        verify=verify,
        limits=limits,
        ledger=ledger,
    )
    place, verdict = reading.segment, reading.verdict()
    for item in reading.walker.walk(reading.first) if reading.first < reading.last else ():
        if item.position >= reading.last:
            break
        read = (
            item
            if isinstance(item, Unreadable)
            else read_content(
                reading.data,
                item,
                place.source,
                place.log_partition,
                verify=verify,
                limits=limits,
                misplacement=verdict.get(item.position),
            )
        )
        if ledger is not None:
            ledger.add(read)
        yield read
    reading.finish()


def batches_with(
    segment: Segment, log_offsets: Collection[int], limits: Limits = LIMITS
) -> Iterator[BatchRead | Unreadable]:
    """Yield those batches of a segment, with their records, that may have one of these offsets; the content of others is not read.

    Raises SourceError as `read_segment` does.
    """
    reading, ordered = SegmentReading(segment, limits=limits), sorted(log_offsets)
    place, verdict = reading.segment, reading.verdict()
    for item in reading.walker.walk():
        if isinstance(item, Batch) and _has_any(item, ordered):
            yield read_content(
                reading.data,
                item,
                place.source,
                place.log_partition,
                limits=limits,
                misplacement=verdict.get(item.position),
            )


def _has_any(batch: Batch, ordered: Sequence[int]) -> bool:
    """Return whether a batch may have one of the offsets; of a wrapper of magic 0 or 1, only the content would say more."""
    if batch.magic < 2 and batch.codec is not Codec.NONE:
        return True
    at = bisect_left(ordered, batch.base_offset)
    return at < len(ordered) and ordered[at] <= batch.last_offset


def or_lost(items: Iterator[T], segment: Segment, ledger: Ledger) -> Iterator[T | Unreadable]:
    """Yield the items of a segment; one that cannot be opened is unreadable, so that the segments beside it can be read.

    The ledger gets the file's size on disk, and its SHA-256 if it can be had. A SourceError after the first item is raised.
    """
    try:
        first = next(items)
    except StopIteration:
        return
    except SourceError as error:
        yield ledger.lost(segment.size, error.reason, is_rest=segment.is_rest)
        # What cannot be opened at all has no hash.
        with suppress(SourceError):
            ledger.hashed(sha256(segment.path, segment.member))
        return
    yield first
    yield from items


class SegmentReading:
    """One pass over a file or a range of it: the bytes, and where the range begins and ends.

    The reader fetches bytes before it looks at them; the walker does that itself. A whole file is hashed for the ledger meanwhile.
    Parameters are those of `read_segment`.
    """

    def __init__(
        self,
        segment: Segment | str | Path,
        *,
        log_partition: int | None = None,
        start: int = 0,
        end: int | None = None,
        resume: bool = False,
        verify: bool = True,
        limits: Limits = LIMITS,
        ledger: Ledger | None = None,
    ) -> None:
        self.segment: Final = _as_segment(segment, log_partition)
        if self.segment.unreadable:
            raise SourceError(self.segment.source, self.segment.unreadable)
        mapped = map_file(self.segment.path, self.segment.member)
        self.data: Final = mapped.data
        self.limits: Final = limits
        self.fetch: Final = mapped.fetch
        self.walker: Final = Walker(mapped.data, self.segment.source, verify=verify, fetch=mapped.fetch)
        self.first: Final = start if resume else self.walker.boundary(start)
        self.last: Final = len(mapped.data) if end is None else self.walker.boundary(end)
        whole = self.first == 0 and self.last == len(mapped.data)
        self._ledger = ledger
        hashed = whole and ledger is not None and ledger.has_hashes
        self._hashing = _Hashing(self.segment, len(mapped.data)) if hashed else None
        if ledger is not None:
            ledger.size(max(0, self.last - self.first))

    def verdict(self, are_in_order: Callable[[SegmentBounds], bool] | None = None) -> Misplacements:
        """Return the batches of the whole file that are misplaced, whatever range is read.

        `are_in_order` is a quicker test that there are none, which is asked first.
        """
        if self.first >= self.last:
            return NONE_MISPLACED
        bounds = SegmentBounds.of(self.segment)
        if (are_in_order or self._are_in_order)(bounds):
            return NONE_MISPLACED
        return judge(BatchExtents(self._extents()), bounds)

    def _are_in_order(self, bounds: SegmentBounds) -> bool:
        return are_in_order(self._extents(), bounds)

    def _extents(self) -> Iterator[BatchExtent]:
        """Yield the offsets of all batches that the walker proves, in the order of the file."""
        position, checksums = 0, Checksums(self.data, self.fetch)
        while position < len(self.data):
            span = self._span(position, checksums)
            if span is not None:
                yield BatchExtent(position, span.first, span.last, 2)
                position += span.size
                continue
            for item in self.walker.walk(position):
                position = item.position + item.size
                if isinstance(item, Batch) and item.crc_valid:
                    yield extent_of(self.data, item, self.limits)
                    if item.magic == 2:
                        break

    def _span(self, position: int, checksums: Checksums) -> Span | None:
        self.fetch(position, position + HEADER_SIZE_V2)
        span = read_span(self.data, position, checksums)
        return None if span is None or self.fetch(position, position + span.size) else span

    def finish(self) -> None:
        """Add the hash of a file to the ledger if it was read as a whole; call this at the end of the range."""
        if self._hashing is not None and self._ledger is not None and (digest := self._hashing.result()):
            self._ledger.hashed(digest)


def _as_segment(segment: Segment | str | Path, log_partition: int | None) -> Segment:
    if isinstance(segment, Segment):
        return segment if log_partition is None else segment._replace(log_partition=log_partition)
    return Segment(path=as_path(segment).as_posix(), log_partition=log_partition)


class _Hashing:
    """The SHA-256 of a whole file: of a large one in a thread while it is read, of a small one when it is asked for."""

    def __init__(self, segment: Segment, size: int) -> None:
        # Opened at once: a file that shrinks from now on has no hash.
        self._pieces = raw_pieces(segment.path, segment.member)
        self._digest: str | None = None
        self._thread: threading.Thread | None = None
        if size >= _HASH_BESIDE:
            # A daemon: a reading that is given up does not wait for it.
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def _run(self) -> None:
        # What cannot be read is in the ledger by then; a hash of less than the file is none of it.
        with suppress(SourceError):
            self._digest = sha256_of(self._pieces)

    def result(self) -> str | None:
        """Return the SHA-256 in hex; None if not all of the file could be read."""
        if self._thread is None:
            self._run()
        else:
            self._thread.join()
        return self._digest
