"""Ask questions in SQL of a lake that is open in a session; answers are rows for `offsets_tool.cli.render`.

Errors of Spark become one sentence, which names a table or view that the lake does not have yet. Knows no terminal.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from offsets_tool.errors import OffsetsToolError, UsageError
from spark.lake.failures import in_words, is_of_files
from spark.lake.tables import ALL_TABLES
from spark.views.views import CONTENTS, Shown

END: Final = ";"
_MAKERS: Final = {table.name: table.made_by for table in ALL_TABLES}
_NOT_FOUND: Final = "TABLE_OR_VIEW_NOT_FOUND"


class QueryResult(NamedTuple):
    """The answer to a query: its rows, as they come, and its columns, where equal names are told apart by a number."""

    columns: tuple[str, ...]
    rows: Iterator[dict[str, Any]]


def ask(session: SparkSession, shown: Sequence[Shown], query: str) -> QueryResult:
    """Return the answer to a query over the tables and views that `open_lake` has made.

    UsageError for a table that the lake lacks and for SQL that Spark does not understand; OffsetsToolError, possibly while rows
    come, for what Spark cannot do. Errors in the lake's files come as Spark raises them.
    """
    with _in_one_sentence(shown):
        rows = session.sql(query.strip().removesuffix(END))
        columns = _different(rows.columns)
        return QueryResult(columns, _rows(rows.toLocalIterator(), columns, shown))


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


def _rows(found: Iterator[Row], columns: tuple[str, ...], shown: Sequence[Shown]) -> Iterator[dict[str, Any]]:
    with _in_one_sentence(shown):
        for row in found:
            yield dict(zip(columns, map(_plain, row), strict=True))


def _plain(value: Any) -> Any:
    """Return a value as JSON lines have it: times in UTC with milliseconds, bytes in base64."""
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        case bytes() | bytearray():
            return b64encode(value).decode()
        case Row():
            return _plain(value.asDict())
        case dict():
            return {str(_plain(key)): _plain(inner) for key, inner in value.items()}
        case list():
            return [_plain(inner) for inner in value]
    return str(value) if isinstance(value, (date, Decimal)) else value


def _different(names: Sequence[str]) -> tuple[str, ...]:
    given: list[str] = []
    for name in names:
        number = 1
        while (made := name if number == 1 else f"{name}_{number}") in given:
            number += 1
        given.append(made)
    return tuple(given)


@contextmanager
def _in_one_sentence(shown: Sequence[Shown]) -> Iterator[None]:
    try:
        yield
    except PySparkException as error:
        raise _sentence(error, shown) from error
    except Py4JJavaError as error:  # in a task, while rows come
        if is_of_files(error):
            raise
        raise OffsetsToolError(f"Spark cannot answer: {in_words(error)}") from error


def _sentence(error: PySparkException, shown: Sequence[Shown]) -> OffsetsToolError:
    said = str(error).strip().partition("\n")[0]
    if error.getCondition() != _NOT_FOUND:
        return OffsetsToolError(f"Spark cannot answer: {said}")
    name = (error.getMessageParameters() or {})["relationName"].replace("`", "")
    lacking = next((one for one in shown if one.name == name and one.lacks), None)
    if lacking is None or lacking.lacks is None:
        return UsageError(f"there is no {name} here: SELECT name, comment FROM {CONTENTS} names all")
    return UsageError(
        f"{name} needs the table {lacking.lacks}, which this lake does not have yet: "
        f"offsets-spark {_MAKERS[lacking.lacks]} makes it"
    )
