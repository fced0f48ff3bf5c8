"""`offsets-spark sql`: answers as rows, in each format; what cannot be is one sentence."""

import json
import re
from io import BytesIO
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from offsets_tool.cli.render import write_rows
from offsets_tool.cli.table import PrintedTable
from offsets_tool.evidence.expiring import PolicyGiven
from offsets_tool.lake.answers import statements
from offsets_tool.lake.contents import CONTENTS, OF_KINDS, VIEWS
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
    after = json.loads(sql(tmp_path, count).stdout)
    assert (after["rows"], after["first"]) == (before["rows"] - 1, before["first"] + 1)


@pytest.mark.parametrize(("sizes", "expected"), [([], True), ([1 << 20] * 60, True), ([1 << 20] * 64, False)])
def test_a_small_lake(tmp_path: Path, sizes: list[int], expected: bool) -> None:
    for number, size in enumerate(sizes):
        with (tmp_path / f"{number}.parquet").open("wb") as file:
            file.truncate(size)
    assert is_small(str(tmp_path)) is expected
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
        ("SELEC 1", "Spark cannot answer: [PARSE_SYNTAX_ERROR]"),
        ("SELECT nothing FROM events", "Spark cannot answer: [UNRESOLVED_COLUMN"),
        ("SELECT 1 / (log_offset - log_offset) FROM events", "[DIVIDE_BY_ZERO]"),
    ],
)
def test_what_cannot_be_is_one_sentence(lake: Path, query: str, said: str) -> None:
    done = sql(lake, query)
    assert done.exit_code != 0 and done.stdout == ""
    assert said in done.stderr and len(done.stderr.splitlines()) == 1


def test_what_is_no_lake(session: SparkSession, tmp_path: Path) -> None:
    done = sql(tmp_path, "SELECT 1")
    assert done.exit_code != 0 and "an ingest made" in done.stderr


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
    expiry(lake, lambda: session, PolicyGiven(retentions=[7 * 24 * 3_600_000]))
    own = session.newSession()
    shown = open_lake(own, lake)
    assert len(QUESTIONS) == 10
    for question, query, printed in QUESTIONS:
        answer = ask(own, shown, query)
        out = BytesIO()
        write_rows(out, answer.rows, "table", PrintedTable.of_names(answer.columns))
        assert _words(out.getvalue().decode()) == _words(printed), question


def _words(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_the_lake_page_names_every_view() -> None:
    of_kinds = {view.name for view in OF_KINDS} - {"group_metadata_members"}
    others = {view.name for view in VIEWS} - of_kinds - INNER
    assert [name for name in {*others, CONTENTS} if f"`{name}`" not in LAKE_PAGE] == []
