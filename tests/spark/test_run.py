"""All jobs by one command, and each by its own: what they print, and that only what is new is done."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from spark.cli import main
from tests.spark.histories import histories, plain_histories, rows
from tests.spark.lakes import CORPORA

pytestmark = pytest.mark.spark

LOGS = CORPORA / "4.1.2-newgroups" / "segments"


def test_run_is_ingest_and_replay(session: SparkSession, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    command = ["run", str(LOGS), "--lake", str(lake), "--cluster", "c"]
    done = CliRunner().invoke(main, command)
    assert (done.exit_code, done.stderr) == (0, "")
    ingested, replayed = map(json.loads, done.stdout.splitlines())
    assert histories(lake) == plain_histories({"c": LOGS})
    assert (ingested["job"], ingested["run"]) == ("ingest", 1)
    assert ingested["rows"] == {name: len(rows(lake, name)) for name in ("log", "events", "sources")}
    sums = ingested["ledger"]
    assert sums["records"] == sums["decoded"] + sums["kept_raw"] + sums["control"] == len(rows(lake, "log"))
    assert (replayed["job"], replayed["run"]) == ("replay", 1)
    assert replayed["rows"] == {name: len(rows(lake, name)) for name in replayed["rows"]}
    assert replayed["ledger"]["records"] == sums["records"]
    again = CliRunner().invoke(main, [*command, "--format", "table"])
    assert again.stderr == "".join(
        f"{job}: nothing new, the tables are as they were\n" for job in ("ingest", "replay")
    )
    assert [line.split()[0] for line in again.stdout.splitlines()] == ["job", "ingest", "replay"]


def test_replay_alone_by_rules_that_are_asked_for(session: SparkSession, tmp_path: Path) -> None:
    CliRunner().invoke(main, ["ingest", str(LOGS), "--lake", str(tmp_path)])
    done = CliRunner().invoke(
        main, ["replay", "--lake", str(tmp_path), "--coordinator", "new", "--format", "csv"]
    )
    assert done.stdout.startswith("job,run,came in,rows,seconds\nreplay,1,")
    assert {row["rules"] for row in rows(tmp_path, "replays")} == {"new"}


def test_what_cannot_be_is_said(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["replay", "--lake", str(tmp_path)])
    assert done.exit_code == 2
    assert "is no lake: name the folder that an ingest made" in done.stderr
