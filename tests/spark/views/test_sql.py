"""`offsets-spark sql`: answers as rows, in each format; what cannot be is one sentence."""

import json
import re
from io import BytesIO
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from offsets_tool.cli import main as tool_main
from offsets_tool.cli.render import write_rows
from offsets_tool.cli.table import PrintedTable
from offsets_tool.errors import UsageError
from offsets_tool.evidence.expiring import PolicyOverrides
from offsets_tool.lake.answers import statements
from offsets_tool.lake.contents import CONTENTS, OF_KINDS, VIEWS
from offsets_tool.sql.duck_lake import DuckLake
from offsets_tool.views.copies import INNER
from spark.cli import main
from spark.derived.ends import EndsRequest
from spark.derived.expiry import expiry
from spark.derived.lag import LagRequest, lag
from spark.lake.folder import is_small
from spark.replay.replay import replay
from spark.views.sql import ask
from spark.views.views import OpenLake, open_lake
from tests.corpora import FIXTURES, LAG
from tests.spark.lakes import CORPORA, SEGMENT, ingest_here, rows
from tests.spark.views.both import agree

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def lake(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("sql") / "lake"
    ingest_here(made, SEGMENT, cluster="txn")
    return made


def sql(lake: Path, *arguments: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(main, ["sql", "--lake", str(lake), *arguments], input=typed)


def test_values_of_all_types(lake: Path) -> None:
    """Times in UTC, bytes in base64, structures as objects; columns of one name stay apart."""
    done = sql(
        lake,
        "SELECT timestamp'2026-11-21 18:00:00.123' AS at, date'2026-11-21' AS day, 1.50 AS ratio, X'0001' AS raw, "
        "named_struct('a', 1, 'inner', array(timestamp'1970-01-01 00:00:00')) AS nested, map('k', X'ff') AS map, "
        "CAST(NULL AS INT) AS none, 'é' AS text, 1 AS text",
    )
    assert (done.exit_code, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        "at": "2026-11-21T18:00:00.123Z",
        "day": "2026-11-21",
        "ratio": "1.50",
        "raw": "AAE=",
        "nested": {"a": 1, "inner": ["1970-01-01T00:00:00.000Z"]},
        "map": {"k": "/w=="},
        "none": None,
        "text": "é",
        "text_2": 1,
    }


@pytest.mark.engine
def test_rows_that_somebody_deleted_are_gone(session: SparkSession, tmp_path: Path) -> None:
    """Also where the files still hold them, and a deletion vector beside them says which count no more."""
    ingest_here(tmp_path, SEGMENT, cluster="txn")
    table = f"delta.`{tmp_path}/events`"
    count = "SELECT count(*) AS rows, min(log_offset) AS first FROM events"
    before = json.loads(sql(tmp_path, count).stdout)
    session.sql(f"ALTER TABLE {table} SET TBLPROPERTIES (delta.enableDeletionVectors = true)")
    session.sql(f"DELETE FROM {table} WHERE log_offset = {before['first']}")
    with pytest.raises(UsageError, match="deletion vectors"):
        DuckLake(str(tmp_path)).ask(count)
    after = json.loads(sql(tmp_path, count).stdout)
    assert (after["rows"], after["first"]) == (before["rows"] - 1, before["first"] + 1)


@pytest.mark.parametrize(("sizes", "expected"), [([], True), ([1 << 20] * 60, True), ([1 << 20] * 64, False)])
def test_a_small_lake(tmp_path: Path, sizes: list[int], expected: bool) -> None:
    for number, size in enumerate(sizes):
        with (tmp_path / f"{number}.parquet").open("wb") as file:
            file.truncate(size)
    assert is_small(str(tmp_path)) is is_small(tmp_path.as_uri()) is expected
    assert not is_small("s3://bucket/lake")


def test_several_queries_and_formats(lake: Path) -> None:
    events = rows(lake, "events")
    queries = (
        "SELECT count(*) AS records FROM events;",
        "SELECT log_offset, control FROM events WHERE log_offset < 3 ORDER BY log_offset",
    )
    done = sql(lake, "--format", "csv", *queries)
    first = [f"{row['log_offset']},{row['control'] or ''}" for row in events if row["log_offset"] < 3]
    assert done.stdout.splitlines() == ["records", str(len(events)), "log_offset,control", *first]
    table = sql(lake, "--format", "table", queries[0]).stdout
    assert table.split() == ["records", str(len(events))]


def test_queries_from_a_pipe(lake: Path) -> None:
    done = sql(lake, typed="SELECT\n  1 AS a;\n\nSELECT ';' AS b;\nSELECT 3 AS c\n")
    assert list(map(json.loads, done.stdout.splitlines())) == [{"a": 1}, {"b": ";"}, {"c": 3}]


@pytest.mark.parametrize(
    ("query", "made"),
    [
        ("SELECT 1", set()),
        ("SELECT count(*) FROM EVENTS", {"events"}),
        (
            "SELECT * FROM `commits_per_minute`, sources",
            {"commits_per_minute", "events_once", "events", *INNER, "log", "copies", "sources"},
        ),
        ("SELECT * FROM ownership", set()),
        ("SHOW VIEWS", None),
        ("SELECT * FROM IDENTIFIER('eve' || 'nts')", None),
    ],
)
def test_only_what_a_query_names_is_made(
    session: SparkSession, lake: Path, query: str, made: set[str] | None
) -> None:
    """With what that reads; all where names may be made of parts."""
    own = session.newSession()
    opened = OpenLake(own, str(lake))
    opened.show_for(query)
    there = {one.name for one in opened.shown if one.lacks is None} | {CONTENTS}
    assert {name for name in opened.names if own.catalog.tableExists(name)} == (
        there if made is None else made
    )


def test_where_a_query_ends() -> None:
    assert list(statements(["a", "b;  ", "", ";", "c ; d"])) == ["a\nb", "c ; d"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (
            "SELECT * FROM ownership",
            "ownership needs the table offset_history, which this lake does not have yet",
        ),
        (
            "SELECT * FROM group_lag",
            "group_lag needs the table lag, which this lake does not have yet: offsets-spark lag makes it",
        ),
        (
            "SELECT * FROM removals_per_day",
            "removals_per_day needs the table expiry, which this lake does not have yet: offsets-spark expiry makes it",
        ),
        ("SELECT * FROM nowhere", "there is no nowhere here: SELECT name, comment FROM contents names all"),
        ("SELEC 1", "this is no SQL that Spark understands: [PARSE_SYNTAX_ERROR]"),
        ("SELECT count(*), log_offset FROM events", "Spark cannot answer: [MISSING_GROUP_BY]"),
    ],
)
def test_what_cannot_be_is_one_sentence(lake: Path, query: str, said: str) -> None:
    done = sql(lake, query)
    assert done.exit_code != 0 and done.stdout == ""
    assert said in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("query", "code", "shared"),
    [
        ("SELECT * FROM nowhere", 2, None),
        ("SELECT * FROM ownership", 2, None),
        ("SELECT log_offse FROM events", 2, None),
        ("SELECT e.nothing FROM events e", 2, None),
        ("SELECT 1 / (log_offset - log_offset) FROM events", 1, None),
        ("SELECT 1 % 0", 1, None),
        ("SELECT SELECT 1", 2, "this is no SQL that Spark understands: "),
        ("SELECT log_offset + FROM events", 2, ""),
        ("SELECT count(*), log_offset FROM events", 2, ""),
        ("SELECT no_function(1)", 2, ""),
        ("SELECT CAST(source AS INT) FROM events", 1, "the query has a value that cannot be computed: "),
        ("SELECT CAST(300 AS TINYINT)", 1, "the query has a value that cannot be computed: "),
        ("SELECT array(1)[5]", 1, "the query has a value that cannot be computed: "),
        ("SELECT sum(9223372036854775807) FROM events", 1, ""),
    ],
)
def test_both_commands_end_alike(lake: Path, query: str, code: int, shared: str | None) -> None:
    """By exit code, and in words that both have: all of them (None), or how they begin, where an engine has its own."""
    ends = [CliRunner().invoke(command, ["sql", "--lake", str(lake), query]) for command in (main, tool_main)]
    assert [(end.exit_code, end.stdout) for end in ends] == [(code, "")] * 2, [end.stderr for end in ends]
    by_spark, by_duckdb = (end.stderr.rpartition("Error: ")[2] for end in ends)
    if shared is None:
        assert by_spark == by_duckdb
    else:
        assert by_spark.startswith(shared)
        assert by_duckdb.startswith(shared)


