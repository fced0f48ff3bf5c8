"""Calls of functions and macros in DuckDB, made of the parts of a function in Spark."""

from collections.abc import Sequence

from sqlglot import exp

from offsets_tool.sql.macros import PREFIX
from offsets_tool.sql.refused import refused


def arguments(node: exp.Expr, parts: Sequence[str]) -> list[exp.Expr]:
    """Return the parts of a function that are arguments; refuses one that has others too."""
    if any(name not in parts for name, value in node.args.items() if isinstance(value, exp.Expr)):
        raise refused(node)
    return [node.args[name] for name in parts if node.args.get(name) is not None]


def call(name: str, *arguments: exp.Expr) -> exp.Expr:
    """Return a call of a function by its name."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def macro(name: str, *arguments: exp.Expr) -> exp.Expr:
    """Return a call of a macro by its name in offsets_tool.sql.macros."""
    return call(f"{PREFIX}{name}", *arguments)
