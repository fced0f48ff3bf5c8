"""The task of a replay: replay one log partition to its end and write its histories.

Rows are read in the order of the log (spark.replay.rows), are replayed by the library (columns.replay.history), and become Parquet
files and a checkpoint, which the driver commits. A log offset in two copies of a partition is an error, because nothing here can
choose between copies. Where one copy was ingested twice, as after compaction, the record of the first ingest counts.
"""

import json
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.replay.history import HistoryReplay, HistoryRows, Left, Start
from offsets_tool.errors import OffsetsToolError, SourceError, UsageError
from offsets_tool.wire.arrow import record_batch
from offsets_tool.wire.schema import Int32, String
from offsets_tool.wire.text import shown
from spark.lake.parquet import NewFile, TableWriter
from spark.lake.tables import HISTORIES
from spark.replay.checkpoints import checkpoint_path, keep_checkpoint
from spark.replay.plan import Work
from spark.replay.rows import COPY, LakeRows
from spark.runtime.rows import Batches, Task, numbers_of


class ReplayJob(NamedTuple):
    """What all tasks of a replay share; `names` are names of topics by cluster and topic id."""

    work: tuple[Work, ...]
    run: int
    lake: str
    names: Mapping[str, Mapping[str, str]]
    rows: LakeRows


class WorkDone(NamedTuple):
    """The result of a task: the number of its Work, why it failed, its files, and facts for its row of `replays` (both JSON)."""

    unit: Int32
    error: String | None
    lost: String | None
    """Why the checkpoint cannot be read: then nothing was done, and the partition must be replayed from its first record."""
    files: String
    facts: String


def replay_work(job: ReplayJob) -> Task:
    """Return a task that takes numbers of Works and yields a WorkDone for each that has rows."""

    def task(numbers: Batches) -> Batches:
        for unit in numbers_of(numbers):
            if done := replay_rows(job, unit, job.rows.of(job.work[unit])):
                yield record_batch(WorkDone, [done])

    return task


def replay_rows(job: ReplayJob, unit: int, batches: Batches) -> WorkDone | None:
    """Replay the rows of one Work (row_events.COLUMNS and COPY), and return what came of it; None where there are no rows."""
    first = next((batch for batch in batches if batch.num_rows), None)
    return None if first is None else _done(job, unit, chain([first], batches))


def _done(job: ReplayJob, unit: int, batches: Iterator[pa.RecordBatch]) -> WorkDone:
    work = job.work[unit]
    try:
        replay = HistoryReplay(_start(job, work))
    except (SourceError, OSError) as error:
        return WorkDone(unit, None, shown(str(error)), "[]", "{}")
    try:
        files, facts = _replay(job, work, replay, once(batches, work))
    except SourceError:
        # A file of the lake is damaged: what that means is said where the lake's folders are known.
        raise
    except (OffsetsToolError, OSError) as error:
        return WorkDone(unit, shown(str(error)), None, "[]", "{}")
    return WorkDone(unit, None, None, json.dumps(files), json.dumps(facts))


def once(batches: Iterator[pa.RecordBatch], work: Work) -> Iterator[pa.RecordBatch]:
    """Yield each record once, given rows in the order of offsets, then of ingests; UsageError where two copies have one offset."""
    last, copy = -1, ""
    for batch in batches:
        offsets, copies = batch.column("log_offset"), batch.column(COPY)
        before, copies_before = _shifted(offsets, last), _shifted(copies, copy)
        again = pc.equal(offsets, before)
        other = pc.index(pc.and_(again, pc.not_equal(copies, copies_before)), True).as_py()
        if other >= 0:
            raise _twice(work, *(column[other].as_py() for column in (offsets, copies_before, copies)))
        last, copy = offsets[-1].as_py(), copies[-1].as_py()
        yield batch.filter(pc.invert(again)) if again.true_count else batch


def _shifted(column: pa.Array, first: Any) -> pa.Array:
    """Return a column moved on by one row: each value is that of the row before, the first one is `first`."""
    return pa.concat_arrays([pa.array([first], column.type), column.slice(0, len(column) - 1)])


def _twice(work: Work, log_offset: int, copy: str, other: str) -> UsageError:
    return UsageError(
        f"partition {work.log_partition} of cluster {work.cluster!r} is in the lake twice: offset {log_offset} is in {copy} and in "
        f"{other}; make a new lake, of one copy alone or of each copy with its own --cluster"
    )


def _replay(
    job: ReplayJob, work: Work, replay: HistoryReplay, batches: Iterator[pa.RecordBatch]
) -> tuple[list[NewFile], dict[str, Any]]:
    ended, held, records = _Writers(job, work), _Writers(job, work), 0
    for batch in batches:
        records += batch.num_rows
        ended.write(replay.replay(batch))
    left = replay.leave()
    held.write(left.rows)
    files = [*ended.close(), *held.close()]
    name = keep_checkpoint(Path(job.lake), left.checkpoint)
    return files, {"records": records, "checkpoint": name, **_facts(left)}


def _start(job: ReplayJob, work: Work) -> Start:
    names = job.names.get(work.cluster, {})
    if work.checkpoint is None:
        return Start(work.log_partition, names, work.rules)
    path = checkpoint_path(Path(job.lake), work.checkpoint)
    return Start(work.log_partition, names, work.rules, path.read_bytes(), path.as_posix())


def _facts(left: Left) -> dict[str, Any]:
    return {
        "next_log_offset": left.position,
        "settled_log_offset": left.settled,
        "rules": left.rules,
        "proving_log_offset": left.proved_at,
        "differing_log_offset": left.differed_at,
        "unnamed_topic_ids": left.unnamed,
    }


class _Writers:
    """Writers of one new file for each history, which add the columns that only a lake has: cluster and run."""

    def __init__(self, job: ReplayJob, work: Work) -> None:
        self._writers = [TableWriter(Path(job.lake), table) for table in HISTORIES]
        self._cluster, self._run = work.cluster, job.run

    def write(self, rows: HistoryRows) -> None:
        for writer, table, some in zip(self._writers, HISTORIES, rows, strict=True):
            if some.num_rows:
                cluster = pa.array([self._cluster] * some.num_rows)
                run = pa.array([self._run] * some.num_rows, pa.int64())
                writer.write(pa.record_batch([cluster, *some.columns, run], schema=table.schema))

    def close(self) -> list[NewFile]:
        return [file for writer in self._writers for file in writer.close()]
