"""What a command's table has: each column declared once, with its heading, its kind, its importance, and where its value is from.

Knows no widths and no terminal: cli.layout draws. Importance is a number: 1 stays longest where a terminal is narrow.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from offsets_tool.errors import UsageError
from offsets_tool.evidence.nearest import did_you_mean
from offsets_tool.wire.text import visible

CellValue = Callable[[Any], Any]
"""From a row to what its cell is to show: None for what is not there."""


class CellKind(StrEnum):
    """What a column's cells are; only names and texts are ever shortened."""

    NUMBER = "number"
    TIME = "time"
    WORD = "word"
    """Of a closed vocabulary: states, methods, places in the log."""
    NAME = "name"
    """Whatever people and clients choose, of any length: groups, topics, members, metadata, files. Shortened in the middle."""
    TEXT = "text"
    """Sentences and fields, `state=Stable members=2`: shortened at the end, for the end of one field is no value of another."""
    UNKNOWN = "unknown"
    """The values decide: for answers to questions that are not ours."""


class Column(NamedTuple):
    """One column: `field` is what JSON lines call it."""

    title: str
    kind: CellKind
    importance: int
    field: str
    value: CellValue

    @classmethod
    def number(cls, title: str, importance: int, value: str | CellValue | None = None) -> "Column":
        """Numbers. `value` is a field's name or how to find it in a row; by default the field is called as the column."""
        return _column(title, CellKind.NUMBER, importance, value)

    @classmethod
    def time(cls, title: str, importance: int, value: str | CellValue | None = None) -> "Column":
        """Times, all of one form; `value` as of `number`."""
        return _column(title, CellKind.TIME, importance, value)

    @classmethod
    def word(cls, title: str, importance: int, value: str | CellValue | None = None) -> "Column":
        """Words that this program chose; `value` as of `number`."""
        return _column(title, CellKind.WORD, importance, value)

    @classmethod
    def name(cls, title: str, importance: int, value: str | CellValue | None = None) -> "Column":
        """Names and other text that others chose; `value` as of `number`."""
        return _column(title, CellKind.NAME, importance, value)

    @classmethod
    def text(cls, title: str, importance: int, value: str | CellValue | None = None) -> "Column":
        """Sentences, and fields with their names; `value` as of `number`."""
        return _column(title, CellKind.TEXT, importance, value)

    @property
    def names(self) -> tuple[str, str]:
        """What --show knows it by."""
        return _spelled(self.title), _spelled(self.field)


class PrintedTable(NamedTuple):
    """Columns in the order in which they are shown; `is_whole` shows all of them, unshortened, on any terminal."""

    columns: tuple[Column, ...]
    is_whole: bool = False

    @classmethod
    def of(cls, *columns: Column) -> "PrintedTable":
        """A table of these columns."""
        return cls(columns)

    @classmethod
    def of_names(cls, names: Iterable[str], *, is_whole: bool = False) -> "PrintedTable":
        """A table of fields that nobody has declared, the first the most important."""
        columns = (_column(visible(name), CellKind.UNKNOWN, rank, name) for rank, name in enumerate(names, 1))
        return cls(tuple(columns), is_whole)

    @property
    def titles(self) -> tuple[str, ...]:
        return tuple(column.title for column in self.columns)

    def cells(self, row: Any) -> list[Any]:
        """The values of a row, one a column."""
        return [column.value(row) for column in self.columns]

    def with_first(self, title: str) -> "PrintedTable":
        """The same columns, with one of them more important than all others."""
        columns = (c._replace(importance=0) if c.title == title else c for c in self.columns)
        return self._replace(columns=tuple(columns))

    def chosen(self, format_: str, options: Mapping[str, Any]) -> "PrintedTable":
        """What --show and --wide make of it. UsageError for a column that is not there, and for JSON lines, which have none."""
        names = [name.strip() for text in options["show"] for name in text.split(",")]
        if names and format_ == "jsonl":
            raise UsageError(
                "--show chooses the columns of tables and CSV: add --format table or --format csv, "
                "or choose the fields of JSON lines with jq"
            )
        found = dict.fromkeys(self._named(name) for name in names)
        columns = tuple(c._replace(importance=rank) for rank, c in enumerate(found, 1)) or self.columns
        return PrintedTable(columns, self.is_whole or options["wide"])

    def _named(self, name: str) -> Column:
        found = next((column for column in self.columns if _spelled(name) in column.names), None)
        if found is None:
            meant = did_you_mean(name, self.titles)
            raise UsageError(
                f"--show: there is no column {name!r}: choose among {', '.join(self.titles)}.{meant}"
            )
        return found


def _column(title: str, kind: CellKind, importance: int, value: str | CellValue | None) -> Column:
    field = value if isinstance(value, str) else title.lower().replace("-", "_")
    return Column(title, kind, importance, field, value if callable(value) else _getter(field))


def _getter(field: str) -> CellValue:
    return lambda row: row.get(field)


def _spelled(name: str) -> str:
    """As it is compared: whatever the case, `_` for `-`, and without the `#` of counts, which shells take for a comment."""
    return name.casefold().replace("_", "-").lstrip("#")
