"""What was forgotten might never have been there; a kill leaves what the same command completes, and no other."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from pyspark.sql import SparkSession

from offsets_tool.cli import main
from offsets_tool.errors import UsageError
from offsets_tool.evidence.expiring import PolicyOverrides
from offsets_tool.lake.tables import ALL_TABLES
from offsets_tool.log.archive.delta import delta_rows
from spark.derived.expiry import expiry
from spark.derived.forget import forget
from spark.derived.lag import LagRequest, lag
from spark.lake.compact import compact
from spark.run import run_findings
from tests.evidence.copies import copy
from tests.replay.story import commit
from tests.replay.story_segments import in_order
from tests.spark.kills import Killed, killed
from tests.spark.lakes import ingest_here, no_session
from tests.spark.replay.test_copies import replay_here

PASSING = {
    *("run", "ingest_run", "checkpoint", "basis", "records", "is_from_start"),
    *("ingested_at", "replayed_at", "derived_at"),
}
"""What says how a lake came to be, and not what is in it."""
LOG = in_order(*(commit(f"g{at % 5}", "t", 0, at) for at in range(12)))


def jobs(lake: Path) -> None:
    replay_here(lake)
    lag(str(lake), no_session, LagRequest())
    expiry(str(lake), no_session, PolicyOverrides())
    assert not run_findings(str(lake), no_session).problems


def content(lake: Path) -> dict[str, list[str]]:
    found = {table.name: delta_rows(lake / table.name).to_pylist() for table in ALL_TABLES}
    return {
        name: sorted(repr({key: row[key] for key in row if key not in PASSING}) for row in rows)
        for name, rows in found.items()
    }


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three nights of one log: the second has all of the first, the third was written again."""
    folder = tmp_path_factory.mktemp("nights")
    return [
        copy(folder / "night-1", LOG[:4]),
        copy(folder / "night-2", LOG[:8]),
        copy(folder / "night-3", LOG[4:], cleaned_to=5),
    ]


