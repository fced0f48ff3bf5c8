"""Run all jobs on a lake in their order: ingest, replay, lag, expiry, findings. Each works on what the jobs before it have written.

Every job makes its own commit: killed and run again, the tables end up the same. Knows the order, not what a job does.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from pyspark.sql import SparkSession

from offsets_tool.evidence.expiring import PolicyOverrides
from offsets_tool.lake.tables import LAG
from offsets_tool.log.files.folders import PathKind, look_at
from offsets_tool.log.storage import listings_kept
from offsets_tool.log.topics import find_topics, ids_of
from spark.derived.derive import Derived, asked_before, finished, replayed
from spark.derived.ends import EndsRequest
from spark.derived.expiry import expiry
from spark.derived.findings import findings
from spark.derived.lag import OF_LAG, LagRequest, lag
from spark.ingest.ingest import Ingested, Request, ingest
from spark.lake.commit import Lake
from spark.lake.folder import opened
from spark.replay.replay import Replayed, replay
from spark.replay.topic_ids import DIRECTORY, Named
from spark.runtime.memory import release_unused
from spark.runtime.rows import Progress, untold


class JobDone(NamedTuple):
    """What one job did: its run (None where nothing was new), the rows that it wrote by table, and the sums of its input."""

    job: str
    run: int | None
    rows: Mapping[str, int]
    ledger: Mapping[str, int]
    notes: list[str]
    seconds: float
    problems: Sequence[str] = ()
    """What it could not do, while all else is done."""


def run(
    request: Request,
    start: Callable[[], SparkSession],
    coordinator: str | None,
    progress: Callable[[str], Progress] = lambda job: untold,
    topic_ids: Named = MappingProxyType({}),
    *,
    policy: PolicyOverrides | None = None,
) -> Iterator[JobDone]:
    """Run every job on the lake of `request`, and yield a JobDone as each ends; errors are those of the single jobs.

    `start` makes a session, and is called only if a job needs one; `topic_ids` are names that no record gives; `progress` is called
    with a job's name as it begins, and returns the function that is told how far it is.
    `coordinator` (auto, classic or new) and `policy` are for the cluster of `request`, or for all where it names none; None leaves
    each cluster what it had, at first what its log proves. Lag is computed as it was last asked for. The lake is opened once, and
    locked from the first job to the last.
    """
    with opened(request.lake) as lake, listings_kept():
        yield _timed(lambda: _ingested(ingest(request, start, progress("ingest"), lake)))
        replaying = progress("replay")
        named = _names_of(request.paths) | dict(topic_ids)
        of_replay = None if coordinator is None else request.cluster
        yield run_replay(lake, start, coordinator, named, replaying, cluster=of_replay)
        lagging = progress("lag")
        ends = EndsRequest(paths=request.paths, cluster=request.cluster)
        notes = finished(lake, OF_LAG)
        yield _also(notes, run_lag(lake, start, LagRequest(ends=ends, **asked_before(lake, LAG)), lagging))
        of_policy = None if policy is None else request.cluster
        yield run_expiry(lake, start, policy, progress("expiry"), cluster=of_policy)
        yield _found(lake, start, (), progress("findings"))


def _names_of(paths: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the topic names that the partition.metadata of data directories say; SourceError for one that cannot be read."""
    found = find_topics(path for path in paths if look_at(path).kind is PathKind.FOLDER)
    return {topic_id: (topic, DIRECTORY) for topic_id, topic in ids_of(found).items()}


def run_replay(
    lake: str | Lake,
    start: Callable[[], SparkSession],
    coordinator: str | None,
    topic_ids: Named = MappingProxyType({}),
    progress: Progress = untold,
    *,
    cluster: str | None = None,
) -> JobDone:
    """Replay what ingests have added to a lake, and return what was done; errors are those of spark.replay.replay.replay."""
    return _timed(lambda: _replayed(replay(lake, start, coordinator, topic_ids, progress, cluster=cluster)))


def run_lag(
    lake: str | Lake, start: Callable[[], SparkSession], request: LagRequest, progress: Progress = untold
) -> JobDone:
    """Compute the lag of a lake's groups, and return what was done; errors are those of spark.derived.lag.lag."""
    return _timed(lambda: _derived("lag", lag(lake, start, request, progress)))


def run_expiry(
    lake: str | Lake,
    start: Callable[[], SparkSession],
    request: PolicyOverrides | None,
    progress: Progress = untold,
    *,
    cluster: str | None = None,
) -> JobDone:
    """Compute the expiry of a lake's offsets, and return what was done; errors are those of spark.derived.expiry.expiry."""
    return _timed(lambda: _derived("expiry", expiry(lake, start, request, progress, cluster=cluster)))


def run_findings(
    lake: str | Lake,
    start: Callable[[], SparkSession],
    clusters: Collection[str] = (),
    progress: Progress = untold,
) -> JobDone:
    """Find what is wrong in a lake's clusters, and return what was done; errors are those of spark.derived.findings.findings.

    Findings rest on expiry: it is computed first, as it was last asked for, where that is not done.
    """
    with replayed(lake) as (open_lake, _):
        expired = run_expiry(open_lake, start, None)
        return _also(expired.notes, _found(open_lake, start, clusters, progress))


def _found(
    lake: str | Lake, start: Callable[[], SparkSession], clusters: Collection[str], progress: Progress
) -> JobDone:
    return _timed(lambda: _derived("findings", findings(lake, start, clusters, progress)))


def _also(notes: list[str], step: JobDone) -> JobDone:
    """Return the JobDone with further notes before its own, each note once."""
    return step._replace(notes=list(dict.fromkeys([*notes, *step.notes])))


def _timed(job: Callable[[], JobDone]) -> JobDone:
    began = time.monotonic()
    done = job()
    release_unused()
    return done._replace(seconds=round(time.monotonic() - began, 1))


def _ingested(done: Ingested) -> JobDone:
    records = done.stored
    rows = {"log": records, "events": records, "sources": len(done.sources)} if done.run else {}
    return JobDone("ingest", done.run, rows, done.sums, done.notes, 0)


def _replayed(done: Replayed) -> JobDone:
    records = sum(row["records"] for row in done.partitions)
    came = {"records": records, "partitions": len(done.partitions)}
    return JobDone("replay", done.run, done.rows, came, done.notes, 0, done.problems)


def _derived(job: str, done: Derived) -> JobDone:
    return JobDone(
        job, done.run, dict(done.tables), {"clusters": len(done.rows)}, done.notes, 0, done.problems
    )
