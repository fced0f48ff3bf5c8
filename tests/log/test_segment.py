"""Whole segments: real ones against Kafka's own dump, ranges against the whole, and copies of every packing."""

import gzip
import hashlib
import io
import subprocess
import sys
import tarfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.errors import SourceError
from offsets_tool.log.batches.control import decode_control
from offsets_tool.log.batches.header import increment_sequence
from offsets_tool.log.ledger import Ledger, LedgerEntry, Outcome
from offsets_tool.log.names import Segment
from offsets_tool.log.segment import read_segment
from offsets_tool.rows import Batch, BatchRead, LogRecord, Unreadable, UnreadableKind
from tests.depth import DEEP
from tests.log import encoded_batches
from tests.log.samples import SEGMENTS, SMALL, Line, dumps

Item = BatchRead | Unreadable


def counted(segment: Path | Segment, **options: int) -> tuple[list[Item], LedgerEntry]:
    """Return all items of a segment, and its ledger entry with every record counted as decoded or control."""
    ledger = Ledger("here")
    items = list(read_segment(segment, ledger=ledger, **options))
    for item in items:
        for record in item.records if isinstance(item, BatchRead) else ():
            ledger.count(Outcome.CONTROL if record.is_control else Outcome.DECODED)
    return items, ledger.entry()


def batch_facts(batch: Batch) -> Line:
    """Return the facts of a batch under dump-log's names, for all its releases."""
    sequenced = batch.base_sequence >= 0
    last_sequence = increment_sequence(batch.base_sequence, batch.last_offset - batch.base_offset)
    horizon = batch.delete_horizon_ms
    facts = {
        "baseOffset": batch.base_offset,
        "offset": batch.last_offset,
        "lastOffset": batch.last_offset,
        "count": batch.count,
        "baseSequence": batch.base_sequence,
        "lastSequence": last_sequence if sequenced else -1,
        "producerId": batch.producer_id,
        "producerEpoch": batch.producer_epoch,
        "partitionLeaderEpoch": batch.partition_leader_epoch,
        "isTransactional": batch.is_transactional,
        "isControl": batch.is_control,
        "deleteHorizonMs": "OptionalLong.empty" if horizon is None else f"OptionalLong[{horizon}]",
        "position": batch.position,
        "size": batch.size,
        "magic": batch.magic,
        "compresscodec": batch.codec,
        "crc": batch.crc,
        "isvalid": batch.crc_valid,
        batch.timestamp_type: batch.max_timestamp,
    }
    return {name: str(value).lower() for name, value in facts.items()}


def record_facts(record: LogRecord) -> Line:
    assert record.batch is not None
    key_size = -1 if record.key is None else len(record.key)
    value_size = -1 if record.value is None else len(record.value)
    facts = {
        "offset": record.log_offset,
        "position": record.batch.position,
        "keySize": key_size,
        "keysize": key_size,
        "valueSize": value_size,
        "valuesize": value_size,
        "payloadsize": value_size,
        "sequence": record.sequence,
        "producerId": record.producer_id,
        "isTransactional": record.is_transactional,
        record.timestamp_type: record.timestamp,
    }
    if record.crc is not None:
        facts["crc"] = record.crc
    if record.is_control:
        marker = decode_control(record.key, record.value)
        facts |= {"endTxnMarker": marker.type, "coordinatorEpoch": marker.coordinator_epoch}
    return {str(name): str(value).lower() for name, value in facts.items()}


def agrees(facts: Line, line: Line) -> bool:
    """Return whether all facts agree with a line of dump-log; other fields of the line are not compared."""
    told = {name: value.lower() for name, value in line.items() if name in facts}
    return bool(told) and told.items() <= facts.items()


def test_every_real_segment_is_what_kafkas_own_tool_says_it_is() -> None:
    compared = 0
    for path, batch_lines, record_lines in dumps():
        reads = [item for item in read_segment(path) if isinstance(item, BatchRead)]
        records = [record for item in reads for record in item.records]
        if batch_lines:
            assert len(batch_lines) == len(reads), path
        if record_lines:
            assert len(record_lines) == len(records), path
        pairs = [(batch_facts(item.batch), line) for item, line in zip(reads, batch_lines, strict=False)]
        pairs += [(record_facts(record), line) for record, line in zip(records, record_lines, strict=False)]
        assert not [pair for pair in pairs if not agrees(*pair)], path
        compared += len(pairs)
    assert compared > (5000 if DEEP else 1000)


