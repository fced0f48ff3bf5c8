"""Lakes kept from 0.1.0 are brought up to date: what was added to declarations since is null in them, and all jobs go on."""

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, Field

from offsets_tool.errors import UsageError
from offsets_tool.lake.tables import ALL_TABLES
from offsets_tool.log.archive.delta import delta_rows
from offsets_tool.sql.duck_lake import DuckLake
from spark.check.check import check
from spark.ingest.ingest import Request
from spark.lake.upgrade import upgrade
from spark.run import run
from tests.corpora import CORPORA, FIXTURES
from tests.evidence.copies import copy
from tests.spark.derived.test_forget import LOG
from tests.spark.lakes import ingest_here, no_session
from tests.spark.replay.test_copies import replay_here

LATER = """
import importlib.util, sys

def declare(name, last):
    spec = importlib.util.find_spec(name)
    source = open(spec.origin).read()
    assert last in source
    more = last + '\\n    colour: Annotated[String | None, "Its colour."] = None'
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    exec(compile(source.replace(last, more), spec.origin, "exec"), module.__dict__)

declare("offsets_tool.table_rows", 'ingested_at: Annotated[datetime, "When the ingest began."]')
"""
"""Declares a column more of `sources`, as a later version may, before anything else is imported."""
ASKED = """
import json, sys
from pathlib import Path
from offsets_tool.errors import UsageError
from offsets_tool.lake.tables import SOURCES
from offsets_tool.sql.duck_lake import DuckLake
from spark.check.check import check
from spark.lake.commit import ArrowLake
from spark.lake.upgrade import upgrade
from tests.spark.lakes import ingest_here
from tests.spark.replay.test_copies import replay_here

lake, night = map(Path, sys.argv[1:])
assert "colour" in SOURCES.schema.names
refused = []
for job in (lambda: ingest_here(lake, night, cluster="c"), lambda: replay_here(lake)):
    try:
        job()
    except UsageError as error:
        refused.append(str(error))
refused.append(next(each.remedy for each in check(str(lake)) if not each.is_ok))
added = [[*each] for each in upgrade(str(lake))]
again = upgrade(str(lake))
ingest_here(lake, night, cluster="c")
replay_here(lake)
colours = [row["colour"] for row in ArrowLake(lake).sources()]
asked = DuckLake(str(lake)).ask("SELECT colour FROM sources ORDER BY run")
assert [row["colour"] for row in asked.rows] == colours
wrong = sorted({each.what for each in check(str(lake)) if not each.is_ok})
print(json.dumps([refused, added, again, colours, wrong]))
"""


def unpacked(name: str, folder: Path) -> Path:
    """Return the lake that a kept tar holds, in a folder."""
    with tarfile.open(FIXTURES / "lakes" / name) as kept:
        # Not `extractall(filter=)`: Python 3.11 has it from 3.11.4 on, and Debian 12 has 3.11.2.
        kept.extraction_filter = tarfile.data_filter if hasattr(tarfile, "data_filter") else None
        kept.extractall(folder)
    return folder / "lake"


@pytest.fixture
def former(tmp_path: Path) -> Path:
    """The lake that 0.1.0 made: cluster c with two nights of a log, d with one, and all that is derived."""
    return unpacked("0.1.0.tar.xz", tmp_path)


def test_the_lake_of_0_1_0_goes_on(former: Path, tmp_path: Path) -> None:
    """Brought up to date, it answers as one that this version has made of the same nights. Before, that is all it lacks.

    Its checkpoints are not read any more: the next replay begins at the first records.
    """
    assert faults(former) == {("tables", "run offsets-spark upgrade"), REPLAYED}
    upgrade(str(former))
    assert faults(former) == {REPLAYED}
    ingest_here(former, copy(tmp_path / "night-2", LOG), cluster="c")
    replay_here(former)
    assert REPLAYED not in faults(former)
    new = tmp_path / "new"
    for number, end in enumerate((6, 9, 12)):
        ingest_here(new, copy(tmp_path / f"again-{number}", LOG[:end]), cluster="c")
    ingest_here(new, copy(tmp_path / "again-d", LOG[:4]), cluster="d")
    replay_here(new)
    for table in ("offset_history", "transactions", "removals", "group_history"):
        assert without_runs(former, table) == without_runs(new, table), table


