"""Damaged lakes, full disks: one sentence that names the file, says what still holds and what to do; and the remedy works."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyspark.sql import SparkSession

from offsets_tool.lake.journal import COMPACTED
from offsets_tool.lake.tables import TABLES, Table
from spark.cli import main
from spark.lake.commit import Lake
from tests.spark.histories import histories, rows
from tests.spark.lakes import CORPORA, content, ingest_here

pytestmark = pytest.mark.spark

LOGS = CORPORA / "3.9.2-txn" / "segments"
OTHERS = CORPORA / "4.1.2-newgroups" / "segments"
Damage = Callable[[Path], object]


def invoke(command: str, lake: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, [command, *arguments, "--lake", str(lake)])


@pytest.fixture(scope="module")
def sound(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("sound") / "lake"
    assert invoke("run", lake, str(LOGS)).exit_code == 0
    return lake


@pytest.fixture
def lake(sound: Path, tmp_path: Path) -> Path:
    return shutil.copytree(sound, tmp_path / "lake")


def commit(table: str, version: int = -1) -> Callable[[Path], Path]:
    """Return a function that finds a commit of a table's log: the last one, or one by its version."""
    return lambda lake: sorted((lake / table / "_delta_log").glob("*.json"))[version]


def data(table: str) -> Callable[[Path], Path]:
    """Return a function that finds a data file that the table's log names."""
    return lambda lake: min((lake / table).glob("*.parquet"))


def checkpoint(lake: Path) -> Path:
    return min((lake / "_checkpoints").iterdir())


def new(*path: str) -> Callable[[Path], Path]:
    return lambda lake: lake.joinpath(*path)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])


def garbage(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 9)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def other_json(path: Path) -> None:
    path.write_bytes(b"[1]\n")


def same_size(path: Path) -> None:
    path.write_bytes(b"\xa5" * path.stat().st_size)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_bytes(b"")


INGEST = "the lake's other tables hold: put it back from a backup, or ingest the same sources into a new lake"
REPLAY = "log, events, copies and sources hold: move all other folders of the lake away"
DERIVED = "log, events, copies and sources and the histories hold: move"

CASES: dict[str, tuple[Callable[[Path], Path], Damage, str, str, str]] = {
    "a cut commit": (commit("sources"), cut, "lag", "is cut off or not JSON (line ", INGEST),
    "a commit that is garbage": (commit("events"), garbage, "ingest", "is cut off or not JSON", INGEST),
    "an empty commit": (commit("events"), empty, "lag", "is empty", INGEST),
    "another JSON": (commit("replays"), other_json, "expiry", "is cut off or not JSON", REPLAY),
    "the first commit": (commit("sources", 0), Path.unlink, "ingest", "is missing, though later", INGEST),
    "one in between": (commit("derivations", 1), Path.unlink, "lag", "is missing, though later", DERIVED),
    "a commit that is a folder": (commit("log"), folder, "ingest", "is not a file", INGEST),
    "a checkpoint of Delta's": (
        new("sources", "_delta_log", f"{1:020}.checkpoint.parquet"),
        garbage,
        "replay",
        "is not a Parquet file",
        INGEST,
    ),
    "a data file that is gone": (data("sources"), Path.unlink, "replay", "is missing, though", INGEST),
    "a cut data file": (data("sources"), cut, "ingest", "where the table's log says", INGEST),
    "garbage of the same size": (data("sources"), same_size, "lag", "is not a Parquet file", INGEST),
    "a cut file of replays": (data("replays"), cut, "replay", "where the table's log says", REPLAY),
    "a cut file of derivations": (data("derivations"), cut, "expiry", "the table's log says", DERIVED),
    "a table that is gone": (new("events"), shutil.rmtree, "replay", "is no table any more", INGEST),
    "a table that is a file": (new("sources"), file, "run", "is no table any more", INGEST),
    "a log that is a file": (new("log", "_delta_log"), file, "compact", "is no table any more", INGEST),
}


