"""Ask Kafka's own classes from a test; answers are typed Python.

Every answer carries what Kafka threw, if it threw: `error` is the exception's class and message, and the fields that were
not reached are None. `version` is always a Kafka release that oracle/jars.py names.
"""

import base64
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from oracle.jars import NEWEST
from oracle.jvm import Jvm
from oracle.load_json import loaded, loaded_classic
from oracle.loaded import LoadedState


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


class Record(NamedTuple):
    """A record to be built: timestamp in ms; its log offset, or the next one."""

    key: bytes | None
    value: bytes | None
    timestamp: int = 0
    offset: int | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class Marker(NamedTuple):
    """The one record of a control batch: COMMIT or ABORT."""

    type: str
    coordinator_epoch: int = 0
    timestamp: int = 0


class Batch(NamedTuple):
    """A batch to be built by Kafka's MemoryRecordsBuilder; without records and marker, the empty batch that compaction leaves.

    `last_offset` may lie beyond the last record's. `log_append_time` (ms) counts where `timestamp_type` is LogAppendTime.
    """

    records: tuple[Record, ...] = ()
    marker: Marker | None = None
    magic: int = 2
    codec: str = "none"
    timestamp_type: str = "CreateTime"
    log_append_time: int = -1
    base_offset: int = 0
    last_offset: int | None = None
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    is_transactional: bool = False
    partition_leader_epoch: int = 0
    delete_horizon_ms: int | None = None


