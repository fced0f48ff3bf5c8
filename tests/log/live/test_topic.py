"""The live topic of a real broker: it is what its own segment files hold, and reading it leaves no trace."""

import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kafka.errors import KafkaConnectionError
from kafka.protocol.parser import KafkaProtocol

from offsets_tool.errors import SourceError, UsageError
from offsets_tool.events import decode
from offsets_tool.log.discover import find_segments
from offsets_tool.log.live import LiveTopic, cluster, partition
from offsets_tool.log.segment import read_segment
from offsets_tool.rows import BatchRead, LogRecord, Unreadable
from spark.runtime.java import java
from tests.broker import OFFSETS_PARTITIONS, KRaftBroker, free_ports
from tests.log.live.activity import GROUPS, TRANSACTIONAL, act

pytestmark = pytest.mark.broker

PLAIN_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"

FETCH, LIST_OFFSETS, METADATA, API_VERSIONS = 1, 2, 3, 18


def in_files(broker: KRaftBroker, topic: LiveTopic) -> list[BatchRead]:
    """Return the batches in the broker's own files, up to the offsets that the topic had."""
    found = []
    for segment in find_segments([broker.data_dir]):
        for item in read_segment(segment):
            assert isinstance(item, BatchRead)
            assert segment.log_partition is not None
            if item.batch.base_offset < topic.ranges[segment.log_partition].end:
                source = topic.source(segment.log_partition)
                records = tuple(replace(record, source=source) for record in item.records)
                found.append(BatchRead(item.batch, records))
    return found


def batches(items: Iterator[BatchRead | Unreadable]) -> list[BatchRead]:
    found = list(items)
    assert [item for item in found if isinstance(item, Unreadable)] == []
    return [item for item in found if isinstance(item, BatchRead)]


def test_it_is_what_the_files_hold(active: KRaftBroker) -> None:
    """Keys, values, offsets, times, producers, checksums, markers, even positions: the same rows but for their source."""
    with LiveTopic(active.bootstrap_server) as topic:
        live = batches(iter(topic))
        assert live == in_files(active, topic)
        assert topic.partition_count == OFFSETS_PARTITIONS
    records = [record for item in live for record in item.records]
    events = [decode(record) for record in records]
    assert [event.problem for event in events if event.problem] == []
    assert {"COMMIT", "ABORT"} <= {event.control.type for event in events if event.control}
    groups = {event.key.data.group for event in events if event.key and event.key.type.id == 1}
    assert {*GROUPS, TRANSACTIONAL} <= groups
    assert any(event.tombstone for event in events)