def other_rows(done: Result) -> list[str]:
    """Return what a command printed beside the row of the job that failed, which says on stdout what stderr says."""
    return [
        line
        for line in done.stdout.splitlines()
        if f"Error: {json.loads(line).get('error')}\n" != done.stderr
    ]


@pytest.mark.parametrize(("where", "damage", "command", "what", "holds"), CASES.values(), ids=CASES.keys())
def test_damage_is_named(
    lake: Path,
    where: Callable[[Path], Path],
    damage: Damage,
    command: str,
    what: str,
    holds: str,
) -> None:
    path = where(lake)
    damage(path)
    done = invoke(command, lake, *([str(LOGS)] if command in ("ingest", "run") else []))
    assert (done.exit_code, other_rows(done)) == (1, []), done.output
    named = path.parent if path.name == "_delta_log" else path
    assert done.stderr.startswith(f"Error: {named}: ") and done.stderr.count("\n") == 1, done.stderr
    assert what in done.stderr and holds in done.stderr


@pytest.mark.parametrize(
    ("where", "damage"),
    [
        (new("sources", "x.parquet"), garbage),
        (new("sources", "_delta_log", f"{0:020}.crc"), garbage),
        (new("sources", "_delta_log", "notes.txt"), garbage),
        (new("sources", "_delta_log", "_last_checkpoint"), garbage),
    ],
    ids=["a file that no log names", "a checksum", "a note", "the name of a checkpoint"],
)
def test_what_is_no_part_of_a_table_does_no_harm(
    lake: Path, where: Callable[[Path], Path], damage: Damage
) -> None:
    damage(where(lake))
    for command in ("replay", "lag", "expiry"):
        assert invoke(command, lake).exit_code == 0


@pytest.mark.parametrize(
    "damage", [cut, *(pytest.param(each, marks=pytest.mark.deep) for each in (garbage, empty, Path.unlink))]
)
def test_a_torn_checkpoint_of_a_replay(lake: Path, damage: Damage) -> None:
    """Expiry needs it; a replay tells its partition anew, and then all is as it was."""
    before = histories(lake)
    damage(checkpoint(lake))
    asked = invoke("expiry", lake, "--retention", "1d")
    assert (asked.exit_code, other_rows(asked)) == (1, [])
    assert "_checkpoints/" in asked.stderr and "run offsets-spark replay" in asked.stderr
    again = invoke("replay", lake)
    assert again.exit_code == 0 and "is replayed from its first record" in again.stderr
    assert histories(lake) == before
    assert invoke("expiry", lake, "--retention", "1d").exit_code == 0


@pytest.mark.parametrize(
    ("where", "damage", "command"),
    [
        (data("events"), same_size, "sql"),
        pytest.param(data("events"), cut, "sql", marks=pytest.mark.deep),
        pytest.param(commit("events"), cut, "sql", marks=pytest.mark.deep),
        pytest.param(commit("events"), cut, "compact", marks=pytest.mark.deep),
    ],
)
def test_what_spark_meets_is_named_too(
    lake: Path, where: Callable[[Path], Path], damage: Damage, command: str
) -> None:
    path = where(lake)
    damage(path)
    query = ["SELECT count(DISTINCT `group`) FROM events"] if command == "sql" else []
    done = invoke(command, lake, *query)
    assert (done.exit_code, done.stdout) == (1, ""), done.output
    assert done.stderr.startswith(f"Error: {path}: ") and INGEST in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.deep
def test_what_is_derived_is_made_anew_as_the_sentence_says(lake: Path) -> None:
    before = {"lag": rows(lake, "lag"), "expiry": rows(lake, "expiry")}, histories(lake)
    cut(data("offset_history")(lake))
    cut(commit("lag")(lake))
    for path in lake.iterdir():
        if path.name not in [table.name for table in TABLES]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for command in ("replay", "lag", "expiry"):
        assert invoke(command, lake).exit_code == 0
    assert ({"lag": rows(lake, "lag"), "expiry": rows(lake, "expiry")}, histories(lake)) == before


