"""Each job on a lake in storage of which requests fail: it ends right, or says one sentence and ends right when given again."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from offsets_tool.cli import main as tool
from spark.cli import main
from tests.depth import DEEP
from tests.log.object_store import ObjectStore, object_store
from tests.spark.lake.test_upgrade import unpacked
from tests.spark.stored.test_every_request import EVERY, SAMPLE, brought
from tests.spark.stored.test_stored_lake import assert_same

pytestmark = pytest.mark.server
JOBS: Final = {
    "upgrade": ["upgrade"],
    "replay from the start": ["replay"],
    "lag": ["lag", "--grid", "1h"],
    "expiry": ["expiry", "--retention", "30d"],
    "findings": ["findings"],
    "compact": ["compact", "--days-kept", "0"],
    "retain": ["retain", "--keep", "1d"],
    "forget": ["forget", "--cluster", "c", "--source", "/evidence/c/night-1"],
    "replay": ["replay"],
    "forget all": ["forget", "--cluster", "d"],
}
"""Jobs on a lake of 0.1.0, one after another."""


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with object_store() as store:
        yield store


@pytest.fixture(autouse=True)
def sound(store: ObjectStore) -> Iterator[None]:
    yield
    store.mend()


@pytest.fixture(scope="module")
def former(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked("0.1.0.tar.xz", tmp_path_factory.mktemp("former"))


@pytest.fixture(scope="module")
def local(former: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The lake on disk as it is after each job."""
    lakes, before = {}, former
    for name, arguments in JOBS.items():
        lakes[name] = shutil.copytree(before, tmp_path_factory.mktemp("local") / "lake")
        done = CliRunner().invoke(main, [*arguments, "--lake", str(lakes[name]), "--format", "jsonl"])
        assert done.exit_code == 0, done.output
        before = lakes[name]
    return lakes


WAYS: Final = list(EVERY)


@pytest.mark.parametrize("first_way", WAYS if DEEP else WAYS[:1])
def test_each_job_on_a_lake(store: ObjectStore, former: Path, local: dict[str, Path], first_way: str) -> None:
    """Each job meets another way to fail; in `make deep` all of them."""
    lake = store.upload(former, f"lake-{first_way.replace(' ', '-')}")
    for number, (name, arguments) in enumerate(JOBS.items(), WAYS.index(first_way)):
        way = WAYS[number % len(WAYS)]
        brought(store, main, [*arguments, "--lake", lake], way, EVERY[way] * (1 if DEEP else 4 * SAMPLE))
        assert_same(lake, local[name])


@pytest.mark.parametrize("way", WAYS if DEEP else WAYS[3:4])
def test_a_stream_that_ends(store: ObjectStore, former: Path, way: str, tmp_path: Path) -> None:
    """It brings what is there as a run does, also where each request fails once."""
    lake, here = f"{store.root}/stream-{way.replace(' ', '-')}", tmp_path / "lake"
    log = store.upload(former / "log", f"{way.replace(' ', '-')}-log")
    done = CliRunner().invoke(main, ["run", f"{former}/log", "--lake", str(here)])
    assert done.exit_code == 0, done.output
    for _ in range(2 if DEEP else 1):  # the second time nothing is new
        brought(
            store, main, ["stream", log, "--lake", lake, "--once"], way, EVERY[way] * (1 if DEEP else SAMPLE)
        )
        assert_same(lake, here)


QUESTIONS: Final = (["groups"], ["diagnose"], ["findings"])


@pytest.mark.deep
@pytest.mark.parametrize("way", WAYS)
def test_each_question_to_its_log(store: ObjectStore, former: Path, way: str, tmp_path: Path) -> None:
    lake = store.upload(former, f"asked-{way.replace(' ', '-')}")
    for arguments in QUESTIONS:
        here = CliRunner().invoke(tool, [*arguments, f"{former}/log", "--format", "jsonl"])
        done = brought(store, tool, [*arguments, f"{lake}/log"], way, EVERY[way])
        assert done.stdout.replace(lake, str(former)) == here.stdout
    pages = [tmp_path / "here.html", tmp_path / "there.html"]
    CliRunner().invoke(tool, ["report", f"{former}/log", "-o", str(pages[0])])
    store.fail_each(way, every=EVERY[way])
    done = CliRunner().invoke(tool, ["report", f"{lake}/log", "-o", str(pages[1])])
    store.mend()
    assert done.exit_code == 0 or not pages[1].exists()
