"""The fast lane gives what the reference gives: on every real segment, on every record type, on damage, at every cut."""

import random
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.columns.lane.chunks import Chunk, Lane
from offsets_tool.columns.lane.interned import InternedKeys
from offsets_tool.columns.lane.layout import CAPACITY, CHUNK_BYTES, LONGEST_BATCH, BatchField
from offsets_tool.events import Key, encode_key
from offsets_tool.log.batches.walk import Walker
from offsets_tool.records import RECORD_TYPES
from offsets_tool.rows import BatchRead
from offsets_tool.wire import walk
from tests.cases import CASES, commit
from tests.columns.lanes import SEGMENTS, assert_same, by_lane, by_reference
from tests.depth import DEEP
from tests.dialects.hostile import Hostile
from tests.log.encoded_batches import record, v2

CODECS = (0, 1, 2, 3, 4)
MIXED = [path for path in SEGMENTS if path.stat().st_size < 20_000]


@pytest.mark.parametrize("path", SEGMENTS, ids=lambda path: "/".join(path.parts[-5:]))
def test_every_real_segment(path: Path) -> None:
    assert_same(path.read_bytes())


def test_real_commits_are_read_in_the_lane() -> None:
    """Not by declining: most of what brokers of 0.11 and later wrote is the lane's own."""
    lanes = [by_lane(path.read_bytes()) for path in SEGMENTS]
    assert sum(lane.rows_in_lane for lane in lanes) > (4_000 if DEEP else 600)
    assert sum(lane.declined for lane in lanes) < sum(lane.rows_in_lane for lane in lanes) / (
        4 if DEEP else 2
    )


def batch(
    records: list[tuple[bytes | None, bytes | None]], base_offset: int = 0, codec: int = 0, **header: int
) -> bytes:
    body = [record(place, key, value) for place, (key, value) in enumerate(records)]
    return v2(base_offset, body, codec=codec, **header)


@pytest.mark.parametrize("codec", CODECS)
def test_every_record_type_and_version(codec: int) -> None:
    records = []
    for case in CASES:
        key = encode_key(Key(RECORD_TYPES[case.type], case.key))
        records.append((key, None if case.value_hex is None else bytes.fromhex(case.value_hex)))
    lane = assert_same(batch(records, codec=codec) + batch(records[::-1], len(records), codec))
    assert lane.declined == 0 and lane.rows_in_lane == 2 * len(CASES)


def test_hostile_records_stay_among_their_neighbours() -> None:
    hostile = Hostile(7)
    for number in range(400 if DEEP else 20):
        records = hostile.records(50)
        assert_same(batch(records, codec=CODECS[number % 5]))


@given(st.data())
def test_damage(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(MIXED))
    damaged = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    assert_same(bytes(damaged))


