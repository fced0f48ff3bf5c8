"""The broker is a real one: it answers, keeps what is committed, and its files are there after it has stopped."""

import os
import uuid
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.admin import NewTopic
from kafka.structs import OffsetAndMetadata

from oracle.client import Oracle
from tests.broker import OFFSETS_PARTITIONS, BrokerError, KRaftBroker
from tests.members import joined

pytestmark = [pytest.mark.broker, pytest.mark.java]


def committed(broker: KRaftBroker, group: str, offset: int) -> None:
    """Commit an offset as a group without members, in a topic named as the group."""
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_server)
    admin.create_topics([NewTopic(group, 1, 1)])
    admin.close()
    place = TopicPartition(group, 0)
    consumer = KafkaConsumer(
        bootstrap_servers=broker.bootstrap_server, group_id=group, enable_auto_commit=False
    )
    consumer.assign([place])
    consumer.commit({place: OffsetAndMetadata(offset, "by hand", -1)})
    consumer.close()


def segments(broker: KRaftBroker) -> list[Path]:
    return sorted(broker.data_dir.glob("__consumer_offsets-*/*.log"))


def test_a_commit_is_in_the_segments_after_the_stop(oracle: Oracle) -> None:
    with KRaftBroker() as broker:
        committed(broker, "payments", 5)
        broker.stop()
        assert len(segments(broker)) == OFFSETS_PARTITIONS
        batches = [batch for log in segments(broker) for batch in oracle.batches(log).batches]
        records = [
            (record["key_hex"], record["value_hex"]) for batch in batches for record in batch["records"]
        ]
        reads = oracle.serde("4.3.1", [(bytes.fromhex(key), bytes.fromhex(value)) for key, value in records])
        [commit] = [read for read in reads if '"type":1' in (read.key or "")]
        assert '"offset":5' in (commit.value or "")
        assert '"metadata":"by hand"' in (commit.value or "")
        folder = broker.folder
    assert not folder.exists()


def test_a_stopped_broker_finds_its_data_again() -> None:
    with KRaftBroker(properties={"offsets.topic.num.partitions": "2"}) as broker:
        committed(broker, "orders", 11)
        assert len(segments(broker)) == 2
        broker.stop()
        broker.start()
        place = TopicPartition("orders", 0)
        consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap_server, group_id="orders")
        assert consumer.committed(place) == 11
        consumer.close()


def test_kafkas_own_tools_speak_with_the_shared_broker(broker: KRaftBroker) -> None:
    group = f"group-{uuid.uuid4()}"
    committed(broker, group, 3)
    told = broker.run(
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
        "--bootstrap-server",
        broker.bootstrap_server,
        "--describe",
        "--group",
        group,
    )
    [line] = [line.split() for line in told.stdout.splitlines() if line.startswith(group)]
    assert line[:4] == [group, group, "0", "3"]


def test_a_member_has_its_partitions_by_joining_once(broker: KRaftBroker) -> None:
    """Between two joinings kafka-python may forget that it is joining: tests.members says why."""
    topic = f"topic-{uuid.uuid4()}"
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_server)
    admin.create_topics([NewTopic(topic, 2, 1)])
    admin.close()
    for group in (f"{topic}-1", f"{topic}-2", f"{topic}-3"):
        consumer = joined(topic, group=group, bootstrap_server=broker.bootstrap_server)
        assert consumer.assignment() == {TopicPartition(topic, number) for number in range(2)}
        assert consumer.group_metadata().generation_id == 1
        consumer.close()


def test_a_broker_that_cannot_start_shows_its_log() -> None:
    impossible = KRaftBroker(properties={"listeners": "PLAINTEXT://127.0.0.1:1"})
    with pytest.raises(BrokerError, match="listener"), impossible:
        pass
    assert not impossible.folder.exists()


def test_a_kill_is_unclean_a_stop_is_clean_and_neither_leaves_a_process() -> None:
    with KRaftBroker() as broker:
        clean = broker.data_dir / ".kafka_cleanshutdown"
        killed = broker.process_id
        broker.kill()
        assert not clean.exists()
        broker.start()
        stopped = broker.process_id
        broker.stop()
        assert clean.exists()
    for process in (killed, stopped):
        assert process is not None
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
