"""Lag costs in proportion to what is new: rows of partitions of which nothing new is known stay, and all are as if made at once."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from bench.generator.batches import Batch, Record, write_batches
from offsets_tool.events import Key, Value, encode_key, encode_value
from offsets_tool.lag.end_files import read_ends
from offsets_tool.records import RECORD_TYPES
from offsets_tool.records.offsets import OffsetCommitKey, OffsetCommitValue
from spark.derived.ends import EndsRequest
from spark.derived.lag import LagRequest, lag
from spark.lake.compact import compact
from tests.spark.derived.test_lag import count, found, plain
from tests.spark.derived.two_clusters import kill
from tests.spark.histories import replay_lake, rows
from tests.spark.lakes import ingest_here

pytestmark = pytest.mark.spark

GRID = 1_000
ALL = 1 << 30


class Commit(NamedTuple):
    """A commit of an offset; None stands for a tombstone."""

    at: int
    group: str
    topic: str
    partition: int
    offset: int | None


FIRST = [Commit(1_000 + at, "g", *place, at) for at in range(3) for place in (("t", 0), ("t", 1), ("u", 0))]
OTHER = [Commit(1_500, "h", "t", 0, 90), Commit(1_600, "h", "w", 0, 5)]
LATER = [Commit(2_500, "g", "u", 0, 50)]
NOTHING = [Commit(2_600, "g", "x", 0, None)]


class Evidence:
    """Logs that grow, and the lake that they are brought to."""

    def __init__(self, session: SparkSession, folder: Path) -> None:
        self._session, self._folder = session, folder
        self._logs: dict[int, list[Commit]] = {}
        self._steps = 0
        self.lake = folder / "lake"

    def add(self, log_partition: int, commits: Sequence[Commit]) -> None:
        """Append commits to a log partition, ingest it and replay it."""
        self._logs.setdefault(log_partition, []).extend(commits)
        self._write(self._folder / "logs")
        ingest_here(self.lake, self._folder / "logs", cluster="c")
        replay_lake(self._session, self.lake)

    def _write(self, folder: Path) -> Path:
        for number, commits in self._logs.items():
            path = folder / f"__consumer_offsets-{number}" / f"{0:020d}.log"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(write_batches((Batch([_record(each)], each.at) for each in commits), ALL))
        return folder

    def plain(self, *args: Any) -> list[dict[str, Any]]:
        """Return the lag of all commits, computed at once."""
        self._steps += 1
        return plain("c", self._write(self._folder / f"copy-{self._steps}"), *args)


def _record(each: Commit) -> Record:
    key = OffsetCommitKey(group=each.group, topic=each.topic, partition=each.partition)
    value = None
    if each.offset is not None:
        value = encode_value(
            Value(3, "", OffsetCommitValue(offset=each.offset, metadata="", commit_timestamp=each.at))
        )
    return Record(encode_key(Key(RECORD_TYPES[1], key)), value)


def runs(lake: Path) -> dict[str, set[int]]:
    """Return by partition the runs that wrote its rows of lag; assert that `derivations` counts them."""
    told: dict[str, set[int]] = {}
    counted = rows(lake, "lag")
    for row in counted:
        told.setdefault(f"{row['topic']}-{row['partition']}", set()).add(row["run"])
    newest = max(rows(lake, "derivations"), key=lambda row: row["run"])
    assert newest["rows"] == len(counted)
    return told


@pytest.fixture
def evidence(session: SparkSession, tmp_path: Path) -> Evidence:
    """A log in a lake, with its lag computed."""
    made = Evidence(session, tmp_path)
    made.add(0, FIRST)
    count(session, made.lake)
    return made


def test_only_partitions_with_something_new_are_counted_again(
    session: SparkSession, evidence: Evidence, tmp_path: Path
) -> None:
    """By another log's commits, by the same log's, by a sample; after that nothing is new."""
    lake = evidence.lake
    evidence.add(1, OTHER)
    assert count(session, lake).rows == {"c": 5}
    assert found(lake) == evidence.plain([])
    assert runs(lake) == {"t-0": {2}, "t-1": {1}, "u-0": {1}, "w-0": {2}}

    before = set(DeltaTable(lake / "lag").file_uris())
    evidence.add(0, LATER)
    assert count(session, lake).rows == {"c": 4}
    assert found(lake) == evidence.plain([])
    assert runs(lake) == {"t-0": {2}, "t-1": {1}, "u-0": {3}, "w-0": {2}}
    stayed = before.intersection(DeltaTable(lake / "lag").file_uris())
    assert len(stayed) == len(before) - 1

    said = tmp_path / "ends.json"
    said.write_text(json.dumps({"topic": "t", "partition": 1, "at": 1_001, "end": 7}))
    ends = EndsRequest(files=[str(said)])
    assert count(session, lake, ends=ends).rows == {"c": 3}
    assert found(lake) == evidence.plain(read_ends(said))
    assert runs(lake) == {"t-0": {2}, "t-1": {4}, "u-0": {3}, "w-0": {2}}
    assert count(session, lake, ends=ends).run is None


@pytest.mark.deep
def test_after_compaction_too(session: SparkSession, evidence: Evidence) -> None:
    compact(str(evidence.lake), lambda: session)
    evidence.add(1, OTHER)
    compact(str(evidence.lake), lambda: session)
    count(session, evidence.lake)
    assert found(evidence.lake) == evidence.plain([])
    assert runs(evidence.lake) == {"t-0": {2}, "t-1": {1}, "u-0": {1}, "w-0": {2}}


def test_what_tells_of_no_commit_changes_no_row(session: SparkSession, evidence: Evidence) -> None:
    """Nor is Spark asked for anything."""
    evidence.add(0, NOTHING)
    done = lag(str(evidence.lake), _no_session, LagRequest())
    assert done.rows == {"c": 0} and runs(evidence.lake).keys() == {"t-0", "t-1", "u-0"}
    assert count(session, evidence.lake).run is None


def _no_session() -> SparkSession:
    raise AssertionError("there is nothing to be counted")


@pytest.mark.deep
def test_a_log_partition_told_from_its_first_record_again_is_counted_whole(
    session: SparkSession, evidence: Evidence
) -> None:
    for path in (evidence.lake / "_checkpoints").iterdir():
        path.write_bytes(b"of another release")
    evidence.add(0, LATER)
    count(session, evidence.lake)
    assert found(evidence.lake) == evidence.plain([])
    assert runs(evidence.lake) == {"t-0": {2}, "t-1": {2}, "u-0": {2}}


@pytest.mark.deep
def test_a_grid_reaches_to_the_newest_time_everywhere(session: SparkSession, evidence: Evidence) -> None:
    count(session, evidence.lake, grid_ms=GRID)
    evidence.add(0, LATER)
    count(session, evidence.lake, grid_ms=GRID)
    assert found(evidence.lake) == evidence.plain([], GRID)
    assert set.union(*runs(evidence.lake).values()) == {3}


@pytest.mark.deep
def test_a_half_run_that_cannot_be_finished_leaves_nothing_of_what_it_was_asked(
    session: SparkSession, evidence: Evidence
) -> None:
    """Its rows are there, and nothing tells what they are."""
    lake = evidence.lake
    evidence.add(1, OTHER)
    job: Callable[..., Any] = lambda session, lake: count(session, lake, until=1_001)  # noqa: E731
    kill(session, lake, job, 0, before=False)
    named = {Path(uri).name for uri in DeltaTable(lake / "derivations").file_uris()}
    for path in (lake / "derivations").glob("*.parquet"):
        if path.name not in named:
            path.unlink()
    assert any("cannot be finished" in note for note in count(session, lake).notes)
    assert found(lake) == evidence.plain([])
