"""A folder that grows while it is streamed: the lake is that of all at once, however often the stream was killed."""

import json
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from spark.cli import main
from spark.ingest.ingest import Request
from spark.run import run
from spark.stream.folder_stream import folder_source, watched_of
from spark.stream.micro_batches import BatchDone
from spark.stream.stream import StreamRequest, stream
from tests.spark.histories import TABLES as HISTORIES
from tests.spark.kills import Killed, killed
from tests.spark.lakes import CORPORA, Row, no_session, rows
from tests.spark.test_killed import content as all_rows

pytestmark = pytest.mark.spark

LOGS = CORPORA / "3.9.2-txn" / "segments"
DERIVED = (*HISTORIES, "lag", "expiry", "findings", "rebalances")
Growth = Iterator[None]


def growth(folder: Path, seed: int, steps: int) -> Growth:
    """Write pieces of a log step by step: files in any order, each from its begin, batches cut anywhere."""
    rng = random.Random(seed)
    logs = sorted(LOGS.glob("*/*.log"))
    cuts = {log: [0, *sorted(rng.sample(range(log.stat().st_size), 1)), log.stat().st_size] for log in logs}
    turns = [log for log in logs for _ in cuts[log][1:]]
    rng.shuffle(turns)
    per_step = -(-len(turns) // steps)
    for number, log in enumerate(turns, 1):
        to = folder / log.parent.name / log.name
        to.parent.mkdir(parents=True, exist_ok=True)
        data = log.read_bytes()
        with to.open("ab") as file:
            file.write(data[cuts[log].pop(0) : cuts[log][0]])
        if number % per_step == 0:
            yield
    yield


def asked(folder: Path, lake: Path, every_ms: int | None = 100) -> tuple[StreamRequest, Request]:
    request = Request(paths=[str(folder)], lake=str(lake), cluster="c")
    return StreamRequest(request, every_ms=every_ms), request


def follow(
    session: SparkSession,
    folder: Path,
    lake: Path,
    report: Callable[[BatchDone], None],
    stop: threading.Event,
) -> None:
    how, request = asked(folder, lake)
    stream(lambda: session, how, folder_source(watched_of(request), "c"), report, stop)


def grow_until_done(
    growing: Growth, stop: threading.Event, done: list[BatchDone]
) -> Callable[[BatchDone], None]:
    def report(batch: BatchDone) -> None:
        done.append(batch)
        try:
            next(growing)
        except StopIteration:
            stop.set()

    return report


def content(lake: Path) -> dict[str, list[Row]]:
    """Return all rows that a run derives, and all records, without columns that differ from run to run."""
    return {name: table for name, table in all_rows(lake).items() if name in ("log", "events", *DERIVED)}


def at_once(folder: Path, lake: Path) -> dict[str, list[Row]]:
    list(run(Request(paths=[str(folder)], lake=str(lake), cluster="c"), no_session, "auto"))
    return content(lake)


KILLS = [
    pytest.param(step, before, marks=[] if (step, before) == (2, False) else pytest.mark.deep)
    for step in (0, 1, 2, 3, 5, 9, 14, 20)
    for before in (True, False)
]


@pytest.mark.parametrize(("step", "before"), KILLS)
def test_what_grows_is_in_the_lake_once(
    session: SparkSession, tmp_path: Path, step: int, before: bool
) -> None:
    """Killed between two commits of a micro-batch, and started again."""
    folder, lake, stop, done = tmp_path / "in", tmp_path / "lake", threading.Event(), list[BatchDone]()
    growing = growth(folder, seed=step, steps=3)
    next(growing)
    report = grow_until_done(growing, stop, done)
    with killed(step, before=before), pytest.raises(Killed):
        follow(session, folder, lake, report, stop)
    assert len(done) <= 1, "the last kills are in the second micro-batch"
    follow(session, folder, lake, report, stop)
    assert [each.batch for each in done] == [0, 1, 2]
    assert content(lake) == at_once(folder, tmp_path / "at once")
    ledger = rows(lake, "sources")
    assert sum(row["bytes"] for row in ledger) == sum(log.stat().st_size for log in folder.glob("*/*.log"))
    assert sum(row["records"] for row in ledger) == len(rows(lake, "log"))


def test_once_and_once_more(session: SparkSession, tmp_path: Path) -> None:
    """What a stream brought that Spark does not know of is in the lake; nothing is added."""
    folder, lake, stop = tmp_path / "in", tmp_path / "lake", threading.Event()
    for _ in growth(folder, seed=1, steps=1):
        pass

    def kill(done: BatchDone) -> None:
        raise Killed

    with pytest.raises(Killed):
        follow(session, folder, lake, kill, stop)
    before = content(lake)
    assert before == at_once(folder, tmp_path / "at once")
    command = ["stream", str(folder), "--lake", str(lake), "--cluster", "c", "--once"]
    again = CliRunner().invoke(main, command)
    assert (again.exit_code, again.stderr) == (0, "")
    (line,) = map(json.loads, again.stdout.splitlines())
    assert (line["batch"], set(line["runs"].values()), line["rows"]) == (0, {None}, {})
    text = CliRunner().invoke(main, [*command, "--format", "text"]).stdout
    assert text.startswith("batch 0: 0 bytes, 0 records in ") and text.endswith("nothing was new\n")
    assert content(lake) == before


def test_once_starts_no_spark_for_little_and_needs_no_checkpoint(tmp_path: Path) -> None:
    """Each call brings what came since the last one, whoever brought that."""
    folder, lake, done = tmp_path / "in", tmp_path / "lake", list[BatchDone]()
    how, request = asked(folder, lake, every_ms=None)
    for _ in growth(folder, seed=3, steps=2):
        source = folder_source(watched_of(request), "c")
        stream(no_session, how, source, done.append, threading.Event())
        if done[-1].runs["ingest"] is not None:
            expected = at_once(folder, tmp_path / f"at once {len(done)}")
        assert content(lake) == expected
    assert [each.batch for each in done] == [0] * 3 and not (lake / "_stream").exists()
    assert [each.runs["ingest"] for each in done] == [1, 2, None]


def test_a_stream_may_begin_before_there_is_anything(session: SparkSession, tmp_path: Path) -> None:
    """Each look at an empty folder is a micro-batch of nothing, and no later one is refused for it."""
    folder, lake = tmp_path / "in", tmp_path / "lake"
    folder.mkdir()
    command = ["stream", str(folder), "--lake", str(lake), "--cluster", "c", "--once", "--format", "jsonl"]
    for _ in range(2):
        early = CliRunner().invoke(main, command)
        assert early.exit_code == 0 and early.stderr.endswith("; nothing of it is brought\n"), early.stderr
    assert rows(lake, "log") == []
    for _ in growth(folder, seed=1, steps=1):
        pass
    assert CliRunner().invoke(main, command).exit_code == 0
    assert content(lake) == at_once(folder, tmp_path / "at once")
