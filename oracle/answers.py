"""What Kafka's classes answer, as typed Python.

Every answer carries what Kafka threw, if it threw: `error` is the exception's class and message, and the fields that were not
reached are None. What was asked, and of which release, stands in oracle/client.py.
"""

from typing import Any, NamedTuple


class Thrown(NamedTuple):
    """A Java exception: its class by full name, its message or None."""

    type: str
    message: str | None

    @property
    def name(self) -> str:
        """The class without its package, as in UnknownRecordTypeException."""
        return self.type.rpartition(".")[2].rpartition("$")[2]


class Read(NamedTuple):
    """A record as the broker's loader reads it; JSON as `{"type":..,"data":..}` and `{"version":..,"data":..}`.

    `value` and `value_bytes` are None for a tombstone. The bytes are what the serde writes for what it has read; a record
    that it reads and cannot write has an error beside its JSON.
    """

    error: Thrown | None
    key: str | None
    value: str | None
    key_bytes: bytes | None
    value_bytes: bytes | None


class Written(NamedTuple):
    """A record that Kafka wrote from its JSON."""

    error: Thrown | None
    key: bytes | None
    value: bytes | None


class Consumed(NamedTuple):
    """A record as the console consumer hands it to a formatter; timestamp in ms."""

    key: bytes | None
    value: bytes | None
    offset: int = 0
    timestamp: int = 0
    partition: int = 0


class Printed(NamedTuple):
    """What a formatter printed (exact bytes) before it returned or threw, and what went to stderr."""

    error: Thrown | None
    text: bytes
    stderr: bytes


class Dumped(NamedTuple):
    """What kafka-dump-log said; `status` is None when it returned without calling exit."""

    error: Thrown | None
    stdout: bytes
    stderr: bytes
    status: int | None


class Blob(NamedTuple):
    """What a client reads in a blob: JSON, or Kafka's toString for the kinds of Streams."""

    error: Thrown | None
    text: str | None


class Joined(NamedTuple):
    """A member as the leader of a classic group learns of it; `subscription` are its bytes in the consumer protocol."""

    member_id: str
    instance_id: str | None
    subscription: bytes


class Targeted(NamedTuple):
    """A member as a broker's assignor is told of it; `target` is what the last assignment gave it."""

    member_id: str
    instance_id: str | None
    topics: frozenset[str]
    target: frozenset[tuple[str, int]]


class Assigned(NamedTuple):
    """What an assignor gave, as topics and partitions by member id."""

    error: Thrown | None
    given: dict[str, frozenset[tuple[str, int]]]


class LogFile(NamedTuple):
    """The batches of a .log file with their records, in the words of fixtures/vectors/record_batches.jsonl.

    `error` is what ended the reading before the end of the file, if something did; what stopped the reading of one batch's
    records stands in that batch, as `error` and `message`.
    """

    error: Thrown | None
    batches: list[dict[str, Any]]


class Paced(NamedTuple):
    """What Kafka read of a segment; `groups` committed, or deleted a commit."""

    records: int
    commits: int
    committed_offsets: int
    groups: int
