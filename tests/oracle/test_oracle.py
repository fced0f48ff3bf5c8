"""The oracle says what Kafka's own tools said: of the logs in fixtures/corpora, and of the vectors made elsewhere."""

import json
from pathlib import Path
from typing import Any

import pytest

from oracle.answers import Consumed
from oracle.batches import Batch, Marker, Record
from oracle.client import Oracle
from oracle.declarations import declarations
from oracle.jvm import OracleError
from tests.corpora import FIXTURES

pytestmark = pytest.mark.java

COMMIT_KEY = bytes.fromhex("0001000867726f75702d69640003666f6f00000001")
COMMIT_VALUE = bytes.fromhex("000300000000000000640000000a00086d6574616461746100000000000004d2")
JAVA_FORMATTERS = "org.apache.kafka.tools.consumer."
SCALA_FORMATTERS = "kafka.coordinator.group.GroupMetadataManager$"


def vectors(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FIXTURES / "vectors" / name).read_text().splitlines()]


def readable() -> list[dict[str, Any]]:
    """Return the vectors with coordinator records that Kafka reads; the others have its exception instead."""
    return [each for each in vectors("coordinator_records.jsonl") if each.get("key_json") is not None]


def pair(vector: dict[str, Any]) -> tuple[bytes, bytes | None]:
    return bytes.fromhex(vector["key_hex"]), None if vector["value_hex"] is None else bytes.fromhex(
        vector["value_hex"]
    )


def test_serde_reads_what_kafka_read(oracle: Oracle) -> None:
    wanted = readable()
    assert wanted
    for vector, read in zip(wanted, oracle.serde("4.4.0", map(pair, wanted)), strict=True):
        assert read.error is None, vector["name"]
        assert json.loads(read.key or "")["data"] == vector["key_json"]
        value = None if read.value is None else json.loads(read.value)["data"]
        assert value == vector.get("value_json"), vector["name"]


def test_serde_writes_again_what_it_read_and_encode_makes_it_from_json(oracle: Oracle) -> None:
    reads = oracle.serde("4.4.0", map(pair, readable()))
    records = []
    for read in reads:
        key, value = json.loads(read.key or ""), json.loads(read.value or "null")
        version, data = (value["version"], json.dumps(value["data"])) if value else (0, None)
        records.append((key["type"], json.dumps(key["data"]), version, data))
    assert [(made.key, made.value) for made in oracle.encode("4.4.0", records)] == [
        (read.key_bytes, read.value_bytes) for read in reads
    ]


@pytest.mark.parametrize(
    ("version", "key", "value", "name", "message"),
    [
        ("4.3.1", b"\x00\x63", None, "UnknownRecordTypeException", "Found an unknown record type 99"),
        ("3.9.2", b"\x00\x63", None, "UnknownRecordTypeException", "Found an unknown record type 99"),
        (
            "4.3.1",
            COMMIT_KEY,
            b"\x00\x05",
            "UnknownRecordVersionException",
            "Found an unknown record version 5 for 1 type",
        ),
        ("4.3.1", COMMIT_KEY, b"", "RuntimeException", "Could not read version from value's buffer."),
        ("3.7.2", b"\x00", None, "RuntimeException", "Could not read version from key's buffer."),
    ],
)
def test_what_kafka_refuses_is_an_answer(
    version: str, key: bytes, value: bytes | None, name: str, message: str, oracle: Oracle
) -> None:
    [read] = oracle.serde(version, [(key, value)])
    assert read.error is not None
    assert (read.error.name, read.error.message) == (name, message)
    assert (read.key, read.value, read.key_bytes, read.value_bytes) == (None, None, None, None)


def test_many_cases_keep_their_order(oracle: Oracle) -> None:
    keys = [(COMMIT_KEY[:-4] + n.to_bytes(4, "big"), COMMIT_VALUE if n % 3 else None) for n in range(45_000)]
    reads = oracle.serde("4.3.1", iter(keys))
    assert [(read.key_bytes, read.value_bytes) for read in reads] == keys


