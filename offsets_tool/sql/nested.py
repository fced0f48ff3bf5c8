"""Rewrites of Spark's lists and structures for DuckDB: making, comparing, sorting and searching them.

Each function gets a node whose inner nodes are rewritten already, and returns the node for DuckDB.
"""

from sqlglot import exp

from offsets_tool.sql.calls import call, macro, refused


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
    if node.args.get("offset") == 1:
        return macro("element_at", node.this, index)
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


def for_all(node: exp.Expr) -> exp.Expr:
    """Return a test whether all elements of a list fulfil a condition: none fulfils its opposite, as far as that is known."""
    values, condition = node.expressions
    if not isinstance(condition, exp.Lambda):
        raise refused(node)
    opposite = condition.copy()
    opposite.set("this", exp.not_(exp.paren(opposite.this)))
    return exp.Not(this=exp.paren(exists(exp.Exists(this=values, expression=opposite))))


def reduced(node: exp.Expr) -> exp.Expr:
    """Return the fold of a list from a first value on, without a last step."""
    if node.args.get("finish"):
        raise refused(node)
    return call("list_reduce", node.this, node.args["merge"], node.args["initial"])


def lateral_view(node: exp.Expr) -> exp.Expr:
    """Return LATERAL VIEW explode(l) t AS x as a join with the elements of the list, and posexplode with their places."""
    alias, made = node.args.get("alias"), node.this
    names = alias.args.get("columns") or [] if alias else []
    places = 1 if isinstance(made, exp.Posexplode) else 0
    if not isinstance(made, exp.Explode) or len(names) != places + 1 or node.args.get("ordinality"):
        raise refused(node)
    values = made.this
    columns: list[exp.Expr] = [exp.alias_(call("unnest", values.copy()), names[-1].name)]
    if places:
        place = exp.Sub(
            this=call("generate_subscripts", values.copy(), exp.Literal.number(1)),
            expression=exp.Literal.number(1),
        )
        columns.insert(0, exp.alias_(place, names[0].name))
    table = exp.TableAlias(this=alias.this.copy()) if alias and alias.this else None
    rows = exp.Lateral(this=exp.Subquery(this=exp.Select(expressions=columns)), alias=table)
    if not node.args.get("view"):
        return rows
    query = node.parent
    assert query is not None
    is_outer = bool(node.args.get("outer"))
    join = exp.Join(this=rows, side="LEFT", on=exp.true()) if is_outer else exp.Join(this=rows, kind="CROSS")
    query.append("joins", join)
    query.set("laterals", [each for each in query.args["laterals"] if each is not node])
    return node


def pivot(node: exp.Expr) -> exp.Expr:
    """Return a PIVOT with sums for counts, which are null where no row is; names of one aggregate are those of the values alone."""
    aggregates = node.expressions
    if node.args.get("unpivot"):
        return node
    if len(aggregates) > 1 and not all(isinstance(each, exp.Alias) for each in aggregates):
        raise refused("PIVOT with several aggregates without names")
    made = []
    for each in aggregates:
        aggregate = each.this if isinstance(each, exp.Alias) else each
        if isinstance(aggregate, exp.Count):
            aggregate = _counted(aggregate)
        made.append(exp.alias_(aggregate, each.alias) if len(aggregates) > 1 else aggregate)
    node.set("expressions", made)
    return node


def _counted(count: exp.Expr) -> exp.Expr:
    if isinstance(count.this, exp.Distinct):
        raise refused("count(DISTINCT ...) in PIVOT")
    if isinstance(count.this, exp.Star):
        return exp.Sum(this=exp.Literal.number(1))
    is_there = exp.Is(this=count.this.copy(), expression=exp.null()).not_()
    one, none = exp.Literal.number(1), exp.Literal.number(0)
    return exp.Sum(this=exp.Case(ifs=[exp.If(this=is_there, true=one)], default=none))
