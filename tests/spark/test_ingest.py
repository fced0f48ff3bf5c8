"""Tables hold what the plain decoder says, once, whatever became of the files between two runs."""

import gzip
import hashlib
import json
import os
import random
import tarfile
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from offsets_tool.errors import OffsetsToolError, SourceError, UsageError
from spark import plan
from spark.commit import locked
from spark.ingest import Request, Writer, ingest
from spark.tables import EVENTS, SOURCES, TABLES, Table, read_table
from tests.spark.lakes import CORPORA, FIXTURES, SEGMENT, bring, comparable, content, files, plain, rows

pytestmark = pytest.mark.spark

LOGS = [
    CORPORA / "3.9.2-txn" / "segments",
    CORPORA / "0.8.2.2-to-0.11.0.3-upgrade" / "segments",
    CORPORA / "4.1.2-newgroups" / "segments",
    CORPORA / "3.7.2-compaction" / "segments",
]
COPIES = FIXTURES / "corpora-replicated" / "4.1.2-replicas" / "brokers"


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.parent.name)
def test_tables_equal_the_plain_decode(session: SparkSession, tmp_path: Path, path: Path) -> None:
    assert bring(session, tmp_path / "lake", path).run == 1
    assert comparable(tmp_path / "lake") == plain(path)


def test_the_ledger_adds_up_and_hashes_the_files(session: SparkSession, tmp_path: Path) -> None:
    done = bring(session, tmp_path / "lake", LOGS[1])
    assert sorted(row["path"] for row in done.sources) == sorted(str(p) for p in LOGS[1].rglob("*.log"))
    for row in rows(tmp_path / "lake", "sources"):
        data = Path(row["path"]).read_bytes()
        assert row["sha256"] == row["file_sha256"] == hashlib.sha256(data).hexdigest()
        assert row["bytes"] == row["range_end"] == row["file_size"] == len(data)
        assert row["bytes"] == row["bytes_in_batches"] + row["bytes_unreadable"]
        assert row["records"] == row["decoded"] + row["kept_raw"] + row["control"]
        there = [r for r in rows(tmp_path / "lake", "log") if r["source"] == row["source"]]
        assert row["records"] == len(there)


