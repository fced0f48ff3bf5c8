"""The error for what is not translated: it names the words of the query, and the command that answers it all the same."""

from sqlglot import exp

from offsets_tool.errors import UsageError

_SHOWN = 60


def refused(part: exp.Expr | str) -> UsageError:
    """Return the error for a part of a query, in Spark's words."""
    text = part if isinstance(part, str) else part.sql("spark")
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return UsageError(f"{shown} is not answered without Spark: offsets-spark sql takes the same query")