def test_what_is_no_lake(session: SparkSession, tmp_path: Path) -> None:
    done = sql(tmp_path, "SELECT 1")
    assert done.exit_code != 0 and "an ingest made" in done.stderr


ALIKE = (
    "SELECT count(*), sum(log_offset), max(source), min(log_offset) + 1, avg(log_offset), count(DISTINCT "
    "`group`) FROM events",
    "SELECT log_offset, events.source, -log_offset, -7, NOT is_control, log_offset IS NULL, `group` IS NOT "
    "NULL, log_offset / 4, round(log_offset / 3, 2), log_offset % 3, Log_Offset div 2 FROM events ORDER BY "
    "log_offset LIMIT 3",
    "SELECT 7 div -2, -7 % 3, 7 % -3, 1 / 3, nullif(1, 1), coalesce(NULL, 2), if(true, 1, 2), greatest(1, "
    "NULL, 3), nvl2(NULL, 1, 2), 1 IN (1, 2), 2 BETWEEN 1 AND 3, 'ab' LIKE 'a%', 'ab' LIKE 'a\\_', NULL <=> "
    "NULL, 1 <> 2, NOT (1 = 1)",
    "SELECT substring('abc', 0, 2), substring('abc', -2), substring_index('a-b-c', '-', -1), split('a,b,,', "
    "','), concat('a', 1, true), 'a' || 1, length('äöü'), trim('  a '), reverse('abc'), left('abc', 2)",
    "SELECT array_position(array('a'), 'b'), size(array(1, 2)), array_join(array('a', NULL, 'b'), '-'), "
    "array_distinct(array(3, 1, NULL, 3)), array_union(array(2, 1), array(1, 3)), flatten(array(array(1), "
    "array(2, 3)))",
    "SELECT round(2.675D, 2), round(1.005D, 2), round(2.5D), ceil(2.1D), bigint(-2.9D) AS a, string(1.5D) AS "
    "b, int(' 7 ') AS c, string(timestamp'2026-11-21 10:11:12.5') AS d, element_at(array(1, 2), 2) AS e, "
    "sort_array(array(2, NULL, 1), false) AS f, array_sort(array(2, NULL, 1)) AS g, exists(array(1, NULL), x "
    "-> x > 1) AS h, exists(array(1, 2), x -> x > 1) AS i",
    "SELECT timestamp_millis(1795263775400), date_trunc('WEEK', timestamp'2026-11-22 10:11:12'), "
    "dayofweek(date'2026-11-22'), unix_millis(timestamp'1969-12-31 23:59:59.999'), timestampdiff(HOUR, "
    "timestamp'2026-01-01 00:30:00', timestamp'2026-01-01 02:29:00') AS h, timestamp'2026-01-31 00:00:00' + "
    "INTERVAL 1 MONTH AS m, date_format(timestamp'2026-11-21 10:11:12', 'yyyy-MM-dd HH:mm') AS f, "
    "datediff(date'2026-11-21', date'2026-11-01')",
    "SELECT max(struct(a, b)), min(struct(a, b)), max_by(a, c), collect_list(a), bool_or(a = 1), count_if(a = "
    "1), percentile(c, 0.5), median(c), try_sum(a), count(DISTINCT a, b) FROM (SELECT 1 AS a, NULL AS b, 1 AS "
    "c UNION ALL SELECT 1, 2, 2 UNION ALL SELECT NULL, 3, 3)",
    "SELECT rank() OVER (PARTITION BY topic ORDER BY log_offset DESC) AS r, lag(log_offset) OVER (PARTITION "
    "BY topic ORDER BY log_offset) AS l, upper(`group`) AS `group` FROM events ORDER BY 1, 2, 3",
    "SELECT topic, count(*) AS n FROM events GROUP BY ROLLUP(topic) ORDER BY topic NULLS LAST, n",
    "SELECT unix_millis(timestamp'2026-11-23 00:00:00.7139') AS a, unix_millis(timestamp'1969-12-31 23:59:59.9995') AS b, "
    "unix_seconds(timestamp'1969-12-31 23:59:59.9') AS c",
    "SELECT explode(array(1, 2)), 3",
    "SELECT count(DISTINCT log_offset div 7, log_offset % 1000), count(DISTINCT topic, log_offset div 2) FROM events",
    "SELECT substring_index(topic, '-', 0), substring_index(NULL, '-', 0), substring_index('a', NULL, 0) FROM events",
    "SELECT count(DISTINCT 1, source IS NOT NULL), count(DISTINCT topic = 'x', 1 = 1 OR source IS NULL) FROM events",
    "SELECT sum(log_offset) / count(*), sum(log_offset) % count(*), sum(log_offset) div count(*) FROM events WHERE false",
    "SELECT 0 AS a, lower('B') AS b, count(*) AS n FROM events WHERE false GROUP BY ALL",
    "SELECT 0 AS a, topic AS b, count(*) AS n FROM events WHERE false GROUP BY ALL",
    "SELECT 0 / nullif(log_offset - 2, 0) AS a, count(*) AS n FROM events GROUP BY 0 / nullif(log_offset - 2, 0)",
    "SELECT array(0 / -1) AS a, 0 / -1 AS b",
    "SELECT * FROM (SELECT 1 AS x, 2 AS y) a JOIN (SELECT 1 AS x, 3 AS z) b ON a.x = b.x",
)
"""Where the two engines' own SQL differs, in values or in the names of columns without an alias."""


