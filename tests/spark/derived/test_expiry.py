"""Expiry in the lake is the command line's, row for row; only what is new is derived again; a kill at a commit changes nothing."""

import gzip
import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from offsets_tool.checkpoint import READ, VERSION
from offsets_tool.cli import main
from offsets_tool.errors import OffsetsToolError, UsageError
from offsets_tool.evidence.expiring import PolicyOverrides
from offsets_tool.expiry.rows import ExpiryRow, expiry_row
from spark.derived.derive import Derived
from spark.derived.expiry import expiry
from spark.lake.compact import compact
from tests.depth import DEEP
from tests.spark.derived.two_clusters import at_each_commit, half_derived, kill, together
from tests.spark.histories import replay_lake, rows
from tests.spark.lakes import CORPORA, files, ingest_here
from tests.spark.moved import moved_logs, write_moved

pytestmark = pytest.mark.spark

SAMPLE = (
    "0.9.0.1-mix",
    "0.8.2.2-to-0.11.0.3-upgrade",
    "1.1.1-expiry",
    "2.8.2-expiry",
    "3.9.2-txn",
    "4.2.1-newgroups",
    "4.3.1-kip848",
)
TOLD = [path.name for path in sorted(CORPORA.iterdir()) if DEEP or path.name in SAMPLE]
DAY = 86_400_000
_TIMES = ("expires_at", "removed_at", "expected_at")


def derive(session: SparkSession, lake: Path, **asked: Any) -> Derived:
    return expiry(str(lake), lambda: session, PolicyOverrides(**asked))


def found(lake: Path) -> list[ExpiryRow]:
    """In one order; clusters apart from each other."""
    told = sorted(rows(lake, "expiry"), key=lambda row: (row["cluster"], repr(expiry_row(row))))
    return [expiry_row(row) for row in told]


def expiry_of_command(*args: object) -> list[ExpiryRow]:
    """Return the rows of `offsets-tool expiry`, sorted."""
    result = CliRunner().invoke(main, ["expiry", *map(str, args), "--format", "jsonl"])
    assert result.exit_code == 0, result.output
    return sorted((_row(json.loads(line)) for line in result.stdout.splitlines()), key=repr)


def _row(row: dict[str, Any]) -> ExpiryRow:
    return expiry_row(row | {name: _epoch(row[name]) for name in _TIMES if row.get(name)})


