"""A sound lake has nothing wrong; each kind of damage is named with a remedy, and by itself; damage hides no other."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from deltalake import DeltaTable

from offsets_tool.errors import LakeInUse, UsageError
from offsets_tool.findings.rows import Severity
from offsets_tool.lake.tables import SOURCES
from offsets_tool.wire.arrow import record_batch
from spark.check.check import check
from spark.check.checked import Checked
from spark.cli import main
from spark.derived.forget import forget
from spark.derived.lag import LagRequest, lag
from spark.lake.commit import ArrowLake
from spark.lake.folder import opened
from spark.lake.parquet import TableWriter
from spark.lake.replaced import Replacing
from tests.evidence.copies import copy, rolled
from tests.spark.derived.test_forget import LOG, jobs
from tests.spark.kills import Killed, killed
from tests.spark.lakes import files, ingest_here, no_session
from tests.spark.replay.test_copies import replay_here

Row = dict[str, Any]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of two clusters, one of which has grown, with all that is derived; its sources lie beside it."""
    folder = tmp_path_factory.mktemp("sound")
    for cluster, nights in {"c": (LOG[:6], LOG), "d": (LOG[:4],)}.items():
        for number, log in enumerate(nights):
            ingest_here(folder / "lake", copy(folder / cluster / str(number), log), cluster=cluster)
    jobs(folder / "lake")
    return folder / "lake"


@pytest.fixture
def lake(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound.parent, tmp_path / "sound")) / "lake"


def wrong(lake: Path, **options: bool) -> list[Checked]:
    return [each for each in check(str(lake), **options) if not each.is_ok]


def test_nothing_is_wrong_with_a_sound_lake(sound: Path) -> None:
    before = list(files(sound))
    found = list(check(str(sound), reads_rows=True, reads_sources=True))
    assert [each for each in found if not each.is_ok] == []
    assert {each.what: each.looked_at for each in found} | {"files": 0, "rows": 0} == {
        **{"tables": 18, "files": 0, "runs": 5, "ledger": 4, "ranges": 4, "records": 6, "offsets": 3},
        **{"replays": 2, "checkpoints": 2, "derived": 8, "left over": 18, "rows": 0, "sources": 4},
    }
    assert list(files(sound)) == before


def test_a_lake_by_its_uri(sound: Path) -> None:
    assert [each.looked_at for each in check(sound.as_uri())] == [
        each.looked_at for each in check(str(sound))
    ]


def data(lake: Path, table: str) -> Path:
    """Return a data file of the table's newest version."""
    return Path(min(DeltaTable(lake / table).file_uris()))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def fewer(lake: Path) -> None:
    """Replace a data file by one with a row less, and its size in Delta's log."""
    path = data(lake, "events")
    size = path.stat().st_size
    pq.write_table(pq.read_table(path).slice(1), path)
    # Another file may be as long: only the action that names this one is changed.
    named = f'{path.name}","partitionValues":{{}},"size":'
    _relogged(lake / "events", f"{named}{size}", f"{named}{path.stat().st_size}")


def _relogged(table: Path, before: str, after: str) -> None:
    for commit in (table / "_delta_log").glob("*.json"):
        commit.write_text(commit.read_text().replace(before, after))


def changed(lake: Path, **values: Any) -> None:
    """Change values in the first row of `sources`."""
    arrow = ArrowLake(lake)
    first, *others = sorted(arrow.sources(), key=lambda row: row["run"])
    rows = [tuple(row[name] for name in SOURCES.schema.names) for row in (first | values, *others)]

    def write(files: list[Any]) -> Replacing:
        with TableWriter(lake, SOURCES) as writer:
            writer.write(record_batch(SOURCES.row, rows))
            return Replacing([file["path"] for file in files], writer.close())

    arrow.lake.rewrite(SOURCES, write)


def first(lake: Path) -> Row:
    return min(ArrowLake(lake).sources(), key=lambda row: row["run"])


def shortened(lake: Path) -> None:
    row = first(lake)
    less = {name: row[name] - 10 for name in ("bytes", "bytes_in_batches")}
    changed(lake, range_start=10, **less)


def miscounted(lake: Path) -> None:
    changed(lake, raw_records=1, decoded_records=first(lake)["decoded_records"] - 1)


def deleted(table: str, where: str) -> Callable[[Path], object]:
    return lambda lake: DeltaTable(lake / table).delete(where)


def killed_ingest(lake: Path) -> None:
    with pytest.raises(Killed), killed(1, before=False):
        ingest_here(lake, copy(lake.parent / "c" / "more", LOG[2:]), cluster="c")


def killed_lag(lake: Path) -> None:
    grown_and_replayed(lake)
    with pytest.raises(Killed), killed(0, before=False):
        lag(str(lake), no_session, LagRequest())


def killed_forget(lake: Path) -> None:
    with pytest.raises(Killed), killed(0, before=False):
        forget(str(lake), "c")


