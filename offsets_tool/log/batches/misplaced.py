"""Judges which batches of a file are misplaced, which means that they cannot have the offsets that they say, and why.

No checksum covers a batch's offset, so that a flipped bit moves all its records. Offsets rise from batch to batch, from the base
offset in the segment's name to below the next segment's. As few batches as possible are called misplaced so that all others rise;
among equal choices, those stay that leave room for the others, then the earlier ones. It looks at the whole file, whatever part
is read. Reads headers (and wrappers of magic 0 and 1); knows nothing about what becomes of records.

They are the longest chain of rising spans of offsets, found in n log n steps with a few arrays of numbers.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import IntEnum
from itertools import accumulate, chain, pairwise
from typing import Final, NamedTuple

from offsets_tool.log.names import Segment
from offsets_tool.rows import Batch, LogRecord, Misplacement
from offsets_tool.wire.longs import MAX_LONG

_LONGEST: Final = 1 << 31
_NEAR: Final = 16
"""How many are looked at that could come right before another, where more than one could."""


def span_of(first: int, last: int) -> int:
    """Return how many offsets there are from one to another, at most as many as a header of magic 2 can say."""
    return min(last - first + 1, _LONGEST)


def longest_chain(
    firsts: Sequence[int], lasts: Sequence[int], candidates: Iterable[int], begin: int, end: int | None
) -> Sequence[int]:
    """Return the numbers of the spans in the longest chain of rising offsets among the candidates.

    `firsts` and `lasts` are the offsets of all spans; `begin` and `end` (None: not known) bound them.
    """
    return _Chain(firsts, lasts, begin, end).of(candidates)


class _Chain:
    """Chains of every length, while spans are added."""

    def __init__(self, firsts: Sequence[int], lasts: Sequence[int], begin: int, end: int | None) -> None:
        self._firsts = firsts
        self._lasts = lasts
        self._begin = begin
        self._end = end
        self._taken = array("q", accumulate(map(span_of, firsts, lasts), initial=0))
        """Offsets that all spans before one take together."""
        self._tails = array("q")
        """By length of a chain, the lowest offset with which one of that length ends, and (`_owners`) the span it ends with."""
        self._owners = array("q")
        self._newest = array("q")
        self._same = array("q", bytes(8 * len(firsts)))
        """The span before with a chain of the same length; the newest of each length is in `_newest`."""
        self._backs = array("q", bytes(8 * len(firsts)))
        self._scores = array("q", bytes(8 * len(firsts)))

    def of(self, candidates: Iterable[int]) -> Sequence[int]:
        """Add the candidates, and return the spans of the longest chain; of several such chains, the best one."""
        for at in candidates:
            self._add(at)
        kept = array("q")
        if not self._tails:
            return kept
        at, _ = self._best(len(self._tails) - 1, len(self._firsts), self._end)
        while at >= 0:
            kept.append(at)
            at = self._backs[at]
        kept.reverse()
        return kept

    def _add(self, at: int) -> None:
        first, last = self._firsts[at], self._lasts[at]
        length = bisect_left(self._tails, first)
        if length:
            self._backs[at], self._scores[at] = self._best(length - 1, at, first)
        else:
            self._backs[at], self._scores[at] = -1, self._room(-1, at, first)
        if length == len(self._tails):
            self._tails.append(last)
            self._owners.append(at)
            self._newest.append(-1)
        elif last < self._tails[length]:
            self._tails[length], self._owners[length] = last, at
        self._same[at] = self._newest[length]
        self._newest[length] = at

    def _best(self, length: int, after: int, first: int | None) -> tuple[int, int]:
        """Return the best span that ends a chain of this length before another span, and its score."""
        best, score = -1, -1
        for at in self._nearest(length):
            if first is not None and self._lasts[at] >= first:
                continue
            worth = self._scores[at] + self._room(at, after, first)
            if worth > score or (worth == score and at < best):
                best, score = at, worth
        return best, score

    def _nearest(self, length: int) -> Sequence[int]:
        """Return spans that end a chain of this length, at least one of which can come before all longer chains."""
        at = self._newest[length]
        if self._same[at] < 0:
            return (at,)
        found = [self._owners[length]]
        while at >= 0 and len(found) <= _NEAR:
            found.append(at)
            at = self._same[at]
        return found

    def _room(self, before: int, after: int, first: int | None) -> int:
        """Return 2 if the spans left out between two others just fill the offsets there, 1 if they have room there, else 0."""
        if first is None:
            return 0
        free = self._lasts[before] + 1 if before >= 0 else self._begin
        wanted = self._taken[after] - self._taken[before + 1]
        return 2 if first - free == wanted else int(first - free > wanted)


OFFSETS_OF_SEGMENT: Final = 1 << 31
"""An index counts offsets from the segment's base in 31 bits: Kafka closes a segment before it has more (LogSegment)."""


