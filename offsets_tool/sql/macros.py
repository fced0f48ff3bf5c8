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
_WHOLE: Final = r"[\x00-\x20]*[+-]?[0-9]+[\x00-\x20]*"
"""A text that is a whole number: Java takes all control characters for spaces."""
_NO_NUMBER: Final = "a text that is no whole number cannot be cast to one"


def _declined(what: str) -> str:
    return f"error('{NOT_TRANSLATED}{what}')"


_CAPITALS: Final = r"[ŉǰΐΰևẖ-ẚẞὐ-ὖᾀ-ᾯᾲ-ᾷᾼῂ-ῇῌῒ-ῗῢ-ῧῲ-ῷῼﬀ-ﬗ]"
_USUAL_TIME: Final = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
_DAY: Final = " *[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_IS_NESTED: Final = "typeof(x) LIKE 'STRUCT%' OR typeof(x) LIKE 'MAP%' OR typeof(x) LIKE '%[]'"
_MACROS: Final = (
    (
        "divide(a, b)",
        # Nothing divided by zero is nothing in Spark, as the sum of no rows.
        f"""CASE WHEN a IS NOT NULL AND CAST(b AS DOUBLE) = 0 THEN error('{ZERO}')
        ELSE CAST(a AS DOUBLE) / nullif(CAST(b AS DOUBLE), 0) END""",
    ),
    ("try_divide(a, b)", "CASE WHEN CAST(b AS DOUBLE) <> 0 THEN CAST(a AS DOUBLE) / CAST(b AS DOUBLE) END"),
    # The digits of both as whole numbers: f moves those of the first, u is the last digit of the result; halves go up.
    (
        "unscaled(x)",
        "CAST(replace(CAST(x AS VARCHAR), '.', '') AS HUGEINT)",
    ),
    (
        "half_up(a, b)",
        "a // b + CASE WHEN 2 * abs(a % b) >= abs(b) THEN sign(a) * sign(b) ELSE 0 END",
    ),
    (
        "decimal_divide(a, b, f, u)",
        f"""CASE WHEN a IS NULL OR b IS NULL THEN NULL WHEN b = 0 THEN error('{ZERO}')
        WHEN abs(spark_unscaled(a)) > 170141183460469231731687303715884105727 // f THEN {_declined("a quotient of so many digits")}
        ELSE CAST(spark_half_up(spark_unscaled(a) * f, spark_unscaled(b)) AS DECIMAL(38, 0)) * u END""",
    ),
    # Java rounds the digits that it prints; DuckDB the number, which may be a little less than these.
    (
        "round(x, n := 0)",
        """cast_to_type(CASE WHEN typeof(x) IN ('DOUBLE', 'FLOAT') THEN coalesce(
          CAST(CAST(round(TRY_CAST(CAST(x AS VARCHAR) AS DECIMAL(38, 20)), n) AS DOUBLE) AS VARCHAR), CAST(round(x, n) AS VARCHAR))
        ELSE CAST(round(x, n) AS VARCHAR) END, x)""",
    ),
    # Of whole numbers DuckDB's are floating-point numbers, which have fewer digits.
    ("ceil(x)", "CASE WHEN typeof(x) LIKE '%INT%' THEN CAST(x AS BIGINT) ELSE CAST(ceil(x) AS BIGINT) END"),
    ("floor(x)", "CASE WHEN typeof(x) LIKE '%INT%' THEN CAST(x AS BIGINT) ELSE CAST(floor(x) AS BIGINT) END"),
    # Java writes large and small numbers with an exponent of its own form.
    (
        "string(x)",
        f"""CASE WHEN x IS NULL THEN NULL
        WHEN {_IS_NESTED} THEN {_declined("arrays and structures as text")}
        WHEN typeof(x) = 'BLOB' THEN {_declined("bytes as text")}
        WHEN typeof(x) = 'INTERVAL' THEN {_declined("a span of time as text")}
        WHEN typeof(x) IN ('DOUBLE', 'FLOAT') AND contains(CAST(x AS VARCHAR), 'e')
          OR typeof(x) IN ('DOUBLE', 'FLOAT') AND regexp_matches(CAST(x AS VARCHAR), '^-?([0-9]{{8,}}|0[.]000|inf|nan)')
          THEN {_declined("such large or small numbers as text")}
        WHEN typeof(x) = 'TIMESTAMP WITH TIME ZONE' THEN regexp_replace(CAST(x AS VARCHAR), '[+]00$', '')
        ELSE CAST(x AS VARCHAR) END""",
    ),
    (
        "bigint(x)",
        f"""CASE WHEN typeof(x) IN ('DOUBLE', 'FLOAT') THEN CAST(trunc(CAST(x AS DOUBLE)) AS BIGINT)
        WHEN typeof(x) LIKE 'DECIMAL%' THEN CAST(split_part(CAST(x AS VARCHAR), '.', 1) AS BIGINT)
        WHEN typeof(x) = 'VARCHAR' AND NOT regexp_full_match(CAST(x AS VARCHAR), '{_WHOLE}') THEN error('{_NO_NUMBER}')
        WHEN typeof(x) = 'VARCHAR' THEN CAST(regexp_extract(CAST(x AS VARCHAR), '[+-]?[0-9]+') AS BIGINT)
        WHEN typeof(x) LIKE 'TIMESTAMP%' THEN spark_unix_seconds(CAST(x AS VARCHAR))
        ELSE CAST(x AS BIGINT) END""",
    ),
    ("int(x)", "CAST(spark_bigint(x) AS INTEGER)"),
    ("smallint(x)", "CAST(spark_bigint(x) AS SMALLINT)"),
    ("tinyint(x)", "CAST(spark_bigint(x) AS TINYINT)"),
    (
        "double(x)",
        f"""CASE WHEN typeof(x) = 'VARCHAR' AND contains(CAST(x AS VARCHAR), '_') THEN {_declined("such a text as a number")}
        WHEN typeof(x) LIKE 'TIMESTAMP%' THEN {_declined("a time as such a number")} ELSE CAST(x AS DOUBLE) END""",
    ),
    (
        "boolean(x)",
        f"CASE WHEN typeof(x) = 'VARCHAR' THEN {_declined('texts as booleans')} ELSE CAST(x AS BOOLEAN) END",
    ),
    (
        "minus(a, b)",
        f"CASE WHEN typeof(a) = 'DATE' AND typeof(b) = 'DATE' THEN {_declined('a span of days')} ELSE a - b END",
    ),
    (
        "timestamp(x)",
        f"""CASE WHEN regexp_matches(typeof(x), '^(.*INT|INTEGER|DOUBLE)$') THEN {_declined("a number as a time")}
        WHEN typeof(x) = 'VARCHAR' AND NOT regexp_full_match(CAST(x AS VARCHAR), '{_DAY}([ T][0-9]+:.*)? *')
          THEN {_declined("such a text as a time")} ELSE CAST(x AS TIMESTAMPTZ) END""",
    ),
    # What stands behind the day of a text does not matter, as the zone of a time.
    (
        "date(x)",
        f"""CASE WHEN typeof(x) <> 'VARCHAR' THEN CAST(CAST(x AS TIMESTAMPTZ) AS DATE)
        WHEN x IS NULL OR regexp_full_match(CAST(x AS VARCHAR), '{_DAY}([ T].*)?')
          THEN CAST(regexp_extract(CAST(x AS VARCHAR), '[0-9]+-[0-9]+-[0-9]+') AS DATE)
        ELSE {_declined("such a text as a day")} END""",
    ),
    (
        "length(x)",
        "CASE WHEN typeof(x) = 'BLOB' THEN octet_length(CAST(x AS BLOB)) ELSE length(spark_string(x)) END",
    ),
    (
        "substring(x, p, n := 2147483647)",
        f"""CASE WHEN p < -length(x) THEN {_declined("a substring that begins before its text")}
        ELSE substring(x, CASE p WHEN 0 THEN 1 ELSE p END, CASE WHEN n < 0 THEN 0 ELSE n END) END""",
    ),
    (
        "substring_index(x, d, n)",
        f"""CASE WHEN x IS NULL OR d IS NULL OR n IS NULL THEN NULL WHEN n = 0 OR d = '' THEN ''
        WHEN len(list_filter(range(1, length(d)),
            lambda i: starts_with(d, substring(d, i + 1)) AND contains(x, concat(left(d, i), d)))) > 0
          THEN {_declined("a text in which delimiters overlap")}
        WHEN n > 0 THEN array_to_string(string_split(x, d)[1:n], d)
        ELSE array_to_string(string_split(x, d)[greatest(len(string_split(x, d)) + n + 1, 1):], d) END""",
    ),
    ("hex(x)", "hex(x)"),
    (
        "unhex(x)",
        "CASE WHEN regexp_full_match(x, '[0-9A-Fa-f]*') THEN unhex(concat(repeat('0', length(x) % 2), x)) END",
    ),
    (
        "split_part(x, d, n)",
        f"""CASE WHEN n = 0 THEN error('{INDEX}') WHEN d = '' THEN CASE WHEN abs(n) = 1 THEN x WHEN x IS NOT NULL THEN '' END
        ELSE split_part(x, d, n) END""",
    ),
    (
        "octet_length(x)",
        "CASE WHEN typeof(x) = 'BLOB' THEN octet_length(CAST(x AS BLOB)) ELSE strlen(CAST(x AS VARCHAR)) END",
    ),
    ("bit_length(x)", "8 * spark_octet_length(x)"),
    ("btrim(x, letters := ' ')", "trim(x, letters)"),
    (
        "initcap(x, d)",
        "array_to_string(list_transform(string_split(lower(x), d), lambda e: concat(upper(e[1]), e[2:])), d)",
    ),
    ("regexp_count(x, p)", "CAST(len(regexp_extract_all(x, p)) AS INTEGER)"),
    ("regexp_substr(x, p)", "CASE WHEN regexp_matches(x, p) THEN regexp_extract(x, p) END"),
    ("pow(a, b)", "pow(CAST(a AS DOUBLE), CAST(b AS DOUBLE))"),
    ("sqrt(x)", "CASE WHEN x < 0 THEN CAST('NaN' AS DOUBLE) ELSE sqrt(CAST(x AS DOUBLE)) END"),
    ("exp(x)", "exp(CAST(x AS DOUBLE))"),
    ("ln(x)", "CASE WHEN x > 0 THEN ln(CAST(x AS DOUBLE)) END"),
    (
        "log(b, x := NULL)",
        """CASE WHEN b <= 0 OR x <= 0 THEN NULL WHEN b = 10 THEN log10(CAST(x AS DOUBLE)) WHEN b = 2 THEN log2(CAST(x AS DOUBLE))
        ELSE ln(CAST(x AS DOUBLE)) / ln(CAST(b AS DOUBLE)) END""",
    ),
    ("sign(x)", "CAST(sign(x) AS DOUBLE)"),
    ("pmod(a, b)", "CASE WHEN a % b < 0 THEN (a % b + b) % b ELSE a % b END"),
    ("bit_count(x)", "CAST(bit_count(CAST(x AS BIGINT)) AS INTEGER)"),
    ("isnan(x)", "CASE WHEN x IS NULL THEN false ELSE isnan(CAST(x AS DOUBLE)) END"),
    ("nanvl(a, b)", "CASE WHEN isnan(CAST(a AS DOUBLE)) THEN CAST(b AS DOUBLE) ELSE CAST(a AS DOUBLE) END"),
    ("nullifzero(x)", "nullif(x, 0)"),
    ("zeroifnull(x)", "coalesce(x, 0)"),
    (
        "base64(x)",
        "to_base64(CASE WHEN typeof(x) = 'BLOB' THEN CAST(x AS BLOB) ELSE encode(CAST(x AS VARCHAR)) END)",
    ),
    ("lpad(x, n, letters)", "lpad(x, CASE WHEN n < 0 THEN 0 ELSE n END, letters)"),
    ("rpad(x, n, letters)", "rpad(x, CASE WHEN n < 0 THEN 0 ELSE n END, letters)"),
    ("left(x, n)", "left(x, CASE WHEN n < 0 THEN 0 ELSE n END)"),
    ("right(x, n)", "right(x, CASE WHEN n < 0 THEN 0 ELSE n END)"),
    # Java writes some letters in capitals as two, and others by where they stand.
    (
        "upper(x)",
        f"""CASE WHEN regexp_matches(x, '{_CAPITALS}') THEN {_declined("capitals of such letters")}
        ELSE upper(replace(x, 'ß', 'SS')) END""",
    ),
    (
        "lower(x)",
        f"CASE WHEN regexp_matches(x, '[İΣ]') THEN {_declined('small letters of such capitals')} ELSE lower(x) END",
    ),
    (
        "split(x, p)",
        f"""CASE WHEN p <> '' AND regexp_full_match('', p) THEN {_declined("a split where nothing stands between")}
        ELSE regexp_split_to_array(x, p) END""",
    ),
    ("date_trunc(part, x)", "date_trunc(part, CAST(x AS TIMESTAMPTZ))"),
    ("timestamp_millis(x)", "CAST(make_timestamp(CAST(x AS BIGINT) * 1000) AS TIMESTAMPTZ)"),
    ("timestamp_micros(x)", "CAST(make_timestamp(CAST(x AS BIGINT)) AS TIMESTAMPTZ)"),
    (
        "timestamp_seconds(x)",
        """CAST(make_timestamp(CASE WHEN typeof(x) IN ('DOUBLE', 'FLOAT') THEN CAST(trunc(CAST(x AS DOUBLE) * 1000000) AS BIGINT)
        ELSE CAST(x AS BIGINT) * 1000000 END) AS TIMESTAMPTZ)""",
    ),
    ("unix_millis(x)", "CAST(floor(epoch_us(CAST(x AS TIMESTAMPTZ)) / 1000) AS BIGINT)"),
    ("unix_micros(x)", "epoch_us(CAST(x AS TIMESTAMPTZ))"),
    ("unix_seconds(x)", "CAST(floor(epoch_us(CAST(x AS TIMESTAMPTZ)) / 1000000) AS BIGINT)"),
    (
        "unix_timestamp(x)",
        f"""CASE WHEN typeof(x) = 'VARCHAR' AND NOT regexp_full_match(CAST(x AS VARCHAR), '{_USUAL_TIME}')
          THEN {_declined("such a text as a time")}
        ELSE epoch_us(CAST(x AS TIMESTAMPTZ)) // 1000000 END""",
    ),
    ("date_add(x, n)", "CAST(CAST(x AS DATE) + CAST(n AS INTEGER) AS DATE)"),
    ("add_months(x, n)", "CAST(CAST(x AS DATE) + to_months(CAST(n AS INTEGER)) AS DATE)"),
    ("last_day(x)", "last_day(CAST(x AS DATE))"),
    ("trunc(x, part)", "CAST(date_trunc(part, CAST(x AS DATE)) AS DATE)"),
    ("weekday(x)", "isodow(CAST(x AS DATE)) - 1"),
    ("dayname(x)", "left(dayname(CAST(x AS DATE)), 3)"),
    ("monthname(x)", "left(monthname(CAST(x AS DATE)), 3)"),
    ("dayofweek(x)", "dayofweek(CAST(x AS TIMESTAMPTZ)) + 1"),
    # A month is whole where Java counts days of the month and time, not where adding months ends at the last of one.
    (
        "place_in_year(x)",
        """(year(x) * 12 + month(x)) * 2678400000000 + (day(x) - 1) * 86400000000
        + date_diff('microsecond', date_trunc('day', x), x)""",
    ),
    ("months_between(a, b)", "(spark_place_in_year(b) - spark_place_in_year(a)) // 2678400000000"),
    (
        "timestampdiff(part, a, b)",
        """CASE part WHEN 'MONTH' THEN spark_months_between(CAST(a AS TIMESTAMPTZ), CAST(b AS TIMESTAMPTZ))
        WHEN 'QUARTER' THEN spark_months_between(CAST(a AS TIMESTAMPTZ), CAST(b AS TIMESTAMPTZ)) // 3
        WHEN 'YEAR' THEN spark_months_between(CAST(a AS TIMESTAMPTZ), CAST(b AS TIMESTAMPTZ)) // 12
        ELSE date_sub(part, CAST(a AS TIMESTAMPTZ), CAST(b AS TIMESTAMPTZ)) END""",
    ),
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
        "array_intersect(a, b)",
        "CASE WHEN b IS NOT NULL THEN list_filter(spark_array_distinct(a), lambda e: list_position(b, e) > 0) END",
    ),
    (
        "array_contains(l, e)",
        "CASE WHEN list_contains(l, e) OR list_count(l) = len(l) THEN list_contains(l, e) END",
    ),
    ("flatten(l)", "CASE WHEN list_count(l) = len(l) THEN flatten(l) END"),
    (
        "array_except(a, b)",
        """CASE WHEN b IS NOT NULL
        THEN list_filter(spark_array_distinct(a), lambda e: coalesce(list_position(b, e), 0) = 0) END""",
    ),
    ("array_append(l, e)", "CASE WHEN l IS NOT NULL THEN list_append(l, e) END"),
    (
        "array_remove(l, e)",
        "CASE WHEN e IS NOT NULL THEN list_filter(l, lambda x: x IS DISTINCT FROM e) END",
    ),
    ("array_compact(l)", "list_filter(l, lambda e: e IS NOT NULL)"),
    ("array_repeat(e, n)", "list_transform(generate_series(1, n), lambda i: e)"),
    (
        "arrays_overlap(a, b)",
        """CASE WHEN list_has_any(a, b) THEN true WHEN len(a) > 0 AND len(b) > 0
          AND (list_count(a) < len(a) OR list_count(b) < len(b)) THEN NULL ELSE list_has_any(a, b) END""",
    ),
    (
        "slice(l, s, n)",
        f"""CASE WHEN s = 0 OR n < 0 THEN error('{INDEX}') WHEN s < -len(l) THEN l[1:0]
        WHEN s < 0 THEN list_slice(l, len(l) + s + 1, len(l) + s + n) ELSE list_slice(l, s, s + n - 1) END""",
    ),
    ("sequence(a, b)", "CASE WHEN a <= b THEN generate_series(a, b) ELSE generate_series(a, b, -1) END"),
    ("get(l, i)", "CASE WHEN i >= 0 THEN l[i + 1] END"),
    (
        "element_at(l, i)",
        f"CASE WHEN i = 0 OR abs(i) > len(l) THEN error('{INDEX}') ELSE l[i] END",
    ),
    (
        "json_array_length(x)",
        """CASE WHEN json_valid(x) AND json_type(CAST(x AS JSON)) = 'ARRAY'
        THEN CAST(json_array_length(CAST(x AS JSON)) AS INTEGER) END""",
    ),
    (
        "json_object_keys(x)",
        "CASE WHEN json_valid(x) AND json_type(CAST(x AS JSON)) = 'OBJECT' THEN json_keys(CAST(x AS JSON)) END",
    ),
    (
        "element(l, i)",
        f"CASE WHEN l IS NULL OR i IS NULL OR i BETWEEN 1 AND len(l) THEN l[i] ELSE error('{INDEX}') END",
    ),
    (
        "try_bigint(x)",
        f"""CASE WHEN typeof(x) = 'VARCHAR' THEN CASE WHEN regexp_full_match(CAST(x AS VARCHAR), '{_WHOLE}')
          THEN TRY_CAST(regexp_extract(CAST(x AS VARCHAR), '[+-]?[0-9]+') AS BIGINT) END
        WHEN typeof(x) LIKE 'TIMESTAMP%' THEN spark_unix_seconds(CAST(x AS VARCHAR))
        WHEN typeof(x) IN ('DOUBLE', 'FLOAT') THEN TRY_CAST(trunc(TRY_CAST(x AS DOUBLE)) AS BIGINT)
        WHEN typeof(x) LIKE 'DECIMAL%' THEN TRY_CAST(split_part(CAST(x AS VARCHAR), '.', 1) AS BIGINT)
        ELSE TRY_CAST(x AS BIGINT) END""",
    ),
    ("try_int(x)", "TRY_CAST(spark_try_bigint(x) AS INTEGER)"),
    (
        "json_text(x, path)",
        """CASE WHEN json_type(TRY_CAST(x AS JSON), path) = 'DOUBLE'
        THEN spark_string(CAST(json_extract_string(TRY_CAST(x AS JSON), path) AS DOUBLE))
        ELSE json_extract_string(TRY_CAST(x AS JSON), path) END""",
    ),
)
CREATE: Final = ";".join(f"CREATE MACRO {PREFIX}{signature} AS {body}" for signature, body in _MACROS)
"""The statements that make all macros."""