def _epoch(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


@pytest.fixture(scope="module")
def lake(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each corpus as a cluster, replayed."""
    made = tmp_path_factory.mktemp("lake")
    for corpus in TOLD:
        ingest_here(made, CORPORA / corpus / "segments", cluster=corpus)
    replay_lake(session, made)
    return made


@pytest.mark.parametrize(
    ("asked", "options"),
    [
        ({}, ()),
        (
            {"release": (3, 6), "retentions": (60_000, 7 * DAY), "check_interval_ms": 2_000},
            ("--kafka-version", "3.6", "--retention", "1m", "--retention", "7d", "--check-interval", "2s"),
        ),
    ],
)
def test_expiry_is_that_of_the_command_line(
    session: SparkSession, lake: Path, asked: dict[str, Any], options: tuple[str, ...]
) -> None:
    done = derive(session, lake, **asked)
    expected = [row for corpus in TOLD for row in expiry_of_command(CORPORA / corpus / "segments", *options)]
    assert found(lake) == expected
    assert {row.status for row in expected} == {"live", "removed"}
    assert sum(done.rows.values()) == len(expected)
    if asked:
        (note,) = done.notes
        assert note == "settings of all clusters: Kafka 3.6, retention 1m or 7d, checks every 2s"
    else:
        assert done.notes and all(note.startswith(tuple(TOLD)) and "supposed" in note for note in done.notes)


def test_of_a_group_that_moved_what_is_live_is_where_it_lives(session: SparkSession, tmp_path: Path) -> None:
    asked, options = (
        {"release": (3, 6), "retentions": (7 * DAY,)},
        ("--kafka-version", "3.6", "--retention", "7d"),
    )
    expected = list[ExpiryRow]()
    for name, logs in sorted(moved_logs()):
        evidence = write_moved(tmp_path / name, logs)
        ingest_here(tmp_path / "lake", evidence, cluster=name)
        expected += expiry_of_command(evidence, *options)
    replay_lake(session, tmp_path / "lake")
    derive(session, tmp_path / "lake", **asked)
    assert found(tmp_path / "lake") == expected


@pytest.fixture(scope="module")
def small(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clusters, derived; then one of them grew."""
    return half_derived(session, tmp_path_factory.mktemp("small"), PARTS, derive)


PARTS = [CORPORA / "2.8.2-expiry" / "segments" / f"__consumer_offsets-{number}" for number in (25, 15)]


def expected_of(folder: Path) -> list[ExpiryRow]:
    return [*expiry_of_command(PARTS[0]), *expiry_of_command(together(folder / "both", PARTS))]


@pytest.mark.parametrize("is_compact", [False, pytest.param(True, marks=pytest.mark.deep)])
def test_nothing_new_writes_nothing_and_what_is_new_takes_the_place_of_what_there_was(
    session: SparkSession, small: Path, tmp_path: Path, is_compact: bool
) -> None:
    """Also where both clusters have come to be in one file."""
    lake = Path(shutil.copytree(small, tmp_path / "lake"))
    if is_compact:
        compact(str(lake), lambda: session)
        assert len(DeltaTable(lake / "expiry").file_uris()) == 1
    assert list(derive(session, lake).rows) == ["b"]
    assert found(lake) == expected_of(tmp_path)
    assert {row["run"] for row in rows(lake, "expiry") if row["cluster"] == "a"} == {1}
    before = [file for file in files(lake) if file[0] != ".ingest.lock"]
    assert derive(session, lake) == Derived(None, {}, [])
    assert [file for file in files(lake) if file[0] != ".ingest.lock"] == before


@at_each_commit
def test_killed_at_a_commit(
    session: SparkSession, small: Path, tmp_path: Path, step: int, before: bool
) -> None:
    lake = Path(shutil.copytree(small, tmp_path / "lake"))
    kill(session, lake, derive, step, before=before)
    derive(session, lake)
    assert found(lake) == expected_of(tmp_path)
    assert derive(session, lake).run is None


def test_only_what_is_new_and_what_is_alive_is_read(
    session: SparkSession, small: Path, tmp_path: Path
) -> None:
    """One file more: of the log, only the replay has read it, and nobody what came before; of groups, where those are that live."""
    lake = Path(shutil.copytree(small, tmp_path / "lake"))
    for table in ("log", "events", "offset_history", "member_history", "anomalies"):
        for file in (lake / table).glob("*.parquet"):
            file.unlink()
    assert derive(session, lake).rows.keys() == {"b"}
    assert found(lake) == expected_of(tmp_path)


def test_a_lake_of_an_earlier_release_is_told_anew_first(
    session: SparkSession, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no removals, and checkpoints that know of none, whose names are not those of this release."""
    monkeypatch.setattr("offsets_tool.lake.checkpoints.OF_VERSION", f"v{VERSION + 1}-")
    lake = Path(shutil.copytree(small, tmp_path / "lake"))
    shutil.rmtree(lake / "removals")
    unread = min(READ) - 1
    for path in (lake / "_checkpoints").iterdir():
        told = gzip.decompress(path.read_bytes())
        known, earlier = (f'"version":{number}'.encode() for number in (VERSION, unread))
        assert known in told
        path.write_bytes(gzip.compress(told.replace(known, earlier, 1)))
    with pytest.raises(OffsetsToolError, match=rf"version {unread}.*run offsets-spark replay"):
        derive(session, lake)
    done = replay_lake(session, lake)
    assert len(done.notes) == len(done.partitions) == 3 and all(
        row["is_from_start"] for row in done.partitions
    )
    derive(session, lake)
    assert found(lake) == expected_of(tmp_path)


def test_a_checkpoint_torn_behind_its_beginning_is_lost_to_the_next_replay(
    session: SparkSession, small: Path, tmp_path: Path
) -> None:
    """Its signs still read, so a replay would find nothing new."""
    lake = Path(shutil.copytree(small, tmp_path / "lake"))
    (torn,) = (row for row in rows(lake, "replays") if row["cluster"] == "b" and row["run"] == 2)
    path = lake / "_checkpoints" / torn["checkpoint"]
    path.write_bytes(path.read_bytes()[:-9])
    assert replay_lake(session, lake).run is None
    with pytest.raises(OffsetsToolError, match=rf"{path.name}.*it was removed: run offsets-spark replay"):
        derive(session, lake)
    with pytest.raises(OffsetsToolError, match=rf"{path.name}.*run offsets-spark replay"):
        derive(session, lake)
    (anew,) = replay_lake(session, lake).partitions
    assert (anew["log_partition"], anew["is_from_start"]) == (torn["log_partition"], True)
    derive(session, lake)
    assert found(lake) == expected_of(tmp_path)


def test_a_coordinator_that_was_said_proves_no_release(session: SparkSession, tmp_path: Path) -> None:
    """The log is of 2.8, replayed as the new coordinator would."""
    ingest_here(tmp_path, PARTS[0], cluster="a")
    replay_lake(session, tmp_path, "new")
    derive(session, tmp_path)
    assert found(tmp_path) == expiry_of_command(PARTS[0], "--coordinator", "new")
    assert {row.release for row in found(tmp_path)} == {"3.9"}


def test_a_lake_without_histories_is_refused(session: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="offsets-spark replay first"):
        derive(session, tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()
