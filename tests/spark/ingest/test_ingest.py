"""Tables hold what the plain decoder says, once, whatever became of the files between two runs."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from offsets_tool.errors import LakeInUse, SourceError, UsageError
from offsets_tool.lake.tables import EVENTS
from spark.ingest.ingest import Writer
from spark.lake.folder import opened, root_of
from tests.corpora import COPIES
from tests.spark.lakes import (
    CORPORA,
    SEGMENT,
    bring,
    comparable,
    content,
    files,
    plain,
    rows,
    write_segment,
)

pytestmark = pytest.mark.spark

LOGS = [
    CORPORA / "3.9.2-txn" / "segments",
    CORPORA / "0.8.2.2-to-0.11.0.3-upgrade" / "segments",
    CORPORA / "4.1.2-newgroups" / "segments",
    CORPORA / "3.7.2-compaction" / "segments",
]


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
        assert row["records"] == row["decoded_records"] + row["raw_records"] + row["control_records"]
        there = [r for r in rows(tmp_path / "lake", "log") if r["source"] == row["source"]]
        assert row["records"] == len(there)


def test_a_second_run_writes_nothing(session: SparkSession, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    bring(session, lake, *LOGS[:2])
    before = list(files(lake))
    done = bring(session, lake, *LOGS[:2])
    assert (done.run, done.sources, done.notes) == (None, [], [])
    assert [file for file in files(lake) if file[0] != ".ingest.lock"] == [
        file for file in before if file[0] != ".ingest.lock"
    ]


def test_a_second_source_is_added(session: SparkSession, tmp_path: Path) -> None:
    for path in (LOGS[0], LOGS[1]):
        bring(session, tmp_path / "twice", path)
    bring(session, tmp_path / "once", *LOGS[:2])
    assert content(tmp_path / "twice") == content(tmp_path / "once")


def test_copies_of_one_partition_stay_apart(session: SparkSession, tmp_path: Path) -> None:
    bring(session, tmp_path / "lake", COPIES)
    sources = rows(tmp_path / "lake", "sources")
    assert len({row["source"] for row in sources}) == len(list(COPIES.rglob("__consumer_offsets-*/*.log")))
    known = {row["source"] for row in sources if row["same_as"]}
    expected = plain(COPIES)
    assert comparable(tmp_path / "lake") == {
        table: [row for row in found if row["source"] not in known] for table, found in expected.items()
    }


def test_the_cluster_is_named_by_hand_or_by_the_broker(session: SparkSession, tmp_path: Path) -> None:
    path = write_segment(tmp_path / "data", SEGMENT.read_bytes())
    (tmp_path / "data" / "meta.properties").write_text("version=1\ncluster.id=abc\nnode.id=3\n")
    bring(session, tmp_path / "lake", path)
    bring(session, tmp_path / "lake", path, cluster="prod")
    clusters = [(row["cluster"], row["broker_id"]) for row in rows(tmp_path / "lake", "sources")]
    assert clusters == [("abc", 3), ("prod", 3)]
    assert {row["cluster"] for row in rows(tmp_path / "lake", "events")} == {"abc", "prod"}


def test_a_path_without_logs_changes_nothing(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="no segment"):
        bring(session, tmp_path / "lake", tmp_path / "empty")
    assert not (tmp_path / "lake" / "log").exists()


def test_a_lake_is_no_source_of_its_own(session: SparkSession, tmp_path: Path) -> None:
    write_segment(tmp_path, SEGMENT.read_bytes())
    bring(session, tmp_path / "lake", tmp_path)
    assert bring(session, tmp_path / "lake", tmp_path).run is None
    assert len(rows(tmp_path / "lake", "sources")) == 1


@pytest.mark.parametrize("name", ["lake%20s", "lake#1"])
def test_names_that_clients_read_otherwise_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot have % or #"):
        root_of(f"s3://lakes/{name}")


def test_one_ingest_at_a_time(session: SparkSession, tmp_path: Path) -> None:
    """Jobs of one thread that hold the lake together are one to all others; another thread's is another."""
    with ThreadPoolExecutor(1) as other, opened(tmp_path):
        refused = other.submit(bring, session, tmp_path, SEGMENT)
        with pytest.raises(LakeInUse, match="another job is writing"):
            refused.result()


def test_tables_of_another_shape_are_refused(session: SparkSession, tmp_path: Path) -> None:
    session.range(1).write.format("delta").save(f"{tmp_path}/{EVENTS.name}")
    for writer in Writer:
        with pytest.raises(UsageError, match="other columns"):
            bring(session, tmp_path, SEGMENT, writer=writer)
