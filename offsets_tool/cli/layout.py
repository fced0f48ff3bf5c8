"""Lay out the lines of a table for a terminal's width: one line a row, never longer than the terminal is wide.

Numbers, times and words are whole; names are shortened in the middle, texts at the end; only sentences go on in lines of their own.
Columns that do not fit then are left out, the least important first. Takes cells as text and writes nothing. The only module that
asks how wide a character is.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from offsets_tool.cli.styles import PLAIN, Pen
from offsets_tool.cli.table import CellKind, Column, PrintedTable
from offsets_tool.wire.text import ABSENT

GAP: Final = "  "
LEAST: Final = 12
"""The least width to which a name is shortened, in cells of the terminal."""
LEGIBLE: Final = 24
"""The width that names keep before columns of less importance get room."""
ESSENTIAL: Final = 6
"""For how many columns names are shortened down to `LEAST`; for others only down to `LEGIBLE`."""
SHORTENED: Final = {CellKind.NAME: 1, CellKind.TEXT: 1, CellKind.LIST: 1.75, CellKind.SENTENCE: 2.5}
"""The kinds of cells that need not have their full width, and how many times the least width of a name each keeps.

A column of another kind is shown whole or left out.
"""
WRAPPED: Final = (CellKind.LIST, CellKind.SENTENCE)
"""The kinds of cells that go on in further lines."""
CUT: Final = "…"
LONGEST: Final = 4
"""How many lines a single word may take before it is shortened."""

_NUMBER: Final = re.compile(r">?=?-?\d[\d.]*(e[+-]?\d+)?")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d([T ][\d:.]+Z?)?")
_JOINTS: Final = "-./_"
_WORD: Final = re.compile(rf"[A-Za-z_ ]{{1,{LEGIBLE}}}")


class TableText(NamedTuple):
    """A table laid out as text: its heading, its lines, and the titles of the columns shown."""

    heading: str
    lines: list[str]
    shown: tuple[str, ...]


class _Measured(NamedTuple):
    """A column with its cells, and the widths of its title and of its widest cell."""

    column: Column
    kind: CellKind
    cells: Sequence[str]
    title_width: int
    content_width: int

    @property
    def order(self) -> tuple[bool, int]:
        """The sort key by which columns get room: by importance, those without any value last."""
        return all(cell == ABSENT for cell in self.cells), self.column.importance

    @property
    def width(self) -> int:
        """The column's width when nothing is shortened."""
        return max(self.title_width, self.content_width)

    def shortened(self, least: int) -> int:
        """Return the column's width when its names are shortened to `least` cells."""
        content = min(self.content_width, int(least * SHORTENED.get(self.kind, self.content_width)))
        return max(self.title_width, content)


def lay_out(
    table: PrintedTable, rows: Sequence[Sequence[str]], width: int | None, pen: Pen = PLAIN
) -> TableText:
    """Lay out rows of cells in lines of at most `width`; None for no limit. `pen` styles the heading, and severities."""
    measured = list(map(_measure, table.columns, zip(*rows, strict=True)))
    widths = {m.column.title: m.width for m in measured}
    if width is not None and not table.is_whole:
        widths = _fitted(measured, width)
    shown = [m for m in measured if m.column.title in widths]
    columns = [_drawn(m, widths[m.column.title], pen) for m in shown]
    blanks = [" " * widths[m.column.title] for m in shown]
    heading, *lines = (line for cells in zip(*columns, strict=True) for line in _lines(cells, blanks))
    return TableText(pen.heading(heading), lines, tuple(m.column.title for m in shown))


