"""Write sentences: wrapped to a terminal's width, or with whole lines to a pipe or a file; or as Markdown.

Names are made visible here, so that nothing in them steers a terminal or a page.
"""

import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO, Final

from offsets_tool.cli.answers.sparklines import LEAD, levels_of, marks_of, shape_lines, span_text
from offsets_tool.cli.layout import cell_width, lay_out, wrap
from offsets_tool.cli.styles import is_stdout, pen_for
from offsets_tool.cli.table import PrintedTable
from offsets_tool.cli.texts import cell_text
from offsets_tool.rows import Row
from offsets_tool.story.shapes import GroupEvents
from offsets_tool.wire.text import ABSENT, in_cell, shown, visible

_LEAST: Final = 30
"""The fewest cells of a line that a sentence must have beside what stands before it; else it begins below that."""
_READABLE: Final = 120
"""How long the lines of a sentence are at most: longer ones are hard to read, however wide the terminal is."""
_MARKS: Final = re.compile(r"[\\`*<>\[\]|]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
"""What Markdown would take for more than text."""


class Paragraphs:
    """Lines of text that go to a terminal, a pipe or a file."""

    def __init__(self, out: BinaryIO) -> None:
        """Write to `out`; lines are wrapped where it is a terminal."""
        is_terminal = is_stdout(out) and sys.stdout.isatty()
        self._out = out
        self._width = shutil.get_terminal_size().columns if is_terminal else None
        self._pen = pen_for(out)

    @property
    def width(self) -> int | None:
        """The width of the terminal; None where lines have no limit."""
        return self._width

    def blank(self) -> None:
        """Write an empty line."""
        self._line("")

    def heading(self, text: str) -> None:
        """Write a sentence as a heading, bold on a terminal."""
        for line in self._lines(text, 0):
            self._line(self._pen.heading(line))

    def say(self, text: str, indent: int = 0) -> None:
        """Write a sentence, each of its lines indented by `indent` blanks."""
        for line in self._lines(text, indent):
            self._line(" " * indent + line)

    def behind(self, lead: str, text: str) -> None:
        """Write a sentence behind a lead, such as a time; further lines are indented to it. It begins below a lead that is long.

        Where either of them begins with a severity, that word is coloured.
        """
        indent, paint = len(lead), self._pen.severity
        if self._width is not None and self._width - indent < _LEAST:
            self._line(paint(lead.rstrip()))
            self.say(text, 4)
            return
        first, *more = self._lines(text, indent)
        self._line(paint(lead) + paint(first))
        for line in more:
            self._line(" " * indent + line)

    def table(self, table: PrintedTable, rows: Iterable[Row]) -> list[str]:
        """Write rows as a table, and return the titles of the least important columns, which are left out if they have no room."""
        cells = [[_cell(value) for value in table.drawn(row)] for row in rows]
        page = lay_out(table, cells, self._width, self._pen)
        for line in (page.heading, *page.lines):
            self._line(line)
        return [title for title in table.titles if title not in page.shown]

    def draw(self, events: GroupEvents) -> None:
        """Write counts of a group's events as rows of blocks, and a blank line; nothing for few events, or without room."""
        most = marks_of(self._width)
        shapes = None if most is None else events.shapes(most)
        if shapes is None:
            return
        for line in shape_lines(shapes, levels_of(self._out)):
            self._line(line)
        self.say(span_text(shapes), LEAD)
        self.blank()

    def command(self, words: Sequence[str]) -> None:
        r"""Write a command line for a shell, indented; a long one is continued on further lines with backslashes."""
        line = "  "
        for word in words:
            is_full = self._width is not None and len(line) + cell_width(word) + 3 > self._width
            if is_full and line.strip():
                self._line(f"{line}\\")
                line = "    "
            line += f"{word} "
        self._line(line.rstrip())

    def _lines(self, text: str, indent: int) -> list[str]:
        seen = visible(shown(text))
        return [seen] if self._width is None else wrap(seen, max(min(self._width, _READABLE) - indent, 1))

    def _line(self, text: str) -> None:
        self._out.write(f"{text}\n".encode())


def _cell(value: Any) -> str:
    return ABSENT if value is None else in_cell(cell_text(value))


def markdown(text: str) -> str:
    """Return a text for a line of Markdown, escaped so that no name in it is taken for markup."""
    return _MARKS.sub(lambda found: f"\\{found[0]}", visible(shown(text)))


def columns(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yield each row's cells as one text, padded to the widest cell of their column, with two blanks behind each."""
    table = list(rows)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        yield "".join(f"{cell:<{width}}  " for cell, width in zip(row, widths, strict=True))
