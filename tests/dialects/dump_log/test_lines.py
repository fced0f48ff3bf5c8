"""kafka-dump-log's lines by release, and its views: batches, records, contents."""

from pathlib import Path

import pytest

from offsets_tool.dialects import Output
from offsets_tool.errors import UsageError
from tests.dialects.dump_log.segments import COMMIT, NAME, OLD_MESSAGE, dump, errors, lines
from tests.dialects.samples import COMMIT_KEY, commit
from tests.log import encoded_batches

CRC = int.from_bytes(COMMIT[17:21], "big")
SIZE = len(COMMIT)


@pytest.mark.parametrize(
    ("release", "word"), [("0.9", "Starting"), ("3.2", "Starting"), ("3.3", "Log starting")]
)
def test_an_empty_segment_has_its_header_lines(tmp_path: Path, release: str, word: str) -> None:
    assert dump(tmp_path, b"", release) == [Output(f"Dumping {NAME}\n{word} offset: 0\n".encode())]


PRODUCER = "baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 partitionLeaderEpoch: 0 isTransactional: false"
EARLY = f"position: 0 CreateTime: 2000 isvalid: true size: {SIZE} magic: 2 compresscodec: NONE crc: {CRC}"
LATE = f"position: 0 CreateTime: 2000 size: {SIZE} magic: 2 compresscodec: {{}} crc: {CRC} isvalid: true"


@pytest.mark.parametrize(
    ("release", "want"),
    [
        ("0.11", f"baseOffset: 0 lastOffset: 0 {PRODUCER} {EARLY}"),
        ("1.1", f"baseOffset: 0 lastOffset: 0 {PRODUCER} {EARLY}"),
        ("2.0.0", f"baseOffset: 0 lastOffset: 0 count: 1 {PRODUCER} {EARLY}"),
        ("2.0.1", f"baseOffset: 0 lastOffset: 0 count: 1 {PRODUCER} isControl: false {EARLY}"),
        ("2.2", f"baseOffset: 0 lastOffset: 0 count: 1 {PRODUCER} isControl: false {LATE.format('NONE')}"),
        ("3.1", f"baseOffset: 0 lastOffset: 0 count: 1 {PRODUCER} isControl: false {LATE.format('none')}"),
        (
            "4.3",
            f"baseOffset: 0 lastOffset: 0 count: 1 {PRODUCER} isControl: false "
            f"deleteHorizonMs: OptionalLong.empty {LATE.format('none')}",
        ),
    ],
)
def test_a_batch_line(tmp_path: Path, release: str, want: str) -> None:
    assert lines(dump(tmp_path, COMMIT, release, records=False)) == [want]


KEY_SIZE, VALUE_SIZE = len(COMMIT_KEY), len(commit(1))


@pytest.mark.parametrize(
    ("release", "want"),
    [
        (
            "0.11.0.1",
            f"offset: 0 position: 0 CreateTime: 1000 isvalid: true keysize: {KEY_SIZE} valuesize: {VALUE_SIZE} magic: 2 "
            "compresscodec: NONE producerId: -1 sequence: -1 isTransactional: false headerKeys: []"
            " key: offset::g:t:5 payload: 10:m",
        ),
        (
            "1.1",
            f"offset: 0 position: 0 CreateTime: 1000 isvalid: true keysize: {KEY_SIZE} valuesize: {VALUE_SIZE} magic: 2 "
            "compresscodec: NONE producerId: -1 producerEpoch: -1 sequence: -1 isTransactional: false headerKeys: []"
            " key: offset::g:t:5 payload: 10:m",
        ),
        (
            "2.3",
            f"| offset: 0 CreateTime: 1000 keysize: {KEY_SIZE} valuesize: {VALUE_SIZE} sequence: -1 headerKeys: []"
            " key: offset::g:t:5 payload: 10:m",
        ),
        (
            "2.4",
            f"| offset: 0 CreateTime: 1000 keysize: {KEY_SIZE} valuesize: {VALUE_SIZE} sequence: -1 headerKeys: []"
            " key: offset_commit::group=g,partition=t-5 payload: offset=10,metadata=m",
        ),
        (
            "2.8",
            f"| offset: 0 isValid: true crc: null keySize: {KEY_SIZE} valueSize: {VALUE_SIZE} CreateTime: 1000 "
            "baseOffset: 0 lastOffset: 0 baseSequence: -1 lastSequence: -1 producerEpoch: -1 partitionLeaderEpoch: 0 "
            f"batchSize: {SIZE} magic: 2 compressType: NONE position: 0 sequence: -1 headerKeys: []"
            " key: offset_commit::group=g,partition=t-5 payload: offset=10,metadata=m",
        ),
        (
            "3.8",
            f"| offset: 0 CreateTime: 1000 keySize: {KEY_SIZE} valueSize: {VALUE_SIZE} sequence: -1 headerKeys: []"
            ' key: {"type":"1","data":{"group":"g","topic":"t","partition":5}}'
            ' payload: {"version":"1","data":{"offset":10,"metadata":"m","commitTimestamp":1000,"expireTimestamp":-1}}',
        ),
    ],
)
def test_a_record_line_with_its_commit(tmp_path: Path, release: str, want: str) -> None:
    assert lines(dump(tmp_path, COMMIT, release))[-1] == want