@pytest.fixture(scope="module")
def whole(nights: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of all nights in one cluster, and the first in another."""
    return made(tmp_path_factory.mktemp("whole") / "lake", c=nights, d=nights[:1])


@pytest.fixture
def lake(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "lake"))


def made(lake: Path, **clusters: list[Path]) -> Path:
    for cluster, paths in clusters.items():
        for path in paths:
            ingest_here(lake, path, cluster=cluster)
    jobs(lake)
    return lake


def test_a_forgotten_cluster_was_never_there(tmp_path: Path, nights: list[Path]) -> None:
    lake = made(tmp_path / "lake", c=nights[:1], d=nights, e=nights[1:])
    assert {each.table: each.rows for each in forget(str(lake), "d")}["log"] == 16
    assert content(lake) == content(made(tmp_path / "other", c=nights[:1], e=nights[1:]))
    jobs(lake)
    assert content(lake) == content(tmp_path / "other")
    with pytest.raises(UsageError, match="no cluster 'd'"):
        forget(str(lake), "d")


@pytest.mark.parametrize(
    "gone", [[1, 2], *(pytest.param(gone, marks=pytest.mark.deep) for gone in ([2], [1]))]
)
def test_a_forgotten_night_was_never_there(
    lake: Path, tmp_path: Path, nights: list[Path], gone: list[int]
) -> None:
    for number in gone:
        forget(str(lake), "c", str(nights[number]))
    jobs(lake)
    left = [night for number, night in enumerate(nights) if number not in gone]
    assert content(lake) == content(made(tmp_path / "other", c=left, d=nights[:1]))


def test_what_a_night_pointed_to_becomes_its_own(lake: Path, tmp_path: Path, nights: list[Path]) -> None:
    """The first night goes: the second has all of its records, though its bytes are accounted for in two ranges."""
    forget(str(lake), "c", str(nights[0]))
    jobs(lake)
    found, expected = content(lake), content(made(tmp_path / "other", c=nights[1:], d=nights[:1]))
    assert len(found.pop("sources")) == len(expected.pop("sources")) + 1
    assert found == expected


def test_a_change_of_which_only_the_answer_was_lost_is_not_made_again(
    tmp_path: Path, nights: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each commit is done, and nobody is told so: it would be made again and again."""
    lake, write = (
        made(tmp_path / "lake", c=nights[:1], d=nights, e=nights[1:]),
        DeltaTable.create_write_transaction,
    )

    def lost(self: DeltaTable, *arguments: Any, **options: Any) -> None:
        write(self, *arguments, **options)
        raise CommitFailedError("of this test")

    with monkeypatch.context() as patch:
        patch.setattr(DeltaTable, "create_write_transaction", lost)
        done = {row.table: row.rows for row in forget(str(lake), "d")}
    assert done["log"] == 16
    assert content(lake) == content(made(tmp_path / "other", c=nights[:1], e=nights[1:]))


@pytest.mark.parametrize("step", [3, *(pytest.param(step, marks=pytest.mark.deep) for step in (0, 7, 9))])
def test_killed_it_is_completed_by_the_same_command_alone(
    lake: Path, tmp_path: Path, nights: list[Path], step: int
) -> None:
    asked: tuple[Any, ...] = (str(lake), "c", str(nights[2]))
    with pytest.raises(Killed), killed(step, before=False):
        forget(*asked)
    for job in (
        replay_here,
        lambda lake: ingest_here(lake, nights[0], cluster="c"),
        lambda lake: forget(str(lake), "c"),
    ):
        with pytest.raises(UsageError, match=r"forget was interrupted.*--cluster c --source .*night-3 again"):
            job(lake)
    forget(*asked)
    jobs(lake)
    assert content(lake) == content(made(tmp_path / "other", c=nights[:2], d=nights[:1]))


@pytest.mark.spark
@pytest.mark.engine
def test_what_spark_wrote_is_forgotten_too(session: SparkSession, tmp_path: Path, nights: list[Path]) -> None:
    """After OPTIMIZE, by `compact` too, rows of several clusters and runs are in one file; a DELETE writes files anew."""
    lake = made(tmp_path / "lake", c=nights, d=nights[:2], e=nights[1:])
    compact(str(lake), lambda: session)
    for table in ("log", "events"):
        session.sql(f"DELETE FROM delta.`{lake / table}` WHERE cluster = 'e' AND log_offset = 9").collect()
    session.sql(f"OPTIMIZE delta.`{lake / 'sources'}`").collect()
    assert {each.table: each.rows for each in forget(str(lake), "d")}["log"] == 8
    assert {each.table: each.rows for each in forget(str(lake), "c", str(nights[2]))}["log"] == 8
    jobs(lake)
    other = made(tmp_path / "other", c=nights[:2], e=nights[1:])
    for table in ("log", "events"):
        session.sql(f"DELETE FROM delta.`{other / table}` WHERE cluster = 'e' AND log_offset = 9").collect()
    assert content(lake) == content(other)


@pytest.mark.deep
def test_what_was_forgotten_and_comes_again_is_as_if_it_had_never_gone(
    tmp_path: Path, nights: list[Path]
) -> None:
    lake, never = (made(tmp_path / name, c=nights, d=nights[:1]) for name in ("lake", "never"))
    before = content(never)
    forget(str(lake), "c", str(nights[2]))
    jobs(lake)
    ingest_here(lake, nights[2], cluster="c")
    jobs(lake)
    found = content(lake)
    for accounts in ("replays", "derivations"):
        # Of each place the newest row counts; those of the jobs in between stay.
        assert set(before[accounts]) <= set(found.pop(accounts))
    assert found == {name: before[name] for name in found}
    forget(str(lake), "c")
    for night in nights:
        ingest_here(lake, night, cluster="c")
    jobs(lake)
    assert content(lake) == before


def test_a_partition_is_mended_by_forgetting_what_does_not_belong(tmp_path: Path) -> None:
    for name in ("one", "two"):
        folder = copy(tmp_path / name, LOG)
        (folder / "meta.properties").write_text(f"version=0\nbroker.id=1\ncluster.id={name}\n")
        ingest_here(tmp_path / "lake", folder, cluster="c")
    assert len(replay_here(tmp_path / "lake").problems) == 1
    shutil.rmtree(tmp_path / "two")
    forget(str(tmp_path / "lake"), "c", str(tmp_path / "two"))
    done = replay_here(tmp_path / "lake")
    assert not done.problems and [row["problem"] for row in done.partitions] == [None]


def test_questions_see_what_is_left_though_the_last_runs_were_of_what_is_forgotten(tmp_path: Path) -> None:
    """Neither do its rows come back, as of an earlier run, nor does an answer need files that only that run's table had."""
    lake, log = tmp_path / "lake", LOG
    for number, (cluster, records) in enumerate((("a", log[:6]), ("b", log), ("a", log))):
        ingest_here(lake, copy(tmp_path / str(number), records), cluster=cluster)
        jobs(lake)
    before = answers(lake)
    forget(str(lake), "a")
    assert answers(lake) == {table: [row for row in rows if row[0] == "b"] for table, rows in before.items()}
    ingest_here(lake, copy(tmp_path / "last", log), cluster="c")
    jobs(lake)
    forget(str(lake), "c")
    compact(str(lake), no_session, 0)
    assert answers(lake) == {table: [row for row in rows if row[0] == "b"] for table, rows in before.items()}


def answers(lake: Path) -> dict[str, list[list[Any]]]:
    """Return by table how many rows of each cluster a question sees."""
    counts = "SELECT cluster, count(*) AS number FROM {} GROUP BY cluster ORDER BY cluster"
    found = {}
    for table in ("offset_history", "expiry", "lag", "findings", "events"):
        done = CliRunner().invoke(main, ["sql", "--lake", str(lake), counts.format(table)])
        assert done.exit_code == 0, done.output
        found[table] = [list(json.loads(line).values()) for line in done.stdout.splitlines()]
    return found
