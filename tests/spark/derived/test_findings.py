"""Findings of the lake are the command line's, row for row, each with its evidence; only what is new is found again."""

import json
import re
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from offsets_tool.cli import main
from offsets_tool.errors import UsageError
from offsets_tool.findings.rows import Finding
from offsets_tool.lake.tables import FINDINGS, LOG, OFFSET_HISTORY, REBALANCES
from offsets_tool.lake.whole import unknown_cluster
from offsets_tool.rebalances.rows import RebalanceRow
from spark.cli import main as lake_main
from spark.derived import findings as job
from spark.derived.derive import Derived
from spark.derived.findings import findings
from spark.run import run_findings
from spark.runtime import rows as runtime
from tests.depth import DEEP, sample
from tests.replay.random_logs import READERS, RandomLog, segment
from tests.spark.derived.two_clusters import at_each_commit, half_derived, kill, together
from tests.spark.histories import replay_lake, rows
from tests.spark.lakes import CORPORA, files, ingest_here, no_session

pytestmark = pytest.mark.spark

SAMPLE = ("0.9.0.1-mix", "2.4.1-mix", "2.8.2-expiry", "3.9.2-txn", "4.3.1-kip848", "4.3.1-classic")
TOLD = [path.name for path in sorted(CORPORA.iterdir()) if DEEP or path.name in SAMPLE]
RANDOM = sample([(release, seed) for release in ("3.9.2", "4.3.1") for seed in range(20)], 21)
PARTS = [CORPORA / "2.8.2-expiry" / "segments" / f"__consumer_offsets-{number}" for number in (25, 15)]
KEY = FINDINGS.key


def find(session: SparkSession, lake: Path, *clusters: str) -> Derived:
    """Compute the findings of clusters, and the expiry on which they rest, without Spark."""
    done = run_findings(str(lake), no_session, clusters)
    return Derived(done.run, dict(done.ledger), done.notes, tuple(done.problems))


def found(lake: Path) -> list[Finding]:
    """In one order; clusters apart from each other."""
    told = sorted(rows(lake, "findings"), key=lambda row: (row["cluster"], repr(_row(row))))
    return list(map(_row, told))


def findings_of_command(*args: object) -> list[Finding]:
    """Return the rows of `offsets-tool findings`, sorted."""
    result = CliRunner().invoke(main, ["findings", *map(str, args), "--format", "jsonl"])
    assert result.exit_code == 0, result.output
    told = map(json.loads, result.stdout.splitlines())
    return sorted(
        (_row(row | {name: _epoch(row[name]) for name in ("from_at", "to_at")}) for row in told), key=repr
    )


def _row(row: dict[str, Any]) -> Finding:
    fields = {
        name: tuple(row[name]) if isinstance(row[name], list) else row[name] for name in Finding._fields
    }
    return Finding(**fields)


def _epoch(text: str | None) -> int | None:
    return None if text is None else round(datetime.fromisoformat(text).timestamp() * 1000)


