"""Each request to storage fails once, in each way that one can fail: commands end right, or with one sentence and nothing lost."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main as tool
from offsets_tool.log import buckets
from spark.cli import main
from tests.depth import DEEP
from tests.log.faults import CUT, CUT_AFTER, CUT_INSIDE, SLOW
from tests.log.object_store import SECRET, ObjectStore, object_store
from tests.spark.ingest.test_side_files import with_files_beside
from tests.spark.stored.test_stored_lake import assert_same, run

pytestmark = pytest.mark.server
EVERY: Final = {"InternalError": 1, "SlowDown": 1, CUT: 1, CUT_AFTER: 1, CUT_INSIDE: 1, SLOW: 40}
"""The ways to fail, and which part of the requests fails so in `make deep`: one that is slow keeps a client waiting."""
SAMPLE: Final = 12
"""Elsewhere, a twelfth of these."""
AGAIN: Final = 8
"""How often a command is given at most: of several puts whose answers are lost, each ends one."""
ALL_FAIL: Final = 3
"""How often at most while all requests fail, before samples of them do: a log of many commits is never read so."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with object_store() as store:
        store.upload(with_files_beside(tmp_path_factory.mktemp("dump") / "data"), "dump")
        yield store


@pytest.fixture(autouse=True)
def sound(store: ObjectStore) -> Iterator[None]:
    yield
    store.mend()


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake on disk of the same evidence."""
    folder = tmp_path_factory.mktemp("local")
    run(folder / "lake", with_files_beside(folder / "data"))
    return folder / "lake"


def assert_one_sentence(done: Result) -> None:
    """Assert that a command that failed said why, and no more; that it is not done, where it is not; and no secret."""
    *_, last = done.stderr.splitlines()
    assert done.exit_code == 1 and last.startswith("Error: "), done.output
    assert "stdout" not in last and "Traceback" not in done.stderr and SECRET not in done.output


def brought(store: ObjectStore, program: click.Command, arguments: list[str], way: str, every: int) -> Result:
    """Give a command while its requests fail so, every so many of them, again and again until it is done; return how it ended.

    One that fails at the same request whenever all of them do is done while samples of them fail, one sample after another.
    """
    failed = 0
    tries = [(every, first % every) for first in range(ALL_FAIL if every < SAMPLE else AGAIN)]
    for share, first in [*tries, *((SAMPLE, first) for first in range(SAMPLE) if every < SAMPLE)]:
        # As in a process of its own: S3's clients give up once they have asked again a hundred times.
        buckets._bucket.cache_clear()
        store.fail_each(way, every=share, first=first)
        done = CliRunner().invoke(program, [*arguments, "--format", "jsonl"])
        failed += store.mend()
        if done.exit_code == 0:
            break
        assert_one_sentence(done)
    assert done.exit_code == 0, (arguments, done.output)
    assert failed, arguments
    return done


@pytest.mark.parametrize("way", EVERY)
def test_each_request_fails_once(store: ObjectStore, local: Path, way: str) -> None:
    lake = f"{store.root}/lake-{way.replace(' ', '-')}"
    commands = {
        "run": (main, ["run", f"{store.root}/dump", "--lake", lake]),
        "again": (main, ["run", f"{store.root}/dump", "--lake", lake]),
        "sql": (tool, ["sql", "--lake", lake, "SELECT count(*), sum(committed_offset) FROM current_offsets"]),
        "check": (main, ["check", "--lake", lake]),
        "offsets": (tool, ["offsets", f"{store.root}/dump"]),
    }
    here = CliRunner().invoke(
        tool, ["sql", "--lake", str(local), commands["sql"][1][-1], "--format", "jsonl"]
    )
    every = EVERY[way] * (1 if DEEP else SAMPLE)
    for name, (program, arguments) in commands.items():
        done = brought(store, program, arguments, way, every)
        if name == "sql":
            assert done.stdout == here.stdout
    assert_same(lake, local)
