"""Histories in the lake are the library's, row for row, however the log came in."""

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from bench.generator.batches import Batch, Record, write_batches
from offsets_tool.errors import UsageError
from offsets_tool.events import Key, Value, encode_key, encode_value
from offsets_tool.lake.scan import facts_of
from offsets_tool.lake.tables import HISTORIES
from offsets_tool.log.archive.delta import open_delta
from offsets_tool.log.segment import read_segment
from offsets_tool.records import RECORD_TYPES
from offsets_tool.records.offsets import OffsetCommitKey, OffsetCommitValue
from offsets_tool.rows import BatchRead
from spark.lake.commit import REPLAY, ArrowLake
from spark.lake.compact import compact
from spark.replay import tasks
from spark.replay.replay import replay
from tests.as_of.test_corpora import SNAPSHOTS, answered_offsets, epoch_of, is_in_the_log
from tests.depth import DEEP
from tests.replay.story import commit
from tests.replay.story_segments import Placed, write_log
from tests.spark.histories import copy, grown, histories, plain_histories, replay_lake, rows
from tests.spark.lakes import CORPORA, files, ingest_here, no_session

pytestmark = pytest.mark.spark
deep = pytest.mark.deep

SAMPLE = ("0.9.0.1-mix", "2.8.2-compaction", "3.7.2-kip848", "3.9.2-txn", "4.2.1-newgroups", "4.3.1-kip848")
TOLD = sorted(path.name for path in CORPORA.iterdir()) if DEEP else SAMPLE
EVIDENCE = {corpus: CORPORA / corpus / "segments" for corpus in TOLD}