def test_no_real_segment_has_a_byte_or_record_without_its_place() -> None:
    for path in SEGMENTS:
        items, entry = counted(path)
        assert entry.adds_up, path
        assert not entry.unreadable, path
        assert not entry.out_of_order_batches, path
        assert entry.bytes == path.stat().st_size
        assert entry.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert entry.batches == len(items)


def test_records_carry_their_source_and_partition(tmp_path: Path) -> None:
    path = tmp_path / "some.log"
    path.write_bytes(encoded_batches.v2())
    (item,) = read_segment(path, log_partition=7)
    assert isinstance(item, BatchRead)
    assert [(record.source, record.log_partition) for record in item.records] == [(path.as_posix(), 7)]


def test_damage_in_the_middle_and_a_torn_tail_stand_in_the_ledger(tmp_path: Path) -> None:
    sound, broken = (
        encoded_batches.v2(0),
        bytearray(encoded_batches.v2(1, [encoded_batches.record(), encoded_batches.record(1)])),
    )
    broken[-1] ^= 1
    path = tmp_path / "some.log"
    path.write_bytes(sound + broken + b"\xff" * 33 + encoded_batches.message(1, 3) + sound[:40])
    items, entry = counted(path)
    assert [type(item) for item in items] == [BatchRead, Unreadable, BatchRead, Unreadable]
    assert [(bad.position, bad.size, bad.kind) for bad in entry.unreadable] == [
        (len(sound), len(broken) + 33, UnreadableKind.DAMAGE),
        (entry.bytes - 40, 40, UnreadableKind.TORN_TAIL),
    ]
    assert entry.adds_up
    assert (entry.records, entry.first_offset, entry.last_offset, entry.magics) == (2, 0, 3, (1, 2))


def test_a_batch_with_a_wrong_checksum_is_read_only_when_asked(tmp_path: Path) -> None:
    broken = bytearray(encoded_batches.v2(1, [encoded_batches.record(), encoded_batches.record(1)]))
    broken[-2] ^= 1
    path = tmp_path / "some.log"
    path.write_bytes(encoded_batches.v2(0) + broken + encoded_batches.v2(3))
    items, entry = counted(path)
    assert [len(item.records) for item in items if isinstance(item, BatchRead)] == [1, 0, 1]
    assert [bad.kind for bad in entry.unreadable] == [UnreadableKind.CRC]
    assert (entry.records_unreadable, entry.bytes_unreadable, entry.adds_up) == (2, len(broken), True)
    trusting = [item for item in read_segment(path, verify=False) if isinstance(item, BatchRead)]
    assert [(item.batch.crc_valid, len(item.records)) for item in trusting] == [
        (True, 1),
        (False, 2),
        (True, 1),
    ]


@given(data=st.data())
def test_ranges_that_meet_give_what_the_whole_gives(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(SMALL))
    size = path.stat().st_size
    cuts = [0, *sorted(data.draw(st.lists(st.integers(0, size), max_size=5)))]
    parts = [counted(path, start=start, end=end) for start, end in pairwise(cuts)]
    parts.append(counted(path, start=cuts[-1]))
    whole, entry = counted(path)
    assert [item for items, _ in parts for item in items] == whole
    assert sum(part.bytes for _, part in parts) == entry.bytes
    assert all(part.adds_up for _, part in parts)


def test_a_range_has_no_hash_of_the_file() -> None:
    _, entry = counted(SMALL[0], start=100)
    assert entry.sha256 is None