def test_damage_behind_a_right_checksum() -> None:
    """Bytes inside a batch, changed before the checksum is made: what only the records' own lengths can tell."""
    chance = random.Random(3)
    key = encode_key(Key(RECORD_TYPES[1], CASES[3].key))
    value = b"\x00\x03" + walk.encode(commit(3, leader_epoch=1, metadata="m"), 3)
    body = [record(place, key, value) for place in range(4)]
    for _ in range(3000 if DEEP else 100):
        changed = bytearray(b"".join(body))
        for _ in range(chance.randint(1, 3)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        assert_same(v2(0, [bytes(changed)], count=4) + batch([(key, value)], 4))


EDGES: tuple[dict[str, object], ...] = (
    {"base_timestamp": 2**63 - 1},
    {"base_timestamp": -(2**63)},
    {"base_offset": 2**63 - 20},
    {"producer": (5, 0, 2**31 - 2)},
    {"attributes": 8, "max_timestamp": -(2**63)},
    {"attributes": 16, "producer": (7, 3, -1)},
    {"attributes": 32},
    {"attributes": 64, "base_timestamp": 99},
    {"attributes": 8, "max_timestamp": 1700000000000},
)


@pytest.mark.parametrize("header", EDGES, ids=str)
def test_headers_at_the_edges(header: dict[str, object]) -> None:
    key = encode_key(Key(RECORD_TYPES[1], CASES[3].key))
    body = [record(place, key, None, place - 1) for place in range(4)]
    assert_same(v2(records=body, **header))  # type: ignore[arg-type]


MARKERS = (
    ("00000000", "000000000007"),
    ("00000001", "000000000007ff"),
    ("00050001", "000100000007"),
    ("00000002", "0000"),
    ("ffff0001", "000000000007"),
    ("00000001", "ffff00000007"),
    ("00000001", "0000"),
    ("0000", "000000000007"),
)


def test_control_records() -> None:
    records = [(bytes.fromhex(key), bytes.fromhex(value)) for key, value in MARKERS]
    lane = assert_same(batch([*records, (None, None), (b"\x00\x00\x00\x01", None)], attributes=32))
    assert lane.rows_in_lane == len(records) + 2


def test_tables_that_overflow_grow_and_chunks_that_fill_go_on() -> None:
    records = []
    for number in range((2 if DEEP else 1) * CAPACITY + 100):
        key = struct.pack(">hh", 1, 8) + b"%08d" % number + struct.pack(">hi", 0, number)
        records.append(
            (key, b"\x00\x04" + walk.encode(commit(4, metadata="", topic_id=_uuid(number % 700)), 4))
        )
    data = b"".join(
        batch(records[place : place + 50], base_offset=place) for place in range(0, len(records), 50)
    )
    small = Lane(memoryview(data), "s", 3)
    small.interned = InternedKeys(keys=4, arena=16, topic_ids=2)
    ours, theirs = by_lane(data, small), by_reference(data)
    assert ours.tables() == theirs.tables()
    assert ours.declined == 0


def _uuid(number: int) -> object:
    from uuid import UUID

    return UUID(int=number << 64 | number)


def test_batches_too_long_for_a_chunk_are_the_references() -> None:
    key = encode_key(Key(RECORD_TYPES[2], CASES[13].key))
    long = batch([(key, None)] * (CAPACITY + 1))
    lane = assert_same(batch([(key, None)], 0) + long + batch([(key, None)], 2 * CAPACITY))
    assert (lane.declined, lane.rows_in_lane) == (1, 2)


@pytest.mark.parametrize("codec", (0, 4))
def test_chunks_are_cut_where_values_are_large(codec: int) -> None:
    # What does not compress: a batch that inflated a thousand times would be none that a broker writes.
    key, value = encode_key(Key(RECORD_TYPES[2], CASES[13].key)), random.Random(1).randbytes(1 << 20)
    data = b"".join(batch([(key, value)], place, codec) for place in range(20))
    chunks = list(Lane(memoryview(data), "s", 3).read())
    assert all(isinstance(chunk, Chunk) for chunk in chunks) and len(chunks) >= 2
    for chunk in chunks:
        assert isinstance(chunk, Chunk)
        content = chunk.batches[BatchField.BODY_END] - chunk.batches[BatchField.BODY_START]
        assert content.sum() < CHUNK_BYTES + 2 * len(value)
    assert_same(data)


@pytest.mark.parametrize("codec", (0, 4))
def test_batches_of_too_many_bytes_are_the_references(codec: int) -> None:
    long = batch([(None, random.Random(1).randbytes(LONGEST_BATCH))], codec=codec)
    (read,) = Lane(memoryview(long), "s", 3).read()
    assert isinstance(read, BatchRead) and read.unreadable is None
    assert len(read.records[0].value or b"") == LONGEST_BATCH


def test_ranges_add_up() -> None:
    data = max(MIXED, key=lambda path: path.stat().st_size).read_bytes()
    lane, walker = Lane(memoryview(data), "s", 3), Walker(memoryview(data), "s")
    whole = _batches(lane, 0, len(data))
    for cut in range(0, len(data), 997):
        boundary = walker.boundary(cut)
        assert _batches(lane, 0, boundary) + _batches(lane, boundary, len(data)) == whole


def _batches(lane: Lane, start: int, end: int) -> int:
    return sum(item.batches.shape[1] if isinstance(item, Chunk) else 1 for item in lane.read(start, end))


def test_nothing_is_no_rows() -> None:
    assert by_lane(b"").tables() == by_reference(b"").tables()
