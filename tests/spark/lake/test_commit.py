"""Killed at any moment and run again: the same tables."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from deltalake.table import TableAlterer
from pyspark.sql import SparkSession

from offsets_tool.errors import OffsetsToolError
from offsets_tool.lake.tables import ALL_TABLES, DERIVATIONS, LAG, OFFSET_HISTORY, REPLAYS
from offsets_tool.log.archive.delta import delta_rows
from spark.ingest.ingest import Request, Writer
from spark.lake.commit import ArrowLake
from spark.lake.parquet import NewFile
from spark.lake.spark_lake import SparkLake
from spark.run import run
from tests.spark.lakes import CORPORA, SEGMENT, bring, content, ingest_here, no_session, rows

OTHER = CORPORA / "4.1.2-newgroups" / "segments"


class Killed(BaseException):
    """The end of a process as by a kill: no code catches it."""


STEPS = {
    Writer.ARROW: (
        (DeltaTable, "create"),
        (TableAlterer, "add_constraint"),
        (DeltaTable, "create_write_transaction"),
    ),
    Writer.SPARK: ((SparkLake, "create"), (SparkLake, "_append")),
}
"""Everything that changes a table."""


@contextmanager
def killed(writer: Writer, step: int, *, before: bool) -> Iterator[list[str]]:
    """End a job before or after its n-th change of the lake, as a kill would; yield the list of changes made until then."""
    made: list[str] = []

    def stopping(change: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(*args: Any, **options: Any) -> Any:
            if before and len(made) == step:
                raise Killed
            done = change(*args, **options)
            made.append(change.__name__)
            if not before and len(made) == step + 1:
                raise Killed
            return done

        return stepped

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in STEPS[writer]:
            patch.setattr(owner, name, stopping(getattr(owner, name)))
        yield made


def is_killed(session: SparkSession | None, lake: Path, writer: Writer, step: int, *, before: bool) -> bool:
    """Kill an ingest at a step, and return whether it has so many steps."""
    with killed(writer, step, before=before) as made:
        try:
            if session:
                bring(session, lake, SEGMENT, writer=writer)
            else:
                ingest_here(lake, SEGMENT)
        except Killed:
            assert len(made) == step + (not before)
            return True
    return False


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    lake = tmp_path_factory.mktemp("expected")
    ingest_here(lake, SEGMENT)
    return content(lake)


@pytest.mark.parametrize("before", [True, False])
def test_killed_at_any_change(
    tmp_path: Path, expected: dict[str, list[dict[str, Any]]], before: bool
) -> None:
    step = 0
    while is_killed(None, tmp_path / str(step), Writer.ARROW, step, before=before):
        ingest_here(tmp_path / str(step), SEGMENT)
        assert content(tmp_path / str(step)) == expected
        step += 1
    assert step == 9, "four tables, the constraints, four commits"


@pytest.mark.spark
@pytest.mark.deep
@pytest.mark.parametrize("step", range(4))
def test_spark_killed_at_a_change(
    session: SparkSession, tmp_path: Path, expected: dict[str, list[dict[str, Any]]], step: int
) -> None:
    assert is_killed(session, tmp_path, Writer.SPARK, step, before=False)
    bring(session, tmp_path, SEGMENT, writer=Writer.SPARK)
    assert content(tmp_path) == expected


def half_done(lake: Path) -> None:
    """Make a lake with one complete run, and a second one of which only `log` is committed."""
    ingest_here(lake, OTHER)
    with killed(Writer.ARROW, 0, before=False) as made, pytest.raises(Killed):
        ingest_here(lake, SEGMENT)
    assert made == ["create_write_transaction"]


def test_half_a_run_does_not_count(tmp_path: Path) -> None:
    ingest_here(tmp_path / "whole", OTHER)
    half_done(tmp_path / "half")
    assert delta_rows(tmp_path / "half" / "log").num_rows > len(rows(tmp_path / "whole", "log"))
    assert content(tmp_path / "half") == content(tmp_path / "whole")


@pytest.mark.parametrize("later", [0, 9])
def test_a_half_run_is_finished_first_and_said(tmp_path: Path, later: int) -> None:
    """Even by an ingest of something else, and with so many commits of others behind it: nothing is read again."""
    half_done(tmp_path / "half")
    log = DeltaTable(tmp_path / "half" / "log")
    for _ in range(later):
        log.create_write_transaction([], "append", log.schema())
    done = ingest_here(tmp_path / "half", OTHER)
    assert (done.run, done.notes) == (None, ["finished run 2, which had been interrupted"])
    ingest_here(tmp_path / "whole", OTHER, SEGMENT)
    assert content(tmp_path / "half") == content(tmp_path / "whole")


def test_a_half_run_whose_files_are_gone_is_given_up(tmp_path: Path) -> None:
    """VACUUM removes files that no commit names."""
    half_done(tmp_path / "half")
    named = {Path(uri).name for uri in DeltaTable(tmp_path / "half" / "events").file_uris()}
    for file in (tmp_path / "half" / "events").glob("*.parquet"):
        if file.name not in named:
            file.unlink()
    done = ingest_here(tmp_path / "half", SEGMENT)
    assert done.run == 3 and "cannot be finished" in str(done.notes)
    ingest_here(tmp_path / "whole", OTHER, SEGMENT)
    assert content(tmp_path / "half") == content(tmp_path / "whole")
    assert ingest_here(tmp_path / "half", SEGMENT) == (None, [], [])


def test_the_source_may_change_before_a_half_run_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "__consumer_offsets-4" / SEGMENT.name
    path.parent.mkdir()
    data = SEGMENT.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with killed(Writer.ARROW, 4, before=False), pytest.raises(Killed):
        ingest_here(tmp_path / "lake", path)
    path.write_bytes(data)
    ingest_here(tmp_path / "lake", path)
    ingest_here(tmp_path / "whole", path)
    assert content(tmp_path / "lake", "log", "events") == content(tmp_path / "whole", "log", "events")


def test_a_commit_that_comes_twice_is_one(tmp_path: Path) -> None:
    ingest_here(tmp_path, SEGMENT)
    before = content(tmp_path)
    again = [
        NewFile(table, path.name, path.stat().st_size, 1, 0, "{}")
        for table in ("log", "events", "sources")
        for path in (tmp_path / table).glob("*.parquet")
    ]
    ArrowLake(tmp_path).commit(1, again)
    assert content(tmp_path) == before


def test_a_commit_after_a_foreign_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer changes the table between our look at it and our commit."""
    ingest_here(tmp_path, OTHER)
    commit, disturbed = DeltaTable.create_write_transaction, []

    def disturbing(table: DeltaTable, *args: Any, **options: Any) -> None:
        if table.table_uri not in disturbed:
            disturbed.append(table.table_uri)
            DeltaTable(table.table_uri).alter.set_table_properties({"delta.checkpointInterval": "7"})
        commit(table, *args, **options)

    monkeypatch.setattr(DeltaTable, "create_write_transaction", disturbing)
    assert ingest_here(tmp_path, SEGMENT).run == 2
    assert len(disturbed) == 4
    ingest_here(tmp_path / "whole", OTHER, SEGMENT)
    assert content(tmp_path) == content(tmp_path / "whole")