@pytest.mark.parametrize(
    ("version", "corpus", "partition", "options"),
    [
        ("1.1.1", "1.1.1-connect", 0, ("--deep-iteration",)),
        ("2.8.2", "2.8.2-expiry", 0, ("--deep-iteration",)),
        ("3.3.2", "3.3.2-mix", 0, ("--deep-iteration",)),
        ("3.9.2", "3.9.2-txn", 0, ()),
        ("4.0.2", "4.0.2-newgroups", 0, ()),
        ("4.1.2", "4.1.2-newgroups", 0, ()),
        ("4.2.1", "4.2.1-newgroups", 0, ()),
        ("4.3.1", "4.3.1-classic", 0, ()),
    ],
)
def test_dumplog_prints_what_the_tool_printed(
    version: str, corpus: str, partition: int, options: tuple[str, ...], oracle: Oracle
) -> None:
    folder = FIXTURES / "corpora" / corpus
    golden = sorted((folder / "oracle").glob("dump-log-offsets-decoder-*.txt"))[0]
    number = golden.stem.rpartition("-")[2]
    [log] = sorted((folder / "segments" / f"__consumer_offsets-{number}").glob("*.log"))
    dumped = oracle.dumplog(version, "--offsets-decoder", "--print-data-log", *options, "--files", str(log))
    assert (dumped.error, dumped.status) == (None, None)
    assert dumped.stdout.decode().replace(f"{folder}/", "") == golden.read_text()


def test_a_tool_that_exits_leaves_the_oracle_alive(oracle: Oracle) -> None:
    dumped = oracle.dumplog("4.3.1")
    assert dumped.status == 1
    assert b"Missing required argument" in dumped.stderr or b"parse a log file" in dumped.stderr
    assert oracle.serde("4.3.1", [(COMMIT_KEY, None)])[0].error is None


TEXT = "[group-id,foo,1]::"


@pytest.mark.parametrize(
    ("version", "name", "text"),
    [
        (
            "4.3.1",
            f"{JAVA_FORMATTERS}OffsetsMessageFormatter",
            '{"key":{"type":1,"data":{"group":"group-id","topic":"foo","partition":1}},"value":{"version":3,"data":'
            '{"offset":100,"leaderEpoch":10,"metadata":"metadata","commitTimestamp":1234}}}',
        ),
        (
            "3.9.2",
            f"{SCALA_FORMATTERS}OffsetsMessageFormatter",
            TEXT
            + "OffsetAndMetadata(offset=100, leaderEpoch=Optional[10], metadata=metadata, commitTimestamp=1234, "
            "expireTimestamp=None)\n",
        ),
        ("4.3.1", f"{JAVA_FORMATTERS}GroupMetadataMessageFormatter", ""),
    ],
)
def test_formatter_prints_what_the_console_consumer_prints(
    version: str, name: str, text: str, oracle: Oracle
) -> None:
    [printed] = oracle.formatter(version, name, [Consumed(COMMIT_KEY, COMMIT_VALUE)])
    assert (printed.error, printed.text.decode(), printed.stderr) == (None, text, b"")


def test_an_old_formatter_prints_its_own_words(oracle: Oracle) -> None:
    value = bytes.fromhex("0001000000000000006400086d6574616461746100000000000004d2000000000000162e")
    [printed] = oracle.formatter(
        "1.1.1", f"{SCALA_FORMATTERS}OffsetsMessageFormatter", [Consumed(COMMIT_KEY, value)]
    )
    assert (
        printed.text.decode() == TEXT + "[OffsetMetadata[100,metadata],CommitTime 1234,ExpirationTime 5678]\n"
    )


def test_a_formatter_that_throws_says_where(oracle: Oracle) -> None:
    name = f"{JAVA_FORMATTERS}OffsetsMessageFormatter"
    thrown, fine = oracle.formatter(
        "4.3.1", name, [Consumed(COMMIT_KEY, b"\x00\x05", offset=7), Consumed(COMMIT_KEY, None)]
    )
    assert thrown.error is not None
    assert (
        thrown.error.message
        == "Could not read record at offset 7 due to: Found an unknown record version 5 for 1 type"
    )
    assert fine.text.endswith(b'"value":null}')