OLD_CRC = int.from_bytes(OLD_MESSAGE[12:16], "big")


@pytest.mark.parametrize(
    ("release", "want"),
    [
        (
            "0.8.2",
            f"payloadsize: {VALUE_SIZE} magic: 0 compresscodec: NoCompressionCodec crc: {OLD_CRC} keysize: {KEY_SIZE}",
        ),
        (
            "0.10.1",
            f"NoTimestampType: -1 isvalid: true payloadsize: {VALUE_SIZE} magic: 0 compresscodec: NoCompressionCodec",
        ),
        (
            "0.10.2",
            f"payloadsize: {VALUE_SIZE} magic: 0 compresscodec: NONE crc: {OLD_CRC} keysize: {KEY_SIZE}",
        ),
        ("0.11", f"valuesize: {VALUE_SIZE} magic: 0 compresscodec: NONE crc: {OLD_CRC}"),
        ("2.7", f"valuesize: {VALUE_SIZE} crc: {OLD_CRC} isvalid: true"),
        ("2.8", f"position: 0 crc: {OLD_CRC} isvalid: true"),
        ("4.2", f"valueSize: {VALUE_SIZE} isValid: true crc: {OLD_CRC}}}"),
        ("4.3", f"valueSize: {VALUE_SIZE} isValid: true crc: {OLD_CRC}"),
    ],
)
def test_a_message_of_magic_0(tmp_path: Path, release: str, want: str) -> None:
    line = lines(dump(tmp_path, OLD_MESSAGE, release, decoder=False))[-1]
    assert want in line and not line.endswith(want + "}")


def test_a_wrapper_alone_or_what_it_holds(tmp_path: Path) -> None:
    inner = b"".join(encoded_batches.message(1, i, COMMIT_KEY, commit(1)) for i in range(2))
    content = encoded_batches.wrapper(1, 1, inner)
    shallow = lines(dump(tmp_path, content, "0.10.2", records=False))
    assert shallow == [
        f"offset: 1 position: 0 CreateTime: 1000 isvalid: true payloadsize: {len(content) - 34} magic: 1 "
        f"compresscodec: GZIP crc: {int.from_bytes(content[12:16], 'big')}"
    ]
    deep = lines(dump(tmp_path, content, "0.10.2"))
    assert [line.partition(" CreateTime")[0] for line in deep] == [
        "offset: 0 position: 0",
        "offset: 1 position: 0",
    ]
    assert all(line.endswith("key: offset::g:t:5 payload: 10:m") for line in deep)


def test_before_0_11_the_decoder_alone_meets_wrappers_without_a_key(tmp_path: Path) -> None:
    content = encoded_batches.wrapper(0, 0, OLD_MESSAGE)
    outputs = dump(tmp_path, content, "0.9", deep=False)
    assert "GZIPCompressionCodec" in lines(outputs)[0]
    assert errors(outputs) == [
        "Failed to decode message using offset topic decoder (message had a missing key)"
    ]


