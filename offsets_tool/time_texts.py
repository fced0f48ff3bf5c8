"""Times and spans of time as text, as they are shown: ISO 8601 in UTC, and spans in their two largest units.

The other way, from texts that people write, is in evidence.times and moment_texts.
"""

from datetime import UTC, datetime
from typing import Final

from offsets_tool.rows import NO_TIMESTAMP

UNITS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_PARTS: Final = ("d", "h", "m", "s")


def duration_text(milliseconds: int) -> str:
    """Return a span in its two largest units, as in 6d 3h; with a minus before it where it is negative."""
    left = abs(milliseconds)
    parts = []
    for unit in _PARTS:
        count, left = divmod(left, UNITS[unit])
        if count:
            parts.append(f"{count}{unit}")
    if not parts:
        parts = [f"{left}ms"] if left else ["0s"]
    return ("-" if milliseconds < 0 else "") + " ".join(parts[:2])


def time_text(timestamp: int | None) -> str | None:
    """Return epoch milliseconds as ISO 8601 in UTC; None for Kafka's "no timestamp" and for what no calendar has."""
    if timestamp is None:
        return None
    try:
        at = datetime.fromtimestamp(timestamp / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None if timestamp < 0 else at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{timestamp % 1000:03d}Z"


def shown_time(timestamp: int | None) -> str | None:
    """Return a time for people: ISO 8601, or the number where no calendar has it; None for none and for Kafka's "no timestamp"."""
    return time_text(timestamp) or (None if timestamp in (None, NO_TIMESTAMP) else f"{timestamp}ms")