def zstd(data: bytes) -> bytes:
    return encoded_batches.zstd_frame(data[:100]) + encoded_batches.zstd_frame(data[100:])


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("zst", zstd)])
def test_a_compressed_copy_reads_as_the_original(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    original = SMALL[0].read_bytes()
    copy = tmp_path / f"{SMALL[0].name}.{suffix}"
    copy.write_bytes(pack(original))
    items, entry = counted(copy)
    expected, plain = counted(SMALL[0])
    assert [item.records[0].key for item in items if isinstance(item, BatchRead)] == [
        item.records[0].key for item in expected if isinstance(item, BatchRead)
    ]
    assert (entry.bytes, entry.records, entry.adds_up) == (plain.bytes, plain.records, True)
    assert entry.sha256 == hashlib.sha256(copy.read_bytes()).hexdigest()


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("zst", zstd)])
def test_a_compressed_copy_that_is_cut_off_is_an_error_with_a_remedy(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    copy = tmp_path / f"{SMALL[0].name}.{suffix}"
    copy.write_bytes(pack(SMALL[0].read_bytes())[:-5])
    with pytest.raises(SourceError, match="copy it again"):
        list(read_segment(copy))


def test_a_small_copy_that_claims_hundreds_of_gigabytes_fills_no_disk(tmp_path: Path) -> None:
    block = (1 << 1 | (1 << 21) - 1 << 3).to_bytes(3, "little") + b"x"
    copy = tmp_path / "0.log.zst"
    copy.write_bytes(bytes.fromhex("28b52ffd0058") + block * (1 << 17) + b"\1\0\0")
    with pytest.raises(SourceError, match="is not decompressed: more than"):
        list(read_segment(copy))


@pytest.mark.parametrize("suffix", ["tar", "tar.gz", "tgz", "tar.zst"])
def test_a_member_of_a_tar_reads_as_the_file(tmp_path: Path, suffix: str) -> None:
    archive = tmp_path / f"copy.{suffix}"
    inside = io.BytesIO()
    with tarfile.open(fileobj=inside, mode="w") as opened:
        for path in SMALL[:3]:
            opened.add(path, path.name + path.parent.name)
    data = inside.getvalue()
    packed = {"tar": data, "tar.zst": zstd(data)}
    archive.write_bytes(packed.get(suffix) or gzip.compress(data))
    for path in SMALL[:3]:
        items, entry = counted(Segment(path=archive.as_posix(), member=path.name + path.parent.name))
        assert len(items) == len(counted(path)[0])
        assert entry.adds_up
        assert entry.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_compressed_log_inside_a_tar(tmp_path: Path) -> None:
    packed = tmp_path / "0.log.gz"
    packed.write_bytes(gzip.compress(SMALL[0].read_bytes()))
    with tarfile.open(tmp_path / "copy.tar", "w") as opened:
        opened.add(packed, "a/0.log.gz")
    segment = Segment(path=(tmp_path / "copy.tar").as_posix(), member="a/0.log.gz")
    items, entry = counted(segment)
    assert len(items) == len(counted(SMALL[0])[0])
    assert entry.sha256 == hashlib.sha256(packed.read_bytes()).hexdigest()
    assert items[0].batch.position == 0 if isinstance(items[0], BatchRead) else False


@pytest.mark.parametrize("name", ["0.log", "0.log.gz", "0.log.zst"])
def test_an_empty_file_is_an_empty_log(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(b"") if name.endswith("gz") else b"")
    items, entry = counted(tmp_path / name)
    assert items == []
    assert (entry.bytes, entry.adds_up, entry.first_offset) == (0, True, None)
    assert entry.sha256 is not None


def test_what_cannot_be_opened_is_a_source_error(tmp_path: Path) -> None:
    (tmp_path / "copy.tar").write_bytes(b"no tar at all" * 100)
    for segment in (
        Segment(path=(tmp_path / "missing.log").as_posix()),
        Segment(path=tmp_path.as_posix()),
        Segment(path=(tmp_path / "missing.tar.gz").as_posix(), member="a"),
        Segment(path=(tmp_path / "copy.tar").as_posix(), member="a"),
    ):
        with pytest.raises(SourceError):
            list(read_segment(segment))


_PEAK = """
import resource, sys
from offsets_tool.log.ledger import Ledger
from offsets_tool.log.segment import read_segment
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
ledger = Ledger("here")
records = sum(len(item.records) for item in read_segment(sys.argv[1], ledger=ledger))
entry = ledger.entry()
assert entry.bytes == entry.bytes_in_batches > 0 and entry.sha256
print(records, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.deep
@pytest.mark.parametrize("packing", ["", ".gz"])
def test_memory_stays_flat_over_a_gigabyte(tmp_path: Path, packing: str) -> None:
    path = tmp_path / f"some.log{packing}"
    open_file = gzip.open if packing else Path.open
    batch = encoded_batches.v2(0, [encoded_batches.record(value=bytes(range(256)) * 400)])
    piece = batch * 100
    with open_file(path, "wb") as file:
        for _ in range((1 << 30) // len(piece)):
            file.write(piece)
    done = subprocess.run(
        [sys.executable, "-c", _PEAK, path.as_posix()],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path.cwd(),
    )
    records, grown_kib = map(int, done.stdout.split())
    assert records == (1 << 30) // len(piece) * 100
    assert grown_kib < 100 << 10