def grown(lake: Path) -> None:
    ingest_here(lake, copy(lake.parent / "d" / "more", LOG), cluster="d")


def grown_and_replayed(lake: Path) -> None:
    grown(lake)
    replay_here(lake)


def a_gap(lake: Path) -> None:
    ingest_here(lake, rolled(lake.parent / "e", LOG, lost=4), cluster="e")
    replay_here(lake)


def without_the_damaged(lake: Path) -> None:
    """Do as the remedy says, and what rests on a replay after it."""
    [said] = (each.remedy for each in wrong(lake) if each.what == "checkpoints")
    (lake / (said or "").split()[1]).unlink()
    jobs(lake)


CRITICAL, WARNING, NOTICE = Severity
CASES: dict[str, tuple[Callable[[Path], object], dict[str, set[Severity]], str, str]] = {
    "a table is gone": (
        lambda lake: shutil.rmtree(lake / "copies"),
        {"tables": {CRITICAL}},
        "is no table any more",
        "ingest the same sources into a new lake",
    ),
    "a commit is cut": (
        lambda lake: cut(max((lake / "events" / "_delta_log").glob("*.json"))),
        {"tables": {CRITICAL}, "records": {CRITICAL}},
        "is cut off or not JSON",
        "put it back from a backup",
    ),
    "another layout": (
        lambda lake: _relogged(lake / "ends", "observed_at", "seen_at"),
        {"tables": {CRITICAL}},
        "has other columns than this version writes",
        "ingest into a new lake",
    ),
    "a file is gone": (
        lambda lake: data(lake, "offset_history").unlink(),
        {"files": {CRITICAL}},
        "is missing, though the table's log names it",
        "run offsets-spark replay",
    ),
    "a file is cut": (lambda lake: cut(data(lake, "log")), {"files": {CRITICAL}}, "the table's log says", ""),
    "a file has fewer rows": (
        fewer,
        {"files": {CRITICAL}},
        "rows, where the table's log says",
        "put it back from a backup",
    ),
    "a small table is cut": (
        lambda lake: cut(data(lake, "derivations")),
        {"files": {CRITICAL}, "derived": {CRITICAL}},
        "the table's log says",
        "move lag, expiry",
    ),
    "a range that does not begin": (
        shortened,
        {"ledger": {CRITICAL}, "ranges": {CRITICAL}},
        "6 records are said to be those of",
        "forget --cluster c --source",
    ),
    "a sum that does not hold": (
        miscounted,
        {"ledger": {CRITICAL}},
        "raw_records is 1, where kept_raw_reasons has 0",
        "then ingest it again",
    ),
    "a record is gone": (
        deleted("events", "cluster = 'd' AND log_offset = 2"),
        {"records": {CRITICAL}},
        "has 3 rows, where sources accounts for 4 records",
        "forget --cluster d --lake",
    ),
    "rows of a derived table are gone": (
        deleted("lag", "cluster = 'd' AND \"group\" = 'g1'"),
        {"derived": {CRITICAL}},
        "where derivations accounts for",
        "move lag, expiry",
    ),
    "a killed ingest": (
        killed_ingest,
        {"runs": {WARNING}, "records": {NOTICE}},
        "of ingest was interrupted between its commits",
        "offsets-spark ingest --lake",
    ),
    "a killed job after a replay": (
        killed_lag,
        {"runs": {WARNING}, "derived": {CRITICAL, WARNING}},
        "of lag was interrupted",
        "offsets-spark lag --lake",
    ),
    "a killed removal": (
        killed_forget,
        {"runs": {CRITICAL}, "derived": {CRITICAL, WARNING}},
        "forget was interrupted",
        "run offsets-spark forget --lake",
    ),
    "an ingest without replay": (
        grown,
        {"replays": {WARNING}},
        "ingest 4 is not in its histories, which have those up to 3",
        "offsets-spark replay --lake",
    ),
    "a replay without what is derived": (
        grown_and_replayed,
        {"derived": {WARNING}},
        "rests on replay 1, and the newest one is 2",
        "offsets-spark lag --lake",
    ),
    "a checkpoint is lost": (
        lambda lake: min((lake / "_checkpoints").iterdir()).unlink(),
        {"checkpoints": {WARNING}},
        "cannot be read",
        "run offsets-spark replay",
    ),
    "a checkpoint is damaged behind its facts": (
        lambda lake: cut(min((lake / "_checkpoints").iterdir())),
        {"checkpoints": {WARNING}},
        "not a checkpoint, or a damaged one",
        "and run offsets-spark replay",
    ),
    "checkpoints are left": (
        lambda lake: (lake / "_checkpoints" / "x.json.gz.tmp").write_bytes(b"123"),
        {"checkpoints": {NOTICE}},
        "1 file(s) with 3 bytes are of no use",
        "offsets-spark replay --lake",
    ),
    "data files are left": (
        lambda lake: (lake / "log" / "part-0.parquet").write_bytes(b"123"),
        {"left over": {NOTICE}},
        "1 file(s) with 3 bytes are of no use",
        "offsets-spark compact --lake",
    ),
    "a segment is missing": (
        a_gap,
        {"offsets": {WARNING}, "derived": {WARNING}},
        "offsets 4 to 7 are between two of its files, and in none",
        "find the missing segment",
    ),
}


