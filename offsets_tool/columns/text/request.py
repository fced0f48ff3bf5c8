"""What a caller of the text lane asks for: the records to print, and the functions that print them.

Which records those are, and what is printed of one, are rules of the caller: a dialect of Kafka's, or our own JSON lines.
"""

from collections.abc import Callable
from typing import NamedTuple

from offsets_tool.dialects.output import Output
from offsets_tool.rows import Batch, LogRecord


class Range(NamedTuple):
    """Times (epoch ms) and log offsets, each from the first on to before the second; None is no bound."""

    times: tuple[int | None, int | None] = (None, None)
    offsets: tuple[int | None, int | None] = (None, None)

    def holds(self, record: LogRecord) -> bool:
        """Return whether a record is in the range."""
        return self.has(record.timestamp, record.log_offset)

    def has(self, timestamp: int, log_offset: int) -> bool:
        """Return whether a record with this time and log offset is in the range."""
        return _within(timestamp, self.times) and _within(log_offset, self.offsets)


def _within(number: int, bounds: tuple[int | None, int | None]) -> bool:
    first, end = bounds
    return (first is None or number >= first) and (end is None or number < end)


class Selection(NamedTuple):
    """A choice of records: `about` looks at a record's key and whether it is a control record, `range_of` at its log partition.

    `range_of` returns None for a partition of which nothing is chosen.
    """

    about: Callable[[LogRecord], bool]
    range_of: Callable[[int | None], Range | None]


class Printer(NamedTuple):
    """The functions that print each record, and each batch before its records; they depend on nothing else.

    `batch` also says whether the batch's records are printed after it; it is None where nothing is printed of batches.
    """

    record: Callable[[LogRecord], Output]
    batch: Callable[[Batch], tuple[Output, bool]] | None = None