def _lines(cells: Sequence[Sequence[str]], blanks: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a row, given the lines of each cell; a cell with fewer lines is filled up with `blanks`."""
    for number in range(max(map(len, cells))):
        texts = (
            cell[number] if number < len(cell) else blank for cell, blank in zip(cells, blanks, strict=True)
        )
        yield GAP.join(texts).rstrip()


def _measure(column: Column, cells: Sequence[str]) -> _Measured:
    kind = _kind_of(cells) if column.kind is CellKind.UNKNOWN else column.kind
    return _Measured(column, kind, cells, cell_width(column.title), max(map(cell_width, cells)))


def _kind_of(cells: Iterable[str]) -> CellKind:
    there = [cell for cell in cells if cell != ABSENT]
    for kind, form in ((CellKind.NUMBER, _NUMBER), (CellKind.TIME, _TIME), (CellKind.WORD, _WORD)):
        if there and all(map(form.fullmatch, there)):
            return kind
    return CellKind.NAME


def _fitted(measured: Sequence[_Measured], width: int) -> dict[str, int]:
    """Return the widths of the columns that fit, by title; the most important columns get room first."""
    ordered = sorted(measured, key=lambda m: m.order)
    kept = _first_to_fit([], ordered[:ESSENTIAL], LEAST, width)
    kept = _first_to_fit(kept, ordered[ESSENTIAL:], LEGIBLE, width)
    return _widened(kept, width)


def _first_to_fit(
    kept: list[_Measured], more: Sequence[_Measured], least: int, width: int
) -> list[_Measured]:
    """Return the columns kept so far, and those of `more` that fit with names shortened to `least`; the very first always stays."""
    left = width + len(GAP) - sum(m.shortened(least) + len(GAP) for m in kept)
    for m in more:
        needed = m.shortened(least) + len(GAP)
        if not kept or needed <= left:
            kept = [*kept, m]
            left -= needed
    return kept


def _widened(kept: Sequence[_Measured], width: int) -> dict[str, int]:
    """Return the widths by title: spare room goes to names first, until they are legible, then to all columns, shortest first."""
    widths = {m.column.title: m.shortened(LEAST) for m in kept}
    left = width - sum(widths.values()) - len(GAP) * (len(kept) - 1)
    if left < 0 and kept[0].kind in SHORTENED:
        return {kept[0].column.title: width}
    names = [m for m in kept if m.kind not in WRAPPED]
    left = _shared(left, widths, {m.column.title: min(m.width, LEGIBLE) for m in names})
    _shared(left, widths, {m.column.title: m.width for m in kept})
    return widths


def _shared(left: int, widths: dict[str, int], wanted: Mapping[str, int]) -> int:
    """Widen columns up to their wanted widths, by title, as far as the room `left` allows; return the remaining room."""
    short = sorted(
        (title for title in wanted if wanted[title] > widths[title]), key=lambda title: wanted[title]
    )
    for number, title in enumerate(short):
        more = min(wanted[title] - widths[title], left // (len(short) - number))
        widths[title] += more
        left -= more
    return left


def _drawn(m: _Measured, width: int, pen: Pen) -> list[list[str]]:
    """Return the heading and the cells of a column as lines, each padded, shortened or, if a sentence, wrapped to `width`."""
    heading, *cells = _fitting(m, width)
    return (
        [heading, *([pen.severity(first), *more] for first, *more in cells)]
        if m.column.is_severe
        else [heading, *cells]
    )


def _fitting(m: _Measured, width: int) -> Iterator[list[str]]:
    """Yield for the heading and each cell of a column its lines, of at most `width`."""
    texts = [m.column.title, *m.cells]
    if m.kind in WRAPPED:
        yield from (list(_padded(wrap(text, width), width, is_right=False)) for text in texts)
        return
    if m.width > width:
        texts = [shorten(text, width, tail=0 if m.kind is CellKind.TEXT else None) for text in texts]
    yield from ([text] for text in _padded(texts, width, is_right=m.kind is CellKind.NUMBER))


def wrap(text: str, width: int, *, is_rigid: bool = True) -> list[str]:
    """Return the text in lines of no more than `width` cells of the terminal.

    It is broken at blanks, but not within backticks. A longer word takes several lines, and is shortened if these are too many;
    unless the width is not rigid: then it stays whole, for the terminal to break.
    """
    lines: list[str] = []
    words = _words(text, width)
    for word in chain.from_iterable(_pieces(word, width) for word in words) if is_rigid else words:
        if lines and cell_width(lines[-1]) + 1 + cell_width(word) <= width:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines.append(word)
    return lines


def _words(text: str, width: int) -> Iterator[str]:
    """Yield the words of a text; a command, in backticks, is one word where a line has room for it."""
    words: list[str] = []
    is_open = False
    for word in text.split(" "):
        if is_open:
            words[-1] += f" {word}"
        else:
            words.append(word)
        is_open ^= word.count("`") % 2 == 1
    for word in words:
        yield from [word] if cell_width(word) <= width else word.split(" ")


def _pieces(word: str, width: int) -> Iterator[str]:
    """Yield a word in pieces that a line has room for, broken behind a `-` or the like where one is near the end of the line."""
    word = shorten(word, LONGEST * width)
    while cell_width(word) > width:
        piece = _beginning(word, width)
        end = max(map(piece.rfind, _JOINTS)) + 1
        piece = piece[:end] if end > len(piece) // 2 else piece
        yield piece or CUT
        word = word[len(piece) :] if piece else ""
    yield word


def _padded(texts: Iterable[str], width: int, *, is_right: bool) -> Iterator[str]:
    for text in texts:
        if text.isascii():
            yield text.rjust(width) if is_right else text.ljust(width)
        else:
            space = " " * (width - cell_width(text))
            yield space + text if is_right else text + space


def shorten(text: str, width: int, tail: int | None = None) -> str:
    """Return the text in no more than `width` cells of the terminal: whole, or its beginning and its end with `…` between.

    `tail` is how many cells of the end stay; by default about half of them.
    """
    if cell_width(text) <= width:
        return text
    tail = (width - 1) // 2 if tail is None else tail
    head = width - 1 - tail
    return f"{_beginning(text, head)}{CUT}{_end(text, tail)}"


def _beginning(text: str, width: int) -> str:
    """Return the beginning of a text that fits into `width` cells, including the accents on its last character."""
    if text.isascii():
        return text[:width]
    for end, character in enumerate(text):
        width -= cell_width(character)
        if width < 0:
            return text[:end]
    return text


def _end(text: str, width: int) -> str:
    if text.isascii():
        return text[len(text) - width :]
    end = len(text)
    while end and (size := cell_width(text[end - 1])) <= width:
        width -= size
        end -= 1
    # An accent without its letter would be drawn onto the `…`.
    while end < len(text) and not cell_width(text[end]):
        end += 1
    return text[end:]


def cell_width(text: str) -> int:
    """Return how many cells of a terminal the text takes: two for wide characters, none for accents."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415 - for such texts only

    return cell_len(text)
