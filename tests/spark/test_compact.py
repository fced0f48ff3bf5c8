"""Compaction: fewer files, the same rows, and ingests go on as if nothing had been."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from offsets_tool.errors import UsageError
from spark.cli import main
from spark.compact import compact
from tests.cases import FIXTURES
from tests.spark.lakes import TABLES, bring, content

pytestmark = pytest.mark.spark

CORPORA = [FIXTURES / "corpora" / name / "segments" for name in ("2.4.1-mix", "3.9.2-txn")]


def test_compacted_tables_are_the_same(session: SparkSession, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for corpus in CORPORA:
        bring(session, lake, corpus, cluster=corpus.parent.name)
    before = content(lake)
    done = {table.table: table for table in compact(session, str(lake))}
    assert all(done[table].files_before >= 2 for table in TABLES)
    assert {len(DeltaTable(lake / table).file_uris()) for table in TABLES} == {1}
    assert content(lake) == before and all(before.values())
    assert bring(session, lake, CORPORA[0], cluster="2.4.1-mix").run is None


def test_what_is_no_lake_is_refused(session: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="an ingest made"):
        compact(session, str(tmp_path))


def test_help_names_it() -> None:
    assert "compact" in CliRunner().invoke(main, ["--help"]).output
