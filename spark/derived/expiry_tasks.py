"""The tasks of expiry: write rows of live offsets from checkpoints, of removed ones from `removals`.

`removals` are grouped by topic. A task holds no more than the live offsets of one partition, or the removed offsets of one topic.
The library holds the rules (lake.expiry).
"""

import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import pyarrow as pa

from offsets_tool.errors import OffsetsToolError, SourceError
from offsets_tool.expiry.removals import LongestLifetime
from offsets_tool.expiry.topic_removals import LogEnd
from offsets_tool.lake.checkpoints import REMEDY, checkpoint_path
from offsets_tool.lake.expiry import (
    ExpiryAsked,
    checkpoint_expiry,
    explain_removals,
    longest_lifetimes,
    removal_facts_by_topic,
)
from offsets_tool.lake.merge import Batches
from offsets_tool.lake.plan import LogPartition
from offsets_tool.lake.scan import file_rows
from offsets_tool.lake.tables import EXPIRY, REMOVALS
from offsets_tool.log.archive.delta_mirror import file_bytes
from offsets_tool.wire.arrow import arrow_schema, record_batch
from offsets_tool.wire.schema import Bytes, String
from offsets_tool.wire.text import shown
from spark.derived.derive import FilesMade, write_derived
from spark.lake.folder import root_of
from spark.runtime.rows import Rows, Task, numbers_of

T = TypeVar("T")
_COLUMNS: Final = ("cluster", "log_partition", "facts")


class ExpiryInput(NamedTuple):
    """What expiry is computed from, as units of work. Tasks cannot hold it, since `units` holds a session."""

    checkpoints: Sequence[tuple[LogPartition, str]]
    """Log partitions, each with the name of its checkpoint."""
    removals: Sequence[Path]
    """The files of `removals`."""
    units: Callable[[int], Rows]
    """Makes a row for each unit of work, given how many there are."""


class ExpiryJob(NamedTuple):
    """What all tasks share: the lake and the run, by which policy each cluster is judged, and how each partition's log ends."""

    lake: str
    run: int
    asked: Mapping[str, ExpiryAsked]
    log_ends: Mapping[LogPartition, LogEnd]


class Live(NamedTuple):
    """The files with rows of live offsets (FilesMade), and by cluster the longest lifetimes of topics."""

    files: Sequence[FilesMade]
    longest: Mapping[str, Sequence[LongestLifetime]]


class _LiveDone(NamedTuple):
    """The result of a task: a cluster, why it failed, its files (JSON) and its topics' longest lifetimes (a pickle)."""

    cluster: String
    error: String | None
    files: String
    longest: Bytes


def write_live(job: ExpiryJob, given: ExpiryInput) -> Live:
    """Write the rows of live offsets, by a task for each checkpoint; OffsetsToolError where one cannot be read.

    A task that is given several checkpoints of a cluster writes their rows together.
    """
    checkpoints = given.checkpoints
    found = given.units(len(checkpoints)).through(_live_task(job, checkpoints), arrow_schema(_LiveDone))
    done = [_LiveDone(*row) for row in found.collect()]
    if error := next((each.error for each in done if each.error), None):
        raise OffsetsToolError(error)
    longest: dict[str, list[LongestLifetime]] = {cluster: [] for cluster in job.asked}
    for each in done:
        longest[each.cluster] += pickle.loads(each.longest)
    return Live([FilesMade(each.cluster, each.files) for each in done], longest)


def _live_task(job: ExpiryJob, checkpoints: Sequence[tuple[LogPartition, str]]) -> Task:
    def task(batches: Batches) -> Batches:
        some = (checkpoints[unit] for unit in numbers_of(batches))
        for cluster, of_cluster in groupby(some, lambda each: each[0][0]):
            yield record_batch(_LiveDone, [_live(job, cluster, (name for _, name in of_cluster))])

    return task


def _live(job: ExpiryJob, cluster: str, names: Iterable[str]) -> _LiveDone:
    root, longest = root_of(job.lake), list[LongestLifetime]()

    def rows() -> Iterator[tuple[str, pa.RecordBatch]]:
        for name in names:
            found = _read(checkpoint_path(root, name), job.asked[cluster], checkpoint_expiry)
            longest.extend(found.longest)
            yield from ((cluster, some) for some in found.live)

    try:
        done = list(write_derived(root, EXPIRY, job.run, rows()))
    except (OffsetsToolError, OSError) as error:
        return _LiveDone(cluster, shown(str(error)), "[]", pickle.dumps(longest))
    files = [file for each in done for text in each.column("files").to_pylist() for file in json.loads(text)]
    return _LiveDone(cluster, None, json.dumps(files), pickle.dumps(longest))


