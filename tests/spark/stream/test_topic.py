"""The live topic as consumers see it: each record that they see is in the lake once, and the cluster has nothing of us."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from kafka import KafkaConsumer, TopicPartition
from kafka.structs import OffsetAndMetadata
from pyspark.sql import SparkSession

from offsets_tool.events import decode
from offsets_tool.log.live.topic import LiveTopic
from offsets_tool.rows import BatchRead, LogRecord
from spark.cli import main
from spark.lake.folder import CAPTURED
from spark.stream.kafka_jars import KAFKA_DIGESTS
from spark.stream.topic_stream import LACKS, capture, kafka_options
from tests import plain_rows
from tests.broker import KRaftBroker
from tests.spark.lakes import COMMAND, SEGMENT, comparable, ingest_here, rows

SEEN = ("log_partition", "log_offset", "timestamp", "key", "value")
KAFKA = (
    "topic string, partition int, offset long, timestamp timestamp, timestampType int, key binary, value binary, \
headers array<struct<key: string, value: binary>>"
)
"""The columns of Spark's Kafka source."""


def comparable_log(records: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted((tuple(row[name] for name in SEEN) for row in records), key=lambda row: row[:2])


@pytest.mark.spark
def test_what_is_captured_is_an_archive_of_what_consumers_see(session: SparkSession, tmp_path: Path) -> None:
    """A micro-batch that was captured in part is captured anew; what was captured whole stays as it is."""
    records = [record for record in plain_rows.records([SEGMENT]) if not record.is_control]
    made = (
        session.createDataFrame(
            [("__consumer_offsets", 4, r.log_offset, r.timestamp, 0, r.key, r.value, None) for r in records],
            KAFKA.replace("timestamp timestamp", "timestamp long"),
        )
        .selectExpr("*", "timestamp_millis(timestamp) AS at")
        .drop("timestamp")
        .withColumnRenamed("at", "timestamp")
    )
    folder, lake = tmp_path / "lake" / CAPTURED / "id" / "0000000000", tmp_path / "lake"
    folder.mkdir(parents=True)
    (folder / "part-of-it.parquet").write_bytes(b"PAR1")
    assert capture(made, folder) == folder
    assert ingest_here(lake, folder, cluster="c").sums["records"] == len(records)
    expected = [plain_rows.log(record) | {"log_partition": 4} for record in records]
    assert comparable_log(comparable(lake)["log"]) == comparable_log(expected)
    capture(made, folder)
    assert ingest_here(lake, folder, cluster="c").run is None
    assert ingest_here(lake, tmp_path, SEGMENT, cluster="c").sums["records"] > 0, "of the segment alone"
    files = {path.name for path in folder.glob("*.parquet")} | {SEGMENT.name}
    assert {Path(row["source"]).name for row in rows(lake, "sources")} == files


def test_only_how_to_get_to_a_broker_is_taken_over() -> None:
    given = {
        "security.protocol": "SSL",
        "ssl.truststore.location": "x",
        "group.id": "g",
        "enable.auto.commit": "true",
    }
    options = kafka_options("h:1", given, 2)
    assert json.loads(options["assign"]) == {"__consumer_offsets": [0, 1]}
    assert {name for name in options if name.startswith("kafka.")} == {
        "kafka.security.protocol",
        "kafka.ssl.truststore.location",
        "kafka.bootstrap.servers",
        "kafka.isolation.level",
        "kafka.allow.auto.create.topics",
    }
    assert len(KAFKA_DIGESTS) == 4


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["x", "--bootstrap-server", "127.0.0.1:1"], 2, "takes neither FOLDER"),
        (["--bootstrap-server", "127.0.0.1:1", "--log-partition", "1"], 2, "nor --log-partition"),
        (["--once"], 2, "name FOLDER..., or a live topic"),
        (["--bootstrap-server", "127.0.0.1:1", "--lake", "s3://b/lake"], 2, "name a --lake on disk"),
    ],
)
def test_what_cannot_be_is_one_sentence(tmp_path: Path, arguments: list[str], code: int, said: str) -> None:
    done = CliRunner().invoke(main, ["stream", "--lake", str(tmp_path), *arguments])
    assert (done.exit_code, done.stdout) == (code, "")
    assert said in done.stderr


