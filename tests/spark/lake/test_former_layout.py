"""A lake that another version made is refused by every job and by SQL, in one sentence; jobs do so without a session."""

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from deltalake import DeltaTable, Schema
from pyspark.sql import SparkSession

from offsets_tool.errors import UsageError
from offsets_tool.evidence.expiring import PolicyOverrides
from offsets_tool.lake.tables import (
    ALL_TABLES,
    DERIVATIONS,
    EVENTS,
    EXPIRY,
    LAG,
    REPLAY_TABLES,
    TABLES,
    Table,
)
from spark.derived.expiry import expiry
from spark.derived.lag import LagRequest, lag
from spark.lake.compact import compact
from spark.replay.replay import replay
from spark.views.views import open_lake
from tests.depth import sample
from tests.spark.lakes import SEGMENT, ingest_here

REFUSAL = "has other columns than this version writes: ingest into a new lake, from the same sources"


def no_session() -> NoReturn:
    raise AssertionError("a session was asked for")


def make(path: Path, table: Table, *, is_former: bool) -> None:
    """Make an empty table as this version does, or with another name of the last column, as a former one."""
    schema = table.schema
    if is_former:
        last = len(schema) - 1
        schema = schema.set(last, schema.field(last).with_name("former"))
    DeltaTable.create(str(path), Schema.from_arrow(schema))


JOBS: dict[str, tuple[Callable[[str], object], tuple[Table, ...]]] = {
    "ingest": (lambda lake: ingest_here(Path(lake), SEGMENT), TABLES),
    "replay": (lambda lake: replay(lake, no_session), ALL_TABLES),
    "compact": (lambda lake: compact(lake, no_session), ALL_TABLES),
    "lag": (lambda lake: lag(lake, no_session, LagRequest()), (*REPLAY_TABLES, LAG, DERIVATIONS)),
    "expiry": (
        lambda lake: expiry(lake, no_session, PolicyOverrides()),
        (*REPLAY_TABLES, EXPIRY, DERIVATIONS),
    ),
}
"""Each job, and tables that it reads or writes."""


@pytest.mark.parametrize(
    ("job", "table"),
    sample([(job, table) for job, (_, tables) in JOBS.items() for table in tables], 3),
    ids=lambda each: each.name if isinstance(each, Table) else each,
)
def test_a_table_with_a_column_of_another_name_is_refused(tmp_path: Path, job: str, table: Table) -> None:
    for each in ALL_TABLES:
        make(tmp_path / each.name, each, is_former=each is table)
    with pytest.raises(UsageError) as refused:
        JOBS[job][0](str(tmp_path))
    assert str(refused.value) == f"{tmp_path / table.name} {REFUSAL}"


@pytest.mark.spark
def test_sql_is_refused_too(session: SparkSession, tmp_path: Path) -> None:
    for each in TABLES:
        make(tmp_path / each.name, each, is_former=each is EVENTS)
    with pytest.raises(UsageError, match=REFUSAL):
        open_lake(session.newSession(), str(tmp_path))
