"""The stream of folders: what they gain is ingested from the folders themselves, so that the lake lacks nothing.

Knows how Spark is asked for the data source GrowingFolder, and by what a checkpoint is known to be of these folders.
"""

from typing import TYPE_CHECKING

from offsets_tool.log.storage import as_path
from spark.ingest.ingest import Request
from spark.lake.folder import root_of
from spark.stream.growing_folder import GrowingFolder, Watched, why_nothing
from spark.stream.stream import StreamSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def watched_of(request: Request) -> Watched:
    """Return the folders of a request in the form that the data source takes."""
    paths = sorted({str(as_path(path).absolute()) for path in request.paths})
    return Watched(paths, request.log_partition, request.columns, str(root_of(request.lake)))


def folder_source(watched: Watched, cluster: str | None) -> StreamSource:
    """Return the stream of these folders as a cluster; a micro-batch brings those that have changed."""

    def started(session: "SparkSession") -> "DataFrame":
        session.dataSource.register(GrowingFolder)
        return session.readStream.format(GrowingFolder.name()).option(*watched.option).load()

    def present() -> list[str]:
        return [path for path in watched.paths if why_nothing(watched, path) is None]

    name = repr((watched.paths, watched.log_partition, cluster))
    return StreamSource(name, started, _changed, present)


def _changed(rows: "DataFrame", batch: int) -> list[str]:
    return [row.path for row in rows.collect()]
