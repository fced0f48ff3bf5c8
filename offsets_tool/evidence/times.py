"""Times and spans of time as text: spans as people write them (7d, 36h, 90m, 500ms), both as they are shown.

What a text for a moment means (`yesterday 14:05`, `-2h`) is known by moment_texts.
"""

import re
from datetime import UTC, datetime
from typing import Final

from offsets_tool.errors import UsageError
from offsets_tool.rows import NO_TIMESTAMP
from offsets_tool.wire.longs import MAX_LONG

UNITS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_PARTS: Final = ("d", "h", "m", "s")
_DIGITS: Final = 24
"""The most digits of a number; a longer one is no span of anything."""
_TEXT: Final = re.compile(r"(\d+)(ms|s|m|h|d|w)", re.ASCII)


def parse_duration(text: str, option: str, most: int = MAX_LONG) -> int:
    """Return the milliseconds of a span such as 7d or 90m; UsageError for other texts, for zero, and for more than `most`."""
    found = _TEXT.fullmatch(text.strip().lower())
    count = 0 if found is None else int(found[1][:_DIGITS])
    if found is None or count == 0:
        raise UsageError(f"{option}: {text[:_DIGITS]!r} is no span of time; write 7d, 36h, 90m, 30s or 500ms")
    milliseconds = count * UNITS[found[2]]
    if len(found[1]) > _DIGITS or milliseconds > most:
        raise UsageError(
            f"{option}: {text[:_DIGITS]!r} is longer than a broker can be told; write at most {duration_text(most)}"
        )
    return milliseconds


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


def time_text(timestamp: int) -> str | None:
    """Return epoch milliseconds as ISO 8601 in UTC; None for Kafka's "no timestamp" and for times outside of the calendar."""
    try:
        at = datetime.fromtimestamp(timestamp / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None if timestamp < 0 else at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{timestamp % 1000:03d}Z"


def shown_time(timestamp: int) -> str | None:
    """Return a time for people: ISO 8601, or the number where no calendar has it; None for Kafka's "no timestamp"."""
    return time_text(timestamp) or (None if timestamp == NO_TIMESTAMP else f"{timestamp}ms")
