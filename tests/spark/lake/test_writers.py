"""Both writers make the same tables, which describe themselves; Spark and deltalake read and keep them alike."""

from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from offsets_tool.lake.tables import TABLES, Table
from spark.ingest.ingest import Writer
from spark.views.views import open_tables
from tests.spark.lakes import (
    CORPORA,
    SEGMENT,
    bring,
    comparable,
    content,
    in_order,
    ingest_here,
    plain,
    rows,
    rows_end,
    write_segment,
)

pytestmark = [pytest.mark.spark, pytest.mark.engine]

TXN, NEW = (CORPORA / corpus / "segments" for corpus in ("3.9.2-txn", "4.1.2-newgroups"))


@pytest.fixture(scope="module", params=Writer)
def lake(
    request: pytest.FixtureRequest, session: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A lake of one log, made by each of the writers."""
    root = tmp_path_factory.mktemp(request.param)
    assert bring(session, root, TXN, writer=request.param).run == 1
    return root


def test_both_writers_write_the_same(lake: Path) -> None:
    assert comparable(lake) == plain(TXN)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_tables_describe_themselves(session: SparkSession, lake: Path, table: Table) -> None:
    described = session.sql(f"DESCRIBE TABLE EXTENDED delta.`{lake}/{table.name}`").collect()
    comments = {row.col_name: row.comment for row in described if row.comment}
    assert comments == {field.name: field.metadata[b"comment"].decode() for field in table.schema}
    assert {"Comment": table.comment}.items() <= {row.col_name: row.data_type for row in described}.items()
    constraints = {f"delta.constraints.{check.name}": check.sql for check in table.checks}
    assert DeltaTable(lake / table.name).metadata().configuration == table.properties | constraints
    keys = [tuple(row[name] for name in table.key) for row in rows(lake, table.name)]
    assert len(set(keys)) == len(keys) > 0


def test_a_lake_may_change_its_writer(session: SparkSession, lake: Path) -> None:
    """Nothing is new for the other one either."""
    for writer in Writer:
        assert bring(session, lake, TXN, writer=writer).run is None


def test_spark_reads_what_deltalake_reads(session: SparkSession, tmp_path: Path) -> None:
    ingest_here(tmp_path, NEW)
    found = open_tables(session, str(tmp_path), TABLES)
    for table in TABLES:
        frame = found[table]
        assert frame
        seen = frame().toArrow().to_pylist()
        assert in_order(seen, table.name) == rows(tmp_path, table.name)


def test_skipping_files_loses_no_row(session: SparkSession, tmp_path: Path) -> None:
    """Delta skips files by the statistics that we wrote: the least and the greatest value must be found."""
    ingest_here(tmp_path, NEW)
    ingest_here(tmp_path, TXN)
    events, found = rows(tmp_path, "events"), session.read.format("delta").load(f"{tmp_path}/events")
    for name in ("source", "group", "log_offset"):
        values = [row[name] for row in events if row[name] is not None]
        for value in (min(values), max(values)):
            assert found.where(found[name] == value).count() == values.count(value), (name, value)


def test_a_lake_lives_on_with_spark(session: SparkSession, tmp_path: Path) -> None:
    """OPTIMIZE and DELETE by Spark between two ingests."""
    path = write_segment(tmp_path / "log", SEGMENT.read_bytes()[: rows_end(SEGMENT.read_bytes())])
    lake = tmp_path / "lake"
    ingest_here(lake, NEW)
    ingest_here(lake, path)
    before = content(lake)
    session.sql(f"OPTIMIZE delta.`{lake}/events` ZORDER BY (log_offset)")
    session.sql(f"DELETE FROM delta.`{lake}/log` WHERE log_offset < 0")
    assert content(lake) == before
    write_segment(tmp_path / "log", SEGMENT.read_bytes())
    assert ingest_here(lake, path).run == 3
    ingest_here(tmp_path / "once", path)
    mine = [row for row in content(lake, "events")["events"] if row["source"] == str(path)]
    assert mine == content(tmp_path / "once", "events")["events"]
