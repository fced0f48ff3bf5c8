"""Rewrites of Spark's SQL for DuckDB: one function for each kind of node, which returns the node for DuckDB.

Changes of names alone are in `functions`. Each function gets a node whose inner nodes are rewritten already.
"""

import re
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Final

from sqlglot import exp

from offsets_tool.sql.calls import arguments, call, macro
from offsets_tool.sql.functions import DUCKDB, MACROS, NAMED
from offsets_tool.sql.json_columns import from_json
from offsets_tool.sql.macros import PREFIX
from offsets_tool.sql.nested import collected, element, exists, extreme, sorted_list, struct
from offsets_tool.sql.refused import refused

Rewrite = Callable[[exp.Expr], exp.Expr]
_UNITS: Final = (
    "MICROSECOND",
    "MILLISECOND",
    "SECOND",
    "MINUTE",
    "HOUR",
    "DAY",
    "WEEK",
    "MONTH",
    "QUARTER",
    "YEAR",
)
_FORMAT: Final = re.compile(r"(%[YmdHMS]|[^%A-Za-z])*")
"""Formats of times that both engines write alike."""
_PATH: Final = re.compile(r"'\$(\.\w+|\[\d+\])+'")
"""Paths in JSON that both engines follow alike."""
_CASTS: Final[Mapping[exp.DType, str]] = {
    exp.DType.TEXT: "string",
    exp.DType.VARCHAR: "string",
    exp.DType.BIGINT: "bigint",
    exp.DType.INT: "int",
    exp.DType.SMALLINT: "smallint",
    exp.DType.TINYINT: "tinyint",
    exp.DType.DOUBLE: "double",
    exp.DType.BOOLEAN: "boolean",
    exp.DType.TIMESTAMPTZ: "timestamp",
    exp.DType.TIMESTAMP: "timestamp",
    exp.DType.TIMESTAMPLTZ: "timestamp",
    exp.DType.DATE: "date",
}


def rewritten(node: exp.Expr) -> exp.Expr:
    """Return a node as DuckDB has it; the same node where nothing is to change."""
    kind = type(node)
    if kind in MACROS:
        name, *parts = MACROS[kind]
        return call(f"{PREFIX}{name}", *arguments(node, parts))
    if kind in DUCKDB:
        name, *parts = DUCKDB[kind]
        return call(name, *arguments(node, parts))
    rewrite = REWRITES.get(kind)
    return rewrite(node) if rewrite else node


def _renamed_call(node: exp.Expr) -> exp.Expr:
    return call(NAMED[node.name.lower()], *node.expressions)


def _cast(node: exp.Expr) -> exp.Expr:
    to: exp.DataType = node.args["to"]
    if isinstance(node.this, exp.FromJson):
        return from_json(node.this.this, node.this.expression, to)
    if to.this in _CASTS:
        return macro(_CASTS[to.this], node.this)
    if to.this == exp.DType.DECIMAL:
        return node
    raise refused(node)


def _from_json(node: exp.Expr) -> exp.Expr:
    # What stands in a cast is read with the cast's names.
    return node if isinstance(node.parent, exp.Cast) else from_json(node.this, node.expression)


def _joined(node: exp.Expr) -> exp.Expr:
    parts = node.expressions if isinstance(node, exp.Concat) else [node.this, node.expression]
    return exp.paren(
        reduce(lambda a, b: exp.DPipe(this=a, expression=b), (macro("string", each) for each in parts))
    )


def _joined_with(node: exp.Expr) -> exp.Expr:
    return call("concat_ws", *(macro("string", each) for each in node.expressions))


def _like(node: exp.Expr) -> exp.Expr:
    if isinstance(node.parent, exp.Escape):
        return node
    return exp.Escape(this=node, expression=exp.Literal.string("\\"))


def _regexp_like(node: exp.Expr) -> exp.Expr:
    return call("regexp_matches", *arguments(node, ["this", "expression"]))


def _regexp_extract(node: exp.Expr) -> exp.Expr:
    group = node.args.get("group") or exp.Literal.number(1)
    return call("regexp_extract", node.this, node.expression, group)


def _regexp_replace(node: exp.Expr) -> exp.Expr:
    by = node.args["replacement"]
    if not isinstance(by, exp.Literal) or "$" in by.this or "\\" in by.this:
        raise refused(node)
    return call("regexp_replace", node.this, node.expression, by, exp.Literal.string("g"))


