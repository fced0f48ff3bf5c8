"""Spark's SQL, parsed: one query, or one name to describe. What does not parse is one sentence with its line and column.

Parses as Spark 4 does, where CAST fails for what it cannot read. Executes nothing, and decides nothing about meaning but where
the tree would not show what the query says.
"""

import logging
import re
from collections.abc import Callable
from typing import ClassVar, Final

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError

from offsets_tool.errors import UsageError
from offsets_tool.lake.answers import no_sql
from offsets_tool.sql.calls import refused

_Arguments = list[exp.Expr]
_BUILDERS: Final = {**Spark.Parser.FUNCTIONS, "PERCENTILE": exp.Quantile.from_arg_list}


def _only(is_known: Callable[[_Arguments], bool], name: str) -> Callable[..., exp.Expr]:
    """Return what makes the node of a function; it refuses arguments that the node would not show as they are."""

    def made(arguments: _Arguments, **dialect: Spark) -> exp.Expr:
        if not is_known(arguments):
            raise refused(exp.Anonymous(this=name.lower(), expressions=arguments))
        node: exp.Expr = _BUILDERS[name](arguments, **dialect)
        return node

    return made


def _has_whole_unit(arguments: _Arguments) -> bool:
    return arguments[0].name.upper() not in exp.TimeUnit.UNABBREVIATED_UNIT_NAME


def _has_no_year_of_weeks(arguments: _Arguments) -> bool:
    return "Y" not in arguments[-1].name


class _Strict(Spark):
    """Spark's SQL with ANSI casts, and with quotes that are doubled in a text."""

    class Tokenizer(Spark.Tokenizer):
        STRING_ESCAPES: ClassVar = ["\\", "'", '"']

    class Parser(Spark.Parser):  # type: ignore[misc,valid-type]
        STRICT_CAST = True
        FUNCTIONS: ClassVar = {
            **_BUILDERS,
            "DATE_TRUNC": _only(_has_whole_unit, "DATE_TRUNC"),
            "DATE_FORMAT": _only(_has_no_year_of_weeks, "DATE_FORMAT"),
            "FROM_UNIXTIME": _only(_has_no_year_of_weeks, "FROM_UNIXTIME"),
            "PERCENTILE": _only(lambda arguments: len(arguments) == 2, "PERCENTILE"),
        }
        FUNCTION_PARSERS: ClassVar = {
            name: parser for name, parser in Spark.Parser.FUNCTION_PARSERS.items() if name != "PERCENTILE"
        }


class _NoWarnings(logging.Filter):
    """Drops what sqlglot logs of statements that it does not know: they are refused in a sentence of ours."""

    def filter(self, record: logging.LogRecord) -> bool:
        return False


_LACKING: Final = re.compile(r"Required keyword: '\w+' missing for <class '[\w.]*?(\w+)'>")
"""sqlglot's words for a function or clause that lacks a part, with its own class for it."""
logging.getLogger("sqlglot").addFilter(_NoWarnings())


def parsed(query: str) -> exp.Query | exp.Describe:
    """Return the tree of a query; UsageError for what does not parse, for several statements, and for what is no question."""
    try:
        found = [each for each in sqlglot.parse(query, read=_Strict) if each is not None]
    except (ParseError, TokenError) as error:
        raise no_sql(_where(error)) from error
    except RecursionError:
        raise UsageError("the query is nested too deeply: ask it in smaller steps, by WITH") from None
    if len(found) != 1:
        raise UsageError(
            "this is not one query: end each with a line that ends with a semicolon, or give several arguments"
        )
    (tree,) = found
    if not isinstance(tree, exp.Query | exp.Describe):
        raise UsageError(
            "only questions are answered, and nothing is written: begin with SELECT, WITH or DESCRIBE"
        )
    return tree


def _where(error: ParseError | TokenError) -> str:
    parsed = error.errors[0] if isinstance(error, ParseError) and error.errors else None
    if parsed is None:
        return str(error).partition("\n")[0]
    near = f" near {parsed['highlight']}" if parsed.get("highlight") else ""
    description = _LACKING.sub(r"\1 lacks a part", parsed["description"])
    return f"line {parsed['line']}, column {parsed['col']}{near}: {description}"
