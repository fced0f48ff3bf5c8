"""Arithmetic with decimals as Spark does it: what type a number of a query has, and which digits a result keeps.

Spark's rules (org.apache.spark.sql.catalyst.analysis.DecimalPrecision, with allowPrecisionLoss) give each result a precision and a
scale, and round halves up; DuckDB divides decimals as floating-point numbers. Knows nothing of tables but their columns' types.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import Final, NamedTuple

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from offsets_tool.sql.calls import call, macro, refused

_MOST_DIGITS: Final = 38
_LEAST_SCALE: Final = 6
"""How many digits after the point Spark keeps where a result has more digits than a decimal holds."""


class NumberType(NamedTuple):
    """The type of a number in Spark: a decimal (integers are decimals without a scale), or a floating-point number."""

    precision: int
    scale: int
    is_decimal: bool = True
    """Whether it is a decimal by its type, and not only for whoever calculates with one."""


_DOUBLE: Final = NumberType(0, 0, is_decimal=False)
_INTEGERS: Final[Mapping[str, NumberType]] = {
    "TINYINT": NumberType(3, 0, is_decimal=False),
    "SMALLINT": NumberType(5, 0, is_decimal=False),
    "INTEGER": NumberType(10, 0, is_decimal=False),
    "BIGINT": NumberType(20, 0, is_decimal=False),
    "HUGEINT": NumberType(20, 0, is_decimal=False),
}
_INT: Final = _INTEGERS["INTEGER"]
_BIGINT: Final = _INTEGERS["BIGINT"]
_DECIMAL: Final = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_CASTS: Final[Mapping[exp.DType, NumberType]] = {
    exp.DType.TINYINT: _INTEGERS["TINYINT"],
    exp.DType.SMALLINT: _INTEGERS["SMALLINT"],
    exp.DType.INT: _INT,
    exp.DType.BIGINT: _BIGINT,
    exp.DType.FLOAT: _DOUBLE,
    exp.DType.DOUBLE: _DOUBLE,
}
_BIGINTS: Final = (exp.Count, exp.CountIf, exp.UnixMillis, exp.UnixMicros, exp.UnixSeconds, exp.TimestampDiff)
_INTS: Final = (
    *(exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile, exp.Length, exp.ArraySize, exp.DateDiff),
    *(exp.Year, exp.Month, exp.Day, exp.Hour, exp.Minute, exp.Second),
)
_DOUBLES: Final = (exp.Quantile, exp.Median, exp.Stddev, exp.StddevPop, exp.Variance, exp.VariancePop)
_INNER: Final = (
    *(
        exp.Paren,
        exp.Neg,
        exp.Abs,
        exp.Alias,
        exp.Min,
        exp.Max,
        exp.First,
        exp.FirstValue,
        exp.LastValue,
        exp.AnyValue,
    ),
    *(exp.Window, exp.Filter, exp.Lag, exp.Lead, exp.Nullif, exp.ArgMax, exp.ArgMin),
)
_BRANCHES: Final = (exp.Coalesce, exp.Greatest, exp.Least, exp.If, exp.Case, exp.Nvl2)
_OF_ANY: Final = ("bigint", "smallint", "tinyint", "isnull", "isnotnull")
"""Functions without a class that give the same of a decimal in both engines."""
_ARITHMETIC: Final = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv)
CONTEXTS: Final = (
    *_ARITHMETIC,
    *(exp.Paren, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Round, exp.Abs, exp.Ceil, exp.Floor, exp.Nullif),
    *(
        exp.Array,
        exp.ApproxQuantile,
        exp.PercentileCont,
        exp.PercentileDisc,
        exp.Pow,
        exp.Sqrt,
        exp.Ln,
        exp.Exp,
    ),
    *_BRANCHES,
)
"""The nodes in which decimals may stand, beside comparisons and what is shown as it is."""

TypesOf = Callable[[str], Mapping[str, str]]
"""DuckDB's types of the columns of a table or view, by their names in small letters."""


def has_decimals(tree: exp.Query) -> bool:
    """Return whether a query has a decimal in it, as a number or by a cast."""
    return any(map(is_decimal, tree.find_all(exp.Literal))) or any(
        type_.this == exp.DType.DECIMAL for type_ in tree.find_all(exp.DataType)
    )


def is_decimal(literal: exp.Expr) -> bool:
    """Return whether a literal is a decimal: it has a point and no exponent."""
    return not literal.args["is_string"] and "." in literal.this and "e" not in literal.this.lower()