SAMPLE = (
    *("a commit is cut", "a file has fewer rows", "a range that does not begin", "a record is gone"),
    *("a killed ingest", "a replay without what is derived", "data files are left", "a segment is missing"),
)
"""The cases that are not left to `make deep`."""


@pytest.mark.parametrize(
    ("damage", "expected", "problem", "remedy"),
    [
        pytest.param(*case, id=name, marks=() if name in SAMPLE else pytest.mark.deep)
        for name, case in CASES.items()
    ],
)
def test_what_is_wrong_is_named_and_nothing_else(
    lake: Path,
    damage: Callable[[Path], object],
    expected: dict[str, set[Severity]],
    problem: str,
    remedy: str,
) -> None:
    damage(lake)
    found = wrong(lake)
    said = {what: {each.severity for each in found if each.what == what} for what in {e.what for e in found}}
    assert said == expected
    assert not expected or (problem in (found[0].problem or "") and remedy in (found[0].remedy or "")), found[
        0
    ]


@pytest.mark.parametrize(
    ("damage", "remedy"),
    [
        ("a killed ingest", lambda lake: ingest_here(lake, lake.parent / "c" / "more", cluster="c")),
        ("checkpoints are left", replay_here),
        ("a checkpoint is damaged behind its facts", without_the_damaged),
        pytest.param("a killed job after a replay", jobs, marks=pytest.mark.deep),
    ],
)
def test_the_remedy_mends_it(lake: Path, damage: str, remedy: Callable[[Path], object]) -> None:
    """What a killed ingest had to bring then waits for the next replay."""
    CASES[damage][0](lake)
    remedy(lake)
    assert {each.what for each in wrong(lake)} <= {"replays"}


def test_rows_that_do_not_read_are_found_where_they_are_asked_for(lake: Path) -> None:
    path = data(lake, "group_history")
    content = path.read_bytes()
    path.write_bytes(content[:4] + b"\xa5" * 200 + content[204:])
    assert wrong(lake) == []
    assert [(each.what, each.severity) for each in wrong(lake, reads_rows=True)] == [("rows", CRITICAL)]


def flip(path: Path) -> None:
    """Flip a bit in the middle of a file, which keeps its size and time."""
    stat, content = path.stat(), bytearray(path.read_bytes())
    content[70] ^= 1
    path.write_bytes(bytes(content))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@pytest.mark.parametrize(
    ("change", "severity", "problem"),
    [
        (flip, WARNING, "bytes 0 to 1260 are others than were read, though its size and time are the same"),
        (lambda path: path.write_bytes(b"x" * 99), NOTICE, "was written anew since it was read"),
        (lambda path: path.write_bytes(path.read_bytes() * 2), None, None),
        (Path.unlink, None, None),
    ],
    ids=["another byte", "written anew", "grown", "gone"],
)
def test_sources_are_read_again_where_that_is_asked_for(
    tmp_path: Path, change: Callable[[Path], object], severity: Severity | None, problem: str | None
) -> None:
    ingest_here(tmp_path / "lake", copy(tmp_path / "c", LOG), cluster="c")
    change(next((tmp_path / "c").rglob("*.log")))
    assert wrong(tmp_path / "lake") == []
    found = [
        (each.what, each.severity, each.problem) for each in wrong(tmp_path / "lake", reads_sources=True)
    ]
    assert found == ([("sources", severity, problem)] if severity else [])


def test_while_a_job_writes_nothing_is_checked(lake: Path, tmp_path: Path) -> None:
    with opened(lake), pytest.raises(LakeInUse, match="a job is writing"):
        wrong(lake)
    with pytest.raises(UsageError, match="is no lake"):
        wrong(tmp_path)


def test_the_command_shows_rows_and_ends_with_1_if_something_is_wrong(lake: Path) -> None:
    asked = ["check", "--lake", str(lake), "--format"]
    sound = CliRunner().invoke(main, [*asked, "table"])
    assert (sound.exit_code, sound.stderr) == (0, "") and "18 looked at" in sound.stdout
    killed_ingest(lake)
    bad = CliRunner().invoke(main, [*asked, "jsonl"])
    assert bad.exit_code == 1 and "1 thing(s) are wrong with the lake" in bad.stderr
    rows = [json.loads(line) for line in bad.stdout.splitlines()]
    assert [row["what"] for row in rows if row["severity"] == "warning"] == ["runs"]
