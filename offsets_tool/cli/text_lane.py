"""Text through the fast lane, where it can be had and pays: what a command prints of a segment, piece by piece.

Whoever prints gets text that is done, or an item that is to be decoded and printed as it would be without the lane.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from offsets_tool.cli.reading import Reading
from offsets_tool.columns.lane.availability import why_not
from offsets_tool.columns.text.printer import Printer
from offsets_tool.columns.text.selection import Selection
from offsets_tool.events import decode
from offsets_tool.evidence.sources import Item, Source

if TYPE_CHECKING:
    from offsets_tool.columns.text.reading import TextReader

TEXT_FAST_FROM = 2 << 20
"""Bytes of segments from which loading the lane pays."""


class TextLane:
    """What `printer` prints of the sources of a reading."""

    def __init__(self, reading: Reading, printer: Printer | None) -> None:
        """Without a printer, all is left to the caller; so are batches' own lines where there are filters."""
        self._reading = reading
        self._text = _reader(reading, printer) if printer is not None else None

    def pieces(
        self, source: Source, *, verify: bool = True, passed: Callable[[int, int], None] | None = None
    ) -> Iterator[memoryview | Item]:
        """Text, which the next piece overwrites, and items that the caller decodes and prints.

        Text is what the filters let through; items are not filtered. A single record of a segment stands among text that was
        printed before it: its batch's line is. `passed` is told the offsets of all records that were printed so, or are to
        be, as first and last of some that follow each other.
        """
        if self._text is None or source.segment is None:
            return self._reading.items(source, verify=verify)
        return self._reading.through(source, partial(self._text.read, verify=verify, passed=passed))


def _reader(reading: Reading, printer: Printer) -> "TextReader | None":
    filters = reading.filters
    size = sum(source.size for source in reading.sources if source.segment)
    # A batch has its line if any of its records is shown.
    if size < TEXT_FAST_FROM or (filters.active and printer.batch is not None) or why_not() is not None:
        return None
    from offsets_tool.columns.text.reading import TextReader  # noqa: PLC0415 - Numba

    if not filters.active:
        return TextReader(printer)
    return TextReader(printer, Selection(lambda record: filters.about(decode(record)), filters.range_of))