def _trim(node: exp.Expr) -> exp.Expr:
    if node.expression:
        raise refused(node)
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or ""), "trim")
    return call(name, node.this, exp.Literal.string(" "))


def _json_text(node: exp.Expr) -> exp.Expr:
    path = node.expression.sql("duckdb")
    if not _PATH.fullmatch(path):
        raise refused(node)
    return macro("json_text", node.this, exp.Literal.string(path.strip("'")))


def _unit(node: exp.Expr) -> exp.Expr:
    unit = node.args.get("unit")
    name = unit.name.upper() if unit else ""
    if name not in _UNITS:
        raise refused(node)
    return exp.Literal.string(name)


def _date_trunc(node: exp.Expr) -> exp.Expr:
    return macro("date_trunc", _unit(node), node.this)


def _timestampdiff(node: exp.Expr) -> exp.Expr:
    return macro("timestampdiff", _unit(node), node.expression, node.this)


def _strftime(node: exp.Expr) -> exp.Expr:
    form = node.args["format"]
    # sqlglot marks letters that stand for two digits always.
    text = form.this.replace("strict", "") if isinstance(form, exp.Literal) else ""
    if not text or not _FORMAT.fullmatch(text):
        raise refused(node)
    return call("strftime", macro("timestamp", node.this), exp.Literal.string(text))


def _count_if(node: exp.Expr) -> exp.Expr:
    return exp.Count(this=exp.Case(ifs=[exp.If(this=node.this, true=exp.Literal.number(1))]))


def _quantile(node: exp.Expr) -> exp.Expr:
    return call("quantile_cont", node.this, node.args["quantile"])


def _inner(node: exp.Expr) -> exp.Expr:
    inner: exp.Expr = node.this
    return inner


def _any_value(node: exp.Expr) -> exp.Expr:
    return exp.First(this=node.this)


def _window(node: exp.Expr) -> exp.Expr:
    """Return a ranking function cast to INT, which Spark's ranks are; other window functions unchanged."""
    if not isinstance(node.this, exp.Rank | exp.DenseRank | exp.RowNumber | exp.Ntile):
        return node
    return exp.Cast(this=node, to=exp.DataType(this=exp.DType.INT))


def _distinct(node: exp.Expr) -> exp.Expr:
    """Return several values to be counted as one row, null where one of them is: sqlglot would read DuckDB's text of them again."""
    values = [exp.Paren(this=each) for each in node.expressions]
    if len(values) > 1:
        whole = exp.case()
        for value in values:
            whole = whole.when(exp.Is(this=value.copy(), expression=exp.null()), exp.null())
        whole.set("default", exp.Tuple(expressions=values))
        node.set("expressions", [whole])
    return node


def _group(node: exp.Expr) -> exp.Expr:
    """Return GROUP BY ALL by the places of constants, where there is nothing else to group by: DuckDB would not group at all."""
    select = node.parent
    if not node.args.get("all") or not isinstance(select, exp.Select):
        return node
    others = [(place, each) for place, each in enumerate(select.expressions, 1) if not each.find(exp.AggFunc)]
    if not others or any(each.find(exp.Column, exp.Star) for _, each in others):
        return node
    return exp.Group(expressions=[exp.Literal.number(place) for place, _ in others])


REWRITES: Final[Mapping[type[exp.Expr], Rewrite]] = {
    exp.Anonymous: _renamed_call,
    exp.AnyValue: _any_value,
    exp.ArrayAgg: collected,
    exp.ArraySort: sorted_list,
    exp.ArrayUniqueAgg: collected,
    exp.Bracket: element,
    exp.Cast: _cast,
    exp.Concat: _joined,
    exp.ConcatWs: _joined_with,
    exp.CountIf: _count_if,
    exp.Distinct: _distinct,
    exp.DPipe: _joined,
    exp.Exists: exists,
    exp.FromJson: _from_json,
    exp.Group: _group,
    exp.ILike: _like,
    exp.JSONExtractScalar: _json_text,
    exp.Like: _like,
    exp.Max: extreme,
    exp.Min: extreme,
    exp.Quantile: _quantile,
    exp.RegexpExtract: _regexp_extract,
    exp.RegexpLike: _regexp_like,
    exp.RegexpReplace: _regexp_replace,
    exp.Struct: struct,
    exp.TimeStrToTime: _inner,
    exp.TimeToStr: _strftime,
    exp.TimestampDiff: _timestampdiff,
    exp.TimestampTrunc: _date_trunc,
    exp.Trim: _trim,
    exp.Window: _window,
}
"""The nodes that need more than another name."""
