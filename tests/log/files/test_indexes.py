"""Index files, snapshots and checkpoints: real ones against the log and Kafka's own dump, and every kind of damage."""

import re
import shutil
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.errors import SourceError
from offsets_tool.log.files.checkpoints import (
    EpochStart,
    MetaProperties,
    PartitionOffset,
    read_leader_epochs,
    read_meta_properties,
    read_offset_checkpoint,
    read_partition_metadata,
)
from offsets_tool.log.files.indexes import (
    IndexedOffset,
    IndexedTimestamp,
    ProducerState,
    read_offset_index,
    read_producer_snapshot,
    read_time_index,
)
from offsets_tool.log.segment import read_segment
from offsets_tool.rows import BatchRead
from tests.log.samples import CORPORA, FIXTURES

BASE = f"{100:020}"
DUMPS = sorted(CORPORA.glob("*/oracle/dump-log-snapshots-?.txt"))


def batches_of(path: Path) -> list[BatchRead]:
    return [item for item in read_segment(path) if isinstance(item, BatchRead)]


def test_real_offset_indexes_point_at_batches_of_their_log() -> None:
    pointed = 0
    for path in FIXTURES.rglob("*.index"):
        index = read_offset_index(path)
        assert index.problem is None
        log = path.with_suffix(".log")
        starts = {item.batch.position: item.batch for item in batches_of(log)} if index.entries else {}
        for entry in index.entries:
            batch = starts[entry.position]
            assert batch.base_offset <= entry.offset <= batch.last_offset
            pointed += 1
    assert pointed > 20


def test_real_time_indexes_bound_the_times_of_their_log() -> None:
    bounded = 0
    for path in CORPORA.glob("*/segments/*/*.timeindex"):
        index = read_time_index(path)
        assert index.problem is None
        batches = batches_of(path.with_suffix(".log")) if index.entries else []
        for entry in index.entries:
            earlier = [item.batch.max_timestamp for item in batches if item.batch.last_offset <= entry.offset]
            assert all(timestamp <= entry.timestamp for timestamp in earlier), path
            bounded += len(earlier)
    assert bounded > 100


def optional(value: int | None) -> str:
    return "OptionalLong.empty" if value is None else f"OptionalLong[{value}]"


def as_dumped(state: ProducerState) -> str:
    line = (
        f"producerId: {state.producer_id} producerEpoch: {state.producer_epoch} coordinatorEpoch: {state.coordinator_epoch}"
        f" currentTxnFirstOffset: {optional(state.current_txn_first_offset)} lastTimestamp: {state.timestamp}"
    )
    if state.last_offset < 0:
        return line
    return (
        f"{line} firstSequence: {state.last_sequence - state.offset_delta} lastSequence: {state.last_sequence}"
        f" lastOffset: {state.last_offset} offsetDelta: {state.offset_delta} timestamp: {state.timestamp}"
    )


