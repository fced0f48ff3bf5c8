"""A real Kafka broker for a test: one JVM, KRaft, loopback only, gone when the test is done.

Starts from the same jars as the oracle and leaves nothing behind but what it is asked for: `data_dir` holds the segments, also
after `stop()`. Knows nothing of what the tests do with it.
"""

import base64
import secrets
import socket
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from oracle.jars import KAFKA, NEWEST, kafka_jars
from spark.runtime.java import java

READY_WITHIN = 240.0
STOPPED_WITHIN = 120.0
OFFSETS_PARTITIONS = 4
LISTENED = range(20_000, 32_000)

SMALL = (
    "-Xmx400m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Duser.timezone=UTC",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss,SSS",
)

# What each release must be told besides to keep share and streams groups: from 4.2 on it keeps them unasked.
EARLY_GROUPS: Mapping[str, tuple[Mapping[str, str], tuple[str, ...]]] = {
    "4.1": ({"unstable.feature.versions.enable": "true"}, ("share.version=1", "streams.version=1")),
    "4.0": ({"unstable.api.versions.enable": "true", "group.share.enable": "true"}, ()),
}


class BrokerError(Exception):
    """The broker did not start or stop as it should; the message ends with the last lines of its log."""


class KRaftBroker:
    """`with KRaftBroker() as broker:` gives a broker that answers; `properties` are Kafka's own (server.properties) and win.

    A stopped broker can be started again: it finds its data where it was.
    """

    def __init__(self, version: str = NEWEST, properties: Mapping[str, str] | None = None) -> None:
        self._folder = TemporaryDirectory(prefix="offsets-tool-broker-", ignore_cleanup_errors=True)
        self._process: subprocess.Popen[bytes] | None = None
        self._classpath = ":".join(str(path) for path in kafka_jars(KAFKA[version]))
        early, self._features = EARLY_GROUPS.get(version.rpartition(".")[0], ({}, ()))
        self._extra = {**early, **(properties or {})}
        self._ports = free_ports(2)
        self.folder = Path(self._folder.name)
        self.data_dir = self.folder / "data"
        self.log = self.folder / "broker.log"
        self.bootstrap_server = f"127.0.0.1:{self._ports[0]}"

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def process_id(self) -> int | None:
        """The process id of the running JVM; None when the broker is stopped."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Format the folder if it is new, start the broker, and return when it answers."""
        properties = self.folder / "server.properties"
        properties.write_text("".join(f"{name}={value}\n" for name, value in self._properties().items()))
        if not self.data_dir.exists():
            self._format(properties)
        with self.log.open("ab") as log:
            command = [str(java()), *SMALL, "-cp", self._classpath, "kafka.Kafka", str(properties)]
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder
            )
        self._wait_until_ready()

    def stop(self) -> None:
        """Stop the broker cleanly by SIGTERM; where it does not end, by SIGKILL and with a BrokerError."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOPPED_WITHIN)
        except subprocess.TimeoutExpired as late:
            self.kill()
            raise BrokerError(
                f"the broker did not stop within {STOPPED_WITHIN:.0f} s\n{self._tail()}"
            ) from late
        self._process = None

    def kill(self) -> None:
        """End the broker by SIGKILL, as in a crash."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """Stop the broker and remove its folder."""
        try:
            self.stop()
        finally:
            self._folder.cleanup()

    def run(self, main: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one of Kafka's command-line tools, by its main class, to its end; return its stdout and stderr."""
        command = self.command(main, *arguments)
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.folder)

    def command(self, main: str, *arguments: str) -> list[str]:
        """Return the command that starts one of Kafka's command-line tools of this release, by its main class."""
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
        return [str(java()), *SMALL, quiet, "-cp", self._classpath, main, *arguments]

    def _properties(self) -> dict[str, str]:
        one_copy = {
            f"{topic}.{setting}": "1"
            for topic, settings in {
                "offsets.topic": ("replication.factor",),
                "transaction.state.log": ("replication.factor", "min.isr", "num.partitions"),
                "share.coordinator.state.topic": ("replication.factor", "min.isr", "num.partitions"),
            }.items()
            for setting in settings
        }
        clients, controllers = self._ports
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controllers}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "listeners": f"PLAINTEXT://127.0.0.1:{clients},CONTROLLER://127.0.0.1:{controllers}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{clients}",
            "log.dirs": str(self.data_dir),
            "offsets.topic.num.partitions": str(OFFSETS_PARTITIONS),
            "group.initial.rebalance.delay.ms": "0",
            **one_copy,
            **self._extra,
        }

    def _format(self, properties: Path) -> None:
        # Not a random id: one in 64 begins with a hyphen, which the tool's parser takes for an option.
        cluster = base64.urlsafe_b64encode(b"offsets-tool-run").decode().rstrip("=")
        features = [word for feature in self._features for word in ("--feature", feature)]
        told = self.run("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(properties), *features)
        if told.returncode != 0:
            raise BrokerError(f"the broker's folder could not be formatted\n{told.stdout}{told.stderr}")

    def _wait_until_ready(self) -> None:
        """Ask for metadata until it names a broker: an open port alone does not mean that there is any."""
        end = time.monotonic() + READY_WITHIN
        while time.monotonic() < end:
            if self._process is None or self._process.poll() is not None:
                break
            if self._answers():
                return
            time.sleep(0.2)
        raise BrokerError(f"the broker does not answer at {self.bootstrap_server}\n{self._tail()}")

    def _answers(self) -> bool:
        # A bare socket first: kafka-python leaves sockets open behind every connection that is refused.
        try:
            socket.create_connection(("127.0.0.1", self._ports[0]), timeout=5).close()
        except OSError:
            return False
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap_server, request_timeout_ms=10_000)
        try:
            return bool(admin.describe_cluster()["brokers"])
        except KafkaError:
            return False
        except KeyError:
            # kafka-python 3.0 cannot read version 0 of what DescribeCluster answers: that of 2.8, and it has answered.
            return True
        finally:
            admin.close()

    def _tail(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(lines[-40:])


def free_ports(count: int) -> list[int]:
    """Return ports that are free, and that stay free until a broker listens there, or does so again.

    They lie below those that the system gives to connections, and no seed decides on them: a run beside this one has others.
    """
    found: list[int] = []
    while len(found) < count:
        port = LISTENED.start + secrets.randbelow(len(LISTENED))
        with socket.socket() as tried, suppress(OSError):
            tried.bind(("127.0.0.1", port))
            found += [port] if port not in found else []
    return found
