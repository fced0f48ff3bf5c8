"""Run a stream: Structured Streaming cuts micro-batches and keeps their checkpoint, the jobs of the lake do the work.

The checkpoint says which micro-batches were done, the lake's ledger what was ingested. Of both, the ledger decides: a stream that
is killed at any moment, or that has lost its checkpoint, goes on with nothing twice. Knows no source of rows.
"""

import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import SparkSession

from offsets_tool.errors import LakeInUse, UsageError
from offsets_tool.lake.tables import SOURCES, TABLES
from offsets_tool.lake.whole import is_table
from offsets_tool.log.storage import as_path, is_stored
from spark.ingest.ingest import Request
from spark.lake.folder import opened, root_of, uri_of
from spark.replay.topic_ids import Named
from spark.run import JobDone, run
from spark.stream.micro_batches import Arrived, BatchDone, Jobs, MicroBatches, Stopped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

FOLDER: Final = "_stream"
"""The folder of a lake that has the checkpoints of its streams."""
LOOK_EVERY: Final = 0.3
"""The seconds after which a stream is asked again whether it still runs."""
_NAME: Final = 12
_NO_CALLS: Final = UsageError(
    "a stream works in the process of Spark's driver, not of Spark Connect's server: unset SPARK_REMOTE, or name another --master"
)


class StreamSource(NamedTuple):
    """Where a stream's rows come from: a name that no other source has, what starts them, and what makes sources of them.

    `present` gives the sources that have something now, where nothing of Spark is needed to know it: with it, what is there is
    brought without a stream.
    """

    name: str
    start: "Callable[[SparkSession], DataFrame]"
    arrivals: "Callable[[DataFrame, int], Sequence[str]]"
    present: Arrived | None = None


class StreamRequest(NamedTuple):
    """How a stream runs: how its sources are ingested into which lake and replayed, how often, and where its checkpoint is.

    The paths of `request` give way to those of each micro-batch. `every_ms` None brings what is there and ends; `checkpoint` None
    is a folder of the lake.
    """

    request: Request
    coordinator: str | None = None
    topic_ids: Named = MappingProxyType({})
    every_ms: int | None = None
    checkpoint: str | None = None

    def checkpoint_of(self, source: str) -> Path:
        """Return where the checkpoint of a source is. UsageError where it must be named, or is of a lake that is gone."""
        lake = self.request.lake
        if self.checkpoint is None and is_stored(lake):
            raise UsageError(
                "a lake in storage has no place for the checkpoint: name a folder on disk with --checkpoint"
            )
        name = hashlib.sha256(source.encode()).hexdigest()[:_NAME]
        found = as_path(self.checkpoint) if self.checkpoint else as_path(lake) / FOLDER / name
        if is_stored(found):
            raise UsageError(f"--checkpoint {found} is in storage: name a folder on disk")
        if _has_brought(found) and not is_table(root_of(lake), SOURCES):
            raise UsageError(
                f"the checkpoint {found} is of a lake that is not there any more: name another --checkpoint, or remove it"
            )
        return found.absolute()


def stream(
    start: Callable[[], SparkSession],
    asked: StreamRequest,
    source: StreamSource,
    report: Callable[[BatchDone], None],
    stop: threading.Event,
) -> None:
    """Run a stream until all that is there is brought (without `every_ms`), or, between two micro-batches, until `stop` is set.

    `report` is called with each micro-batch that is done, in another thread. Errors are those of spark.run.run; UsageError for
    Spark Connect, whose server does not call back into this process. Without `every_ms`, sources that say what is present are
    brought in one micro-batch, by the ledger alone: Spark starts only where a job needs it, and there is no checkpoint.
    """
    is_once = asked.every_ms is None
    if is_once and source.present is not None:
        batches = MicroBatches(_jobs(asked, cache(start)), report, is_patient=False)
        batches.bring(_with_lake(asked, source.present), 0)
        return
    if os.environ.get("SPARK_REMOTE"):
        raise _NO_CALLS
    checkpoint = uri_of(asked.checkpoint_of(source.name))
    session = start()
    if not hasattr(session, "_jsc"):
        raise _NO_CALLS
    batches = MicroBatches(_jobs(asked, lambda: session), report, is_patient=not is_once)
    _follow(_query(session, checkpoint, asked, source, batches), batches, stop)


def _query(
    session: SparkSession, checkpoint: str, asked: StreamRequest, source: StreamSource, batches: MicroBatches
) -> "StreamingQuery":
    """Start the query of a stream, whose micro-batches are done by `batches`."""

    def micro_batch(rows: "DataFrame", batch: int) -> None:
        batches(_with_lake(asked, lambda: source.arrivals(rows, batch)), batch)

    writer = (
        source.start(session).writeStream.foreachBatch(micro_batch).option("checkpointLocation", checkpoint)
    )
    if asked.every_ms is None:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{asked.every_ms} milliseconds").start()


def _jobs(asked: StreamRequest, start: Callable[[], SparkSession]) -> Jobs:
    def jobs(paths: Sequence[str]) -> Iterable[JobDone]:
        request = replace(asked.request, paths=paths)
        return run(request, start, asked.coordinator, topic_ids=asked.topic_ids)

    return jobs


def _with_lake(asked: StreamRequest, arrived: Arrived) -> Arrived:
    """Return what gives the same sources, and makes the lake where there are none."""

    def with_lake() -> Sequence[str]:
        sources = arrived()
        if not sources:
            _make_lake(root_of(asked.request.lake))
        return sources

    return with_lake


def _has_brought(checkpoint: Path) -> bool:
    """Return whether a checkpoint has a micro-batch that may have brought something: not one of folders that had nothing yet."""
    if not (checkpoint / "commits").exists():
        return False
    seen = [path for path in (checkpoint / "offsets").glob("*") if path.name.isdigit()]
    # Spark writes what each source has seen as a line of its own, behind its settings.
    return not seen or any(path.read_text().splitlines()[-1] != "{}" for path in seen)


def _make_lake(root: Path) -> None:
    """Make the tables of a lake of which a micro-batch brings nothing: a checkpoint without one is of a lake that is gone."""
    # Who writes to it meanwhile makes them.
    with suppress(LakeInUse):
        if not is_table(root, SOURCES):
            with opened(root) as lake:
                lake.create(*TABLES)


def _follow(query: "StreamingQuery", batches: MicroBatches, stop: threading.Event) -> None:
    """Wait until a stream has ended by itself, or end it between two micro-batches once `stop` is set."""
    try:
        while query.isActive and not stop.wait(LOOK_EVERY):
            pass
    finally:
        batches.end()
        query.stop()
    failed = batches.kept.error or query.exception()
    if failed is not None and not isinstance(failed, Stopped):
        raise failed
