"""Segments as text, one after another: chunks of text from the lane, and what the lane leaves to the reference reader."""

from collections.abc import Iterator
from typing import NamedTuple

from offsets_tool.columns.lane.segments import ChunkRead, SegmentReader
from offsets_tool.columns.text.reference import Passed
from offsets_tool.columns.text.request import Printer, Selection
from offsets_tool.columns.text.writer import TextOrRecord, TextWriter
from offsets_tool.log.batches.limits import LIMITS, Limits
from offsets_tool.log.ledger import Ledger
from offsets_tool.log.names import Segment
from offsets_tool.log.segment import SegmentReading
from offsets_tool.rows import BatchRead, Unreadable


class ChunkText(NamedTuple):
    """Bytes of a file, as many as `size`, printed. To be used up before the next is asked for."""

    size: int
    pieces: Iterator[TextOrRecord]


class SegmentTextReader:
    """Prints segments by one printer; what repeats from file to file is kept."""

    def __init__(self, printer: Printer, selection: Selection | None = None) -> None:
        """Print by `printer` the records that `selection` has; what the lane cannot print is left for the caller to select."""
        self._writer = TextWriter(printer, selection)
        self._segments = SegmentReader()

    def read(
        self,
        segment: Segment,
        ledger: Ledger,
        *,
        verify: bool = True,
        limits: Limits = LIMITS,
        passed: Passed | None = None,
    ) -> Iterator[ChunkText | BatchRead | Unreadable]:
        """Yield a whole segment: chunks of text, which the ledger counts, and what the caller has to print, decode and count.

        `verify=False` also reads the records of batches whose checksum is wrong. `passed` is called with ranges of printed
        offsets.
        """
        reading = SegmentReading(segment, verify=verify, limits=limits, ledger=ledger)
        file = self._writer.file(reading.data, segment, ledger, passed, limits)
        for item in self._segments.read(reading, ledger, verify=verify):
            yield ChunkText(item.size, file.write(item.chunk)) if isinstance(item, ChunkRead) else item
