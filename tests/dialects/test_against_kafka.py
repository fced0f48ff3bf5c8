"""The dialects against Kafka's own classes in a JVM, on generated, damaged, mislabelled and garbage records.

Compared are the exact bytes and what an exception says. A tool that dies is compared up to the record it died of.
"""

from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path
from random import Random

import pytest

from offsets_tool.dialects import Output, formatter
from offsets_tool.dialects.dump_log.segment import DumpDecoder, dump_log
from offsets_tool.dialects.versions import parse_release
from offsets_tool.errors import DecodeError
from offsets_tool.log.segment import read_segment
from offsets_tool.records import RECORD_TYPES
from oracle.answers import Consumed, Thrown
from oracle.client import Oracle
from tests.depth import DEEP
from tests.dialects.hostile import Hostile, Record, batches
from tests.dialects.hostile_segments import end, segment
from tests.dialects.samples import record

pytestmark = pytest.mark.java

RECORDS = 4_000 if DEEP else 150
SEED = 1
SCALA = "kafka.coordinator.group.GroupMetadataManager$"
JAVA = "org.apache.kafka.tools.consumer."
OFFSETS, GROUPS, SHARE = (
    "OffsetsMessageFormatter",
    "GroupMetadataMessageFormatter",
    "ShareGroupMessageFormatter",
)
FORMATTERS = [
    *(
        (version, SCALA + kind)
        for version in ("1.1.1", "2.8.2", "3.3.2", "3.9.2")
        for kind in (OFFSETS, GROUPS)
    ),
    *(
        (version, JAVA + kind)
        for version in ("3.9.2", "4.0.2", "4.1.2", "4.2.1", "4.3.1")
        for kind in (OFFSETS, GROUPS)
    ),
    *((version, JAVA + SHARE) for version in ("4.1.2", "4.2.1", "4.3.1")),
]
DUMPS = ("1.1.1", "2.8.2", "3.3.2", "3.9.2", "4.0.2", "4.1.2", "4.2.1", "4.3.1")
WANTED = {OFFSETS: (0, 1, 1), GROUPS: (2, 2, 2), SHARE: tuple(range(10, 16))}


def message_of(thrown: Thrown | None) -> str | None:
    """Return the message of an exception; its class where it has none, or only newer JVMs give one (NullPointerException)."""
    if thrown is None:
        return None
    return thrown.type if thrown.message is None or thrown.name == "NullPointerException" else thrown.message


@pytest.mark.parametrize(("version", "name"), FORMATTERS)
def test_a_formatter_prints_what_kafkas_prints_and_says_what_it_throws(
    oracle: Oracle, version: str, name: str
) -> None:
    wanted = WANTED[name.rpartition("$")[2].rpartition(".")[2]]
    records = Hostile(SEED, wanted).records(RECORDS) + Hostile(SEED + 1).records(RECORDS // 4)
    told = oracle.formatter(
        version, name, (Consumed(key, value, at) for at, (key, value) in enumerate(records))
    )
    dialect = formatter(name, version)
    for at, ((key, value), theirs) in enumerate(zip(records, told, strict=True)):
        ours = dialect.format(record(key, value, at))
        assert ours == Output(theirs.text, message_of(theirs.error)), (key, value)
    assert len({theirs.text for theirs in told}) > RECORDS // 10
    assert len({theirs.error for theirs in told}) > 3


def dies_of(version: str, records: Iterable[Record]) -> tuple[list[Record], list[Record]]:
    """Return the records that the decoder survives, and those of which it dies."""
    decoder = DumpDecoder(parse_release(version))
    harmless: list[Record] = []
    deadly: list[Record] = []
    for key, value in records:
        try:
            decoder.decode(record(key, value))
        except DecodeError:
            deadly.append((key, value))
        else:
            harmless.append((key, value))
    return harmless, deadly


VIEWS = {
    "decoded": ({}, ("--offsets-decoder", "--print-data-log", "--deep-iteration")),
    "deep": ({"decoder": False}, ("--deep-iteration",)),
    "batches": ({"records": False}, ()),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("version", DUMPS)
def test_dump_log_says_what_kafka_dump_log_says(
    oracle: Oracle, tmp_path: Path, version: str, view: str
) -> None:
    asked, flags = VIEWS[view]
    random = Random(SEED)
    types = tuple(RECORD_TYPES) if parse_release(version) >= (3, 8) else (0, 1, 2, 2)
    harmless, deadly = dies_of(version, Hostile(SEED, types).records(RECORDS))
    alone = batches(deadly[: RECORDS // 10], 1) if view == "decoded" else ()
    for some in (*batches(harmless, 20), *alone):
        base_offset = random.choice((0, 0, 5))
        path = tmp_path / f"{base_offset:020d}.log"
        path.write_bytes(segment(some, random, base_offset) + end(random))
        theirs = oracle.dumplog(version, *flags, "--files", str(path))
        ours = list(
            dump_log(str(path), read_segment(path, verify=False), version, base_offset=base_offset, **asked)
        )
        if theirs.error is None:
            assert b"".join(output.text for output in ours) == theirs.stdout
            assert "".join(f"{output.error}\n" for output in ours if output.error) == theirs.stderr.decode()
        else:
            # The line it was printing has no end.
            alive = list(takewhile(lambda output: output.error is None, ours))
            last = ours[len(alive)]
            assert b"".join(output.text for output in (*alive, last)).rstrip(b"\n") == theirs.stdout.rstrip(
                b"\n"
            )
            assert last.error == message_of(theirs.error)
