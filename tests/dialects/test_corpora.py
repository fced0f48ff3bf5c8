"""The dialects against what Kafka's own tools of the same release printed for the logs of real brokers, byte for byte.

Where Kafka's tool died of a record, its output ends there: ours must be the same up to that record.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest

from offsets_tool.dialects import Formatter, Output, formatter
from offsets_tool.dialects.dump_log.segment import dump_log
from offsets_tool.dialects.versions import parse_release
from offsets_tool.log.segment import read_segment
from offsets_tool.rows import BatchRead
from tests.corpora import corpora

SCALA = {
    "offsets": "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter",
    "group-metadata": "kafka.coordinator.group.GroupMetadataManager$GroupMetadataMessageFormatter",
}
CUT_OFF = {("3.9.2-expiry", "offsets-formatter-4.txt")}
"""The console consumer was gone before the broker wrote the log's last tombstone."""


class Printed(NamedTuple):
    """A file of the oracle's, and the release whose tool wrote it."""

    corpus: Path
    file: Path
    version: str

    def __str__(self) -> str:
        return f"{self.corpus.name}/{self.file.name}"


def manifest(corpus: Path) -> dict[str, object]:
    path = corpus / "manifest.json"
    read: dict[str, object] = json.loads(path.read_text()) if path.exists() else {}
    return read


def version_of(corpus: Path) -> str:
    """Return the release of the tools that wrote a corpus's oracle files: the last one that ran on the data."""
    named = manifest(corpus).get("kafka_version", corpus.name.partition("-")[0])
    return str(named).rsplit("+", 1)[-1]


def printed(pattern: str) -> list[Printed]:
    files = (
        (corpus, file)
        for corpus in corpora()
        for file in sorted((corpus / "oracle").glob(pattern))
        if ".stderr" not in file.name
    )
    return [Printed(corpus, file, version_of(corpus)) for corpus, file in files]


def same(got: bytes, want: bytes) -> None:
    """Assert that two texts are equal; show only the first difference, as they are long."""
    if got != want:
        at = next(
            (i for i, (x, y) in enumerate(zip(got, want, strict=False)) if x != y), min(len(got), len(want))
        )
        window = slice(max(0, at - 80), at + 120)
        pytest.fail(f"byte {at}\n got  {got[window]!r}\n want {want[window]!r}", pytrace=False)


def until_it_dies(outputs: Iterable[Output]) -> bytes:
    text = b""
    for output in outputs:
        text += output.text
        if output.error is not None:
            break
    return text


# ---- formatters


def formatter_of(case: Printed) -> Formatter:
    kind = re.sub(r"-formatter.*", "", case.file.name)
    if "-scala-" in case.file.name:
        return formatter(SCALA[kind], case.version)
    return formatter({"share": "share-group"}.get(kind, kind), case.version)


def consumed(case: Printed, dialect: Formatter, partition: int) -> Iterator[Output]:
    """Yield what a formatter prints of the records that the console consumer passes on: all but control records."""
    for log in sorted((case.corpus / f"segments/__consumer_offsets-{partition}").glob("*.log")):
        for read in read_segment(log):
            assert isinstance(read, BatchRead)
            yield from (dialect.format(record) for record in read.records if not record.is_control)


def partitions(case: Printed) -> list[int]:
    """Return the partitions in the order in which they were printed; empty where one run printed all records as they came."""
    one = re.search(r"-(\d+)\.txt", case.file.name)
    if one:
        return [int(one[1])]
    notes = manifest(case.corpus)["tool_notes"]
    assert isinstance(notes, dict)
    return [partition for partition, _ in notes["formatter_order"].get(case.file.stem, ())]


FORMATTED = printed("*-formatter*.txt")


@pytest.mark.parametrize("case", [case for case in FORMATTED if partitions(case)], ids=str)
def test_a_formatter_prints_what_the_console_consumer_printed(case: Printed) -> None:
    dialect = formatter_of(case)
    got = until_it_dies(
        chain.from_iterable(consumed(case, dialect, partition) for partition in partitions(case))
    )
    want = case.file.read_bytes()
    if (case.corpus.name, case.file.name) in CUT_OFF:
        assert got.startswith(want) and got[len(want) :].count(b'"value":null') == 1
    else:
        same(got, want)


@pytest.mark.parametrize("case", [case for case in FORMATTED if not partitions(case)], ids=str)
def test_one_run_over_all_partitions_is_an_interleaving_of_theirs(case: Printed) -> None:
    dialect = formatter_of(case)
    folders = (case.corpus / "segments").glob("__consumer_offsets-*")
    waiting = [
        [
            output.text
            for output in consumed(case, dialect, int(folder.name.rpartition("-")[2]))
            if output.text
        ]
        for folder in folders
    ]
    want = case.file.read_bytes()
    while want:
        first = next((texts for texts in waiting if texts and want.startswith(texts[0])), None)
        assert first, want[:200]
        want = want[len(first.pop(0)) :]
    assert not any(waiting)


# ---- kafka-dump-log


def dumped(case: Printed, **view: bool) -> Iterator[Output]:
    """Yield what the dump prints of the files that Kafka's tool was given."""
    names = re.findall(rb"^Dumping (.*)$", case.file.read_bytes(), re.MULTILINE)
    for name in (name.decode() for name in names):
        path = case.corpus / name
        yield from dump_log(
            name, read_segment(path, verify=False), case.version, base_offset=int(path.stem), **view
        )


@pytest.mark.parametrize("case", printed("dump-log-offsets-decoder-*.txt"), ids=str)
def test_dump_log_decodes_as_kafka_dump_log_did(case: Printed) -> None:
    outputs = list(dumped(case))
    if any(output.error and "offsets in" not in output.error for output in outputs):
        assert until_it_dies(outputs).rstrip(b"\n") == case.file.read_bytes()
        return
    same(b"".join(output.text for output in outputs), case.file.read_bytes())
    stderr = case.file.with_name(case.file.stem + ".stderr.txt")
    if stderr.exists():
        said = "".join(f"{output.error}\n" for output in outputs if output.error)
        assert sorted(said.replace(f"{Path.cwd()}/", "").splitlines()) == sorted(
            stderr.read_text().splitlines()
        )


@pytest.mark.parametrize("case", printed("dump-log-plain-*.txt"), ids=str)
def test_dump_log_without_decoder(case: Printed) -> None:
    """Up to 3.6 the oracle asked for --deep-iteration, later for batches alone."""
    deep = parse_release(case.version) < (3, 7)
    same(
        b"".join(output.text for output in dumped(case, records=deep, decoder=False)), case.file.read_bytes()
    )


@pytest.mark.parametrize("case", printed("dump-log-shallow-*.txt"), ids=str)
def test_dump_log_of_batches_alone(case: Printed) -> None:
    same(b"".join(output.text for output in dumped(case, records=False)), case.file.read_bytes())
