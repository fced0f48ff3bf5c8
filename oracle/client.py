"""Ask Kafka's own classes from a test; answers are typed Python (oracle/answers.py).

`version` is always a Kafka release that oracle/jars.py names.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from oracle.answers import (
    Assigned,
    Blob,
    Consumed,
    Dumped,
    Joined,
    LogFile,
    Paced,
    Printed,
    Read,
    Targeted,
    Thrown,
    Written,
)
from oracle.batches import Batch, described
from oracle.jars import NEWEST
from oracle.jvm import Jvm
from oracle.load_json import loaded, loaded_classic
from oracle.loaded import LoadedState


class Oracle:
    """`with Oracle() as oracle:`; a test takes the fixture `oracle` instead, which is one JVM for the whole run."""

    def __init__(self, *options: str) -> None:
        """Start nothing yet; `options` are those of the JVM."""
        self._jvm = Jvm(*options)

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
        """Return each key and value (None: tombstone) as GroupCoordinatorRecordSerde reads it (3.7.2 and later).

        3.7.2 has no JSON converters: there `data` is a string, what the message's toString says.
        """
        return [
            Read(_thrown(told), _text(told[2]), _text(told[3]), told[4], told[5])
            for told in self._jvm.ask(("serde", version), records)
        ]

    def encode(self, version: str, records: Iterable[tuple[int, str, int, str | None]]) -> list[Written]:
        """Return records as bytes (4.1 and later); given are type, key's JSON, value version, value's JSON (None: tombstone)."""
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
        """Return what `kafka-console-consumer --formatter NAME` prints for each record; `name` is the full class name."""
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
        """Run `kafka-dump-log` of that release with these arguments."""
        [told] = self._jvm.ask(("dumplog", version), [[argument.encode() for argument in arguments]])
        code = None if told[4] is None else int(told[4])
        return Dumped(_thrown(told), told[2] or b"", told[3] or b"", code)

    def blob(self, kind: str, blobs: Iterable[bytes]) -> list[Blob]:
        """Return member blobs as the newest client reads them.

        JSON by Kafka's converters: subscription, assignment. The topics in a subscription as brokers read them: topics. JSON of
        Kafka's getters: sticky, cooperative-sticky, connect-metadata, connect-assignment. toString: streams-subscription,
        streams-assignment.
        """
        told = self._jvm.ask(("blob", NEWEST, kind), ((blob,) for blob in blobs))
        return [Blob(_thrown(each), _text(each[2])) for each in told]

    def reset_plan(self, text: str) -> tuple[Thrown | None, list[tuple[str | None, ...]]]:
        """Return group, topic, partition and offset of each line that `kafka-consumer-groups --reset-offsets --from-file` reads."""
        [told] = self._jvm.ask(("reset-plan", NEWEST), [(text.encode(),)])
        return _thrown(told), [tuple(map(_text, told[i : i + 4])) for i in range(2, len(told), 4)]

    def batches(self, log: Path) -> LogFile:
        """Return a segment as FileRecords of the newest release reads it, without an index."""
        [told] = self._jvm.ask(("batches", NEWEST), [(str(log).encode(),)])
        return LogFile(_thrown(told), [json.loads(line) for line in (told[2] or b"").splitlines()])

    def clean(self, directory: Path, now: int) -> bytes:
        """Run the log cleaner of the newest release once over a partition's directory, and return the log's bytes after it.

        `now` is the run's time in epoch ms. The directory is changed; no producer is forgotten. AssertionError where Kafka refuses.
        """
        [told] = self._jvm.ask(("clean", NEWEST), [(str(directory).encode(), b"%d" % now)])
        assert told[2] is not None, _thrown(told)
        return told[2]

    def load(
        self, version: str, log: Path, ends: Sequence[int] = (), *, classic: bool = False
    ) -> list[LoadedState]:
        """Return what the coordinator holds after loading a segment (magic 2) up to each end offset; without `ends`, all of it.

        The new coordinator (3.9 and later) by records: those below the end. The classic one (1.1.1 to 3.9) by batches: those
        that begin below it. What Kafka's load throws is in the state, and its clock stands still.
        """
        upto = sorted(set(ends)) or [2**63 - 1]
        case = [str(log).encode(), *(b"%d" % end for end in upto)]
        [told] = self._jvm.ask(("load-classic" if classic else "load", version), [case])
        read = loaded_classic if classic else loaded
        states = {end: read(json.loads(state or b"")) for end, state in zip(upto, told, strict=True)}
        return [states[end] for end in ends or upto]

    def load_and_drop(self, version: str, log: Path) -> None:
        """Have the new coordinator load a segment, and drop what it holds: telling that takes longer than loading."""
        self._jvm.ask(("load", version), [[str(log).encode()]])

    def assign(
        self, version: str, assignor: str, cases: Iterable[tuple[Mapping[str, int], Iterable[Joined]]]
    ) -> list[Assigned]:
        """Return what a consumer's assignor (such as StickyAssignor) gives each member; a case is topics' counts and members."""
        given = (
            [_topics(topics), *(field for each in members for field in _joined(each))]
            for topics, members in cases
        )
        return [_assigned(told) for told in self._jvm.ask(("assign", version, assignor), given)]

    def assign_target(
        self, version: str, assignor: str, cases: Iterable[tuple[Mapping[str, int], Iterable[Targeted]]]
    ) -> list[Assigned]:
        """Return what a broker's assignor of KIP-848 gives each member (UniformAssignor, RangeAssignor; 3.7.2 and later)."""
        given = (
            [_topics(topics), *(field for each in members for field in _targeted(each))]
            for topics, members in cases
        )
        return [_assigned(told) for told in self._jvm.ask(("assign-target", version, assignor), given)]

    def pace(self, log: Path, *, memory: bool, count_groups: bool) -> Paced:
        """Read a segment once as a coordinator loads it: checksums, and every record through the newest release's serde.

        It is read as FileRecords, or as MemoryRecords over bytes read beforehand. Without `count_groups`, `groups` is 0.
        """
        words = (str(log), "memory" if memory else "file", "sum" if count_groups else "pace")
        [told] = self._jvm.ask(("pace", NEWEST), [tuple(word.encode() for word in words)])
        return Paced(*(int(field or b"") for field in told))

    def cpu_seconds(self) -> float:
        """Return the CPU seconds that all threads of the JVM have used until now."""
        return self._jvm.cpu_seconds()

    def build(self, batches: Iterable[Batch]) -> bytes:
        """Return batches as a .log file holds them, one after another. ValueError with Kafka's words for one that cannot be."""
        built = []
        for told in self._jvm.ask(("build", NEWEST), ((described(batch),) for batch in batches)):
            if thrown := _thrown(told):
                raise ValueError(f"{thrown.type}: {thrown.message}")
            built.append(told[2] or b"")
        return b"".join(built)


