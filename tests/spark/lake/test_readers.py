"""Readers beside a writer see whole runs or nothing of them; and other engines read the tables without Java."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from spark.replay.replay import replay
from spark.views.views import OpenLake, open_lake
from tests.spark.lakes import CORPORA, Row, ingest_here, rows

pytestmark = [pytest.mark.spark, pytest.mark.engine]

CLUSTER = "3.9.2-txn"
SEGMENTS = [CORPORA / CLUSTER / "segments" / f"__consumer_offsets-{partition}" for partition in (2, 3, 4)]
TOTALS = """
    SELECT (SELECT sum(records) FROM sources) AS sources, (SELECT count(*) FROM log) AS log,
           (SELECT count(*) FROM events) AS events, (SELECT sum(commits) FROM commits_per_minute) AS commits
"""
HISTORIES = """
    SELECT (SELECT count(*) FROM offset_history) AS offsets, (SELECT count(*) FROM group_history) AS groups,
           (SELECT sum(records) FROM replays) AS records, (SELECT count(*) FROM ownership) AS ownership
"""


def opened(session: SparkSession, lake: Path) -> SparkSession:
    own = session.newSession()
    open_lake(own, str(lake))
    return own


def ask(session: SparkSession, sql: str) -> Row:
    (row,) = session.sql(sql).toArrow().to_pylist()
    return dict(row)


@contextmanager
def after_commits(tables: tuple[str, ...], look: Callable[[], Row]) -> Iterator[list[Row]]:
    """Collect what `look` returns after each commit to one of these tables, before the run commits the next; yield that list."""
    seen: list[Row] = []
    commit = DeltaTable.create_write_transaction

    def committing(table: DeltaTable, *args: Any, **options: Any) -> None:
        commit(table, *args, **options)
        if Path(table.table_uri).name in tables:
            seen.append(look())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DeltaTable, "create_write_transaction", committing)
        yield seen


@pytest.mark.deep
def test_an_ingest_is_seen_as_a_whole(session: SparkSession, tmp_path: Path) -> None:
    ingest_here(tmp_path, SEGMENTS[0])
    reader = opened(session, tmp_path)
    before = ask(reader, TOTALS)
    with after_commits(("log", "events"), lambda: ask(opened(session, tmp_path), TOTALS)) as seen:
        ingest_here(tmp_path, SEGMENTS[1])
    after = ask(opened(session, tmp_path), TOTALS)
    events = rows(tmp_path, "events")
    whole = {
        "sources": len(events),
        "log": len(events),
        "events": len(events),
        "commits": sum(row["committed_offset"] is not None for row in events),
    }
    assert seen == [before, before]
    assert after == whole != before
    assert ask(reader, TOTALS) == before, "who began before goes on seeing that"


@pytest.mark.deep
def test_a_replay_is_seen_as_a_whole(session: SparkSession, tmp_path: Path) -> None:
    ingest_here(tmp_path, SEGMENTS[2])
    replay(str(tmp_path), lambda: session)
    reader = opened(session, tmp_path)
    before = ask(reader, HISTORIES)
    ingest_here(tmp_path, SEGMENTS[0])
    tables = ("offset_history", "member_history")
    with after_commits(tables, lambda: ask(opened(session, tmp_path), HISTORIES)) as seen:
        replay(str(tmp_path), lambda: session)
    after = ask(opened(session, tmp_path), HISTORIES)
    assert seen == [before] * len(seen) != []
    assert all(after[name] > before[name] for name in before)
    assert ask(reader, HISTORIES) == before


def test_what_is_asked_for_late_is_as_it_was_when_the_lake_was_opened(
    session: SparkSession, tmp_path: Path
) -> None:
    ingest_here(tmp_path, SEGMENTS[2])
    replay(str(tmp_path), lambda: session)
    own, late = opened(session, tmp_path), session.newSession()
    lake = OpenLake(late, str(tmp_path))
    ingest_here(tmp_path, SEGMENTS[0])
    replay(str(tmp_path), lambda: session)
    lake.show_for(TOTALS + HISTORIES)
    assert (ask(late, TOTALS), ask(late, HISTORIES)) == (ask(own, TOTALS), ask(own, HISTORIES))
    assert ask(opened(session, tmp_path), TOTALS) != ask(own, TOTALS)


IN_DUCKDB = """
import json, sys, duckdb
from offsets_tool.log.archive.delta import delta_dataset

lake, query = sys.argv[1:]
connection = duckdb.connect()
for table in ("sources", "events", "offset_history"):
    connection.register(table, delta_dataset(f"{lake}/{table}"))
found = connection.sql(query)
print(json.dumps([dict(zip(found.columns, row)) for row in found.fetchall()]))
"""


@pytest.mark.parametrize(
    "query",
    [
        "SELECT `group`, count(*) AS records, max(committed_offset) AS reached FROM events "
        "WHERE run IN (SELECT run FROM sources) AND `group` IS NOT NULL GROUP BY `group` ORDER BY `group`",
        "SELECT `group`, topic, partition, committed_offset, metadata FROM offset_history "
        "WHERE is_effective AND to_log_offset IS NULL ORDER BY `group`, topic, partition",
    ],
    ids=["events", "histories"],
)
def test_duckdb_without_java(lake: Path, asked: SparkSession, query: str) -> None:
    """The same answers from the same files, through delta-rs and Arrow, on a machine that has no Java at all."""
    done = subprocess.run(
        [sys.executable, "-c", IN_DUCKDB, str(lake), query.replace("`", '"')],
        env={name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | {"PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    expected = asked.sql(query).toArrow().to_pylist()
    assert json.loads(done.stdout) == expected != []


@pytest.fixture(scope="module")
def lake(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("readers") / "lake"
    ingest_here(made, SEGMENTS[0])
    replay(str(made), lambda: session)
    return made


@pytest.fixture(scope="module")
def asked(session: SparkSession, lake: Path) -> SparkSession:
    return opened(session, lake)
