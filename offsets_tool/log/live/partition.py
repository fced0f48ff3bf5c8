"""Reads one partition of a live log from its start to where it ended when reading began.

What it yields is what a segment's reader yields: every batch with its header, control markers among them. The end is a position
that is reached, not a record that is seen: a marker or a compaction gap may be all there is before it. Knows no sockets.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from offsets_tool.log.batches.batch import read_content
from offsets_tool.log.batches.limits import LIMITS, Limits
from offsets_tool.log.batches.misplaced import (
    NONE_MISPLACED,
    BatchExtent,
    BatchExtents,
    SegmentBounds,
    are_in_order,
    judge,
)
from offsets_tool.log.batches.walk import Walker
from offsets_tool.rows import Batch, BatchRead, Misplacement, Unreadable, UnreadableKind

FETCH_BYTES: Final = 4 << 20
LARGEST_FETCH: Final = 1 << 30
EMPTY_REPLIES: Final = 20
"""So many replies without a byte, each after the broker waited for one, and a partition is given up."""


class OffsetRange(NamedTuple):
    """The log start of a partition, and the offset after its last record."""

    start: int
    end: int


class Fetched(NamedTuple):
    """Bytes of batches as the broker's files have them; the last batch may be cut off, and all may be late if `is_throttled`."""

    records: bytes
    high_watermark: int
    is_throttled: bool = False


FetchBytes = Callable[[int, int], Fetched | None]
"""Offset and how many bytes at most; None when the log does not have that offset."""


class PartitionReader:
    """Reads one partition forward, once. Positions count bytes from the first batch read, as if the log were one file."""

    def __init__(
        self,
        source: str,
        log_partition: int,
        fetch: FetchBytes,
        range_now: Callable[[], OffsetRange],
        limits: Limits = LIMITS,
    ) -> None:
        self._source = source
        self._log_partition = log_partition
        self._fetch = fetch
        self._range_now = range_now
        self._limits = limits
        self._offset = 0
        self._end = 0
        self._bytes = 0
        self._limit = FETCH_BYTES
        self._empty = 0
        self._misplaced: set[tuple[int, int]] = set()
        """Base offset and checksum of the misplaced batches that were read."""

    def read(self, offsets: OffsetRange) -> Iterator[BatchRead | Unreadable]:
        """Yield every batch of the range, and an Unreadable for each range of offsets that could not be read."""
        self._offset, self._end = offsets
        while self._offset < self._end:
            fetched = self._fetch(self._offset, self._limit)
            if fetched is None:
                yield from self._find_log()
            elif fetched.records:
                yield from self._read_reply(fetched)
            else:
                yield from self._nothing_came(fetched)

    def _find_log(self) -> Iterator[Unreadable]:
        """Find the next offset to read where the log has changed meanwhile, and yield what was lost."""
        now = self._range_now()
        if now.start > self._offset:
            yield self._lost(min(now.start, self._end), "were removed while reading: the log start moved")
            self._offset = now.start
        elif now.end <= self._offset:
            yield self._lost(self._end, "were cut off while reading: a leader without them was elected")
            self._offset = self._end
        else:
            yield from self._count_empty()

    def _nothing_came(self, fetched: Fetched) -> Iterator[Unreadable]:
        if fetched.is_throttled:
            return
        if fetched.high_watermark >= self._end and self._empty:
            # Asked twice: compaction left nothing up to the end.
            self._offset = self._end
        else:
            yield from self._count_empty()

    def _count_empty(self) -> Iterator[Unreadable]:
        self._empty += 1
        if self._empty > EMPTY_REPLIES:
            yield self._lost(self._end, "did not come, however often they were asked for")
            self._offset = self._end

    def _read_reply(self, fetched: Fetched) -> Iterator[BatchRead | Unreadable]:
        self._empty = 0
        view = memoryview(fetched.records)
        items = list(Walker(view, self._source).walk())
        rest = items[-1]
        if isinstance(rest, Unreadable):
            # Cut off, or not yet told apart from damage: it is asked for again, and then comes first.
            items.pop()
        known = next((n for n, item in enumerate(items) if not self._has_been_read(item)), len(items))
        if known < len(items):
            yield from self._judge(view, items[known:], rest, fetched.high_watermark)
        elif isinstance(rest, Unreadable):
            yield from self._ask_for_more(rest)
        elif len(view) < self._limit or not self._grow():
            # Only what was read before: compaction left nothing up to the end.
            self._offset = self._end

    def _has_been_read(self, item: Batch | Unreadable) -> bool:
        """Return whether a batch was read before. A broker returns a misplaced batch for every offset below that batch's own."""
        if isinstance(item, Unreadable):
            return False
        return item.last_offset < self._offset or (item.base_offset, item.crc) in self._misplaced

    def _judge(
        self, view: memoryview, items: list[Batch | Unreadable], rest: Batch | Unreadable, high_watermark: int
    ) -> Iterator[BatchRead | Unreadable]:
        """Yield the batches of a reply, and advance the reader by those that are not misplaced: no checksum covers an offset."""
        misplaced = _misplaced(items, high_watermark)
        batches = [item for item in items if isinstance(item, Batch) and not self._has_been_read(item)]
        standing = [batch for batch in batches if batch.position not in misplaced]
        last = standing[-1] if len(standing) > 1 else None
        if last is items[-1] and _is_ahead(standing[-2], last, high_watermark):
            # A gap, or an offset that is damaged: asked for again, it comes with what follows it.
            items.pop()
        if not standing and (isinstance(rest, Unreadable) or len(view) >= self._limit) and self._grow():
            # Nothing moves the reader on: what follows is wanted too.
            return
        yield from self._read_records(view, items, misplaced)
        if not standing:
            yield self._lost(self._end, "did not come: the batches there have offsets that cannot be")
            self._offset = self._end

    def _read_records(
        self, view: memoryview, items: Sequence[Batch | Unreadable], misplaced: Mapping[int, Misplacement]
    ) -> Iterator[BatchRead | Unreadable]:
        shift = self._bytes - items[0].position
        for item in items:
            if isinstance(item, Unreadable):
                yield item._replace(position=item.position + shift)
                self._bytes = item.position + item.size + shift
                continue
            why = misplaced.get(item.position)
            if why is None and item.base_offset >= self._end:
                self._offset = self._end
                return
            read = read_content(
                view, item, self._source, self._log_partition, limits=self._limits, misplacement=why
            )
            yield _shifted(read, shift)
            if why is not None:
                self._misplaced.add((item.base_offset, item.crc))
            else:
                self._offset = max(self._offset, item.last_offset + 1, item.base_offset + 1)
            self._bytes = item.position + item.size + shift

    def _ask_for_more(self, rest: Unreadable) -> Iterator[Unreadable]:
        """Ask for more bytes in each request, because brokers before 0.10.1 cut a large batch; at the limit, yield `rest`."""
        if self._grow():
            return
        yield rest._replace(position=self._bytes)
        yield self._lost(self._end, f"could not be read: {rest.reason}")
        self._offset = self._end

    def _grow(self) -> bool:
        """Ask for more from now on, if more may be asked for."""
        if self._limit >= LARGEST_FETCH:
            return False
        self._limit *= 4
        return True

    def _lost(self, end: int, why: str) -> Unreadable:
        reason = f"offsets {self._offset} to {end - 1} {why}"
        return Unreadable(self._source, self._bytes, 0, reason, UnreadableKind.DAMAGE)


