"""What tasks of expiry do: of checkpoints they write what is there, of `removals`, brought together by topic, what is gone.

Nobody holds more than what one partition has alive, or what was lost of a topic. Runs in Spark's Python workers; the library
decides.
"""

import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from offsets_tool.columns.expiry import ExpiryAsked, checkpoint_expiry, explain_losses, living, weigh_losses
from offsets_tool.errors import OffsetsToolError, SourceError
from offsets_tool.expiry.removals import LongestLifetime
from offsets_tool.expiry.topic_removals import LogEnd
from offsets_tool.wire.arrow import arrow_schema, record_batch
from offsets_tool.wire.schema import Bytes, Int32, String
from offsets_tool.wire.text import shown
from spark.derived.derive import FilesMade, Made, made_of, write_derived
from spark.lake.tables import EXPIRY, REMOVALS
from spark.replay.checkpoints import REMEDY, checkpoint_path
from spark.replay.plan import LogPartition

T = TypeVar("T")
Batches = Iterator[pa.RecordBatch]
Task = Callable[[Batches], Batches]
Checkpoints = Sequence[tuple[LogPartition, str]]
"""Partitions with their checkpoints' names."""
_UNIT: Final = "unit"


class ExpiryJob(NamedTuple):
    """What all tasks share: what is asked of each cluster, and how each partition's log ends."""

    lake: str
    run: int
    asked: Mapping[str, ExpiryAsked]
    endings: Mapping[LogPartition, LogEnd]


class Live(NamedTuple):
    """Files with rows of what is there, and by cluster since when topics have been."""

    made: list[Made]
    alive: Mapping[str, Sequence[LongestLifetime]]


class _LiveTold(NamedTuple):
    """What a task tells: of which partition, why it could not be done; its files (JSON) and what is alive (a pickle)."""

    unit: Int32
    error: String | None
    files: String
    alive: Bytes


def write_live(session: SparkSession, job: ExpiryJob, checkpoints: Checkpoints) -> Live:
    """A task for each partition. OffsetsToolError where a checkpoint does not read."""
    schema = from_arrow_schema(arrow_schema(_LiveTold))
    found = units_of(session, checkpoints).mapInArrow(_live_task(job, checkpoints), schema)
    told = sorted((_LiveTold(*row) for row in found.collect()), key=lambda each: each.unit)
    if error := next((each.error for each in told if each.error), None):
        raise OffsetsToolError(error)
    alive: dict[str, list[LongestLifetime]] = {cluster: [] for cluster in job.asked}
    made = list[Made]()
    for each in told:
        cluster = checkpoints[each.unit][0][0]
        made += made_of([(cluster, each.files)])
        alive[cluster] += pickle.loads(each.alive)
    return Live(made, alive)


def units_of(session: SparkSession, checkpoints: Checkpoints) -> DataFrame:
    """A row for each checkpoint, in a task of its own."""
    units = session.createDataFrame([(unit,) for unit in range(len(checkpoints))], f"{_UNIT} INT")
    return units.repartitionById(len(checkpoints), F.col(_UNIT))


def _live_task(job: ExpiryJob, checkpoints: Checkpoints) -> Task:
    def task(batches: Batches) -> Batches:
        for unit in (unit for batch in batches for unit in batch.column(_UNIT).to_pylist()):
            (cluster, _), name = checkpoints[unit]
            yield record_batch(_LiveTold, [_live(job, unit, cluster, name)])

    return task


def _live(job: ExpiryJob, unit: int, cluster: str, name: str) -> _LiveTold:
    root = Path(job.lake)
    path = checkpoint_path(root, name)
    try:
        found = _read(path, job.asked[cluster], checkpoint_expiry)
        rows = ((cluster, some) for some in found.live)
        done = list(write_derived(root, EXPIRY, job.run, rows))
    except (OffsetsToolError, OSError) as error:
        return _LiveTold(unit, shown(str(error)), "[]", b"")
    files = [file for each in done for text in each.column("files").to_pylist() for file in json.loads(text)]
    return _LiveTold(unit, None, json.dumps(files), pickle.dumps(found.alive))


