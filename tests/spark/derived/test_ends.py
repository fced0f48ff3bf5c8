"""Samples of end offsets: each is kept once, and what is there is read only where it is compared."""

import json
from pathlib import Path

import pytest

from offsets_tool.errors import SourceError, UsageError
from offsets_tool.lake.tables import ENDS
from spark.derived.ends import OF_ENDS, EndsAdded, EndsRequest, add_ends
from spark.lake.commit import ArrowLake, Lake
from tests.spark.histories import rows


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A lake of two clusters."""
    root = tmp_path / "lake"
    ArrowLake(root).create()
    return root


def sample_file(folder: Path, name: str, *ats: int) -> str:
    """Write a file of samples of end offsets at these times, and return its path."""
    path = folder / f"{name}.jsonl"
    path.write_text(
        "".join(json.dumps({"topic": "t", "partition": 0, "at": at, "end": 9}) + "\n" for at in ats)
    )
    return str(path)


def bring(lake: Path, cluster: str, *files: str) -> int:
    return add_ends(Lake(lake), EndsRequest(files=files, cluster=cluster), {"a": 0, "b": 0}).rows


def test_a_sample_is_kept_once(lake: Path, tmp_path: Path) -> None:
    """Of its cluster, and of who says it."""
    one, other = sample_file(tmp_path, "one", 1, 2), sample_file(tmp_path, "other", 2)
    assert bring(lake, "a", one) == 2
    assert bring(lake, "a", one) == 0
    assert bring(lake, "b", one) == 2
    sample_file(tmp_path, "one", 1, 2, 3)
    assert bring(lake, "a", one, other, one) == 2
    kept = {
        (row["cluster"], Path(row["source"]).stem, row["timestamp"], row["run"]) for row in rows(lake, "ends")
    }
    assert kept == {
        ("a", "one", 1, 1),
        ("a", "one", 2, 1),
        ("b", "one", 1, 2),
        ("b", "one", 2, 2),
        ("a", "one", 3, 3),
        ("a", "other", 2, 3),
    }
    assert len(rows(lake, "ends")) == len(kept)


def test_a_cluster_that_the_lake_does_not_have_is_refused(lake: Path, tmp_path: Path) -> None:
    """A misspelt name would keep ends that no group is ever counted against."""
    asked = EndsRequest(files=[sample_file(tmp_path, "one", 1)], cluster="prodd")
    with pytest.raises(UsageError, match="the lake has no cluster 'prodd': choose among prod, test"):
        add_ends(Lake(lake), asked, {"test": 0, "prod": 0})
    assert rows(lake, "ends") == []


def test_what_is_there_is_not_read_where_nothing_is_brought(lake: Path, tmp_path: Path) -> None:
    """Nor of other clusters; so it is not missed."""
    one = sample_file(tmp_path, "one", 1)
    bring(lake, "a", one)
    for path in (lake / ENDS.name).glob("*.parquet"):
        path.unlink()
    assert add_ends(Lake(lake), EndsRequest(), {"a": 0, "b": 0}) == EndsAdded(0, [])
    assert bring(lake, "b", one) == 1
    with pytest.raises(SourceError, match="does not hold the table's rows"):
        bring(lake, "a", one)
    assert ArrowLake(lake, OF_ENDS).next_run() == 3