def test_a_run_whose_number_another_job_took_is_refused(tmp_path: Path) -> None:
    """Two jobs that write at once, though one should have been refused: neither takes the other's rows for its own."""
    ingest_here(tmp_path, SEGMENT)
    before = content(tmp_path)
    others = [
        NewFile(table, f"part-{table}.parquet", 1, 1, 0, "{}") for table in ("log", "events", "sources")
    ]
    with pytest.raises(OffsetsToolError, match="another job wrote to"):
        ArrowLake(tmp_path).commit(1, others)
    with pytest.raises(OffsetsToolError, match="another job wrote to"):
        ArrowLake(tmp_path).commit(1, others[2:])
    assert content(tmp_path) == before


def test_a_table_whose_making_was_killed_is_made_by_the_next_run(tmp_path: Path) -> None:
    """deltalake makes the folder of a log before the first commit."""
    ingest_here(tmp_path, SEGMENT, cluster="c")
    for table in (OFFSET_HISTORY, REPLAYS, LAG, DERIVATIONS):
        (tmp_path / table.name / "_delta_log").mkdir(parents=True)
    steps = list(run(Request(paths=[str(SEGMENT)], lake=str(tmp_path), cluster="c"), no_session, None))
    assert [step.job for step in steps if step.run] == ["replay", "lag", "expiry", "findings"]


def test_a_run_opens_each_table_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening costs what a table has commits; what a job commits, the jobs after it see all the same."""
    opened, made = list[str](), DeltaTable.__init__

    def counted(table: DeltaTable, table_uri: str, *arguments: Any, **options: Any) -> None:
        opened.append(table_uri)
        made(table, table_uri, *arguments, **options)

    for source in (SEGMENT, OTHER):
        request = Request(paths=[str(source)], lake=str(tmp_path), cluster="c")
        opened.clear()
        monkeypatch.setattr(DeltaTable, "__init__", counted)
        steps = list(run(request, no_session, None))
        assert [step.job for step in steps if step.run is None] == []
    assert sorted(opened) == sorted(str(tmp_path / table.name) for table in ALL_TABLES)