def _misplaced(items: Iterable[Batch | Unreadable], high_watermark: int) -> dict[int, Misplacement]:
    """Return the misplaced batches of a reply, by position: those that contradict other batches, or the high watermark."""
    batches = [item for item in items if isinstance(item, Batch)]
    places = BatchExtents(
        BatchExtent(batch.position, min(batch.base_offset, batch.last_offset), batch.last_offset, batch.magic)
        for batch in batches
    )
    verdict = NONE_MISPLACED if are_in_order(places, SegmentBounds()) else judge(places, SegmentBounds())
    found = {}
    for batch in batches:
        why = verdict.get(batch.position)
        if why is None and batch.last_offset >= high_watermark:
            reason = f"offset {batch.last_offset} is not below {high_watermark}, at which the partition ends"
            why = Misplacement(reason, goes_back=False)
        if why is not None:
            found[batch.position] = why
    return found


def _is_ahead(before: Batch, last: Batch, high_watermark: int) -> bool:
    """Return whether the last batch of a reply leaves a gap behind it and is not the log's last."""
    return last.base_offset > before.last_offset + 1 and last.last_offset + 1 < high_watermark


def _shifted(read: BatchRead, by: int) -> BatchRead:
    """Return a batch of a reply at its position in the whole log."""
    if not by:
        return read
    batch = replace(read.batch, position=read.batch.position + by)
    records = tuple(replace(record, batch=batch) for record in read.records)
    unreadable = read.unreadable and read.unreadable._replace(position=batch.position)
    return read._replace(batch=batch, records=records, unreadable=unreadable)
