"""Translates DuckDB's errors for a query into one sentence with a remedy; errors of the lake's files are not handled here."""

import re
from collections.abc import Sequence
from typing import Final

import duckdb

from offsets_tool.errors import OffsetsToolError, UsageError
from offsets_tool.lake.answers import divides_by_zero, no_column, no_value
from offsets_tool.sql.calls import refused
from offsets_tool.sql.macros import INDEX, NOT_TRANSLATED, ZERO

OF_QUERIES: Final = (
    duckdb.ParserException,
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.NotImplementedException,
)
"""What DuckDB raises before it reads a row: the query is wrong, or means nothing to it."""
_NO_COLUMN: Final = re.compile(r'Referenced column "([^"]+)" (?:was )?not found')
_NO_COLUMN_OF: Final = re.compile(r'does not have a column named "([^"]+)"')
_NO_FIELD: Final = re.compile(r'Could not find key "([^"]+)" in struct')
_CANDIDATES: Final = re.compile(r'"([^"]+)"')
_NUMBERS: Final = re.compile(r"overflow|out of range|cannot be cast|can't be cast|doesn't fit", re.I)


def as_tool_error(error: duckdb.Error, columns: Sequence[str] = ()) -> OffsetsToolError:
    """Return an error of DuckDB as one sentence; `columns` are those that the query's tables have."""
    said = str(error).strip()
    first = said.partition("\n")[0].partition(": ")[2] or said
    if found := _NO_COLUMN.search(said) or _NO_COLUMN_OF.search(said) or _NO_FIELD.search(said):
        return _no_column(found[1], said, columns)
    if NOT_TRANSLATED in said:
        return refused(said.partition(NOT_TRANSLATED)[2].partition("\n")[0])
    if isinstance(error, OF_QUERIES):
        return UsageError(f"DuckDB cannot answer this ({first}); offsets-spark sql takes the same query")
    if ZERO in said.lower():
        return divides_by_zero()
    if INDEX in said or _NUMBERS.search(said):
        return no_value(first)
    return OffsetsToolError(f"DuckDB cannot answer: {first}")


def _no_column(name: str, said: str, columns: Sequence[str]) -> UsageError:
    candidates = _CANDIDATES.findall(said.partition("andidate")[2].partition("\n\n")[0])
    return no_column(name, list(columns) or candidates)