@pytest.fixture(scope="module")
def lake(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each corpus as a cluster, replayed at once."""
    made = tmp_path_factory.mktemp("lake")
    for corpus, path in EVIDENCE.items():
        ingest_here(made, path, cluster=corpus)
    done = replay_lake(session, made)
    assert done.run == 1
    assert sum(row["records"] for row in done.partitions) > 0
    assert {name: done.rows[name] for name in ("offset_history", "anomalies")} == {
        name: len(rows(made, name)) for name in ("offset_history", "anomalies")
    }
    return made


def test_histories_are_those_of_plain_python(lake: Path) -> None:
    found, expected = histories(lake), plain_histories(EVIDENCE)
    for table, told in expected.items():
        assert found[table] == told


def test_what_was_committed_at_a_moment_is_what_the_brokers_answered(
    session: SparkSession, lake: Path
) -> None:
    """One query: the rows that were effective when the log ended there."""
    taken = [snapshot for snapshot in SNAPSHOTS if snapshot.corpus.name in EVIDENCE]
    ends = [(n, s.corpus.name, p, end) for n, s in enumerate(taken) for p, end in s.ends.items()]
    session.createDataFrame(
        ends, "number INT, cluster STRING, log_partition INT, ends LONG"
    ).createOrReplaceTempView("moments")
    table = "offset_history"
    session.read.format("delta").load(str(lake / table)).createOrReplaceTempView(table)
    held = "from_log_offset < ends AND (to_log_offset IS NULL OR ends <= to_log_offset)"
    found = session.sql(
        f"""
        SELECT number, `group`, topic, partition, committed_offset, leader_epoch, metadata
        FROM moments JOIN offset_history USING (cluster, log_partition)
        WHERE is_effective AND {held}
        """
    ).collect()
    assert found
    for number, snapshot in enumerate(taken):
        answered = answered_offsets(snapshot)
        asked = {*snapshot.answered.get("groups", ()), *(place[0] for place in answered)}
        assert {
            (group, topic, partition): (offset, epoch_of(epoch), metadata)
            for n, group, topic, partition, offset, epoch, metadata in found
            if n == number and group in asked and is_in_the_log(snapshot, group, "offsets")
        } == answered, snapshot


def test_a_second_replay_writes_nothing(session: SparkSession, lake: Path) -> None:
    before = [file for file in files(lake) if file[0] != ".ingest.lock"]
    assert replay_lake(session, lake) == (None, [], {}, [], ())
    assert [file for file in files(lake) if file[0] != ".ingest.lock"] == before


@pytest.mark.engine
@pytest.mark.parametrize(
    ("corpus", "shares"),
    [
        ("1.1.1-snappy", (0.6, 0.6, 1)),
        pytest.param("4.3.1-newgroups", (0.3, 0.6, 0.6, 1), marks=deep),
        pytest.param("4.3.1-kip848", (0.1, 0.2, 0.4, 0.6, 0.8, 1), marks=deep),
    ],
)
def test_a_log_that_grows(
    session: SparkSession, tmp_path: Path, corpus: str, shares: tuple[float, ...]
) -> None:
    """In steps, each from the checkpoint of the one before, unless a name came to be known; and compacted between two of them."""
    for share in shares:
        grown(corpus, tmp_path / "logs", share)
        ingest_here(tmp_path / "lake", tmp_path / "logs", cluster="c")
        done = replay_lake(session, tmp_path / "lake")
        assert histories(tmp_path / "lake") == plain_histories({"c": copy(tmp_path / "logs", share)})
        if share == 0.6 and done.run is None:
            compact(str(tmp_path / "lake"), lambda: session)
    assert not all(row["is_from_start"] for row in done.partitions)
    assert len(list((tmp_path / "lake" / "_checkpoints").iterdir())) == len(
        list((tmp_path / "logs").iterdir())
    )


@pytest.mark.parametrize("most", [0, 100, 100_000])
@pytest.mark.parametrize("corpus", ["2.8.2-compaction", "4.3.1-kip848"])
def test_log_partitions_with_few_rows_share_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, corpus: str, most: int
) -> None:
    """Two nights of two clusters: in each, a cluster has a file of ended rows and one of those that hold; the rows are the same."""
    monkeypatch.setattr(tasks, "MOST_TOGETHER", most)
    lake, clusters, evidence = tmp_path / "lake", ("a", "b"), {}
    for share in (0.6, 1):
        for cluster in clusters:
            grown(corpus, tmp_path / cluster, share)
            ingest_here(lake, tmp_path / cluster, cluster=cluster)
            evidence[cluster] = copy(tmp_path / cluster, share)
        done = replay(str(lake), no_session, "auto")
        assert done.rows["offset_history"]
        assert histories(lake) == plain_histories(evidence)
    partitions = len(list((tmp_path / "a").iterdir()))
    for table in HISTORIES:
        files_of_run = {}
        for facts in facts_of(open_delta(lake / table.name)):
            assert facts["min.cluster"] == facts["max.cluster"]
            key = facts["min.cluster"], facts["max.run"]
            files_of_run[key] = files_of_run.get(key, 0) + 1
        most_files = 2 if most == 100_000 else 2 * partitions
        assert all(count <= most_files for count in files_of_run.values())


@deep
def test_one_file_more_costs_what_is_in_it(session: SparkSession, tmp_path: Path) -> None:
    """Only its partition is gone on with; an earlier segment that comes later has it told anew."""
    logs = sorted((CORPORA / "2.8.2-compaction" / "segments").glob("*-1/*.log"))
    others = CORPORA / "2.8.2-compaction" / "segments" / "__consumer_offsets-2"
    assert len(logs) > 1
    for path in (logs[-1], others):
        ingest_here(tmp_path, path, cluster="c")
    assert len(replay_lake(session, tmp_path).partitions) == 2
    ingest_here(tmp_path, *logs[:-1], cluster="c")
    (row,) = replay_lake(session, tmp_path).partitions
    assert row["is_from_start"] and row["log_partition"] == 1
    assert histories(tmp_path) == histories_of(tmp_path / "plain", *logs, others)


def test_one_file_more_reads_no_file_of_before(session: SparkSession, tmp_path: Path) -> None:
    """Delta's statistics tell which files are new: of all columns, `run` is behind those that it looks at by itself."""
    partitions = [CORPORA / "3.9.2-txn" / "segments" / f"__consumer_offsets-{number}" for number in (2, 3, 4)]
    ingest_here(tmp_path, *partitions[1:], cluster="c")
    replay_lake(session, tmp_path)
    before = [path for table in ("log", "events") for path in (tmp_path / table).glob("*.parquet")]
    ingest_here(tmp_path, partitions[0], cluster="c")
    for path in before:
        path.unlink()
    (row,) = replay_lake(session, tmp_path).partitions
    assert row["log_partition"] == 2
    assert histories(tmp_path) == histories_of(tmp_path / "plain", *partitions)


def histories_of(folder: Path, *paths: Path) -> dict[str, Any]:
    """Return the histories of these files and partitions as one cluster `c`, computed without a lake."""
    for path in paths:
        for log in [path] if path.is_file() else path.glob("*.log"):
            (folder / log.parent.name).mkdir(parents=True, exist_ok=True)
            shutil.copy(log, folder / log.parent.name)
    return plain_histories({"c": folder})


@deep
def test_what_one_partition_proves_is_so_for_all(session: SparkSession, tmp_path: Path) -> None:
    """The new rules hold, as a later ingest proves: what was told by the classic ones is told again."""
    classic = CORPORA / "3.9.2-txn" / "segments" / "__consumer_offsets-4"
    new = CORPORA / "4.2.1-newgroups" / "segments" / "__consumer_offsets-3"
    ingest_here(tmp_path / "lake", classic, cluster="c")
    (row,) = replay_lake(session, tmp_path / "lake").partitions
    assert row["rules"] == "classic" and row["differing_log_offset"] == 8
    ingest_here(tmp_path / "lake", new, cluster="c")
    done = replay_lake(session, tmp_path / "lake")
    assert {row["log_partition"]: row["rules"] for row in done.partitions} == {3: "new", 4: "new"}
    assert histories(tmp_path / "lake") == histories_of(tmp_path / "plain", classic, new)
    assert replay_lake(session, tmp_path / "lake").run is None
    forced = replay_lake(session, tmp_path / "lake", "classic")
    assert {row["rules"] for row in forced.partitions} == {"classic"}
    assert histories(tmp_path / "lake") != plain_histories({"c": tmp_path / "plain"})
    assert replay_lake(session, tmp_path / "lake", "classic").run is None


def test_commits_that_read_with_a_problem_or_not_at_all(session: SparkSession, tmp_path: Path) -> None:
    """Texts that are no UTF-8, bytes too many, a value of no known version; each between commits of the same group."""
    key, odd_key, other_key, like_key = (
        encode_key(Key(RECORD_TYPES[1], OffsetCommitKey(group=g, topic="t", partition=0)))
        for g in ("g", "\udcff", "\udcfe", "\\xff")
    )
    value = OffsetCommitValue(offset=5, metadata="\udcffm", commit_timestamp=8)
    values = [encode_value(Value(1, "", each)) for each in (replace(value, metadata=""), value)]
    writes = [
        (key, values[0]),
        (key, values[1]),
        (odd_key, values[0]),
        (other_key, values[0]),
        (like_key, values[0]),
        (key, values[0] + b"x"),
        (key, b"\0\x63"),
    ]
    logs = tmp_path / os.fsdecode(b"logs \xff\n")
    path = logs / "__consumer_offsets-0" / f"{0:020d}.log"
    path.parent.mkdir(parents=True)
    path.write_bytes(write_batches((Batch([Record(*write)], 9) for write in [*writes, *writes]), 1 << 20))
    ingest_here(tmp_path / "lake", path, cluster="c")
    replay_lake(session, tmp_path / "lake")
    assert histories(tmp_path / "lake") == plain_histories({"c": logs})
    assert {row["group"] for row in rows(tmp_path / "lake", "offset_history")} == {
        "g",
        r"\xff",
        r"\xfe",
        r"\x5cxff",
    }
    assert len(rows(tmp_path / "lake", "anomalies")) == 2


def test_what_is_no_lake_is_refused(session: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="an ingest made"):
        replay_lake(session, tmp_path)


def test_all_tables_of_a_replay_are_there_from_the_start(tmp_path: Path) -> None:
    ArrowLake(tmp_path, REPLAY).create()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(table.name for table in REPLAY.tables)


def test_misplaced_records_are_in_the_lake_and_in_no_history(session: SparkSession, tmp_path: Path) -> None:
    """A bit of a base offset flipped, which no checksum covers: the batch is far ahead of the next segment."""
    placed = [Placed(at, at * 1_000, commit(f"g{at}", "t", 0, at)) for at in range(10)]
    (log,) = write_log(tmp_path, placed).iterdir()
    starts = [read.batch.position for read in read_segment(log) if isinstance(read, BatchRead)]
    damaged = bytearray(log.read_bytes())
    damaged[starts[5] + 3] ^= 1
    log.write_bytes(damaged)
    write_log(tmp_path, [at._replace(offset=at.offset + 10) for at in placed[:3]], base=10)
    ingest_here(tmp_path / "lake", tmp_path, cluster="c")
    done = replay_lake(session, tmp_path / "lake")
    assert [row["next_log_offset"] for row in done.partitions] == [13]
    events = {row["group"]: row for row in rows(tmp_path / "lake", "events") if row["problem"]}
    assert list(events) == ["g5"] and events["g5"]["problem"] == f"place: {events['g5']['misplaced']}"
    assert sum(row["misplaced_batches"] for row in rows(tmp_path / "lake", "sources")) == 1
    groups = {row["group"] for row in rows(tmp_path / "lake", "offset_history")}
    assert groups == {f"g{at}" for at in range(10) if at != 5}