def test_a_second_run_writes_nothing(session: SparkSession, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    bring(session, lake, *LOGS[:2])
    before = list(files(lake))
    done = bring(session, lake, *LOGS[:2])
    assert (done.run, done.sources, done.note) == (None, [], None)
    assert [file for file in files(lake) if file[0] != ".ingest.lock"] == [
        file for file in before if file[0] != ".ingest.lock"
    ]


def test_a_second_source_is_added(session: SparkSession, tmp_path: Path) -> None:
    for path in (LOGS[0], LOGS[1]):
        bring(session, tmp_path / "twice", path)
    bring(session, tmp_path / "once", *LOGS[:2])
    assert content(tmp_path / "twice") == content(tmp_path / "once")


def place(folder: Path, data: bytes, partition: int = 4) -> Path:
    """A segment of a partition's directory, holding the data; the same path each time."""
    path = folder / f"__consumer_offsets-{partition}" / f"{0:020d}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("seed", range(4))
def test_a_grown_segment_is_read_on(session: SparkSession, tmp_path: Path, seed: int) -> None:
    data = SEGMENT.read_bytes()
    cuts = sorted(random.Random(seed).sample(range(len(data)), 2))
    for cut in (*cuts, len(data)):
        path = place(tmp_path, data[:cut])
        bring(session, tmp_path / "steps", path)
    bring(session, tmp_path / "once", path)
    assert content(tmp_path / "steps", "log", "events") == content(tmp_path / "once", "log", "events")
    steps = rows(tmp_path / "steps", "sources")
    assert [row["range_start"] for row in steps] == [0, *(row["range_end"] for row in steps[:-1])]
    assert steps[-1]["range_end"] == len(data) and steps[-1]["tail_bytes"] == 0
    for row in steps:
        assert row["sha256"] == hashlib.sha256(data[row["range_start"] : row["range_end"]]).hexdigest()


def test_a_torn_tail_waits(session: SparkSession, tmp_path: Path) -> None:
    data = SEGMENT.read_bytes()
    path = place(tmp_path, data[:-5])
    bring(session, tmp_path / "lake", path)
    (row,) = rows(tmp_path / "lake", "sources")
    assert row["tail_kind"] == "torn tail" and row["tail_bytes"] > 0 and row["bytes_unreadable"] == 0
    assert row["range_end"] + row["tail_bytes"] == row["file_size"]
    assert row["file_sha256"] == hashlib.sha256(data[:-5]).hexdigest()
    place(tmp_path, data[:-4])
    assert bring(session, tmp_path / "lake", path).run is None


def test_zeros_are_overwritten(session: SparkSession, tmp_path: Path) -> None:
    """A preallocated segment."""
    data = SEGMENT.read_bytes()
    half = rows_end(data)
    path = place(tmp_path, data[:half] + bytes(len(data) - half))
    bring(session, tmp_path / "lake", path)
    place(tmp_path, data)
    bring(session, tmp_path / "lake", path)
    bring(session, tmp_path / "once", path)
    assert content(tmp_path / "lake", "events") == content(tmp_path / "once", "events")
    assert [row["tail_kind"] for row in rows(tmp_path / "lake", "sources")] == ["zero tail", None]


def rows_end(data: bytes) -> int:
    """Where the tenth batch ends."""
    position = 0
    for _ in range(10):
        position += 12 + int.from_bytes(data[position + 8 : position + 12], "big")
    return position


def test_damage_that_batches_follow_is_settled(session: SparkSession, tmp_path: Path) -> None:
    """Bytes that were a tail, and then have batches behind them."""
    data, half = SEGMENT.read_bytes(), rows_end(SEGMENT.read_bytes())
    path = place(tmp_path, data[:half] + b"\xff" * 100)
    bring(session, tmp_path / "lake", path)
    place(tmp_path, data[:half] + b"\xff" * 100 + data[half:])
    bring(session, tmp_path / "lake", path)
    first, second = rows(tmp_path / "lake", "sources")
    assert (first["range_end"], first["tail_bytes"], first["tail_kind"]) == (half, 100, "damage")
    assert second["range_start"] == half and second["bytes_unreadable"] == 100
    assert [(u["position"], u["size"]) for u in second["unreadable"]] == [(half, 100)]
    bring(session, tmp_path / "whole", place(tmp_path / "whole_log", data))
    assert len(rows(tmp_path / "lake", "events")) == len(rows(tmp_path / "whole", "events"))


@pytest.mark.parametrize("change", ["compacted", "shrunk", "same size"])
def test_a_rewritten_file_is_another_generation(session: SparkSession, tmp_path: Path, change: str) -> None:
    data, half = SEGMENT.read_bytes(), rows_end(SEGMENT.read_bytes())
    path = place(tmp_path, data)
    bring(session, tmp_path / "lake", path)
    other = {"compacted": data[half:], "shrunk": data[:half], "same size": data[half:] + data[:half]}[change]
    path.unlink()
    place(tmp_path, other)
    bring(session, tmp_path / "lake", path)
    bring(session, tmp_path / "other", path)
    events = content(tmp_path / "lake", "events")["events"]
    again = [row | {"source": str(path)} for row in events if row["source"] == f"{path}#2"]
    assert sorted({row["source"] for row in events}) == [str(path), f"{path}#2"]
    assert again == content(tmp_path / "other", "events")["events"]
    assert [row["generation"] for row in rows(tmp_path / "lake", "sources")] == [1, 2]
    assert bring(session, tmp_path / "lake", path).run is None


def test_a_touched_file_is_not_read_again(session: SparkSession, tmp_path: Path) -> None:
    path = place(tmp_path, SEGMENT.read_bytes())
    bring(session, tmp_path / "lake", path)
    os.utime(path, (1, 1))
    assert bring(session, tmp_path / "lake", path).run is None


def test_a_file_that_is_gone_stays_in_the_lake(session: SparkSession, tmp_path: Path) -> None:
    kept, gone = place(tmp_path, SEGMENT.read_bytes()), place(tmp_path, SEGMENT.read_bytes(), 7)
    bring(session, tmp_path / "lake", tmp_path)
    before = content(tmp_path / "lake")
    gone.unlink()
    assert bring(session, tmp_path / "lake", kept).run is None
    assert content(tmp_path / "lake") == before


def test_copies_of_one_partition_stay_apart(session: SparkSession, tmp_path: Path) -> None:
    bring(session, tmp_path / "lake", COPIES)
    sources = rows(tmp_path / "lake", "sources")
    assert len({row["source"] for row in sources}) == len(list(COPIES.rglob("__consumer_offsets-*/*.log")))
    assert comparable(tmp_path / "lake") == plain(COPIES)


def test_the_cluster_is_named_by_hand_or_by_the_broker(session: SparkSession, tmp_path: Path) -> None:
    path = place(tmp_path / "data", SEGMENT.read_bytes())
    (tmp_path / "data" / "meta.properties").write_text("version=1\ncluster.id=abc\nnode.id=3\n")
    bring(session, tmp_path / "lake", path)
    bring(session, tmp_path / "lake", path, cluster="prod")
    clusters = [(row["cluster"], row["broker_id"]) for row in rows(tmp_path / "lake", "sources")]
    assert clusters == [("abc", 3), ("prod", 3)]
    assert {row["cluster"] for row in rows(tmp_path / "lake", "events")} == {"abc", "prod"}


def test_pieces_add_up(session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = place(tmp_path, SEGMENT.read_bytes())
    bring(session, tmp_path / "whole", path)
    monkeypatch.setattr(plan, "PIECE", 700)
    monkeypatch.setattr(plan, "SMALLEST_UNIT", 1000)
    bring(session, tmp_path / "pieces", path)
    pieces = rows(tmp_path / "pieces", "sources")
    assert len(pieces) > 3 and pieces[-1]["range_end"] == path.stat().st_size
    assert [row["range_start"] for row in pieces] == [0, *(row["range_end"] for row in pieces[:-1])]
    assert len(list((tmp_path / "pieces" / "log").glob("*.parquet"))) > 3
    assert content(tmp_path / "pieces", "log", "events") == content(tmp_path / "whole", "log", "events")


def test_damage_across_the_end_of_pieces_is_left_to_the_next_run(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tail begins in one piece and ends in another that has no batch at all."""
    monkeypatch.setattr(plan, "PIECE", 700)
    data, half = SEGMENT.read_bytes(), rows_end(SEGMENT.read_bytes())
    path = place(tmp_path, data[:half] + b"\xff" * 3000)
    bring(session, tmp_path / "lake", path)
    sources = rows(tmp_path / "lake", "sources")
    assert (sources[-1]["range_end"], sources[-1]["tail_bytes"]) == (half, 3000)
    place(tmp_path, data[:half] + b"\xff" * 3000 + data[half:])
    bring(session, tmp_path / "lake", path)
    sources = rows(tmp_path / "lake", "sources")
    assert [row["range_start"] for row in sources] == [0, *(row["range_end"] for row in sources[:-1])]
    assert sum(row["bytes_unreadable"] for row in sources) == 3000
    assert sources[-1]["range_end"] == len(data) + 3000


def test_compressed_copies_and_tars(session: SparkSession, tmp_path: Path) -> None:
    data = SEGMENT.read_bytes()
    packed = tmp_path / "__consumer_offsets-4" / f"{0:020d}.log.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(data))
    tar = tmp_path / "night.tar"
    with tarfile.open(tar, "w") as opened:
        opened.add(SEGMENT, f"data/__consumer_offsets-4/{SEGMENT.name}")
    bring(session, tmp_path / "lake", packed, tar)
    first, second = rows(tmp_path / "lake", "sources")
    assert first["sha256"] == first["file_sha256"] == hashlib.sha256(packed.read_bytes()).hexdigest()
    assert second["source"] == f"{tar}!/data/__consumer_offsets-4/{SEGMENT.name}"
    assert second["sha256"] == hashlib.sha256(data).hexdigest()
    assert first["records"] == second["records"] == len(plain(SEGMENT)["log"])
    os.utime(packed, (1, 1))
    os.utime(tar, (1, 1))
    assert bring(session, tmp_path / "lake", packed, tar).run is None
    packed.write_bytes(gzip.compress(data[: rows_end(data)]))
    assert bring(session, tmp_path / "lake", packed, tar).run == 2
    assert rows(tmp_path / "lake", "sources")[1]["source"] == f"{packed}#2"


def test_a_lake_is_an_archive_too(session: SparkSession, tmp_path: Path) -> None:
    """Delta: the log table of another lake. Parquet: its files."""
    bring(session, tmp_path / "lake", SEGMENT)
    parquet = next((tmp_path / "lake" / "log").glob("*.parquet"))
    for name, archive in (("delta", tmp_path / "lake" / "log"), ("parquet", parquet)):
        lake = tmp_path / name
        bring(session, lake, archive)
        (row,) = rows(lake, "sources")
        assert (row["kind"], row["source"]) == ("archive", str(archive))
        known = ("log_partition", "log_offset", "timestamp", "key", "value", "producer_id", "is_control")
        there = [{n: r[n] for n in known} for r in rows(lake, "log")]
        assert there == [{n: r[n] for n in known} for r in rows(tmp_path / "lake", "log")]
        assert bring(session, lake, archive).run is None


def test_json_lines_that_are_no_records_are_named(session: SparkSession, tmp_path: Path) -> None:
    """A number that is wider than Kafka's is no record, and no reason to stop."""
    lines = [
        {"partition": 3, "offset": 7, "timestamp": 1, "key": "AAEAAWEAAWIAAAAA", "value": None},
        {"partition": 3, "offset": 8, "timestamp": 1, "key": None, "value": None, "producer_epoch": 1 << 15},
        {"partition": 1 << 31, "offset": 9, "timestamp": 1, "key": None, "value": None},
    ]
    archive = tmp_path / "topic.jsonl"
    archive.write_text("".join(json.dumps(line) + "\n" for line in lines))
    bring(session, tmp_path / "lake", archive)
    (row,) = rows(tmp_path / "lake", "sources")
    assert (row["records"], row["decoded"], len(row["unreadable"])) == (1, 1, 2)
    (event,) = rows(tmp_path / "lake", "events")
    assert (event["log_partition"], event["log_offset"], event["tombstone"]) == (3, 7, True)
    assert (event["group"], event["topic"], event["partition"]) == ("a", "b", 0)


def test_one_bad_file_of_an_archive_does_not_hide_the_others(session: SparkSession, tmp_path: Path) -> None:
    bring(session, tmp_path / "lake", SEGMENT)
    parquet = next((tmp_path / "lake" / "log").glob("*.parquet"))
    folder = tmp_path / "archive"
    folder.mkdir()
    (folder / "a.parquet").write_bytes(parquet.read_bytes()[:500])
    (folder / "b.parquet").write_bytes(parquet.read_bytes())
    bring(session, tmp_path / "other", folder)
    bad, good = rows(tmp_path / "other", "sources")
    assert (bad["records"], len(bad["unreadable"])) == (0, 1)
    assert bad["bytes"] == bad["bytes_unreadable"] == bad["file_size"] == 500
    assert good["records"] == len(rows(tmp_path / "lake", "log"))
    with pytest.raises(OffsetsToolError, match=r"a\.parquet"):
        bring(session, tmp_path / "third", folder / "a.parquet")


@pytest.mark.parametrize("writer", [Writer.ARROW, pytest.param(Writer.SPARK, marks=pytest.mark.deep)])
def test_one_bad_file_of_a_folder_does_not_hide_the_others(
    session: SparkSession, tmp_path: Path, writer: Writer
) -> None:
    """Segments too. A bad file is looked at again when it has changed; foreign JSON is nothing."""
    folder, lake = tmp_path / "data", tmp_path / "lake"
    sound = place(folder, SEGMENT.read_bytes())
    packed = folder / "__consumer_offsets-4" / f"{9:020d}.log.gz"
    packed.write_bytes(gzip.compress(SEGMENT.read_bytes())[:-20])
    (folder / "night.tar").write_bytes(b"no tar")
    (folder / "__consumer_offsets-4" / f"{10:020d}.log").symlink_to(tmp_path / "nowhere")
    (folder / "notes.json").write_text('{"offset": 1}')
    (folder / "meta.properties").write_text("version=x")
    bring(session, lake, folder, writer=writer)
    found = {Path(row["path"]).name: row for row in rows(lake, "sources")}
    assert len(found) == 4 and found[sound.name]["records"] == len(plain(sound)["log"])
    for name, size in ((packed.name, packed.stat().st_size), ("night.tar", 6), (f"{10:020d}.log", 0)):
        row = found[name]
        assert (row["records"], row["bytes"], row["bytes_unreadable"]) == (0, size, size)
        assert [(u["size"], u["reason"][:16]) for u in row["unreadable"]] == [(size, "the whole file: ")]
    assert found[packed.name]["sha256"] == hashlib.sha256(packed.read_bytes()).hexdigest()
    assert bring(session, lake, folder, writer=writer).run is None
    packed.write_bytes(gzip.compress(SEGMENT.read_bytes()))
    (again,) = bring(session, lake, folder, writer=writer).sources
    assert (again["source"], again["records"]) == (f"{packed}#2", found[sound.name]["records"])
    packed.write_bytes(b"cut")
    with pytest.raises(OffsetsToolError, match="cannot be decompressed"):
        bring(session, lake, packed, writer=writer)


def test_columns_without_an_archive_are_refused(session: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no archive with such columns"):
        bring(session, tmp_path / "lake", SEGMENT, columns={"offset": "x"})


def test_bytes_of_json_lines_are_those_of_the_lines(session: SparkSession, tmp_path: Path) -> None:
    text = b'{"partition": 3, "offset": 7, "key": "AAEAAWEAAWIAAAAA", "value": null}\nbad\n'
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(text))
    (row,) = bring(session, tmp_path / "lake", tmp_path / "a.jsonl.gz").sources
    assert (row["range_end"], row["bytes_unreadable"]) == (len(text), 4)
    assert (row["bytes_in_batches"], row["records"]) == (len(text) - 4, 1)


@pytest.fixture(scope="module", params=Writer)
def lake(
    request: pytest.FixtureRequest, session: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """One log, by each writer."""
    root = tmp_path_factory.mktemp(request.param)
    assert bring(session, root, LOGS[0], writer=request.param).run == 1
    return root


def test_both_writers_write_the_same(lake: Path) -> None:
    assert comparable(lake) == plain(LOGS[0])


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_tables_describe_themselves(session: SparkSession, lake: Path, table: Table) -> None:
    described = session.sql(f"DESCRIBE TABLE EXTENDED delta.`{lake}/{table.name}`").collect()
    comments = {row.col_name: row.comment for row in described if row.comment}
    assert comments == {field.name: field.metadata[b"comment"].decode() for field in table.schema}
    assert {"Comment": table.comment}.items() <= {row.col_name: row.data_type for row in described}.items()
    constraints = DeltaTable(lake / table.name).metadata().configuration
    assert constraints == {f"delta.constraints.{check.name}": check.sql for check in table.checks}
    keys = [tuple(row[name] for name in table.key) for row in rows(lake, table.name)]
    assert len(set(keys)) == len(keys) > 0


def test_a_lake_may_change_its_writer(session: SparkSession, lake: Path) -> None:
    """Nothing is new for the other one either."""
    for writer in Writer:
        assert bring(session, lake, LOGS[0], writer=writer).run is None


def test_spark_reads_what_deltalake_reads(session: SparkSession, tmp_path: Path) -> None:
    bring(session, tmp_path, LOGS[2])
    for table in TABLES:
        seen = read_table(session, str(tmp_path), table).toArrow().to_pylist()
        place = "range_start" if table is SOURCES else "log_offset"
        seen.sort(key=lambda row: (row["cluster"], row["source"], row["log_partition"], row[place]))
        assert seen == rows(tmp_path, table.name)


def test_skipping_files_loses_no_row(session: SparkSession, tmp_path: Path) -> None:
    """Delta skips files by the statistics that we wrote: the least and the greatest value must be found."""
    bring(session, tmp_path, LOGS[2])
    bring(session, tmp_path, LOGS[0])
    events, found = rows(tmp_path, "events"), session.read.format("delta").load(f"{tmp_path}/events")
    for name in ("source", "group", "log_offset"):
        values = [row[name] for row in events if row[name] is not None]
        for value in (min(values), max(values)):
            assert found.where(found[name] == value).count() == values.count(value), (name, value)


def test_a_lake_lives_on_with_spark(session: SparkSession, tmp_path: Path) -> None:
    """OPTIMIZE and DELETE by Spark between two ingests."""
    path = place(tmp_path / "log", SEGMENT.read_bytes()[: rows_end(SEGMENT.read_bytes())])
    lake = tmp_path / "lake"
    bring(session, lake, LOGS[2])
    bring(session, lake, path)
    before = content(lake)
    session.sql(f"OPTIMIZE delta.`{lake}/events` ZORDER BY (log_offset)")
    session.sql(f"DELETE FROM delta.`{lake}/log` WHERE log_offset < 0")
    assert content(lake) == before
    place(tmp_path / "log", SEGMENT.read_bytes())
    assert bring(session, lake, path).run == 3
    bring(session, tmp_path / "once", path)
    mine = [row for row in content(lake, "events")["events"] if row["source"] == str(path)]
    assert mine == content(tmp_path / "once", "events")["events"]


def test_a_path_without_logs_changes_nothing(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="no segment"):
        bring(session, tmp_path / "lake", tmp_path / "empty")
    assert not (tmp_path / "lake" / "log").exists()


def test_a_lake_is_no_source_of_its_own(session: SparkSession, tmp_path: Path) -> None:
    place(tmp_path, SEGMENT.read_bytes())
    bring(session, tmp_path / "lake", tmp_path)
    assert bring(session, tmp_path / "lake", tmp_path).run is None
    assert len(rows(tmp_path / "lake", "sources")) == 1


def test_arrow_writes_only_to_folders(session: SparkSession) -> None:
    with pytest.raises(UsageError, match="--writer spark"):
        ingest(Request(paths=[str(SEGMENT)], lake="s3a://bucket/lake"), lambda: session)


def test_one_ingest_at_a_time(session: SparkSession, tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(UsageError, match="another ingest"):
        bring(session, tmp_path, SEGMENT)


def test_tables_of_another_shape_are_refused(session: SparkSession, tmp_path: Path) -> None:
    session.range(1).write.format("delta").save(f"{tmp_path}/{EVENTS.name}")
    for writer in Writer:
        with pytest.raises(UsageError, match="other columns"):
            bring(session, tmp_path, SEGMENT, writer=writer)


def test_empty_files_have_a_row(session: SparkSession, tmp_path: Path) -> None:
    lake, path = tmp_path / "lake", place(tmp_path, b"")
    assert bring(session, lake, path).run == 1
    (row,) = rows(lake, "sources")
    assert (row["bytes"], row["records"], row["file_size"]) == (0, 0, 0)
    assert bring(session, lake, path).run is None
    place(tmp_path, SEGMENT.read_bytes())
    assert bring(session, lake, path).run == 2
    assert comparable(lake) == plain(path)