def test_without_spark_the_same_values_and_names(session: SparkSession, lake: Path) -> None:
    own = session.newSession()
    OpenLake(own, str(lake)).show_for("events")
    opened = DuckLake(str(lake))
    for query in ALIKE:
        assert agree(own, opened, query)


EVERYDAY = Path(__file__).with_name("everyday.sql")


def test_everyday_questions_are_answered_without_spark(session: SparkSession, lake: Path) -> None:
    """A hundred functions and clauses: none is refused, and each answer is Spark's."""
    own = session.newSession()
    OpenLake(own, str(lake)).show_for("events")
    opened = DuckLake(str(lake))
    lines = [line for line in EVERYDAY.read_text("utf-8").splitlines() if not line.startswith("--")]
    questions = [line for line in lines if line.startswith(("SELECT ", "WITH "))]
    columns = [column for line in lines if line not in questions for column in split_columns(line)]
    pieces = [columns[start : start + 40] for start in range(0, len(columns), 40)]
    values = [
        "SELECT " + ", ".join(f"{column} AS c{number}" for number, column in enumerate(piece))
        for piece in pieces
    ]
    for query in (*values, *questions):
        assert agree(own, opened, query), query


def split_columns(line: str) -> list[str]:
    """Return the columns of a line, cut at the commas that stand in no text and no parentheses."""
    return re.findall(
        r"(?:'[^']*'|\((?:'[^']*'|\((?:'[^']*'|\([^()]*\)|[^'()])*\)|[^'()])*\)|[^',()])+", line
    )