@pytest.mark.parametrize(
    ("release", "want"),
    [
        (
            "0.11",
            " producerEpoch: 2 sequence: -1 isTransactional: true headerKeys: [] endTxnMarker: COMMIT coordinatorEpoch: 100",
        ),
        ("2.2", " valuesize: 6 sequence: -1 headerKeys: [] endTxnMarker: COMMIT coordinatorEpoch: 100"),
        ("4.3", " valueSize: 6 sequence: -1 headerKeys: [] endTxnMarker: COMMIT coordinatorEpoch: 100"),
    ],
)
def test_a_marker_is_not_handed_to_the_decoder(tmp_path: Path, release: str, want: str) -> None:
    marker = encoded_batches.record(0, b"\0\0\0\1", b"\0\0\0\0\0\x64")
    assert lines(
        dump(tmp_path, encoded_batches.v2(0, [marker], attributes=48, producer=(7, 2, -1)), release)
    )[-1].endswith(want)


def test_control_records_of_other_kinds(tmp_path: Path) -> None:
    unknown = encoded_batches.v2(0, [encoded_batches.record(0, b"\0\0\0\x09", b"")], attributes=48)
    assert lines(dump(tmp_path, unknown, "4.3"))[-1].endswith(" controlType: UNKNOWN(9)")
    broken = encoded_batches.v2(0, [encoded_batches.record(0, b"\0", b"")], attributes=48)
    assert errors(dump(tmp_path, broken, "4.3")) == ["a control record's key has less than 4 bytes"]


def test_headers_sequences_and_delete_horizons(tmp_path: Path) -> None:
    record = encoded_batches.record(1, COMMIT_KEY, None, headers=((b"a", b"x"), ("è".encode(), None)))
    content = encoded_batches.v2(
        0, [record], producer=(7, 2, 2**31 - 1), attributes=64, base_timestamp=86410000, last_offset_delta=1
    )
    batch, line = lines(dump(tmp_path, content, "4.3"))[:2]
    assert (
        "baseSequence: 2147483647 lastSequence: 0 " in batch
        and "deleteHorizonMs: OptionalLong[86410000]" in batch
    )
    assert "valueSize: -1 sequence: 0 headerKeys: [a,è] key: " in line and line.endswith(" payload: <DELETE>")


def test_a_wrong_checksum_is_told_and_the_records_are_printed(tmp_path: Path) -> None:
    content = COMMIT[:17] + b"\0\0\0\0" + COMMIT[21:] + encoded_batches.v2(1)
    shown = lines(dump(tmp_path, content, "3.6"))
    assert shown[0].endswith("crc: 0 isvalid: false") and "offset_commit::" in shown[1]


@pytest.mark.parametrize(
    ("release", "view", "firsts"),
    [
        # One line a batch or one a record until 2.1, then both; the decoder means deep iteration from 1.1 on.
        ("0.11", {}, ["offset:"] * 2),
        ("0.11", {"deep": False}, ["baseOffset:"] * 2),
        ("0.11", {"deep": False, "decoder": False}, ["baseOffset:"] * 2),
        ("0.11", {"records": False}, ["baseOffset:"] * 2),
        ("1.1", {"deep": False}, ["offset:"] * 2),
        ("1.1", {"decoder": False}, ["offset:"] * 2),
        ("2.2", {}, ["baseOffset:", "|"] * 2),
        ("2.2", {"deep": False}, ["baseOffset:", "|"] * 2),
        ("2.2", {"decoder": False}, ["baseOffset:", "|"] * 2),
        ("2.2", {"deep": False, "decoder": False}, ["baseOffset:"] * 2),
        ("2.2", {"records": False}, ["baseOffset:"] * 2),
    ],
)
def test_views(tmp_path: Path, release: str, view: dict[str, bool], firsts: list[str]) -> None:
    content = COMMIT + encoded_batches.v2(1, [encoded_batches.record(0, COMMIT_KEY, commit(0))])
    shown = lines(dump(tmp_path, content, release, **view))
    assert [line.split()[0] for line in shown] == firsts
    decodes = view.get("records", True) and view.get("decoder", True) and "baseOffset:" not in firsts[-1]
    assert all((" key: " in line) == decodes for line in shown if not line.startswith("baseOffset"))


@pytest.mark.parametrize("release", ["0.8.2", "0.9.0.0"])
def test_releases_without_a_decoder_are_refused_until_it_is_not_asked_for(
    tmp_path: Path, release: str
) -> None:
    with pytest.raises(UsageError, match=r"0\.9\.0\.1 or later"):
        dump(tmp_path, OLD_MESSAGE, release)
    assert len(lines(dump(tmp_path, OLD_MESSAGE, release, records=False))) == 1
