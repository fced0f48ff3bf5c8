"""How often a command asks storage: each log and each listing once, and no more with each night than the night brings."""

from collections.abc import Iterator
from typing import Final

import click
import pytest
from click.testing import CliRunner

from offsets_tool.cli import main as tool
from spark.cli import main
from tests.log.object_store import ObjectStore, object_store
from tests.spark.stored.test_stored_lake import SEGMENTS

pytestmark = pytest.mark.server
LAKE: Final = "s3://evidence/lake"
RUN: Final = [*("run", "s3://evidence/dump"), "--lake", LAKE]
COMMANDS: Final[list[tuple[str, click.Command, list[str], int]]] = [
    ("the first run", main, RUN, 950),
    ("a run with nothing new", main, RUN, 125),
    ("a question", tool, ["sql", "--lake", LAKE, "SELECT count(*) FROM current_offsets"], 50),
    ("a check", main, ["check", "--lake", LAKE], 350),
]
"""Commands in their order, and the requests that they may make: they were 2,100, 1,350, 260 and 1,220."""


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStore]:
    with object_store() as server:
        server.upload(SEGMENTS, "dump")
        yield server


def test_a_command_asks_storage_for_each_thing_once(server: ObjectStore) -> None:
    asked = {}
    for name, program, arguments, _ in COMMANDS:
        server.asked()
        done = CliRunner().invoke(program, [*arguments, "--format", "jsonl"])
        assert done.exit_code == 0, done.output
        asked[name] = len(server.asked())
    print(asked)
    assert {name: asked[name] for name, _, _, most in COMMANDS if asked[name] > most} == {}
