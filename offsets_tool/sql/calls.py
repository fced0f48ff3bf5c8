"""Calls of functions and macros in DuckDB, made of the parts of a function in Spark; and the error for what is not translated."""

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from offsets_tool.errors import UsageError
from offsets_tool.sql.macros import PREFIX

_SHOWN: Final = 60


def refused(part: exp.Expr | str) -> UsageError:
    """Return the error for a part of a query, in Spark's words, with the command that answers it all the same."""
    text = part if isinstance(part, str) else _words(part)
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return UsageError(f"{shown} is not answered without Spark: offsets-spark sql takes the same query")


def _words(part: exp.Expr) -> str:
    """Return the words of a part of a query; of a number, those of what it is a part of, as nobody finds a number in a query."""
    text: str = part.sql("spark")
    return text if part.parent is None or any(map(str.isalpha, text)) else _words(part.parent)


def arguments(node: exp.Expr, parts: Sequence[str]) -> list[exp.Expr]:
    """Return the parts of a function that are arguments; refuses one that has others too."""
    if any(name not in parts for name, value in node.args.items() if isinstance(value, exp.Expr)):
        raise refused(node)
    values = [node.args[name] for name in parts if node.args.get(name) is not None]
    return [each for value in values for each in (value if isinstance(value, list) else [value])]


def call(name: str, *arguments: exp.Expr) -> exp.Expr:
    """Return a call of a function by its name."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def macro(name: str, *arguments: exp.Expr) -> exp.Expr:
    """Return a call of a macro by its name in offsets_tool.sql.macros."""
    return call(f"{PREFIX}{name}", *arguments)