def test_a_lake_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "lake").write_bytes(b"")
    done = invoke("ingest", tmp_path / "lake", str(LOGS))
    assert (done.exit_code, other_rows(done)) == (1, [])
    assert "cannot be written (it is not a folder)" in done.stderr


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    """Mount a file system of `size` bytes, and yield it; skip the test where this user may not."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        is_there = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        is_there = False
    if not is_there:
        pytest.skip("a small disk needs mount, and the right to use it")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path, left: int) -> Path:
    """Fill a disk but for `left` bytes, and return the file that does."""
    filler = disk / "filler"
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    with filler.open("wb") as written:
        os.posix_fallocate(written.fileno(), 0, free - left)
    return filler


PAGE = 4096


@pytest.mark.parametrize(
    "pages",
    [
        3,
        *(pytest.param(pages, marks=pytest.mark.deep) for pages in (0, 1, 5, 7, 8, 9, 10, 11, 12, 13)),
    ],
)
def test_a_full_disk_is_said_and_the_next_run_heals(
    session: SparkSession, tmp_path: Path, pages: int
) -> None:
    """Wherever it fills: while files are written, at the first commit, between two of them."""
    with small_disk(tmp_path / "disk", 8 << 20) as disk:
        lake = disk / "lake"
        ingest_here(lake, LOGS)
        filler = fill(disk, pages * PAGE)
        done = invoke("ingest", lake, str(OTHERS))
        if done.exit_code:
            assert other_rows(done) == [] and done.stderr.count("\n") == 1, done.stderr
            assert f"{lake} cannot be written or read (No space left on device)" in done.stderr
        filler.unlink()
        assert invoke("ingest", lake, str(OTHERS)).exit_code == 0
        ingest_here(tmp_path / "whole", LOGS)
        ingest_here(tmp_path / "whole", OTHERS)
        assert content(lake) == content(tmp_path / "whole")


def test_the_sentence_of_a_commit_on_a_full_disk(lake: Path, tmp_path: Path) -> None:
    """deltalake's own words are another's: the first job that has something to commit without Spark is `lag --ends`."""
    ends = tmp_path / "ends.txt"
    ends.write_text("orders:0:12\n")
    with small_disk(tmp_path / "disk", 8 << 20) as disk:
        shutil.copytree(lake, disk / "lake")
        fill(disk, PAGE)
        asked = ["--ends", str(ends), "--ends-at", "2026-11-21T12:00:00Z"]
        done = invoke("lag", disk / "lake", *asked)
    assert (done.exit_code, other_rows(done)) == (1, [])
    assert "(No space left on device); what it had not committed does not count" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_job_that_goes_table_by_table_says_that_part_of_it_may_be_done(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All tables before the one that fails are compacted; a run of jobs that commit last counts for nothing."""
    rewrite, compacted = Lake.rewrite, list[str]()

    def fail_later(self: Lake, table: Table, *arguments: Any) -> None:
        if compacted:
            raise DeltaError("of this test")
        compacted.append(table.name)
        rewrite(self, table, *arguments)

    monkeypatch.setattr(Lake, "rewrite", fail_later)
    done = invoke("compact", lake)
    said = "it could not be done (of this test); part of it may be done, and all else is as it was: run the same command again"
    assert (done.exit_code, done.stderr) == (1, f"Error: {said}\n")
    assert DeltaTable(lake / compacted[0]).history(1)[0]["userMetadata"] == COMPACTED


def test_rows_of_another_table_in_a_data_file(lake: Path) -> None:
    path = data("sources")(lake)
    pq.write_table(pa.table({"zzz": [1, 2]}), path)
    done = invoke("replay", lake)
    assert done.exit_code == 1 and done.stderr.startswith(f"Error: {path}: has ")
