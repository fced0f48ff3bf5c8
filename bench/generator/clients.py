"""Groups that commit: their names, topics and partitions, and what their kind of client puts into a commit."""

from collections.abc import Callable
from functools import cached_property
from random import Random
from typing import Any, Final, NamedTuple
from uuid import NAMESPACE_OID, UUID, uuid5

from bench.generator.batches import Record
from bench.generator.templates import OFFSET, TEXT, TIME, Template, key, value
from offsets_tool.records.offsets import OffsetCommitValue

GROUPS: Final = 400
_MOST_PARTITIONS: Final = 40
_WORDS: Final = (
    "orders",
    "payments",
    "inventory",
    "clicks",
    "shipping",
    "billing",
    "pricing",
    "audit",
    "search",
    "users",
)
_STAGES: Final = ("enrichment", "sink", "aggregator", "dedup", "archiver", "alerts", "backfill", "loader")
_WORKERS: Final = (*(f"worker-{number}.dc1" for number in range(12)), "réseau.dc2")
"""Nearly all metadata is ASCII."""


class Client(NamedTuple):
    """A kind of client: the value version that its broker writes, and a function that makes the commit's value."""

    version: int
    message: Callable[[str, int], OffsetCommitValue]
    """Makes what this client commits, given a topic and a partition."""
    holes: tuple[int | str, ...] = (OFFSET, TIME)


def _message(metadata: str = "", **fields: Any) -> OffsetCommitValue:
    return OffsetCommitValue(offset=OFFSET, metadata=metadata, commit_timestamp=TIME, **fields)


CLIENTS: Final = {
    "plain": Client(3, lambda topic, partition: _message(leader_epoch=partition % 5)),
    "with topic id": Client(
        4, lambda topic, partition: _message(leader_epoch=partition % 5, topic_id=topic_id(topic))
    ),
    "with metadata": Client(
        3,
        lambda topic, partition: _message(
            metadata=f"{topic}-{partition}@{_WORKERS[partition % len(_WORKERS)]}"
        ),
    ),
    "streams": Client(
        4,
        lambda topic, partition: _message(topic_id=topic_id(topic), metadata=f"Ag{TEXT}=="),
        (OFFSET, TEXT, TIME),
    ),
    "with retention": Client(1, lambda topic, partition: _message(expire_timestamp=1_800_000_000_000)),
}


def topic_id(topic: str) -> UUID:
    """Return a topic's id, made from its name; never zero."""
    return uuid5(NAMESPACE_OID, topic)


class _Partition:
    """A partition that a group consumes, and the offset that the group has reached; encoded when it is first committed."""

    def __init__(self, group: str, topic: str, partition: int, client: Client, reached: int) -> None:
        self._group, self._topic, self._partition, self._client = group, topic, partition, client
        self._has_text = TEXT in client.holes
        self._reached = reached

    @cached_property
    def _encoded(self) -> tuple[bytes, Template]:
        own_key = key(1, group=self._group, topic=self._topic, partition=self._partition)
        message = self._client.message(self._topic, self._partition)
        return own_key, Template(value(self._client.version, message), self._client.holes)

    def commit(self, time: int, step: int) -> Record:
        self._reached += step
        own_key, template = self._encoded
        offset, at = self._reached.to_bytes(8, "big"), time.to_bytes(8, "big")
        if self._has_text:
            # As Streams does: the time it has reached, encoded.
            return Record(own_key, template.fill(offset, b"%011d" % (time % 10**11), at))
        return Record(own_key, template.fill(offset, at))


class Group:
    """A group whose members commit neighbouring partitions together; `topics` are the topics it consumes, with their partitions."""

    def __init__(self, number: int, client: Client, random: Random) -> None:
        word, stage = random.choice(_WORDS), random.choice(_STAGES)
        name, topic = f"{word}-{stage}-{number}", f"{word}.{random.choice(_STAGES)}.v{number % 3}"
        count = 1 + int(random.random() * _MOST_PARTITIONS)
        self.name, self.topics = name, {topic: count}
        self._partitions = [
            _Partition(name, topic, partition, client, random.randrange(1 << 34))
            for partition in range(count)
        ]

    def commit(self, partitions: int, time: int, random: Random) -> list[Record]:
        """Return a commit record for each of some partitions of the group, at most for all."""
        start = int(random.random() * len(self._partitions))
        chosen = self._partitions[start : start + partitions]
        return [partition.commit(time, int(random.random() * 5000)) for partition in chosen]


def groups(random: Random, clients: list[Client], count: int = GROUPS) -> list[Group]:
    """Return `count` groups, whose clients are of each kind in turn."""
    return [Group(number, clients[number % len(clients)], random) for number in range(count)]
