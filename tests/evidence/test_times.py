"""Spans of time are read as people write them, and told in the same words."""

import pytest

from offsets_tool.errors import UsageError
from offsets_tool.evidence.times import parse_duration
from offsets_tool.time_texts import duration_text

DAY = 86_400_000


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("7d", 7 * DAY),
        ("36h", 129_600_000),
        ("90M", 5_400_000),
        ("30s", 30_000),
        ("500ms", 500),
        ("1w", 7 * DAY),
    ],
)
def test_spans_are_read(text: str, milliseconds: int) -> None:
    assert parse_duration(text, "--retention") == milliseconds


@pytest.mark.parametrize("text", ["", "7", "d", "-1d", "1.5h", "٣d", "0s"])
def test_what_is_no_span_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--retention"):
        parse_duration(text, "--retention")


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0s"),
        (7 * DAY, "7d"),
        (DAY + 3_600_000 + 1, "1d 1h"),
        (61_000, "1m 1s"),
        (-90_000, "-1m 30s"),
        (12, "12ms"),
    ],
)
def test_spans_are_told(milliseconds: int, text: str) -> None:
    assert duration_text(milliseconds) == text
