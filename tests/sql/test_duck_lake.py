"""A lake asked through DuckDB: whole runs as of one moment, nothing but questions, and one sentence for what cannot be."""

from decimal import ROUND_HALF_UP, Decimal, localcontext
from pathlib import Path

import duckdb
import pytest
from deltalake import DeltaTable, Schema
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from offsets_tool.errors import OffsetsToolError, UsageError
from offsets_tool.lake.contents import CONTENTS, VIEWS
from offsets_tool.lake.tables import ALL_TABLES, DERIVATIONS, EVENTS, LAG, SOURCES, TABLES, Table
from offsets_tool.lake.whole import open_table
from offsets_tool.log.archive.delta import OpenDelta, delta_rows
from offsets_tool.sql import duck_lake
from offsets_tool.sql.duck_lake import DuckLake
from spark.lake.commit import INGEST, Chain
from tests.spark.lakes import SEGMENT, Row, ingest_here, rows
from tests.spark.views.random_lake import commit, made_up_lake


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake in a folder whose name is a pattern."""
    made = tmp_path_factory.mktemp("sql") / "a lake [x]*'s"
    ingest_here(made, SEGMENT, cluster="txn")
    return made


@pytest.fixture(scope="module")
def opened(lake: Path) -> DuckLake:
    return DuckLake(str(lake))


def answer(opened: DuckLake, query: str) -> list[Row]:
    return list(opened.ask(query).rows)


def test_tables_have_their_rows(lake: Path, opened: DuckLake) -> None:
    found = answer(opened, "SELECT log_offset, `group`, committed_offset FROM events ORDER BY log_offset")
    assert found == [{name: row[name] for name in found[0]} for row in rows(lake, "events")]


def test_a_lake_by_its_uri(lake: Path) -> None:
    """Named as Spark names folders."""
    counted = "SELECT count(*) AS n FROM log"
    assert answer(DuckLake(lake.as_uri()), counted) == answer(DuckLake(str(lake)), counted)


def test_every_view_is_there_or_says_what_it_lacks(opened: DuckLake) -> None:
    for one in opened.shown:
        if one.lacks is None:
            assert opened.ask(f"SELECT * FROM {one.name}").columns
        else:
            with pytest.raises(UsageError, match=f"the table {one.lacks}, which this lake does not have yet"):
                opened.ask(f"SELECT * FROM {one.name}")
    assert {one.name for one in opened.shown} == {each.name for each in (*ALL_TABLES, *VIEWS)}
    assert [row["name"] for row in answer(opened, f"SELECT name FROM {CONTENTS}")] == [
        each.name for each in opened.shown
    ]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) AS n FROM EVENTS",
        "DESCRIBE current_offsets",
        "WITH lag AS (SELECT * FROM Sources) SELECT count(*) AS n FROM lag",
        "SELECT (SELECT count(*) FROM offenders) AS n, count(*) AS m FROM contents",
        "SELECT * FROM current_lag",
        "SELECT * FROM nothing",
        *(f"SELECT count(*) AS n FROM {view.name}" for view in VIEWS[::12]),
    ],
)
def test_a_lake_opened_for_a_question_answers_as_one_opened_for_all(
    lake: Path, opened: DuckLake, query: str
) -> None:
    assert _said(DuckLake(str(lake), ["no question", query]), query) == _said(opened, query)


def _said(lake: DuckLake, query: str) -> list[Row] | str:
    """Return the answer, or why there is none."""
    try:
        return answer(lake, query)
    except UsageError as error:
        return str(error)


def test_only_what_questions_read_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what says which runs count: each table costs requests to storage."""
    made_up_lake(tmp_path)
    lake = str(tmp_path)
    opened: list[str] = []

    def open_(root: Path, table: Table) -> "OpenDelta | None":
        opened.append(table.name)
        return open_table(root, table)

    monkeypatch.setattr(duck_lake, "open_table", open_)
    DuckLake(lake, ["SELECT 1", "SELECT * FROM copies JOIN log USING (cluster)"])
    assert sorted(opened) == ["copies", "log", "sources"]
    opened.clear()
    DuckLake(lake, ["SELECT * FROM (SELECT * FROM removals)"])
    assert sorted(opened) == ["removals", "replays", "sources"]
    opened.clear()
    DuckLake(lake)
    assert sorted(opened) == sorted(table.name for table in ALL_TABLES)


