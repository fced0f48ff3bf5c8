"""Archives: the records of a real log come back from every layout that exporters write, and nothing is lost in silence."""

import base64
import gzip
import json
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import cramjam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from offsets_tool.errors import SetupError, SourceError, UsageError
from offsets_tool.log.archive.files import ArchiveFile, ArchiveKind, archive_files
from offsets_tool.log.archive.read import read_archive
from offsets_tool.log.discover import find_segments
from offsets_tool.log.segment import read_segment
from offsets_tool.rows import BatchRead, Header, LogRecord, TimestampType, Unreadable, UnreadableKind
from tests.corpora import FIXTURES

CORPUS = FIXTURES / "corpora" / "4.3.1-txn" / "segments"
TOPIC = "__consumer_offsets"


def log() -> Iterator[LogRecord]:
    for segment in find_segments([CORPUS]):
        for item in read_segment(segment):
            assert isinstance(item, BatchRead)
            yield from item.records


LOG = list(log())
CONSUMED = [record for record in LOG if not record.is_control]
ONE = [record for record in CONSUMED if record.log_partition == 1]


def facts(records: Iterable[LogRecord | Unreadable]) -> list[tuple[Any, ...]]:
    found = []
    for record in records:
        assert isinstance(record, LogRecord), record
        assert record.batch is None
        found.append((record.log_partition, record.log_offset, record.timestamp, record.key, record.value))
    return sorted(found)


def known(records: Iterable[LogRecord]) -> list[tuple[Any, ...]]:
    return sorted((r.log_partition, r.log_offset, r.timestamp, r.key, r.value) for r in records)


