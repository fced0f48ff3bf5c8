"""Whatever becomes of a replay on the way, its histories are those of one that nobody disturbed."""

import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from offsets_tool.errors import OffsetsToolError, SetupError
from spark.replay.replay import replay
from tests.spark.histories import copy, grown, histories, plain_histories, replay_lake, rows
from tests.spark.kills import Killed, killed
from tests.spark.lakes import ingest_here, no_session

pytestmark = pytest.mark.spark
deep = pytest.mark.deep


@pytest.fixture(scope="module")
def half_replayed(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A lake with one part of a log replayed and the rest ingested; and the logs."""
    folder = tmp_path_factory.mktemp("half")
    for share in (0.5, 1):
        if share == 1:
            replay_lake(session, folder / "lake")
        grown("4.3.1-kip848", folder / "logs", share)
        ingest_here(folder / "lake", folder / "logs", cluster="c")
    return folder / "lake", copy(folder / "logs", 1)


@pytest.mark.parametrize("before", [pytest.param(True, marks=deep), False])
@pytest.mark.parametrize(
    "step",
    [
        pytest.param(0, marks=deep),
        pytest.param(1, marks=deep),
        2,
        pytest.param(3, marks=deep),
        pytest.param(4, marks=deep),
    ],
)
def test_killed_at_a_commit(
    session: SparkSession, tmp_path: Path, half_replayed: tuple[Path, Path], step: int, before: bool
) -> None:
    lake = tmp_path / "lake"
    shutil.copytree(half_replayed[0], lake)
    with killed(step, before=before) as made, pytest.raises(Killed):
        replay_lake(session, lake)
    assert len(made) == step + (not before)
    replay_lake(session, lake)
    assert histories(lake) == plain_histories({"c": half_replayed[1]})
    assert replay_lake(session, lake).run is None
    kept = {path.name for path in (lake / "_checkpoints").iterdir()}
    assert {row["checkpoint"] for row in rows(lake, "replays")} >= kept
    assert len(kept) == len({row["log_partition"] for row in rows(lake, "replays")})


def test_a_half_replay_whose_files_are_gone_is_told_anew(
    session: SparkSession, tmp_path: Path, half_replayed: tuple[Path, Path]
) -> None:
    lake = tmp_path / "lake"
    shutil.copytree(half_replayed[0], lake)
    with killed(0, before=False), pytest.raises(Killed):
        replay_lake(session, lake)
    named = {Path(uri).name for uri in DeltaTable(lake / "group_history").file_uris()}
    for file in (lake / "group_history").glob("*.parquet"):
        if file.name not in named:
            file.unlink()
    done = replay_lake(session, lake)
    assert any("cannot be finished" in note for note in done.notes)
    assert histories(lake) == plain_histories({"c": half_replayed[1]})


def test_without_its_checkpoint_a_partition_is_told_from_its_first_record(
    session: SparkSession, tmp_path: Path, half_replayed: tuple[Path, Path]
) -> None:
    """As where a copy of the lake left them out, or another release wrote them."""
    lake = Path(shutil.copytree(half_replayed[0], tmp_path / "lake"))
    for number, path in enumerate(sorted((lake / "_checkpoints").iterdir())):
        if number % 2:
            path.unlink()
        else:
            path.write_bytes(path.read_bytes()[:-9])
    done = replay_lake(session, lake)
    assert len(done.notes) > 1 and all(
        "is replayed from its first record, since" in note for note in done.notes
    )
    assert all(row["is_from_start"] for row in done.partitions)
    assert histories(lake) == plain_histories({"c": half_replayed[1]})
    assert replay_lake(session, lake).run is None


def test_storage_that_cannot_be_reached_is_no_problem_of_a_log_partition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is committed, so that the next replay goes on from the checkpoints that are there."""
    lake, logs = tmp_path / "lake", tmp_path / "logs"
    for share in (0.5, 1):
        grown("4.3.1-kip848", logs, share)
        ingest_here(lake, logs, cluster="c")
        if share < 1:
            replay(str(lake), no_session)
    before = rows(lake, "replays")
    with monkeypatch.context() as patch:
        patch.setattr("spark.replay.tasks.keep_checkpoint", unreachable)
        with pytest.raises(OffsetsToolError, match="cannot be reached"):
            replay(str(lake), no_session)
    assert rows(lake, "replays") == before
    done = replay(str(lake), no_session)
    assert done.problems == () and not any(row["is_from_start"] for row in done.partitions)
    assert histories(lake) == plain_histories({"c": copy(logs, 1)})


def unreachable(root: Path, checkpoint: bytes) -> str:
    raise SetupError(f"{root}: cannot be reached")