def test_a_table_without_rows(opened: DuckLake) -> None:
    assert answer(opened, "SELECT copy, log_start_offset FROM copies WHERE run > 5") == []


def test_what_is_not_finished_does_not_count(tmp_path: Path) -> None:
    """A run that began, of an ingest and of a job that replaces rows; and one that was given up."""
    made_up_lake(tmp_path)
    last = {"run": 2, "log_offset": 1, "cluster": "a", "source": "s"}
    commit(tmp_path, Chain(INGEST.app, (EVENTS,)), 2, (EVENTS, [last]))
    before = DuckLake(str(tmp_path))
    assert answer(before, "SELECT count(*) AS n FROM events") == [{"n": 0}]
    assert answer(before, "SELECT max(run) AS run, count(*) AS n FROM lag") == [{"run": 1, "n": 400}]
    assert len(delta_rows(tmp_path / LAG.name)) == 450
    commit(
        tmp_path,
        Chain(INGEST.app, (EVENTS, SOURCES)),
        3,
        (EVENTS, [last | {"run": 3}]),
        (SOURCES, [{"run": 3}]),
    )
    commit(tmp_path, Chain(INGEST.app, (DERIVATIONS,)), 2, (DERIVATIONS, [{"derived": "lag", "run": 2}]))
    after = DuckLake(str(tmp_path))
    assert answer(after, "SELECT run FROM events") == [{"run": 3}]
    assert answer(after, "SELECT max(run) AS run, count(*) AS n FROM lag") == [{"run": 2, "n": 450}]
    assert answer(before, "SELECT count(*) AS n FROM events") == [{"n": 0}], "as it was when it was opened"


HOSTILE = (
    "COPY events TO '/tmp/events.csv'",
    "CREATE TABLE mine AS SELECT * FROM events",
    "INSERT INTO events SELECT * FROM events",
    "DELETE FROM events",
    "DROP VIEW events",
    "ATTACH '/tmp/other.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "PRAGMA database_list",
    "CALL pragma_version()",
    "EXPORT DATABASE '/tmp/x'",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM glob('/*')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM `/etc/passwd`",
    "SELECT * FROM `/etc/passwd.csv`",
    "SELECT * FROM parquet.`/tmp/x.parquet`",
    "SELECT * FROM csv.`/etc/passwd`",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM duckdb_settings()",
    "SELECT getenv('HOME')",
    "SELECT spark_divide(1, 0)",
    "SELECT current_setting('access_mode')",
    "SELECT reflect('java.lang.System', 'exit', 0)",
    "SELECT 1; DROP VIEW events",
    "WITH x AS (SELECT 1) INSERT INTO events SELECT * FROM x",
    "SELECT * INTO mine FROM events",
    "FROM events INSERT OVERWRITE DIRECTORY '/tmp/x' SELECT *",
    "INSERT OVERWRITE LOCAL DIRECTORY '/tmp/x' SELECT * FROM events",
    "SELECT TRANSFORM(source) USING 'cat' FROM events",
    "DESCRIBE read_csv('/etc/passwd')",
    "DESCRIBE delta.`/etc`",
    "EXPLAIN ANALYZE SELECT 1",
    "USE x",
    "CACHE TABLE events",
    "",
    ";",
    "-- nothing",
)


