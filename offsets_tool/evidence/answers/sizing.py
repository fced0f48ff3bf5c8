"""The sizes of an evidence: it reads each copy of each partition once, and tallies it.

Where an open transaction stops the cleaner before the active segment, it reads that copy a second time, because only the end of the
copy shows that. sizes.tally knows what is counted.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from offsets_tool.evidence.evidence import Evidence
from offsets_tool.evidence.lanes import ChunkLane
from offsets_tool.evidence.sources import Source
from offsets_tool.log.names import not_replayed
from offsets_tool.log_clock import latest_of
from offsets_tool.rows import NO_TIMESTAMP, BatchRead, LogRecord, Unreadable
from offsets_tool.sizes.tally import KeySum, Tally

if TYPE_CHECKING:
    from offsets_tool.sizes.lane_records import LaneRecords


class EvidenceSizes:
    """The tallies of an evidence; right after `run`. Leaves out files that Kafka has set aside."""

    def __init__(self, evidence: Evidence) -> None:
        """Prepare to read the evidence."""
        self._evidence = evidence
        self._lane = ChunkLane(evidence)
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
            tally = _tally(self._lane, number, copy, sources, cleanable)
            held = _cleanable(tally, sources)
            if held < cleanable:
                # Of a second pass the ledgers know nothing.
                tally = _tally(ChunkLane(self._evidence.again()), number, copy, sources, held)
            self.tallies.append(tally)
        self._evidence.all_is_read()
        return self.tallies

    @property
    def newest_timestamp(self) -> int:
        """The newest time of any record, in epoch ms: the present of this evidence."""
        newest = latest_of(
            last
            for tally in self.tallies
            for first, last in tally.sums[KeySum.FIRST_TIMESTAMP :].T.tolist()
            if first <= last
        )
        return NO_TIMESTAMP if newest is None else newest

    def _of_rows(self, sources: Iterable[Source]) -> Iterable[Tally]:
        """Tally archives and live partitions, whose segments are not known."""
        tallies: dict[int | None, Tally] = {}
        for source in sources:
            for item in self._evidence.items(source):
                number = item.log_partition if isinstance(item, LogRecord) else source.log_partition
                if number not in tallies:
                    tallies[number] = Tally(number, source.copy)
                tallies[number].add(item)
        for tally in tallies.values():
            tally.finish()
        return tallies.values()


def _tally(
    lane: ChunkLane, number: int | None, copy: str | None, sources: Sequence[Source], cleanable: int
) -> Tally:
    """Tally segments, of which the first `cleanable` can be cleaned."""
    tally, in_chunks = Tally(number, copy), None
    for at, source in enumerate(sources):
        is_active = source is sources[-1]
        tally.begin_segment(_base_offset(source), is_cleanable=at < cleanable, is_active=is_active)
        for item in lane.items(source):
            if isinstance(item, (BatchRead, LogRecord, Unreadable)):
                tally.add(item)
            else:
                in_chunks = in_chunks or _lane_records(tally)
                tally.observe(in_chunks.sized(item.chunk))
    tally.finish()
    return tally


def _lane_records(tally: Tally) -> "LaneRecords":
    from offsets_tool.sizes.lane_records import LaneRecords  # noqa: PLC0415 - with the lane alone

    return LaneRecords(tally.key_number)


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