def with_checkpoints(
    job: ExpiryJob,
    checkpoints: Sequence[tuple[LogPartition, str]],
    batches: Batches,
    read: Callable[[bytes, str, ExpiryAsked], T],
) -> Iterator[tuple[str, str | None, T | None]]:
    """Yield for each checkpoint in `batches` its cluster, why it cannot be read, and what `read` returns of it. Runs in a task."""
    for unit in numbers_of(batches):
        (cluster, _), name = checkpoints[unit]
        try:
            yield cluster, None, _read(checkpoint_path(root_of(job.lake), name), job.asked[cluster], read)
        except (OffsetsToolError, OSError) as error:
            yield cluster, str(error), None


def _read(path: Path, asked: ExpiryAsked, read: Callable[[bytes, str, ExpiryAsked], T]) -> T:
    """Read a checkpoint; one that cannot be read is deleted, with an OffsetsToolError.

    Its beginning may still be readable, and a replay that finds nothing new looks at no more: it would not notice the damage.
    """
    content = file_bytes(path)
    try:
        return read(content, path.as_posix(), asked)
    except SourceError as error:
        path.unlink(missing_ok=True)
        raise OffsetsToolError(f"{error}; it was removed: {REMEDY}") from error


class _Fact(NamedTuple):
    """A PackedFact on its way to the task of its topic, packed into bytes, with its cluster and its topic."""

    cluster: String
    topic: String
    packed: Bytes


def write_removed(
    job: ExpiryJob, given: ExpiryInput, longest: Mapping[str, Sequence[LongestLifetime]]
) -> list[FilesMade]:
    """Write the rows of removed offsets, and return their files; one task for each topic gets the removals of all groups."""
    lifetimes = [
        _Fact(cluster, *each) for cluster, some in longest.items() for each in longest_lifetimes(some)
    ]
    task = _removals_task(job, given.removals, lifetimes)
    # One more unit brings the lifetimes.
    lost = given.units(len(given.removals) + 1).through(task, arrow_schema(_Fact))
    by_topic = lost.grouped(["cluster", "topic"], ["cluster", "topic"])
    done = by_topic.through(_explain_task(job), arrow_schema(FilesMade)).collect()
    return [FilesMade(*each) for each in done]


def _removals_task(job: ExpiryJob, removals: Sequence[Path], lifetimes: Sequence[_Fact]) -> Task:
    def task(batches: Batches) -> Batches:
        for unit in numbers_of(batches):
            if unit == len(removals):
                yield record_batch(_Fact, lifetimes)
                continue
            for (cluster, log_partition), facts in removals_in(removals[unit], job):
                asked, log_end = job.asked[cluster], job.log_ends[cluster, log_partition]
                removed = [_Fact(cluster, *each) for each in removal_facts_by_topic(facts, log_end, asked)]
                yield record_batch(_Fact, removed)

    return task


def removals_in(file: Path, job: ExpiryJob) -> Iterator[tuple[LogPartition, list[str]]]:
    """Yield each run of rows of one log partition in a file of `removals`: the log partition, and the facts of its rows."""
    for batch in file_rows(file, REMOVALS, _COLUMNS):
        rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
        for log_partition, some in groupby(rows, itemgetter(0, 1)):
            if log_partition[0] in job.asked:
                yield log_partition, [facts for _, _, facts in some]


def _explain_task(job: ExpiryJob) -> Task:
    def explained(batches: Batches) -> Iterator[tuple[str, pa.RecordBatch]]:
        for (cluster, _), packed in _by_topic(batches):
            for rows in explain_removals(packed, job.asked[cluster]):
                yield cluster, rows

    def task(batches: Batches) -> Batches:
        yield from write_derived(root_of(job.lake), EXPIRY, job.run, explained(batches))

    return task


def _by_topic(batches: Batches) -> Iterator[tuple[tuple[str, str], Iterable[bytes]]]:
    """Group rows, which come in the order of cluster and topic, by these; yield each cluster and topic with its facts."""
    rows = chain.from_iterable(
        zip(*(column.to_pylist() for column in batch.columns), strict=True) for batch in batches
    )
    for topic, some in groupby(rows, itemgetter(0, 1)):
        yield topic, (packed for _, _, packed in some)
