"""All jobs by one command, and each by its own: what they print, and that only what is new is done."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from spark.cli import main
from spark.ingest.ingest import Request
from spark.run import run
from spark.views.views import open_lake
from tests.absurd_times import write_absurd_times
from tests.corpora import LAG
from tests.lag.test_data_log import SAID
from tests.spark.derived.test_lag import count
from tests.spark.derived.two_clusters import Job, kill
from tests.spark.histories import histories, plain_histories, rows
from tests.spark.lakes import CORPORA

pytestmark = pytest.mark.spark

LOGS = CORPORA / "4.1.2-newgroups" / "segments"


def test_run_is_every_job(session: SparkSession, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    command = ["run", str(LOGS), "--lake", str(lake), "--cluster", "c"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0
    assert done.stderr.startswith("c: supposed: by the rules of") and done.stderr.count("\n") == 1
    ingested, replayed, *derived = map(json.loads, done.stdout.splitlines())
    assert histories(lake) == plain_histories({"c": LOGS})
    assert (ingested["job"], ingested["run"]) == ("ingest", 1)
    assert ingested["rows"] == {name: len(rows(lake, name)) for name in ("log", "events", "sources")}
    sums = ingested["ledger"]
    assert (
        sums["records"]
        == sums["decoded_records"] + sums["raw_records"] + sums["control_records"]
        == len(rows(lake, "log"))
    )
    assert (replayed["job"], replayed["run"]) == ("replay", 1)
    assert replayed["rows"] == {name: len(rows(lake, name)) for name in replayed["rows"]}
    assert replayed["ledger"]["records"] == sums["records"]
    assert [(step["job"], step["run"], step["ledger"]) for step in derived] == [
        (job, 1, {"clusters": 1}) for job in ("lag", "expiry", "findings")
    ]
    assert [step["rows"] for step in derived] == [
        {table: len(rows(lake, table)) for table in tables}
        for tables in (["lag"], ["expiry"], ["findings", "rebalances"])
    ]
    again = CliRunner().invoke(main, [*command, "--format", "table"])
    assert again.stderr == "".join(
        f"{job}: nothing new, the tables are as they were\n"
        for job in ("ingest", "replay", "lag", "expiry", "findings")
    )
    assert [line.split()[0] for line in again.stdout.splitlines()] == [
        "job",
        "ingest",
        "replay",
        "lag",
        "expiry",
        "findings",
    ]


@pytest.mark.deep
def test_with_nothing_new_it_ends_cleanly(session: SparkSession, tmp_path: Path) -> None:
    """A scheduler calls any other end a failure. 16 of 40 processes had ended by SIGABRT."""
    command = ["run", str(LOGS), "--lake", str(tmp_path)]
    assert CliRunner().invoke(main, command).exit_code == 0
    for _ in range(20):
        done = subprocess.run(
            [sys.executable, "-m", "spark.cli", *command],
            capture_output=True,
            text=True,
            check=False,
            # Nothing new needs no JVM.
            env={**os.environ, "JAVA_HOME": "/nowhere"},
        )
        assert (done.returncode, done.stderr.count("nothing new")) == (0, 5), done.stderr


def test_lag_and_expiry_alone_by_what_is_asked_for(session: SparkSession, tmp_path: Path) -> None:
    """Options reach the rows: ends from a file, times, retentions."""
    for command in (["ingest", str(LAG / "broker")], ["replay"]):
        CliRunner().invoke(main, [*command, "--lake", str(tmp_path)])
    ends = tmp_path / "ends.txt"
    ends.write_text(SAID["latest"])
    asked = ["lag", "--lake", str(tmp_path), "--ends", str(ends), "--ends-at", str(SAID["at"])]
    done = CliRunner().invoke(main, [*asked, "--until", "2000-01-01", "--read-committed", "--grid", "1h"])
    assert (done.exit_code, rows(tmp_path, "lag")) == (0, [])
    assert {(row["timestamp"], row["method"]) for row in rows(tmp_path, "ends")} == {(SAID["at"], "sampled")}
    assert CliRunner().invoke(main, asked).exit_code == 0
    assert {row["method"] for row in rows(tmp_path, "lag")} <= {"interpolated", "sampled", "lower bound"}
    asked = ["expiry", "--lake", str(tmp_path), "--kafka-version", "3.6", "--check-interval", "2s"]
    done = CliRunner().invoke(main, [*asked, "--retention", "1m", "--retention", "7d"])
    (note,) = done.stderr.splitlines()
    assert done.exit_code == 0
    assert note.startswith("settings of ") and note.endswith(
        ": Kafka 3.6, retention 1m or 7d, checks every 2s"
    )
    found = {
        (row["release"], row["retention_ms"], row["check_interval_ms"]) for row in rows(tmp_path, "expiry")
    }
    assert found == {("3.6", 60_000, 2_000), ("3.6", 604_800_000, 2_000)}
    done = CliRunner().invoke(main, ["run", str(LAG / "broker"), "--lake", str(tmp_path)])
    steps = {step["job"]: step["run"] for step in map(json.loads, done.stdout.splitlines())}
    assert steps["expiry"] is None, "asked for as it was last"


def test_as_it_was_last_asked_also_by_a_job_that_was_interrupted(
    session: SparkSession, tmp_path: Path
) -> None:
    """Between its commits: it is finished first, which is said once, and then nothing is new."""
    request = Request(paths=[str(LOGS)], lake=str(tmp_path / "lake"), cluster="c")
    list(run(request, lambda: session, "auto"))
    at_commits = len(rows(tmp_path / "lake", "lag"))
    gridded: Job = lambda session, lake: count(session, lake, grid_ms=1_000)  # noqa: E731
    kill(session, tmp_path / "lake", gridded, 0, before=False)
    *_, lagged, _, _ = run(request, lambda: session, "auto")
    assert (lagged.run, lagged.notes) == (None, ["finished run 2, which had been interrupted"])
    assert len(rows(tmp_path / "lake", "lag")) > at_commits


def test_replay_alone_by_rules_that_are_asked_for(session: SparkSession, tmp_path: Path) -> None:
    CliRunner().invoke(main, ["ingest", str(LOGS), "--lake", str(tmp_path)])
    done = CliRunner().invoke(
        main, ["replay", "--lake", str(tmp_path), "--coordinator", "new", "--format", "csv"]
    )
    assert done.stdout.startswith("job,run,came in,rows,seconds\nreplay,1,")
    assert {row["rules"] for row in rows(tmp_path, "replays")} == {"new"}


@pytest.mark.deep
def test_no_time_stops_a_job_or_a_view(session: SparkSession, tmp_path: Path) -> None:
    """At the edges of 64 bits and of the calendar, wherever a log has a time."""
    lake = str(tmp_path / "lake")
    done = CliRunner().invoke(main, ["run", str(write_absurd_times(tmp_path)), "--lake", lake])
    assert done.exit_code == 0, done.output
    assert {row["status"] for row in rows(tmp_path / "lake", "expiry")} == {"live", "removed"}
    assert len(rows(tmp_path / "lake", "lag")) > 100
    own = session.newSession()
    open_lake(own, lake)
    for view in ("current_lag", "next_expiries", "removals_per_day", "current_offsets"):
        assert own.table(view).toArrow().num_rows


def test_what_cannot_be_is_said(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["replay", "--lake", str(tmp_path)])
    assert done.exit_code == 2
    assert "is no lake (it has no table log): name the folder that an ingest made" in done.stderr
