"""How far jobs are: each tells it by its name, in this process as by Spark's tasks, and a terminal shows it."""

import io
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from offsets_tool.lake.merge import Batches
from spark import cli
from spark.cli import Bar
from spark.ingest.ingest import Request
from spark.run import run
from spark.runtime import rows
from spark.runtime.rows import Progress, numbers_of, of_units
from tests.corpora import LAG
from tests.spark.lakes import no_session

Told = list[tuple[int, int]]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def collected(start: rows.StartSpark, told: Told, seen: Path, *, is_here: bool) -> list[int]:
    """Run four units of work, of which all but one wait for reported progress, a minute at most; return their numbers."""

    def task(numbers: Batches) -> Batches:
        for number in numbers_of(numbers):
            until = time.monotonic() + 60
            while number and not is_here and not seen.exists() and time.monotonic() < until:
                time.sleep(0.05)
            yield pa.record_batch({"number": [number]})

    def progress(done: int, total: int) -> None:
        told.append((done, total))
        if done:
            seen.touch()

    units = of_units(start, 4, is_here=is_here, progress=progress)
    schema = pa.schema([("number", pa.int64())])
    return sorted(number for (number,) in units.through(task, schema).collect())


def test_units_are_told_as_they_are_done_here(tmp_path: Path) -> None:
    told: Told = []
    assert collected(no_session, told, tmp_path / "seen", is_here=True) == [0, 1, 2, 3]
    assert told == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.spark
def test_units_are_told_as_spark_does_them(session: SparkSession, tmp_path: Path) -> None:
    told: Told = []
    assert collected(lambda: session, told, tmp_path / "seen", is_here=False) == [0, 1, 2, 3]
    assert told == sorted(told)
    assert {total for _, total in told} == {4}
    assert any(0 < done < 4 for done, _ in told)


def test_every_job_says_how_far_it_is(tmp_path: Path) -> None:
    """By its name, one after the other, up to all of it."""
    told: dict[str, Told] = {}

    def progress(job: str) -> Progress:
        return lambda *far: told.setdefault(job, []).append(far)

    request = Request(paths=[str(LAG / "broker")], lake=str(tmp_path / "lake"))
    done = {step.job: step for step in run(request, no_session, "auto", progress)}
    assert list(told) == list(done) == ["ingest", "replay", "lag", "expiry", "findings"]
    assert all(far[-1][0] == far[-1][1] > 0 for far in told.values())
    assert told["ingest"][-1] == (done["ingest"].ledger["bytes"],) * 2
    assert told["replay"][-1] == (done["replay"].ledger["partitions"],) * 2


def test_a_terminal_shows_the_job_and_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal)
    with Bar("run") as bar:
        for done in range(3):
            bar.of("replay")(done, 3)
        bar.of("ingest")(2_000, 4_000)
        bar.of("expiry")(0, 7)
        bar.of("expiry")(0, 5)
    shown = terminal.getvalue()
    assert [
        text for text in ("replay", "2/3", "ingest", "2.0/4.0 kB", "0/7", "0/5") if text not in shown
    ] == []


def test_what_is_no_terminal_has_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of what ends within a minute; of what does not, one a minute."""
    clock = [1000.0]
    monkeypatch.setattr(cli.time, "monotonic", lambda: clock[0])
    with Bar("run") as bar:
        for done in range(1, 961):
            bar.of("replay")(done, 1200)
            clock[0] += 0.125
        bar.of("ingest")(2_000_000, 4_000_000)
    assert capsys.readouterr().err.splitlines() == [
        "replay: 481 of 1,200 parts done",
        "ingest: 2,000,000 of 4,000,000 bytes done",
    ]
