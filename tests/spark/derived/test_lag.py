"""Lag in the lake is the library's, row for row: at each commit and on a grid, by samples, directories and commits alone."""

import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.snapshot import Snapshot
from offsets_tool.errors import UsageError
from offsets_tool.events import decode
from offsets_tool.history.history import History
from offsets_tool.history.rows import OffsetHistoryRow
from offsets_tool.lag.data_log import data_logs
from offsets_tool.lag.end_files import read_ends
from offsets_tool.lag.samples import EndSample
from offsets_tool.lake.scan import facts_of
from offsets_tool.log.archive.delta import open_delta
from offsets_tool.log.discover import find_segments
from offsets_tool.log.names import SegmentKind
from offsets_tool.log.segment import read_segment
from offsets_tool.replay.changes import (
    Change,
    ChangeKind,
    CommittedOffset,
    OffsetOf,
    PendingCommit,
    PendingOf,
    TopicPartition,
)
from offsets_tool.replay.topic_names import TopicNames
from offsets_tool.rows import NO_TIMESTAMP, BatchRead
from offsets_tool.sql.duck_lake import DuckLake
from offsets_tool.wire.json import uuid_text
from offsets_tool.wire.text import shown
from spark.derived import lag_rows
from spark.derived.derive import Derived
from spark.derived.ends import EndsRequest
from spark.derived.lag import LagRequest, lag
from spark.replay.replay import replay
from tests.corpora import LAG
from tests.depth import DEEP
from tests.lag.one_by_one import Bounds, CommitAt, Ends, effective_commits, lag_at_commits, lag_on_grid
from tests.lag.test_data_log import SAID, STABLE
from tests.replay.story import commit
from tests.replay.story_segments import Placed, write_log
from tests.spark.derived.two_clusters import at_each_commit, half_derived, kill, together
from tests.spark.histories import replay_lake, rows
from tests.spark.lakes import CORPORA, files, ingest_here, no_session

pytestmark = pytest.mark.spark

SAMPLE = ("0.9.0.1-mix", "3.9.2-txn", "4.2.1-newgroups", "4.3.1-kip848")
TOLD = sorted(path.name for path in CORPORA.iterdir()) if DEEP else SAMPLE
EVIDENCE = {corpus: CORPORA / corpus / "segments" for corpus in TOLD}
PARTS = [CORPORA / "3.9.2-txn" / "segments" / f"__consumer_offsets-{number}" for number in (3, 4)]
SECOND = 1_000
BROKER = LAG / "broker"
Rows = list[dict[str, Any]]


def count(session: SparkSession, lake: Path, **asked: Any) -> Derived:
    return lag(str(lake), lambda: session, LagRequest(**asked))


def found(lake: Path) -> Rows:
    return _sorted([{k: v for k, v in row.items() if k != "run"} for row in rows(lake, "lag")])


def _sorted(told: Rows) -> Rows:
    return sorted(
        told, key=lambda row: (row["cluster"], row["group"], row["topic"], row["partition"], row["timestamp"])
    )


@cache
def _changes(path: Path) -> tuple[list[tuple[int | None, int, Change]], int]:
    """Return all changes with their log partition and log offset, and the newest record's time."""
    logs: dict[int | None, list[Any]] = {}
    for segment in find_segments([path.resolve()]):
        if segment.kind is SegmentKind.LOG and not segment.fate:
            for item in read_segment(segment):
                events = map(decode, item.records) if isinstance(item, BatchRead) else ()
                logs.setdefault(segment.log_partition, []).extend(events)
    told: dict[int | None, list[tuple[int, Change]]] = {}
    moment = Snapshot(AsOf(), TopicNames())

    def replay(number: int | None) -> None:
        replayed = moment.begin(number).replayed(logs[number], moment.names.learn)
        told[number] = [
            (event.record.log_offset, change) for event, changes in replayed for change in changes
        ]

    for number in logs:
        replay(number)
    for number in moment.to_replay_again():
        replay(number)
    return [(n, at, c) for n, changes in told.items() for at, c in changes], moment.newest_timestamp or 0


