"""The stream of the live topic, through Spark's Kafka source: each micro-batch is captured as an archive, and ingested as one.

A consumer sees records and neither markers nor batches: LACKS says what that costs. It joins no group and commits nothing, so that
nothing is written to the cluster. What was captured is kept in the lake's folder, as the topic forgets it. Knows no replay.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from offsets_tool.errors import UsageError
from offsets_tool.log.live.topic import LiveTopic
from offsets_tool.log.names import OFFSETS_TOPIC
from offsets_tool.log.storage import is_stored
from spark.lake.folder import CAPTURED, root_of, uri_of
from spark.stream.stream import StreamRequest, StreamSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LACKS: Final = (
    "through Spark's Kafka source the lake lacks what consumers do not see: transaction markers, producers, leader epochs and "
    "batches; so commits of open and aborted transactions count like all others, and `transactions` stays empty: stream the "
    "segments where that matters"
)
_FILES: Final = 8
"""The files of a micro-batch at most: each is a row of `sources`, and is read by one task."""
_SECURITY: Final = ("security.", "sasl.", "ssl.", "client.")
"""How properties begin that say how to get to a broker; all others are about consuming, of which nothing is left to choose."""
_FIXED: Final = {
    "startingOffsets": "earliest",
    "includeHeaders": "true",
    # A micro-batch with less than it is to have would be taken for complete.
    "failOnDataLoss": "true",
    "kafka.isolation.level": "read_uncommitted",
    # Else asking for a topic that a cluster does not have yet would make it.
    "kafka.allow.auto.create.topics": "false",
}
_COLUMNS: Final = (
    "topic",
    "partition",
    "offset",
    # In milliseconds, as Kafka has it.
    "unix_millis(timestamp) AS timestamp",
    "timestampType AS timestamp_type",
    "key",
    "value",
    "headers",
)
_DONE: Final = "_SUCCESS"
"""The file that Spark writes into a folder once all others are there."""


class CapturedTopic(NamedTuple):
    """A cluster's `__consumer_offsets` as Spark is asked for it, and the lake that keeps what is captured."""

    options: Mapping[str, str]
    cluster: str
    captured: Path


def captured_topic(
    bootstrap_server: str, client_config: Mapping[str, str], asked: StreamRequest
) -> CapturedTopic:
    """Ask a cluster for the partitions of its topic, and for its id where the request does not name it.

    `client_config` has the client properties of Kafka's tools. UsageError for a lake that is not on disk, SourceError for a cluster
    that does not answer.
    """
    lake = asked.request.lake
    if is_stored(lake):
        raise UsageError(
            f"{lake} is in storage, and what is captured of a live topic is written to disk: name a --lake on disk"
        )
    with LiveTopic(bootstrap_server, client_config) as topic:
        options = kafka_options(bootstrap_server, client_config, topic.partition_count)
        cluster = asked.request.cluster or topic.cluster_id
    return CapturedTopic(options, cluster, root_of(lake) / CAPTURED)


def kafka_options(bootstrap_server: str, client_config: Mapping[str, str], partitions: int) -> dict[str, str]:
    """Return the options of Spark's Kafka source for all partitions of the topic, which are assigned: no group is joined."""
    given = {f"kafka.{name}": value for name, value in client_config.items() if name.startswith(_SECURITY)}
    assigned = json.dumps({OFFSETS_TOPIC: list(range(partitions))})
    return {**given, **_FIXED, "assign": assigned, "kafka.bootstrap.servers": bootstrap_server}


def topic_source(topic: CapturedTopic, asked: StreamRequest) -> StreamSource:
    """Return the stream that captures a live topic and ingests each micro-batch."""
    name = repr((OFFSETS_TOPIC, topic.cluster))
    checkpoint = asked.checkpoint_of(name)

    def started(session: "SparkSession") -> "DataFrame":
        return session.readStream.format("kafka").options(**topic.options).load()

    def arrived(rows: "DataFrame", batch: int) -> list[str]:
        return [str(capture(rows, topic.captured / _id_of(checkpoint) / f"{batch:010d}"))]

    return StreamSource(name, started, arrived)


def _id_of(checkpoint: Path) -> str:
    """Return the id of a stream by its checkpoint; a stream with a new checkpoint has another id."""
    found: str = json.loads((checkpoint / "metadata").read_text(encoding="utf-8"))["id"]
    return found


def capture(rows: "DataFrame", folder: Path) -> Path:
    """Write the rows of a micro-batch into a folder of its own, unless all of them are there, and return it."""
    if not (folder / _DONE).exists():
        rows.selectExpr(*_COLUMNS).coalesce(_FILES).write.mode("overwrite").parquet(uri_of(folder))
    return folder
