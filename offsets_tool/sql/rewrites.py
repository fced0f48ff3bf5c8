"""Rewrites of Spark's SQL for DuckDB: one function for each kind of node, which returns the node for DuckDB.

Changes of names alone are in `functions`. Each function gets a node whose inner nodes are rewritten already.
"""

import re
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Final

from sqlglot import exp

from offsets_tool.sql.calls import arguments, call, macro, refused
from offsets_tool.sql.functions import DUCKDB, MACROS, NAMED
from offsets_tool.sql.json_columns import from_json
from offsets_tool.sql.macros import PREFIX
from offsets_tool.sql.nested import (
    collected,
    element,
    exists,
    extreme,
    for_all,
    lateral_view,
    pivot,
    reduced,
    sorted_list,
    struct,
)

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
_TRIED: Final[Mapping[type[exp.Expr], type[exp.Expr]]] = {
    exp.SafeAdd: exp.Add,
    exp.SafeSubtract: exp.Sub,
    exp.SafeMultiply: exp.Mul,
}
_DATE_UNITS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("YEAR", "YYYY", "YY"), "YEAR"),
    **dict.fromkeys(("MONTH", "MM", "MON"), "MONTH"),
    "QUARTER": "QUARTER",
    "WEEK": "WEEK",
}
_OF_DAYS: Final = {"DAY", "WEEK", "MONTH", "QUARTER", "YEAR"}
_PARTS: Final = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "DOY")
_USUAL_FORMAT: Final = "%Y-%m-%d %H:%M:%S"
_FORMAT: Final = re.compile(r"(%[YmdHMS]|[^%A-Za-z'\[\]#{}])*")
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
    if rewrite := _REWRITES_BY_NAME.get(node.name.lower()):
        return rewrite(node)
    return call(NAMED[node.name.lower()], *node.expressions)


def _cast(node: exp.Expr) -> exp.Expr:
    to: exp.DataType = node.args["to"]
    if isinstance(node.this, exp.FromJson):
        return from_json(node.this.this, node.this.expression, to)
    if to.this in _CASTS:
        return macro(_CASTS[to.this], node.this)
    if to.this == exp.DType.DECIMAL:
        # The digits that are shown are rounded, as in Java, and not the number, which may be a little less.
        node.set("this", exp.Cast(this=node.this, to=exp.DataType(this=exp.DType.VARCHAR)))
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
    if isinstance(node.expression, exp.Any | exp.All):
        return _like_several(node)
    return exp.Escape(this=node, expression=exp.Literal.string("\\"))


def _like_several(node: exp.Expr) -> exp.Expr:
    patterns = node.expression.this
    if isinstance(node.parent, exp.Not) or not isinstance(patterns, exp.Tuple):
        raise refused(node)
    likes = (_like(type(node)(this=node.this.copy(), expression=pattern)) for pattern in patterns.expressions)
    joined = exp.or_ if isinstance(node.expression, exp.Any) else exp.and_
    return exp.paren(joined(*likes))


def _regexp_like(node: exp.Expr) -> exp.Expr:
    return call("regexp_matches", *arguments(node, ["this", "expression"]))


def _regexp_extract(node: exp.Expr) -> exp.Expr:
    group = node.args.get("group") or exp.Literal.number(1)
    # DuckDB finds an empty text in a group that is not there, where Spark has an error.
    if not isinstance(group, exp.Literal) or not _has_group(node.expression, int(group.name)):
        raise refused(node)
    return call("regexp_extract", node.this, node.expression, group)


def _has_group(pattern: exp.Expr, group: int) -> bool:
    form = pattern.name.replace("(?<", "(?P<")
    try:
        return group == 0 or (pattern.is_string and re.compile(form).groups >= group)
    except re.error:
        return False


def _regexp_replace(node: exp.Expr) -> exp.Expr:
    arguments(node, ["this", "expression", "replacement"])
    by = node.args["replacement"]
    if not isinstance(by, exp.Literal) or "$" in by.this or "\\" in by.this:
        raise refused(node)
    return call("regexp_replace", node.this, node.expression, by, exp.Literal.string("g"))


def _trim(node: exp.Expr) -> exp.Expr:
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or ""), "trim")
    return call(name, node.this, node.expression or exp.Literal.string(" "))


def _pad(node: exp.Expr) -> exp.Expr:
    by = node.args.get("fill_pattern") or exp.Literal.string(" ")
    if not isinstance(by, exp.Literal) or not by.this:
        raise refused(node)
    return macro("lpad" if node.args.get("is_left") else "rpad", node.this, node.expression, by)


def _spaces(node: exp.Expr) -> exp.Expr:
    return call("repeat", exp.Literal.string(" "), node.this)