class Decimals:
    """The numbers of one query: which type each has, and what DuckDB is asked for where the type is a decimal."""

    def __init__(self, tree: exp.Query, types_of: TypesOf) -> None:
        """Look at a query before any of its nodes is replaced; UsageError where a number's type is not known and must be."""
        self._types_of = types_of
        self._scopes: dict[int, Scope] = {}
        for scope in traverse_scope(tree):
            for column in scope.columns:
                self._scopes.setdefault(id(column), scope)
        self._known: dict[int, NumberType | None] = {}
        self._made: dict[int, Callable[[exp.Expr], exp.Expr]] = {}
        for node in tree.dfs():
            if made := self._plan(node):
                self._made[id(node)] = made

    def rewritten(self, node: exp.Expr) -> exp.Expr | None:
        """Return a node, whose inner nodes are rewritten already, as DuckDB has it; None for one that is no matter of decimals."""
        made = self._made.get(id(node))
        return made(node) if made else None

    def _plan(self, node: exp.Expr) -> Callable[[exp.Expr], exp.Expr] | None:
        if isinstance(node, _ARITHMETIC):
            return self._plan_arithmetic(node)
        if isinstance(node, exp.Anonymous) and node.name.lower() not in _OF_ANY:
            if any(number and number.is_decimal for number in map(self._of, node.expressions)):
                raise refused(node)
            return None
        if not isinstance(
            node, exp.Avg | exp.Round | exp.Ceil | exp.Floor | exp.Median | exp.Quantile | exp.SafeDivide
        ):
            return None
        inner = self._of(node.this)
        if inner is None or not inner.is_decimal:
            return None
        made = self._of(node)
        if isinstance(node, exp.Avg) and made and not isinstance(node.parent, exp.Window | exp.Filter):
            return lambda rewritten: _mean(rewritten, inner, made.scale)
        if isinstance(node, exp.Round | exp.Ceil | exp.Floor) and made:
            return lambda rewritten: _rounded(rewritten, made.scale)
        raise refused(node)

    def _plan_arithmetic(self, node: exp.Expr) -> Callable[[exp.Expr], exp.Expr] | None:
        left, right = self._of(node.this), self._of(node.expression)
        if left is None or right is None:
            # An interval or a date; of what else has no known type, nobody can tell the digits.
            if any(number is not None and number.is_decimal for number in (left, right)):
                raise refused(node)
            return None
        made = self._of(node)
        if made is None or not made.is_decimal:
            return None
        if isinstance(node, exp.IntDiv):
            raise refused(node)
        if isinstance(node, exp.Div):
            return lambda rewritten: _quotient(
                rewritten.this, rewritten.expression, left.scale, right.scale, made.scale
            )
        exact = left.scale + right.scale if isinstance(node, exp.Mul) else max(left.scale, right.scale)
        if exact > _MOST_DIGITS:
            raise refused(node)
        return (lambda rewritten: _as_decimal(rewritten, made.scale)) if exact > made.scale else None

    def _of(self, node: exp.Expr | None) -> NumberType | None:
        """Return the type of a number; None where it is not known, or no number."""
        if node is None:
            return None
        if id(node) not in self._known:
            self._known[id(node)] = self._look_at(node)
        return self._known[id(node)]

    def _look_at(self, node: exp.Expr) -> NumberType | None:
        if isinstance(node, exp.Literal):
            return None if node.args["is_string"] else _of_literal(node)
        if isinstance(node, exp.Subquery):
            selects = node.this.selects if isinstance(node.this, exp.Query) else []
            return self._of(selects[0]) if len(selects) == 1 else None
        for kinds, number_of in (
            ((exp.Column,), self._of_column),
            ((exp.Cast,), _of_cast),
            (_ARITHMETIC, self._of_arithmetic),
            (_BRANCHES, self._of_branches),
        ):
            if isinstance(node, kinds):
                return number_of(node)
        return self._of(node.this) if isinstance(node, _INNER) else self._of_function(node)

    def _of_function(self, node: exp.Expr) -> NumberType | None:
        if isinstance(node, exp.Sum | exp.Avg | exp.Round | exp.Ceil | exp.Floor):
            return _of_aggregate(node, self._of(_argument(node)))
        kinds = ((_BIGINTS, _BIGINT), (_INTS, _INT), (_DOUBLES, _DOUBLE))
        return next((number for kind, number in kinds if isinstance(node, kind)), None)

    def _of_branches(self, node: exp.Expr) -> NumberType | None:
        values = [value for value in _branches(node) if not isinstance(value, exp.Null)]
        numbers = [number for number in map(self._of, values) if number is not None]
        return reduce(_wider, numbers) if numbers and len(numbers) == len(values) else None

    def _of_arithmetic(self, node: exp.Expr) -> NumberType | None:
        left, right = self._of(node.this), self._of(node.expression)
        if left is None or right is None:
            return None
        if _DOUBLE in (left, right):
            return _DOUBLE
        if not left.is_decimal and not right.is_decimal:
            return _DOUBLE if isinstance(node, exp.Div) else max(left, right)
        if isinstance(node, exp.IntDiv):
            return _BIGINT._replace(is_decimal=True)
        return _RESULTS[type(node)](_by_digits(node.this, left), _by_digits(node.expression, right))

    def _of_column(self, column: exp.Expr) -> NumberType | None:
        scope = self._scopes.get(id(column))
        while scope is not None:
            for name, (_, source) in scope.selected_sources.items():
                if column.args.get("table") is None or column.args["table"].name.lower() == name.lower():
                    number = self._of_source(source, column.name.lower())
                    if number is not None:
                        return number
            scope = scope.parent
        return None

    def _of_source(self, source: exp.Table | Scope, name: str) -> NumberType | None:
        """Return the type of a column of a table or of a query by its name."""
        if isinstance(source, exp.Table):
            return _of_type(self._types_of(source.name.lower()).get(name, ""))
        query = source.expression
        if isinstance(query, exp.SetOperation):
            numbers = [self._of_source(inner, name) for inner in source.set_operation_scopes]
            typed = [number for number in numbers if number is not None]
            return reduce(_wider, typed) if typed and len(typed) == len(numbers) else None
        return self._of_select(source, query, name) if isinstance(query, exp.Select) else None

    def _of_select(self, source: Scope, query: exp.Select, name: str) -> NumberType | None:
        for select in query.selects:
            if select.alias_or_name.lower() == name:
                return self._of(select)
        if not any(select.is_star for select in query.selects):
            return None
        numbers = (self._of_source(inner, name) for _, inner in source.selected_sources.values())
        return next((number for number in numbers if number is not None), None)


