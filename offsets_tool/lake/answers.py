"""Queries and their answers for all engines: where the text of a query ends, the names of its columns, its values.

Answers are rows for `offsets_tool.cli.render`. Parses no SQL, and knows no terminal.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple

END: Final = ";"


class QueryResult(NamedTuple):
    """The answer to a query: its rows, as they come, and its columns' names, where a number distinguishes equal ones."""

    columns: tuple[str, ...]
    rows: Iterator[dict[str, Any]]


def statements(lines: Iterable[str]) -> Iterator[str]:
    """Yield the queries in lines of input; each ends with a line that ends with a semicolon, or with the input."""
    typed: list[str] = []
    for line in lines:
        typed.append(line)
        if line.rstrip().endswith(END):
            yield from _statement(typed)
            typed = []
    yield from _statement(typed)


def _statement(lines: Sequence[str]) -> Iterator[str]:
    text = "\n".join(lines).strip().removesuffix(END)
    if text.strip():
        yield text


def plain(value: Any) -> Any:
    """Return a value as JSON lines have it: times in UTC with milliseconds, bytes in base64, no zero with a sign."""
    match value:
        case float():
            # Spark groups by 0.0 what is -0.0; DuckDB shows whichever of them comes first.
            return value + 0.0
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        case bytes() | bytearray():
            return b64encode(value).decode()
        case dict():
            return {str(plain(key)): plain(inner) for key, inner in value.items()}
        case list():
            return [plain(inner) for inner in value]
    # Decimals without an exponent, as both engines show them.
    return f"{value:f}" if isinstance(value, Decimal) else str(value) if isinstance(value, date) else value


def distinct_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return columns' names, where a number is added to a name that is there already."""
    given: list[str] = []
    for name in names:
        number = 1
        while (made := name if number == 1 else f"{name}_{number}") in given:
            number += 1
        given.append(made)
    return tuple(given)
