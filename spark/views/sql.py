"""Ask questions in SQL of a lake that is open in a session; answers are rows for `offsets_tool.cli.render`.

Errors of Spark become one sentence, which names a table or view that the lake does not have yet. Knows no terminal.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from offsets_tool.errors import OffsetsToolError
from offsets_tool.lake.answers import END, QueryResult, distinct_names, plain
from offsets_tool.lake.contents import Shown, not_there
from offsets_tool.wire.json import JsonObject
from spark.lake.failures import in_words, is_of_files

_NOT_FOUND: Final = "TABLE_OR_VIEW_NOT_FOUND"


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
        raise _sentence(error, shown) from error
    except Py4JJavaError as error:  # in a task, while rows come
        if is_of_files(error):
            raise
        raise OffsetsToolError(f"Spark cannot answer: {in_words(error)}") from error


def _sentence(error: PySparkException, shown: Sequence[Shown]) -> OffsetsToolError:
    said = str(error).strip().partition("\n")[0]
    if error.getCondition() != _NOT_FOUND:
        return OffsetsToolError(f"Spark cannot answer: {said}")
    return not_there((error.getMessageParameters() or {})["relationName"].replace("`", ""), shown)