@pytest.mark.parametrize("dump", DUMPS, ids=lambda path: f"{path.parts[-3]}/{path.stem}")
def test_snapshots_read_as_kafka_dumps_them(dump: Path) -> None:
    parts = re.split(r"^Dumping (.*)$", dump.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert parts
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        path = dump.parents[1] / name
        if path.suffix == ".snapshot":
            snapshot = read_producer_snapshot(path)
            expected = [line.rstrip() for line in text.splitlines() if line]
            assert (snapshot.problem, [as_dumped(state) for state in snapshot.entries]) == (None, expected)


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def test_an_index_counts_from_its_base_and_its_preallocated_tail_is_no_entry(tmp_path: Path) -> None:
    data = struct.pack(">iiii", 5, 4096, 9, 8192) + bytes(10_000)
    index = read_offset_index(written(tmp_path, f"{BASE}.index.deleted", data))
    assert index.base_offset == 100
    assert index.entries == (IndexedOffset(105, 4096), IndexedOffset(109, 8192))
    assert index.problem is None
    time = read_time_index(written(tmp_path, f"{BASE}.timeindex", struct.pack(">qi", 1000, 0) + bytes(1200)))
    assert (time.entries, time.problem) == ((IndexedTimestamp(1000, 100),), None)


@pytest.mark.parametrize(
    ("data", "kept", "words"),
    [
        (struct.pack(">iiii", 5, 4096, 4, 8192), 1, "entry 1: not beyond the one before"),
        (struct.pack(">iiii", 5, 4096, 6, -1), 1, "entry 1: a negative"),
        (struct.pack(">iii", 5, 4096, 6), 1, "4 bytes at the end are not an entry"),
        (bytes(7), 0, None),
    ],
)
def test_a_damaged_index_keeps_what_comes_before(
    tmp_path: Path, data: bytes, kept: int, words: str | None
) -> None:
    index = read_offset_index(written(tmp_path, f"{BASE}.index", data))
    assert len(index.entries) == kept
    assert index.problem is None if words is None else index.problem is not None and words in index.problem


def a_snapshot() -> Path:
    paths = CORPORA.glob("*/segments/*/*.snapshot")
    return next(path for path in sorted(paths) if len(read_producer_snapshot(path).entries) >= 2)


def test_every_flipped_byte_of_a_snapshot_is_noticed(tmp_path: Path) -> None:
    data = a_snapshot().read_bytes()
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 0x11
        assert read_producer_snapshot(written(tmp_path, f"{BASE}.snapshot", bytes(damaged))).problem


def test_every_cut_of_a_snapshot_is_noticed(tmp_path: Path) -> None:
    data = a_snapshot().read_bytes()
    for cut in range(len(data)):
        assert read_producer_snapshot(written(tmp_path, f"{BASE}.snapshot", data[:cut])).problem


@given(data=st.binary(max_size=200))
def test_any_bytes_are_entries_or_a_problem(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("any")
    for name, read in (
        ("index", read_offset_index),
        ("timeindex", read_time_index),
        ("snapshot", read_producer_snapshot),
    ):
        assert read(written(folder, f"{BASE}.{name}", data)).base_offset == 100
    shutil.rmtree(folder)


def test_an_index_without_its_base_offset_says_nothing(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="base offset"):
        read_offset_index(written(tmp_path, "some.index", b""))
    with pytest.raises(SourceError, match="cannot be opened"):
        read_offset_index(tmp_path / f"{BASE}.index")


def test_real_checkpoints() -> None:
    seen = 0
    for path in FIXTURES.rglob("*-offset-checkpoint"):
        for entry in read_offset_checkpoint(path):
            assert entry.offset >= 0
            seen += entry.topic == "__consumer_offsets"
    for path in FIXTURES.rglob("leader-epoch-checkpoint"):
        epochs = read_leader_epochs(path)
        assert list(epochs) == sorted(epochs)
        seen += len(epochs)
    for path in FIXTURES.rglob("partition.metadata"):
        assert len(read_partition_metadata(path).topic_id) == 22
        seen += 1
    assert seen > 100


def test_checkpoints_say_what_they_say(tmp_path: Path) -> None:
    path = written(tmp_path, "replication-offset-checkpoint", b"0\n2\n__consumer_offsets 3 77\na.b-c 0 5\n")
    assert read_offset_checkpoint(path) == (
        PartitionOffset("__consumer_offsets", 3, 77),
        PartitionOffset("a.b-c", 0, 5),
    )
    path = written(tmp_path, "leader-epoch-checkpoint", b"0\n2\n0 0\n4 99\n")
    assert read_leader_epochs(path) == (EpochStart(0, 0), EpochStart(4, 99))
    assert read_offset_checkpoint(written(tmp_path, "cleaner-offset-checkpoint", b"")) == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"1\n0\n", "version 0"),
        (b"0\n", "version 0"),
        (b"0\n2\nt 0 1\n", "says 2 entries and has 1"),
        (b"0\nx\n", "line 2"),
        (b"0\n1\nt zero 1\n", "line 3"),
        (b"0\n1\nt 1\n", "line 3 has 2 fields"),
        (b"0\n1\n\xff\xff 0 1\n", "as text"),
    ],
)
def test_a_checkpoint_that_is_none_names_the_line(tmp_path: Path, text: bytes, words: str) -> None:
    with pytest.raises(SourceError, match=words):
        read_offset_checkpoint(written(tmp_path, "recovery-point-offset-checkpoint", text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("version=0\nbroker.id=5\n", MetaProperties(0, None, 5)),
        ("#Sat\ncluster.id=abc\nbroker.id=5\nversion=0", MetaProperties(0, "abc", 5)),
        ("version=1\nnode.id=6\ncluster.id=abc\ndirectory.id=xyz", MetaProperties(1, "abc", 6)),
        ("", MetaProperties(0, None, None)),
    ],
)
def test_meta_properties_of_both_versions(tmp_path: Path, text: str, expected: MetaProperties) -> None:
    assert read_meta_properties(written(tmp_path, "meta.properties", text.encode())) == expected


def test_metadata_without_what_matters(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="topic_id"):
        read_partition_metadata(written(tmp_path, "partition.metadata", b"version: 0\n"))
    with pytest.raises(SourceError, match="numbers belong"):
        read_meta_properties(written(tmp_path, "meta.properties", b"node.id=me\n"))
