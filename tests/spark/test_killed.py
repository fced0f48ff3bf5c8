"""`offsets-spark run`, killed at random moments of every job and run again: all tables are those of a run that nobody disturbed."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from offsets_tool.log.archive.delta import delta_rows
from spark.ingest.ingest import Request
from spark.run import JobDone, run
from tests.corpora import LAG
from tests.spark.lakes import BY_SPARK, COMMAND, CORPORA, TABLES, Row, rows

pytestmark = [pytest.mark.spark, pytest.mark.deep]

JOBS = {
    "ingest": ("log", "sources", 1),
    "replay": ("offset_history", "replays", 1),
    "lag": ("lag", "derivations", 1),
    "expiry": ("expiry", "derivations", 2),
    "findings": ("findings", "derivations", 3),
}
"""The tables to which a job commits first and last, and how many commits the last one has got by then."""
PASSING = ("run", "ingest_run", "ingested_at", "replayed_at", "derived_at", "basis", "checkpoint")
"""Numbers of runs, times, and what names these."""
COMMITS_TAKE = 0.03
"""Seconds from a job's first commit to its last, about."""
COMMANDS = {"here": COMMAND, "spark": BY_SPARK}
"""Where the jobs do their work: in the command's own process, or in tasks that may go on when the command is no more."""
FIRST = 0.6
"""The share of each log that the lake has before anybody is killed."""


class Lake:
    """A lake that a command brings up to date, observed from outside by its commits."""

    def __init__(self, path: Path, broker: Path, command: Sequence[str]) -> None:
        self.path, self._broker, self._command = path, broker, command
        self._before = {table: self._commits(table) for _, table, _ in JOBS.values()}

    def start(self) -> "subprocess.Popen[bytes]":
        """Start the command, and return it once it works on the lake."""
        lock = self.path / ".ingest.lock"
        touched = lock.stat().st_mtime_ns
        arguments = ["run", str(self._broker), "--lake", str(self.path), "--cluster", "c"]
        started = subprocess.Popen(
            [*self._command, *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while started.poll() is None and lock.stat().st_mtime_ns == touched:
            time.sleep(0.001)
        return started

    def reach(self, started: "subprocess.Popen[bytes]", job: str) -> float:
        """Wait until all jobs before this one are done, and return the time."""
        before = list(JOBS)[: list(JOBS).index(job)]
        while started.poll() is None and not all(map(self.is_done, before)):
            time.sleep(0.001)
        return time.monotonic()

    def await_commit(self, started: "subprocess.Popen[bytes]", job: str) -> None:
        """Wait for the first of a job's commits."""
        table = JOBS[job][0]
        before = self._commits(table)
        while started.poll() is None and self._commits(table) == before:
            time.sleep(0.0005)

    def is_done(self, job: str) -> bool:
        _, table, commits = JOBS[job]
        return self._commits(table) >= self._before[table] + commits

    def _commits(self, table: str) -> int:
        return len(list((self.path / table / "_delta_log").glob("*.json")))


def bring_all(session: SparkSession, lake: Path, broker: Path) -> list[JobDone]:
    return list(run(Request(paths=[str(broker)], lake=str(lake), cluster="c"), lambda: session, "auto"))


def grow(broker: Path, share: float) -> None:
    """Write the logs of two brokers as those of one, up to a share of their bytes, and directories of data topics."""
    logs = [LAG / "broker", CORPORA / "3.9.2-txn" / "segments"]
    for number, log in enumerate(
        sorted(path for folder in logs for path in folder.glob("__consumer_offsets-*/*.log"))
    ):
        grown = broker / f"__consumer_offsets-{number}" / log.name
        grown.parent.mkdir(parents=True, exist_ok=True)
        grown.write_bytes(log.read_bytes()[: int(log.stat().st_size * share)])
    for topic in (LAG / "broker").glob("lag-*"):
        shutil.copytree(topic, broker / topic.name, dirs_exist_ok=True)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("broker")


@pytest.fixture(scope="module")
def begun(session: SparkSession, broker: Path) -> Path:
    """A lake on which every job was run before the logs grew."""
    lake = broker.parent / "begun"
    grow(broker, FIRST)
    assert [step.run for step in bring_all(session, lake, broker)] == [1] * len(JOBS)
    grow(broker, 1)
    return lake


@pytest.fixture(scope="module")
def undisturbed(begun: Path, broker: Path) -> tuple[Path, dict[str, dict[str, float]]]:
    """A lake that was brought up to date without a kill, and the seconds of each job of each command."""
    took = {}
    for name, command in COMMANDS.items():
        lake = Lake(Path(shutil.copytree(begun, begun.with_name(f"undisturbed-{name}"))), broker, command)
        started = lake.start()
        at = [lake.reach(started, job) for job in JOBS]
        assert started.wait() == 0
        at.append(time.monotonic())
        took[name] = {job: end - begin for job, (begin, end) in zip(JOBS, pairwise(at), strict=True)}
    return lake.path, took


def content(lake: Path) -> dict[str, list[Row]]:
    """Return all rows that count of all tables, without columns that differ from run to run."""
    tables = [path.name for path in lake.iterdir() if (path / "_delta_log").is_dir()]
    found = {
        name: rows(lake, name) if name in TABLES else delta_rows(lake / name).to_pylist() for name in tables
    }
    return {
        name: sorted(({k: v for k, v in row.items() if k not in PASSING} for row in table), key=repr)
        for name, table in found.items()
    }


def family(pid: int) -> Iterator[int]:
    """Yield the ids of a process and of all processes that it has started."""
    told = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = [tuple(map(int, line.split())) for line in told.splitlines()]
    found = [pid]
    for one in found:
        found += [child for child, parent in parents if parent == one]
        yield one


def kill(started: "subprocess.Popen[bytes]", *, alone: bool) -> None:
    """Kill the command alone, or with Spark and its workers at once."""
    for pid in [started.pid] if alone else list(family(started.pid)):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    started.wait()


@pytest.mark.parametrize("where", COMMANDS)
@pytest.mark.parametrize(("seed", "committing"), [(0, False), (1, False), (2, True)])
def test_killed_in_every_job(
    session: SparkSession,
    begun: Path,
    broker: Path,
    undisturbed: tuple[Path, dict[str, dict[str, float]]],
    tmp_path: Path,
    where: str,
    seed: int,
    committing: bool,
) -> None:
    """Anywhere in a job, or while it commits. Each time it goes on with what the one before has left."""
    expected, seconds = undisturbed[0], undisturbed[1][where]
    random = Random(seed)
    lake = Lake(Path(shutil.copytree(begun, tmp_path / "lake")), broker, COMMANDS[where])
    ended = []
    for job in JOBS:
        started = lake.start()
        lake.reach(started, job)
        if committing:
            lake.await_commit(started, job)
        time.sleep(random.random() * (COMMITS_TAKE if committing else seconds[job]))
        kill(started, alone=random.random() < 0.5)
        ended.append(started.returncode)
    assert ended.count(-signal.SIGKILL) > 1
    bring_all(session, lake.path, broker)
    assert content(lake.path) == content(expected)
    assert [step.run for step in bring_all(session, lake.path, broker)] == [None] * len(JOBS)
