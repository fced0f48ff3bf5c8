"""One batch at a time: Kafka's own vectors, damage to every byte of them, and the rules at the edges."""

import json
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.errors import DecodeError
from offsets_tool.log.batches.batch import read_batch
from offsets_tool.log.batches.header import TornBatch, increment_sequence
from offsets_tool.log.batches.limits import Limits
from offsets_tool.rows import BatchRead, Codec, Header, LogRecord, TimestampType, UnreadableKind
from tests.log import encoded_batches
from tests.log.samples import VECTORS

CASES = [json.loads(line) for line in VECTORS.read_text(encoding="utf-8").splitlines()]
NAMES = [case["name"] for case in CASES]


LEAST, GREATEST = -(2**63), 2**63 - 1


def read(data: bytes, position: int = 0, **options: Any) -> BatchRead:
    return read_batch(data, position, "here", 3, **options)


def walk(data: bytes) -> list[BatchRead]:
    reads, position = [], 0
    while position < len(data):
        reads.append(read(data, position))
        position += reads[-1].batch.size
    return reads


def as_vector(item: BatchRead) -> dict[str, Any]:
    batch = item.batch
    row: dict[str, Any] = {
        "baseOffset": batch.base_offset,
        "lastOffset": batch.last_offset,
        "magic": batch.magic,
        "compression": batch.codec,
        "timestampType": batch.timestamp_type,
        "maxTimestamp": batch.max_timestamp,
        "crc": batch.crc,
        "isValid": batch.crc_valid,
        "sizeInBytes": batch.size,
        "records": [record_as_vector(record) for record in item.records],
    }
    if batch.magic == 2:
        row |= {
            "count": batch.count,
            "producerId": batch.producer_id,
            "producerEpoch": batch.producer_epoch,
            "baseSequence": batch.base_sequence,
            "lastSequence": -1
            if batch.base_sequence < 0
            else increment_sequence(batch.base_sequence, batch.last_offset - batch.base_offset),
            "partitionLeaderEpoch": batch.partition_leader_epoch,
            "isTransactional": batch.is_transactional,
            "isControl": batch.is_control,
            "deleteHorizonMs": "OptionalLong.empty"
            if batch.delete_horizon_ms is None
            else batch.delete_horizon_ms,
        }
    return row


def record_as_vector(record: LogRecord) -> dict[str, Any]:
    return {
        "offset": record.log_offset,
        "timestamp": record.timestamp,
        "keySize": -1 if record.key is None else len(record.key),
        "valueSize": -1 if record.value is None else len(record.value),
        "sequence": record.sequence,
        "key_hex": None if record.key is None else record.key.hex(),
        "value_hex": None if record.value is None else record.value.hex(),
        "headers": [
            {"key": header.key.decode(), "value_hex": None if header.value is None else header.value.hex()}
            for header in record.headers
        ],
    }


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_kafkas_own_batches_read_field_by_field(case: dict[str, Any]) -> None:
    assert [as_vector(item) for item in walk(bytes.fromhex(case["hex"]))] == case["batches"]


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_every_prefix_of_a_batch_is_torn(case: dict[str, Any]) -> None:
    data = bytes.fromhex(case["hex"])
    size = read(data).batch.size
    for cut in range(size):
        with pytest.raises(TornBatch):
            read(data[:cut])


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_every_flipped_byte_is_noticed_or_outside_the_checksum(case: dict[str, Any]) -> None:
    data = bytes.fromhex(case["hex"])
    whole = read(data)
    data = data[: whole.batch.size]
    uncovered = set(range(8)) | (set(range(12, 16)) if whole.batch.magic == 2 else set())
    for position in range(len(data)):
        for flip in (0x01, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[position] ^= flip
            try:
                item = read(bytes(damaged))
            except DecodeError:
                continue
            if position in uncovered:
                assert [record.value for record in item.records] == [record.value for record in whole.records]
            else:
                assert not item.batch.crc_valid
                assert not item.records
                assert item.unreadable is not None
                assert item.unreadable.kind is UnreadableKind.CRC


@given(case=st.sampled_from(CASES), position=st.integers(0, 10_000), flip=st.integers(1, 255))
def test_without_verification_damage_is_records_or_a_reason(
    case: dict[str, Any], position: int, flip: int
) -> None:
    data = bytearray.fromhex(case["hex"])
    data[position % len(data)] ^= flip
    try:
        item = read(bytes(data), verify=False)
    except DecodeError:
        return
    assert item.unreadable is None or (item.unreadable.kind is UnreadableKind.CONTENT and not item.records)


def test_without_verification_a_wrong_checksum_does_not_hide_the_records() -> None:
    data = bytearray(encoded_batches.v2(records=[encoded_batches.record(value=b"before")]))
    data[-4:-1] = b"AFT"
    item = read(bytes(data), verify=False)
    assert not item.batch.crc_valid
    assert item.unreadable is None
    assert [record.value for record in item.records] == [b"befAFT"]


@given(data=st.binary(max_size=300), position=st.integers(0, 310))
def test_any_bytes_are_a_batch_or_a_decode_error(data: bytes, position: int) -> None:
    try:
        item = read(data, position, verify=False)
    except DecodeError:
        return
    assert position + item.batch.size <= len(data)


@given(
    content=st.binary(max_size=200),
    count=st.integers(-1, 200),
    attributes=st.integers(0, 0x7F),
    times=st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1)),
)
def test_a_right_checksum_over_any_content_is_all_records_or_a_reason(
    content: bytes, count: int, attributes: int, times: tuple[int, int]
) -> None:
    data = encoded_batches.v2(
        content=content, count=count, attributes=attributes, base_timestamp=times[0], max_timestamp=times[1]
    )
    try:
        item = read(data)
    except DecodeError:
        assert count < 0
        return
    assert len(item.records) == (count if item.unreadable is None else 0)


