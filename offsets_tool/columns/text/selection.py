"""Which records to print, as far as columns and keys can tell; the rules are those of whoever asks."""

from collections.abc import Callable
from typing import NamedTuple

from offsets_tool.rows import LogRecord


class Range(NamedTuple):
    """Times (epoch ms) and log offsets, each from the first on to before the second; None is no bound."""

    times: tuple[int | None, int | None] = (None, None)
    offsets: tuple[int | None, int | None] = (None, None)

    def holds(self, record: LogRecord) -> bool:
        """Whether the record is in it."""
        return self.has(record.timestamp, record.log_offset)

    def has(self, timestamp: int, log_offset: int) -> bool:
        """Whether a record of that time and place is in it."""
        return _within(timestamp, self.times) and _within(log_offset, self.offsets)


def _within(number: int, bounds: tuple[int | None, int | None]) -> bool:
    first, end = bounds
    return (first is None or number >= first) and (end is None or number < end)


class Selection(NamedTuple):
    """`about` looks at a record's key and whether it is a control record, `range_of` at a log partition: None is nothing of it."""

    about: Callable[[LogRecord], bool]
    range_of: Callable[[int | None], Range | None]
