"""A broker that knows its ends: topics with records of known times, groups that lag behind them, and what Kafka's tools said of it.

`python -m tests.lag.story FOLDER` makes the fixture again: `broker/`, its data directory after a clean stop, and `said.json`.
"""

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.structs import OffsetAndMetadata

from tests.broker import KRaftBroker

CREATED, APPENDED, STABLE, QUIET = "lag-created", "lag-appended", "lag-transactions", "lag-quiet"
RECORDS = 400
EVERY_MS = 1_000
"""The record at offset i of CREATED was created so many milliseconds after the one before it."""
DELETED_BEFORE = 150
SETTINGS = {"index.interval.bytes": "256", "retention.ms": "-1"}
COMMITS = {
    "lag-lost": {CREATED: 100},
    "lag-behind": {CREATED: 333, APPENDED: 3, STABLE: 1},
    "lag-at-end": {CREATED: RECORDS, APPENDED: 6, STABLE: 6},
}


def run_story(broker: KRaftBroker, segment_bytes: int) -> dict[str, Any]:
    """Let clients act on a broker, and return what the broker and its tools say afterwards; the broker still runs."""
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_server)
    settings = SETTINGS | {"segment.bytes": str(segment_bytes)}
    admin.create_topics(
        [
            NewTopic(CREATED, 1, 1, topic_configs=settings),
            NewTopic(APPENDED, 1, 1, topic_configs=SETTINGS | {"message.timestamp.type": "LogAppendTime"}),
            NewTopic(STABLE, 1, 1),
            NewTopic(QUIET, 1, 1),
        ]
    )
    begins = int(time.time() * 1000) - RECORDS * EVERY_MS
    _produce(broker, begins, segment_bytes)
    appended = _append(broker)
    open_ = _leave_a_transaction_open(broker)
    for group, offsets in COMMITS.items():
        _commit(broker, group, offsets)
    admin.delete_records({TopicPartition(CREATED, 0): DELETED_BEFORE})
    admin.close()
    answers = {"begins": begins, "appended": appended, "at": int(time.time() * 1000)}
    for name in ("latest", "earliest"):
        answers[name] = _offsets(broker, "--time", name)
    middle = begins + 250 * EVERY_MS
    answers["from_250"] = _offsets(broker, "--time", str(middle))
    answers["described"] = _described(broker)
    open_.close()
    return answers


def _produce(broker: KRaftBroker, begins: int, segment_bytes: int) -> None:
    """Produce records that fill some segments, in batches of a few."""
    value = bytes(segment_bytes // 100)
    producer = KafkaProducer(
        bootstrap_servers=broker.bootstrap_server, batch_size=5 * len(value), linger_ms=50
    )
    for number in range(RECORDS):
        producer.send(CREATED, value, timestamp_ms=begins + number * EVERY_MS)
    producer.close()


def _append(broker: KRaftBroker) -> list[int]:
    """Produce records with the broker's time one by one, and return when each was written."""
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_server)
    times = [producer.send(APPENDED, b"x").get(30).timestamp for _ in range(6)]
    producer.close()
    return times


def _leave_a_transaction_open(broker: KRaftBroker) -> KafkaProducer:
    """Produce offsets 0-2 in a committed transaction (3 is the marker), 4 and 5 in an open one: the last stable offset is 4."""
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_server, transactional_id="lag-tx")
    producer.init_transactions()
    producer.begin_transaction()
    for _ in range(3):
        producer.send(STABLE, b"committed")
    producer.commit_transaction()
    producer.begin_transaction()
    for _ in range(2):
        producer.send(STABLE, b"open").get(30)
    return producer


def _commit(broker: KRaftBroker, group: str, offsets: dict[str, int]) -> None:
    consumer = KafkaConsumer(
        bootstrap_servers=broker.bootstrap_server, group_id=group, enable_auto_commit=False
    )
    places = {TopicPartition(topic, 0): OffsetAndMetadata(at, "", -1) for topic, at in offsets.items()}
    consumer.assign(list(places))
    consumer.commit(places)
    consumer.close()


def _offsets(broker: KRaftBroker, *arguments: str) -> str:
    """Return what kafka-get-offsets prints with these arguments."""
    return broker.run(
        "org.apache.kafka.tools.GetOffsetShell",
        "--bootstrap-server",
        broker.bootstrap_server,
        "--topic",
        "lag-.*",
        *arguments,
    ).stdout


def _described(broker: KRaftBroker) -> str:
    """Return what kafka-consumer-groups --describe prints of all groups."""
    return broker.run(
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
        "--bootstrap-server",
        broker.bootstrap_server,
        "--describe",
        "--all-groups",
    ).stdout


def keep(broker: KRaftBroker, folder: Path) -> None:
    """Copy the broker's data directory without the files that no test reads."""
    needed = ("lag-*", "__consumer_offsets-*", "*-checkpoint", "meta.properties")
    for path in sorted(path for pattern in needed for path in broker.data_dir.glob(pattern)):
        target = folder / "broker" / path.name
        if path.is_file():
            target.write_bytes(path.read_bytes())
        elif path.name.startswith("lag-") or any(file.stat().st_size for file in path.glob("*.log")):
            shutil.copytree(path, target)


def main(folder: Path) -> None:
    with KRaftBroker("3.9.2") as broker:
        answers = run_story(broker, 16 << 10)
        broker.stop()
        (folder / "broker").mkdir(parents=True)
        keep(broker, folder)
    (folder / "said.json").write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
