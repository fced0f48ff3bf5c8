"""Time writing segments to Delta tables on two cores: our ingest, and Spark's writer that copies the same rows from Parquet.

Ours reads a partition of four segments; what Spark copies, at a steady pace for many seconds, is the rows of one of them.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from bench.benchmark import Room
from bench.generator.batches import repeated
from bench.inputs import Input
from bench.pace import Entry, Ratio, race, timed
from bench.table import Table, number, times
from bench.tally import Tally, agreed
from offsets_tool.errors import OffsetsToolError
from offsets_tool.lake.tables import EVENTS, LOG
from offsets_tool.lake.tables import Table as LakeTable
from spark.ingest.ingest import Request, ingest
from spark.runtime.session import session

MASTER: Final = "local[2]"
_BOTH: Final = "Spark's copy of both tables"
_ROUNDS: Final = 5
_INPUTS: Final = (Input("commits"), Input("rich"))
_SEGMENTS: Final = 4
_SOURCE: Final = "source"
_COPY: Final = "copy"


def lakes_table(room: Room) -> Table:
    """Return the table of ingests: both tables of each mix, and the log alone. Lakes are made in the room's folder and removed."""
    running = session("offsets-tool bench", master=MASTER)
    try:
        measured = {input_.mix: _measured(running, input_, room.folder / input_.mix) for input_ in _INPUTS}
    finally:
        running.stop()
    rows = [row for row, _ in measured.values()]
    ratios = {mix: ratio for mix, (_, ratio) in measured.items()}
    heads = ("", "ours, `events` and `log`", "Spark copies both", "ratio", "Spark copies `log` only", "ratio")
    title = f"{_SEGMENTS} segments of a partition to Delta, Spark {MASTER}, a warm session, waited for, M records/s"
    return Table(f"{title} (Spark's copies are of one segment's rows):", heads, rows, ratios)


def _measured(running: SparkSession, input_: Input, folder: Path) -> tuple[tuple[str, ...], Ratio]:
    """Return a row of the table, and the ratio of what Spark takes to copy both tables of a record."""
    shutil.rmtree(folder, ignore_errors=True)
    path = input_.path()
    _ingest(running, path, folder / _SOURCE)
    copy = copier(running, folder)
    copy(LOG, EVENTS)
    records = _agreed(running, input_, folder)
    ingest_all = _ingester(running, path, folder, _SEGMENTS * records)
    ran = race(
        [
            Entry("ours", timed(ingest_all, perf_counter), _SEGMENTS * records, _ROUNDS, warms=False),
            Entry(_BOTH, timed(lambda: copy(LOG, EVENTS), perf_counter), records, _ROUNDS, warms=False),
            Entry("log", timed(lambda: copy(LOG), perf_counter), records, _ROUNDS, warms=False),
        ]
    )
    shutil.rmtree(folder)
    ours, both, log = (ran[name] for name in ("ours", _BOTH, "log"))
    of_both, of_log = ours.against(both), ours.against(log)
    name = f"{input_.mix} ({_SEGMENTS} of {path.stat().st_size / 2**20:.0f} MB, {records:,} records each)"
    cells = (number(both.rate), times(of_both.value), number(log.rate), times(of_log.value))
    return (name, number(ours.rate), *cells), of_both


def copier(running: SparkSession, folder: Path) -> Callable[..., None]:
    """Return a function that copies tables from one segment's Parquet files into Delta tables."""
    tables = {t.name: running.read.parquet(f"{folder / _SOURCE / t.name}/*.parquet") for t in (LOG, EVENTS)}

    def copy(*wanted: LakeTable) -> None:
        for table in wanted:
            tables[table.name].write.format("delta").mode("overwrite").save(str(folder / _COPY / table.name))

    return copy


def _agreed(running: SparkSession, input_: Input, folder: Path) -> int:
    """Return the number of records that both lakes of one segment have."""
    lakes = (folder / _SOURCE, folder / _COPY)
    tallies = {lake.name: _tally(running, lake / EVENTS.name) for lake in lakes}
    records = agreed(f"Delta tables of {input_.mix}", tallies).records
    for lake in lakes:
        _expect(running, lake / LOG.name, records)
    return records


def _ingester(running: SparkSession, path: Path, folder: Path, records: int) -> Callable[[], None]:
    """Return a function that ingests the partition into a new lake; ingest once here, and check the number of rows."""
    partition, lake = _partition(path, folder / "segments"), folder / "ours"

    def ingest_all() -> None:
        _ingest(running, partition, lake)

    ingest_all()
    for table in (LOG, EVENTS):
        _expect(running, lake / table.name, records)
    return ingest_all


def _expect(running: SparkSession, table: Path, records: int) -> None:
    if (found := running.read.format("delta").load(str(table)).count()) != records:
        raise OffsetsToolError(f"{table} has {found} rows, and there are {records} records")


def _partition(path: Path, folder: Path) -> Path:
    """Make a folder with a segment and those that would follow it, and return it."""
    place = folder / path.parent.name
    place.mkdir(parents=True)
    for part in repeated(path.read_bytes(), _SEGMENTS):
        (place / f"{int.from_bytes(part[:8]):020d}.log").write_bytes(part)
    return folder


def _ingest(running: SparkSession, path: Path, lake: Path) -> None:
    """Ingest the path into a new lake; an older one is deleted first."""
    shutil.rmtree(lake, ignore_errors=True)
    ingest(Request(paths=[str(path)], lake=str(lake), cluster="bench"), lambda: running)


def _tally(running: SparkSession, events: Path) -> Tally:
    """Return how many rows Spark counts in a Delta table."""
    rows = running.read.format("delta").load(str(events))
    committing = F.when(F.col("topic").isNotNull(), F.col("group"))
    counts = (
        F.count("*"),
        F.count("committed_offset"),
        F.sum("committed_offset"),
        F.countDistinct(committing),
    )
    return Tally(*rows.agg(*counts).collect()[0])