def plain(
    cluster: str, path: Path, samples: list[EndSample], grid_ms: int | None = None, **asked: Any
) -> Rows:
    """Return the lag of a cluster's commits, computed one by one by offsets_tool.lag."""
    changes, newest = _changes(path)
    newest = max([newest, *(sample.at for sample in samples)])
    bounds, told = Bounds(), dict[OffsetOf, list[OffsetHistoryRow]]()
    for row in _histories(changes):
        told.setdefault(OffsetOf(row.group, row.topic, row.partition), []).append(row)
    for number, _, change in changes:
        match change.kind, change.subject, change.after:
            case ChangeKind.SET, (OffsetOf() | PendingOf()) as subject, (
                CommittedOffset() | PendingCommit()
            ) as after:
                commit = after.commit if isinstance(after, PendingCommit) else after
                at = commit.commit_timestamp if change.timestamp == NO_TIMESTAMP else change.timestamp
                topic_id = None if commit.topic_id is None else uuid_text(commit.topic_id)
                bounds.add(
                    number,
                    TopicPartition(subject.topic, subject.partition),
                    CommitAt(at, commit.committed_offset, topic_id),
                )
    made = []
    for of, history in told.items():
        place = TopicPartition(of.topic, of.partition)
        here = [sample for sample in samples if (sample.topic, sample.partition) == place]
        ends = Ends([*here, *bounds.samples(place)], **asked)
        held = list(effective_commits(sorted(history, key=lambda row: row.from_log_offset)))
        rows = {row.timestamp: row for row in lag_at_commits(of, held, ends)}
        if grid_ms and held:
            times = range(-(-min(rows) // grid_ms) * grid_ms, newest + 1, grid_ms)
            rows = {row.timestamp: row for row in lag_on_grid(of, held, ends, times)} | rows
        made += [{"cluster": cluster, **row._asdict()} for row in rows.values()]
    return _sorted([{k: shown(v) if type(v) is str else v for k, v in row.items()} for row in made])


def _histories(changes: list[tuple[int | None, int, Change]]) -> Iterator[OffsetHistoryRow]:
    for number in dict.fromkeys(number for number, _, _ in changes):
        history = History()
        rows = [row for at, _, change in changes if at == number for row in history.observe_change(change)]
        rows += [*history.flush(), *history.open_rows()]
        yield from (row for row in rows if isinstance(row, OffsetHistoryRow))


@pytest.fixture(scope="module")
def lake(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each corpus as a cluster, and a broker whose topics' directories are there; replayed."""
    made = tmp_path_factory.mktemp("lake")
    for corpus, path in EVIDENCE.items():
        ingest_here(made, path, cluster=corpus)
    ingest_here(made, BROKER, cluster="lag")
    replay_lake(session, made)
    return made


def of_directories(until: int) -> list[EndSample]:
    return [
        sample for logs in data_logs([str(BROKER)]).values() for log in logs for sample in log.samples(until)
    ]


def test_lag_is_that_of_plain_python(session: SparkSession, lake: Path, tmp_path: Path) -> None:
    """By commits alone, and with what a topic's directory and a file say; then on a grid, and of committed data only."""
    count(session, lake, ends=EndsRequest(paths=[str(BROKER)]))
    samples = of_directories(_changes(BROKER)[1])
    expected = [row for corpus, path in EVIDENCE.items() for row in plain(corpus, path, [])]
    assert found(lake) == _sorted([*expected, *plain("lag", BROKER, samples)])
    assert {row["method"] for row in found(lake)} == {"lower bound", "index"}

    said = tmp_path / "ends.txt"
    said.write_text(SAID["latest"])
    file = EndsRequest(files=[str(said)], at=SAID["at"], cluster="lag")
    done = count(session, lake, ends=file, grid_ms=SECOND, is_last_stable=True)
    assert sum(done.rows.values()) == len(found(lake)) and done.rows.keys() == {*EVIDENCE, "lag"}
    samples += read_ends(said, SAID["at"])
    expected = plain("lag", BROKER, samples, SECOND, is_last_stable=True)
    assert [row for row in found(lake) if row["cluster"] == "lag"] == expected
    corpus = TOLD[0]
    expected = plain(corpus, EVIDENCE[corpus], [], SECOND, is_last_stable=True)
    assert [row for row in found(lake) if row["cluster"] == corpus] == expected
    assert any(row["timestamp"] % SECOND == 0 for row in expected)


def test_nothing_new_writes_nothing(session: SparkSession, lake: Path) -> None:
    count(session, lake, ends=EndsRequest(paths=[str(BROKER)]))
    before = [file for file in files(lake) if file[0] != ".ingest.lock"]
    assert count(session, lake, ends=EndsRequest(paths=[str(BROKER)])) == Derived(None, {}, [])
    assert [file for file in files(lake) if file[0] != ".ingest.lock"] == before


@pytest.fixture(scope="module")
def small(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clusters, counted; then one of them grew."""
    return half_derived(session, tmp_path_factory.mktemp("small"), PARTS, count)


def expected_of(folder: Path) -> Rows:
    return [*plain("a", PARTS[0], []), *plain("b", together(folder / "both", PARTS), [])]


def test_only_a_cluster_that_was_replayed_is_counted_again(
    session: SparkSession, small: Path, tmp_path: Path
) -> None:
    lake = Path(shutil.copytree(small, tmp_path / "lake"))
    done = count(session, lake)
    assert list(done.rows) == ["b"]
    assert found(lake) == expected_of(tmp_path)
    assert {row["run"] for row in rows(lake, "lag") if row["cluster"] == "a"} == {1}


@at_each_commit
def test_killed_at_a_commit(
    session: SparkSession, small: Path, tmp_path: Path, step: int, before: bool
) -> None:
    lake = Path(shutil.copytree(small, tmp_path / "lake"))
    kill(session, lake, count, step, before=before)
    count(session, lake)
    assert found(lake) == expected_of(tmp_path)
    assert count(session, lake).run is None


@pytest.mark.parametrize("few", [{"PACKED_AT_ONCE": 5}, {"PACKED": -1}], ids=["packed", "sorted by Spark"])
def test_rows_of_a_partition_meet_from_all_files(
    session: SparkSession, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: dict[str, int]
) -> None:
    lake = Path(shutil.copytree(small, tmp_path / "lake"))
    for name, number in {"READ_BY_ALL": -1, **few}.items():
        monkeypatch.setattr(lag_rows, name, number)
    monkeypatch.setattr("spark.runtime.rows.LITTLE", -1)
    monkeypatch.setattr("offsets_tool.lake.scan._PIECE_ROWS", 20)
    count(session, lake, since=0)
    assert found(lake) == expected_of(tmp_path)
    # A task writes a file for each cluster, however many buckets of it there are.
    tasks = int(session.conf.get("spark.sql.shuffle.partitions") or 0)
    assert len(facts_of(open_delta(lake / "lag"))) <= 2 * tasks < len(found(lake)) // 5


def test_only_what_was_asked_for(session: SparkSession, small: Path, tmp_path: Path) -> None:
    lake = Path(shutil.copytree(small, tmp_path / "lake"))
    count(session, lake)
    times = sorted(row["timestamp"] for row in found(lake))
    since, until = times[len(times) // 4], times[-len(times) // 4]
    expected = [row for row in found(lake) if since <= row["timestamp"] < until]
    count(session, lake, since=since, until=until)
    assert expected and found(lake) == expected


@pytest.mark.deep
def test_a_directory_read_again_is_not_a_topic_made_anew(session: SparkSession, tmp_path: Path) -> None:
    """What its end was said to be when the copy was older than the log, its later records contradict."""
    broker = Path(shutil.copytree(BROKER, tmp_path / "broker"))
    log = broker / f"{STABLE}-0" / f"{0:020d}.log"
    whole = log.read_bytes()
    log.write_bytes(whole[: 12 + int.from_bytes(whole[8:12], "big")])
    ingest_here(tmp_path / "lake", broker, cluster="lag")
    replay_lake(session, tmp_path / "lake")
    ends = EndsRequest(paths=[str(broker)])
    count(session, tmp_path / "lake", ends=ends)
    log.write_bytes(whole)
    count(session, tmp_path / "lake", ends=ends)
    assert not any(row["is_topic_recreated"] for row in found(tmp_path / "lake"))
    assert {row["end_offset"] for row in found(tmp_path / "lake") if row["topic"] == STABLE} == {6}


def test_what_cannot_be_is_said(session: SparkSession, small: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="offsets-spark replay first"):
        count(session, tmp_path / "nowhere")
    said = tmp_path / "ends.json"
    said.write_text(json.dumps({"topic": "t", "partition": 0, "at": 1, "end": 1}))
    lake = Path(shutil.copytree(small, tmp_path / "lake"))
    with pytest.raises(UsageError, match="--cluster"):
        count(session, lake, ends=EndsRequest(files=[str(said)]))


_BEGIN, _WRONG = 1_700_000_000_000, 4_102_444_800_000


@pytest.mark.parametrize(
    "commits",
    [
        [(5, _BEGIN), (9, _WRONG), (7, _BEGIN + 2_000)],
        [(7, _BEGIN), (7, _WRONG), (7, _BEGIN + 2_000)],
        [(5, _BEGIN), (7, _BEGIN + 1_000), (9, _WRONG)],
        [(9, _WRONG), (5, _BEGIN), (7, _BEGIN + 2_000)],
        [(5, _BEGIN), (9, _BEGIN + 1_000), (7, _BEGIN + 2_000)],
    ],
    ids=["ahead", "ahead with the same offset", "ahead at the end", "ahead at first", "none ahead"],
)
@pytest.mark.parametrize("grid_ms", [None, 500])
def test_current_lag_is_of_the_last_commit_by_place(
    commits: list[tuple[int, int]], grid_ms: int | None, tmp_path: Path
) -> None:
    """Whatever a wrong clock says: a record of 2100 is not the newest for good."""
    placed = [Placed(place, at, commit("g", "t", 0, offset)) for place, (offset, at) in enumerate(commits)]
    write_log(tmp_path / "log", placed)
    made = tmp_path / "lake"
    ingest_here(made, tmp_path / "log", cluster="c")
    replay(str(made), no_session)
    lag(str(made), no_session, LagRequest(grid_ms=grid_ms))
    [row] = (
        DuckLake(str(made)).ask("SELECT committed_offset, unix_millis(moment_at) AS at FROM current_lag").rows
    )
    offset, at = commits[-1]
    on_grid = set(range(at, _BEGIN + 2_001)) if grid_ms else set()
    assert row["committed_offset"] == offset and row["at"] in {at, *on_grid}


def test_no_lag_is_told_of_offsets_before_a_record_whose_key_was_not_understood(tmp_path: Path) -> None:
    unread = commit("g", "t", 9, 6)._replace(key=b"\0\x63")
    records = (commit("g", "t", 0, 5), unread, commit("g", "t", 1, 7))
    write_log(tmp_path / "log", [Placed(place, _BEGIN, record) for place, record in enumerate(records)])
    made = tmp_path / "lake"
    ingest_here(made, tmp_path / "log", cluster="c")
    replay(str(made), no_session)
    lag(str(made), no_session, LagRequest())
    asked = (
        "SELECT partition, committed_offset, lag, confidence, is_proven FROM current_lag ORDER BY partition"
    )
    assert [tuple(row.values()) for row in DuckLake(str(made)).ask(asked).rows] == [
        (0, 5, None, "none", False),
        (1, 7, 0, "low", True),
    ]
    offsets = (
        DuckLake(str(made)).ask("SELECT partition, is_proven FROM current_offsets ORDER BY partition").rows
    )
    assert [tuple(row.values()) for row in offsets] == [(0, False), (1, True)]
