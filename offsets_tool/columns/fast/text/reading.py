"""Segments as text, one after another: chunks of text from the lane, and what the lane leaves to the reference reader."""

from collections.abc import Iterator
from typing import NamedTuple

from offsets_tool.columns.fast.interned import Interned
from offsets_tool.columns.fast.lane import Chunk, Lane
from offsets_tool.columns.fast.sums import run_of
from offsets_tool.columns.fast.text.printer import Printer
from offsets_tool.columns.fast.text.real import Passed
from offsets_tool.columns.fast.text.selection import Selection
from offsets_tool.columns.fast.text.writer import TextWriter, Written
from offsets_tool.log.ledger import Ledger
from offsets_tool.log.names import Segment
from offsets_tool.log.segment import SegmentReading
from offsets_tool.rows import BatchRead, Unreadable


class ChunkText(NamedTuple):
    """Bytes of a file, as many as `size`, printed. To be used up before the next is asked for."""

    size: int
    pieces: Iterator[Written]


class TextReader:
    """Prints segments by one printer; what repeats from file to file is kept."""

    def __init__(self, printer: Printer, selection: Selection | None = None) -> None:
        """With a selection only that is printed; what is no text is not selected from."""
        self._writer = TextWriter(printer, selection)
        self._interned: Interned | None = None

    def read(
        self, segment: Segment, ledger: Ledger, *, verify: bool = True, passed: Passed | None = None
    ) -> Iterator[ChunkText | BatchRead | Unreadable]:
        """The whole segment; what is no text the caller prints, decodes and counts. The rest is told to the ledger.

        `verify=False` also reads the records of batches whose checksum is wrong. For `passed` see TextWriter.file.
        """
        reading = SegmentReading(segment, verify=verify, ledger=ledger)
        file = self._writer.file(reading.data, segment, ledger, passed)
        lane = Lane(reading.data, segment.source, segment.log_partition, self._interned, verify=verify)
        for item in lane.read():
            if isinstance(item, Chunk):
                ledger.add_run(run_of(item, ledger.last_offset))
                yield ChunkText(item.end - item.start, file.write(item))
                reading.reached(item.end)
                continue
            ledger.add(item)
            yield item
            place = item if isinstance(item, Unreadable) else item.batch
            reading.reached(place.position + place.size)
        self._interned = lane.interned
        reading.finish()