@pytest.mark.parametrize("query", HOSTILE)
def test_only_questions_to_this_lake_are_answered(opened: DuckLake, query: str) -> None:
    with pytest.raises(UsageError) as refused:
        list(opened.ask(query).rows)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "statement",
    [
        "COPY (SELECT 1) TO '/tmp/mine.csv'",
        "ATTACH '/tmp/mine.db'",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "SET allowed_paths = ['/etc/passwd']",
        "SELECT * FROM opened",
    ],
)
def test_duckdb_itself_is_shut_in(opened: DuckLake, statement: str) -> None:
    """Whatever a query may be translated to."""
    with pytest.raises(duckdb.Error):
        opened._session.execute(statement).fetchall()


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELEC 1", "this is no SQL that Spark understands: line 1, column 7"),
        ("SELECT 1 +\n  FROM events WHERE (", "line 2, column"),
        ("SELECT * FROM nowhere", "there is no nowhere here: SELECT name, comment FROM contents names all"),
        ("SELECT lgo_offset FROM events", "there is no column lgo_offset here: Did you mean log_offset"),
        (
            "SELECT e.lgo_offset FROM events AS e",
            "there is no column lgo_offset here: Did you mean log_offset",
        ),
        (
            "SELECT qqq FROM events",
            "there is no column qqq here: DESCRIBE a table or view to see its columns",
        ),
        (
            "SELECT approx_count_distinct(source) FROM events",
            "is not answered without Spark: offsets-spark sql takes the same query",
        ),
        ("SELECT crc32(key) FROM log", "the function crc32 is not answered without Spark"),
        ("SELECT log_offset div 1.5 FROM events", "log_offset DIV 1.5 is not answered"),
        ("SELECT 1 / (log_offset - log_offset) FROM events", "the query divides by zero"),
        ("SELECT sum(9223372036854775807) FROM events", "the query has a sum that 64 bits do not hold"),
        (
            "SELECT 9223372036854775807 + log_offset FROM events",
            "the query has a value that cannot be computed",
        ),
        ("SELECT int('x')", "the query has a value that cannot be computed"),
        ("SELECT array(1)[1]", "the index is outside of the array"),
        ("SELECT source + 1 FROM events", "DuckDB cannot answer this"),
        ("DESCRIBE nowhere", "there is no nowhere here"),
        ("SHOW TABLES", "only questions are answered"),
    ],
)
def test_what_cannot_be_is_one_sentence(opened: DuckLake, query: str, said: str) -> None:
    with pytest.raises(OffsetsToolError) as refused:
        list(opened.ask(query).rows)
    assert said in str(refused.value) and "\n" not in str(refused.value)


def test_what_is_no_lake(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"is no lake .it has no table sources.: name the folder that an ingest made"
    ):
        DuckLake(str(tmp_path))


def test_a_lake_of_another_layout_is_refused(tmp_path: Path) -> None:
    for table in TABLES:
        schema = table.schema
        if table is EVENTS:
            schema = schema.set(len(schema) - 1, schema.field(len(schema) - 1).with_name("former"))
        DeltaTable.create(str(tmp_path / table.name), Schema.from_arrow(schema))
    with pytest.raises(
        UsageError, match="events has other columns than this version writes: ingest into a new lake"
    ):
        DuckLake(str(tmp_path))


def test_damage_is_named_with_what_still_holds(tmp_path: Path) -> None:
    ingest_here(tmp_path, SEGMENT)
    opened = DuckLake(str(tmp_path))
    (file,) = (tmp_path / "events").glob("*.parquet")
    file.write_bytes(file.read_bytes()[:-100])
    for when in (opened, None):
        with pytest.raises(OffsetsToolError) as said:
            list((when or DuckLake(str(tmp_path))).ask("SELECT max(log_offset) FROM events").rows)
        assert str(said.value).startswith(f"{file}: has ")
        assert str(said.value).endswith("or ingest the same sources into a new lake")