def reason(data: bytes, **options: Any) -> str:
    item = read(data, **options)
    assert item.records == ()
    assert item.unreadable is not None
    assert item.unreadable.kind is UnreadableKind.CONTENT
    assert (item.unreadable.position, item.unreadable.size) == (0, len(data))
    return item.unreadable.reason


def test_all_fields_of_a_transactional_batch_reach_its_records() -> None:
    records = [
        encoded_batches.record(0, timestamp_delta=-5),
        encoded_batches.record(7, None, None, 10**12, headers=((b"h", None),)),
    ]
    data = encoded_batches.v2(50, records, attributes=0x10, producer=(9, 4, 100), last_offset_delta=7)
    first, second = read(data).records
    assert (first.log_offset, first.timestamp, first.sequence) == (50, 995, 100)
    assert (second.log_offset, second.timestamp, second.sequence) == (57, 1000 + 10**12, 107)
    assert (second.key, second.value, second.headers) == (None, None, (Header(b"h", None),))
    assert (first.producer_id, first.producer_epoch, first.is_transactional, first.is_control) == (
        9,
        4,
        True,
        False,
    )
    assert (first.source, first.log_partition, first.crc) == ("here", 3, None)
    assert first.batch is not None
    assert first.batch.delete_horizon_ms is None


def test_a_delete_horizon_stands_where_the_base_timestamp_was() -> None:
    item = read(
        encoded_batches.v2(
            records=[encoded_batches.record(timestamp_delta=-86400000)],
            attributes=0x40,
            base_timestamp=86401000,
        )
    )
    assert item.batch.delete_horizon_ms == 86401000
    assert item.records[0].timestamp == 1000


@pytest.mark.parametrize(
    ("base", "delta", "timestamp"),
    [
        (LEAST, 0, LEAST),
        (LEAST, -1, GREATEST),
        (GREATEST, 1, LEAST),
        (0, LEAST, LEAST),
        (-1, LEAST, GREATEST),
        (5, GREATEST, LEAST + 4),
        (-5, GREATEST, GREATEST - 5),
        (GREATEST, LEAST, -1),
        (GREATEST, GREATEST, -2),
        (LEAST, LEAST, 0),
    ],
)
def test_a_time_is_a_sum_of_javas_longs(base: int, delta: int, timestamp: int) -> None:
    # As MemoryRecords of Kafka 2.8.2 reads these batches.
    records = [encoded_batches.record(timestamp_delta=delta)]
    batch = encoded_batches.v2(records=records, base_timestamp=base, max_timestamp=GREATEST)
    assert [each.timestamp for each in read(batch).records] == [timestamp]


def test_the_brokers_time_is_the_batchs_greatest() -> None:
    item = read(
        encoded_batches.v2(
            records=[encoded_batches.record(timestamp_delta=5)], attributes=0x08, max_timestamp=7777
        )
    )
    assert item.records[0].timestamp == 7777
    assert item.records[0].timestamp_type is TimestampType.LOG_APPEND_TIME


