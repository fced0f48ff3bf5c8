"""Segments into Delta tables on two cores: our ingest, and Spark alone copying the same rows from Parquet with its own writer."""

import shutil
from pathlib import Path
from time import perf_counter
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from bench.inputs import Input
from bench.pace import Entry, race, timed
from bench.table import Table, number, times
from bench.tally import Tally, agreed
from offsets_tool.errors import OffsetsToolError
from spark.ingest import Request, ingest
from spark.session import session
from spark.tables import EVENTS, LOG
from spark.tables import Table as LakeTable

MASTER: Final = "local[2]"
_ROUNDS: Final = 3
_INPUTS: Final = (Input("commits"), Input("rich"))


def lakes_table(folder: Path) -> Table:
    """Both tables of each mix, and the log alone; lakes are made in `folder` and removed."""
    running = session("offsets-tool bench", master=MASTER)
    try:
        rows = [row for input_ in _INPUTS for row in _rows(running, input_, folder / input_.mix)]
    finally:
        running.stop()
    heads = ("", "ours, `events` and `log`", "Spark copies both", "ratio", "Spark copies `log` only", "ratio")
    return Table(f"Segments to Delta, Spark {MASTER}, a warm session, waited for, M records/s:", heads, rows)


def _rows(running: SparkSession, input_: Input, folder: Path) -> list[tuple[str, ...]]:
    shutil.rmtree(folder, ignore_errors=True)
    source, lake, path = folder / "source", folder / "ours", input_.path()
    for each in (source, lake):
        _ingest(running, path, each)
    tables = {table.name: running.read.parquet(f"{source / table.name}/*.parquet") for table in (LOG, EVENTS)}
    copies = {table.name: folder / "copy" / table.name for table in (LOG, EVENTS)}

    def copy(*wanted: LakeTable) -> None:
        for table in wanted:
            tables[table.name].write.format("delta").mode("overwrite").save(str(copies[table.name]))

    copy(LOG, EVENTS)
    tallies = {"ours": _tally(running, lake / EVENTS.name), "copy": _tally(running, copies[EVENTS.name])}
    records = agreed(f"Delta tables of {input_.mix}", tallies).records
    for held in (lake / LOG.name, copies[LOG.name]):
        if (found := running.read.format("delta").load(str(held)).count()) != records:
            raise OffsetsToolError(
                f"the log of {input_.mix} has {found} rows, and there are {records} records"
            )
    ran = race(
        [
            Entry(
                "ours",
                timed(lambda: _ingest(running, path, lake), perf_counter),
                records,
                _ROUNDS,
                warms=False,
            ),
            Entry("both", timed(lambda: copy(LOG, EVENTS), perf_counter), records, _ROUNDS, warms=False),
            Entry("log", timed(lambda: copy(LOG), perf_counter), records, _ROUNDS, warms=False),
        ]
    )
    shutil.rmtree(folder)
    ours, both, log = (ran[name].rate for name in ("ours", "both", "log"))
    name = f"{input_.mix} ({path.stat().st_size / 2**20:.0f} MB, {records:,} records)"
    return [(name, number(ours), number(both), times(ours / both), number(log), times(ours / log))]


def _ingest(running: SparkSession, path: Path, lake: Path) -> None:
    """Into a lake that is not there yet."""
    shutil.rmtree(lake, ignore_errors=True)
    ingest(Request(paths=[str(path)], lake=str(lake), cluster="bench"), lambda: running)


def _tally(running: SparkSession, events: Path) -> Tally:
    """As Spark counts a Delta table."""
    rows = running.read.format("delta").load(str(events))
    committing = F.when(F.col("topic").isNotNull(), F.col("group"))
    counts = (
        F.count("*"),
        F.count("committed_offset"),
        F.sum("committed_offset"),
        F.countDistinct(committing),
    )
    return Tally(*rows.agg(*counts).collect()[0])
