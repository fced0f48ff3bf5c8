"""Draw numbers as a row of blocks, each as high as its number, with the scale and the span of time in words.

A number of 0 leaves a gap. Where stdout's encoding has no blocks, the shape is drawn of ASCII characters.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final

from offsets_tool.cli.styles import is_stdout
from offsets_tool.story.sentence import when
from offsets_tool.story.shapes import Shapes
from offsets_tool.time_texts import duration_text

BLOCKS: Final = "▁▂▃▄▅▆▇█"
ASCII: Final = ".:-=+*#@"
GAP: Final = " "
LEAD: Final = 12
"""The width of what a shape is of, before the shape."""
_BESIDE: Final = 26
"""The width that the scale behind a shape may need."""
_FEWEST: Final = 12
"""A shape of fewer marks says less than its numbers."""
MOST: Final = 60
"""More marks than these are no easier to read."""
_UNITS: Final = ("", "k", "M", "G", "T", "P", "E")


def marks_of(width: int | None) -> int | None:
    """Return how many marks a shape can have on a terminal of this width; None where there is no room for a shape."""
    room = MOST if width is None else min(width - LEAD - _BESIDE, MOST)
    return room if room >= _FEWEST else None


def sparkline(numbers: Sequence[int], levels: str = BLOCKS) -> str:
    """Return a mark for each number: of `levels`, the lowest first, the highest for the largest number; a gap for 0.

    >>> sparkline([1, 2, 4, 0, 8])
    '▁▂▄ █'
    """
    most = max(numbers, default=0)
    return "".join(levels[-(-number * len(levels) // most) - 1] if number > 0 else GAP for number in numbers)


def shape_lines(shapes: Shapes, levels: str) -> Iterator[str]:
    """Yield a line for each kind of event: its name, its marks, and the number that the highest mark stands for."""
    step = duration_text(shapes.step_ms)
    for shape in shapes.shapes:
        marks = sparkline(shape.numbers, levels)
        yield f"{shape.name:<{LEAD}}{marks}  up to {_short(max(shape.numbers))} in {step}"


def span_text(shapes: Shapes) -> str:
    """Return the caption of the marks: the span of time that all shapes cover, and the meaning of a gap."""
    return f"{when(shapes.from_at)} to {when(shapes.until)} (UTC); a gap: none"


def _short(number: int) -> str:
    """Return a number in no more than seven characters: 999,999 is whole, what is larger is rounded up, as in 754M."""
    for unit in _UNITS:
        if number < 1_000_000:
            return f"{number:,}{unit}"
        number = -(-number // 1000)
    return f"{number:,}"


def levels_of(out: BinaryIO) -> str:
    """Return the characters to draw with: blocks, or ASCII where `out` is a stdout whose encoding lacks blocks."""
    encoding = (is_stdout(out) and sys.stdout.encoding) or "utf-8"
    try:
        BLOCKS.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS
