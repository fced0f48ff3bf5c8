"""Ask questions in SQL of a lake that is open in a session; answers are rows for `offsets_tool.cli.render`.

Errors of Spark become the sentences of `offsets-tool sql` for the same fault. Knows no terminal.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from offsets_tool.errors import OffsetsToolError, UsageError
from offsets_tool.lake.answers import (
    END,
    QueryResult,
    distinct_names,
    divides_by_zero,
    no_column,
    no_sql,
    no_value,
    plain,
)
from offsets_tool.lake.contents import Shown, not_there
from offsets_tool.wire.json import JsonObject
from spark.lake.failures import in_words, is_of_files

_NO_TABLE: Final = "42P01"
_NO_COLUMN: Final = ("42703", "42704")
_NO_SQL: Final = ("42601", "42617")
_BY_ZERO: Final = "22012"
_OF_VALUES: Final = "22"
_OF_QUERIES: Final = "42"
"""Of the SQLSTATE that Spark gives to each error: the class, in its first two characters, or all of it."""
_SQLSTATE: Final = re.compile(r"\bSQLSTATE: (\w{5})")
_QUOTED: Final = re.compile(r"`([^`]+)`(?=,|$)")


def ask(session: SparkSession, shown: Sequence[Shown], query: str) -> QueryResult:
    """Return the answer to a query over the tables and views that `open_lake` has made.

    UsageError for a table that the lake lacks and for SQL that Spark does not understand; OffsetsToolError, possibly while rows
    come, for what Spark cannot do. Errors in the lake's files come as Spark raises them.
    """
    with _in_one_sentence(shown):
        rows = session.sql(query.strip().removesuffix(END))
        columns = distinct_names(rows.columns)
        return QueryResult(columns, _rows(rows.toLocalIterator(), columns, shown))


def _rows(found: Iterator[Row], columns: tuple[str, ...], shown: Sequence[Shown]) -> Iterator[JsonObject]:
    with _in_one_sentence(shown):
        for row in found:
            yield dict(zip(columns, map(plain, map(_without_rows, row)), strict=True))


def _without_rows(value: Any) -> Any:
    """Return a value of Spark with all its Rows, however deep, as dictionaries."""
    match value:
        case Row():
            return {name: _without_rows(inner) for name, inner in value.asDict().items()}
        case dict():
            return {str(plain(_without_rows(key))): _without_rows(inner) for key, inner in value.items()}
        case list():
            return [_without_rows(inner) for inner in value]
    return value


@contextmanager
def _in_one_sentence(shown: Sequence[Shown]) -> Iterator[None]:
    try:
        yield
    except PySparkException as error:
        said = str(error).strip().partition("\n")[0]
        raise _sentence(said, error.getSqlState(), error.getMessageParameters() or {}, shown) from error
    except Py4JJavaError as error:  # in a task, while rows come
        if is_of_files(error):
            raise
        said = in_words(error)
        found = _SQLSTATE.search(said)
        raise _sentence(said, found and found[1], {}, shown) from error


def _sentence(
    said: str, state: str | None, parts: Mapping[str, str], shown: Sequence[Shown]
) -> OffsetsToolError:
    """Return an error of Spark as `offsets-tool sql` has it, given its first line, its SQLSTATE, and what it was made of."""
    if state == _NO_TABLE and "relationName" in parts:
        return not_there(parts["relationName"].replace("`", ""), shown)
    if state in _NO_COLUMN and (
        names := _QUOTED.findall(parts.get("objectName") or parts.get("fieldName", ""))
    ):
        return no_column(names[-1], _QUOTED.findall(parts.get("proposal") or parts.get("fields", "")))
    return _of_class(said, state or "")


def _of_class(said: str, state: str) -> OffsetsToolError:
    """Return an error of Spark, given its first line and its SQLSTATE, whose first two characters say who is at fault."""
    if state in _NO_SQL:
        return no_sql(said)
    if state == _BY_ZERO:
        return divides_by_zero()
    if state.startswith(_OF_VALUES):
        return no_value(said)
    return (UsageError if state.startswith(_OF_QUERIES) else OffsetsToolError)(f"Spark cannot answer: {said}")
