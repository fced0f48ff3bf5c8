"""DuckDB macros that do what Spark's functions of that name do, where DuckDB has none or means something else by it.

Each gives one type, or that of its argument: a macro does not know the type of an aggregate. What of Spark is not matched ends in
`error`, whose text begins with NOT_TRANSLATED. Knows nothing of queries.
"""

from typing import Final

PREFIX: Final = "spark_"
"""The beginning of every macro's name, which no function of DuckDB has."""
NOT_TRANSLATED: Final = "not translated: "
"""The beginning of an error of a macro that does not know Spark's answer."""
INDEX: Final = "the index is outside of the array"
ZERO: Final = "division by zero"
_NO_NUMBER: Final = "a text that is no whole number cannot be cast to one"


def _declined(what: str) -> str:
    return f"error('{NOT_TRANSLATED}{what}')"


_IS_NESTED: Final = "typeof(x) LIKE 'STRUCT%' OR typeof(x) LIKE 'MAP%' OR typeof(x) LIKE '%[]'"
_MACROS: Final = (
    (
        "divide(a, b)",
        # Nothing divided by zero is nothing in Spark, as the sum of no rows.
        f"""CASE WHEN a IS NOT NULL AND CAST(b AS DOUBLE) = 0 THEN error('{ZERO}')
        ELSE CAST(a AS DOUBLE) / nullif(CAST(b AS DOUBLE), 0) END""",
    ),
    ("try_divide(a, b)", "CASE WHEN CAST(b AS DOUBLE) <> 0 THEN CAST(a AS DOUBLE) / CAST(b AS DOUBLE) END"),
    # Java rounds the digits that it prints; DuckDB the number, which may be a little less than these.
    (
        "round(x, n := 0)",
        """cast_to_type(CASE WHEN typeof(x) IN ('DOUBLE', 'FLOAT') THEN coalesce(
          CAST(CAST(round(TRY_CAST(CAST(x AS VARCHAR) AS DECIMAL(38, 20)), n) AS DOUBLE) AS VARCHAR), CAST(round(x, n) AS VARCHAR))
        ELSE CAST(round(x, n) AS VARCHAR) END, x)""",
    ),
    ("ceil(x)", "CAST(ceil(x) AS BIGINT)"),
    ("floor(x)", "CAST(floor(x) AS BIGINT)"),
    # Java writes large and small numbers with an exponent of its own form.
    (
        "string(x)",
        f"""CASE WHEN x IS NULL THEN NULL
        WHEN {_IS_NESTED} THEN {_declined("arrays and structures as text")}
        WHEN typeof(x) = 'BLOB' THEN {_declined("bytes as text")}
        WHEN typeof(x) IN ('DOUBLE', 'FLOAT') AND contains(CAST(x AS VARCHAR), 'e')
          OR typeof(x) IN ('DOUBLE', 'FLOAT') AND regexp_matches(CAST(x AS VARCHAR), '^-?([0-9]{(8,)}|0[.]000|inf|nan)')
          THEN {_declined("such large or small numbers as text")}
        WHEN typeof(x) = 'TIMESTAMP WITH TIME ZONE' THEN regexp_replace(CAST(x AS VARCHAR), '[+]00$', '')
        ELSE CAST(x AS VARCHAR) END""",
    ),
    (
        "bigint(x)",
        f"""CASE WHEN typeof(x) IN ('DOUBLE', 'FLOAT') THEN CAST(trunc(CAST(x AS DOUBLE)) AS BIGINT)
        WHEN typeof(x) = 'VARCHAR' AND NOT regexp_full_match(trim(CAST(x AS VARCHAR)), '[+-]?[0-9]+') THEN error('{_NO_NUMBER}')
        ELSE CAST(x AS BIGINT) END""",
    ),
    ("int(x)", "CAST(spark_bigint(x) AS INTEGER)"),
    ("smallint(x)", "CAST(spark_bigint(x) AS SMALLINT)"),
    ("tinyint(x)", "CAST(spark_bigint(x) AS TINYINT)"),
    ("double(x)", "CAST(x AS DOUBLE)"),
    (
        "boolean(x)",
        f"CASE WHEN typeof(x) = 'VARCHAR' THEN {_declined('texts as booleans')} ELSE CAST(x AS BOOLEAN) END",
    ),
    ("timestamp(x)", "CAST(x AS TIMESTAMPTZ)"),
    ("date(x)", "CAST(CAST(x AS TIMESTAMPTZ) AS DATE)"),
    (
        "length(x)",
        "CASE WHEN typeof(x) = 'BLOB' THEN octet_length(CAST(x AS BLOB)) ELSE length(CAST(x AS VARCHAR)) END",
    ),
    (
        "substring(x, p, n := 2147483647)",
        f"""CASE WHEN p < -length(x) THEN {_declined("a substring that begins before its text")}
        ELSE substring(x, CASE p WHEN 0 THEN 1 ELSE p END, greatest(n, 0)) END""",
    ),
    (
        "substring_index(x, d, n)",
        """CASE WHEN x IS NULL OR d IS NULL OR n IS NULL THEN NULL WHEN n = 0 OR d = '' THEN ''
        WHEN n > 0 THEN array_to_string(string_split(x, d)[1:n], d)
        ELSE array_to_string(string_split(x, d)[greatest(len(string_split(x, d)) + n + 1, 1):], d) END""",
    ),
    ("hex(x)", "hex(CAST(x AS BLOB))"),
    ("base64(x)", "to_base64(CAST(x AS BLOB))"),
    ("date_trunc(part, x)", "date_trunc(part, CAST(x AS TIMESTAMPTZ))"),
    ("timestamp_millis(x)", "CAST(make_timestamp(CAST(x AS BIGINT) * 1000) AS TIMESTAMPTZ)"),
    ("timestamp_micros(x)", "CAST(make_timestamp(CAST(x AS BIGINT)) AS TIMESTAMPTZ)"),
    ("timestamp_seconds(x)", "CAST(make_timestamp(CAST(x AS BIGINT) * 1000000) AS TIMESTAMPTZ)"),
    ("unix_millis(x)", "CAST(floor(epoch_us(CAST(x AS TIMESTAMPTZ)) / 1000) AS BIGINT)"),
    ("unix_micros(x)", "epoch_us(CAST(x AS TIMESTAMPTZ))"),
    ("unix_seconds(x)", "CAST(floor(epoch_us(CAST(x AS TIMESTAMPTZ)) / 1000000) AS BIGINT)"),
    ("dayofweek(x)", "dayofweek(CAST(x AS TIMESTAMPTZ)) + 1"),
    ("timestampdiff(part, a, b)", "date_sub(part, CAST(a AS TIMESTAMPTZ), CAST(b AS TIMESTAMPTZ))"),
    ("datediff(a, b)", "date_diff('day', CAST(b AS DATE), CAST(a AS DATE))"),
    ("isnull(x)", "x IS NULL"),
    ("isnotnull(x)", "x IS NOT NULL"),
    (
        "try_sum(x)",
        f"CASE WHEN typeof(sum(x)) = 'DOUBLE' THEN {_declined('try_sum of such numbers')} ELSE TRY_CAST(sum(x) AS BIGINT) END",
    ),
    ("array_distinct(l)", "list_filter(l, lambda e, i: list_position(l, e) = i)"),
    (
        "array_union(a, b)",
        "CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN spark_array_distinct(list_concat(a, b)) END",
    ),
    (
        "array_position(l, e)",
        "CASE WHEN l IS NOT NULL AND e IS NOT NULL THEN CAST(coalesce(list_position(l, e), 0) AS BIGINT) END",
    ),
    (
        "element(l, i)",
        f"CASE WHEN l IS NULL OR i IS NULL OR i BETWEEN 1 AND len(l) THEN l[i] ELSE error('{INDEX}') END",
    ),
    ("json_text(x, path)", "json_extract_string(CAST(x AS JSON), path)"),
)
CREATE: Final = ";".join(f"CREATE MACRO {PREFIX}{signature} AS {body}" for signature, body in _MACROS)
"""The statements that make all macros."""
