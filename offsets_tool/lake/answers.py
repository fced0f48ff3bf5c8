"""Queries and their answers for all engines: where a query ends, the names of its columns, its values, why there is none.

Answers are rows for `offsets_tool.cli.render`. Parses no SQL, and knows no terminal.
"""

from base64 import b64encode
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple

from offsets_tool.errors import OffsetsToolError, UsageError
from offsets_tool.evidence.nearest import did_you_mean

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


def no_sql(reason: str) -> UsageError:
    """Return the error for a text that is no SQL, with what an engine says of it."""
    return UsageError(f"this is no SQL that Spark understands: {reason}")


def no_column(name: str, columns: Collection[str]) -> UsageError:
    """Return the error for a column that is not there, given those that are."""
    near = did_you_mean(name, columns).strip()
    return UsageError(
        f"there is no column {name} here: {near or 'DESCRIBE a table or view to see its columns'}"
    )


def divides_by_zero() -> OffsetsToolError:
    """Return the error for a query that divides by zero."""
    return OffsetsToolError("the query divides by zero: try_divide(a, b) is null there")


def no_value(reason: str) -> OffsetsToolError:
    """Return the error for a value that cannot be computed, such as a cast or a sum, with what an engine says of it."""
    return OffsetsToolError(f"the query has a value that cannot be computed: {reason}")


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
