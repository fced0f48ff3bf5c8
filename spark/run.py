"""All jobs of a lake, one after the other: each takes what the ones before it have brought, and only that.

Every job commits for itself: killed and run again, the tables are the same. Knows the order, and nothing of what a job does.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from pyspark.sql import SparkSession

from offsets_tool.evidence.expiring import PolicyGiven
from offsets_tool.log.files.folders import PathKind, look_at
from offsets_tool.log.topics import find_topics
from spark.derived.derive import Derived, asked_before, finished
from spark.derived.ends import EndsRequest
from spark.derived.expiry import OF_EXPIRY, as_before, expiry
from spark.derived.lag import OF_LAG, LagRequest, lag
from spark.ingest.ingest import Ingested, Progress, Request, ingest
from spark.lake.tables import LAG
from spark.replay.replay import Replayed, replay
from spark.replay.topic_ids import DIRECTORY, Named


class JobDone(NamedTuple):
    """What one job did: its run (None: nothing was new), the rows it wrote, by table, and what came in."""

    job: str
    run: int | None
    rows: Mapping[str, int]
    ledger: Mapping[str, int]
    notes: list[str]
    seconds: float


def run(
    request: Request,
    start: Callable[[], SparkSession],
    coordinator: str,
    progress: Progress | None = None,
    topic_ids: Named = MappingProxyType({}),
) -> Iterator[JobDone]:
    """Every job, a Step as each ends; errors as they have them. Lag at commits and expiry by what the log proves, unless the lake
    was asked otherwise: then as it was last."""
    yield _timed(lambda: _ingested(ingest(request, start, progress)))
    yield run_replay(request.lake, start, coordinator, _names_of(request.paths) | dict(topic_ids))
    ends = EndsRequest(paths=request.paths, cluster=request.cluster)
    root = Path(request.lake).absolute()
    notes = finished(root, OF_LAG)
    asked = asked_before(root, LAG)
    yield _also(notes, run_lag(request.lake, start, LagRequest(ends=ends, **asked)))
    notes = finished(root, OF_EXPIRY)
    yield _also(notes, run_expiry(request.lake, start, as_before(request.lake)))


def _names_of(paths: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the topic names that the partition.metadata of data directories say."""
    found = find_topics(path for path in paths if look_at(path).kind is PathKind.FOLDER)
    return {each.topic_id: (each.topic, DIRECTORY) for each in found if each.topic_id}


def run_replay(
    lake: str,
    start: Callable[[], SparkSession],
    coordinator: str,
    topic_ids: Named = MappingProxyType({}),
) -> JobDone:
    """Replay what is new (spark.replay.replay.replay), as a step."""
    return _timed(lambda: _replayed(replay(lake, start, coordinator, topic_ids)))


def run_lag(lake: str, start: Callable[[], SparkSession], request: LagRequest) -> JobDone:
    """Only that."""
    return _timed(lambda: _derived("lag", lag(lake, start, request)))


def run_expiry(lake: str, start: Callable[[], SparkSession], request: PolicyGiven) -> JobDone:
    """Only that."""
    return _timed(lambda: _derived("expiry", expiry(lake, start, request)))


def _also(notes: list[str], step: JobDone) -> JobDone:
    """What both say is said once."""
    return step._replace(notes=list(dict.fromkeys([*notes, *step.notes])))


def _timed(job: Callable[[], JobDone]) -> JobDone:
    began = time.monotonic()
    return job()._replace(seconds=round(time.monotonic() - began, 1))


def _ingested(done: Ingested) -> JobDone:
    records = done.sums["records"]
    rows = {"log": records, "events": records, "sources": len(done.sources)} if done.run else {}
    return JobDone("ingest", done.run, rows, done.sums, [done.note] if done.note else [], 0)


def _replayed(done: Replayed) -> JobDone:
    records = sum(row["records"] for row in done.partitions)
    came = {"records": records, "partitions": len(done.partitions)}
    return JobDone("replay", done.run, done.rows, came, done.notes, 0)


def _derived(job: str, done: Derived) -> JobDone:
    rows = {job: sum(done.rows.values())} if done.run else {}
    return JobDone(job, done.run, rows, {"clusters": len(done.rows)}, done.notes, 0)