def test_a_kept_lake_with_rows_in_all_tables_goes_on(tmp_path: Path) -> None:
    """Everything that was kept is understood: each table and view answers, and all jobs go on from it."""
    lake = unpacked("0.1.0-all-tables.tar.xz", tmp_path)
    upgrade(str(lake))
    assert all(delta_rows(lake / table.name).num_rows for table in ALL_TABLES)
    assert faults(lake) == {REPLAYED}
    more = CORPORA / "4.3.1-kip848" / "segments" / "__consumer_offsets-3"
    request = Request(paths=[str(more)], lake=str(lake), cluster="4.3.1-kip848")
    assert all(step.run for step in run(request, no_session, "auto"))
    assert faults(lake) == set()
    opened = DuckLake(str(lake))
    for one in opened.shown:
        (found,) = opened.ask(f"SELECT count(*) AS rows FROM {one.name}").rows
        assert one.lacks is None and found["rows"] is not None


REPLAYED = ("checkpoints", "run offsets-spark replay")


def faults(lake: Path) -> set[tuple[str, str]]:
    """Return what is wrong with a lake, each with the command that its remedy begins with."""
    wrong = (each for each in check(str(lake)) if not each.is_ok)
    return {(each.what, " ".join((each.remedy or "").split(",")[0].split()[:3])) for each in wrong}


def without_runs(lake: Path, table: str) -> list[str]:
    rows = delta_rows(lake / table).to_pylist()
    return sorted(repr({**row, "run": 0}) for row in rows)


def test_a_column_that_a_later_version_adds(former: Path, tmp_path: Path) -> None:
    """Jobs say what to do, and do nothing; then the column is there, null in earlier rows, and they go on."""
    upgrade(str(former))
    night = copy(tmp_path / "night-2", LOG)
    done = subprocess.run(
        [sys.executable, "-c", LATER + ASKED, str(former), str(night)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(FIXTURES.parent)},
    )
    assert done.returncode == 0, done.stderr
    refused, added, again, colours, wrong = json.loads(done.stdout)
    said = "run offsets-spark upgrade on the lake, which adds what it lacks"
    assert [text.rpartition(": ")[2] for text in refused] == [said, said, said]
    assert "sources was made by an earlier version, and has no column colour: " in refused[0]
    assert (added, again) == ([["sources", ["colour"]]], [])
    assert len(colours) == 7 and set(colours) == {None}
    assert wrong == ["derived"], "what is derived rests on the replay before"


def renamed(lake: Path) -> None:
    """Rename a column of a table in the lake."""
    commit = min((lake / "events" / "_delta_log").glob("*.json"))
    commit.write_text(commit.read_text().replace("kept_raw", "raw_kept"))


def more(lake: Path) -> None:
    """Add a column that no version has to a table of the lake."""
    DeltaTable(lake / "events").alter.add_columns([Field("colour", "string")])


@pytest.mark.parametrize("change", [renamed, more])
def test_another_layout_is_refused_as_it_was(former: Path, change: Callable[[Path], Any]) -> None:
    """Nothing is changed then, of tables that lack columns either."""
    change(former)
    versions = {table.name: DeltaTable(former / table.name).version() for table in ALL_TABLES}
    for job in (
        upgrade,
        lambda lake: ingest_here(Path(lake), copy(former.parent / "night-2", LOG)),
        lambda lake: replay_here(Path(lake)),
    ):
        with pytest.raises(UsageError, match="has other columns than this version writes: ingest into a new"):
            job(str(former))
    assert versions == {table.name: DeltaTable(former / table.name).version() for table in ALL_TABLES}
