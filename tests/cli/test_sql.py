"""`offsets-tool sql`: formats, where queries come from, what is said. Its answers are held against Spark in tests/spark/views."""

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from tests.spark.lakes import SEGMENT, ingest_here, rows


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("sql") / "lake"
    ingest_here(made, SEGMENT, cluster="txn")
    return made


def sql(lake: Path, *arguments: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(main, ["sql", "--lake", str(lake), *arguments], input=typed)


def test_values_of_all_types(lake: Path) -> None:
    """As tests/spark/views/test_sql.py has them of Spark."""
    done = sql(
        lake,
        "SELECT timestamp'2026-11-21 18:00:00.123' AS at, date'2026-11-21' AS day, 1.50 AS ratio, X'0001' AS raw, "
        "named_struct('a', 1, 'inner', array(timestamp'1970-01-01 00:00:00')) AS nested, CAST(NULL AS INT) AS none, "
        "'é' AS text, 1 AS text",
    )
    assert (done.exit_code, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        "at": "2026-11-21T18:00:00.123Z",
        "day": "2026-11-21",
        "ratio": "1.50",
        "raw": "AAE=",
        "nested": {"a": 1, "inner": ["1970-01-01T00:00:00.000Z"]},
        "none": None,
        "text": "é",
        "text_2": 1,
    }


def test_several_queries_and_formats(lake: Path) -> None:
    events = rows(lake, "events")
    queries = (
        "SELECT count(*) AS records FROM events;",
        "SELECT log_offset, control FROM events WHERE log_offset < 3 ORDER BY log_offset",
    )
    done = sql(lake, "--format", "csv", *queries)
    first = [f"{row['log_offset']},{row['control'] or ''}" for row in events if row["log_offset"] < 3]
    assert done.stdout.splitlines() == ["records", str(len(events)), "log_offset,control", *first]
    assert sql(lake, "--format", "table", queries[0]).stdout.split() == ["records", str(len(events))]
    shown = sql(lake, "--format", "table", "--show", "control", queries[1]).stdout.splitlines()
    assert shown[0].split() == ["control"]


def test_queries_from_a_pipe(lake: Path) -> None:
    done = sql(lake, typed="SELECT\n  1 AS a;\n\nSELECT ';' AS b;\nSELECT 3 AS c\n")
    assert list(map(json.loads, done.stdout.splitlines())) == [{"a": 1}, {"b": ";"}, {"c": 3}]


def test_without_a_query_it_lists_what_can_be_asked(lake: Path) -> None:
    listed = list(csv.DictReader(sql(lake, "--format", "csv", typed="").stdout.splitlines()))
    names = [row["name"] for row in listed]
    assert {"events", "log", "sources", "offenders", "group_metadata"} < set(names)
    assert "current_offsets" not in names, "nothing was replayed"
    assert all(row["kind"] in ("table", "view") and row["comment"].endswith(".") for row in listed)


def test_describe(lake: Path) -> None:
    described = {
        row["col_name"]: row for row in map(json.loads, sql(lake, "DESCRIBE offenders").stdout.splitlines())
    }
    assert described["bytes"] == {
        "col_name": "bytes",
        "data_type": "bigint",
        "comment": "Bytes of their keys and values.",
    }
    assert described["share_of_bytes"]["data_type"] == "double"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--lake", "nowhere", "SELECT 1"], 2, "nowhere is no lake"),
        (["SELECT 1"], 2, "Missing option '--lake'"),
        (["--lake", "LAKE", "SELECT FROM WHERE"], 2, "this is no SQL that Spark understands: line 1"),
        (
            ["--lake", "LAKE", "COPY events TO 'x.csv'"],
            2,
            "only questions are answered, and nothing is written",
        ),
        (["--lake", "LAKE", "SELECT * FROM ownership"], 2, "ownership needs the table offset_history"),
        (["--lake", "LAKE", "SELECT 1 % 0"], 1, "divides by zero"),
        (["--lake", "LAKE", "--show", "x", "--format", "table", "SELECT 1 AS a"], 2, "x"),
    ],
)
def test_what_cannot_be_is_one_sentence(lake: Path, arguments: list[str], code: int, said: str) -> None:
    done = CliRunner().invoke(main, ["sql", *(str(lake) if each == "LAKE" else each for each in arguments)])
    assert (done.exit_code, done.stdout) == (code, "")
    assert said in done.stderr and len(done.stderr.strip().splitlines()) <= (1 if code == 1 else 4)


def test_other_rows_are_shown_before_an_error(lake: Path) -> None:
    done = sql(lake, "SELECT 1 AS a", "SELECT nothing FROM events")
    assert (done.exit_code, done.stdout) == (2, '{"a":1}\n')
    assert "there is no column nothing here" in done.stderr
