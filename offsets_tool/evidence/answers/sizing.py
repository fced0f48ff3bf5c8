"""The sizes of an evidence: it reads each copy of each partition once, by the fast lane where it pays, and tallies it.

Where an open transaction stops the cleaner before the active segment, it reads that copy a second time, because only the end of the
copy shows that. sizes.tally knows what is counted.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from offsets_tool.columns.lane.availability import is_fast
from offsets_tool.evidence.evidence import Evidence
from offsets_tool.evidence.listener import CommandStep, items_during
from offsets_tool.evidence.sources import Item, Source
from offsets_tool.log.names import not_replayed
from offsets_tool.log_clock import latest_of
from offsets_tool.rows import NO_TIMESTAMP, BatchRead, LogRecord, Unreadable
from offsets_tool.sizes.tally import Tally

if TYPE_CHECKING:
    from offsets_tool.columns.sizes.sizer import Sizer


class EvidenceSizes:
    """The tallies of an evidence; right after `run`. Leaves out files that Kafka has set aside."""

    def __init__(self, evidence: Evidence) -> None:
        """Prepare to read the evidence."""
        self._evidence = evidence
        self._sizer: Sizer | None = None
        self.tallies: list[Tally] = []

    def run(self) -> list[Tally]:
        """Read everything, and return the tally of each copy of each partition."""
        if aside := self._evidence.leave_out_set_aside():
            self._evidence.note(not_replayed(len(aside)))
        for (number, copy), sources in _copies(self._evidence.sources).items():
            if sources[0].segment is None:
                self.tallies += self._of_rows(sources)
                continue
            cleanable = len(sources) - 1
            tally = self._tally(number, copy, sources, cleanable)
            held = _cleanable(tally, sources)
            if held < cleanable:
                tally = self._tally(number, copy, sources, held, is_counted=False)
            self.tallies.append(tally)
        self._evidence.all_is_read()
        return self.tallies

    @property
    def newest_timestamp(self) -> int:
        """The newest time of any record, in epoch ms: the present of this evidence."""
        times = (sums.last_timestamp for tally in self.tallies for sums in tally.by_key)
        newest = latest_of(times)
        return NO_TIMESTAMP if newest is None else newest

    def _tally(
        self,
        number: int | None,
        copy: str | None,
        sources: Sequence[Source],
        cleanable: int,
        *,
        is_counted: bool = True,
    ) -> Tally:
        """Tally segments, of which the first `cleanable` can be cleaned."""
        tally = Tally(number, copy)
        for at, source in enumerate(sources):
            is_active = source is sources[-1]
            tally.begin_segment(_base_offset(source), is_cleanable=at < cleanable, is_active=is_active)
            for item in self._items(source, tally) if is_counted else self._again(source, tally):
                tally.add(item)
        return tally

    def _of_rows(self, sources: Iterable[Source]) -> Iterable[Tally]:
        """Tally archives and live partitions, whose segments are not known."""
        tallies: dict[int | None, Tally] = {}
        for source in sources:
            for item in self._evidence.items(source):
                number = item.log_partition if isinstance(item, LogRecord) else source.log_partition
                if number not in tallies:
                    tallies[number] = Tally(number, source.copy)
                tallies[number].add(item)
        return tallies.values()

    def _items(self, source: Source, tally: Tally) -> Iterator[Item]:
        """Yield the batches of a segment that are not in the tally yet, and count them in the ledger."""
        if not is_fast(source.size, note=self._evidence.note_once):
            return self._evidence.items(source)
        return self._through(source, tally)

    def _through(self, source: Source, tally: Tally) -> Iterator[Item]:
        for piece in self._evidence.through(source, partial(self._fast().read, tally=tally)):
            assert not isinstance(piece, memoryview)
            yield piece

    def _again(self, source: Source, tally: Tally) -> Iterator[Item]:
        """Yield the batches of a segment once more, without counting them in the ledger."""
        if source.segment is None or not is_fast(source.size):
            yield from source.read(source.ledger(), True)
            return
        found = self._fast().read(source.segment, source.ledger(), tally, source.limits)
        for item in items_during(CommandStep.FAST, found):
            if isinstance(item, (BatchRead, Unreadable)):
                yield item

    def _fast(self) -> "Sizer":
        if self._sizer is None:
            from offsets_tool.columns.sizes.sizer import Sizer  # noqa: PLC0415 - NumPy, where it pays

            self._sizer = Sizer()
        return self._sizer


def _copies(sources: Iterable[Source]) -> dict[tuple[int | None, str | None], list[Source]]:
    """Return the sources of each copy of each partition, in the order of the log."""
    found: dict[tuple[int | None, str | None], list[Source]] = {}
    for source in sources:
        number = source.log_partition if source.segment is not None else None
        found.setdefault((number, source.copy), []).append(source)
    order = sorted(found, key=lambda key: (-1 if key[0] is None else key[0], key[1] or ""))
    return {key: sorted(found[key], key=lambda source: _base_offset(source) or 0) for key in order}


def _base_offset(source: Source) -> int | None:
    return source.segment.base_offset if source.segment else None


def _cleanable(tally: Tally, sources: Sequence[Source]) -> int:
    """Return how many segments stand before the active one and that of the first unstable offset."""
    first = tally.cleaning.first_unstable_offset
    if first is None:
        return len(sources) - 1
    return max(0, sum((_base_offset(source) or 0) <= first for source in sources) - 1)
