"""Whatever is done in this process because there is little of it: Spark's workers make the same rows of it."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from offsets_tool.lake.tables import ALL_TABLES
from offsets_tool.log.archive.delta import delta_rows
from spark.derived import lag_rows
from spark.derived.lag import LagRequest
from spark.ingest.ingest import Request
from spark.run import run, run_lag
from spark.runtime import rows
from tests.corpora import CORPORA, LAG
from tests.spark.lakes import no_session

pytestmark = [pytest.mark.spark, pytest.mark.engine]

GRID = 1
PASSING = ("ingested_at", "replayed_at", "derived_at", "checkpoint")
"""What differs between two lakes of the same evidence."""


def made(lake: Path, session: Any) -> dict[str, list[str]]:
    list(run(Request(paths=[str(LAG / "broker")], lake=str(lake)), session, "auto"))
    run_lag(str(lake), session, LagRequest(grid_ms=GRID))
    found = {table.name: delta_rows(lake / table.name).to_pylist() for table in ALL_TABLES}
    return {
        name: sorted(repr({column: row[column] for column in row if column not in PASSING}) for row in some)
        for name, some in found.items()
    }


@pytest.mark.parametrize("shuffled", [False, True])
def test_here_or_by_spark(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, shuffled: bool
) -> None:
    here = made(tmp_path / "here", no_session)
    monkeypatch.setattr(rows, "LITTLE", -1)
    if shuffled:
        monkeypatch.setattr(lag_rows, "READ_BY_ALL", -1)
    assert made(tmp_path / "spark", lambda: session) == here
    assert here["lag"]
    assert here["expiry"]


def test_a_grid_may_make_much_of_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = str(tmp_path)
    list(run(Request(paths=[str(CORPORA / "3.9.2-txn" / "segments")], lake=lake), no_session, "auto"))
    monkeypatch.setattr(rows, "LITTLE", 1_000)
    with pytest.raises(AssertionError, match="no session"):
        run_lag(lake, no_session, LagRequest(grid_ms=1))
