"""Tables in Markdown, and their place in the README: between two comments, which stay. Knows nothing of what was measured."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from offsets_tool.errors import OffsetsToolError

BEGIN: Final = "<!-- bench -->"
END: Final = "<!-- /bench -->"


class Table(NamedTuple):
    """A title above, and below it the rows; the first column is text, the others are numbers."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """The table, ending in a newline. ValueError for a row that has not as many cells as there are heads."""
        marks = ["---"] + ["---:"] * (len(self.heads) - 1)
        lines = [_line(row) for row in (self.heads, marks, *self.rows) if self._fits(row)]
        return "\n".join([f"{self.title}\n", *lines]) + "\n"

    def _fits(self, row: Sequence[str]) -> bool:
        if len(row) != len(self.heads):
            raise ValueError(f"{len(row)} cells under {len(self.heads)} heads: {row}")
        return True


def quoted(text: str, by: str) -> str:
    """`by` with `text` between its two comments, instead of what was there."""
    before, begin, rest = by.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise OffsetsToolError(
            f"README.md has no place for the table: add {BEGIN} and {END}, each in its own line"
        )
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def number(value: float) -> str:
    """Two digits that count; all of a larger number."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def times(value: float) -> str:
    """A ratio, as 3.4x."""
    return f"{number(value)}x"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
