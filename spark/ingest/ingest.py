"""Ingest sources into `log`, `events` and `sources`, incrementally and exactly once.

Steps: finish an interrupted run, plan what is new, let tasks read it, commit. A run that finds nothing new commits nothing.
Uses DataFrames only, so that it runs through Spark Connect too (with Arrow's writer, lake and sources must be visible to
this process and to the tasks). Knows not how a commit is made (spark.lake.commit).

Its tasks run over unit numbers: they read a unit's pieces, decode them, and account for every byte and record. An error such as a
file that cannot be opened comes back as a row, not as a stack trace.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa

from offsets_tool.columns.lane.availability import Engine, engine_asked
from offsets_tool.errors import OffsetsToolError, SourceError
from offsets_tool.job_rows import CopyRow
from offsets_tool.lake.merge import Batches
from offsets_tool.lake.tables import COPIES, EVENTS, LOG, SOURCES, Table
from offsets_tool.log.batches.limits import LIMITS, Limits
from offsets_tool.rows import Row
from offsets_tool.table_rows import SourceRow
from offsets_tool.wire.arrow import arrow_schema, record_batch
from offsets_tool.wire.schema import Bytes, String
from offsets_tool.wire.text import shown
from spark.ingest.account import PieceRead
from spark.ingest.copies import copies_notes, found_copies
from spark.ingest.known_bytes import KnownBytes, divide
from spark.ingest.plan import FilePiece, IngestFile, Unit, find_files, foreign_files, in_units, plan, rest
from spark.lake.commit import ArrowLake, Lake
from spark.lake.folder import opened
from spark.lake.parquet import NewFile, TableWriter
from spark.lake.spark_lake import SparkLake
from spark.runtime.rows import (
    RECORD_BYTES,
    Progress,
    StartSpark,
    Task,
    is_little,
    numbers_of,
    of_units,
    untold,
)
from spark.runtime.settings import is_on_cluster

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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
            log.end_group()
            events.end_group()
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


UNITS_AT_ONCE: Final = 16
"""The units of one Spark job on a machine; two jobs run at a time, so that no core waits for the last unit of a job."""
UNITS_ON_CLUSTER: Final = 256
"""Those on a cluster: one that grows with what waits is to see more than it has cores for."""

SUMS: Final = (
    "bytes",
    "batches",
    "records",
    "decoded_records",
    "raw_records",
    "control_records",
    "foreign_rows",
    "bytes_unreadable",
    "tail_bytes",
)
"""The columns of `sources` that are summed over files."""


class Writer(StrEnum):
    """What writes the tables' files: the tasks with Arrow, or Spark (slower, for storage that only Spark can write)."""

    ARROW = "arrow"
    SPARK = "spark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to ingest, and into which lake. `cluster` None takes the id in meta.properties; `columns` are as in `read_archive`."""

    paths: Sequence[str]
    lake: str
    cluster: str | None = None
    log_partition: int | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    writer: Writer = Writer.ARROW
    limits: Limits = LIMITS


class Ingested(NamedTuple):
    """What an ingest did: its last run (None where nothing was new), its rows of `sources`, and notes."""

    run: int | None
    sources: list[Row]
    notes: list[str]

    @property
    def sums(self) -> dict[str, int]:
        """The sums of the ledger over all files of this ingest."""
        return {name: sum(source[name] for source in self.sources) for name in SUMS}

    @property
    def stored(self) -> int:
        """How many records were stored: those whose bytes the lake did not have."""
        return sum(source["records"] for source in self.sources if source["same_as"] is None)


def ingest(
    request: Request, start: StartSpark, progress: Progress = untold, lake: Lake | None = None
) -> Ingested:
    """Read what is new in the sources of a request, and commit it to the lake; `progress` counts bytes.

    `start` makes a session, and is called only when there is something to read; `lake` is that of the request, where it is open
    already. SourceError for a source that cannot be read, UsageError or SetupError for a lake that cannot be written.
    """
    tasks = Tasks(start, progress)
    if request.writer is Writer.ARROW:
        with opened(lake or request.lake) as open_lake:
            return _with_arrow(tasks, request, open_lake)
    is_local = "://" not in request.lake
    root = Path(request.lake).absolute()
    with opened(root) if is_local else nullcontext():
        return _with_spark(tasks, request, SparkLake(start(), str(root) if is_local else request.lake))


def _with_arrow(tasks: "Tasks", request: Request, lake: Lake) -> Ingested:
    """Ingest into a lake that is open: the tasks write the files, this process commits them."""
    commits = ArrowLake(lake)

    def run(job: IngestJob, found: _Found) -> pa.RecordBatch:
        files, read = tasks.collect(job, lambda part: write_units(part, lake.root))
        sources = found.sources(read, job)
        if sources.num_rows:
            files += lake.new_file(COPIES, found.copies(sources, job.run))
            files += lake.new_file(SOURCES, sources)
            commits.commit(job.run, files)
        return sources

    return _in_runs(commits, request, run)


def _with_spark(tasks: "Tasks", request: Request, lake: SparkLake) -> Ingested:
    """Ingest into a lake that only Spark can write. Reads everything twice: the account must be known before the first commit."""

    def run(job: IngestJob, found: _Found) -> pa.RecordBatch:
        _, read = tasks.collect(job, account_units)
        sources = found.sources(read, job)
        if sources.num_rows:
            same = _of_same_bytes(job, read.to_pylist())
            log = tasks.rows(same, log_units, LOG) if same.units else None
            lake.commit(job.run, log, found.copies(sources, job.run), sources)
        return sources

    return _in_runs(lake, request, run)


