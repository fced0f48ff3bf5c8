"""The tasks of an ingest: read a unit's pieces, decode them, and account for every byte and record.

They run over unit numbers. What to read is decided in plan.py, commits are made in
spark.lake.commit. An error such as a file that cannot be opened comes back as a row, not as a stack trace.
"""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from offsets_tool.columns.lane.availability import Engine
from offsets_tool.errors import OffsetsToolError, SourceError
from offsets_tool.lake.merge import Batches
from offsets_tool.lake.tables import EVENTS, LOG
from offsets_tool.log.batches.limits import Limits
from offsets_tool.table_rows import SourceRow
from offsets_tool.wire.arrow import record_batch
from offsets_tool.wire.schema import Bytes, String
from offsets_tool.wire.text import shown
from spark.ingest.account import PieceRead
from spark.ingest.plan import FilePiece, Unit
from spark.lake.parquet import NewFile, TableWriter
from spark.runtime.rows import Task, numbers_of


class IngestJob(NamedTuple):
    """What all tasks of an ingest share: the units to read, the run, and how to read them."""

    units: tuple[Unit, ...]
    run: int
    at: datetime
    log_partition: int | None
    columns: Mapping[str, str]
    limits: Limits
    engine: Engine

    def read_of(self, piece: FilePiece) -> PieceRead:
        """Return the reading of a piece."""
        return PieceRead(piece, self.log_partition, self.columns, self.limits, self.engine)


class UnitDone(NamedTuple):
    """The result of a task for one unit: its files (JSON), its rows of `sources` (Arrow), or why it could not be read."""

    error: String | None
    files: String
    sources: Bytes
    source: String | None = None
    """The path of the source that the error is about; None where it is about anything else."""

    @classmethod
    def failed(cls, error: Exception, unit: Unit) -> "UnitDone":
        """Return the result of a unit that could not be read."""
        if isinstance(error, SourceError) and error.path in {piece.file.segment.path for piece in unit}:
            return cls(shown(error.reason), "[]", b"", shown(error.path))
        return cls(shown(str(error)), "[]", b"")

    def require_done(self) -> None:
        """Raise the error of a unit that could not be read: SourceError for a source, OffsetsToolError for anything else."""
        if self.error is not None:
            raise (
                OffsetsToolError(self.error) if self.source is None else SourceError(self.source, self.error)
            )


def write_units(job: IngestJob, lake: Path) -> Task:
    """Return a task that writes the files of each unit into the folders of `log` and `events`, and yields a UnitDone for each."""
    return _for_each_unit(job, lambda unit: _write(unit, job, lake))


def account_units(job: IngestJob) -> Task:
    """Return a task that reads and decodes each unit, keeps only its account, and yields a UnitDone for each."""
    return _for_each_unit(job, lambda unit: ([], _account(unit, job)))


def log_units(job: IngestJob) -> Task:
    """Return a task that yields the rows of `log` of each unit."""

    def task(numbers: Batches) -> Batches:
        for number in numbers_of(numbers):
            for piece in job.units[number]:
                for rows in job.read_of(piece).read(job.run):
                    if rows.log is not None:
                        yield rows.log.cast(LOG.schema)

    return task


def _for_each_unit(job: IngestJob, do: Callable[[Unit], tuple[list[NewFile], list[SourceRow]]]) -> Task:
    def task(numbers: Batches) -> Batches:
        for number in numbers_of(numbers):
            try:
                files, sources = do(job.units[number])
                done = UnitDone(
                    None, json.dumps(files), record_batch(SourceRow, sources).serialize().to_pybytes()
                )
            except (OffsetsToolError, OSError) as error:
                done = UnitDone.failed(error, job.units[number])
            yield record_batch(UnitDone, [done])

    return task


def _write(unit: Unit, job: IngestJob, lake: Path) -> tuple[list[NewFile], list[SourceRow]]:
    sources = []
    with TableWriter(lake, LOG) as log, TableWriter(lake, EVENTS) as events:
        for piece in unit:
            read = job.read_of(piece)
            for rows in read.read(job.run):
                if rows.log is not None and rows.events is not None:
                    log.write(rows.log)
                    events.write(rows.events)
            sources += read.rows(job.run, job.at)
        return [*log.close(), *events.close()], sources


def _account(unit: Unit, job: IngestJob) -> list[SourceRow]:
    sources = []
    for piece in unit:
        read = job.read_of(piece)
        for _ in read.read(job.run):
            pass
        sources += read.rows(job.run, job.at)
    return sources