def written(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield random logs of two partitions each, with their cluster."""
    for release, seed in RANDOM:
        # Version 4 says a topic's id, and random logs say one id of several topics: then no name is right.
        reader = READERS[release]._replace(commits=(0, 1, 2, 3))
        for partition in (3, 4):
            log = RandomLog(10 * seed + partition, reader, disorder=0.1 * (seed % 2)).grow(300)
            path = folder / f"{release}-{seed}" / f"__consumer_offsets-{partition}" / f"{0:020d}.log"
            path.parent.mkdir(parents=True)
            path.write_bytes(segment(log.placed))
        yield f"{release}-{seed}", folder / f"{release}-{seed}"


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Corpora and random logs, by the cluster that they are in the lake."""
    corpora = {name: CORPORA / name / "segments" for name in TOLD}
    return corpora | dict(written(tmp_path_factory.mktemp("random")))


@pytest.fixture(scope="module")
def lake(session: SparkSession, evidence: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of the evidence, replayed, with findings computed in this process."""
    made = tmp_path_factory.mktemp("lake")
    for cluster, path in evidence.items():
        ingest_here(made, path, cluster=cluster)
    replay_lake(session, made)
    find(session, made)
    return made


def test_findings_are_those_of_the_command_line(lake: Path, evidence: dict[str, Path]) -> None:
    expected = [each for cluster in sorted(evidence) for each in findings_of_command(evidence[cluster])]
    assert found(lake) == expected
    assert len({row.kind for row in expected}) > 8


def test_rebalances_are_those_of_the_command_line(lake: Path, evidence: dict[str, Path]) -> None:
    """Row for row, with members as objects, and none twice."""
    names = RebalanceRow._fields
    for cluster, path in evidence.items():
        result = CliRunner().invoke(main, ["rebalances", str(path), "--format", "jsonl"])
        assert result.exit_code == 0, result.output
        expected = map(json.loads, result.stdout.splitlines())
        times = ("from_at", "to_at")
        here = [row for row in rows(lake, "rebalances") if row["cluster"] == cluster]
        assert sorted(([row[name] for name in names] for row in here), key=repr) == sorted(
            ([_epoch(row[name]) if name in times else row[name] for name in names] for row in expected),
            key=repr,
        )
    keys = [tuple(row[name] for name in REBALANCES.key) for row in rows(lake, "rebalances")]
    assert len(set(keys)) == len(keys) > 50


@pytest.mark.engine
@pytest.mark.parametrize("read_by_all", [job.READ_BY_ALL, -1], ids=["each reads all", "shuffled"])
def test_spark_finds_what_this_process_finds(
    session: SparkSession, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_by_all: int
) -> None:
    """Of few clusters in `make test`; another version of this program finds anew."""
    monkeypatch.setattr(job, "READ_BY_ALL", read_by_all)
    monkeypatch.setattr("offsets_tool.lake.scan._PIECE_ROWS", 1_000)
    again = Path(shutil.copytree(lake, tmp_path / "lake"))
    before = found(lake)
    monkeypatch.setattr(runtime, "LITTLE", -1)
    monkeypatch.setattr(job, "__version__", "next")
    clusters = sorted({row["cluster"] for row in rows(lake, "findings")})[:: 1 if DEEP else 4]
    rebalances = sorted(rows(lake, "rebalances"), key=repr)
    done = findings(str(again), lambda: session, clusters)
    assert list(done.rows) == clusters and not done.problems
    assert found(again) == before
    assert sorted((row | {"run": 0} for row in rows(again, "rebalances")), key=repr) == sorted(
        (row | {"run": 0} for row in rebalances), key=repr
    )


def test_every_finding_has_its_evidence(lake: Path) -> None:
    """The places that it names are in the log, and no other finding has its key."""
    there = {(row["cluster"], f"{row['log_partition']}:{row['log_offset']}") for row in rows(lake, LOG.name)}
    told = rows(lake, "findings")
    assert all(row["evidence"] for row in told)
    assert {(row["cluster"], place) for row in told for place in row["evidence"]} <= there
    assert len({tuple(row[name] for name in KEY) for row in told}) == len(told)


@pytest.fixture(scope="module")
def small(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clusters with findings; then one of them grew."""
    return half_derived(session, tmp_path_factory.mktemp("small"), PARTS, find)


def expected_of(folder: Path) -> list[Finding]:
    return [*findings_of_command(PARTS[0]), *findings_of_command(together(folder / "both", PARTS))]


def test_nothing_new_writes_nothing_and_what_is_new_takes_the_place_of_what_there_was(
    session: SparkSession, small: Path, tmp_path: Path
) -> None:
    lake = Path(shutil.copytree(small, tmp_path / "lake"))
    assert find(session, lake, "a").run is None
    find(session, lake)
    assert found(lake) == expected_of(tmp_path)
    assert {row["run"] for row in rows(lake, "findings") if row["cluster"] == "a"} == {1}
    before = [file for file in files(lake) if file[0] != ".ingest.lock"]
    assert find(session, lake).run is None
    assert [file for file in files(lake) if file[0] != ".ingest.lock"] == before


@at_each_commit
def test_killed_at_a_commit(
    session: SparkSession, small: Path, tmp_path: Path, step: int, before: bool
) -> None:
    lake = Path(shutil.copytree(small, tmp_path / "lake"))
    # The two commits before are those of expiry.
    kill(session, lake, find, 2 + step, before=before)
    find(session, lake)
    assert found(lake) == expected_of(tmp_path)
    assert find(session, lake).run is None


def test_several_retentions_the_first_counts(small: Path, tmp_path: Path) -> None:
    """And other settings of expiry are other findings."""
    lake = Path(shutil.copytree(small, tmp_path / "lake"))
    options = ["--kafka-version", "2.8", "--retention", "1h", "--retention", "7d"]
    assert CliRunner().invoke(lake_main, ["expiry", "--lake", str(lake), *options]).exit_code == 0
    done = CliRunner().invoke(lake_main, ["findings", "--lake", str(lake), "--cluster", "a"])
    assert done.exit_code == 0, done.output
    row = json.loads(done.stdout)
    assert row["ledger"] == {"clusters": 1}
    in_lake = {
        name: sum(each["cluster"] == "a" for each in rows(lake, name)) for name in ("findings", "rebalances")
    }
    assert row["rows"] == in_lake
    of_a = sorted((_row(row) for row in rows(lake, "findings") if row["cluster"] == "a"), key=repr)
    assert of_a == findings_of_command(PARTS[0], *options[:4])


def test_a_cluster_that_fails_stops_no_other(session: SparkSession, tmp_path: Path) -> None:
    for cluster in ("a", "b"):
        ingest_here(tmp_path, PARTS[0], cluster=cluster)
        replay_lake(session, tmp_path)
    of_a, _ = sorted(
        (tmp_path / OFFSET_HISTORY.name).glob("*.parquet"), key=lambda path: path.stat().st_mtime_ns
    )
    whole = of_a.read_bytes()
    of_a.write_bytes(whole[: len(whole) // 2])
    done = CliRunner().invoke(lake_main, ["findings", "--lake", str(tmp_path)])
    assert done.exit_code == 1
    assert f"findings of cluster 'a': {of_a}: " in done.stderr and "1 part(s) of the work" in done.stderr
    assert found(tmp_path) == findings_of_command(PARTS[0])
    of_a.write_bytes(whole)
    find(session, tmp_path)
    assert found(tmp_path) == 2 * findings_of_command(PARTS[0])


def test_what_is_not_there_is_refused(small: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the lake has no cluster 'x': choose among a, b"):
        findings(str(small), no_session, ["x"])
    for names, said in (
        ([], "it has none yet: run offsets-spark run first"),
        ([""], "its only one has no name; drop --cluster"),
        (["", "a"], r"choose among '' \(without a name\), a"),
    ):
        assert re.search(said, str(unknown_cluster("x", names)))
    with pytest.raises(UsageError, match="offsets-spark replay first"):
        findings(str(tmp_path / "nowhere"), no_session)