@pytest.mark.parametrize(
    ("sequence", "increment", "after"), [(0, 0, 0), (5, 3, 8), (2**31 - 1, 1, 0), (2**31 - 3, 10, 7)]
)
def test_sequences_wrap_to_zero(sequence: int, increment: int, after: int) -> None:
    assert increment_sequence(sequence, increment) == after


def test_an_empty_compressed_batch_has_no_content_to_inflate() -> None:
    item = read(encoded_batches.v2(records=[], content=b"", codec=encoded_batches.ZSTD, last_offset_delta=4))
    assert item.unreadable is None
    assert (item.batch.count, item.batch.last_offset, item.records) == (0, 4, ())


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (encoded_batches.v2(count=3), "cannot hold"),
        (
            encoded_batches.v2(records=[encoded_batches.record(), encoded_batches.record(1)], count=1),
            "left after the last record",
        ),
        (encoded_batches.v2(content=encoded_batches.record()[:-1] + b"\x02"), "headers"),
        (encoded_batches.v2(content=encoded_batches.record()[:-1], count=1), "ends inside"),
        (encoded_batches.v2(content=b"\x0e" + b"\0" * 6 + b"\x80", count=1), "7 bytes and has 6"),
        (encoded_batches.v2(content=b"\xff" * 12, count=1), "more than 5 bytes"),
        (encoded_batches.v2(content=b"\x30\0" + b"\xff" * 11, count=1), "more than 10 bytes"),
        (
            encoded_batches.v2(content=b"\x7e" + encoded_batches.record()[1:], count=1),
            "says that it has 63 bytes",
        ),
        (encoded_batches.v2(content=encoded_batches.record()[:-1] + b"\x01", count=1), "-1 headers"),
        (
            encoded_batches.v2(
                content=encoded_batches.record(headers=((b"", b""),))[:-2] + b"\x01\x00", count=1
            ),
            "no key",
        ),
        (encoded_batches.v2(codec=5, content=b"anything"), "codec"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_malformed_content_under_a_right_checksum_says_why(data: bytes, words: str) -> None:
    assert words in reason(data)


def test_a_batch_of_more_records_than_any_broker_writes_is_refused_before_it_is_built() -> None:
    content = encoded_batches.compress(
        encoded_batches.ZSTD, encoded_batches.record(key=None, value=None) * (1 << 21)
    )
    assert "--max-batch-bytes" in reason(
        encoded_batches.v2(content=content, codec=encoded_batches.ZSTD, count=1 << 21)
    )


@pytest.mark.parametrize(
    "codec", [encoded_batches.GZIP, encoded_batches.SNAPPY, encoded_batches.LZ4, encoded_batches.ZSTD]
)
def test_a_batch_that_inflates_beyond_the_limit_is_refused_with_a_remedy(codec: int) -> None:
    data = encoded_batches.v2(records=[encoded_batches.record(value=bytes(1 << 20))], codec=codec)
    assert "--max-batch-bytes" in reason(data, limits=Limits(1 << 19, is_asked=True))
    assert len(read(data, limits=Limits(1 << 21, is_asked=True)).records) == 1


def test_an_offset_that_cannot_be_is_no_batch() -> None:
    for data in (
        encoded_batches.v2(-1),
        encoded_batches.v2(2**63 - 1, last_offset_delta=1),
        encoded_batches.v2(last_offset_delta=-1),
    ):
        with pytest.raises(DecodeError):
            read(data)


@pytest.mark.parametrize("magic", [3, 127, 255])
def test_an_unknown_magic_is_no_batch(magic: int) -> None:
    data = bytearray(encoded_batches.v2())
    data[16] = magic
    with pytest.raises(DecodeError, match=f"magic {magic}"):
        read(bytes(data))


class TestLegacy:
    """Magic 0 and 1: LegacyRecord and AbstractLegacyRecordBatch."""

    def test_a_message_alone(self) -> None:
        (record,) = read(encoded_batches.message(1, 42, None, b"v", timestamp=77)).records
        assert (record.log_offset, record.timestamp, record.key, record.value) == (42, 77, None, b"v")
        assert record.timestamp_type is TimestampType.CREATE_TIME
        assert record.crc_valid is True
        assert (record.producer_id, record.sequence, record.is_transactional) == (-1, -1, False)

    @pytest.mark.parametrize("codec", [encoded_batches.GZIP, encoded_batches.SNAPPY, encoded_batches.LZ4])
    def test_magic_0_offsets_inside_are_absolute(self, codec: int) -> None:
        inner = encoded_batches.message(0, 10) + encoded_batches.message(0, 14)
        item = read(encoded_batches.wrapper(0, 14, inner, codec))
        assert [record.log_offset for record in item.records] == [10, 14]
        assert (item.batch.base_offset, item.batch.last_offset, item.batch.count) == (10, 14, 2)
        assert all(record.batch == item.batch for record in item.records)

    @pytest.mark.parametrize("codec", [encoded_batches.GZIP, encoded_batches.SNAPPY, encoded_batches.LZ4])
    def test_magic_1_offsets_inside_count_back_from_the_wrapper(self, codec: int) -> None:
        inner = encoded_batches.message(1, 0, timestamp=5) + encoded_batches.message(1, 3, timestamp=6)
        item = read(encoded_batches.wrapper(1, 103, inner, codec, timestamp=9))
        assert [(record.log_offset, record.timestamp) for record in item.records] == [(100, 5), (103, 6)]
        assert item.batch.codec is list(Codec)[codec]

    def test_old_librdkafka_left_the_wrappers_offset_at_0(self) -> None:
        inner = encoded_batches.message(1, 0) + encoded_batches.message(1, 1)
        assert [record.log_offset for record in read(encoded_batches.wrapper(1, 0, inner)).records] == [0, 1]

    def test_the_wrappers_append_time_holds_for_all(self) -> None:
        inner = encoded_batches.message(1, 0, timestamp=5) + encoded_batches.message(1, 1, timestamp=6)
        records = read(encoded_batches.wrapper(1, 1, inner, timestamp=99, attributes=8)).records
        assert {record.timestamp for record in records} == {99}
        assert {record.timestamp_type for record in records} == {TimestampType.LOG_APPEND_TIME}

    @pytest.mark.parametrize(
        ("magic", "append_time", "times"),
        [(1, 0, [5, -1, 5]), (1, 8, [99, -1, 99]), (0, 0, [5, -1, 5])],
        ids=["magic 1", "magic 1 with the broker's time", "magic 0"],
    )
    def test_each_message_inside_is_read_by_its_own_magic(
        self, magic: int, append_time: int, times: list[int]
    ) -> None:
        """As the cleaner of 0.10.0 left them (KAFKA-4298); offsets count by the wrapper's magic."""
        first = 0 if magic else 100
        inner = b"".join(
            encoded_batches.message(own, first + i, timestamp=5) for i, own in enumerate((1, 0, 1))
        )
        item = read(encoded_batches.wrapper(magic, 102, inner, timestamp=99, attributes=append_time))
        assert [(record.log_offset, record.timestamp) for record in item.records] == list(
            zip((100, 101, 102), times, strict=True)
        )
        assert item.records[1].timestamp_type is TimestampType.NO_TIMESTAMP
        assert (item.batch.base_offset, item.batch.count) == (100, 3)

    def test_an_inner_checksum_is_reported_and_not_required(self) -> None:
        inner = bytearray(encoded_batches.message(1, 0))
        inner[-1] ^= 1
        (record,) = read(encoded_batches.wrapper(1, 0, bytes(inner))).records
        assert record.crc_valid is False
        assert record.crc != zlib.crc32(inner[16:])

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (encoded_batches.wrapper(1, 2, encoded_batches.message(1, 5)), "below the last relative offset"),
            (
                encoded_batches.wrapper(1, 2, encoded_batches.message(2, 2)),
                "magic 2 inside a wrapper of messages",
            ),
            (
                encoded_batches.wrapper(0, 2, encoded_batches.wrapper(0, 2, encoded_batches.message(0, 2))),
                "compressed message inside",
            ),
            (encoded_batches.wrapper(1, 2, encoded_batches.message(1, 2)[:-1]), "says that it has"),
            (encoded_batches.wrapper(1, 2, b""), "ends inside its header"),
            (
                encoded_batches.wrapper(1, 2, encoded_batches.message(1, 2), encoded_batches.ZSTD),
                "zstd is not allowed",
            ),
            (encoded_batches.message(1, 2, None, None, attributes=1), "without a value"),
            (encoded_batches.wrapper(0, 2, b"\x80" + encoded_batches.message(0, 2)[1:]), "impossible offset"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_a_wrapper_that_kafka_would_refuse_says_why(self, data: bytes, words: str) -> None:
        assert words in reason(data)

    def test_key_and_value_must_fill_a_message(self) -> None:
        data = bytearray(encoded_batches.message(1, 0, b"abc", b"def"))
        struct.pack_into(">i", data, 26, 2)
        struct.pack_into(">I", data, 12, zlib.crc32(data[16:]))
        assert "key or value" in reason(bytes(data))
