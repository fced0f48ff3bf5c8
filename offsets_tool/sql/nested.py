"""Rewrites of Spark's lists and structures for DuckDB: making, comparing, sorting and searching them.

Each function gets a node whose inner nodes are rewritten already, and returns the node for DuckDB.
"""

from sqlglot import exp

from offsets_tool.sql.calls import call, macro
from offsets_tool.sql.refused import refused


def collected(node: exp.Expr) -> exp.Expr:
    """Return an aggregate that collects a list as Spark's do: without nulls; of no values it is an empty list, not null."""
    if isinstance(node.parent, exp.Window) or isinstance(node.this, exp.Distinct | exp.Order):
        raise refused(node)
    inside: exp.Expr = node.this
    if isinstance(node, exp.ArrayUniqueAgg):
        inside = exp.Distinct(expressions=[inside])
    is_there = exp.Is(this=node.this.copy(), expression=exp.Null()).not_()
    some = exp.Filter(this=call("list", inside), expression=exp.Where(this=is_there))
    return exp.Coalesce(this=some, expressions=[exp.Array()])


def extreme(node: exp.Expr) -> exp.Expr:
    """Return the aggregate of the least or greatest structure by Spark's order, in which nulls come first; DuckDB's are last."""
    struct = next(iter(_structs(node.this)), None)
    if struct is None:
        return node
    key = node.this.copy()
    (inner,) = _structs(key)
    ordered = _in_order(inner)
    key = ordered if inner is key else inner.replace(ordered) and key
    return call("arg_max" if isinstance(node, exp.Max) else "arg_min", node.this, key)


def _structs(value: exp.Expr) -> list[exp.Expr]:
    """Return, in a list, the node that makes a structure, also if it may be null; an empty list for other values."""
    if isinstance(value, exp.Struct):
        return [value]
    if isinstance(value, exp.Nvl2) and isinstance(value.args.get("false"), exp.Null):
        return _structs(value.args["true"])
    return []


def _in_order(struct: exp.Expr) -> exp.Expr:
    fields: list[exp.Expr] = []
    for number, each in enumerate(struct.expressions):
        value = each.expression if isinstance(each, exp.PropertyEQ) else each
        is_there = exp.Is(this=value.copy(), expression=exp.Null()).not_()
        for name, part in ((f"has_{number}", is_there), (f"is_{number}", value.copy())):
            fields.append(exp.PropertyEQ(this=exp.to_identifier(name), expression=part))
    return exp.Struct(expressions=fields)


def struct(node: exp.Expr) -> exp.Expr:
    """Return a structure of all columns of a table as DuckDB has it: by the table's alias, which no column has as its name."""
    if len(node.expressions) != 1 or not node.expressions[0].is_star:
        return node
    (star,) = node.expressions
    query = node.find_ancestor(exp.Select)
    assert query is not None
    alias = _row_alias(query, star.args["table"].name if isinstance(star, exp.Column) else None, node)
    return exp.Column(this=exp.to_identifier(alias, quoted=True))


def _row_alias(query: exp.Select, named: str | None, node: exp.Expr) -> str:
    """Give a table of the query an alias that no column has, let the query's columns use it, and return it."""
    joins = query.args.get("joins") or ()
    tables = [query.args["from_"].this, *(join.this for join in joins)]
    found = [each for each in tables if named in (None, each.alias_or_name)]
    # A semi-join adds no columns to a star.
    if len(found) != 1 and not (named is None and all(join.kind in ("SEMI", "ANTI") for join in joins)):
        raise refused(node)
    table, former = found[0], found[0].alias_or_name
    if former.startswith("row_of_"):
        return str(former)
    alias = f"row_of_{former or 'query'}"
    table.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    for column in query.find_all(exp.Column):
        if former and column.table == former and column.find_ancestor(exp.Select) is query:
            column.set("table", exp.to_identifier(alias, quoted=True))
    return alias


def element(node: exp.Expr) -> exp.Expr:
    (index,) = node.expressions
    if (isinstance(index, exp.Literal) and index.is_string) or node.args.get("safe"):
        raise refused(node)
    if node.args.get("offset") != 1:
        index = exp.Add(this=index, expression=exp.Literal.number(1))
    return macro("element", node.this, index)


def sorted_list(node: exp.Expr) -> exp.Expr:
    if node.args.get("expression"):
        raise refused(node)
    is_down = isinstance(asc := node.args.get("asc"), exp.Boolean) and not asc.this
    nulls = "NULLS FIRST" if node.args["nulls_first"].this else "NULLS LAST"
    return call("list_sort", node.this, *map(exp.Literal.string, ("DESC" if is_down else "ASC", nulls)))


def exists(node: exp.Expr) -> exp.Expr:
    """Return a test whether some element of a list fulfils a condition; null if none does and the condition is null for one."""
    condition = node.args.get("expression")
    if not isinstance(condition, exp.Lambda):
        return node
    holds, unknown = condition.copy(), condition.copy()
    unknown.set("this", exp.Is(this=exp.paren(unknown.this), expression=exp.Null()))
    return exp.Case(
        ifs=[
            exp.If(this=exp.Is(this=node.this.copy(), expression=exp.Null()), true=exp.Null()),
            exp.If(this=_has_some(node.this.copy(), holds), true=exp.true()),
            exp.If(this=_has_some(node.this.copy(), unknown), true=exp.Null()),
        ],
        default=exp.false(),
    )


def _has_some(values: exp.Expr, condition: exp.Expr) -> exp.Expr:
    kept = call("list_filter", values, condition)
    return exp.GT(this=call("len", kept), expression=exp.Literal.number(0))