def _replace(node: exp.Expr) -> exp.Expr:
    by = node.args.get("replacement") or exp.Literal.string("")
    return call("replace", node.this, node.expression, by)


def _sha2(node: exp.Expr) -> exp.Expr:
    if node.args["length"].name not in ("0", "256"):
        raise refused(node)
    return call("sha256", node.this)


def _negative(node: exp.Expr) -> exp.Expr:
    return exp.Neg(this=exp.paren(node.this))


def _tried(node: exp.Expr) -> exp.Expr:
    return call("try", _TRIED[type(node)](this=exp.paren(node.this), expression=exp.paren(node.expression)))


def _try_cast(node: exp.Expr) -> exp.Expr:
    to = node.args["to"].this
    if to in (exp.DType.TEXT, exp.DType.VARCHAR):
        return macro("string", node.this)
    if to not in (exp.DType.INT, exp.DType.BIGINT):
        raise refused(node)
    return macro("try_int" if to == exp.DType.INT else "try_bigint", node.this)


def _unix_timestamp(node: exp.Expr) -> exp.Expr:
    if node.this is None or _format_of(node) != _USUAL_FORMAT:
        raise refused(node)
    return macro("unix_timestamp", node.this)


def _from_unixtime(node: exp.Expr) -> exp.Expr:
    return call(
        "strftime",
        macro("timestamp_seconds", macro("bigint", node.this)),
        exp.Literal.string(_format_of(node)),
    )


def _format_of(node: exp.Expr) -> str:
    """Return the format of times of a function as Python has it; refuses what the engines write in different ways."""
    form = node.args.get("format")
    # sqlglot marks letters that stand for two digits always.
    text = form.this.replace("strict", "") if isinstance(form, exp.Literal) else ""
    if not text or not _FORMAT.fullmatch(text):
        raise refused(node)
    return text


def _date_add(node: exp.Expr) -> exp.Expr:
    if (node.args.get("unit") or exp.var("DAY")).name.upper() != "DAY":
        raise refused(node)
    return macro("date_add", node.this, node.expression)


def _timestampadd(node: exp.Expr) -> exp.Expr:
    unit = _unit(node).name
    number: exp.Expr = exp.paren(node.expression)
    if unit == "QUARTER":
        unit, number = "MONTH", exp.Mul(this=number, expression=exp.Literal.number(3))
    return exp.paren(
        exp.Add(this=macro("timestamp", node.this), expression=call(f"to_{unit.lower()}s", number))
    )


def _trunc(node: exp.Expr) -> exp.Expr:
    unit = _DATE_UNITS.get(node.args["unit"].name.upper())
    if unit is None:
        raise refused(node)
    return macro("trunc", node.this, exp.Literal.string(unit))


def _extract(node: exp.Expr) -> exp.Expr:
    return _part_of_time(node, node.this, node.expression)


def _part_of_time(node: exp.Expr, part: exp.Expr, of: exp.Expr) -> exp.Expr:
    if part.name.upper() not in _PARTS:
        raise refused(node)
    return call("date_part", exp.Literal.string(part.name), of)


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
    return call("strftime", macro("timestamp", node.this), exp.Literal.string(_format_of(node)))


def _count_if(node: exp.Expr) -> exp.Expr:
    return exp.Count(this=exp.Case(ifs=[exp.If(this=node.this, true=exp.Literal.number(1))]))


def _quantile(node: exp.Expr) -> exp.Expr:
    return call("quantile_cont", node.this, node.args["quantile"])


def _nearest_quantile(node: exp.Expr) -> exp.Expr:
    """Return percentile_approx as the value of that rank, which Spark's answer is near by its promise."""
    return call("quantile_disc", node.this, node.args["quantile"])


def _within_group(node: exp.Expr) -> exp.Expr:
    order = node.expression.expressions
    names = {exp.PercentileCont: "quantile_cont", exp.PercentileDisc: "quantile_disc"}
    if type(node.this) not in names or len(order) != 1 or order[0].args.get("desc"):
        raise refused(node)
    # Spark's percentiles of a group are floating-point numbers, those of whole numbers too.
    return macro("double", call(names[type(node.this)], order[0].this, node.this.this))


