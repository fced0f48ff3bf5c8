"""The tasks of expiry, run in Spark's Python workers: write rows of live offsets from checkpoints, of removed ones from `removals`.

`removals` are grouped by topic. A task holds no more than the live offsets of one partition, or the removed offsets of one topic.
The library holds the rules (columns.expiry).
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

from offsets_tool.columns.expiry import (
    ExpiryAsked,
    checkpoint_expiry,
    explain_removals,
    longest_lifetimes,
    removal_facts_by_topic,
)
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
"""Log partitions, each with the name of its checkpoint."""
_UNIT: Final = "unit"


class ExpiryJob(NamedTuple):
    """What all tasks share: the lake and the run, by which policy each cluster is judged, and how each partition's log ends."""

    lake: str
    run: int
    asked: Mapping[str, ExpiryAsked]
    log_ends: Mapping[LogPartition, LogEnd]


class Live(NamedTuple):
    """The files with rows of live offsets, and by cluster the longest lifetimes of topics."""

    made: list[Made]
    alive: Mapping[str, Sequence[LongestLifetime]]


class _LiveTold(NamedTuple):
    """The result of a task: its partition's number, why it failed, its files (JSON) and its topics' lifetimes (a pickle)."""

    unit: Int32
    error: String | None
    files: String
    alive: Bytes


def write_live(session: SparkSession, job: ExpiryJob, checkpoints: Checkpoints) -> Live:
    """Write the rows of live offsets, by a task for each checkpoint; OffsetsToolError where one cannot be read."""
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
    """Return a row with the number of each checkpoint, in a Spark partition of its own."""
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
    """Yield for each checkpoint in `batches` its cluster, why it cannot be read, and what `read` returns of it. Runs in a task."""
    for unit in (unit for batch in batches for unit in batch.column(_UNIT).to_pylist()):
        (cluster, _), name = checkpoints[unit]
        try:
            yield cluster, None, _read(checkpoint_path(Path(job.lake), name), job.asked[cluster], read)
        except (OffsetsToolError, OSError) as error:
            yield cluster, str(error), None


def _read(path: Path, asked: ExpiryAsked, read: Callable[[bytes, str, ExpiryAsked], T]) -> T:
    """Read a checkpoint; one that cannot be read is deleted, with an OffsetsToolError.

    Its beginning may still be readable, and a replay that finds nothing new looks at no more: it would not notice the damage.
    """
    try:
        return read(path.read_bytes(), path.as_posix(), asked)
    except SourceError as error:
        path.unlink(missing_ok=True)
        raise OffsetsToolError(f"{error}; it was removed: {REMEDY}") from error


class _Fact(NamedTuple):
    """A TopicFact of a cluster."""

    cluster: String
    topic: String
    packed: Bytes


def write_removed(
    session: SparkSession, job: ExpiryJob, alive: Mapping[str, Sequence[LongestLifetime]]
) -> list[Made]:
    """Write the rows of removed offsets, by a task for each topic that gets all that any group lost in it."""
    schema = from_arrow_schema(arrow_schema(_Fact))
    lifetimes = [_Fact(cluster, *each) for cluster, some in alive.items() for each in longest_lifetimes(some)]
    lost = (
        removals_of(session, job)
        .mapInArrow(_removals_task(job), schema)
        .unionAll(session.createDataFrame(lifetimes, schema))
    )
    by_topic = lost.repartition("cluster", "topic").sortWithinPartitions("cluster", "topic")
    found = by_topic.mapInArrow(_explain_task(job), from_arrow_schema(arrow_schema(FilesMade)))
    return made_of(found.collect())


def removals_of(session: SparkSession, job: ExpiryJob) -> DataFrame:
    """Return the facts of the clusters' removals, with cluster and log partition."""
    removals = session.read.format("delta").load(f"{job.lake}/{REMOVALS.name}")
    return removals.where(F.col("cluster").isin([*job.asked])).select("cluster", "log_partition", "facts")


def _removals_task(job: ExpiryJob) -> Task:
    def task(batches: Batches) -> Batches:
        for batch in batches:
            for (cluster, log_partition), facts in by_place(batch):
                asked, log_end = job.asked[cluster], job.log_ends[cluster, log_partition]
                removals = [_Fact(cluster, *each) for each in removal_facts_by_topic(facts, log_end, asked)]
                yield record_batch(_Fact, removals)

    return task


def by_place(batch: pa.RecordBatch) -> Iterator[tuple[LogPartition, list[str]]]:
    """Yield the facts in rows of `removals_of`, joined where neighbours are of one log partition, with that log partition."""
    rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
    for place, some in groupby(rows, itemgetter(0, 1)):
        yield place, [facts for _, _, facts in some]


def _explain_task(job: ExpiryJob) -> Task:
    def explained(batches: Batches) -> Iterator[tuple[str, pa.RecordBatch]]:
        for (cluster, _), packed in _by_topic(batches):
            for rows in explain_removals(packed, job.asked[cluster]):
                yield cluster, rows

    def task(batches: Batches) -> Batches:
        yield from write_derived(Path(job.lake), EXPIRY, job.run, explained(batches))

    return task


def _by_topic(batches: Batches) -> Iterator[tuple[tuple[str, str], Iterable[bytes]]]:
    """Yield the rows topic by topic, given in the order of cluster and topic."""
    rows = chain.from_iterable(
        zip(*(column.to_pylist() for column in batch.columns), strict=True) for batch in batches
    )
    for topic, some in groupby(rows, itemgetter(0, 1)):
        yield topic, (packed for _, _, packed in some)
