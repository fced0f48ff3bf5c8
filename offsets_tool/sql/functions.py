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
        *(exp.Contains, exp.StartsWith, exp.EndsWith),
        *(exp.Repeat, exp.Reverse, exp.CurrentTimestamp, exp.CurrentDate),
        *(exp.Array, exp.Explode),
        *(exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.LogicalOr, exp.LogicalAnd, exp.Median),
        *(exp.Rank, exp.DenseRank, exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead),
        *(exp.First, exp.FirstValue, exp.LastValue, exp.PercentRank, exp.CumeDist),
        *(
            exp.Stddev,
            exp.StddevSamp,
            exp.StddevPop,
            exp.Variance,
            exp.VariancePop,
        ),
        *(exp.Grouping, exp.GroupingId, exp.Qualify, exp.Values, exp.DecodeCase),
        *(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.MD5, exp.SHA),
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
    exp.Upper: ("upper", "this"),
    exp.Lower: ("lower", "this"),
    exp.Left: ("left", "this", "expression"),
    exp.Right: ("right", "this", "expression"),
    exp.RegexpSplit: ("split", "this", "expression"),
    exp.ArrayContains: ("array_contains", "this", "expression"),
    exp.Flatten: ("flatten", "this"),
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
    exp.ArrayIntersect: ("array_intersect", "expressions"),
    exp.ArrayExcept: ("array_except", "this", "expression"),
    exp.ArrayAppend: ("array_append", "this", "expression"),
    exp.ArrayRemove: ("array_remove", "this", "expression"),
    exp.ArrayCompact: ("array_compact", "this"),
    exp.ArraySlice: ("slice", "this", "start", "end"),
    exp.GenerateSeries: ("sequence", "start", "end"),
    exp.SplitPart: ("split_part", "this", "delimiter", "part_index"),
    exp.BitLength: ("bit_length", "this"),
    exp.Initcap: ("initcap", "this", "expression"),
    exp.RegexpCount: ("regexp_count", "this", "expression"),
    exp.RegexpSubstr: ("regexp_substr", "this", "expression"),
    exp.Unhex: ("unhex", "this"),
    exp.Pow: ("pow", "this", "expression"),
    exp.Sqrt: ("sqrt", "this"),
    exp.Exp: ("exp", "this"),
    exp.Ln: ("ln", "this"),
    exp.Log: ("log", "this", "expression"),
    exp.Sign: ("sign", "this"),
    exp.BitwiseCount: ("bit_count", "this"),
    exp.AddMonths: ("add_months", "this", "expression"),
    exp.LastDay: ("last_day", "this"),
    exp.Dayname: ("dayname", "this"),
    exp.Monthname: ("monthname", "this"),
    exp.IsNan: ("isnan", "this"),
    exp.Nanvl: ("nanvl", "this", "expression"),
    exp.JSONKeys: ("json_object_keys", "this"),
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
    exp.ArrayMax: ("list_max", "this"),
    exp.ArrayMin: ("list_min", "this"),
    exp.DayOfMonth: ("day", "this"),
    exp.DayOfYear: ("dayofyear", "this"),
    exp.Translate: ("translate", "this", "from_", "to"),
    exp.Ascii: ("ascii", "this"),
    exp.Levenshtein: ("levenshtein", "this", "expression"),
    exp.FromBase64: ("from_base64", "this"),
    exp.Cbrt: ("cbrt", "this"),
    exp.RegexpExtractAll: ("regexp_extract_all", "this", "expression", "group"),
    exp.StrPosition: ("strpos", "this", "substr"),
    exp.ArgMin: ("arg_min_null", "this", "expression"),
    exp.ArgMax: ("arg_max_null", "this", "expression"),
}
"""DuckDB's own function for a function, and which of the function's parts are its arguments."""

BY_NAME: Final = frozenset({"date_part", "forall", "positive"})
"""Functions that sqlglot has no class for, and that rewrites knows."""
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
    "octet_length": "spark_octet_length",
    "btrim": "spark_btrim",
    "pmod": "spark_pmod",
    "weekday": "spark_weekday",
    "make_date": "make_date",
    "cardinality": "len",
    "array_repeat": "spark_array_repeat",
    "arrays_overlap": "spark_arrays_overlap",
    "get": "spark_get",
    "json_array_length": "spark_json_array_length",
    "nullifzero": "spark_nullifzero",
    "zeroifnull": "spark_zeroifnull",
}
"""Functions that sqlglot has no class for."""
