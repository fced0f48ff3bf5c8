"""Questions to a lake made at random: in Spark's SQL, over any table or view, each with one answer."""

from collections.abc import Callable, Mapping, Sequence

from hypothesis import strategies as st

Columns = Mapping[str, str]
"""The columns of a table, each with its type as Spark writes it."""
Draw = Callable[[st.SearchStrategy[str]], str]
WHOLE = ("bigint", "int", "smallint", "tinyint")
ORDERED = (*WHOLE, "string", "boolean", "timestamp", "double")
"""Types that `ORDER BY` takes here: of lists and structures each engine has an order of its own."""


def one_of(*texts: str) -> st.SearchStrategy[str]:
    return st.sampled_from(texts)


class Asked:
    """Draws expressions over the columns of one table."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    def of(self, *types: str) -> list[str]:
        return [f"`{name}`" for name, type_ in self._columns.items() if type_ in types]

    def column(self, *types: str) -> st.SearchStrategy[str]:
        return st.sampled_from(self.of(*types) or [NOTHING[types[0]]])

    def whole(self, depth: int = 1) -> st.SearchStrategy[str]:
        plain = self.column(*WHOLE) | one_of("0", "1", "-7", "1000")
        if not depth:
            return plain
        inner, text, time = self.whole(depth - 1), self.text(depth - 1), self.column("timestamp")
        return st.one_of(
            plain,
            st.builds("({} % 1000 {} {} % 1000)".format, inner, one_of("+", "-", "*"), inner),
            st.builds("(({} % 1000) div 7)".format, inner),
            st.builds("length({})".format, text | self.column("binary", "string")),
            st.builds("coalesce({}, {})".format, inner, inner),
            st.builds("nullif({}, {})".format, inner, inner),
            st.builds("if({}, {}, {})".format, self.condition(depth - 1), inner, inner),
            st.builds("greatest({}, {})".format, inner, inner),
            st.builds(
                "{}({})".format,
                one_of("hour", "year", "month", "day", "minute", "dayofweek", "quarter"),
                time,
            ),
            st.builds("unix_millis({})".format, time),
            st.builds("size({})".format, self.column("array<string>")),
            st.builds("instr({}, '-')".format, text),
            st.builds("bigint({})".format, self.fraction(depth - 1)),
            st.builds("CASE WHEN {} THEN {} ELSE {} END".format, self.condition(depth - 1), inner, inner),
        )

    def text(self, depth: int = 1) -> st.SearchStrategy[str]:
        plain = self.column("string") | one_of("'a'", "''", "'%_'")
        if not depth:
            return plain
        inner = self.text(depth - 1)
        return st.one_of(
            plain,
            st.builds("{}({})".format, one_of("upper", "lower", "trim", "string"), inner),
            st.builds("concat({}, '-', {})".format, inner, self.whole(depth - 1) | inner),
            st.builds("({} || {})".format, inner, inner),
            st.builds("substring({}, {}, 3)".format, inner, one_of("0", "1", "2")),
            st.builds("substring_index({}, '-', {})".format, inner, one_of("1", "-1", "2", "0")),
            st.builds("regexp_extract({}, '([a-z]+)[-.]([a-z]+)', {})".format, inner, one_of("0", "1", "2")),
            st.builds("replace({}, '-', '_')".format, inner),
            st.builds("string({})".format, self.whole(depth - 1) | self.column("timestamp", "boolean")),
            st.builds("coalesce({}, {})".format, inner, inner),
            st.builds("array_join({}, ',')".format, self.column("array<string>")),
        )

    def condition(self, depth: int = 1) -> st.SearchStrategy[str]:
        comparing = one_of("=", "<>", "<", "<=", ">", ">=", "<=>")
        plain = st.one_of(
            self.column("boolean"),
            st.builds("{} {} {}".format, self.whole(0), comparing, self.whole(0)),
            st.builds("{} {} {}".format, self.text(0), comparing, self.text(0)),
            st.builds("{} IS {}NULL".format, self.column(*self._columns.values()), one_of("", "NOT ")),
            st.builds("{} LIKE {}".format, self.text(0), one_of("'%-%'", "'a_%'", "'%\\\\_%'")),
            st.builds("{} IN ({}, {})".format, self.whole(0), self.whole(0), one_of("1", "NULL")),
            st.builds("{} BETWEEN {} AND {}".format, self.whole(0), one_of("0", "-1"), one_of("5", "100")),
            st.builds(
                "{} > {}".format,
                self.column("timestamp"),
                one_of("'2026-11-21'", "timestamp'2026-11-21 12:30:00'"),
            ),
        )
        if not depth:
            return plain
        inner = self.condition(depth - 1)
        return st.one_of(
            plain,
            st.builds("({} {} {})".format, inner, one_of("AND", "OR"), inner),
            st.builds("NOT ({})".format, inner),
        )

    def fraction(self, depth: int = 1) -> st.SearchStrategy[str]:
        whole = self.whole(min(depth, 0))
        return st.one_of(
            st.builds("{} / nullif({}, 0)".format, whole, whole),
            st.builds("round({} / 7, {})".format, whole, one_of("0", "1", "3")),
            self.column("double"),
        )

    def time(self) -> st.SearchStrategy[str]:
        time = self.column("timestamp")
        return st.one_of(
            time,
            st.builds("date_trunc('{}', {})".format, one_of("HOUR", "DAY", "WEEK", "MONTH", "MINUTE"), time),
            st.builds(
                "({} {} INTERVAL {} {})".format,
                time,
                one_of("+", "-"),
                one_of("1", "40"),
                one_of("HOUR", "DAY", "MONTH"),
            ),
        )

    def any(self) -> st.SearchStrategy[str]:
        """Draw an expression of any type that can be sorted."""
        return st.one_of(
            self.column(*ORDERED), self.whole(2), self.text(2), self.condition(), self.fraction(), self.time()
        )

    def aggregate(self) -> st.SearchStrategy[str]:
        any_, whole = self.any(), self.whole()
        return st.one_of(
            st.just("count(*)"),
            st.builds("count({})".format, any_),
            st.builds("count(DISTINCT {})".format, any_),
            st.builds("count(DISTINCT {}, {})".format, any_, any_),
            st.builds("{}({} % 100000)".format, one_of("sum", "avg", "try_sum", "median"), whole),
            st.builds("{}({})".format, one_of("min", "max"), any_),
            st.builds("count_if({})".format, self.condition()),
            st.builds("{}({})".format, one_of("bool_or", "bool_and"), self.condition()),
            st.builds("array_sort(collect_set({}))".format, self.text() | whole),
            st.builds("percentile({} % 100000, 0.25)".format, whole),
            st.builds("max(struct({}, {}))".format, self.column(*ORDERED), self.column(*ORDERED)),
            st.builds("(sum({} % 1000) / count(*))".format, whole),
            st.builds("round(avg({} % 1000), 2)".format, whole),
        )

    def over(self) -> st.SearchStrategy[str]:
        partition, order = self.any(), self.any()
        ranking = st.builds(
            "{}() OVER (PARTITION BY {} ORDER BY {}{})".format,
            one_of("rank", "dense_rank"),
            partition,
            order,
            one_of("", " DESC"),
        )
        summing = st.builds(
            "{} OVER (PARTITION BY {})".format,
            st.builds("sum({} % 1000)".format, self.whole()) | st.just("count(*)"),
            partition,
        )
        return ranking | summing


NOTHING = {
    **dict.fromkeys(WHOLE, "3"),
    "string": "'text'",
    "binary": "X'00'",
    "boolean": "(1 = 1)",
    "timestamp": "timestamp'2026-11-21 10:11:12.345'",
    "double": "2.5D",
    "array<string>": "array('b', 'a')",
}
"""What stands where a table has no column of a type."""


@st.composite
def queries(draw: Draw, tables: Mapping[str, Columns]) -> str:
    """Draw a query over one of the tables, whose answer has one possible order of rows, or none."""
    name = draw(st.sampled_from(sorted(tables)))
    asked = Asked(tables[name])
    shape = draw(st.sampled_from(SHAPES))
    return shape(draw, asked, name)


def _where(draw: Draw, asked: Asked) -> str:
    return draw(st.just("") | st.builds(" WHERE {}".format, asked.condition()))


def _several(draw: Draw, of: st.SearchStrategy[str], most: int = 3) -> list[str]:
    return draw(st.lists(of, min_size=1, max_size=most))  # type: ignore[arg-type,return-value]


def _shown(expressions: Sequence[str]) -> str:
    return ", ".join(f"{each} AS c{number}" for number, each in enumerate(expressions, 1))


def _ordered(draw: Draw, columns: Sequence[str]) -> str:
    """Return an ORDER BY over all columns, so that only equal rows can change places."""
    terms = [f"{number}{draw(one_of('', ' DESC', ' NULLS LAST'))}" for number in range(1, len(columns) + 1)]
    return f" ORDER BY {', '.join(terms)}{draw(one_of('', ' LIMIT 5', ' LIMIT 3 OFFSET 2'))}"


def rows_of(draw: Draw, asked: Asked, name: str) -> str:
    shown = _several(draw, asked.any() | asked.over())
    return f"SELECT {_shown(shown)} FROM {name}{_where(draw, asked)}{_ordered(draw, shown)}"


def all_of(draw: Draw, asked: Asked, name: str) -> str:
    return f"SELECT * FROM {name}{_where(draw, asked)}"


def grouped(draw: Draw, asked: Asked, name: str) -> str:
    keys, shown = _several(draw, asked.any(), 2), _several(draw, asked.aggregate())
    having = draw(one_of("", " HAVING count(*) > 1"))
    by = draw(st.sampled_from([", ".join(keys), "ALL"]))
    return f"SELECT {_shown((*keys, *shown))} FROM {name}{_where(draw, asked)} GROUP BY {by}{having}"


def summed(draw: Draw, asked: Asked, name: str) -> str:
    return f"SELECT {_shown(_several(draw, asked.aggregate()))} FROM {name}{_where(draw, asked)}"


def distinct(draw: Draw, asked: Asked, name: str) -> str:
    shown = _several(draw, asked.any())
    return f"SELECT DISTINCT {_shown(shown)} FROM {name}{_where(draw, asked)}{_ordered(draw, shown)}"


def nested(draw: Draw, asked: Asked, name: str) -> str:
    key, value = draw(asked.any()), draw(asked.aggregate())
    inner = f"SELECT {key} AS k, {value} AS v FROM {name}{_where(draw, asked)} GROUP BY 1"
    return f"WITH found AS ({inner}) SELECT k, count(*) AS n, count(v) AS m FROM found GROUP BY k"


def both(draw: Draw, asked: Asked, name: str) -> str:
    value = draw(asked.text())
    parts = [
        f"SELECT {value} AS a, {draw(asked.whole())} AS b FROM {name}{_where(draw, asked)}" for _ in range(2)
    ]
    return draw(one_of(" UNION ALL ", " UNION ", " EXCEPT ", " INTERSECT ")).join(parts)


SHAPES = (rows_of, all_of, grouped, grouped, summed, distinct, nested, both)