def b64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def iso(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def lines(rows: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def design(record: LogRecord) -> dict[str, Any]:
    """Return a record as the JSON lines of our own documentation have it."""
    return {
        "topic": TOPIC,
        "partition": record.log_partition,
        "offset": record.log_offset,
        "timestamp": record.timestamp,
        "key": b64(record.key),
        "value": b64(record.value),
        "producer_id": record.producer_id,
        "is_transactional": record.is_transactional,
        "is_control": record.is_control,
    }


def kcat(record: LogRecord) -> bytes:
    """Return a record as kcat -J writes it: only what JSON must escape is escaped, all other bytes are unchanged."""

    def string(data: bytes | None) -> bytes:
        if data is None:
            return b"null"
        escaped = data.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
        return b'"' + b"".join(b"\\u%04X" % c if c < 0x20 else bytes([c]) for c in escaped) + b'"'

    head = f'{{"topic":"{TOPIC}","partition":{record.log_partition},"offset":{record.log_offset},"tstype":"create",'
    head += f'"ts":{record.timestamp},"broker":1,"key":'
    return head.encode() + string(record.key) + b',"payload":' + string(record.value) + b"}\n"


def hexadecimal(data: bytes | None) -> str | None:
    return None if data is None else data.hex()


# Each: a file name, and what an exporter would put there for a log.
JSON_LAYOUTS: dict[str, tuple[str, Callable[[list[LogRecord]], bytes]]] = {
    "our own": ("a.jsonl", lambda records: lines(map(design, records))),
    "gzip, in two members": (
        "a.jsonl.gz",
        lambda records: b"".join(
            gzip.compress(lines(map(design, part))) for part in (records[:9], records[9:])
        ),
    ),
    "zstd": ("a.json.zst", lambda records: bytes(cramjam.zstd.compress(lines(map(design, records))))),
    "kcat -J": ("kcat.json", lambda records: b"".join(map(kcat, records))),
    "Spark's JSON, without nulls": (
        "part-00000-c000.json",
        lambda records: lines(
            {
                name: value
                for name, value in {
                    "key": b64(r.key),
                    "value": b64(r.value),
                    "topic": TOPIC,
                    "partition": r.log_partition,
                    "offset": r.log_offset,
                    "timestamp": iso(r.timestamp),
                    "timestampType": 0,
                }.items()
                if value is not None
            }
            for r in records
        ),
    ),
    "Stream Reactor's envelope": (
        "envelope.json",
        lambda records: lines(
            {
                "key": b64(r.key),
                "value": b64(r.value),
                "headers": {},
                "metadata": {
                    "offset": r.log_offset,
                    "partition": r.log_partition,
                    "timestamp": r.timestamp,
                    "topic": TOPIC,
                },
            }
            for r in records
        ),
    ),
    "Redpanda Connect's metadata, as text": (
        "redpanda.ndjson",
        lambda records: lines(
            {
                "kafka_topic": TOPIC,
                "kafka_partition": str(r.log_partition),
                "kafka_offset": str(r.log_offset),
                "kafka_timestamp_ms": str(r.timestamp),
                "kafka_key": b64(r.key),
                "value": b64(r.value),
            }
            for r in records
        ),
    ),
    "an array over many lines": (
        "array.json",
        lambda records: b"[\n" + lines(map(design, records)).rstrip().replace(b"\n", b",\n") + b"\n]\n",
    ),
    "an array on one line": ("rest.json", lambda records: lines([list(map(design, records))])),
    "ClickHouse, in hex": (
        "clickhouse.jsonl",
        lambda records: lines(
            {
                "_partition": r.log_partition,
                "_offset": r.log_offset,
                "_timestamp": r.timestamp // 1000,
                "_timestamp_ms": r.timestamp,
                "_key": hexadecimal(r.key),
                "_raw_message": hexadecimal(r.value),
            }
            for r in records
        ),
    ),
}


@pytest.mark.parametrize("layout", JSON_LAYOUTS)
def test_json_lines(layout: str, tmp_path: Path) -> None:
    """Keys, values, offsets and times of every layout are those of the log."""
    name, write = JSON_LAYOUTS[layout]
    (tmp_path / name).write_bytes(write(CONSUMED))
    assert [file.kind for file in archive_files(tmp_path)] == [ArchiveKind.JSON_LINES]
    read = read_archive(tmp_path / name)
    assert facts(read) == known(CONSUMED)
    assert (read.rows, read.records, read.unreadable_rows) == (len(CONSUMED), len(CONSUMED), 0)


def test_what_only_some_archives_know(tmp_path: Path) -> None:
    """Producer, transaction and control markers come back where they were kept, and are None where not."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines(map(design, LOG)))
    read = [record for record in read_archive(path) if isinstance(record, LogRecord)]
    assert [(r.producer_id, r.is_transactional, r.is_control) for r in read] == [
        (r.producer_id, r.is_transactional, r.is_control) for r in LOG
    ]
    assert any(record.is_control for record in read)
    path.write_bytes(b"".join(map(kcat, ONE)))
    for record in read_archive(path):
        assert isinstance(record, LogRecord)
        assert (record.producer_id, record.producer_epoch, record.sequence, record.is_transactional) == (
            None,
        ) * 4
        assert record.timestamp_type is TimestampType.CREATE_TIME
        assert record.source == path.as_posix()


def spark_table(records: list[LogRecord]) -> pa.Table:
    """Return records as a table with the columns and types of Spark's Kafka source with includeHeaders."""
    return pa.table(
        {
            "key": pa.array([r.key for r in records], pa.binary()),
            "value": pa.array([r.value for r in records], pa.binary()),
            "topic": [TOPIC] * len(records),
            "partition": pa.array([r.log_partition for r in records], pa.int32()),
            "offset": [r.log_offset for r in records],
            "timestamp": pa.array([r.timestamp * 1000 for r in records], pa.timestamp("us", "UTC")),
            "timestampType": pa.array([0] * len(records), pa.int32()),
            "headers": pa.array(
                [[{"key": "k", "value": b"\x00"}, {"key": "n", "value": None}]] * len(records),
                pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
            ),
        }
    )


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_parquet(unit: str, tmp_path: Path) -> None:
    """A Parquet file in several row groups, its times in any unit."""
    table = spark_table(CONSUMED)
    timestamps = table["timestamp"].cast(pa.timestamp(unit, "UTC"))
    table = table.set_column(5, "timestamp", timestamps)
    pq.write_table(table, tmp_path / "a", row_group_size=7)
    read = list(read_archive(tmp_path / "a"))
    assert facts(read) == known(CONSUMED)
    assert isinstance(read[0], LogRecord)
    assert read[0].headers == (Header(b"k", b"\x00"), Header(b"n", None))
    assert read[0].timestamp_type is TimestampType.CREATE_TIME


def test_a_time_that_kafka_does_not_know(tmp_path: Path) -> None:
    """-1 ms, which is before 1970, stays -1; no time at all is -1 too."""
    table = pa.table(
        {
            "offset": [1],
            "key": [b"k"],
            "value": [b"v"],
            "timestamp": pa.array([-1000], pa.timestamp("us", "UTC")),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    pq.write_table(table.drop_columns("timestamp"), tmp_path / "b.parquet")
    assert facts(read_archive(tmp_path)) == [(None, 1, -1, b"k", b"v")] * 2


def test_spark_folder(tmp_path: Path) -> None:
    """A folder as Spark leaves it: hive partitions, markers and checksums beside the data."""
    pq.write_to_dataset(spark_table(CONSUMED), tmp_path, partition_cols=["partition"])
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".part-0.parquet.crc").write_bytes(b"crc")
    (tmp_path / "_temporary").mkdir()
    pq.write_table(spark_table(ONE), tmp_path / "_temporary" / "half.parquet")
    assert facts(read_archive(tmp_path)) == known(CONSUMED)
    assert {file.kind for file in archive_files(tmp_path)} == {ArchiveKind.PARQUET}


@pytest.mark.parametrize(
    "name",
    [
        f"topics/{TOPIC}/partition=1/{TOPIC}+1+0000000042.snappy.parquet",
        f"prefix/{TOPIC}-1-42",
        f"prefix/{TOPIC}-1-42.gz",
        f"nightly/{TOPIC}-1/rows.parquet",
    ],
)
def test_the_partition_in_the_path(name: str, tmp_path: Path) -> None:
    """Sinks (Confluent's, Aiven's) name it in the path and not in the rows."""
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    if name.endswith(".parquet"):
        pq.write_table(spark_table(ONE).drop_columns("partition"), path)
    else:
        rows = lines(
            {"key": b64(r.key), "value": b64(r.value), "offset": r.log_offset, "timestamp": iso(r.timestamp)}
            for r in ONE
        )
        path.write_bytes(gzip.compress(rows))
    assert facts(read_archive(tmp_path)) == known(ONE)


@pytest.mark.parametrize(
    ("name", "is_of_topic"),
    [
        (f"topic={TOPIC}/partition=1/a.parquet", True),
        (f"_topic={TOPIC}/_partition=1/a.parquet", True),
        ("topic=orders/partition=1/a.parquet", False),
        (f"kafka_topic=primary.{TOPIC}/kafka_partition=1/a.parquet", False),
        (f"topics/{TOPIC}/partition=1/{TOPIC}+1+0000000042.parquet", True),
        ("topics/orders/partition=1/orders+1+0000000042.parquet", False),
        (f"topics/primary.{TOPIC}/partition=1/primary.{TOPIC}+1+0000000042.snappy.parquet", False),
        (f"topic=orders/copies/topic={TOPIC}/partition=1/a.parquet", True),
    ],
)
def test_the_topic_in_the_path(name: str, is_of_topic: bool, tmp_path: Path) -> None:
    """Rows that do not say their topic are of that in their path: another's are left out, and counted."""
    (tmp_path / name).parent.mkdir(parents=True)
    pq.write_table(spark_table(ONE).drop(["topic", "partition"]), tmp_path / name)
    read = read_archive(tmp_path)
    assert facts(read) == (known(ONE) if is_of_topic else [])
    assert read.rows == len(ONE) and read.other_topics == (0 if is_of_topic else len(ONE))
    copy = read_archive(tmp_path, columns={"topic": f"primary.{TOPIC}"})
    assert facts(copy) == (known(ONE) if f"primary.{TOPIC}" in name else [])


def test_delta(tmp_path: Path) -> None:
    """A Delta table is what its log says: rows that were deleted are gone though their files are there."""
    table = tmp_path / "lake" / "raw"
    write_deltalake(table, spark_table(CONSUMED), partition_by=["partition"])
    write_deltalake(table, spark_table(ONE), mode="append")
    DeltaTable(table).delete("partition = 1")
    kept = [record for record in CONSUMED if record.log_partition != 1]
    assert archive_files(tmp_path) == [ArchiveFile(table, ArchiveKind.DELTA)]
    assert facts(read_archive(tmp_path)) == known(kept)
    assert len(list(table.rglob("*.parquet"))) > len(DeltaTable(table).file_uris())


def test_delta_without_deltalake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who lacks it is told what to install."""
    write_deltalake(tmp_path / "t", spark_table(ONE))
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(SetupError, match=r"pip install 'offsets-tool\[delta\]'"):
        list(read_archive(tmp_path / "t"))


def test_a_delta_table_without_its_log(tmp_path: Path) -> None:
    """A folder that only looks like one."""
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(SourceError, match="_delta_log: holds no commit"):
        list(read_archive(tmp_path))


def test_columns_by_hand(tmp_path: Path) -> None:
    """Names that nobody knows, a field of a struct, and a name with a dot."""
    rows = [
        {
            "at": r.log_offset,
            "where": {"p": r.log_partition},
            "k.64": b64(r.key),
            "v": b64(r.value),
            "t": r.timestamp,
        }
        for r in CONSUMED
    ]
    (tmp_path / "a.jsonl").write_bytes(lines(rows))
    chosen = {"offset": "at", "partition": "where.p", "key": "k.64", "value": "v", "timestamp": "t"}
    assert facts(read_archive(tmp_path, columns=chosen)) == known(CONSUMED)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.jsonl")
    assert facts(read_archive(tmp_path / "a.jsonl", columns=chosen)) == known(CONSUMED)
    with pytest.raises(
        UsageError, match=r"there is no column 'x'; columns are at, where, k\.64, v, t, where\.p"
    ):
        list(read_archive(tmp_path / "a.jsonl", columns={"offset": "x"}))
    with pytest.raises(UsageError, match="no field is called 'log'; fields are topic, partition"):
        list(read_archive(tmp_path / "a.jsonl", columns={"log": "at"}))
    with pytest.raises(
        SourceError, match=r"no column for offset, key, value among at, .*--columns FIELD=COLUMN"
    ):
        list(read_archive(tmp_path / "a.jsonl"))


def test_other_topics_and_partitions_are_counted(tmp_path: Path) -> None:
    """What is left out is left out by the number."""
    rows = [
        *map(design, CONSUMED),
        {**design(ONE[0]), "topic": "orders"},
        {**design(ONE[0]), "topic": "payments"},
    ]
    (tmp_path / "a.jsonl").write_bytes(lines(rows))
    read = read_archive(tmp_path / "a.jsonl", log_partition=1)
    assert facts(read) == known(ONE)
    assert (read.rows, read.records, read.other_topics, read.other_partitions, read.unreadable_rows) == (
        len(rows),
        len(ONE),
        2,
        len(CONSUMED) - len(ONE),
        0,
    )


def test_a_partition_for_rows_without_one(tmp_path: Path) -> None:
    """`log_partition` numbers what neither row nor path does."""
    (tmp_path / "a.jsonl").write_bytes(lines({"offset": 7, "key": "AAE=", "value": None} for _ in range(2)))
    assert facts(read_archive(tmp_path, log_partition=3)) == [(3, 7, -1, b"\x00\x01", None)] * 2
    assert facts(read_archive(tmp_path)) == [(None, 7, -1, b"\x00\x01", None)] * 2


GOOD = lines([{"offset": 7, "partition": 0, "key": "AAE=", "value": "AAA="}])
BAD_LINES = {
    "no JSON": (b"Processed a total of 3 messages\n", "a line that is not a JSON object"),
    "no object": (b"12\n", "a line that is not a JSON object"),
    "half an object": (b'{"offset": 7, "partition"\n', "a line that is not a JSON object"),
    "no offset": (b'{"partition": 0, "key": "AAE=", "value": null}\n', "offset: the offset is missing"),
    "offset too large": (
        b'{"offset": 9223372036854775808, "key": null}\n',
        "offset: '9223372036854775808' is not an int64",
    ),
    "offset no number": (b'{"offset": true, "key": null}\n', "offset: 'True' is not an int64"),
    "text for a value": (
        b'{"offset": 7, "key": "AAE=", "value": "caf\xc3\xa9"}\n',
        "value: text that is not base64",
    ),
    "object for a value": (
        b'{"offset": 7, "key": "AAE=", "value": {"a": 1}}\n',
        "value: neither bytes nor text",
    ),
    "not a time": (b'{"offset": 7, "key": "AAE=", "timestamp": "noon"}\n', "timestamp: 'noon' is not a time"),
    "not a flag": (
        b'{"offset": 7, "key": "AAE=", "is_control": "no"}\n',
        "is_control: 'no' is neither true nor false",
    ),
    "not a type": (
        b'{"offset": 7, "key": "AAE=", "tstype": "noon"}\n',
        "timestamp_type: 'noon' is not a timestamp type",
    ),
    "odd headers": (
        b'{"offset": 7, "key": "AAE=", "headers": ["k"]}\n',
        "headers: neither a list of headers",
    ),
    "not UTF-8": (b'{"offset": 7, "key": "\xff"}\n', "a line that is not a JSON object"),
    "nested too deep": (b"[" * 100_000 + b"\n", "a line that is not a JSON object"),
}


@pytest.mark.parametrize("case", BAD_LINES)
def test_bad_lines(case: str, tmp_path: Path) -> None:
    """Each is an Unreadable with its place, and the lines around it are read."""
    line, reason = BAD_LINES[case]
    path = tmp_path / "a.jsonl"
    extra = b'{"offset": 8, "headers": [], "key": "AAE=", "value": null, "timestamp": 1, "is_control": false, "tstype": "create"}\n'
    path.write_bytes(GOOD + line + b"\n" + extra)
    first, bad, last = read_archive(path)
    assert isinstance(bad, Unreadable)
    assert (bad.source, bad.position, bad.size, bad.kind) == (
        path.as_posix(),
        len(GOOD),
        len(line),
        UnreadableKind.CONTENT,
    )
    assert reason in bad.reason
    assert [record.log_offset for record in (first, last) if isinstance(record, LogRecord)] == [7, 8]


def test_kcat_through_a_converter(tmp_path: Path) -> None:
    """A tool that wants UTF-8 puts replacement characters for bytes; what it destroyed is not taken for bytes."""
    whole = b"".join(map(kcat, ONE))
    destroyed = whole.decode("utf-8", "replace").encode()
    (tmp_path / "a.json").write_bytes(destroyed)
    items = list(read_archive(tmp_path / "a.json"))
    unreadable = [item for item in items if isinstance(item, Unreadable)]
    tombstones = [record for record in ONE if record.value is None]
    assert all("replacement characters" in item.reason for item in unreadable)
    assert facts(item for item in items if isinstance(item, LogRecord)) == known(tombstones)
    # A name may hold such a character itself.
    key = b"\x00\x01\x00\x03\xef\xbf\xbd\x00\x01t\x00\x00\x00\x00"
    record = LogRecord(source="", log_partition=0, log_offset=0, timestamp=1, key=key, value=ONE[0].value)
    (tmp_path / "b.json").write_bytes(kcat(record))
    assert facts(read_archive(tmp_path / "b.json")) == known([record])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst"])
def test_cut_off(name: str, tmp_path: Path) -> None:
    """A file that ends early gives what it has, and says where it ended."""
    chance = random.Random(1)
    log = [replace(ONE[0], log_offset=number, value=chance.randbytes(100)) for number in range(20_000)]
    rows = lines(map(design, log))
    packed = {
        "a.jsonl": rows,
        "a.jsonl.gz": gzip.compress(rows),
        "a.jsonl.zst": bytes(cramjam.zstd.compress(rows)),
    }
    (tmp_path / name).write_bytes(packed[name][: len(packed[name]) // 2 - 3])
    *records, tail = read_archive(tmp_path / name)
    assert isinstance(tail, Unreadable)
    assert tail.kind is UnreadableKind.TORN_TAIL
    assert len(records) > 100
    assert rows[: tail.position].count(b"\n") == len(records)
    assert facts(records) == known(log[: len(records)])


def test_an_endless_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line without an end costs no more memory than the longest one we accept."""
    monkeypatch.setattr("offsets_tool.log.archive.lines.LONGEST_LINE", 1000)
    long = b'{"value": "' + b"A" * 5000 + b'"}\n'
    (tmp_path / "a.jsonl").write_bytes(GOOD + long + GOOD)
    first, bad, last = read_archive(tmp_path / "a.jsonl")
    assert isinstance(bad, Unreadable)
    assert (bad.position, bad.size, bad.reason) == (
        len(GOOD),
        len(long),
        f"a line of {len(long)} bytes, longer than 1000",
    )
    assert facts([first, last]) == [(0, 7, -1, b"\x00\x01", b"\x00\x00")] * 2


def test_damaged_parquet(tmp_path: Path) -> None:
    """A bad page costs its row group's rows; a bad row is one row."""
    path = tmp_path / "a.parquet"
    table = spark_table(CONSUMED)
    pq.write_table(table, path, row_group_size=20, compression="zstd")
    group = pq.ParquetFile(path).metadata.row_group(1)
    data = bytearray(path.read_bytes())
    start = group.column(1).data_page_offset
    data[start : start + 60] = b"\xff" * 60
    path.write_bytes(data)
    items = list(read_archive(path))
    [bad] = [item for item in items if isinstance(item, Unreadable)]
    assert (bad.position, bad.size, bad.kind) == (0, 0, UnreadableKind.DAMAGE)
    assert bad.reason.startswith("rows 20 to 39: row group 1 is damaged")
    records = [item for item in items if isinstance(item, LogRecord)]
    assert facts(records) == known(CONSUMED[:20] + CONSUMED[40:])

    offsets = pa.array([None if number == 5 else r.log_offset for number, r in enumerate(CONSUMED)])
    pq.write_table(table.set_column(4, "offset", offsets), path)
    read = read_archive(path)
    [bad] = [item for item in read if isinstance(item, Unreadable)]
    assert (bad.position, bad.size, read.unreadable_rows) == (0, 0, 1)
    assert bad.reason == "row 5: a row that is no record: offset: the offset is missing"


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Return data with some bytes changed, inserted or removed."""
    found = bytearray(data)
    for _ in range(chance.choice([1, 2, 5, 30])):
        at = chance.randrange(len(found))
        change = chance.random()
        if change < 0.6:
            found[at] = chance.randrange(256)
        elif change < 0.8:
            found[at:at] = chance.randbytes(chance.randrange(9))
        elif len(found) > 1000:
            del found[at : at + chance.randrange(50)]
    return bytes(found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", *JSON_LAYOUTS])
def test_any_damage(kind: str, tmp_path: Path) -> None:
    """Whatever happened to a file: it is refused as a whole, or every row has its place."""
    path = tmp_path / "archive"
    if kind == "parquet":
        pq.write_table(spark_table(CONSUMED), path, row_group_size=20, compression="zstd")
    else:
        path.write_bytes(JSON_LAYOUTS[kind][1](CONSUMED[:20]))
    whole = path.read_bytes()
    read_some = 0
    for seed in range(100):
        path.write_bytes(damaged(whole, random.Random(seed)))
        try:
            read = read_archive(path)
            items = list(read)
        except SourceError:
            continue
        assert read.records == sum(isinstance(item, LogRecord) for item in items)
        assert read.rows == (read.records + read.unreadable_rows + read.other_topics + read.other_partitions)
        read_some += bool(read.records)
    assert read_some > 5


def test_names_that_are_no_text(tmp_path: Path) -> None:
    """A string column that is not UTF-8 costs its row group, and is no traceback."""
    table = pa.table({"offset": [1], "key": [b"k"], "value": [b"v"], "topic": [TOPIC]})
    pq.write_table(table, tmp_path / "a.parquet", compression="none", use_dictionary=False)
    data = (tmp_path / "a.parquet").read_bytes()
    assert data.count(TOPIC.encode()) > 0
    (tmp_path / "a.parquet").write_bytes(data.replace(TOPIC.encode(), b"\xff" * len(TOPIC)))
    [bad] = read_archive(tmp_path / "a.parquet")
    assert isinstance(bad, Unreadable)
    assert (bad.position, bad.size) == (0, 0) and bad.reason.startswith("rows 0 to 0: row group 0")


def test_a_folder_with_a_bad_file(tmp_path: Path) -> None:
    """It does not hide the others, and is not passed over."""
    pq.write_table(spark_table(ONE), tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:100])
    *records, bad = read_archive(tmp_path)
    assert isinstance(bad, Unreadable)
    assert bad.source == (tmp_path / "b.parquet").as_posix()
    assert bad.reason.startswith("the whole file: not a Parquet file that can be read")
    assert facts(records) == known(ONE)
    with pytest.raises(SourceError, match="not a Parquet file that can be read"):
        list(read_archive(tmp_path / "b.parquet"))


def test_what_is_no_archive(tmp_path: Path) -> None:
    """Segments, manifests, oracle outputs and nothing at all."""
    assert not archive_files(CORPUS)
    assert not archive_files(CORPUS.parent)
    assert not archive_files(CORPUS / f"{TOPIC}-1" / f"{0:020}.log")
    assert not archive_files(CORPUS.parent / "manifest.json")
    (tmp_path / "empty.jsonl").touch()
    assert not archive_files(tmp_path)
    for path in (CORPUS, CORPUS.parent / "manifest.json", tmp_path / "empty.jsonl"):
        with pytest.raises(SourceError, match="no archive is here; expected JSON lines"):
            read_archive(path)
    with pytest.raises(SourceError, match="check the path"):
        archive_files(tmp_path / "missing")


def test_links_that_go_round(tmp_path: Path) -> None:
    """A folder that is linked into itself is read once."""
    (tmp_path / "a.jsonl").write_bytes(GOOD)
    (tmp_path / "again").symlink_to(tmp_path)
    assert len(archive_files(tmp_path)) == 1


@pytest.mark.parametrize(
    ("path", "log_partition"),
    [
        ("_topic=__consumer_offsets/_partition=7/000000000099_1_2.json", 7),
        ("topics/__consumer_offsets/partition=7/__consumer_offsets+7+0000000000.json", 7),
        ("__consumer_offsets/0000000007-00000000000000000000.jsonl", 7),
        ("__consumer_offsets/0000000000000000007-0000000000000000008.txt", None),
        ("backup/7/rows.jsonl", None),
    ],
)
def test_folders_and_names_of_sinks_say_the_partition(
    tmp_path: Path, path: str, log_partition: int | None
) -> None:
    """Stream Reactor's, Confluent's and Aiven's layouts; nothing is guessed of other numbers."""
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(json.dumps({"offset": 3, "key": "AAIAAWc=", "value": None}) + "\n")
    [record] = [record for record in read_archive(tmp_path) if isinstance(record, LogRecord)]
    assert (record.log_partition, record.log_offset) == (log_partition, 3)
