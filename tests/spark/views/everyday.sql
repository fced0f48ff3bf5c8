-- Everyday questions in Spark's SQL that an analyst asks of a lake; both engines answer each alike (test_sql.py).
-- Functions and operators of constants, several a line:
split_part('a-b-c', '-', 2), split_part('a-b-c', '-', -1), split_part('a-b', '-', 5), split_part(NULL, '-', 1)
octet_length('äö'), bit_length('ab'), char_length('äö'), character_length('a')
lpad('7', 3, '0'), rpad('7', 3, '0'), lpad('1234', 2, '0'), lpad('7', 3)
instr('offsets', 's'), locate('s', 'offsets'), position('s' IN 'offsets'), position('f', 'off')
initcap('payments orders'), ltrim('  a '), rtrim(' a  '), btrim('  a  '), trim(BOTH 'x' FROM 'xax')
translate('a-b_c', '-_', '..'), ascii('a'), space(2), repeat('ab', 2)
regexp_count('a1b22', '[0-9]+'), regexp_substr('a1b22', '[0-9]+'), regexp_extract_all('a1b22', '([0-9]+)', 1), 'a1' RLIKE '[0-9]', regexp_like('abc', '^a')
md5('a'), sha2('a', 256), unhex('4F66'), unbase64('AAE='), hex('a'), hex(255), sha1('a')
levenshtein('kitten', 'sitting'), concat_ws('-', 'a', NULL, 'b'), left('abc', 2), right('abc', 2)
startswith('abc', 'a'), endswith('abc', 'c'), contains('abc', 'b'), replace('a-b', '-', '.'), replace('a-b', '-')
power(2, 10), pow(2, 0.5D), sqrt(2), exp(1), ln(10), log10(1000), log2(8), log(2, 8), cbrt(27)
sign(-5), signum(2.5D), mod(7, 3), pmod(-7, 3), abs(-3), negative(3), positive(3)
5 & 3, 5 | 3, 5 ^ 3, ~5, bit_count(7)
floor(-2.5D), ceiling(2.1D), round(-2.5D), round(1234, -2), trunc(date'2026-11-21', 'MM')
0.9, 100.0, 1.5 + 1, 0.1 + 0.2, 100.0 * 3, 3 * 0.25, 7 - 0.5, -0.5
1 / 3.0, 100.0 * 3 / 7, 100.0 / 7, 2.50 / 0.5, 5 / 100.0, round(100.0 * 3 / 7, 1), round(2.345, 2)
1.5 > 1, 0.5 BETWEEN 0 AND 1, 1.0 = 1, coalesce(NULL, 0.5), greatest(1, 2.5), if(true, 1, 0.5), CASE WHEN false THEN 1.5 ELSE 2 END
1.5 % 1, 1.0 * 2.5D, 0.5 + 1.5D, CAST(1.239 AS DECIMAL(5, 2)), CAST(7 AS DECIMAL(10, 3)), CAST(0.5 AS DOUBLE), CAST(2.7 AS INT), CAST(2.75 AS STRING)
unix_timestamp(timestamp'2026-11-21 10:11:12'), unix_timestamp('2026-11-21 10:11:12'), unix_timestamp(date'2026-11-21')
from_unixtime(1795263775), from_unixtime(1795263775, 'yyyy-MM-dd'), to_timestamp('2026-11-21 10:11:12'), to_date('2026-11-21')
date_add(date'2026-11-21', 3), date_sub(date'2026-11-21', 3), add_months(date'2026-01-31', 1), last_day(date'2026-02-03'), dayofmonth(date'2026-11-21'), dayofyear(date'2026-11-21')
extract(HOUR FROM timestamp'2026-11-21 10:11:12'), date_part('minute', timestamp'2026-11-21 10:11:12'), extract(DAY FROM date'2026-11-21'), year(timestamp'2026-11-21 10:11:12'), weekday(date'2026-11-21')
make_date(2026, 11, 21), date'2026-11-21' + 1, date'2026-11-21' - 1, dayname(date'2026-11-21'), monthname(date'2026-11-21')
timestampadd(HOUR, 2, timestamp'2026-11-21 10:00:00'), dateadd(DAY, 2, date'2026-11-21'), timestamp'2026-11-21 10:00:00' + INTERVAL '2' HOUR, timestamp'2026-11-21 10:00:00' - INTERVAL 90 SECONDS
date_format(timestamp'2026-11-21 10:11:12', 'HH:mm:ss'), date_trunc('HOUR', timestamp'2026-11-21 10:11:12'), date_trunc('MINUTE', timestamp'2026-11-21 10:11:12'), hour(timestamp'2026-11-21 10:11:12'), to_date(timestamp'2026-11-21 10:11:12'), date(timestamp'2026-11-21 10:11:12')
array_max(array(1, 3, 2)), array_min(array(3, 1)), slice(array(1, 2, 3), 2, 2), sequence(1, 3), array_intersect(array(1, 2), array(2, 3)), array_except(array(1, 2), array(2))
cardinality(array(1, 2)), array_size(array(1)), array_append(array(1), 2), array_remove(array(1, 2, 1), 1), array_compact(array(1, NULL)), array_contains(array(1, 2), 2)
transform(array(1, 2), x -> x + 1), filter(array(1, 2, 3), x -> x > 1), aggregate(array(1, 2, 3), 0, (a, x) -> a + x), exists(array(1), x -> x = 1), forall(array(1, 2), x -> x > 0), array_join(array('a', 'b'), ','), array_repeat('a', 2), arrays_overlap(array(1, 2), array(2))
element_at(array(1, 2), -1), array(1, 2)[0], get(array(1, 2), 5)
get_json_object('{"a": {"b": 1}}', '$.a.b'), json_array_length('[1, 2, 3]'), json_array_length('{}'), json_object_keys('{"a": 1, "b": 2}')
nullif(1, 1), ifnull(NULL, 1), nvl(NULL, 2), nullifzero(0), zeroifnull(NULL), nvl2(1, 'a', 'b'), isnan(1.0D), nanvl(1.0D, 2.0D)
try_cast('x' AS INT), try_cast('7' AS INT), try_add(1, 2), try_subtract(3, 2), try_multiply(2, 3)
'a' < 'b', 'abc' LIKE 'a_c', 'abc' ILIKE 'A%', 'abc' NOT LIKE 'b%', 1 IS DISTINCT FROM 2, 1 == 1, 1 != 2, true AND NOT false, 'x' LIKE ANY ('x%', 'y%'), 'x' LIKE ALL ('x%', '%x')
CASE 2 WHEN 1 THEN 'one' WHEN 2 THEN 'two' END, CASE WHEN 1 > 2 THEN 'a' END, decode(2, 1, 'one', 2, 'two', 'none')
left('abc', -1), right('abc', -1), lpad('a', -1, 'x'), lpad('a', NULL, 'x'), substring('abc', 1, NULL), 'it''s', 'a\tb', '\\d', '\u0041', upper('Größe'), lower('ÀB')
5 & 3 = 1, (5 & 3) | 4, 5 | 3 | 8, ~5 + 1, ~5 & 1, bit_count(-1), pmod(7, -3), pmod(-7, -3), 3 * 5 div 2, 8 % 5 * 2, ! 1 = 2
ceil(9007199254740993), floor(9007199254740993), string(9999999.5D), base64('é'), substring_index('a--b--c', '--', -1), split('a|b', '\\|'), split('', ',')
regexp_extract('a1', '([a-z])([0-9])', 2), regexp_extract('a1', '[a-z]', 0), regexp_extract_all('a1b22', '([a-z])([0-9]+)'), regexp_replace('a.b', '[.]', '')
1.0 / -3, 1.0 / (3), 1.0 / -(3), 1.0 / (1 + 2), 2 / (1.5), round(-2.5), round(0.05, 1), CAST(-0.5 AS INT)
timestamp_seconds(1.25D), timestamp_seconds(-1.5D), from_unixtime(1795263775.9D), unix_timestamp(timestamp'1969-12-31 23:59:59.5'), CAST(timestamp'2026-11-21 10:11:12.5' AS BIGINT)
date'2026-11-21' + INTERVAL 1 DAY, date'2026-11-21' - INTERVAL 1 MONTH, INTERVAL 2 WEEKS + date'2026-11-21', date'2026-11-21' + INTERVAL 1 HOUR, date'2026-11-21' + INTERVAL 1 DAY 2 HOURS, timestamp'2026-11-21 10:00:00' - INTERVAL 1 MONTH
timestampdiff(MONTH, timestamp'2026-01-31 10:00:00', timestamp'2026-02-28 12:00:00'), timestampdiff(MONTH, timestamp'2026-03-15 10:00:00', timestamp'2026-05-15 09:00:00'), timestampdiff(MONTH, timestamp'1970-02-28 23:00:00', timestamp'1969-12-31 23:00:00'), timestampdiff(YEAR, timestamp'2024-02-29 00:00:00', timestamp'2025-02-28 00:00:00'), timestampdiff(QUARTER, timestamp'2026-01-31 00:00:00', timestamp'2026-04-30 00:00:00')
CAST('2026-11-21 23:00:00-05:00' AS DATE), to_date('2026-11-21T23:00:00-05:00'), CAST('2026-11-21 abc' AS DATE), CAST('2026-11-21 10:11:12+02' AS TIMESTAMP), CAST('2026-1-2' AS TIMESTAMP)
try_cast('\t7' AS INT), CAST('\t7\n' AS INT), try_cast('7.5' AS INT), try_cast(timestamp'1970-01-01 00:00:05' AS INT), CAST('1e3' AS DOUBLE)
array_contains(array(1, NULL), 2), array_contains(array(1, NULL), 1), flatten(array(array(1), NULL)), array_intersect(array(1), if(1 = 1, NULL, array(1))), array_join(array('a', NULL), ',', '-')
get_json_object('{"a": 1', '$.a'), get_json_object('', '$.a'), get_json_object('{"a": 1.50}', '$.a'), get_json_object('{"a": {"b": 1,  "c": [1, 2]}}', '$.a')
-- Clauses, aggregates and windows over events:
SELECT percentile_approx(log_offset, 0.5) AS c0, approx_percentile(log_offset, 0.9) AS c1, percentile(log_offset, 0.9) AS c2, percentile_cont(0.5) WITHIN GROUP (ORDER BY log_offset) AS c3, percentile_disc(0.5) WITHIN GROUP (ORDER BY log_offset) AS c4, median(log_offset) AS c5 FROM events
SELECT percentile_approx(log_offset, array(0.5, 0.9)) AS c0, percentile_approx(log_offset, 0.5, 100) AS c1 FROM events
SELECT stddev(log_offset) AS c0, stddev_pop(log_offset) AS c1, stddev_samp(log_offset) AS c2, variance(log_offset) AS c3, var_pop(log_offset) AS c4 FROM events
SELECT sum(DISTINCT log_partition) AS c0, count(DISTINCT topic) AS c1, any_value(1) AS c2, max_by(topic, log_offset) AS c3, min_by(topic, log_offset) AS c4, sort_array(collect_set(log_partition)) AS c5, bool_and(log_offset >= 0) AS c6 FROM events
SELECT count(*) FILTER (WHERE topic IS NOT NULL), count(topic), count_if(topic IS NULL), sum(if(topic IS NULL, 1, 0)), sum(log_offset * 0.5), avg(log_offset), sum(0.25) FROM events
SELECT 100.0 * count(topic) / count(*) AS share, round(100.0 * count(topic) / count(*), 1) AS rounded, count(topic) / count(*) AS ratio, 0.9 * count(*) FROM events
SELECT topic, count(*) AS n FROM events GROUP BY topic HAVING count(*) > 1 ORDER BY n DESC, topic LIMIT 3
SELECT topic, grouping(topic), grouping_id(topic), count(*) FROM events GROUP BY CUBE(topic) ORDER BY 2, 1, 4
SELECT topic, `group`, grouping_id(topic, `group`) AS g, count(*) FROM events GROUP BY GROUPING SETS ((topic), (`group`), ()) ORDER BY 3, 1, 2
SELECT topic, count(*) AS n FROM events GROUP BY ALL ORDER BY ALL
SELECT log_partition, topic FROM events ORDER BY ALL DESC LIMIT 5
SELECT topic, log_offset FROM events QUALIFY row_number() OVER (PARTITION BY topic ORDER BY log_offset DESC) = 1 ORDER BY topic
SELECT * FROM (SELECT topic, log_partition FROM events) PIVOT (count(*) FOR log_partition IN (1, 2)) ORDER BY topic
SELECT * FROM (SELECT topic, log_partition AS p, log_offset AS o FROM events) PIVOT (max(o) AS newest, count(o) AS n FOR p IN (1 AS one, 2 AS two)) ORDER BY topic
SELECT name, value FROM (SELECT 1 AS a, 2 AS b) UNPIVOT (value FOR name IN (a, b)) ORDER BY name
SELECT log_offset, sum(log_offset) OVER (ORDER BY log_offset ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s, avg(log_offset) OVER (ORDER BY log_offset ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS a, first_value(log_offset) OVER (ORDER BY log_offset) AS f FROM events ORDER BY log_offset LIMIT 5
SELECT log_offset, lag(log_offset, 2, -1) OVER (ORDER BY log_offset) AS l, lead(log_offset) OVER (ORDER BY log_offset) AS d, ntile(4) OVER (ORDER BY log_offset) AS q, percent_rank() OVER (ORDER BY log_offset) AS pr, cume_dist() OVER (ORDER BY log_offset) AS c, dense_rank() OVER (ORDER BY topic) AS r FROM events ORDER BY log_offset LIMIT 5
SELECT topic, sum(n) OVER w AS running FROM (SELECT topic, count(*) AS n FROM events GROUP BY topic) WINDOW w AS (ORDER BY topic) ORDER BY topic
SELECT t.topic, x FROM (SELECT 'a' AS topic, array(1, 2) AS l) t LATERAL VIEW explode(l) e AS x ORDER BY x
SELECT topic, x FROM (SELECT 'a' AS topic, array(1, 2) AS l), LATERAL explode(l) AS t(x) ORDER BY x
SELECT pos, x FROM (SELECT array('a', 'b') AS l) LATERAL VIEW posexplode(l) e AS pos, x ORDER BY pos
SELECT x.a, x.b FROM VALUES (1, 'a'), (2, 'b') AS x(a, b) ORDER BY a
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS x(a, b) ORDER BY a
SELECT count(*) FROM events e WHERE EXISTS (SELECT 1 FROM events f WHERE f.log_offset = e.log_offset + 1)
SELECT count(*) FROM events WHERE log_offset IN (SELECT max(log_offset) FROM events GROUP BY topic)
SELECT (SELECT max(log_offset) FROM events) AS newest, count(*) FROM events
WITH a AS (SELECT topic, count(*) AS n FROM events GROUP BY topic), b AS (SELECT max(n) AS most FROM a) SELECT a.topic FROM a CROSS JOIN b WHERE a.n = b.most ORDER BY 1
SELECT topic FROM events UNION SELECT topic FROM events EXCEPT SELECT topic FROM events WHERE topic IS NULL ORDER BY topic
SELECT DISTINCT topic, log_partition FROM events ORDER BY topic, log_partition
SELECT a.log_offset FROM events a LEFT JOIN events b ON a.log_offset = b.log_offset + 1 WHERE b.log_offset IS NULL ORDER BY 1
SELECT a.log_offset FROM events a LEFT ANTI JOIN events b ON a.log_offset = b.log_offset + 1 ORDER BY 1
SELECT date_trunc('SECOND', timestamp_millis(timestamp)) AS second, count(*) AS n FROM events GROUP BY 1 ORDER BY 1
SELECT unix_timestamp(timestamp_millis(timestamp)) AS a, from_unixtime(unix_timestamp(timestamp_millis(timestamp))) AS b, to_date(timestamp_millis(timestamp)) AS c FROM events ORDER BY 1 LIMIT 2
SELECT array_join(sort_array(collect_set(topic)), ', ') AS topics FROM events
SELECT listagg(DISTINCT topic, ',') WITHIN GROUP (ORDER BY topic) AS topics FROM events
SELECT string_agg(topic, ',') AS topics FROM (SELECT 'a' AS topic)
SELECT log_offset FROM events ORDER BY log_offset LIMIT 2 OFFSET 1
SELECT CAST(get_json_object(value_json, '$.generation') AS INT) AS g FROM events WHERE value_json IS NOT NULL ORDER BY 1 LIMIT 3
SELECT max(struct(log_offset, topic)).topic FROM events
SELECT topic, count(*) * 1.0 / sum(count(*)) OVER () AS share FROM events GROUP BY topic ORDER BY topic
SELECT sum(CASE WHEN topic IS NULL THEN 1 ELSE 0 END) * 100.0 / count(*) AS p FROM events
SELECT avg(x) AS a, sum(x) AS s, min(x) AS m, round(avg(x), 2) AS r FROM (SELECT log_offset * 0.1 AS x FROM events)
SELECT x * 2 AS y FROM (SELECT log_offset / 2.0 AS x FROM events ORDER BY 1 LIMIT 2) ORDER BY 1
SELECT -log_offset AS log_offset FROM events ORDER BY log_offset + 0 LIMIT 3
SELECT topic, count(*) AS log_offset FROM events GROUP BY topic ORDER BY -log_offset, topic
SELECT a, row_number() OVER (ORDER BY a) AS n FROM VALUES (3), (1) AS t(a) ORDER BY n % 2, n
SELECT listagg(a) AS x, string_agg(a) AS y, listagg(a, '-') AS z FROM VALUES ('x'), (NULL), ('y') AS t(a)
SELECT max(x) - min(x) AS d, unix_millis(max(y)) - unix_millis(min(y)) AS e FROM VALUES (5, timestamp'2026-11-21 10:00:00'), (6, timestamp'2026-11-21 10:00:01') AS t(x, y)
SELECT count(*) AS n FROM VALUES ('it''s') AS t(a) WHERE a = 'it''s' AND a = "it's"
SELECT from_unixtime(a / 1000) AS x, timestamp_seconds(a / 1000) AS y FROM VALUES (1795255872900) AS t(a)
SELECT array_contains(l, a) AS r FROM VALUES (array(1, 2), 2), (array(1, NULL), 2), (NULL, 1), (array(), 1) AS t(l, a)
