"""Translates a query from Spark's SQL to DuckDB's SQL with the same result, or refuses what is not known to mean the same.

Views are translated from their one definition by the same rules. Knows no session and no lake.
"""

from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

from offsets_tool.sql.calls import refused
from offsets_tool.sql.decimals import CONTEXTS, Decimals, TypesOf, has_decimals, is_decimal
from offsets_tool.sql.functions import BY_NAME, DUCKDB, MACROS, NAMED, SAME
from offsets_tool.sql.rewrites import REWRITES, rewritten
from offsets_tool.sql.spark_sql import parsed

_QUERIES: Final = (
    *(
        exp.Select,
        exp.From,
        exp.Join,
        exp.Where,
        exp.Group,
        exp.Having,
        exp.Order,
        exp.Ordered,
        exp.Limit,
        exp.Offset,
    ),
    *(
        exp.With,
        exp.CTE,
        exp.Subquery,
        exp.Table,
        exp.TableAlias,
        exp.Union,
        exp.Intersect,
        exp.Except,
        exp.Distinct,
    ),
    *(exp.Rollup, exp.Cube, exp.GroupingSets, exp.Window, exp.WindowSpec, exp.IgnoreNulls, exp.Filter),
)
_VALUES: Final = (
    *(
        exp.Alias,
        exp.Column,
        exp.Identifier,
        exp.Star,
        exp.Dot,
        exp.Literal,
        exp.HexString,
        exp.Boolean,
        exp.Null,
    ),
    *(
        exp.Paren,
        exp.Tuple,
        exp.Var,
        exp.DataType,
        exp.DataTypeParam,
        exp.ColumnDef,
        exp.Interval,
        exp.Lambda,
        exp.PropertyEQ,
    ),
    *(
        exp.And,
        exp.Or,
        exp.Not,
        exp.EQ,
        exp.NEQ,
        exp.GT,
        exp.GTE,
        exp.LT,
        exp.LTE,
        exp.NullSafeEQ,
        exp.NullSafeNEQ,
    ),
    *(exp.Is, exp.In, exp.Between, exp.Escape, exp.Neg, exp.Mul, exp.IntDiv, exp.Mod),
    *(exp.Transform, exp.ArrayFilter, exp.JSONPath, exp.JSONPathRoot, exp.JSONPathKey, exp.JSONPathSubscript),
    *(exp.Any, exp.All, exp.PercentileCont, exp.PercentileDisc, exp.PivotAlias, exp.Posexplode),
)
_KNOWN: Final = frozenset({*_QUERIES, *_VALUES, *SAME, *MACROS, *DUCKDB, *REWRITES})
_COMPARISONS: Final = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Between, exp.Quantile)
_DATES: Final = (exp.TsOrDsToDate, exp.TsOrDsAdd, exp.LastDay, exp.AddMonths, exp.DateTrunc, exp.CurrentDate)
_OF_BITS: Final = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.DPipe)
_SHOWN: Final = (exp.Select, exp.Alias, exp.Neg, exp.Cast)


def duckdb_view(sql: str) -> str:
    """Return the SQL of a view as DuckDB's."""
    tree = parsed(sql)
    assert isinstance(tree, exp.Query)
    return duckdb_sql(tree)


def row_sources(sql: str) -> list[str]:
    """Return the tables and views of which the SQL of a view makes its rows, in their order: not those that it only asks about."""
    tables = (
        table for table in parsed(sql).find_all(exp.Table, bfs=False) if not table.find_ancestor(exp.Exists)
    )
    return list(dict.fromkeys(table.name for table in tables))


def duckdb_sql(tree: exp.Query, types_of: TypesOf = lambda name: {}) -> str:
    """Return a parsed query as DuckDB's SQL; UsageError for what is not translated.

    `types_of` gives DuckDB's types of the columns of a table or view that the query names.
    """
    for select in list(tree.find_all(exp.Select)):
        _order_by_aliases(select)
    nodes = list(tree.dfs())
    for node in nodes:
        _check(node)
    decimals = Decimals(tree, types_of) if has_decimals(tree) else None
    # Inner nodes first: what replaces a node holds what replaced its parts.
    for node in reversed(nodes):
        # What replaces a node may hold it, and is its parent then.
        place, key, index = node.parent, node.arg_key, node.index
        made = (decimals and decimals.rewritten(node)) or rewritten(node)
        if made is not node and place is not None and key is not None:
            place.set(key, made, index)
    return tree.sql("duckdb", identify=True)


def _order_by_aliases(select: exp.Select) -> None:
    """Put what an alias stands for into the expressions of ORDER BY, where DuckDB would take a column of that name first."""
    named = {each.alias.lower(): each.this for each in select.selects if isinstance(each, exp.Alias)}
    order = select.args.get("order")
    for ordered in order.expressions if order else ():
        columns = [] if isinstance(ordered.this, exp.Column) else list(ordered.this.find_all(exp.Column))
        for column in columns:
            meant = None if column.table else named.get(column.name.lower())
            if meant is not None and column.find_ancestor(exp.AggFunc, exp.Query) is select:
                column.replace(exp.paren(meant.copy()))


def _check(node: exp.Expr) -> None:
    kind = type(node)
    if kind not in _KNOWN:
        raise refused(node)
    if check := _CHECKS.get(kind):
        check(node)


