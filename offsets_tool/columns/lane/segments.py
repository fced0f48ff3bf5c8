"""Reads whole segments through the lane, one after another: the ledger counts all of it, and interned keys serve later files.

Callers use a chunk before they ask for the next; what they do with it is not known here.
"""

from collections.abc import Iterator
from typing import NamedTuple

from offsets_tool.columns.lane.chunks import Chunk, Lane
from offsets_tool.columns.lane.interned import InternedKeys
from offsets_tool.columns.lane.sums import run_of
from offsets_tool.log.ledger import BatchRun, Ledger
from offsets_tool.log.segment import SegmentReading
from offsets_tool.rows import BatchRead, Unreadable


class ChunkRead(NamedTuple):
    """A chunk, and its batches as the ledger took them."""

    chunk: Chunk
    run: BatchRun

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.chunk.end - self.chunk.start


class SegmentReader:
    """Reads one segment after another."""

    def __init__(self) -> None:
        self._interned: InternedKeys | None = None

    def read(
        self, reading: SegmentReading, ledger: Ledger, *, verify: bool = True
    ) -> Iterator[ChunkRead | BatchRead | Unreadable]:
        """Read the whole segment of `reading`, by the lane as far as it goes; the caller counts the outcomes of records."""
        lane = Lane.of(reading, self._interned, verify=verify)
        for item in lane.read():
            if isinstance(item, Chunk):
                run = run_of(item)
                ledger.add_run(run)
                yield ChunkRead(item, run)
                continue
            ledger.add(item)
            yield item
        self._interned = lane.interned
        reading.finish()