def _all_in_order(node: exp.Expr) -> exp.Expr:
    """Return ORDER BY ALL by the places of all columns, whose nulls are where Spark has them."""
    select = node.parent
    ordered = node.expressions[0] if len(node.expressions) == 1 else None
    if ordered is None or not isinstance(ordered.this, exp.Var):
        return node
    if not isinstance(select, exp.Select) or any(each.is_star for each in select.expressions):
        raise refused("ORDER BY ALL of columns that a star stands for (name the columns, or their numbers)")
    is_down = bool(ordered.args.get("desc"))
    nulls_first = bool(ordered.args.get("nulls_first", not is_down))
    places = range(1, len(select.expressions) + 1)
    return exp.Order(
        expressions=[
            exp.Ordered(this=exp.Literal.number(place), desc=is_down, nulls_first=nulls_first)
            for place in places
        ]
    )


def _listed(node: exp.Expr) -> exp.Expr:
    if not node.args.get("separator"):
        node.set("separator", exp.Literal.string(""))
    return node


def _list_as_text(node: exp.Expr) -> exp.Expr:
    if not node.expression.is_string:
        raise refused(node)
    return node


def _without_neighbours(node: exp.Expr) -> exp.Expr:
    # For DuckDB, ~ holds all that follows.
    return exp.paren(node)


def _moved(node: exp.Expr) -> exp.Expr:
    """Return a time with a span added or taken away as Spark's type: a day remains one unless the span has hours or less."""
    spans = [_units_of(side) for side in (node.this, node.expression)]
    if all(spans) or not any(spans):
        return _difference(node)
    units, moved = spans[0] or spans[1], node.this if spans[1] else node.expression
    if units <= _OF_DAYS:
        return call("cast_to_type", node, moved.copy())
    return macro("timestamp", node)


def _difference(node: exp.Expr) -> exp.Expr:
    """Return a difference that is declined between two days, as it is a span of time in Spark and a number in DuckDB."""
    sides = (node.this, node.expression)
    if isinstance(node, exp.Add) or any(
        isinstance(side.unnest(), exp.Literal | exp.Binary) for side in sides
    ):
        return node
    return macro("minus", *sides)


def _units_of(span: exp.Expr) -> set[str]:
    """Return the units of an interval, or of a sum of several; an empty set for what is no span of time."""
    if isinstance(span, exp.Interval):
        unit = span.args.get("unit")
        return {unit.name.upper().removesuffix("S") if unit else ""}
    if isinstance(span, exp.Paren):
        return _units_of(span.this)
    if isinstance(span, exp.Add | exp.Sub):
        parts = [_units_of(side) for side in (span.this, span.expression)]
        return parts[0] | parts[1] if all(parts) else set()
    return set()


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


_REWRITES_BY_NAME: Final[Mapping[str, Rewrite]] = {
    "date_part": lambda node: _part_of_time(node, *node.expressions),
    "forall": for_all,
    "positive": lambda node: exp.paren(node.expressions[0]),
}
"""Functions that sqlglot has no class for, and that need more than another name."""

REWRITES: Final[Mapping[type[exp.Expr], Rewrite]] = {
    exp.Anonymous: _renamed_call,
    exp.Add: _moved,
    exp.AnyValue: _any_value,
    exp.ArrayAgg: collected,
    exp.ArraySort: sorted_list,
    exp.ArrayToString: _list_as_text,
    exp.ArrayUniqueAgg: collected,
    exp.BitwiseNot: _without_neighbours,
    exp.Bracket: element,
    exp.Cast: _cast,
    exp.Concat: _joined,
    exp.ConcatWs: _joined_with,
    exp.CountIf: _count_if,
    exp.Distinct: _distinct,
    exp.DPipe: _joined,
    exp.ApproxQuantile: _nearest_quantile,
    exp.DateTrunc: _trunc,
    exp.Extract: _extract,
    exp.Lateral: lateral_view,
    exp.Negative: _negative,
    exp.Order: _all_in_order,
    exp.Pad: _pad,
    exp.Pivot: pivot,
    exp.Reduce: reduced,
    exp.Replace: _replace,
    exp.SafeAdd: _tried,
    exp.SafeMultiply: _tried,
    exp.SafeSubtract: _tried,
    exp.SHA2: _sha2,
    exp.Space: _spaces,
    exp.StrToUnix: _unix_timestamp,
    exp.TimestampAdd: _timestampadd,
    exp.TryCast: _try_cast,
    exp.TsOrDsAdd: _date_add,
    exp.UnixToStr: _from_unixtime,
    exp.WithinGroup: _within_group,
    exp.Exists: exists,
    exp.FromJson: _from_json,
    exp.Group: _group,
    exp.GroupConcat: _listed,
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
    exp.Sub: _moved,
    exp.TimeStrToTime: _inner,
    exp.TimeToStr: _strftime,
    exp.TimestampDiff: _timestampdiff,
    exp.TimestampTrunc: _date_trunc,
    exp.Trim: _trim,
    exp.Window: _window,
}
"""The nodes that need more than another name."""
