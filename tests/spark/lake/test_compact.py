"""Upkeep: fewer files, the same rows, nothing left that nobody needs, and ingests go on as if nothing had been."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from offsets_tool.errors import UsageError
from spark.cli import main
from spark.lake.compact import compact
from tests.corpora import FIXTURES
from tests.spark.lakes import TABLES, content, files, ingest_here

pytestmark = [pytest.mark.spark, pytest.mark.engine]

CORPORA = [FIXTURES / "corpora" / name / "segments" for name in ("2.4.1-mix", "3.9.2-txn")]


def test_compacted_tables_are_the_same(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By Spark, as tables are that are large."""
    monkeypatch.setattr("spark.lake.compact.MERGED_BYTES", 0)
    lake = tmp_path / "lake"
    for corpus in CORPORA:
        ingest_here(lake, corpus, cluster=corpus.parent.name)
    before = content(lake)
    done = {table.table: table for table in compact(str(lake), lambda: session)}
    assert all(done[table].files_before >= 2 for table in TABLES)
    assert {len(DeltaTable(lake / table).file_uris()) for table in TABLES} == {1}
    assert content(lake) == before and all(before.values())
    assert not any(table.files_deleted for table in done.values()), "older versions can be read for a week"
    assert ingest_here(lake, CORPORA[0], cluster="2.4.1-mix").run is None


def no_session() -> SparkSession:
    raise AssertionError("there is nothing to do")


def parquet(lake: Path) -> set[Path]:
    """Return the Parquet files of the tables, and the files that Spark keeps beside them."""
    return {path for path in lake.glob("*/*") if path.is_file() and "parquet" in path.name}


@pytest.mark.deep
def test_what_nobody_needs_goes(tmp_path: Path) -> None:
    """Files of older versions and of killed runs, once they are old enough; a table without news is left as it is."""
    lake = tmp_path / "lake"
    ingest_here(lake, CORPORA[0])
    before = content(lake)
    compact(str(lake), no_session)
    ingest_here(lake, CORPORA[1] / "__consumer_offsets-2")
    after = content(lake)
    assert after != before
    left_behind = lake / "events" / "part-of-a-killed-run.parquet"
    left_behind.write_bytes(b"")
    done = compact(str(lake), no_session, days_kept=0)
    assert [table.files_deleted for table in done] == [3, 4, 3, 3]
    assert content(lake) == after
    live = {Path(uri) for table in (*TABLES, "copies") for uri in DeltaTable(lake / table).file_uris()}
    assert {path for path in parquet(lake) if not path.name.startswith(".")} == live
    assert {path.name[1:-4] for path in parquet(lake) if path.name.startswith(".")} <= {p.name for p in live}
    as_it_is = [file for file in files(lake) if file[0] != ".ingest.lock"]
    assert all(table.files_after == 1 for table in compact(lake.as_uri(), no_session, days_kept=0))
    assert [file for file in files(lake) if file[0] != ".ingest.lock"] == as_it_is


def test_what_is_no_lake_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="an ingest made"):
        compact(str(tmp_path), no_session)


def test_help_names_it() -> None:
    assert "compact" in CliRunner().invoke(main, ["--help"]).output