class Streaming:
    """The command at work on a broker's topic."""

    def __init__(self, broker: KRaftBroker, lake: Path, *options: str) -> None:
        command = ["stream", "--bootstrap-server", broker.bootstrap_server, "--lake", str(lake), *options]
        self._process = subprocess.Popen(
            [*COMMAND, *command, "--cluster", "k", "--format", "jsonl"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def until_record(self) -> Iterator[dict[str, Any]]:
        """Yield what micro-batches did, up to the next one with a record."""
        assert self._process.stdout
        for line in self._process.stdout:
            yield json.loads(line)
            if json.loads(line)["ledger"].get("records"):
                return

    def end(self, number: int | None = None) -> tuple[int, str, str]:
        if number is not None:
            self._process.send_signal(number)
        out, err = self._process.communicate(timeout=600)
        return self._process.returncode, out, err


def commit(broker: KRaftBroker, offset: int) -> None:
    """Commit an offset as a consumer that never joins a group."""
    consumer = KafkaConsumer(
        bootstrap_servers=broker.bootstrap_server, group_id="streamed", enable_auto_commit=False
    )
    place = TopicPartition("live-orders", 0)
    consumer.assign([place])
    consumer.commit({place: OffsetAndMetadata(offset, "", -1)})
    consumer.close()


def live(broker: KRaftBroker) -> list[LogRecord]:
    with LiveTopic(broker.bootstrap_server) as topic:
        return [record for item in topic if isinstance(item, BatchRead) for record in item.records]


@pytest.mark.broker
@pytest.mark.engine
def test_a_live_topic(active: KRaftBroker, tmp_path: Path) -> None:
    """Stopped, with a micro-batch that Spark does not know as done and one that was captured in part, and started again.

    The broker writes when it likes, as for members that are gone: whether a micro-batch comes between, nothing here decides.
    """
    lake = tmp_path / "lake"
    streaming = Streaming(active, lake, "--every", "1s")
    done = [*streaming.until_record()]
    commit(active, 5)
    done += streaming.until_record()
    code, out, notes = streaming.end(signal.SIGTERM)
    assert (code, notes.splitlines()[0]) == (0, LACKS), notes
    done += map(json.loads, out.splitlines())
    (checkpoint,) = (lake / "_stream").iterdir()
    planned = max(int(file.name) for file in (checkpoint / "offsets").glob("[0-9]*"))
    assert planned in (done[-1]["batch"], done[-1]["batch"] + 1)
    # Hadoop's checksum of a file is there until Spark removes it, and no file of that name can be written then.
    for name in (str(planned), f".{planned}.crc"):
        (checkpoint / "commits" / name).unlink(missing_ok=True)
    (captured,) = (lake / CAPTURED).iterdir()
    torn = captured / f"{planned + 1:010d}"
    torn.mkdir()
    (torn / "torn.parquet").write_bytes(b"PAR1")
    commit(active, 6)
    code, out, notes = Streaming(active, lake, "--once").end()
    assert code == 0, notes
    again, *more = map(json.loads, out.splitlines())
    assert again["batch"] == planned
    assert more, notes
    assert again["rows"] == {} or planned > done[-1]["batch"]
    there = live(active)
    stored = comparable_log(comparable(lake)["log"])
    assert len({row[:2] for row in stored}) == len(stored)
    ends = {row[0]: row[1] for row in stored}
    visible = comparable_log([plain_rows.log(record) for record in there if not record.is_control])
    assert {row for row in visible if row[1] <= ends.get(row[0], -1)} <= set(stored), (
        "the cleaner may have taken others"
    )
    assert sum(each["ledger"].get("records", 0) for each in (*done, again, *more)) == len(stored)
    offsets = [row["committed_offset"] for row in rows(lake, "events") if row["group"] == "streamed"]
    assert offsets == [5, 6]
    assert not any("spark" in str(decode(record).key) for record in there), "no group of ours"
