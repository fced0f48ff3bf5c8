"""The functions of Spark's SQL that DuckDB answers with the same rows: what is in neither table is refused.

A row of SAME says that sqlglot's own translation means the same; one of MACROS names the macro and the arguments that it takes.
Aggregates, and what takes more than a name, are in rewrites.
"""

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

SAME: Final[frozenset[type[exp.Expr]]] = frozenset(
    {
        *(exp.Abs, exp.Greatest, exp.Least, exp.Coalesce, exp.Nullif, exp.If, exp.Case, exp.Nvl2),
        *(exp.Upper, exp.Lower, exp.Left, exp.Right, exp.Replace, exp.Contains, exp.StartsWith, exp.EndsWith),
        *(exp.Repeat, exp.Reverse, exp.CurrentTimestamp, exp.CurrentDate),
        *(exp.Array, exp.ArrayContains, exp.ArrayToString, exp.Explode),
        *(exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.LogicalOr, exp.LogicalAnd, exp.Median),
        *(exp.Rank, exp.DenseRank, exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead),
        *(exp.First, exp.FirstValue, exp.LastValue),
    }
)
"""Functions whose translation by sqlglot means the same."""

MACROS: Final[Mapping[type[exp.Expr], tuple[str, ...]]] = {
    exp.Div: ("divide", "this", "expression"),
    exp.SafeDivide: ("try_divide", "this", "expression"),
    exp.Round: ("round", "this", "decimals"),
    exp.Ceil: ("ceil", "this"),
    exp.Floor: ("floor", "this"),
    exp.Length: ("length", "this"),
    exp.Substring: ("substring", "this", "start", "length"),
    exp.SubstringIndex: ("substring_index", "this", "delimiter", "count"),
    exp.Hex: ("hex", "this"),
    exp.ToBase64: ("base64", "this"),
    exp.UnixMillis: ("unix_millis", "this"),
    exp.UnixMicros: ("unix_micros", "this"),
    exp.UnixSeconds: ("unix_seconds", "this"),
    exp.DateDiff: ("datediff", "this", "expression"),
    exp.TsOrDsToDate: ("date", "this"),
    exp.DayOfWeek: ("dayofweek", "this"),
    exp.ArrayDistinct: ("array_distinct", "this"),
    exp.ArrayPosition: ("array_position", "this", "expression"),
}
"""The macro for a function, and which of the function's parts are its arguments."""

DUCKDB: Final[Mapping[type[exp.Expr], tuple[str, ...]]] = {
    exp.Year: ("year", "this"),
    exp.Month: ("month", "this"),
    exp.Day: ("day", "this"),
    exp.Hour: ("hour", "this"),
    exp.Minute: ("minute", "this"),
    exp.Second: ("second", "this"),
    exp.Quarter: ("quarter", "this"),
    exp.WeekOfYear: ("weekofyear", "this"),
    exp.ArraySize: ("len", "this"),
    exp.Flatten: ("flatten", "this"),
    exp.StrPosition: ("strpos", "this", "substr"),
    exp.RegexpSplit: ("regexp_split_to_array", "this", "expression"),
    exp.ArgMin: ("arg_min_null", "this", "expression"),
    exp.ArgMax: ("arg_max_null", "this", "expression"),
}
"""DuckDB's own function for a function, and which of the function's parts are its arguments."""

NAMED: Final[Mapping[str, str]] = {
    "bigint": "spark_bigint",
    "smallint": "spark_smallint",
    "tinyint": "spark_tinyint",
    "timestamp_millis": "spark_timestamp_millis",
    "timestamp_micros": "spark_timestamp_micros",
    "timestamp_seconds": "spark_timestamp_seconds",
    "array_union": "spark_array_union",
    "isnull": "spark_isnull",
    "isnotnull": "spark_isnotnull",
    "try_sum": "spark_try_sum",
    "mean": "avg",
    "every": "bool_and",
    "some": "bool_or",
    "now": "now",
}
"""Functions that sqlglot has no class for."""
