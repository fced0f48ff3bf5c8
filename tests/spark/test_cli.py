"""The command: what it prints, how it ends, and that killing it does no harm."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from socket import create_server

import pytest
from click.testing import CliRunner, Result
from deltalake.exceptions import DeltaError
from pyspark.sql import SparkSession

from spark.cli import main
from spark.ingest.ingest import Request
from spark.lake.folder import opened
from spark.run import run
from tests.depth import DEEP
from tests.spark.lakes import (
    BY_SPARK,
    COMMAND,
    CORPORA,
    SEGMENT,
    bring,
    comparable,
    content,
    no_session,
    plain,
    rows,
)

LOGS = CORPORA / ("3.3.2-mix" if DEEP else "3.9.2-txn") / "segments"


def test_help_needs_no_spark() -> None:
    shown = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "spark.cli", "ingest", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "SOURCE..." in shown.stdout and "--lake" in shown.stdout
    assert "pyspark" not in shown.stderr and "pyarrow" not in shown.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "SOURCE"),
        (["nowhere", "--lake", "lake"], 1, "nowhere: does not exist"),
        ([str(SEGMENT), "--lake", "/proc/self/lake"], 1, "cannot be written"),
        ([str(SEGMENT), "--lake", "lake", "--columns", "x"], 2, "NAME=COLUMN"),
        ([str(SEGMENT), "--lake", "lake", "--log-partition", "9"], 1, "no segment of partition 9"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["ingest", *arguments])
    assert (done.exit_code, done.stdout != "") == (code, code == 1)
    assert said in done.stderr
    assert code == 2 or len(done.stderr.splitlines()) == 1


ORDER = ["ingest", "replay", "lag", "expiry", "findings"]
"""The jobs of `run`."""
WRITING = {
    "run": [str(SEGMENT)],
    "ingest": [str(SEGMENT)],
    "replay": [],
    "lag": [],
    "expiry": [],
    "findings": [],
    "compact": [],
    "retain": ["--keep", "1d"],
    "forget": ["--cluster", "c"],
    "upgrade": [],
}
"""The commands that write to a lake, with what else they must be given."""


@pytest.fixture(scope="module")
def in_use(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A lake that a job is writing to."""
    lake = tmp_path_factory.mktemp("in-use") / "lake"
    list(run(Request(paths=[str(SEGMENT)], lake=str(lake), cluster="c"), no_session, "auto"))
    with opened(lake):
        yield lake


@pytest.mark.parametrize("command", WRITING)
def test_a_lake_in_use_may_be_tried_again(in_use: Path, command: str) -> None:
    """Schedulers know this exit code; a wrong option, which none should try again, has another."""
    asked = [command, *WRITING[command], "--lake", str(in_use)]
    for wait, end in (([], "; --wait 10m waits for it\n"), (["--wait", "1ms"], "\n")):
        done = in_another_thread([*asked, *wait])
        assert done.exit_code == os.EX_TEMPFAIL == 75, done.output
        assert [json.loads(line)["job"] for line in done.stdout.splitlines()] == (
            [command] if command in ("run", *ORDER) else []
        )
        refusal = f"Error: another job is writing to {in_use}: wait until it is done{end}"
        assert done.stderr.endswith(refusal)
        assert done.stderr.count("\n") == 1 + bool(wait)
    assert in_another_thread([*asked, "--wait", "soon"]).exit_code == 2


@pytest.mark.parametrize("job", ORDER)
def test_a_pipe_sees_which_job_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: str) -> None:
    """Of `run` behind those that were done, and of a job alone. The sentence and the exit code are as on a terminal."""

    def fail(*arguments: object, **options: object) -> None:
        raise DeltaError("the disk hums")

    monkeypatch.setattr(f"spark.run.{job}", fail)
    lake = ["--lake", str(tmp_path)]
    done = CliRunner().invoke(main, ["run", str(SEGMENT), *lake])
    *steps, failed = map(json.loads, done.stdout.splitlines())
    assert [step["job"] for step in steps] == ORDER[: ORDER.index(job)]
    assert failed == {"job": job, "error": failed["error"]}
    assert failed["error"].startswith("it could not be done (the disk hums); ")
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (1, f"Error: {failed['error']}")
    monkeypatch.setattr("spark.ingest.ingest.ingest", fail)
    alone = [job, *([str(SEGMENT)] if job == "ingest" else []), *lake]
    done = CliRunner().invoke(main, alone)
    assert (done.exit_code, json.loads(done.stdout)) == (1, failed)
    assert CliRunner().invoke(main, [*alone, "--format", "table"]).stdout == ""


