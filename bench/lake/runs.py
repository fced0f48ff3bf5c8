"""Time all jobs of a lake in one command, and as the lower bound with Spark, copying the rows that the first job writes."""

import shutil
import sys
from pathlib import Path
from time import perf_counter
from typing import Final

from pyspark.sql import SparkSession

from bench.inputs import Input
from bench.lake.lakes import MASTER, copier
from bench.processes import measured
from bench.table import Table, number, times
from offsets_tool.errors import OffsetsToolError
from offsets_tool.lake.tables import EVENTS, LOG
from spark.ingest.ingest import Request
from spark.run import JobDone, run
from spark.runtime.prepare import prepare
from spark.runtime.session import session

_INPUT: Final = Input("commits")
_QUESTION: Final = (
    "SELECT cluster, `group`, records, bytes FROM offenders ORDER BY bytes DESC, `group` LIMIT 5"
)


def runs_table(folder: Path) -> Table:
    """Return the table of seconds of each job for one segment, with the lag of each commit by ends that commits imply."""
    running = session("offsets-tool bench", master=MASTER)
    try:
        rows = _rows(running, folder / "run")
    finally:
        running.stop()
    title = (
        f"`offsets-spark run` on one segment of commits, Spark {MASTER}, a warm session, waited for, once:"
    )
    return Table(
        title, ("", "rows written", "seconds", "M rows/s", "Spark copies `log` and `events` = 1"), rows
    )


def _rows(running: SparkSession, folder: Path) -> list[tuple[str, ...]]:
    # The first run is for Spark to become warm.
    steps = [_run(running, folder / name) for name in ("first", "source")][1]
    copy = copier(running, folder)
    copy(LOG, EVENTS)
    began = perf_counter()
    copy(LOG, EVENTS)
    floor = perf_counter() - began
    shutil.rmtree(folder)
    records = steps[0].ledger["records"]
    whole = sum(step.seconds for step in steps)
    written = sum(sum(step.rows.values()) for step in steps)
    jobs = [(step.job, sum(step.rows.values()), step.seconds) for step in steps]
    return [
        _row("Spark copies `log` and `events`", 2 * records, floor, floor),
        *(_row(f"**ours**: {job}", count, seconds, floor) for job, count, seconds in jobs),
        _row("**ours**: all of `run`", written, whole, floor),
    ]


def little_table(folder: Path) -> Table:
    """Return the table of the time of whole processes that query a lake, or do little to it: the cost of starting.

    OffsetsToolError where DuckDB answers otherwise than Spark.
    """
    prepare(lambda _: None)
    path, lake = Input("commits", 7e-5).path(), folder / "little"
    asked = {
        "`offsets-spark sql` after `prepare`": ("spark.cli", "sql", _QUESTION),
        "`offsets-tool sql`": ("offsets_tool.cli", "sql", _QUESTION),
    }
    commands = {f"`offsets-spark run`, {path.stat().st_size:,} bytes": ("spark.cli", "run", str(path))} | {
        f"{name}, one question of that lake": words for name, words in asked.items()
    }
    rows, answers = [], []
    for name, (module, *words) in commands.items():
        began = perf_counter()
        done = measured([sys.executable, "-m", module, *words, "--lake", str(lake)])
        answers.append(done.output)
        rows.append((f"**ours**: {name}", number(perf_counter() - began), number(done.seconds)))
    shutil.rmtree(lake)
    if answers[1] != answers[2]:
        raise OffsetsToolError(f"Spark answers {answers[1]!r}, and DuckDB {answers[2]!r}")
    return Table("Whole processes of the lake with little to do:", ("", "seconds", "CPU seconds"), rows)


def _row(name: str, rows: int, seconds: float, floor: float) -> tuple[str, ...]:
    return name, f"{rows:,}", number(seconds), number(rows / max(seconds, 0.1) / 1e6), times(seconds / floor)


def _run(running: SparkSession, lake: Path) -> list[JobDone]:
    request = Request(paths=[str(_INPUT.path())], lake=str(lake), cluster="bench")
    steps = list(run(request, lambda: running, "auto"))
    if not all(step.rows for step in steps):
        raise OffsetsToolError(f"a job wrote nothing: {steps}")
    return steps
