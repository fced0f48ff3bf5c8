"""What a number of milliseconds can be: a time of the calendar, or one that no clock reaches.

Kafka takes any 64-bit number from a client for a time. This module adds spans to such times; wire.longs subtracts two of them.
"""

from typing import Annotated, Final

from offsets_tool.wire.longs import MIN_LONG


class OwnTime:
    """Marks a declared field whose value is epoch milliseconds and whose column is a timestamp in UTC."""


UtcTime = Annotated[int, OwnTime]
"""A time of our own. A number that is no time of the calendar (`is_time`) is null in its column."""
LAST_MILLISECOND: Final = 253_402_300_799_999
"""The last millisecond of the year 9999, the last that calendars, SQL timestamps and ISO 8601 have."""


def is_time(timestamp: int) -> bool:
    """Return whether epoch milliseconds are a time of the calendar, from 1970 to 9999."""
    return 0 <= timestamp <= LAST_MILLISECOND


def time_after(base: int, milliseconds: int) -> int | None:
    """Return the time (epoch milliseconds) that is so many milliseconds after another; None if no clock reaches it.

    That is a time after the year 9999, or counted from one so long ago that Java's long cannot hold how long ago it was.
    """
    if base < MIN_LONG + LAST_MILLISECOND:
        return None
    at = base + milliseconds
    return at if at <= LAST_MILLISECOND else None
