"""Where a story is acted: one broker, topics, members of groups, Kafka's tools; and the record of what was done, when.

A story says what it does by `say`; what only keeps the cluster busy needs no words.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic, OffsetSpec
from kafka.errors import RetriableError
from kafka.structs import OffsetAndMetadata

from tests.broker import KRaftBroker
from tests.incidents.members import ApplicationMember, Member

WITHIN = 60.0
GROUPS_TOOL = {"2.8": "kafka.admin.ConsumerGroupCommand"}
AnyMember = TypeVar("AnyMember", bound=Member)
Step = dict[str, Any]
"""One step of a story: `at_ms` (epoch milliseconds), `what` was done, and facts such as `group` and `topic`."""
CONSOLE = "org.apache.kafka.tools.consumer.ConsoleConsumer"


class StageError(Exception):
    """What a story waits for does not come."""


class Stage:
    """A broker to act on, for a `with` block; members that were started in the block end with it."""

    def __init__(self, broker: KRaftBroker, release: str) -> None:
        self._open = ExitStack()
        self._broker = broker
        self._release = release.rpartition(".")[0]
        self._members: list[Member] = []
        self.bootstrap = broker.bootstrap_server
        self.story: list[Step] = []

    def __enter__(self) -> Self:
        self.admin = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        self._open.callback(self.admin.close)
        self._producer = KafkaProducer(
            bootstrap_servers=self.bootstrap, enable_idempotence=False, acks=1, metadata_max_age_ms=500
        )
        self._open.callback(self._producer.close)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def say(self, what: str, **facts: object) -> None:
        """Record what is done now, in words; `group`, `topic` and other facts beside them."""
        self.story.append({"at_ms": int(time.time() * 1000), "what": what, **facts})

    def topic(self, name: str, partitions: int) -> None:
        """Create a topic."""
        self.say("topic created", topic=name, partitions=partitions)
        self.admin.create_topics([NewTopic(name, partitions, 1)])

    def produce(self, topic: str, each: int, *, size: int = 20, only: int | None = None) -> None:
        """Write so many records to each partition of a topic, or to one of them."""
        for partition in range(self._partitions(topic)) if only is None else (only,):
            for _ in range(each):
                self._producer.send(topic, bytes(size), partition=partition)
        self._producer.flush()

    def member(
        self,
        group: str,
        *topics: str,
        name: str,
        processing_s: float = 0.0,
        transaction: dict[str, Any] | None = None,
        **settings: object,
    ) -> ApplicationMember:
        """Start an application that reads and commits, as a member of a group; `settings` are those of KafkaConsumer."""
        given = {
            "bootstrap_servers": self.bootstrap,
            "group_id": group,
            "client_id": name,
            "enable_auto_commit": False,
            "auto_offset_reset": "earliest",
            "max_poll_records": 5,
            "session_timeout_ms": 6_000,
            "heartbeat_interval_ms": 500,
            "metadata_max_age_ms": 2_000,
            **settings,
            "application": {
                "topics": topics,
                "processing_s": processing_s,
                "transaction": transaction and {"bootstrap_servers": self.bootstrap, **transaction},
            },
        }
        return self._entered(ApplicationMember(name, given, self._words()))

    def console_member(
        self, group: str, topic: str, *properties: str, name: str, is_stuck: bool = False
    ) -> Member:
        """Start kafka-console-consumer as a member; with `is_stuck` nobody reads what it prints, until its pipe is full."""
        given = ("auto.commit.interval.ms=300", f"client.id={name}", *properties)
        words = [word for each in given for word in ("--consumer-property", each)]
        command = self._broker.command(
            CONSOLE,
            *("--bootstrap-server", self.bootstrap, "--topic", topic, "--group", group, "--from-beginning"),
            *words,
        )
        return self._entered(Member(name, command, self._words(), is_stuck=is_stuck))

    def groups_tool(self, *arguments: str) -> str:
        """Run kafka-consumer-groups to its end, and return what it printed; StageError if it failed."""
        main = GROUPS_TOOL.get(self._release, "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand")
        done = self._broker.run(main, "--bootstrap-server", self.bootstrap, *arguments)
        if done.returncode != 0 or "Error:" in done.stdout:
            raise StageError(f"kafka-consumer-groups failed: {done.stdout}{done.stderr}")
        return done.stdout

    def commit_as_stranger(
        self, group: str, offsets: dict[tuple[str, int], int], *, metadata: str = ""
    ) -> None:
        """Commit by a client that is no member: it assigns itself the partitions."""
        consumer = KafkaConsumer(
            bootstrap_servers=self.bootstrap, group_id=group, enable_auto_commit=False, client_id="script"
        )
        places = {
            TopicPartition(*place): OffsetAndMetadata(at, metadata, -1) for place, at in offsets.items()
        }
        consumer.assign(list(places))
        try:
            consumer.commit(places)
        finally:
            consumer.close()

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """Return the offsets that the live coordinator has for a group; empty while the coordinator cannot be found."""
        try:
            told = self.admin.list_group_offsets(group)
        except RetriableError:
            return {}
        return {(place.topic, place.partition): held.offset for place, held in told[group].items()}

    def ends(self, topic: str) -> dict[tuple[str, int], int]:
        """Return the end offset of each partition of a topic."""
        places = {
            TopicPartition(topic, number): OffsetSpec.LATEST for number in range(self._partitions(topic))
        }
        told = self.admin.list_partition_offsets(places)
        return {(place.topic, place.partition): held.offset for place, held in told.items()}

    def caught_up(self, group: str, *topics: str) -> None:
        """Wait until a group has committed the end of each partition."""
        wanted = {place: end for topic in topics for place, end in self.ends(topic).items() if end}
        self.until(f"group {group} reads to the end", lambda: wanted.items() <= self.committed(group).items())

    def work(self, rounds: int, each: int, reads: Mapping[str, tuple[str, ...]]) -> None:
        """Write a few records a round to the topics that groups read, and wait until they have committed them."""
        for _ in range(rounds):
            for topic in sorted({topic for topics in reads.values() for topic in topics}):
                self.produce(topic, each)
            for group, topics in reads.items():
                self.caught_up(group, *topics)

    def until(self, what: str, is_so: Callable[[], bool], within: float = WITHIN) -> None:
        """Wait for something; StageError, with the last words of each member, if it does not come."""
        end = time.monotonic() + within
        while not is_so():
            if time.monotonic() > end:
                raise StageError("\n".join((f"in vain: {what}", *map(str, self._members))))
            time.sleep(0.25)

    def pause(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)

    def _partitions(self, topic: str) -> int:
        [told] = self.admin.describe_topics([topic])
        return len(told["partitions"])

    def _entered(self, member: AnyMember) -> AnyMember:
        self._members.append(member)
        self._open.enter_context(member)
        return member

    def _words(self) -> Path:
        return self._broker.folder / f"member-{len(self._members)}.log"
