"""A lake in object storage is the lake on disk, row for row, whatever storage does meanwhile; one job at a time writes to it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from offsets_tool.cli import main as tool
from offsets_tool.errors import OffsetsToolError
from offsets_tool.lake.tables import ALL_TABLES, Table
from offsets_tool.log.archive.delta import delta_rows
from offsets_tool.log.archive.delta_mirror import has_commit
from offsets_tool.log.storage import as_path
from offsets_tool.sql.duck_lake import DuckLake
from spark.check.check import check
from spark.cli import main
from spark.ingest.ingest import Ingested, Request, ingest
from tests.corpora import CORPORA
from tests.log.environment import environment
from tests.log.object_store import SECRET, ObjectStore, object_store
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
    with object_store() as server:
        server.upload(SEGMENTS, "dump")
        yield server


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


def assert_same_answer(command: str, source: str) -> None:
    """Assert that a command says of SEGMENTS in storage what it says of them on disk."""
    here, there = (
        CliRunner().invoke(tool, [command, place, "--format", "jsonl"]) for place in (str(SEGMENTS), source)
    )
    assert here.stdout
    assert (there.exit_code, there.stdout) == (0, here.stdout.replace(str(SEGMENTS), source)), there.stderr


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
    for words in (["offsets"], ["findings"], ["explain", "--group", "*"]):
        there, on_disk = (
            CliRunner().invoke(tool, [words[0], place, *words[1:], "--format", "jsonl"])
            for place in ("s3://evidence/whole", str(tmp_path / "lake"))
        )
        assert (there.exit_code, there.stdout) == (0, on_disk.stdout) and on_disk.stdout, there.stderr
    stored, here = (
        list(check(lake, reads_rows=True, reads_sources=True))
        for lake in ("s3://evidence/whole", str(tmp_path / "lake"))
    )
    assert [each._replace(where="") for each in stored] == [each._replace(where="") for each in here]
    assert all(each.is_ok for each in stored)
    server.fail("AccessDenied", times=999, method="GET", part="/events/part")
    with pytest.raises(OffsetsToolError) as error:
        list(DuckLake("s3://evidence/whole").ask("SELECT * FROM events").rows)
    said = str(error.value)
    assert said.startswith("s3://evidence/whole") and "\n" not in said and SECRET not in said


def test_a_profile_gives_the_credentials_of_all_requests(server: ObjectStore, tmp_path: Path) -> None:
    """Commits are put by another client than the rest, which does not look for profiles itself."""
    file = tmp_path / "credentials"
    file.write_text(f"[night]\naws_access_key_id = offsets\naws_secret_access_key = {SECRET}\n")
    profile = {"AWS_PROFILE": "night", "AWS_SHARED_CREDENTIALS_FILE": str(file)}
    with environment({}), pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.delenv(name)
        with environment(profile):
            assert bring("s3://evidence/by-profile", "s3://evidence/dump").run == 1