class Oracle:
    """`with Oracle() as oracle:`; a test takes the fixture `oracle` instead, which is one JVM for the whole run."""

    def __init__(self) -> None:
        self._jvm = Jvm()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the JVM."""
        self._jvm.close()

    def serde(self, version: str, records: Iterable[tuple[bytes | None, bytes | None]]) -> list[Read]:
        """Each key and value (None: tombstone) as GroupCoordinatorRecordSerde reads it (3.7.2 and later).

        3.7.2 has no JSON converters: there `data` is a string, what the message's toString says.
        """
        return [
            Read(_thrown(told), _text(told[2]), _text(told[3]), told[4], told[5])
            for told in self._jvm.ask(("serde", version), records)
        ]

    def encode(self, version: str, records: Iterable[tuple[int, str, int, str | None]]) -> list[Written]:
        """Record type, key's data as JSON, value version, value's data as JSON (None: tombstone), to bytes (4.1 and later)."""
        cases = (
            (
                b"%d" % record_type,
                key.encode(),
                b"%d" % value_version,
                None if value is None else value.encode(),
            )
            for record_type, key, value_version, value in records
        )
        written = self._jvm.ask(("encode", version), cases)
        return [Written(_thrown(told), told[2], told[3]) for told in written]

    def formatter(self, version: str, name: str, records: Iterable[Consumed]) -> list[Printed]:
        """What `kafka-console-consumer --formatter NAME` prints for each record; `name` is the full class name."""
        cases = (
            (
                b"%d" % record.partition,
                b"%d" % record.offset,
                b"%d" % record.timestamp,
                record.key,
                record.value,
            )
            for record in records
        )
        answers = self._jvm.ask(("formatter", version, name), cases)
        return [Printed(_thrown(told), told[2] or b"", told[3] or b"") for told in answers]

    def dumplog(self, version: str, *arguments: str) -> Dumped:
        """`kafka-dump-log` of that release with these arguments."""
        [told] = self._jvm.ask(("dumplog", version), [[argument.encode() for argument in arguments]])
        code = None if told[4] is None else int(told[4])
        return Dumped(_thrown(told), told[2] or b"", told[3] or b"", code)

    def blob(self, kind: str, blobs: Iterable[bytes]) -> list[Blob]:
        """Member blobs as the newest client reads them.

        JSON by Kafka's converters: subscription, assignment. JSON of Kafka's getters: sticky, cooperative-sticky,
        connect-metadata, connect-assignment. toString: streams-subscription, streams-assignment.
        """
        told = self._jvm.ask(("blob", NEWEST, kind), ((blob,) for blob in blobs))
        return [Blob(_thrown(each), _text(each[2])) for each in told]

    def reset_plan(self, text: str) -> tuple[Thrown | None, list[tuple[str | None, ...]]]:
        """Group, topic, partition, offset of each line that `kafka-consumer-groups --reset-offsets --from-file` reads."""
        [told] = self._jvm.ask(("reset-plan", NEWEST), [(text.encode(),)])
        return _thrown(told), [tuple(map(_text, told[i : i + 4])) for i in range(2, len(told), 4)]

    def batches(self, log: Path) -> LogFile:
        """A segment as FileRecords of the newest release reads it, without an index."""
        [told] = self._jvm.ask(("batches", NEWEST), [(str(log).encode(),)])
        return LogFile(_thrown(told), [json.loads(line) for line in (told[2] or b"").splitlines()])

    def load(
        self, version: str, log: Path, ends: Sequence[int] = (), *, classic: bool = False
    ) -> list[LoadedState]:
        """What the coordinator holds after it has loaded a segment (magic 2) before each end offset; without `ends`, all of it.

        The new coordinator (3.9 and later) by records: those below the end. The classic one (1.1.1 to 3.9) by batches: those
        that begin below it. What Kafka's load throws is in the state, and its clock stands still.
        """
        upto = sorted(set(ends)) or [2**63 - 1]
        case = [str(log).encode(), *(b"%d" % end for end in upto)]
        [told] = self._jvm.ask(("load-classic" if classic else "load", version), [case])
        read = loaded_classic if classic else loaded
        states = {end: read(json.loads(state or b"")) for end, state in zip(upto, told, strict=True)}
        return [states[end] for end in ends or upto]

    def pace(self, log: Path, *, memory: bool, count_groups: bool) -> Paced:
        """One reading of a segment as a coordinator loads it: checksums, and every record through the newest release's serde.

        From FileRecords, or from MemoryRecords over bytes read beforehand. Without `count_groups` that is all: `groups` is 0.
        """
        words = (str(log), "memory" if memory else "file", "sum" if count_groups else "pace")
        [told] = self._jvm.ask(("pace", NEWEST), [tuple(word.encode() for word in words)])
        return Paced(*(int(field or b"") for field in told))

    def cpu_seconds(self) -> float:
        """What the JVM has used of processors until now, all its threads."""
        return self._jvm.cpu_seconds()

    def build(self, batches: Iterable[Batch]) -> bytes:
        """The batches as a .log file holds them, one after another. ValueError with Kafka's words for one that cannot be."""
        built = []
        for told in self._jvm.ask(("build", NEWEST), ((_described(batch),) for batch in batches)):
            if thrown := _thrown(told):
                raise ValueError(f"{thrown.type}: {thrown.message}")
            built.append(told[2] or b"")
        return b"".join(built)


def _described(batch: Batch) -> bytes:
    """The JSON that Build.java reads."""
    described = {_camel(name): value for name, value in batch._asdict().items()}
    described["marker"] = batch.marker and {
        _camel(name): value for name, value in batch.marker._asdict().items()
    }
    described["records"] = [
        {
            "offset": batch.base_offset + place if record.offset is None else record.offset,
            "timestamp": record.timestamp,
            "key": _base64(record.key),
            "value": _base64(record.value),
            "headers": [[name, _base64(value)] for name, value in record.headers],
        }
        for place, record in enumerate(batch.records)
    ]
    return json.dumps(described).encode()


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _base64(field: bytes | None) -> str | None:
    return None if field is None else base64.b64encode(field).decode()


def _thrown(told: Sequence[bytes | None]) -> Thrown | None:
    return None if told[0] is None else Thrown(told[0].decode(), _text(told[1]))


def _text(field: bytes | None) -> str | None:
    return None if field is None else field.decode()