def test_in_small_pieces(active: KRaftBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """One batch a fetch is the same log."""
    monkeypatch.setattr(partition, "FETCH_BYTES", 1)
    with LiveTopic(active.bootstrap_server) as topic:
        assert batches(iter(topic)) == in_files(active, topic)


def test_nothing_is_left_behind(active: KRaftBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only requests that read are sent, none may create the topic, and the log did not grow by being read."""
    sent: list[Any] = []
    send = KafkaProtocol.send_request

    def recording(self: KafkaProtocol, request: Any, correlation_id: int | None = None) -> Any:
        sent.append(request)
        return send(self, request, correlation_id)

    monkeypatch.setattr(KafkaProtocol, "send_request", recording)
    with LiveTopic(active.bootstrap_server, {"group.id": GROUPS[1], "client.id": "reader"}) as topic:
        before = topic.ranges
        list(topic)
    monkeypatch.undo()
    assert {request.API_KEY for request in sent} == {FETCH, LIST_OFFSETS, METADATA, API_VERSIONS}
    assert [r.allow_auto_topic_creation for r in sent if r.API_KEY == METADATA and r.topics] == [False]
    assert {request.isolation_level for request in sent if request.API_KEY == FETCH} == {0}
    with LiveTopic(active.bootstrap_server) as topic:
        assert topic.ranges == before


def test_chosen_partitions(active: KRaftBroker) -> None:
    """Only those, in the order asked for; one that is not there is refused."""
    with LiveTopic(active.bootstrap_server) as topic:
        everything = in_files(active, topic)
        records = [record.log_partition for item in batches(topic.read([3, 1])) for record in item.records]
        with pytest.raises(UsageError, match=f"has no partition {OFFSETS_PARTITIONS}; it has 0 to"):
            list(topic.read([OFFSETS_PARTITIONS]))
    expected = [record.log_partition for item in everything for record in item.records]
    assert records == [3] * expected.count(3) + [1] * expected.count(1)


def test_the_source_names_the_cluster(active: KRaftBroker) -> None:
    """And neither the host that was asked nor anything of the credentials."""
    [meta] = active.data_dir.glob("meta.properties")
    cluster_id = dict(line.split("=", 1) for line in meta.read_text().splitlines() if "=" in line)[
        "cluster.id"
    ]
    with LiveTopic(active.bootstrap_server) as topic:
        records: list[LogRecord] = [record for item in batches(iter(topic)) for record in item.records]
    assert {record.source for record in records} == {
        f"kafka://{cluster_id}/__consumer_offsets-{record.log_partition}" for record in records
    }


def test_connections_that_break(active: KRaftBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading goes on where it was."""
    monkeypatch.setattr(partition, "FETCH_BYTES", 1)
    with LiveTopic(active.bootstrap_server) as topic:
        expected = in_files(active, topic)
        live = []
        for number, item in enumerate(topic):
            live.append(item)
            if number % 10 == 3:
                for connection in list(topic._cluster._manager._conns.values()):
                    connection.close(KafkaConnectionError("cut by the test"))
    assert live == expected


def test_leaders_that_moved(active: KRaftBroker) -> None:
    """Who is asked is looked up again."""
    with LiveTopic(active.bootstrap_server) as topic:
        topic._leaders = dict.fromkeys(topic._leaders, 99)
        assert batches(iter(topic)) == in_files(active, topic)


def test_a_partition_without_a_leader(active: KRaftBroker) -> None:
    """It has a row that says so, and the others are read."""
    with LiveTopic(active.bootstrap_server) as topic:
        expected = [item for item in in_files(active, topic) if item.records[0].log_partition != 2]
        del topic.ranges[2]
        [lost] = [item for item in topic if isinstance(item, Unreadable)]
        assert [item for item in topic if isinstance(item, BatchRead)] == expected
    assert lost.source == topic.source(2)
    assert lost.reason.startswith("partition 2 has no leader")


def test_a_cluster_that_goes_away(active: KRaftBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Patience ends, with a remedy."""
    with LiveTopic(active.bootstrap_server, patience=0.3) as topic:
        monkeypatch.setattr(topic._cluster, "leaders", lambda: dict.fromkeys(range(OFFSETS_PARTITIONS), 99))
        topic._leaders = topic._cluster.leaders()
        with pytest.raises(SourceError, match=r"no answer for 0\.3 seconds .*advertised\.listeners"):
            list(topic)


def test_nobody_there() -> None:
    """An address without a listener, a name that does not resolve, a listener that never answers, no address at all."""
    [port] = free_ports(1)
    with pytest.raises(
        SourceError, match=rf"127\.0\.0\.1:{port}: no broker can be asked there .*ECONNREFUSED.*check"
    ):
        LiveTopic(f"127.0.0.1:{port}")
    with pytest.raises(SourceError, match=r"nowhere\.invalid:9092: .*DNS"):
        LiveTopic("nowhere.invalid")
    with pytest.raises(UsageError, match=r"'127\.0\.0\.1:kafka' is not HOST:PORT"):
        LiveTopic("127.0.0.1:kafka")


def test_somebody_else_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A listener that never says a word is given up in bounded time."""
    monkeypatch.setattr(cluster, "_CONNECT_MS", 200)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(SourceError, match=f"{port}: no broker can be asked there"):
            LiveTopic(f"127.0.0.1:{port}")


class Guarded(KRaftBroker):
    """A broker that also listens with TLS and passwords, and lets only named users read."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.store = folder / "store.p12"
        self.certificate = folder / "certificate.pem"
        self.guarded = f"127.0.0.1:{free_ports(1)[0]}"
        own = ["-alias", "broker", "-keystore", str(self.store), "-storepass", "secret"]
        name = ["-dname", "CN=127.0.0.1", "-ext", "san=ip:127.0.0.1", "-keyalg", "RSA"]
        for command in (
            ["-genkeypair", *own, *name],
            ["-exportcert", "-rfc", *own, "-file", str(self.certificate)],
        ):
            subprocess.run([java().resolve().with_name("keytool"), *command], check=True, capture_output=True)

    def client(self, user: str = "admin", password: str = "a;b=c") -> dict[str, str]:
        """Return the client properties with which a user is let in."""
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{PLAIN_LOGIN} required username="{user}" password="{password}";',
            "ssl.truststore.location": str(self.certificate),
        }

    def _properties(self) -> dict[str, str]:
        plain = super()._properties()
        return plain | {
            "listeners": f"{plain['listeners']},SASL_SSL://{self.guarded}",
            "advertised.listeners": f"{plain['advertised.listeners']},SASL_SSL://{self.guarded}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:admin",
            "ssl.keystore.location": str(self.store),
            "ssl.keystore.password": "secret",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": (
                f'{PLAIN_LOGIN} required user_admin="a;b=c" user_eve="eve";'
            ),
        }


@pytest.mark.deep
def test_a_guarded_cluster(tmp_path: Path) -> None:
    """From a cluster without the topic to one that is gone: TLS, passwords, permissions, each refusal with its remedy."""
    with Guarded(tmp_path) as broker:
        for _ in range(2):
            with pytest.raises(SourceError, match="has no topic __consumer_offsets: no group ever committed"):
                LiveTopic(broker.bootstrap_server)
        assert list(broker.data_dir.glob("__consumer_offsets-*")) == []

        act(broker.bootstrap_server)
        with LiveTopic(broker.guarded, broker.client()) as topic:
            assert batches(iter(topic)) == in_files(broker, topic)

        # The broker says why and hangs up; kafka-python does not always read what came with the end.
        with pytest.raises(
            SourceError, match=r"(Invalid username or password|disconnected).*and the credentials"
        ):
            LiveTopic(broker.guarded, broker.client(password="guess"))
        with pytest.raises(SourceError, match=r"may not read __consumer_offsets.*kafka-acls --add"):
            LiveTopic(broker.guarded, broker.client("eve", "eve"))
        with pytest.raises(SourceError, match=r"certificate verify failed.*security\.protocol"):
            LiveTopic(broker.guarded, {k: v for k, v in broker.client().items() if not k.startswith("ssl")})
        with pytest.raises(SourceError, match="no broker can be asked there"):
            LiveTopic(broker.guarded)

        with LiveTopic(broker.bootstrap_server, patience=0.5) as topic:
            broker.kill()
            with pytest.raises(SourceError, match=r"no answer for 0\.5 seconds .*check that the brokers run"):
                list(topic)
