"""Shapes are as high as their numbers, have a gap where there is nothing, and say their scale and their span."""

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.cli.answers.sparklines import (
    ASCII,
    BLOCKS,
    GAP,
    MOST,
    levels_of,
    marks_of,
    shape_lines,
    span_text,
    sparkline,
)
from offsets_tool.story.shapes import Shapes, SpanCounts
from tests.cli.test_terminal import on_terminal
from tests.corpora import CORPORA, FIXTURES

NUMBERS = st.lists(st.integers(0, 2**63), min_size=1, max_size=MOST).filter(any)


@given(NUMBERS, st.sampled_from([BLOCKS, ASCII]))
def test_a_mark_is_as_high_as_its_number(numbers: list[int], levels: str) -> None:
    marks = sparkline(numbers, levels)
    heights = [(GAP + levels).index(mark) for mark in marks]
    assert len(marks) == len(numbers) and max(heights) == len(levels)
    for number, height in zip(numbers, heights, strict=True):
        assert (height == 0) == (number == 0)
        assert (height - 1) * max(numbers) < number * len(levels) <= height * max(numbers) or number == 0


@given(NUMBERS, st.integers(1, 10**12), st.integers(0, 2**62))
def test_the_scale_and_the_span_are_said_within_the_width(numbers: list[int], step: int, at: int) -> None:
    shapes = Shapes(at, step, (SpanCounts("Moved ahead", tuple(numbers)),))
    (line,) = shape_lines(shapes, BLOCKS)
    assert re.fullmatch(r"Moved ahead [ ▁-█]+  up to [\d,]+[kMGTP]? in \S+( \S+)?", line)
    assert "(UTC); a gap: none" in span_text(shapes)


@pytest.mark.parametrize(("width", "marks"), [(None, 60), (200, 60), (80, 42), (50, 12), (49, None)])
def test_a_narrow_terminal_has_fewer_marks_or_none(width: int | None, marks: int | None) -> None:
    assert marks_of(width) == marks


@pytest.mark.parametrize(("encoding", "levels"), [("utf-8", BLOCKS), ("latin-1", ASCII), ("ascii", ASCII)])
def test_where_there_are_no_blocks_it_is_ascii(
    encoding: str, levels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stdout:
        buffer = sys.stdout.buffer

    Stdout.encoding = encoding  # type: ignore[attr-defined]
    monkeypatch.setattr(sys, "stdout", Stdout)
    assert levels_of(Stdout.buffer) == levels


@pytest.mark.slow
def test_a_storm_is_seen_at_every_width() -> None:
    storm = str(FIXTURES / "incidents/rebalance-storm/segments")
    hostile = str(CORPORA / "2.4.1-mix/segments")
    asked = [
        (width, [name, log, "--group", group])
        for name in ("diagnose", "explain")
        for log, group in ((storm, "scoring"), (hostile, "iris_pricing"))
        for width in (50, 80, 120, 200)
    ]
    for (width, command), screen in zip(asked, on_terminal(asked), strict=True):
        drawn = [line for line in screen.lines if re.match(r"(Commits|Moved ahead|Rebalances) ", line)]
        assert len(drawn) == 3 and all(len(line) <= width for line in drawn)
        if command[1] == storm:
            assert len(re.findall("[▁-█]", drawn[2])) >= 8