class BatchExtent(NamedTuple):
    """A batch by its header: where it begins in the file, and its first and last offset."""

    position: int
    first: int
    last: int
    magic: int


class BatchExtents:
    """The extents of a file's batches in the order of their positions, kept as flat numbers: a segment may have a million."""

    def __init__(self, extents: Iterable[BatchExtent]) -> None:
        self._positions, self.firsts, self.lasts, self._magics = (array("q") for _ in BatchExtent._fields)
        for position, first, last, magic in extents:
            self._positions.append(position)
            self.firsts.append(first)
            self.lasts.append(last)
            self._magics.append(magic)

    def __len__(self) -> int:
        return len(self._positions)

    def __iter__(self) -> Iterator[BatchExtent]:
        return map(BatchExtent, self._positions, self.firsts, self.lasts, self._magics)

    def __getitem__(self, at: int) -> BatchExtent:
        return BatchExtent(self._positions[at], self.firsts[at], self.lasts[at], self._magics[at])


class SegmentBounds(NamedTuple):
    """The offsets that file names allow in a segment: its first possible one, and the base offset of the next segment."""

    begin: int | None = None
    next: int | None = None

    @classmethod
    def of(cls, segment: Segment) -> "SegmentBounds":
        """Return the bounds by a segment's own name and its neighbour's."""
        return cls(segment.base_offset, segment.next_offset)

    @property
    def end(self) -> int:
        """The first offset that no batch of magic 2 can have."""
        highest = MAX_LONG + 1 if self.begin is None else self.begin + OFFSETS_OF_SEGMENT
        return highest if self.next is None else min(self.next, highest)


class _Rule(IntEnum):
    """Why a batch cannot have its offsets: a sentence for each rule, with the offset that contradicts the batch."""

    BELOW_BASE = 1
    NOT_BELOW_NEXT = 2
    TOO_FAR = 3
    GOES_BACK = 4
    AHEAD = 5


_SAYS: Final = {
    _Rule.BELOW_BASE: "below {}, at which its segment begins by the file's name",
    _Rule.NOT_BELOW_NEXT: "not below {}, at which the next segment begins",
    _Rule.TOO_FAR: "2^31 or more above {}, at which its segment begins: more than a segment can have",
    _Rule.GOES_BACK: "not above {}, which the batches before it have reached",
    _Rule.AHEAD: "not below {}, with which the batches after it go on",
}


class Misplacements:
    """The misplaced batches of one file, by their position in it; most files have none."""

    def __init__(self) -> None:
        self._positions = array("q")
        self._first = array("q")
        self._last = array("q")
        self._rules = array("b")
        self._limits = array("q")
        self._proved = array("q")
        self._reached = array("q")

    def __bool__(self) -> bool:
        return bool(self._positions)

    def get(self, position: int) -> Misplacement | None:
        """Return why the batch at this byte of the file is misplaced; None for a batch that is not."""
        at = bisect_left(self._positions, position)
        if at == len(self._positions) or self._positions[at] != position:
            return None
        first, last, proved = self._first[at], self._last[at], self._proved[at]
        reason = f"offset {first} is " if first == last else f"offsets {_span_text(first, last)} are "
        reason += _SAYS[_Rule(self._rules[at])].format(self._limits[at])
        if proved >= 0:
            left = _span_text(proved, proved + last - first)
            reason += f"; the batches around it leave {left}, as many as it has"
        return Misplacement(reason, first <= self._reached[at])

    def next_from(self, position: int, end: int) -> int:
        """Return where the first misplaced batch at or after `position` begins; `end` if there is none before that."""
        at = bisect_left(self._positions, position)
        return min(end, self._positions[at]) if at < len(self._positions) else end

    def add(self, extent: BatchExtent, rule: _Rule, limit: int, proved: int, reached: int) -> None:
        """Add a batch behind those before it in the file.

        `proved` is the offset at which it must begin, `reached` the last offset before it; both are -1 where there is none.
        """
        for column, value in (
            (self._positions, extent.position),
            (self._first, extent.first),
            (self._last, extent.last),
            (self._rules, rule),
            (self._limits, limit),
            (self._proved, proved),
            (self._reached, reached),
        ):
            column.append(value)


