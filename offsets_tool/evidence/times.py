"""Spans of time as people write them: 7d, 36h, 90m, 500ms.

What a text for a moment means (`yesterday 14:05`, `-2h`) is known by moment_texts.
"""

import re
from typing import Final

from offsets_tool.errors import UsageError
from offsets_tool.time_texts import UNITS, duration_text
from offsets_tool.wire.longs import MAX_LONG

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