def test_consumer_protocol_blobs(oracle: Oracle) -> None:
    for vector in vectors("consumer_protocol.jsonl"):
        [blob] = oracle.blob(vector["kind"], [bytes.fromhex(vector["hex"])])
        assert json.loads(blob.text or "null") == vector["json"]


def test_streams_subscription_blobs(oracle: Oracle) -> None:
    wanted = [each for each in vectors("embedded_blobs.jsonl") if each["kind"] == "streams_subscription_info"]
    blobs = oracle.blob("streams-subscription", [bytes.fromhex(each["hex"]) for each in wanted])
    assert [blob.text for blob in blobs] == [each["text"] for each in wanted]


@pytest.mark.parametrize(
    ("kind", "vector", "told"),
    [
        ("cooperative-sticky", "cooperative_sticky_user_data_v0", {"partitions": [], "generation": 5}),
        (
            "sticky",
            "sticky_user_data_v1",
            {
                "partitions": [
                    {"topic": "bar", "partition": 3},
                    {"topic": "foo", "partition": 0},
                    {"topic": "foo", "partition": 1},
                ],
                "generation": 5,
            },
        ),
        (
            "connect-assignment",
            "connect_assignment_v0",
            {
                "error": 0,
                "leader": "leader-id",
                "leaderUrl": "http://w1:8083/",
                "configOffset": 42,
                "connectors": ["c1"],
                "tasks": [{"connector": "c1", "task": 0}, {"connector": "c2", "task": 1}],
            },
        ),
    ],
)
def test_other_blobs(kind: str, vector: str, told: dict[str, Any], oracle: Oracle) -> None:
    [wanted] = [each for each in vectors("embedded_blobs.jsonl") if each["kind"] == vector]
    [blob] = oracle.blob(kind, [bytes.fromhex(wanted["hex"])])
    assert json.loads(blob.text or "null") == told


def test_a_worker_that_brings_its_allocation(oracle: Oracle) -> None:
    [wanted] = [
        each
        for each in vectors("embedded_blobs.jsonl")
        if each["kind"] == "connect_metadata_v2_with_assignment"
    ]
    [blob] = oracle.blob("connect-metadata", [bytes.fromhex(wanted["hex"])])
    told = json.loads(blob.text or "null")
    assert (told["url"], told["configOffset"], told["allocation"]["revokedConnectors"]) == (
        "http://w1:8083/",
        42,
        ["c2"],
    )


def test_a_blob_that_cannot_be_read(oracle: Oracle) -> None:
    [blob] = oracle.blob("subscription", [b"\xff\xff"])
    assert blob.error is not None
    assert (blob.error.name, blob.text) == ("SchemaException", None)