def _span_text(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"


NONE_MISPLACED: Final = Misplacements()


def are_in_order(extents: Iterable[BatchExtent], bounds: SegmentBounds) -> bool:
    """Return whether each batch begins after the one before it and all lie within the bounds, so that none is misplaced."""
    reached = (bounds.begin or 0) - 1
    for extent in extents:
        if extent.first <= reached or (extent.magic == 2 and extent.last >= bounds.end):
            return False
        reached = extent.last
    return bounds.next is None or reached < bounds.next


def judge(extents: BatchExtents, bounds: SegmentBounds) -> Misplacements:
    """Return the misplaced among the batches of a whole file, which come in the order of their positions."""
    return _Judge(extents, bounds).verdict()


class _Judge:
    """Judges the batches of one file by the names of its segments and by each other."""

    def __init__(self, extents: BatchExtents, bounds: SegmentBounds) -> None:
        self._extents = extents
        self._bounds = bounds
        self._begin = bounds.begin or 0
        self._against = [self._by_names(extent) for extent in extents]
        self._verdict = Misplacements()

    def _by_names(self, extent: BatchExtent) -> _Rule | None:
        if extent.first < self._begin:
            return _Rule.BELOW_BASE
        if self._bounds.next is not None and extent.last >= self._bounds.next:
            return _Rule.NOT_BELOW_NEXT
        # Before magic 2 the cleaner could make such segments (KAFKA-5413).
        return _Rule.TOO_FAR if extent.magic == 2 and extent.last >= self._bounds.end else None

    def verdict(self) -> Misplacements:
        """Return the misplaced batches: as few as possible, so that the offsets of all others rise within the bounds."""
        if _Rule.TOO_FAR in self._against and not self._is_any_near():
            # The base that the file's name says is far from all that it holds: it was given another name.
            self._against = [None if rule is _Rule.TOO_FAR else rule for rule in self._against]
        candidates = (at for at, rule in enumerate(self._against) if rule is None)
        kept = longest_chain(
            self._extents.firsts, self._extents.lasts, candidates, self._begin, self._bounds.next
        )
        for before, after in pairwise(chain((-1,), kept, (len(self._extents),))):
            if after - before > 1:
                self._judge_between(before, after)
        return self._verdict

    def _is_any_near(self) -> bool:
        return any(self._begin <= extent.first and extent.last < self._bounds.end for extent in self._extents)

    def _judge_between(self, before: int, after: int) -> None:
        """Add the batches between two right ones to the misplaced batches, each with the rule that it breaks."""
        extents, begin = self._extents, self._begin
        reached = extents[before].last if before >= 0 else -1
        ahead = extents[after].first if after < len(extents) else self._bounds.next
        free = reached + 1 if before >= 0 else begin
        wanted = sum(_span(extents[at]) for at in range(before + 1, after))
        fits = ahead is not None and ahead - free == wanted
        limits = {
            _Rule.NOT_BELOW_NEXT: self._bounds.next,
            _Rule.GOES_BACK: reached,
            _Rule.AHEAD: ahead,
        }
        for at in range(before + 1, after):
            rule = self._against[at] or (_Rule.GOES_BACK if extents[at].first <= reached else _Rule.AHEAD)
            limit = limits.get(rule, begin)
            assert limit is not None
            self._verdict.add(extents[at], rule, limit, free if fits else -1, reached)
            free += _span(extents[at])


def _span(extent: BatchExtent) -> int:
    return span_of(extent.first, extent.last)


def marked(
    batch: Batch, records: tuple[LogRecord, ...], misplacement: Misplacement | None
) -> tuple[tuple[LogRecord, ...], Misplacement | None]:
    """Return the records of a batch, the misplaced ones with the reason, and the first such reason.

    With `misplacement` all records are misplaced; without it, those whose offsets do not rise within the batch's own.
    """
    if misplacement is not None:
        return tuple(replace(record, misplaced=misplacement.reason) for record in records), misplacement
    reached, last = batch.base_offset - 1, batch.last_offset
    for record in records:
        if not reached < record.log_offset <= last:
            break
        reached = record.log_offset
    else:
        return records, None
    found = tuple(_marked_each(batch, records))
    reason = next(record.misplaced for record in found if record.misplaced is not None)
    return found, Misplacement(reason, goes_back=False)


def _marked_each(batch: Batch, records: Iterable[LogRecord]) -> Iterator[LogRecord]:
    reached = batch.base_offset - 1
    for record in records:
        offset = record.log_offset
        if not batch.base_offset <= offset <= batch.last_offset:
            reason = f"offset {offset} is outside of its batch, which has {batch.base_offset} to {batch.last_offset}"
        elif offset <= reached:
            reason = f"offset {offset} is not above {reached}, which the records before it in its batch have reached"
        else:
            reached = offset
            yield record
            continue
        yield replace(record, misplaced=reason)
