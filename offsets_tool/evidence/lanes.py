"""Reads evidence through the fast lane where columns.lane.availability chooses it; its results equal those of the reference reader.

One lane yields text that is ready to be printed, one surveys; replays read rows where that pays.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from offsets_tool.columns.lane.availability import is_fast
from offsets_tool.dialects.output import Printer
from offsets_tool.evidence.evidence import Evidence
from offsets_tool.evidence.sources import Item, Source
from offsets_tool.log.batches.limits import Limits
from offsets_tool.log.ledger import Ledger
from offsets_tool.log.names import Segment
from offsets_tool.log.segment import SegmentReading
from offsets_tool.rows import BatchRead, LogRecord, Unreadable

if TYPE_CHECKING:
    from offsets_tool.columns.lane.segments import ChunkRead, SegmentReader
    from offsets_tool.columns.printing import SegmentPrinter
    from offsets_tool.columns.survey import Surveyor
    from offsets_tool.survey import Survey


class TextLane:
    """The text that `printer` makes of the records of an evidence."""

    def __init__(self, evidence: Evidence, printer: Printer | None) -> None:
        """Prepare to print the evidence by `printer`; None leaves every record to the caller."""
        self._evidence = evidence
        self._text = _segment_printer(evidence, printer) if printer is not None else None

    def pieces(
        self, source: Source, *, verify: bool = True, passed: Callable[[int, int], None] | None = None
    ) -> Iterator[memoryview | Item]:
        """Yield text, and items that the caller decodes and prints.

        Text is what the filters let through; items are not filtered. A single record of a segment stands among text that was
        printed before it: its batch's line is. `passed` is called with the first and the last offset of records that
        follow each other and were printed so, or are to be.
        """
        if self._text is None or source.segment is None:
            yield from self._evidence.items(source, verify=verify)
            return
        for item in self._evidence.through(source, partial(self._text.read, verify=verify, passed=passed)):
            if isinstance(item, (BatchRead, Unreadable)):
                yield item
                continue
            for piece in item.pieces:
                is_text = isinstance(piece, memoryview) and len(piece) > 0
                self._evidence.has_shown = self._evidence.has_shown or is_text
                yield piece


def _segment_printer(evidence: Evidence, printer: Printer) -> "SegmentPrinter | None":
    size = sum(source.size for source in evidence.sources if source.segment)
    if not is_fast(size):
        return None
    from offsets_tool.columns.printing import SegmentPrinter, Selection  # noqa: PLC0415 - Numba

    filters = evidence.filters
    if not filters.is_active:
        return SegmentPrinter(printer)
    return SegmentPrinter(printer, Selection(filters.wanted, filters.types, filters.range_of))


class ChunkLane:
    """The batches of the sources of an evidence: in chunks what the lane reads, and item by item what the reference reads."""

    def __init__(self, evidence: Evidence) -> None:
        """Prepare to read the evidence."""
        self._evidence = evidence
        self._segments: SegmentReader | None = None

    def items(self, source: Source) -> "Iterator[ChunkRead | Item]":
        """Yield the batches of a source; a chunk is used up before the next item is asked for."""
        if source.segment is None or not is_fast(source.size, note=self._evidence.note_once):
            return self._evidence.items(source)
        return self._evidence.through(source, self._read)

    def _read(
        self, segment: Segment, ledger: Ledger, limits: Limits
    ) -> "Iterator[ChunkRead | BatchRead | Unreadable]":
        from offsets_tool.columns.lane.segments import SegmentReader  # noqa: PLC0415 - Numba, where it pays

        self._segments = self._segments or SegmentReader()
        return self._segments.read(SegmentReading(segment, limits=limits, ledger=ledger), ledger)


class SurveyLane:
    """Surveys of the sources of an evidence."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._lane = ChunkLane(evidence)
        self._surveyor: Surveyor | None = None

    def survey(self, source: Source) -> "Survey":
        """Read a source to its end, count it in its ledger, and return its survey."""
        from offsets_tool.survey import Survey  # noqa: PLC0415 - for one command only

        survey = Survey()
        for item in self._lane.items(source):
            if isinstance(item, BatchRead):
                survey.observe_batch(item)
            for piece in (item,) if isinstance(item, Item) else self._observe(item, survey):
                for event in self._evidence.decoded(piece):
                    survey.observe_event(event)
        if self._surveyor is not None:
            self._surveyor.name_groups(survey)
        return survey

    def _observe(self, read: "ChunkRead", survey: "Survey") -> Iterator[LogRecord]:
        from offsets_tool.columns.survey import Surveyor  # noqa: PLC0415 - Numba, where it pays

        self._surveyor = self._surveyor or Surveyor()
        return self._surveyor.observe(read, self._evidence.ledger, survey)


def rows_pay(sources: list[Source]) -> bool:
    """Return whether the sources are read by rows: all have rows, and the fast lane is chosen for their size."""
    return all(source.has_rows for source in sources) and is_fast(sum(source.size for source in sources))
