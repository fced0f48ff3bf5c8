"""Time all jobs of a lake in one command, and as the lower bound with Spark, copying the rows that the first job writes."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

from pyspark.sql import SparkSession

from bench.benchmark import Room
from bench.inputs import Input
from bench.lake.lakes import MASTER, copier
from bench.pace import Entry, Ratio, race, ratio
from bench.processes import Run, measured
from bench.table import Table, number, times, without_marks
from offsets_tool.errors import OffsetsToolError
from offsets_tool.lake.tables import EVENTS, LOG
from spark.ingest.ingest import Request
from spark.run import JobDone, run
from spark.runtime.prepare import prepare
from spark.runtime.session import session

_INPUT: Final = Input("commits")
_LITTLE: Final = Input("commits", 2.4e-4)
_ROUNDS: Final = 3
_COPIES: Final = "Spark copies `log` and `events`"
_OF_SPARK: Final = "`offsets-spark sql` after `prepare`, one question of that lake"
_OF_DUCK: Final = "`offsets-tool sql`, one question of that lake"
_QUESTION: Final = (
    "SELECT cluster, `group`, records, bytes FROM offenders ORDER BY bytes DESC, `group` LIMIT 5"
)


def runs_table(room: Room) -> Table:
    """Return the table of seconds of each job for one segment, with the lag of each commit by ends that commits imply."""
    running = session("offsets-tool bench", master=MASTER)
    try:
        rounds = list(_rounds(running, room.folder))
    finally:
        running.stop()
    copies, records = [copied for copied, _ in rounds], rounds[0][1][0].ledger["records"]
    written, seconds = _by_job([steps for _, steps in rounds])
    ratios = {name: ratio(_COPIES, copies, took) for name, took in seconds.items()}
    rows = [_row(_COPIES, 2 * records, copies, Ratio(_COPIES, 1.0, 0.0))]
    rows += [_row(name, written[name], took, ratios[name]) for name, took in seconds.items()]
    title = f"`offsets-spark run` on one segment of commits, Spark {MASTER}, a warm session, waited for:"
    heads = ("", "rows written", "seconds", "M rows/s", "Spark copies `log` and `events` = 1")
    return Table(title, heads, rows, {without_marks(name): of_copies for name, of_copies in ratios.items()})


def _rounds(running: SparkSession, folder: Path) -> Iterator[tuple[float, list[JobDone]]]:
    """Yield the seconds of Spark's copy, and what each job said, of some rounds; one before them is for Spark to become warm."""
    _run(running, folder / "source")
    copy = copier(running, folder)
    copy(LOG, EVENTS)
    for number_ in range(_ROUNDS):
        began = perf_counter()
        copy(LOG, EVENTS)
        yield perf_counter() - began, _run(running, folder / f"round-{number_}")


def _by_job(rounds: Sequence[Sequence[JobDone]]) -> tuple[dict[str, int], dict[str, list[float]]]:
    """Return the rows that each job, and all together, write, and the seconds that they take in each round."""
    written = {f"**ours**: {step.job}": sum(step.rows.values()) for step in rounds[0]}
    seconds = {name: [steps[place].seconds for steps in rounds] for place, name in enumerate(written)}
    whole = "**ours**: all of `run`"
    return (
        written | {whole: sum(written.values())},
        seconds | {whole: [sum(step.seconds for step in steps) for steps in rounds]},
    )


def _row(name: str, rows: int, seconds: Sequence[float], of_peer: Ratio) -> tuple[str, ...]:
    took = median(seconds)
    cells = number(took), number(rows / max(took, 0.1) / 1e6), times(1 / of_peer.value)
    return name, f"{rows:,}", *cells


def _run(running: SparkSession, lake: Path) -> list[JobDone]:
    request = Request(paths=[str(_INPUT.path())], lake=str(lake), cluster="bench")
    steps = list(run(request, lambda: running, "auto"))
    if not all(step.rows for step in steps):
        raise OffsetsToolError(f"a job wrote nothing: {steps}")
    return steps


def little_table(room: Room) -> Table:
    """Return the table of the time of whole processes that query a lake, or do little to it: the cost of starting.

    OffsetsToolError where DuckDB answers otherwise than Spark.
    """
    prepare(lambda _: None)
    path, lake = _LITTLE.path(), room.folder / "little"
    processes = {
        f"`offsets-spark run`, {path.stat().st_size:,} bytes": _Process(
            lake, "spark.cli", "run", str(path), is_first=True
        ),
        _OF_SPARK: _Process(lake, "spark.cli", "sql", _QUESTION),
        _OF_DUCK: _Process(lake, "offsets_tool.cli", "sql", _QUESTION),
    }
    ran = race([Entry(name, process.run, 1, _ROUNDS, warms=False) for name, process in processes.items()])
    answers = [processes[name].runs[-1].output for name in (_OF_SPARK, _OF_DUCK)]
    if answers[0] != answers[1]:
        raise OffsetsToolError(f"Spark answers {answers[0]!r}, and DuckDB {answers[1]!r}")
    rows = [
        (f"**ours**: {name}", number(ran[name].median), number(median(run.seconds for run in process.runs)))
        for name, process in processes.items()
    ]
    ratios = {
        without_marks(name): row.against(ran[_OF_SPARK]) for name, row in ran.items() if name != _OF_SPARK
    }
    return Table(
        "Whole processes of the lake with little to do:", ("", "seconds", "CPU seconds"), rows, ratios
    )


class _Process:
    """A command as a process of its own, timed by the clock; its runs have their CPU time and what it printed."""

    def __init__(self, lake: Path, *words: str, is_first: bool = False) -> None:
        """Start nothing yet; a process that is the first to see a lake finds none where one was."""
        self._command = [sys.executable, "-m", *words, "--lake", str(lake)]
        self._removed = lake if is_first else None
        self.runs: list[Run] = []

    def run(self) -> float:
        if self._removed:
            shutil.rmtree(self._removed, ignore_errors=True)
        began = perf_counter()
        self.runs.append(measured(self._command))
        return perf_counter() - began