class _Found(NamedTuple):
    """The files that the sources of a request have, the rows of `sources` of earlier runs, and bytes that the lake knows."""

    files: Sequence[IngestFile]
    before: Sequence[Row]
    known: Sequence[KnownBytes]
    later: bool
    """Whether another run is to follow, for files that begin as those of this one."""

    def sources(self, read: pa.RecordBatch, job: IngestJob) -> pa.RecordBatch:
        """Return the rows of `sources` of a run, given those of what it has read."""
        rows = [row for each in self.known for row in each.source_rows(job.run, job.at)]
        both = pa.Table.from_batches([record_batch(SourceRow, rows), read])
        return both.combine_chunks().to_batches()[0] if both.num_rows else read

    def copies(self, sources: pa.RecordBatch, run: int) -> pa.RecordBatch:
        """Return the rows of `copies` of a run, given its rows of `sources`."""
        return record_batch(CopyRow, found_copies(self.files, self.before, sources.to_pylist(), run))


def _in_runs(
    lake: ArrowLake | SparkLake, request: Request, run: Callable[[IngestJob, _Found], pa.RecordBatch]
) -> Ingested:
    """Ingest what is new, in as many runs as needed, each with its own commit; return what they did together."""
    last, sources, notes = None, list[Row](), list[str]()
    while True:
        job, found, note = _prepare(lake, request)
        notes += [note] if note else []
        if rows := run(job, found).to_pylist():
            last, sources = job.run, sources + rows
        if not found.later:
            return Ingested(last, sources, [*notes, *copies_notes([*found.before, *rows], sources)])


def _prepare(lake: ArrowLake | SparkLake, request: Request) -> tuple[IngestJob, _Found, str | None]:
    """Finish an interrupted run, and return the job of this run, the files found, and a note; leave out the lake's own files."""
    found = find_files(request.paths, request.cluster, request.log_partition, request.columns)
    files = foreign_files(found, request.lake, request.paths)
    lake.create()
    note = lake.finish()
    before = lake.sources()
    divided = divide(files, before)
    others = [
        piece._replace(is_after_known=True)
        for each in divided.known
        for piece in rest(each.file, 1, each.end)
    ]
    units = (*plan(divided.read, before), *in_units(others))
    job = IngestJob(
        units,
        lake.next_run(),
        datetime.now(UTC),
        request.log_partition,
        request.columns,
        request.limits,
        engine_asked(),
    )
    return job, _Found(files, before, divided.known, bool(divided.later)), note


def _of_same_bytes(job: IngestJob, sources: list[Row]) -> IngestJob:
    """Return a job that reads exactly the bytes that the rows of `sources` account for, for the second reading."""
    files = {piece.source: piece.file for unit in job.units for piece in unit}
    pieces = [
        FilePiece(
            file=files[row["source"]],
            generation=row["generation"],
            start=row["range_start"],
            end=row["range_end"] if files[row["source"]].continues else None,
            resumes=True,
            sha256=row["sha256"],
        )
        for row in sources
        if row["records"]
    ]
    return job._replace(units=in_units(pieces))


class Tasks:
    """Runs tasks over the units of a job: in this process where these are small, else in Spark, started on first use."""

    def __init__(self, start: StartSpark, progress: Progress) -> None:
        self._start = start
        self._progress = progress

    def rows(self, job: IngestJob, task: Callable[[IngestJob], Task], table: Table) -> "DataFrame":
        """Return the rows of a table that the tasks yield, as a DataFrame."""
        from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - for storage that only Spark can write

        units = self._start().range(0, len(job.units), 1, len(job.units))
        return units.mapInArrow(task(job), from_arrow_schema(table.schema))

    def collect(
        self, job: IngestJob, task: Callable[[IngestJob], Task]
    ) -> tuple[list[NewFile], pa.RecordBatch]:
        """Run the tasks, and return the files that they wrote and their rows of `sources`, in the order of the units."""
        is_here = is_little(_size(job) // RECORD_BYTES)
        many = UNITS_AT_ONCE if is_here or not is_on_cluster(self._start()) else UNITS_ON_CLUSTER
        parts = [
            job._replace(units=job.units[first : first + many]) for first in range(0, len(job.units), many)
        ]
        files: list[NewFile] = []
        sources: list[pa.RecordBatch] = []
        total = sum(_size(part) for part in parts)
        done = 0
        self._progress(done, total)
        with ThreadPoolExecutor(2) as pool:
            for part, units in zip(
                parts,
                pool.map(lambda part: self._units(part, task(part), is_here=is_here), parts),
                strict=True,
            ):
                for unit in units:
                    files += [NewFile(*file) for file in json.loads(unit.files)]
                    sources.append(
                        pa.ipc.read_record_batch(pa.py_buffer(bytes(unit.sources)), SOURCES.schema)
                    )
                done += _size(part)
                self._progress(done, total)
        rows = pa.Table.from_batches(sources, SOURCES.schema).combine_chunks().to_batches()
        return files, rows[0] if rows else pa.RecordBatch.from_pylist([], SOURCES.schema)

    def _units(self, job: IngestJob, task: Task, *, is_here: bool) -> list[UnitDone]:
        """Run the task over all units of a job, and return its result for each."""
        units = of_units(self._start, len(job.units), is_here=is_here)
        done = [UnitDone(*row) for row in units.through(task, arrow_schema(UnitDone)).collect()]
        for unit in done:
            unit.require_done()
        return done


def _size(job: IngestJob) -> int:
    return sum(piece.size for unit in job.units for piece in unit)
