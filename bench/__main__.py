"""`make bench`: measure tables, all or those that are named, and keep each as soon as it is there. Linux only."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import click

from bench.benchmark import Benchmark, Measuring, Room, chosen
from bench.commands import answers_table, commands_table
from bench.inputs import is_usual
from bench.keeping import Keeper
from bench.lake.lakes import lakes_table
from bench.lake.memory import answers_memory_table, memory_table, partition_table
from bench.lake.nights import nights_table
from bench.lake.questions import questions_table
from bench.lake.runs import little_table, runs_table
from bench.lake.scale import clusters_table, scale_table, spread_table
from bench.one_core import codecs_table, commits_table, mixes_table
from bench.replay import replay_table, sizes_table
from offsets_tool.errors import OffsetsToolError, UsageError
from offsets_tool.process import collect_seldom
from oracle.client import Oracle
from spark.runtime import jars

BENCHMARKS: Final = (
    Benchmark("commits", commits_table, is_one_core=True),
    Benchmark("mixes", mixes_table, is_one_core=True),
    Benchmark("codecs", codecs_table, is_one_core=True),
    Benchmark("replay", replay_table, is_one_core=True),
    Benchmark("commands", commands_table, is_one_core=True),
    Benchmark("answers", answers_table, is_one_core=True),
    Benchmark("sizes", sizes_table, is_one_core=True),
    Benchmark("little", little_table),
    Benchmark("lakes", lakes_table),
    Benchmark("runs", runs_table),
    Benchmark("nights", nights_table),
    Benchmark("scale", scale_table),
    Benchmark("clusters", clusters_table),
    Benchmark("spread", spread_table),
    Benchmark("questions", questions_table),
    Benchmark("memory", memory_table),
    Benchmark("answers-memory", answers_memory_table),
    Benchmark("partition", partition_table),
)
"""All tables, in the order in which they are measured and stand in the README."""
LIMIT: Final = 12 * 60
"""Seconds that a run over all tables may take; who names tables waits for them."""


def main(words: Sequence[str]) -> int:
    """Measure the tables that are named, or all; return 1 if one could not be measured, 2 for a name that none has.

    Only tables of the usual sizes are kept and compared.
    """
    collect_seldom()  # as the command line does
    try:
        benchmarks = chosen(BENCHMARKS, words)
        keeper = _keeper()
        with TemporaryDirectory(dir=_folder()) as folder, ExitStack() as stack:
            room = Room(cache(lambda: stack.enter_context(Oracle())), Path(folder))
            limit = LIMIT if len(benchmarks) == len(BENCHMARKS) else None
            return 0 if Measuring(room, keeper, limit).run(benchmarks) else 1
    except OffsetsToolError as error:
        click.echo(error, err=True)
        return 2 if isinstance(error, UsageError) else 1


def _keeper() -> Keeper | None:
    if is_usual():
        return Keeper()
    click.echo("With BENCH_MB or BENCH_CLUSTERS tables are shown, and neither compared nor kept.", err=True)
    return None


def _folder() -> Path:
    folder = jars.cache() / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