def test_the_lake_is_left_as_it_was(lake: Path, opened: DuckLake) -> None:
    before = {path: path.stat().st_mtime_ns for path in lake.rglob("*")}
    answer(opened, "SELECT * FROM offenders")
    assert {path: path.stat().st_mtime_ns for path in lake.rglob("*")} == before


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (
            "SELECT * FROM log TABLESAMPLE (20 PERCENT)",
            "TABLESAMPLE (20 PERCENT) is not answered without Spark",
        ),
        ("SELECT 7.5 div log_offset FROM log", "7.5 DIV log_offset is not answered without Spark"),
        ("SELECT substring() FROM log", "Substring lacks a part"),
        ("SELECT 4 | 2 & 1", "4 | 2 & 1 (put one of the operators in parentheses) is not answered"),
        ("SELECT 'a' || 1 + 2", "'a' || 1 + 2 (put the sum in parentheses) is not answered"),
        ("SELECT transform(array(1), (x, i) -> x + i)", "(x, i) -> x + i is not answered"),
        ("SELECT filter(array(1), (x, i) -> i > 0)", "(x, i) -> i > 0 is not answered"),
        ("SELECT explode(array(1, 2)), explode(array(3))", "is not answered without Spark"),
        ("SELECT DISTINCT ON (topic) topic FROM events", "is not answered without Spark"),
        (
            "SELECT topic FROM events GROUP BY topic GROUPING SETS ((topic))",
            "GROUP BY of columns and GROUPING SETS (leave out the columns",
        ),
        ("SELECT regexp_replace('aaa', 'a', 'b', 2)", "is not answered without Spark"),
        ("SELECT regexp_extract('a1', '[0-9]+')", "is not answered without Spark"),
        ("SELECT percentile(log_offset, 0.5, run) FROM events", "PERCENTILE(log_offset, 0.5, run) is not"),
        ("SELECT mean(CAST(1.5 AS DECIMAL(3, 1)))", "MEAN(CAST(1.5 AS DECIMAL(3, 1))) is not"),
        ("SELECT 1.0 / 3L", "CAST(3 AS BIGINT) is not answered"),
        ("SELECT date_trunc('M', now())", "DATE_TRUNC('M'"),
        ("SELECT date_format(now(), 'YYYY')", "DATE_FORMAT(NOW(), 'YYYY') is not"),
        ("SELECT date_format(now(), 'yyyy [HH]')", "is not answered without Spark"),
    ],
)
def test_what_is_refused_is_named_in_words(opened: DuckLake, query: str, words: str) -> None:
    with pytest.raises(UsageError) as error:
        opened.ask(query)
    assert words in str(error.value) and "<class" not in str(error.value)


@pytest.mark.parametrize(
    "value",
    [
        "substring_index('aaaa', 'aa', 2)",
        "split('abc', 'b*')",
        "upper('ŉ')",
        "lower('ΑΣ')",
        "string(12345678.5D)",
        "string(now() - now())",
        "length(1e10)",
        "CAST('1_000' AS DOUBLE)",
        "CAST('infinity' AS TIMESTAMP)",
        "CAST('2026/11/21' AS DATE)",
        "CAST(5 AS TIMESTAMP)",
        "x - date'2026-11-19'",
        "max(x) - min(x)",
    ],
)
def test_values_that_spark_makes_otherwise_are_declined(opened: DuckLake, value: str) -> None:
    """What only its value shows, or its type."""
    with pytest.raises(UsageError, match="offsets-spark sql takes the same query"):
        list(opened.ask(f"SELECT {value} FROM (SELECT date'2026-11-21' AS x) GROUP BY x").rows)


DIVIDED = """SELECT CAST(CAST(x AS DECIMAL(38, {left})) AS DECIMAL(38, {left})) / CAST(y AS DECIMAL({digits}, {right})) AS q
FROM (SELECT '{x}' AS x, '{y}' AS y)"""


@given(
    st.integers(-(10**9), 10**9),
    st.integers(0, 6),
    st.integers(-(10**6), 10**6).filter(bool),
    st.integers(0, 4),
)
@settings(suppress_health_check=list(HealthCheck), deadline=None)
def test_decimals_are_divided_as_java_does(opened: DuckLake, x: int, left: int, y: int, right: int) -> None:
    """Exactly, with halves away from zero, to the digits that Spark's rules leave."""
    dividend, divisor = Decimal(x).scaleb(-left), Decimal(y).scaleb(-right)
    query = DIVIDED.format(left=left, right=right, digits=12, x=dividend, y=divisor)
    [row] = answer(opened, query)
    whole, scale = 38 - left + right, max(6, left + 12 + 1)
    kept = max(38 - whole, 6) if whole + scale > 38 else scale
    with localcontext(prec=80):
        exact = (dividend / divisor).quantize(Decimal(1).scaleb(-kept), ROUND_HALF_UP)
    assert row["q"] == f"{exact or abs(exact):f}"