def with_checkpoints(
    job: ExpiryJob, checkpoints: Checkpoints, batches: Batches, read: Callable[[bytes, str, ExpiryAsked], T]
) -> Iterator[tuple[str, str | None, T | None]]:
    """For each of the units the cluster, and why its checkpoint does not read or what was read of it."""
    for unit in (unit for batch in batches for unit in batch.column(_UNIT).to_pylist()):
        (cluster, _), name = checkpoints[unit]
        try:
            yield cluster, None, _read(checkpoint_path(Path(job.lake), name), job.asked[cluster], read)
        except (OffsetsToolError, OSError) as error:
            yield cluster, str(error), None


def _read(path: Path, asked: ExpiryAsked, read: Callable[[bytes, str, ExpiryAsked], T]) -> T:
    """One that does not read is taken away: its beginning may still read, and a replay looks at no more before it finds nothing
    new."""
    try:
        return read(path.read_bytes(), path.as_posix(), asked)
    except SourceError as error:
        path.unlink(missing_ok=True)
        raise OffsetsToolError(f"{error}; it was removed: {REMEDY}") from error


class _Loss(NamedTuple):
    """OfTopic of a cluster."""

    cluster: String
    topic: String
    packed: Bytes


def write_gone(
    session: SparkSession, job: ExpiryJob, alive: Mapping[str, Sequence[LongestLifetime]]
) -> list[Made]:
    """Each topic in one task, with all that any group lost of it."""
    schema = from_arrow_schema(arrow_schema(_Loss))
    lives = [_Loss(cluster, *each) for cluster, some in alive.items() for each in living(some)]
    lost = (
        removals_of(session, job)
        .mapInArrow(_weigh_task(job), schema)
        .unionAll(session.createDataFrame(lives, schema))
    )
    by_topic = lost.repartition("cluster", "topic").sortWithinPartitions("cluster", "topic")
    found = by_topic.mapInArrow(_explain_task(job), from_arrow_schema(arrow_schema(FilesMade)))
    return made_of(found.collect())


def removals_of(session: SparkSession, job: ExpiryJob) -> DataFrame:
    """Facts of the clusters' removals, with their places."""
    removals = session.read.format("delta").load(f"{job.lake}/{REMOVALS.name}")
    return removals.where(F.col("cluster").isin([*job.asked])).select("cluster", "log_partition", "facts")


def _weigh_task(job: ExpiryJob) -> Task:
    def task(batches: Batches) -> Batches:
        for batch in batches:
            for (cluster, log_partition), facts in by_place(batch):
                asked, ending = job.asked[cluster], job.endings[cluster, log_partition]
                losses = [_Loss(cluster, *each) for each in weigh_losses(facts, ending, asked)]
                yield record_batch(_Loss, losses)

    return task


def by_place(batch: pa.RecordBatch) -> Iterator[tuple[LogPartition, list[str]]]:
    """Facts of `removals_of` that come one after another of one log partition, with it."""
    rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
    for place, some in groupby(rows, itemgetter(0, 1)):
        yield place, [facts for _, _, facts in some]


def _explain_task(job: ExpiryJob) -> Task:
    def explained(batches: Batches) -> Iterator[tuple[str, pa.RecordBatch]]:
        for (cluster, _), packed in _by_topic(batches):
            for rows in explain_losses(packed, job.asked[cluster]):
                yield cluster, rows

    def task(batches: Batches) -> Batches:
        yield from write_derived(Path(job.lake), EXPIRY, job.run, explained(batches))

    return task


def _by_topic(batches: Batches) -> Iterator[tuple[tuple[str, str], Iterable[bytes]]]:
    """Rows that come sorted, topic by topic."""
    rows = chain.from_iterable(
        zip(*(column.to_pylist() for column in batch.columns), strict=True) for batch in batches
    )
    for topic, some in groupby(rows, itemgetter(0, 1)):
        yield topic, (packed for _, _, packed in some)
