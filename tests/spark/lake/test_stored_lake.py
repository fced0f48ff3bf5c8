"""A lake in object storage is the lake on disk, row for row, whatever storage does meanwhile; one job at a time writes to it."""

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from deltalake.exceptions import DeltaError

from offsets_tool.errors import OffsetsToolError
from offsets_tool.lake.tables import ALL_TABLES, LOG, Table
from offsets_tool.log import buckets
from offsets_tool.log.archive.delta import delta_rows, open_delta
from offsets_tool.log.archive.delta_log import has_commit
from offsets_tool.log.storage import as_path
from offsets_tool.sql.duck_lake import DuckLake
from spark.cli import main
from spark.ingest.ingest import Ingested, Request, ingest
from spark.lake import lease
from spark.lake.commit import ArrowLake
from tests.corpora import CORPORA
from tests.log.object_store import CUT, CUT_AFTER, LATE, SECRET, ObjectStore, object_store
from tests.spark.lakes import no_session

pytestmark = pytest.mark.server
SEGMENTS = CORPORA / "0.11.0.3-mix" / "segments"
PASSING = (
    "run",
    "ingested_at",
    "replayed_at",
    "derived_at",
    "source",
    "sources",
    "path",
    "directory",
    "copy",
    "checkpoint",
    "file_modified_at",
    "basis",
)
"""What differs between two lakes of the same evidence in two places."""


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStore]:
    buckets._bucket.cache_clear()
    with object_store() as server:
        server.upload(SEGMENTS, "dump")
        yield server
    buckets._bucket.cache_clear()


@pytest.fixture(autouse=True)
def sound(server: ObjectStore) -> Iterator[None]:
    yield
    server.mend()


def bring(lake: str | Path, source: str | Path) -> Ingested:
    return ingest(Request(paths=[str(source)], lake=str(lake)), no_session)


def run(lake: str | Path, source: str | Path) -> None:
    done = CliRunner().invoke(main, ["run", str(source), "--lake", str(lake), "--format", "jsonl"])
    assert done.exit_code == 0, done.stderr
    assert SECRET not in done.output + done.stderr


def content(lake: str | Path, table: Table) -> list[str]:
    rows = delta_rows(as_path(str(lake)) / table.name).to_pylist()
    return sorted(json.dumps(_without_places(row), sort_keys=True, default=str) for row in rows)


def _without_places(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in PASSING}


