"""Rows of a table some at a time: those of the clusters and runs that are asked for, without a look at files that have none."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.table import TableFeatures

from offsets_tool.errors import SourceError
from offsets_tool.lake.scan import (
    WHOLE,
    RowsWith,
    facts_of,
    file_rows,
    greatest_of,
    pieces_of,
    scan,
    values_within,
)
from offsets_tool.lake.tables import ENDS, OFFSET_HISTORY, REMOVALS, REPLAYS
from offsets_tool.log.archive.delta import open_delta
from spark.lake.commit import REPLAY, ArrowLake, Chain
from spark.lake.parquet import NewFile, TableWriter
from tests.spark.lakes import Row
from tests.spark.views.random_lake import full

OF_ENDS = Chain("test", (ENDS,))
COMMITS, FILES, PLACES = 250_000, 4, 1_000
MOST = 24 << 20
"""Bytes of Arrow for it all: as columns, the commits would take several times that."""
_NEW_PLACES = """
import sys
from pathlib import Path
import pyarrow as pa
from spark.derived.lag_news import new_partitions
from spark.lake.commit import Lake
places = new_partitions(Lake(Path(sys.argv[1])), "c", 0, 0)
print(places.num_rows, pa.default_memory_pool().max_memory())
"""


def write(lake: Path, run: int, rows: Iterable[Row]) -> Path:
    """Write and commit a file of `ends`."""
    there = ArrowLake(lake, OF_ENDS)
    there.create()
    batch = pa.RecordBatch.from_pylist([full(ENDS, row | {"run": run}) for row in rows], ENDS.schema)
    with TableWriter(lake, ENDS) as writer:
        for begin in range(0, batch.num_rows, 10):
            writer.write(batch.slice(begin, 10))
        files = writer.close()
    there.commit(run, files)
    return lake / ENDS.name / files[0].path


def test_a_table_with_deletion_vectors_is_refused(tmp_path: Path) -> None:
    """Rows that they delete are in the files all the same."""
    file = write(tmp_path, 1, [{"cluster": "a", "topic": "t", "timestamp": 1}])
    DeltaTable(file.parent).alter.add_feature(TableFeatures.DeletionVectors, True)
    with pytest.raises(SourceError, match="has deletion vectors"):
        scanned(tmp_path, ["a"])


def scanned(lake: Path, clusters: Iterable[str], after: int = 0) -> list[Row]:
    found = scan(lake, ENDS, ("topic", "timestamp"), list(clusters), after)
    return sorted((row for rows in found for row in rows.to_pylist()), key=lambda row: int(row["timestamp"]))


@pytest.mark.parametrize(("piece_rows", "with_rows"), [(1, 10), (17, 6), (40, 3), (100, 1)])
def test_pieces_of_a_file_are_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece_rows: int, with_rows: int
) -> None:
    monkeypatch.setattr("spark.lake.parquet.GROUP_ROWS", 10)
    monkeypatch.setattr("offsets_tool.lake.scan._PIECE_ROWS", piece_rows)
    file = write(tmp_path, 1, [{"cluster": "a", "topic": "t", "timestamp": at} for at in range(100)])
    (facts,) = facts_of(open_delta(tmp_path / ENDS.name))
    read = [
        [at for rows in file_rows(file, ENDS, ["timestamp"], piece) for at in rows.column(0).to_pylist()]
        for piece in pieces_of(facts)
    ]
    assert [at for piece in read for at in piece] == list(range(100))
    assert len(list(filter(None, read))) == with_rows
    assert max(map(len, read)) - min(map(len, filter(None, read))) <= 10


@pytest.mark.parametrize(("value", "rows"), [(0, 7), (1, 7), (2, 7), (3, 0), (None, 14)])
def test_row_groups_that_cannot_have_a_number_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: int | None, rows: int
) -> None:
    """A row group ends with the rows of a log partition, unless they are few."""
    monkeypatch.setattr("spark.lake.parquet.LEAST_GROUP_ROWS", 5)
    batches = [
        pa.RecordBatch.from_pylist([full(REMOVALS, {"log_partition": number})] * many, REMOVALS.schema)
        for number, many in ((0, 7), (1, 3), (2, 4))
    ]
    with TableWriter(tmp_path, REMOVALS) as writer:
        for batch in batches:
            writer.write(batch)
            writer.end_group()
        [file] = writer.close()
    groups = WHOLE if value is None else RowsWith("log_partition", value)
    found = file_rows(tmp_path / REMOVALS.name / file.path, REMOVALS, ["log_partition"], groups)
    assert sum(batch.num_rows for batch in found) == rows


def test_rows_of_clusters_and_later_runs(tmp_path: Path) -> None:
    write(tmp_path, 1, [{"cluster": of, "topic": "t", "timestamp": at} for at, of in enumerate("abab")])
    write(tmp_path, 2, [{"cluster": of, "topic": "u", "timestamp": at} for at, of in enumerate("acb", 4)])
    write(tmp_path, 3, [{"cluster": "c", "topic": "u", "timestamp": 7}])
    assert [row["timestamp"] for row in scanned(tmp_path, "a")] == [0, 2, 4]
    assert scanned(tmp_path, "bc", 1) == [{"topic": "u", "timestamp": at} for at in (5, 6, 7)]
    assert scanned(tmp_path, []) == []
    assert greatest_of(tmp_path, ENDS, ("timestamp", "run"), "abx") == {
        "a": {"timestamp": 4, "run": 2},
        "b": {"timestamp": 6, "run": 2},
    }


def test_files_that_have_none_are_not_opened(tmp_path: Path) -> None:
    """Since they are not there any more."""
    old = write(tmp_path, 1, [{"cluster": "a"}])
    other = write(tmp_path, 2, [{"cluster": "b"}])
    write(tmp_path, 3, [{"cluster": "a", "timestamp": 3}])
    old.unlink()
    other.unlink()
    assert [row["timestamp"] for row in scanned(tmp_path, "a", 1)] == [3]
    with pytest.raises(SourceError, match="does not hold the table's rows"):
        scanned(tmp_path, "a")
    with pytest.raises(SourceError, match="does not hold the table's rows"):
        scanned(tmp_path, "b", 1)


@pytest.mark.parametrize(
    ("least", "greatest", "within"),
    [("a", "c", "ac"), ("b", "b", ""), ("b", "d", "c"), ("c", "c", "c"), ("f", "g", ""), (None, None, "ace")],
)
def test_which_clusters_a_file_may_have(least: str | None, greatest: str | None, within: str) -> None:
    facts = {} if least is None else {"min.cluster": least, "max.cluster": greatest}
    assert list(values_within(facts, "cluster", ["a", "c", "e"])) == list(within)


def commits(lake: Path) -> list[NewFile]:
    """Write a file of `offset_history` with commits of partitions in turn, each of another offset."""
    alike = full(
        OFFSET_HISTORY, {"cluster": "c", "log_partition": 0, "group": "g", "is_effective": True, "run": 1}
    )
    each = range(COMMITS)
    various = {
        "topic": [f"topic-{number % PLACES // 10}" for number in each],
        "partition": [number % 10 for number in each],
        "from_log_offset": each,
        "to_log_offset": [number + PLACES for number in each],
    }
    columns = [
        pa.array(various[field.name], field.type)
        if field.name in various
        else pa.array([alike[field.name]] * COMMITS, field.type)
        for field in OFFSET_HISTORY.schema
    ]
    with TableWriter(lake, OFFSET_HISTORY) as writer:
        writer.write(pa.record_batch(columns, schema=OFFSET_HISTORY.schema))
        return writer.close()


@pytest.mark.deep
def test_places_of_many_commits_take_little(tmp_path: Path) -> None:
    for chain in (REPLAY, OF_ENDS):
        ArrowLake(tmp_path, chain).create()
    told = full(REPLAYS, {"cluster": "c", "log_partition": 0, "run": 1})
    with TableWriter(tmp_path, REPLAYS) as writer:
        writer.write(pa.RecordBatch.from_pylist([told], REPLAYS.schema))
        files = writer.close()
    ArrowLake(tmp_path, REPLAY).commit(1, [*files, *(f for _ in range(FILES) for f in commits(tmp_path))])
    done = subprocess.run(
        [sys.executable, "-c", _NEW_PLACES, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    places, most = map(int, done.stdout.split())
    assert places == PLACES
    assert most < MOST
