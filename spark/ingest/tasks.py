"""What a task does: reads a unit's pieces, decodes them, and accounts for every byte and record.

Runs in Spark's Python workers, by `mapInArrow` over unit numbers; decides nothing about what to read (plan.py) and commits
nothing (spark.lake.commit). What a person must know (a file that cannot be opened) comes back as a row, not as a stack trace.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa

from offsets_tool.errors import OffsetsToolError
from offsets_tool.log.batches.limits import Limits
from offsets_tool.table_rows import SourceRow
from offsets_tool.wire.arrow import record_batch
from offsets_tool.wire.schema import Bytes, String
from offsets_tool.wire.text import shown
from spark.ingest.account import PieceRead
from spark.ingest.plan import Unit
from spark.lake.parquet import NewFile, TableWriter
from spark.lake.tables import EVENTS, LOG


class IngestJob(NamedTuple):
    """What the tasks of an ingest share."""

    units: tuple[Unit, ...]
    run: int
    at: datetime
    log_partition: int | None
    columns: Mapping[str, str]
    limits: Limits


class UnitDone(NamedTuple):
    """What a task tells of one unit: its files (JSON), its rows of `sources` (Arrow), or why it could not be read."""

    error: String | None
    files: String
    sources: Bytes


BatchTask = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
UNIT: Final = "id"
"""The column of unit numbers that a task is given: `session.range` names it so."""


def write_units(job: IngestJob, lake: Path) -> BatchTask:
    """Writes each unit's files into the folders of `log` and `events`. A row of UnitDone a unit."""
    return _for_each_unit(job, lambda unit: _write(unit, job, lake))


def account_units(job: IngestJob) -> BatchTask:
    """Reads and decodes each unit and keeps nothing but the account. A row of UnitDone a unit."""
    return _for_each_unit(job, lambda unit: ([], _account(unit, job)))


def log_units(job: IngestJob) -> BatchTask:
    """The rows of `log`."""

    def task(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in _numbers(numbers):
            for piece in job.units[number]:
                for rows in PieceRead(piece, job.log_partition, job.columns, job.limits).read(job.run):
                    if rows.log is not None:
                        yield rows.log.cast(LOG.schema)

    return task


def _for_each_unit(job: IngestJob, do: Callable[[Unit], tuple[list[NewFile], list[SourceRow]]]) -> BatchTask:
    def task(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in _numbers(numbers):
            try:
                files, sources = do(job.units[number])
                done = UnitDone(
                    None, json.dumps(files), record_batch(SourceRow, sources).serialize().to_pybytes()
                )
            except (OffsetsToolError, OSError) as error:
                done = UnitDone(shown(str(error)), "[]", b"")
            yield record_batch(UnitDone, [done])

    return task


def _numbers(batches: Iterator[pa.RecordBatch]) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(UNIT).to_pylist()


def _write(unit: Unit, job: IngestJob, lake: Path) -> tuple[list[NewFile], list[SourceRow]]:
    sources = []
    with TableWriter(lake, LOG) as log, TableWriter(lake, EVENTS) as events:
        for piece in unit:
            read = PieceRead(piece, job.log_partition, job.columns, job.limits)
            for rows in read.read(job.run):
                if rows.log is not None and rows.events is not None:
                    log.write(rows.log)
                    events.write(rows.events)
            sources += read.rows(job.run, job.at)
        return [*log.close(), *events.close()], sources


def _account(unit: Unit, job: IngestJob) -> list[SourceRow]:
    sources = []
    for piece in unit:
        read = PieceRead(piece, job.log_partition, job.columns, job.limits)
        for _ in read.read(job.run):
            pass
        sources += read.rows(job.run, job.at)
    return sources