BROKER = LAG / "broker"
LAKE_PAGE = (FIXTURES.parent / "docs" / "lake.md").read_text()
QUESTIONS = re.findall(r"\n([^\n]+\?)\n\n```sql\n(.*?)```\n\n```\n(.*?)```", LAKE_PAGE, re.DOTALL)


@pytest.mark.engine
def test_the_questions_of_the_lake_page(session: SparkSession, tmp_path: Path) -> None:
    """Each answer as it is printed there, spaces aside."""
    lake = str(tmp_path / "lake")
    for cluster in ("2.4.1-mix", "3.9.2-txn", "4.3.1-kip848"):
        ingest_here(tmp_path / "lake", CORPORA / cluster / "segments", cluster=cluster)
    ingest_here(tmp_path / "lake", BROKER, cluster="lag")
    replay(lake, lambda: session)
    lag(lake, lambda: session, LagRequest(ends=EndsRequest(paths=[str(BROKER)])))
    expiry(lake, lambda: session, PolicyOverrides(retentions=[7 * 24 * 3_600_000]))
    own = session.newSession()
    shown = open_lake(own, lake)
    assert len(QUESTIONS) == 10
    for question, query, printed in QUESTIONS:
        answer = ask(own, shown, query)
        out = BytesIO()
        write_rows(out, answer.rows, "table", PrintedTable.of_names(answer.columns))
        assert _words(out.getvalue().decode()) == _words(printed), question
    opened = DuckLake(lake)
    assert all(agree(own, opened, query) for _, query, _ in QUESTIONS)


def _words(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_the_lake_page_names_every_view() -> None:
    of_kinds = {view.name for view in OF_KINDS} - {"group_metadata_members"}
    others = {view.name for view in VIEWS} - of_kinds - INNER
    assert [name for name in {*others, CONTENTS} if f"`{name}`" not in LAKE_PAGE] == []
