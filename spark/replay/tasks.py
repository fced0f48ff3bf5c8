"""The task of a replay: replay one log partition to its end and write its histories.

Rows are read in the order of the log (offsets_tool.lake.rows), are replayed by the library (relations.histories), and become
Parquet files and a checkpoint, which the driver commits. Of a partition that is one log, each offset counts once; several copies
are joined (offsets_tool.lake.joined) and replayed from their first record.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple
from uuid import uuid4

import pyarrow as pa

from offsets_tool.errors import OffsetsToolError, SetupError, SourceError
from offsets_tool.lake.checkpoints import OF_VERSION, checkpoint_path
from offsets_tool.lake.copies import LakeCopies, LakeCopy
from offsets_tool.lake.joined import JoinedRows
from offsets_tool.lake.merge import Batches, once
from offsets_tool.lake.plan import LogPartition, Work
from offsets_tool.lake.rows import LakeRows
from offsets_tool.lake.tables import HISTORIES, Table
from offsets_tool.log.archive.delta_mirror import file_bytes, file_written
from offsets_tool.log.copies.views import LeftOut
from offsets_tool.relations.histories import Histories
from offsets_tool.relations.replays import HistoryRows, ReplayEnd, Start
from offsets_tool.relations.row_events import records_of
from offsets_tool.rows import Row
from offsets_tool.wire.arrow import record_batch
from offsets_tool.wire.schema import Int32, String
from offsets_tool.wire.text import shown
from spark.lake.folder import root_of, write_whole
from spark.lake.parquet import NewFile, TableWriter
from spark.runtime.rows import Task, numbers_of

MOST_TOGETHER: Final = 100_000
"""The most rows of log partitions that are held until all are replayed."""


class FewRows:
    """Rows of log partitions that tasks of this process leave to the driver, at most MOST_TOGETHER of them.

    It writes those of a cluster together: a small cluster has fifty log partitions, and each would have files of its own.
    """

    def __init__(self) -> None:
        self._of: dict[LogPartition, list[list[list[pa.RecordBatch]]]] = {}
        self._rows = 0

    def take(self, key: LogPartition, rows: list[list[list[pa.RecordBatch]]]) -> bool:
        """Take rows of a log partition, ended ones and then those that hold, each by history; return False if they are too many."""
        self.forget(key)
        count = _count(rows)
        if self._rows + count > MOST_TOGETHER:
            return False
        self._of[key], self._rows = rows, self._rows + count
        return True

    def forget(self, key: LogPartition) -> None:
        """Drop the rows of a log partition that will be replayed again."""
        self._rows -= _count(self._of.pop(key, []))

    def write(self, root: Path, keys: Collection[LogPartition]) -> list[NewFile]:
        """Write the rows of some log partitions to files of a lake, ended rows apart from those that hold."""
        by_cluster: dict[str, list[LogPartition]] = defaultdict(list)
        for key in self._of:
            if key in keys:
                by_cluster[key[0]].append(key)
        return [
            file
            for of_cluster in by_cluster.values()
            for histories in zip(*(self._of[key] for key in of_cluster), strict=True)
            for table, batches in zip(HISTORIES, zip(*histories, strict=True), strict=True)
            for file in _file_of(root, table, chain.from_iterable(batches))
        ]


def _count(rows: list[list[list[pa.RecordBatch]]]) -> int:
    return sum(batch.num_rows for histories in rows for batches in histories for batch in batches)


def _file_of(root: Path, table: Table, batches: Iterable[pa.RecordBatch]) -> list[NewFile]:
    with TableWriter(root, table) as writer:
        for batch in batches:
            writer.write(batch)
        return writer.close()


class ReplayJob(NamedTuple):
    """What all tasks of a replay share; `names` are names of topics by cluster and topic id, `copies` those that are joined."""

    work: tuple[Work, ...]
    run: int
    lake: str
    names: Mapping[str, Mapping[str, str]]
    rows: LakeRows
    copies: LakeCopies = MappingProxyType({})
    ends: Mapping[LogPartition, int] = MappingProxyType({})
    """Where partitions ended of which records were taken out since."""
    few: FewRows | None = None
    """Takes the rows of log partitions that have few; None where tasks run elsewhere, and write all that they have."""


def keep_checkpoint(root: Path, checkpoint: bytes) -> str:
    """Write a checkpoint and return its name; the file is complete or does not exist. OSError where it cannot be written."""
    name = f"{OF_VERSION}{uuid4()}.gz"
    path = checkpoint_path(root, name)
    write_whole(path, checkpoint)
    file_written(path, len(checkpoint))
    return name


class WorkDone(NamedTuple):
    """The result of a task: the number of its Work, why it failed, its files, and facts for its row of `replays` (both JSON)."""

    unit: Int32
    error: String | None
    lost: String | None
    """Why the checkpoint cannot be read: then nothing was done, and the partition must be replayed from its first record."""
    files: String
    facts: String
    is_stopping: bool = False
    """Whether the error is not the partition's but that of the disk or the storage: then nothing is committed."""


def replay_work(job: ReplayJob) -> Task:
    """Return a task that takes numbers of Works and yields a WorkDone for each that has rows, or had some that were taken out."""

    def task(numbers: Batches) -> Batches:
        for unit in numbers_of(numbers):
            work = job.work[unit]
            copies = job.copies.get(work.key)
            done = replay_rows(job, unit, job.rows.of(work)) if copies is None else _joined(job, unit, copies)
            if done:
                yield record_batch(WorkDone, [done])

    return task


