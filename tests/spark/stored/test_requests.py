"""How often a command asks storage: each log and each listing once, each commit by one put, and no more with each night than the
night brings."""

from collections.abc import Iterator
from typing import Final

import click
import pytest
from click.testing import CliRunner

from offsets_tool.cli import main as tool
from offsets_tool.log.archive import delta_mirror
from offsets_tool.log.archive.delta import open_delta
from offsets_tool.log.storage import as_path
from spark.cli import main
from spark.lake import lease, log_checkpoints
from tests.log.object_store import ObjectStore, object_store
from tests.spark.stored.test_stored_lake import SEGMENTS

pytestmark = pytest.mark.server
LAKE: Final = "s3://evidence/lake"
RUN: Final = [*("run", "s3://evidence/dump"), "--lake", LAKE]
QUESTION: Final = ["sql", "--lake", LAKE, "SELECT count(*) FROM current_offsets"]
CHECK: Final = ["check", "--lake", LAKE]
COMMANDS: Final[list[tuple[str, click.Command, list[str], int]]] = [
    ("the first run", main, RUN, 130),
    ("a run with nothing new", main, RUN, 60),
    ("a question", tool, QUESTION, 30),
    ("a check", main, CHECK, 78),
    *((f"a run of cluster {number}", main, [*RUN, "--cluster", f"c{number}"], 260) for number in range(5)),
    ("a run with nothing new of six clusters", main, [*RUN, "--cluster", "c4"], 185),
    ("a question to six clusters", tool, QUESTION, 85),
    ("a check of six clusters", main, CHECK, 315),
]
"""Commands in their order, and the requests that they may make: what a lake has, and not how often it is looked at, counts."""


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStore]:
    with object_store() as server:
        server.upload(SEGMENTS, "dump")
        yield server


def forget_logs() -> None:
    """Let this process know no more of logs than one that has just begun, as each command of a user's is."""
    delta_mirror._OF_TABLES.clear()
    delta_mirror._folder.cache_clear()


def test_a_command_asks_storage_for_each_thing_once(server: ObjectStore) -> None:
    asked = {}
    for name, program, arguments, _ in COMMANDS:
        forget_logs()
        server.asked()
        done = CliRunner().invoke(program, [*arguments, "--format", "jsonl"])
        assert done.exit_code == 0, done.output
        asked[name] = len(server.asked())
    print(asked)
    assert {name: asked[name] for name, _, _, most in COMMANDS if asked[name] > most} == {}


def test_what_was_just_committed_is_known_when_the_history_is_wanted(server: ObjectStore) -> None:
    """A listing that is made once goes on with what is published here, which has the times that the mirror gives it."""
    table = as_path("s3://evidence/leased") / lease.LEASE
    lease._create(table)
    forget_logs()
    with delta_mirror.logs_listed_once(table.parent, is_at_rest=True):
        lease._put(table, open_delta(table), lease.Holding("mine", "job", "2026", "2026"))
        log_checkpoints.clean_log(open_delta(table), table)
        assert open_delta(table).version() == 1
