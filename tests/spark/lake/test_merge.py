"""Tables that jobs read whole keep few files however many runs there are; rows stay, also where a run is killed meanwhile."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from offsets_tool.errors import SourceError
from offsets_tool.log.archive.delta import delta_rows
from spark.check.check import check
from spark.lake.compact import compact
from spark.replay.replay import replay
from tests.evidence.copies import copy
from tests.replay.story import commit
from tests.replay.story_segments import in_order
from tests.spark.kills import Killed, killed
from tests.spark.lakes import content, ingest_here, no_session

LOG = in_order(*(commit(f"g{at % 3}", "t", 0, at) for at in range(6)))
CLUSTERS = [f"c{number}" for number in range(6)]
READ_WHOLE = ("sources", "replays")
FEW = 3


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the number of files from which on tables are merged, so that a few runs suffice."""
    monkeypatch.setattr("spark.lake.merge.SMALL_FILES", FEW)
    monkeypatch.setattr("spark.lake.commit.RUNS_BETWEEN", 2)
    monkeypatch.setattr("spark.lake.log_checkpoints.VERSIONS_BETWEEN", 3)


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("dumps")
    return {cluster: copy(folder / cluster, LOG) for cluster in CLUSTERS}


@pytest.fixture(scope="module")
def plain(dumps: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of all clusters whose files nobody merged."""
    lake = tmp_path_factory.mktemp("plain") / "lake"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("spark.lake.merge.SMALL_FILES", 1_000)
        run(lake, dumps)
    return lake


def run(lake: Path, dumps: dict[str, Path], clusters: list[str] = CLUSTERS) -> None:
    """Commit a run of each of two jobs for each cluster."""
    for cluster in clusters:
        ingest_here(lake, dumps[cluster], cluster=cluster)
        replay(str(lake), no_session)


def files_of(lake: Path, table: str) -> int:
    return len(DeltaTable(lake / table).file_uris())


def rows(lake: Path) -> list[object]:
    replays = sorted(
        (row["cluster"], row["next_log_offset"]) for row in delta_rows(lake / "replays").to_pylist()
    )
    return [content(lake), replays]


def test_files_stay_few_and_rows_the_same(
    plain: Path, tmp_path: Path, dumps: dict[str, Path], few: None
) -> None:
    merged = tmp_path / "merged"
    run(merged, dumps)
    assert all(files_of(merged, table) <= FEW + 2 for table in READ_WHOLE)
    assert all(files_of(plain, table) == len(CLUSTERS) for table in READ_WHOLE)
    assert files_of(merged, "log") == len(CLUSTERS), "tables that are read in part are sorted by compact"
    assert rows(merged) == rows(plain)
    assert (merged / "sources" / "_delta_log" / "_last_checkpoint").exists()
    assert all(each.is_ok for each in check(str(merged)))


@pytest.mark.parametrize("before", [True, False])
def test_a_run_that_is_killed_while_files_are_merged_counts(
    plain: Path, tmp_path: Path, dumps: dict[str, Path], few: None, before: bool
) -> None:
    lake, at = tmp_path / "lake", CLUSTERS[3]
    run(lake, dumps, CLUSTERS[:3])
    with pytest.raises(Killed), killed(4, before=before) as made:
        ingest_here(lake, dumps[at], cluster=at)
    assert made == ["log", "events", "copies", "sources", "copies"][: 4 if before else 5]
    assert ingest_here(lake, dumps[at], cluster=at).run is None
    run(lake, dumps, CLUSTERS[3:])
    assert rows(lake) == rows(plain)


def test_a_run_counts_whose_answer_was_lost_and_whose_files_were_merged_right_after(
    plain: Path, tmp_path: Path, dumps: dict[str, Path], few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own file of `sources` is gone then, and its rows are not."""
    lake, at = tmp_path / "lake", CLUSTERS[3]
    run(lake, dumps, CLUSTERS[:3])
    commit_, answers = DeltaTable.create_write_transaction, ["reading a body from connection"]

    def unanswered(*arguments: Any, **options: Any) -> None:
        commit_(*arguments, **options)
        while answers:
            raise DeltaError(answers.pop())

    monkeypatch.setattr(DeltaTable, "create_write_transaction", unanswered)
    assert ingest_here(lake, dumps[at], cluster=at).run == 4
    assert not answers and files_of(lake, "sources") == 1
    run(lake, dumps, CLUSTERS[3:])
    assert rows(lake) == rows(plain)


def test_a_run_counts_though_a_file_that_it_would_merge_does_not_read(
    tmp_path: Path, dumps: dict[str, Path], few: None
) -> None:
    """Who needs that file names it: an ingest has no need of `copies`, and its rows are committed by then."""
    run(tmp_path, dumps, CLUSTERS[:3])
    damaged = next((tmp_path / "copies").glob("*.parquet"))
    damaged.write_bytes(bytes(damaged.stat().st_size))
    assert ingest_here(tmp_path, dumps[CLUSTERS[3]], cluster=CLUSTERS[3]).run == 4
    assert files_of(tmp_path, "sources") == 1 and files_of(tmp_path, "copies") == 4
    with pytest.raises(SourceError, match=damaged.name):
        replay(str(tmp_path), no_session)


def test_row_groups_of_sorted_rows_are_told_apart(
    tmp_path: Path, dumps: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question about one cluster, or one of its groups, needs few row groups, and pages, of a file that `compact` has written."""
    for module in ("merge", "parquet"):
        monkeypatch.setattr(f"spark.lake.{module}.SORTED_GROUP_ROWS", 2)
    for cluster in CLUSTERS:
        ingest_here(tmp_path / "lake", dumps[cluster], cluster=cluster)
    compact(str(tmp_path / "lake"), no_session)
    [path] = DeltaTable(tmp_path / "lake" / "events").file_uris()
    said = [
        (said_of(path, number, "cluster"), said_of(path, number, "group"))
        for number in range(3 * len(CLUSTERS))
    ]
    assert said == [
        ((cluster, cluster), (group, group)) for cluster in CLUSTERS for group in ("g0", "g1", "g2")
    ]
    assert pq.read_metadata(path).row_group(0).column(0).has_column_index


def said_of(path: str, number: int, column: str) -> tuple[str, str]:
    """Return the least and the greatest value of a column that a row group's statistics say."""
    metadata = pq.read_metadata(path)
    statistics = metadata.row_group(number).column(metadata.schema.names.index(column)).statistics
    return statistics.min, statistics.max