def _topics(counts: Mapping[str, int]) -> bytes:
    return "".join(f"{topic}\t{count}\n" for topic, count in counts.items()).encode()


def _joined(member: Joined) -> tuple[bytes | None, ...]:
    instance = None if member.instance_id is None else member.instance_id.encode()
    return member.member_id.encode(), instance, member.subscription


def _targeted(member: Targeted) -> tuple[bytes | None, ...]:
    instance = None if member.instance_id is None else member.instance_id.encode()
    held = "".join(f"{topic}\t{partition}\n" for topic, partition in sorted(member.target))
    return member.member_id.encode(), instance, "\n".join(sorted(member.topics)).encode(), held.encode()


def _assigned(told: Sequence[bytes | None]) -> Assigned:
    lines = {_text(told[i]) or "": (_text(told[i + 1]) or "").splitlines() for i in range(2, len(told), 2)}
    pairs = {member: (line.rsplit("\t", 1) for line in some) for member, some in lines.items()}
    given = {
        member: frozenset((topic, int(number)) for topic, number in some) for member, some in pairs.items()
    }
    return Assigned(_thrown(told), given)


def _thrown(told: Sequence[bytes | None]) -> Thrown | None:
    return None if told[0] is None else Thrown(told[0].decode(), _text(told[1]))


def _text(field: bytes | None) -> str | None:
    return None if field is None else field.decode()
