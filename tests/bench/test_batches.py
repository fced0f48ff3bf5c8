"""What the generator writes is read back, record for record, by the reference reader and by Kafka's FileRecords."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from bench.generator.batches import CODECS, Batch, repeated, write_batches
from bench.generator.mixes import MIXES
from offsets_tool.log.segment import read_segment
from offsets_tool.rows import BatchRead
from oracle.client import Oracle

SIZE = 20_000
SEGMENTS = [(mix, "none") for mix in MIXES] + [
    ("large-batches", codec) for codec in CODECS if codec != "none"
]


def segment(mix: str, codec: str, folder: Path) -> tuple[Path, Iterator[Batch]]:
    """Return a segment, and the batches of which it has the first."""
    path = folder / "00000000000000000000.log"
    path.write_bytes(write_batches(MIXES[mix](Random(1)), SIZE, codec))
    return path, MIXES[mix](Random(1))


def records(batches: list[Batch]) -> list[tuple[int, bytes, bytes | None]]:
    times = [batch.timestamp for batch in batches for _ in batch.records]
    flat = [record for batch in batches for record in batch.records]
    return [(time, *record) for time, record in zip(times, flat, strict=True)]


@pytest.mark.parametrize(("mix", "codec"), SEGMENTS)
def test_the_reference_reader_reads_what_was_written(mix: str, codec: str, tmp_path: Path) -> None:
    path, generated = segment(mix, codec, tmp_path)
    read = [item for item in read_segment(path) if isinstance(item, BatchRead)]
    batches = list(islice(generated, len(read)))
    assert sum(item.batch.size for item in read) == path.stat().st_size
    found = [record for item in read for record in item.records]
    assert [record.log_offset for record in found] == list(range(len(found)))
    assert [(r.timestamp, r.key, r.value) for r in found] == records(batches)
    for item, batch in zip(read, batches, strict=True):
        facts = item.batch
        assert facts.codec == codec
        assert (facts.producer_id, facts.producer_epoch, facts.base_sequence) == batch.producer
        assert (facts.is_transactional, facts.is_control) == (batch.is_transactional, batch.is_control)


@pytest.mark.java
@pytest.mark.parametrize(("mix", "codec"), SEGMENTS)
def test_kafka_reads_what_was_written(mix: str, codec: str, oracle: Oracle, tmp_path: Path) -> None:
    path, batches = segment(mix, codec, tmp_path)
    read = oracle.batches(path)
    assert read.error is None
    for number, (told, batch) in enumerate(zip(read.batches, batches, strict=False)):
        assert told["isValid"] and told["compression"] == codec, number
        assert (told["producerId"], told["producerEpoch"], told["baseSequence"]) == batch.producer
        assert (told["isTransactional"], told["isControl"]) == (batch.is_transactional, batch.is_control)
        given = [
            (each["timestamp"], bytes.fromhex(each["key_hex"]), each["value_hex"]) for each in told["records"]
        ]
        assert given == [
            (time, key, None if value is None else value.hex()) for time, key, value in records([batch])
        ]
    assert sum(told["sizeInBytes"] for told in read.batches) == path.stat().st_size


def test_the_size_is_that_before_compression() -> None:
    plain = write_batches(MIXES["large-batches"](Random(1)), SIZE)
    packed = write_batches(MIXES["large-batches"](Random(1)), SIZE, "zstd")
    assert SIZE <= len(plain) < SIZE + 10_000
    assert len(packed) < len(plain) / 2


def test_a_repeated_segment_goes_on_where_it_ended(tmp_path: Path) -> None:
    once = write_batches(MIXES["rich"](Random(1)), SIZE)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"".join(repeated(once, 3)))
    read = [item for item in read_segment(path) if isinstance(item, BatchRead)]
    assert all(item.unreadable is None for item in read)
    offsets = [record.log_offset for item in read for record in item.records]
    assert offsets == list(range(len(offsets)))
    assert path.stat().st_size == 3 * len(once)