def _of_literal(literal: exp.Expr) -> NumberType:
    if is_decimal(literal):
        whole, _, fraction = literal.this.partition(".")
        digits = len((whole + fraction).lstrip("0")) or 1
        return NumberType(max(digits, len(fraction)), len(fraction))
    if not literal.this.isdigit():
        return _DOUBLE
    return _INT if int(literal.this) < 1 << 31 else _BIGINT


def _by_digits(node: exp.Expr, number: NumberType) -> NumberType:
    """Return the decimal that an operand is: of an integer in the query's text, its own digits."""
    written = node.unnest()
    written = written.this if isinstance(written, exp.Neg) else written
    if isinstance(written, exp.Cast) and isinstance(written.this, exp.Literal) and not number.is_decimal:
        raise refused(node)  # 3L and CAST(3 AS BIGINT) have one tree, and different digits
    is_written = isinstance(written, exp.Literal) and not number.is_decimal
    return NumberType(len(written.this), 0) if is_written else NumberType(number.precision, number.scale)


def _of_cast(cast: exp.Expr) -> NumberType | None:
    to: exp.DataType = cast.args["to"]
    if to.this != exp.DType.DECIMAL:
        return _CASTS.get(to.this)
    precision, scale = decimal_parts(to)
    return NumberType(precision, scale)


def decimal_parts(to: exp.DataType) -> tuple[int, int]:
    """Return the precision and scale that DECIMAL has in Spark, where a cast may leave them out."""
    numbers = [int(parameter.name) for parameter in to.expressions]
    return (numbers[0] if numbers else 10, numbers[1] if len(numbers) > 1 else 0)


def _of_type(name: str) -> NumberType | None:
    if parts := _DECIMAL.fullmatch(name):
        return NumberType(int(parts[1]), int(parts[2]))
    return _DOUBLE if name in ("DOUBLE", "FLOAT") else _INTEGERS.get(name)


def _argument(node: exp.Expr) -> exp.Expr:
    inner: exp.Expr = node.this
    return inner.expressions[0] if isinstance(inner, exp.Distinct) else inner


def _of_aggregate(node: exp.Expr, inner: NumberType | None) -> NumberType | None:
    """Return the type of a sum, a mean or a rounded number, given what it is made of."""
    if inner is None:
        return None
    if inner.is_decimal:
        return _of_decimals(node, inner)
    if isinstance(node, exp.Round):
        return inner
    is_double = isinstance(node, exp.Avg) or (isinstance(node, exp.Sum) and inner == _DOUBLE)
    return _DOUBLE if is_double else _BIGINT