def replay_rows(job: ReplayJob, unit: int, batches: Batches) -> WorkDone | None:
    """Replay the rows of one Work (row_events.COLUMNS), and return its result; None where the partition never had any row."""
    first = next((batch for batch in batches if batch.num_rows), None)
    if first is None:
        return _done(job, unit, iter(())) if job.work[unit].key in job.ends else None
    return _done(job, unit, chain([first], batches))


def _done(job: ReplayJob, unit: int, batches: Iterator[pa.RecordBatch]) -> WorkDone:
    work = job.work[unit]
    try:
        replay = Histories(_start(job, work))
    except (SourceError, OSError) as error:
        return WorkDone(unit, None, shown(str(error)), "[]", "{}")
    return _written(unit, lambda: _replay(job, work, replay, once(batches)))


def _joined(job: ReplayJob, unit: int, copies: Sequence[LakeCopy]) -> WorkDone:
    work = job.work[unit]
    return _written(unit, lambda: _replay_joined(job, work, copies))


def _written(unit: int, replay: Callable[[], tuple[list[NewFile], Row]]) -> WorkDone:
    try:
        files, facts = replay()
    except SourceError:
        # A file of the lake is damaged: what that means is said where the lake's folders are known.
        raise
    except (OffsetsToolError, OSError) as error:
        return WorkDone(unit, shown(str(error)), None, "[]", "{}", isinstance(error, OSError | SetupError))
    return WorkDone(unit, None, None, json.dumps(files), json.dumps(facts))


def _replay(
    job: ReplayJob,
    work: Work,
    replay: Histories,
    batches: Iterator[pa.RecordBatch],
    joined: JoinedRows | None = None,
) -> tuple[list[NewFile], Row]:
    ended, records = _Writers(job, work), 0
    for batch in batches:
        records += records_of(batch).num_rows
        ended.write(replay.replay(batch))
    left = replay.leave(job.ends.get(work.key, 0))
    of_copies = _joined_facts(joined.names, joined.left_out) if joined else _joined_facts((), LeftOut())
    return _closed(job, work, ended, left, {"records": records, **of_copies})


def _replay_joined(job: ReplayJob, work: Work, copies: Sequence[LakeCopy]) -> tuple[list[NewFile], Row]:
    joined, replay = JoinedRows(copies, work.log_partition), Histories(_start(job, work))
    return _replay(job, work, replay, joined.rows(lambda: job.rows.records(work)), joined)


def _joined_facts(names: Sequence[str], out: LeftOut) -> Row:
    """Return for a row of `replays` which copies were joined, and what was left out of them."""
    return {
        "copies": names,
        "absences": out.absences,
        "abandoned": out.abandoned,
        "first_abandoned_log_offset": out.abandoned_at,
        "contradictions": out.contradictions,
        "first_contradicting_log_offset": out.contradiction_at,
    }


def _closed(
    job: ReplayJob, work: Work, ended: "_Writers", left: ReplayEnd, facts: Row
) -> tuple[list[NewFile], Row]:
    held = _Writers(job, work)
    ended.write(left.ended)
    held.write(left.rows)
    files = _files(job, work, ended, held)
    name = keep_checkpoint(root_of(job.lake), left.checkpoint)
    return files, {**facts, "checkpoint": name, **_facts(left)}


def _files(job: ReplayJob, work: Work, *writers: "_Writers") -> list[NewFile]:
    """Return the files of a log partition; none where its rows are few, and written with others'."""
    few = [rows for rows in (each.unwritten() for each in writers) if rows is not None]
    if job.few and len(few) == len(writers) and job.few.take(work.key, few):
        return []
    return [file for each in writers for file in each.close()]


def _start(job: ReplayJob, work: Work) -> Start:
    names = job.names.get(work.cluster, {})
    if work.checkpoint is None:
        return Start(work.log_partition, names, work.rules)
    path = checkpoint_path(root_of(job.lake), work.checkpoint)
    return Start(work.log_partition, names, work.rules, file_bytes(path), path.as_posix())


def _facts(left: ReplayEnd) -> Row:
    return {
        "next_log_offset": left.position,
        "settled_log_offset": left.settled,
        "rules": left.rules,
        "proving_log_offset": left.proved_at,
        "differing_log_offset": left.differed_at,
        "unnamed_topic_ids": left.unnamed,
        "proven_from_log_offset": left.proven_from,
        "problem": None,
    }


class _Writers:
    """Writers of one new file for each history, which add the columns that only a lake has: cluster and run."""

    def __init__(self, job: ReplayJob, work: Work) -> None:
        self._writers = [TableWriter(root_of(job.lake), table) for table in HISTORIES]
        self._cluster, self._run = work.cluster, job.run

    def write(self, rows: HistoryRows) -> None:
        for writer, table, some in zip(self._writers, HISTORIES, rows, strict=True):
            if some.num_rows:
                cluster = pa.array([self._cluster] * some.num_rows)
                run = pa.array([self._run] * some.num_rows, pa.int64())
                writer.write(pa.record_batch([cluster, *some.columns, run], schema=table.schema))

    def unwritten(self) -> list[list[pa.RecordBatch]] | None:
        """Return all rows by history; None where some of them are in a file already."""
        rows = [rows for rows in (writer.unwritten() for writer in self._writers) if rows is not None]
        return rows if len(rows) == len(self._writers) else None

    def close(self) -> list[NewFile]:
        return [file for writer in self._writers for file in writer.close()]