def test_batches_are_read_as_kafka_read_them(oracle: Oracle, tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    for vector in vectors("record_batches.jsonl"):
        log.write_bytes(bytes.fromhex(vector["hex"]))
        for batch in vector["batches"]:
            if batch.get("deleteHorizonMs") == "OptionalLong.empty":
                batch["deleteHorizonMs"] = None
        assert oracle.batches(log) == (None, vector["batches"]), vector["name"]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_what_is_built_is_read_again(magic: int, codec: str, oracle: Oracle, tmp_path: Path) -> None:
    batch = Batch(
        (Record(b"a", b"1", 5), Record(b"b", None, 6, offset=14)), magic=magic, codec=codec, base_offset=10
    )
    if codec == "zstd" and magic < 2:
        with pytest.raises(ValueError, match="ZStandard compression is not supported for magic"):
            oracle.build([batch])
        return
    log = tmp_path / "00000000000000000010.log"
    log.write_bytes(oracle.build([batch]))
    records = [record for read in oracle.batches(log).batches for record in read["records"]]
    timestamps = (-1, -1) if magic == 0 else (5, 6)
    assert [(each["offset"], each["timestamp"], each["key_hex"], each["value_hex"]) for each in records] == [
        (10, timestamps[0], "61", "31"),
        (14, timestamps[1], "62", None),
    ]


def test_a_segment_is_read_at_kafkas_pace(oracle: Oracle, tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    records = (Record(COMMIT_KEY, COMMIT_VALUE), Record(COMMIT_KEY, None))
    marker = Batch(marker=Marker("COMMIT"), producer_id=9, producer_epoch=2, is_transactional=True)
    log.write_bytes(oracle.build([Batch(records), Batch(records[:1]), marker]))
    before = oracle.cpu_seconds()
    for memory in (True, False):
        assert oracle.pace(log, memory=memory, count_groups=True) == (4, 2, 200, 1)
    assert oracle.pace(log, memory=True, count_groups=False).groups == 0
    assert oracle.cpu_seconds() > before
    damaged = bytearray(log.read_bytes())
    damaged[-1] ^= 1
    (tmp_path / "damaged.log").write_bytes(damaged)
    with pytest.raises(OracleError, match="CorruptRecordException"):
        oracle.pace(tmp_path / "damaged.log", memory=True, count_groups=False)


def test_markers_empty_batches_and_horizons_are_built(oracle: Oracle, tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    producer: dict[str, Any] = {"producer_id": 9, "producer_epoch": 2, "is_transactional": True}
    log.write_bytes(
        oracle.build(
            [
                Batch(
                    (Record(b"k", b"v", 3, headers=(("h", b"x"), ("n", None))),), base_sequence=4, **producer
                ),
                Batch(marker=Marker("ABORT", 7, 99), base_offset=1, **producer),
                Batch(base_offset=2, last_offset=5, base_sequence=5, **producer),
                Batch((Record(b"k", None, 3),), base_offset=6, delete_horizon_ms=1000),
            ]
        )
    )
    data, marker, empty, horizon = oracle.batches(log).batches
    assert (data["producerId"], data["producerEpoch"], data["baseSequence"]) == (9, 2, 4)
    assert data["records"][0]["headers"] == [{"key": "h", "value_hex": "78"}, {"key": "n", "value_hex": None}]
    assert (marker["isControl"], marker["records"][0]["key_hex"], marker["records"][0]["value_hex"]) == (
        True,
        "00000000",
        "000000000007",
    )
    assert (empty["count"], empty["baseOffset"], empty["lastOffset"], empty["records"]) == (0, 2, 5, [])
    assert horizon["deleteHorizonMs"] == 1000


def test_what_ends_a_log_is_told_beside_what_was_read(oracle: Oracle, tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(oracle.build([Batch((Record(b"k", b"v"),))]) + bytes(20))
    read = oracle.batches(log)
    assert read.error is not None
    assert (read.error.name, len(read.batches)) == ("CorruptRecordException", 1)


@pytest.mark.parametrize(
    ("version", "name", "versions"),
    [
        ("2.8.2", "OffsetCommitValue", "0-3"),
        ("3.5.2", "OffsetCommitValue", "0-4"),
        ("4.4.0", "StreamsGroupMetadataValue", "0"),
        ("4.3.1", "SubscriptionInfoData", "1-11"),
        ("4.0.2", "ConsumerProtocolSubscription", "0-3"),
    ],
)
def test_declarations_come_out_of_the_jars(version: str, name: str, versions: str) -> None:
    declared = declarations(version)[name]
    assert (declared["name"], declared["validVersions"]) == (name, versions)
    assert declared["fields"]


def test_a_release_without_jars_and_a_class_that_is_not_there(oracle: Oracle) -> None:
    with pytest.raises(OracleError, match=r"no jars are named for Kafka 9\.9\.9"):
        oracle.serde("9.9.9", [])
    with pytest.raises(OracleError, match=r"ClassNotFoundException: org.example.None"):
        oracle.formatter("4.3.1", "org.example.None", [Consumed(None, None)])