@pytest.mark.parametrize("command", [name for name in WRITING if name not in ("retain", "forget", "upgrade")])
def test_a_master_that_cannot_be_reached_is_said(
    in_use: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Also where there is so little to do that no job would ask for it."""
    monkeypatch.setattr("spark.runtime.settings.getproxies", dict)
    for master in ("spark://127.0.0.1:1", "spark://127.0.0.1:1,127.0.0.1:2", "sc://127.0.0.1:1/;user_id=me"):
        asked = [command, *WRITING[command], "--lake", str(in_use), "--master", master]
        done = CliRunner().invoke(main, asked)
        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr.startswith(f"Error: {master} cannot be reached (Connection refused). Check that")
        assert done.stderr.count("\n") == 1


def test_a_master_that_listens_is_not_asked_for_little(tmp_path: Path) -> None:
    with create_server(("127.0.0.1", 0)) as listening:
        master = f"spark://127.0.0.1:1,127.0.0.1:{listening.getsockname()[1]}"
        asked = ["ingest", str(SEGMENT), "--lake", str(tmp_path), "--master", master]
        assert CliRunner().invoke(main, asked).exit_code == 0


def test_a_lake_is_waited_for(in_use: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    shutil.copytree(in_use, lake)
    with ExitStack() as job:
        job.enter_context(opened(lake))
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(CliRunner().invoke, main, ["replay", "--lake", str(lake), "--wait", "10m"])
            time.sleep(0.3)
            assert not waiting.done()
            job.close()
            done = waiting.result(60)
    assert done.exit_code == 0
    assert done.stderr.splitlines() == [
        f"{lake} is in use by another job: waiting for it",
        "replay: nothing new, the tables are as they were",
    ]


def in_another_thread(arguments: Sequence[str]) -> Result:
    """Run a command as another job than that of this thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(CliRunner().invoke, main, arguments).result()


@pytest.mark.spark
def test_the_summary(session: SparkSession, tmp_path: Path) -> None:
    ingest = ["ingest", str(SEGMENT), "--lake", str(tmp_path / "lake")]
    first = CliRunner().invoke(main, ingest)
    assert (first.exit_code, first.stderr) == (0, "")
    row = json.loads(first.stdout)
    events = rows(tmp_path / "lake", "events")
    assert row["run"] == row["sources"] == 1 and row["seconds"] > 0
    assert (row["records"], row["bytes"]) == (len(events), SEGMENT.stat().st_size)
    assert row["control_records"] == sum(event["is_control"] for event in events) > 0
    second = CliRunner().invoke(main, [*ingest, "--format", "csv"])
    assert second.stderr == "nothing new: the tables are as they were\n"
    assert second.stdout.splitlines()[1].startswith(",0,0,0,")


def log_committed(lake: Path) -> bool:
    return (lake / "log" / "_delta_log" / f"{1:020d}.json").exists()


def file_begun(lake: Path) -> bool:
    return any((lake / "log").glob("*.parquet"))


def tables_begun(lake: Path) -> bool:
    return (lake / "log" / "_delta_log").exists()


@pytest.mark.spark
@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(tables_begun, marks=pytest.mark.deep),
        pytest.param(file_begun, marks=pytest.mark.deep),
        log_committed,
    ],
)
@pytest.mark.parametrize(
    "command", [COMMAND, pytest.param(BY_SPARK, marks=pytest.mark.deep)], ids=["here", "spark"]
)
def test_killed_for_good(
    session: SparkSession, tmp_path: Path, command: Sequence[str], moment: Callable[[Path], bool]
) -> None:
    lake = tmp_path / "lake"
    running = subprocess.Popen([*command, "ingest", str(LOGS), "--lake", str(lake)])
    while running.poll() is None and not moment(lake):
        time.sleep(0.001)
    running.kill()
    assert running.wait() == -signal.SIGKILL
    bring(session, lake, LOGS)
    assert comparable(lake) == plain(LOGS)
    bring(session, tmp_path / "once", LOGS)
    assert content(lake) == content(tmp_path / "once")


@pytest.mark.spark
@pytest.mark.deep
def test_a_quiet_start(session: SparkSession, tmp_path: Path) -> None:
    """A JVM of its own says nothing on stderr, once the jars are there (`session` has seen to that)."""
    done = subprocess.run(
        [*BY_SPARK, "ingest", str(SEGMENT), "--lake", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert json.loads(done.stdout)["run"] == 1
