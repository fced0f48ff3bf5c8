"""One question, asked of one lake by Spark and by DuckDB: the columns and rows are the same."""

import json
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from pyspark.sql import SparkSession

from offsets_tool.errors import OffsetsToolError
from offsets_tool.lake.answers import QueryResult
from offsets_tool.sql.duck_lake import DuckLake
from spark.views.sql import ask
from tests.depth import sample
from tests.spark.views.queries import queries

REFUSED = "offsets-spark sql takes the same query"
UNORDERED = ("lineages",)
"""Views with lists that are in no order, which only other views read."""


def comparable_lines(answer: QueryResult, *, is_ordered: bool) -> list[str]:
    """Return an answer as comparable lines, with fractions rounded to digits that do not depend on the order of a sum."""
    lines = [json.dumps(_rounded(row)) for row in answer.rows]
    return [json.dumps(answer.columns), *(lines if is_ordered else sorted(lines))]


def _rounded(value: Any) -> Any:
    match value:
        case float():
            return float(f"{value:.10g}")
        case dict():
            return {key: _rounded(inner) for key, inner in value.items()}
        case list():
            return [_rounded(inner) for inner in value]
    return value


def answered(ask_: Any, *arguments: Any, is_ordered: bool) -> list[str] | OffsetsToolError:
    try:
        return comparable_lines(ask_(*arguments), is_ordered=is_ordered)
    except OffsetsToolError as error:
        return error


def agree(session: SparkSession, lake: DuckLake, query: str) -> bool:
    """Assert that both answer a query alike, and return True; False where DuckDB refuses it, or neither has an answer."""
    is_ordered = " ORDER BY " in query.rpartition(")")[2]
    ours = answered(lake.ask, query, is_ordered=is_ordered)
    if isinstance(ours, OffsetsToolError) and REFUSED in str(ours):
        return False
    theirs = answered(ask, session, lake.shown, query, is_ordered=is_ordered)
    if isinstance(ours, OffsetsToolError) or isinstance(theirs, OffsetsToolError):
        assert isinstance(ours, OffsetsToolError) and isinstance(theirs, OffsetsToolError), (
            query,
            ours,
            theirs,
        )
        return False
    if ours != theirs:
        others = [pair for pair in zip_longest(theirs, ours) if pair[0] != pair[1]]
        pytest.fail(f"{query}\nSpark:  {others[0][0]}\nDuckDB: {others[0][1]}")
    return True


def check_views(session: SparkSession, lake: Path) -> None:
    """Compare the tables and views of a lake that is open in a session: what each is, and a sample of their rows."""
    opened = DuckLake(str(lake))
    shown = [one.name for one in opened.shown if one.lacks is None]
    for one in shown:
        assert agree(session, opened, f"DESCRIBE {one}")
    for one in sample([one for one in shown if one not in UNORDERED], 7):
        assert agree(session, opened, f"SELECT * FROM {one}")


def check_queries(session: SparkSession, lake: Path, tables: Sequence[str]) -> None:
    """Compare the answers to queries over tables of a lake that is open in a session; nearly all of them have one."""
    opened = DuckLake(str(lake))
    columns = {table: dict(session.table(table).dtypes) for table in tables}
    answered: list[bool] = []

    @settings(max_examples=500, suppress_health_check=list(HealthCheck))
    @given(queries(columns))
    def check(query: str) -> None:
        answered.append(agree(session, opened, query))

    check()
    assert sum(answered) > 0.7 * len(answered)