def assert_same(lake: str, other: Path) -> None:
    tables = [table for table in ALL_TABLES if has_commit(other / table.name)]
    assert tables
    for table in tables:
        assert content(lake, table) == content(other, table), table.name


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake on disk after one ingest."""
    lake = tmp_path_factory.mktemp("lake")
    bring(lake, SEGMENTS)
    return lake


def assert_same_answers(lake: str, other: Path) -> None:
    """Assert that two lakes have the same tables and views without Spark, but for the folders of the sources."""
    stored, here = DuckLake(lake), DuckLake(str(other))
    assert stored.shown == here.shown
    for one in stored.shown:
        if one.lacks is None:
            answers = [
                sorted(json.dumps(_without_places(row), sort_keys=True, default=str) for row in rows)
                for rows in (asked.ask(f"SELECT * FROM {one.name}").rows for asked in (stored, here))
            ]
            assert answers[0] == [row.replace(str(SEGMENTS), "s3://evidence/dump") for row in answers[1]], (
                one.name
            )


def test_all_tables_and_answers_are_those_of_a_lake_on_disk(server: ObjectStore, tmp_path: Path) -> None:
    run(tmp_path / "lake", SEGMENTS)
    run("s3://evidence/whole", "s3://evidence/dump")
    assert_same("s3://evidence/whole", tmp_path / "lake")
    run("s3://evidence/whole", "s3://evidence/dump")
    assert_same("s3://evidence/whole", tmp_path / "lake")
    for table in ALL_TABLES:
        assert SECRET not in "".join(content("s3://evidence/whole", table))
    assert_same_answers("s3://evidence/whole", tmp_path / "lake")
    server.fail("AccessDenied", times=999, method="GET", part="/events/part")
    with pytest.raises(OffsetsToolError) as error:
        list(DuckLake("s3://evidence/whole").ask("SELECT * FROM events").rows)
    said = str(error.value)
    assert said.startswith("s3://evidence/whole") and "\n" not in said and SECRET not in said


@pytest.mark.parametrize("code", ["SlowDown", "InternalError"])
def test_faults_that_pass_leave_no_trace(server: ObjectStore, local: Path, code: str) -> None:
    lake = f"s3://evidence/passing-{code}"
    server.fail(code, times=2, method="PUT", part="/log/")
    server.fail(code, times=2, method="PUT", part="/sources/")
    server.fail(code, times=2, method="GET")
    bring(lake, "s3://evidence/dump")
    assert_same(lake, local)


@pytest.mark.parametrize("code", [CUT, CUT_AFTER])
@pytest.mark.parametrize("part", ["/log/part", "/log/_delta_log/00000000000000000002", "/sources/_delta_log"])
def test_a_connection_that_is_cut_in_a_put_is_made_up_for(
    server: ObjectStore, local: Path, code: str, part: str
) -> None:
    lake = f"s3://evidence/{code.replace(' ', '-')}{part.replace('/', '-')}"
    bring(lake, SEGMENTS / "__consumer_offsets-0")
    server.fail(code, times=1, method="PUT", part=part)
    # Where a put is not made again by itself, nobody knows whether it was done.
    with suppress(OSError, DeltaError, OffsetsToolError):
        bring(lake, SEGMENTS)
    server.mend()
    bring(lake, SEGMENTS)
    assert_same(lake, local)


@pytest.mark.parametrize("part", ["/events/part", "/events/_delta_log/00000000000000000002", "/sources/part"])
def test_a_put_that_fails_for_good_is_made_up_for_by_the_next_run(
    server: ObjectStore, local: Path, part: str
) -> None:
    lake = f"s3://evidence/failing{part.replace('/', '-')}"
    bring(lake, SEGMENTS / "__consumer_offsets-0")
    for method in ("PUT", "POST"):
        server.fail("AccessDenied", times=999, method=method, part=part)
    with pytest.raises(Exception) as error:
        bring(lake, SEGMENTS)
    assert SECRET not in str(error.value)
    server.mend()
    bring(lake, SEGMENTS)
    assert_same(lake, local)


def test_what_a_listing_of_the_sources_lacks_is_brought_by_the_next_run(
    server: ObjectStore, local: Path
) -> None:
    lake, lost = "s3://evidence/late", max(path.name for path in SEGMENTS.iterdir())
    server.fail(LATE, times=1, part=lost)
    bring(lake, "s3://evidence/dump")
    assert 0 < len(content(lake, LOG)) < len(content(local, LOG))
    server.mend()
    bring(lake, "s3://evidence/dump")
    assert_same(lake, local)


@pytest.mark.parametrize("table", ["log", "events", "sources"])
def test_a_listing_that_lacks_the_newest_commit_loses_nothing(
    server: ObjectStore, local: Path, table: str
) -> None:
    lake = f"s3://evidence/late-commit-{table}"
    parts = sorted(SEGMENTS.iterdir())
    for part in parts[:-1]:
        bring(lake, part)
    version = open_delta(as_path(lake) / table).version()
    server.fail(LATE, times=1, part=f"/{table}/_delta_log/{version:020}.json")
    assert open_delta(as_path(lake) / table).version() < version
    with suppress(OSError, DeltaError, OffsetsToolError):
        bring(lake, SEGMENTS)
    server.mend()
    bring(lake, SEGMENTS)
    assert_same(lake, local)


def test_a_second_writer_is_refused(server: ObjectStore) -> None:
    from spark.lake.lease import leased

    root = as_path("s3://evidence/held")
    with leased(root), pytest.raises(OffsetsToolError, match=r"is writing to s3://evidence/held since 20"):
        bring(str(root), SEGMENTS)


def test_a_job_that_lost_its_lease_counts_for_nothing_until_it_runs_again(
    server: ObjectStore, local: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody renewed the lease; another job took it, and was done before the first one committed."""
    lake, parts, others = "s3://evidence/lost", sorted(SEGMENTS.iterdir()), list[int]()
    bring(lake, parts[0])
    commit = ArrowLake.commit

    def outrun(self: ArrowLake, *args: Any, **options: Any) -> Any:
        if not others:
            others.append(args[0])
            bring(lake, parts[1])
        return commit(self, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(lease, "LASTS", timedelta(seconds=-1))
        patch.setattr(ArrowLake, "commit", outrun)
        with pytest.raises(OffsetsToolError, match=f"another job wrote to {lake}"):
            bring(lake, SEGMENTS)
    assert others
    bring(lake, SEGMENTS)
    assert_same(lake, local)