def _function(node: exp.Expr) -> None:
    if node.name.lower() not in NAMED and node.name.lower() not in BY_NAME:
        raise refused(f"the function {node.name}")


def _table(node: exp.Expr) -> None:
    if not isinstance(node.this, exp.Identifier) or node.args.get("db"):
        raise refused(node)


def _number(node: exp.Expr) -> None:
    """Refuse a decimal as an argument of a function of which it is not known what it makes of one."""
    place = node.parent.parent if isinstance(node.parent, exp.Neg) else node.parent
    if is_decimal(node) and not isinstance(place, (*_COMPARISONS, *_SHOWN, *CONTEXTS)):
        raise refused(f"{node.this} (a decimal; {node.this}D is a number of the same value)")


def _interval(node: exp.Expr) -> None:
    if not isinstance(node.parent, exp.Add | exp.Sub):
        raise refused(node)


def _select(node: exp.Expr) -> None:
    joins = node.args.get("joins") or ()
    if any(join.args.get("using") for join in joins) and any(
        isinstance(each, exp.Star) for each in node.expressions
    ):
        raise refused("SELECT * of a join with USING (name the columns)")
    _several_rows(node)


def _several_rows(node: exp.Expr) -> None:
    """Refuse what makes several rows of one twice: DuckDB has as many rows as the longer list, and Spark one for each pair."""
    explodes = [each for each in node.expressions if isinstance(each.unalias(), exp.Explode)]
    if len(explodes) > 1 or (
        isinstance(distinct := node.args.get("distinct"), exp.Distinct) and distinct.args.get("on")
    ):
        raise refused(node)


def _grouping_sets(node: exp.Expr) -> None:
    """Refuse GROUPING SETS behind columns: whether a comma stands between is lost, and changes what it means."""
    if node.args.get("grouping_sets") and node.expressions:
        raise refused("GROUP BY of columns and GROUPING SETS (leave out the columns)")


def _precedence(node: exp.Expr) -> None:
    """Refuse operators that Spark binds more closely than others, where sqlglot goes from left to right."""
    sides = (node.this, node.expression)
    if any(isinstance(side, _OF_BITS) and type(side) is not type(node) for side in sides):
        raise refused(f"{node.sql('spark')} (put one of the operators in parentheses)")
    if isinstance(node, exp.DPipe) and isinstance(node.expression, exp.Add | exp.Sub):
        raise refused(f"{node.sql('spark')} (put the sum in parentheses)")


def _indexed(node: exp.Expr) -> None:
    """Refuse a function of an element and its index, which begins at 0 in Spark and at 1 in DuckDB."""
    if len(node.expressions) > 1 and isinstance(node.parent, exp.Transform | exp.ArrayFilter):
        raise refused(node)


def _join(node: exp.Expr) -> None:
    if node.args.get("method"):
        raise refused(f"a join of the kind {node.args['method']}")


def _explode(node: exp.Expr) -> None:
    is_column = type(node) is exp.Explode and isinstance(node.parent, exp.Select | exp.Alias)
    if not is_column and not isinstance(node.parent, exp.Lateral):
        raise refused(node)


def _unnamed(node: exp.Expr) -> None:
    """Refuse a structure with two fields of one name, or with a field that is no column and has no name in the query."""
    names = [each.alias_or_name.lower() for each in node.expressions]
    if len(set(names)) < len(names):
        raise refused(node)
    if not all(
        isinstance(each, exp.Column | exp.Star | exp.PropertyEQ | exp.Alias | exp.Dot)
        for each in node.expressions
    ):
        raise refused(node)


def _plain_count(node: exp.Expr) -> None:
    if node.expressions:
        raise refused(node)


def _in_window(node: exp.Expr) -> None:
    if not isinstance(node.parent, exp.Window):
        raise refused(node)


def _difference(node: exp.Expr) -> None:
    """Refuse the difference of two dates, which is an interval in Spark and a number in DuckDB."""
    if all(isinstance(each, _DATES) or _is_date_cast(each) for each in (node.this, node.expression)):
        raise refused(node)


def _is_date_cast(node: exp.Expr) -> bool:
    return isinstance(node, exp.Cast) and node.to.this == exp.DType.DATE


def _grouping(node: exp.Expr) -> None:
    if not node.expressions:
        raise refused("grouping_id() without columns (name those of GROUP BY)")


def _values(node: exp.Expr) -> None:
    alias = node.args.get("alias")
    if alias is None or not alias.args.get("columns"):
        raise refused("VALUES without names for its columns (write AS name(first, second))")


def _several(node: exp.Expr) -> None:
    if not isinstance(node.parent, exp.Like | exp.ILike):
        raise refused(node)


_CHECKS: Final[Mapping[type[exp.Expr], Callable[[exp.Expr], None]]] = {
    exp.Count: _plain_count,
    exp.IgnoreNulls: _in_window,
    exp.Group: _grouping_sets,
    exp.Lambda: _indexed,
    **dict.fromkeys(_OF_BITS, _precedence),
    exp.All: _several,
    exp.Any: _several,
    exp.Posexplode: _explode,
    exp.Sub: _difference,
    exp.Anonymous: _function,
    exp.Grouping: _grouping,
    exp.GroupingId: _grouping,
    exp.Values: _values,
    exp.Explode: _explode,
    exp.Interval: _interval,
    exp.Join: _join,
    exp.Literal: _number,
    exp.Select: _select,
    exp.Struct: _unnamed,
    exp.Table: _table,
}
