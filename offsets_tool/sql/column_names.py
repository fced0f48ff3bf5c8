"""The names that Spark gives to the columns of an answer that have no alias, such as count(1) and sum(bytes).

It looks at the query alone. A column for which it has no rule is named by the words of the query.
"""

from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

_BINARY: Final[Mapping[type[exp.Expr], str]] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
    exp.EQ: "=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.And: "AND",
    exp.Or: "OR",
    exp.NullSafeEQ: "<=>",
}
_UNARY: Final[Mapping[type[exp.Expr], str]] = {exp.Neg: "(- {})", exp.Not: "(NOT {})", exp.Paren: "{}"}
_WORDS: Final[Mapping[type[exp.Expr], tuple[str, ...]]] = {
    exp.Like: ("{} LIKE {}", "this", "expression"),
    exp.NEQ: ("(NOT ({} = {}))", "this", "expression"),
    exp.DPipe: ("concat({}, {})", "this", "expression"),
    exp.If: ("(IF({}, {}, {}))", "this", "true", "false"),
    exp.Quantile: ("percentile({}, {}, 1)", "this", "quantile"),
    exp.TimestampDiff: ("timestampdiff({}, {}, {})", "unit", "expression", "this"),
    exp.TimestampTrunc: ("date_trunc({}, {})", "unit", "this"),
    exp.TsOrDsToDate: ("{}", "this"),
    exp.RegexpSplit: ("split({}, {}, -1)", "this", "expression"),
    exp.ApproxQuantile: ("percentile_approx({}, {}, 10000)", "this", "quantile"),
    exp.Pow: ("POWER({}, {})", "this", "expression"),
    exp.Between: ("between({}, {}, {})", "this", "low", "high"),
}
_FUNCTIONS: Final[Mapping[type[exp.Expr], str]] = {
    exp.ArgMax: "max_by",
    exp.ArgMin: "min_by",
    exp.ArrayAgg: "collect_list",
    exp.ArrayUniqueAgg: "collect_set",
    exp.LogicalOr: "bool_or",
    exp.LogicalAnd: "bool_and",
    exp.Ceil: "CEIL",
    exp.Floor: "FLOOR",
    exp.ArraySize: "size",
    exp.DayOfWeek: "dayofweek",
    exp.EndsWith: "endswith",
    exp.RegexpLike: "RLIKE",
    exp.StartsWith: "startswith",
    exp.StrPosition: "instr",
    exp.ToBase64: "base64",
    exp.ArrayToString: "array_join",
    exp.GroupConcat: "listagg",
}


def columns_of(tree: exp.Query) -> list[str | None]:
    """Return the names that Spark gives to the columns of a query's answer; None for a star, which stands for many columns."""
    query: exp.Expr = tree
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    return [_shown(each) for each in query.expressions] if isinstance(query, exp.Select) else [None]


def _shown(each: exp.Expr) -> str | None:
    if each.is_star:
        return None
    if isinstance(each, exp.Alias):
        return str(each.alias)
    return "col" if isinstance(each, exp.Explode) else _name(each)


def _name(each: exp.Expr) -> str:
    if isinstance(each, exp.Column | exp.Dot):
        return each.name if isinstance(each, exp.Column) else f"{_name(each.this)}.{each.expression.name}"
    for name_of in _NAMES:
        if (name := name_of(each)) is not None:
            return name
    return each.sql("spark")


def _of_word(each: exp.Expr) -> str | None:
    match each:
        case exp.Literal():
            return str(each.this)
        case exp.Boolean():
            return "true" if each.this else "false"
        case exp.Null():
            return "NULL"
        case exp.Star():
            return "1"
    return None


def _of_operator(each: exp.Expr) -> str | None:
    if sign := _BINARY.get(type(each)):
        return f"({_name(each.this)} {sign} {_name(each.expression)})"
    if pattern := _UNARY.get(type(each)):
        return _of_not_null(each) or pattern.format(_name(each.this))
    if isinstance(each, exp.Is) and isinstance(each.expression, exp.Null):
        return f"({_name(each.this)} IS NULL)"
    return None


def _of_words(each: exp.Expr) -> str | None:
    if isinstance(each, exp.In) and each.expressions:
        return f"({_name(each.this)} IN ({', '.join(map(_name, each.expressions))}))"
    if isinstance(each, exp.Neg) and isinstance(each.this, exp.Literal):
        return f"-{each.this.this}"
    if isinstance(each, exp.Round) and not each.args.get("decimals"):
        return f"round({_name(each.this)}, 0)"
    if isinstance(each, exp.Substring) and not each.args.get("length"):
        return f"substring({_name(each.this)}, {_name(each.args['start'])}, 2147483647)"
    form, *parts = _WORDS.get(type(each), ("",))
    values = [value for part in parts if isinstance(value := each.args.get(part), exp.Expr)]
    return form.format(*map(_name, values)) if form and len(values) == len(parts) else None


def _of_clause(each: exp.Expr) -> str | None:
    if isinstance(each, exp.Filter):
        return f"{_name(each.this)} FILTER (WHERE {_name(each.expression.this)})"
    if isinstance(each, exp.ArraySort) and each.args.get("asc") is not None:
        return f"sort_array({_name(each.this)}, {_name(each.args['asc'])})"
    return None


def _of_not_null(each: exp.Expr) -> str | None:
    is_ = each.this
    if isinstance(each, exp.Not) and isinstance(is_, exp.Is) and isinstance(is_.expression, exp.Null):
        return f"({_name(is_.this)} IS NOT NULL)"
    return None


def _of_function(each: exp.Expr) -> str | None:
    if isinstance(each, exp.Struct) and all(isinstance(part, exp.PropertyEQ) for part in each.expressions):
        return f"struct({', '.join(_name(part.expression) for part in each.expressions)})"
    if isinstance(each, exp.Cast) and isinstance(each.this, exp.Literal):
        is_text = each.this.is_string
        return f"{each.to.sql('spark').upper()} '{each.this.this}'" if is_text else str(each.this.this)
    if isinstance(each, exp.Cast):
        to = each.to.sql("spark").upper()
        return f"CAST({_name(each.this)} AS {to})"
    if not isinstance(each, exp.Func) or isinstance(each, exp.Case | exp.If):
        return None
    name = (
        _FUNCTIONS.get(type(each))
        or (each.name if isinstance(each, exp.Anonymous) else each.sql_name()).lower()
    )
    values = each.expressions if isinstance(each, exp.Anonymous) else _arguments(each)
    return f"{name}({', '.join(_argument(value) for value in values)})"


def _argument(value: exp.Expr) -> str:
    if isinstance(value, exp.Distinct):
        return f"DISTINCT {', '.join(map(_name, value.expressions))}"
    return _name(value)


def _arguments(each: exp.Expr) -> list[exp.Expr]:
    """Return the arguments of a function in the order in which its class declares them."""
    found: list[exp.Expr] = []
    for key in each.arg_types:
        value = each.args.get(key)
        found += value if isinstance(value, list) else [value] if isinstance(value, exp.Expr) else []
    return found


_NAMES: Final[tuple[Callable[[exp.Expr], str | None], ...]] = (
    _of_word,
    _of_words,
    _of_clause,
    _of_operator,
    _of_function,
)
