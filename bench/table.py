"""Tables in Markdown, each in the section of a document that has its name. Knows nothing of what was measured."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bench.pace import Ratio
from offsets_tool.errors import OffsetsToolError


class Table(NamedTuple):
    """A title above, and below it the rows; the first column is text, the others are numbers.

    `ratios` are what a later run is compared by: to a peer of the same run, by the name of what was measured.
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    ratios: Mapping[str, Ratio]

    def markdown(self) -> str:
        """The table, ending in a newline. ValueError for a row that has not as many cells as there are heads."""
        marks = ["---"] + ["---:"] * (len(self.heads) - 1)
        lines = [_line(row) for row in (self.heads, marks, *self.rows) if self._fits(row)]
        return "\n".join([f"{self.title}\n", *lines]) + "\n"

    def _fits(self, row: Sequence[str]) -> bool:
        if len(row) != len(self.heads):
            raise ValueError(f"{len(row)} cells under {len(self.heads)} heads: {row}")
        return True


def section(name: str) -> tuple[str, str]:
    """Return the two comments between which a document has the table of that name."""
    return f"<!-- bench {name} -->", f"<!-- /bench {name} -->"


def placed(text: str, name: str, document: str) -> str:
    """Return a document with a text in the section of that name, instead of what was there. OffsetsToolError if it has none."""
    begin, end = section(name)
    above, begun, below = document.partition(begin)
    _, ended, below = below.partition(end)
    if not begun or not ended:
        raise OffsetsToolError(
            f"README.md has no section for the table {name}: add {begin} and {end}, each in its own line"
        )
    return f"{above}{begin}\n{text}\n{end}{below}"


def number(value: float) -> str:
    """Two digits that count; all of a larger number."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def times(value: float) -> str:
    """A ratio, as 3.4x."""
    return f"{number(value)}x"


def without_marks(name: str) -> str:
    """Return the first cell of a row without its Markdown, as the name of what was measured."""
    return name.replace("*", "").replace("`", "")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
