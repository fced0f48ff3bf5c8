"""The declaration of a command's table: each column with its heading, its kind, its importance, and where its value comes from.

Knows no widths and no terminal: cli.layout draws. Importance 1 is the highest: that column stays where a terminal is narrow.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, Final, NamedTuple

from offsets_tool.cli.options import OptionsGiven
from offsets_tool.errors import UsageError
from offsets_tool.evidence.nearest import did_you_mean
from offsets_tool.wire.text import visible

CellValue = Callable[[Any], Any]
"""From a row to the value of its cell; None for a missing value."""


_SECONDS: Final = len("2026-11-21T02:14:07")


class CellKind(StrEnum):
    """The kind of a column's cells, which decides how they are aligned and shortened."""

    NUMBER = "number"
    TIME = "time"
    WORD = "word"
    """Words that this program chooses: states, methods, places in the log. Never shortened."""
    NAME = "name"
    """Names that people and clients choose, of any length: groups, topics, members, metadata, files. Shortened in the middle."""
    TEXT = "text"
    """Sentences, and fields such as `state=Stable members=2`. Shortened at the end, so that no two fields run together."""
    LIST = "list"
    """Several words or names that have to be seen all: they go on in further lines."""
    SENTENCE = "sentence"
    """Sentences that have to be read whole: they go on in further lines."""
    UNKNOWN = "unknown"
    """Decided by the values themselves: for columns of a user's SQL."""


class Column(NamedTuple):
    """A column of a table; `field` is its name in JSON lines, and `value` finds its value in a row."""

    title: str
    kind: CellKind
    importance: int
    field: str
    value: CellValue
    is_severe: bool = False
    """Whether its cells may begin with a severity, which has a colour."""
    is_to_second: bool = False
    """Whether a table for people shows its times, which are ISO 8601, to the second; CSV has all of them."""

    @classmethod
    def number(cls, title: str, importance: int, value: str | CellValue | None = None) -> "Column":
        """Declare a column of numbers. `value` is a field's name or a function of a row; by default the title in lower case."""
        return _column(title, CellKind.NUMBER, importance, value)

    @classmethod
    def time(cls, title: str, importance: int, value: str | CellValue | None = None) -> "Column":
        """Declare a column of times. `value` is a field's name or a function of a row; by default the title in lower case."""
        return _column(title, CellKind.TIME, importance, value)

    @classmethod
    def word(cls, title: str, importance: int, value: str | CellValue | None = None) -> "Column":
        """Declare a column of words that this program chooses. `value` is a field's name or a function of a row."""
        return _column(title, CellKind.WORD, importance, value)

    @classmethod
    def name(cls, title: str, importance: int, value: str | CellValue | None = None) -> "Column":
        """Declare a column of names that people and clients choose. `value` is a field's name or a function of a row."""
        return _column(title, CellKind.NAME, importance, value)

    @classmethod
    def text(cls, title: str, importance: int, value: str | CellValue | None = None) -> "Column":
        """Declare a column of sentences, or of fields with their names. `value` is a field's name or a function of a row."""
        return _column(title, CellKind.TEXT, importance, value)

    @classmethod
    def sentence(cls, title: str, importance: int, value: str | CellValue | None = None) -> "Column":
        """Declare a column of sentences that go on in further lines. `value` is a field's name or a function of a row."""
        return _column(title, CellKind.SENTENCE, importance, value)

    @classmethod
    def listing(cls, title: str, importance: int, value: str | CellValue | None = None) -> "Column":
        """Declare a column of several words, which go on in further lines. `value` is a field's name or a function of a row."""
        return _column(title, CellKind.LIST, importance, value)

    def severe(self) -> "Column":
        """Return this column with coloured severities: its cells may begin with one."""
        return self._replace(is_severe=True)

    def to_second(self) -> "Column":
        """Return this column of times as people read it in a table: without milliseconds."""
        return self._replace(is_to_second=True)

    def drawn(self, row: Any) -> Any:
        """Return the value of a row's cell in a table for people."""
        value = self.value(row)
        return value if value is None or not self.is_to_second else f"{value[:_SECONDS]}Z"

    @property
    def names(self) -> tuple[str, str]:
        """The names by which --show finds the column: its title and its field, spelled for comparison."""
        return _spelled(self.title), _spelled(self.field)


class PrintedTable(NamedTuple):
    """The columns of a table in their order; `is_whole` shows all of them, unshortened, on any terminal."""

    columns: tuple[Column, ...]
    is_whole: bool = False

    @classmethod
    def of(cls, *columns: Column) -> "PrintedTable":
        """Declare a table of these columns."""
        return cls(columns)

    @classmethod
    def of_names(cls, names: Iterable[str], *, is_whole: bool = False) -> "PrintedTable":
        """Make a table of fields that are known only by name, the first the most important."""
        columns = (_column(visible(name), CellKind.UNKNOWN, rank, name) for rank, name in enumerate(names, 1))
        return cls(tuple(columns), is_whole)

    @property
    def titles(self) -> tuple[str, ...]:
        """The columns' headings, in their order."""
        return tuple(column.title for column in self.columns)

    def cells(self, row: Any) -> list[Any]:
        """Return the values of a row, one for each column."""
        return [column.value(row) for column in self.columns]

    def drawn(self, row: Any) -> list[Any]:
        """Return the values of a row as a table for people has them, one for each column."""
        return [column.drawn(row) for column in self.columns]

    def with_first(self, title: str) -> "PrintedTable":
        """Return a table of these columns where the one with this title is more important than all others."""
        columns = (c._replace(importance=0) if c.title == title else c for c in self.columns)
        return self._replace(columns=tuple(columns))

    def chosen(self, format_: str, options: OptionsGiven) -> "PrintedTable":
        """Return the table as the options --show and --wide ask for it.

        UsageError for a column that it does not have, and for --show with JSON lines, which have fields and no columns.
        """
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
    """Return a column's name in the form in which names are compared: any case, `_` or `-`, and with or without `#`.

    Shells take the `#` of counts for a comment.
    """
    return name.casefold().replace("_", "-").lstrip("#")