def _of_decimals(node: exp.Expr, inner: NumberType) -> NumberType:
    match node:
        case exp.Sum():
            return NumberType(min(inner.precision + 10, _MOST_DIGITS), inner.scale)
        case exp.Avg():
            return NumberType(min(inner.precision + 4, _MOST_DIGITS), min(inner.scale + 4, _MOST_DIGITS))
        case exp.Round():
            decimals = node.args.get("decimals") or exp.Literal.number(0)
            if not isinstance(decimals, exp.Literal) or not decimals.this.isdigit():
                raise refused(node)
            scale = min(inner.scale, int(decimals.this))
            return NumberType(min(inner.precision - inner.scale + 1 + scale, _MOST_DIGITS), scale)
    return NumberType(inner.precision - inner.scale + 1, 0)


def _branches(node: exp.Expr) -> Iterable[exp.Expr]:
    match node:
        case exp.If():
            return [node.args["true"], node.args.get("false") or exp.null()]
        case exp.Case():
            return [
                *(branch.args["true"] for branch in node.args["ifs"]),
                node.args.get("default") or exp.null(),
            ]
        case exp.Nvl2():
            return [node.args["true"], node.args.get("false") or exp.null()]
    return [node.this, *node.expressions]


def _wider(left: NumberType, right: NumberType) -> NumberType:
    if _DOUBLE in (left, right):
        return _DOUBLE
    if not (left.is_decimal or right.is_decimal):
        return max(left, right)
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return NumberType(min(whole + scale, _MOST_DIGITS), scale)


def _bounded(precision: int, scale: int) -> NumberType:
    """Return the type of a result with such digits: where they are too many, those after the point go first, but for six."""
    if precision <= _MOST_DIGITS:
        return NumberType(precision, scale)
    return NumberType(_MOST_DIGITS, max(_MOST_DIGITS - (precision - scale), min(scale, _LEAST_SCALE)))


def _of_sum(left: NumberType, right: NumberType) -> NumberType:
    scale = max(left.scale, right.scale)
    return _bounded(max(left.precision - left.scale, right.precision - right.scale) + scale + 1, scale)


def _of_product(left: NumberType, right: NumberType) -> NumberType:
    return _bounded(left.precision + right.precision + 1, left.scale + right.scale)


def _of_quotient(left: NumberType, right: NumberType) -> NumberType:
    scale = max(_LEAST_SCALE, left.scale + right.precision + 1)
    return _bounded(left.precision - left.scale + right.scale + scale, scale)


def _of_remainder(left: NumberType, right: NumberType) -> NumberType:
    scale = max(left.scale, right.scale)
    return _bounded(min(left.precision - left.scale, right.precision - right.scale) + scale, scale)


_RESULTS: Final[Mapping[type[exp.Expr], Callable[[NumberType, NumberType], NumberType]]] = {
    exp.Add: _of_sum,
    exp.Sub: _of_sum,
    exp.Mul: _of_product,
    exp.Div: _of_quotient,
    exp.Mod: _of_remainder,
}


def _as_decimal(node: exp.Expr, scale: int) -> exp.Expr:
    parts = [exp.DataTypeParam(this=exp.Literal.number(number)) for number in (_MOST_DIGITS, scale)]
    return exp.Cast(this=node.copy(), to=exp.DataType(this=exp.DType.DECIMAL, expressions=parts))


def _quotient(left: exp.Expr, right: exp.Expr, left_scale: int, right_scale: int, scale: int) -> exp.Expr:
    more = scale - left_scale + right_scale
    if more < 0:
        raise refused("such a division of decimals")
    factor = exp.Literal.number(10**more)
    unit = exp.Literal.string(f"0.{'0' * (scale - 1)}1" if scale else "1")
    operands = (_as_decimal(left, left_scale), _as_decimal(right, right_scale))
    smallest = exp.Cast(
        this=unit, to=exp.DataType.build(f"DECIMAL({max(scale, 1)}, {scale})", dialect="duckdb")
    )
    return _as_decimal(macro("decimal_divide", *operands, factor, smallest), scale)


def _mean(node: exp.Expr, inner: NumberType, scale: int) -> exp.Expr:
    if isinstance(node.this, exp.Distinct):
        raise refused(node)
    total, count = call("sum", node.this.copy()), call("count", node.this.copy())
    divisor = exp.func("nullif", count, exp.Literal.number(0))
    return _quotient(total, divisor, inner.scale, 0, scale)


def _rounded(node: exp.Expr, scale: int) -> exp.Expr:
    if isinstance(node, exp.Round):
        return _as_decimal(call("round", node.this.copy(), exp.Literal.number(scale)), scale)
    name = "ceil" if isinstance(node, exp.Ceil) else "floor"
    return _as_decimal(call(name, node.this.copy()), 0)
