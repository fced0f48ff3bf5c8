"""Benchmarks as declared objects: how they are chosen, and the run that prints, compares and keeps each table as it comes."""

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import click

from bench.keeping import Keeper, shared, worsened
from bench.machine import one_core, origin
from bench.table import Table
from offsets_tool.errors import OffsetsToolError, UsageError
from oracle.client import Oracle

_UNKNOWN: Final = 90.0
"""The seconds that a table may take which was never kept."""


class Room(NamedTuple):
    """What a table is measured with: Kafka's classes, in a JVM that starts when they are first asked for, and an empty folder."""

    start_oracle: Callable[[], Oracle]
    folder: Path

    @property
    def oracle(self) -> Oracle:
        """Kafka's classes in their JVM, which has one core if the first table that asks has one."""
        return self.start_oracle()


class Benchmark(NamedTuple):
    """A table that can be measured: its name, the function that measures it, and whether that has one core alone."""

    name: str
    measure: Callable[[Room], Table]
    is_one_core: bool = False

    def run(self, room: Room) -> Table:
        """Measure the table in a folder of its own, which is removed."""
        with (
            one_core() if self.is_one_core else nullcontext(),
            TemporaryDirectory(dir=room.folder) as folder,
        ):
            return self.measure(room._replace(folder=Path(folder)))


def chosen(benchmarks: Sequence[Benchmark], words: Sequence[str]) -> list[Benchmark]:
    """Return the benchmarks that are named, in their own order; all if none is. UsageError for a name that none has."""
    names = {name for word in words for name in word.replace(",", " ").split()}
    if unknown := names - {benchmark.name for benchmark in benchmarks}:
        listed = ", ".join(benchmark.name for benchmark in benchmarks)
        raise UsageError(
            f"No table is called {', '.join(sorted(unknown))}. TABLES takes names of these: {listed}."
        )
    return [benchmark for benchmark in benchmarks if not names or benchmark.name in names]


class Measuring:
    """A run over benchmarks, which prints each table and, given a keeper, compares it with the one kept and keeps it.

    A table that would not end within `limit` seconds of the run's beginning, as long as it took when it was kept, is left out.
    """

    def __init__(self, room: Room, keeper: Keeper | None, limit: float | None = None) -> None:
        self._room = room
        self._keeper = keeper
        self._formers = keeper.tables() if keeper else {}
        self._origin = origin(keeper.files if keeper else ())
        self._limit = limit
        self._began = time.monotonic()
        self._worse: list[str] = []
        self._failures: list[str] = []
        self._late: list[str] = []

    def run(self, benchmarks: Sequence[Benchmark]) -> bool:
        """Measure tables one after another, and return whether none failed.

        Readers that disagree, or what is missing, fail their table and no other; any other error ends the run, and what was
        measured before is kept.
        """
        for benchmark in benchmarks:
            if self._is_late(benchmark.name):
                self._late.append(benchmark.name)
                continue
            try:
                self._measure(benchmark)
            except OffsetsToolError as error:
                self._failures.append(f"{benchmark.name} could not be measured: {error}")
                _say_red(self._failures[-1])
        self._sum_up()
        return not self._failures

    def _is_late(self, name: str) -> bool:
        former = self._formers.get(name)
        seconds = former.seconds if former else _UNKNOWN
        return self._limit is not None and self._seconds() + seconds > self._limit

    def _seconds(self) -> float:
        """Return how long the run has lasted."""
        return time.monotonic() - self._began

    def _measure(self, benchmark: Benchmark) -> None:
        began = self._seconds()
        table = benchmark.run(self._room)
        click.echo(f"{table.markdown()}\n{self._origin}")
        if self._keeper:
            self._keeper.keep(benchmark.name, table, self._seconds() - began, self._origin)
            self._compare(benchmark.name, table)
        click.echo()

    def _compare(self, name: str, table: Table) -> None:
        """Say how a table compares with the one that was kept, and in red which of its ratios are worse."""
        former = self._formers.get(name)
        if former is None:
            click.echo(f"{name}: kept; there was none to compare it with.")
            return
        worse = [f"{name}, {sentence}." for sentence in worsened(table, former)]
        elsewhere = "" if former.origin.machine == self._origin.machine else " on another machine"
        click.echo(
            f"{name}: kept; {len(shared(table, former))} of {len(table.ratios)} ratios compared with those of "
            f"commit {former.origin.commit}{elsewhere}, {len(worse) or 'none'} worse by more than the spread."
        )
        for sentence in worse:
            _say_red(sentence)
        self._worse += worse

    def _sum_up(self) -> None:
        """Say once more what the run has to say apart from figures."""
        click.echo(f"{self._seconds():.0f} seconds")
        if self._late:
            click.echo(
                f"Not measured, as it would have taken too long: make bench TABLES={','.join(self._late)}"
            )
        for sentence in (*self._worse, *self._failures):
            _say_red(sentence)


def _say_red(sentence: str) -> None:
    """Print a sentence, in red where that is a terminal."""
    click.secho(sentence, fg="red", bold=True)
