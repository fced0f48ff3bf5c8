"""Where copies of one log are of two histories: they have different records at one offset of one leader epoch.

A leader writes each offset of its epoch once, so such copies have not been one log since the last record that both have: a snapshot
was restored under a living broker, say. Which history is in force no record says, but for times: one whose records are all newer
than the last of the other went on later. Knows offsets, epochs and times, and not what is in a record.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import combinations
from typing import NamedTuple, TypeVar

from offsets_tool.log.copies.copy_facts import CopyFacts
from offsets_tool.log.copies.lineage import NO_END
from offsets_tool.log.copies.union import Distinct, OfRecord
from offsets_tool.rows import NO_TIMESTAMP

T = TypeVar("T", bound=OfRecord)


class InForceBy(StrEnum):
    """Why one of several histories counts."""

    NAMED = "named"
    """Somebody named a copy of it."""
    NEWER = "newer"
    """Its records are all newer than the last of the others."""
    EARLIER = "earlier"
    """The others begin after the moment that is asked for."""


class InForce(NamedTuple):
    """The history that counts: the number of a copy of it, and why; None where nothing says which is in force."""

    copy: int
    by: InForceBy | None


class _Stretch(NamedTuple):
    """Records behind the first contradiction: the last offset, the oldest and the newest time.

    Without records these are -1, NO_END and NO_TIMESTAMP.
    """

    last: int
    oldest: int
    newest: int


_NOTHING = _Stretch(-1, NO_END, NO_TIMESTAMP)


class Forks:
    """The contradictions of copies, from one pass over the distinct records of all of them; copies have numbers."""

    def __init__(self) -> None:
        self._last: dict[int, int] = {}
        """By set of copies, a bit for each, the last offset at which they, and no others, have one record."""
        self._since: dict[int, _Stretch] = {}
        """By set of copies, the records that they, and no others, have from the first contradiction on."""
        self._from: dict[tuple[int, int], int] = {}
        """By pair of copies that contradict each other, the offset from which on they are of two histories."""

    def __bool__(self) -> bool:
        return bool(self._from)

    @classmethod
    def of(cls, offsets: Iterable[list[Distinct[T]]]) -> "Forks":
        """Return what the distinct records of copies show, offset by offset (log.copies.union.union)."""
        forks = cls()
        for together in offsets:
            forks.observe(together)
        return forks

    def observe(self, together: Sequence[Distinct[T]]) -> None:
        """Observe the distinct records at the next offset."""
        for record, rival in combinations(together, 2):
            if _contradict(record, rival):
                self._fork(record.copies, rival.copies)
        for distinct in together:
            self._last[distinct.copies] = distinct.record.log_offset
            if self._from:
                self._since[distinct.copies] = _joined(self._since.get(distinct.copies, _NOTHING), distinct)

    def _fork(self, one: int, other: int) -> None:
        for pair in ((a, b) for a in _numbers(one) for b in _numbers(other)):
            of_pair = 1 << pair[0] | 1 << pair[1]
            last = max(
                (log_offset for copies, log_offset in self._last.items() if copies & of_pair == of_pair),
                default=-1,
            )
            self._from.setdefault((min(pair), max(pair)), last + 1)

    def in_force(
        self, copies: Sequence[CopyFacts], time: int | None = None, named: int | None = None
    ) -> InForce:
        """Return the history that counts at a time (epoch milliseconds), by default at the end; `named` is a copy of it.

        Where nothing says which is in force, it is that of a copy in the newest epoch: of those, one that the fewest contradict,
        and of these the one whose log reaches furthest.
        """
        if named is not None:
            return InForce(named, InForceBy.NAMED)
        rivals = {number for pair in self._from for number in pair}
        begun = {number for number in rivals if time is None or self._oldest(number, rivals) <= time}
        newest = {number for number in begun if self._is_newest(number, begun)}

        def reach(number: int) -> tuple[int, int, int, int]:
            copy = copies[number]
            return copy.newest_epoch(NO_END), -len(self._rivals_of(number)), copy.end, -number

        furthest = max(newest or begun or rivals or range(len(copies)), key=reach)
        if begun and not newest:
            return InForce(furthest, None)
        return InForce(furthest, InForceBy.NEWER if self._rivals_of(furthest) & begun else InForceBy.EARLIER)

    def apart_from(self, copy: int, number: int) -> dict[int, int]:
        """Return the copies, of `number`, that are of another history than one of them, with the offset from which on each is."""
        apart = {rival: self._pair(copy, rival) for rival in self._rivals_of(copy)}
        return apart | dict(self._followers(copy, number, apart))

    def _followers(self, copy: int, number: int, apart: dict[int, int]) -> Iterator[tuple[int, int]]:
        """Yield the copies that go on with rivals of `copy` alone, though no record of theirs contradicts it, and from where on."""
        for other in set(range(number)) - {copy, *apart}:
            with_copy = self._last_together(other, copy)
            forks = [fork for rival, fork in apart.items() if self._last_together(other, rival) > with_copy]
            if forks:
                yield other, min(forks)

    def _last_together(self, one: int, other: int) -> int:
        """Return the last offset, from the first contradiction on, at which two copies have one record; -1 without one."""
        pair = 1 << one | 1 << other
        return max(
            (stretch.last for copies, stretch in self._since.items() if copies & pair == pair), default=-1
        )

    def _rivals_of(self, number: int) -> set[int]:
        return {rival for pair in self._from if number in pair for rival in pair} - {number}

    def _pair(self, copy: int, rival: int) -> int:
        return self._from[min(copy, rival), max(copy, rival)]

    def _is_newest(self, number: int, begun: set[int]) -> bool:
        return all(
            self._alone(number, rival).oldest > self._alone(rival, number).newest
            for rival in self._rivals_of(number) & begun
        )

    def _oldest(self, number: int, rivals: set[int]) -> int:
        """Return the time from which on a copy has records that its rivals do not have; NO_END without one."""
        return min(
            (self._alone(number, rival).oldest for rival in self._rivals_of(number) & rivals), default=NO_END
        )

    def _alone(self, number: int, rival: int) -> _Stretch:
        """Return the records that one copy has, and another one not, from the first contradiction on."""
        alone = [
            stretch
            for copies, stretch in self._since.items()
            if copies >> number & 1 and not copies >> rival & 1
        ]
        return _Stretch(
            max((stretch.last for stretch in alone), default=-1),
            min((stretch.oldest for stretch in alone), default=NO_END),
            max((stretch.newest for stretch in alone), default=NO_TIMESTAMP),
        )


def _numbers(copies: int) -> Iterator[int]:
    return (number for number in range(copies.bit_length()) if copies >> number & 1)


def _contradict(record: Distinct[T], rival: Distinct[T]) -> bool:
    """Return whether records at one offset are not of one log: they have one epoch, or one is of an archive, which keeps none."""
    same = record.epoch == rival.epoch or record.epoch is None or rival.epoch is None
    return same and record.record.misplaced is rival.record.misplaced is None


def _joined(stretch: _Stretch, distinct: Distinct[T]) -> _Stretch:
    timestamp = distinct.record.timestamp
    if timestamp == NO_TIMESTAMP:
        return stretch._replace(last=distinct.record.log_offset)
    return _Stretch(
        distinct.record.log_offset, min(stretch.oldest, timestamp), max(stretch.newest, timestamp)
    )
