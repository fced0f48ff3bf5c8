"""`--bootstrap-server` on the command line: what a running broker gives is what its own files hold."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from tests.broker import KRaftBroker

pytestmark = pytest.mark.broker


def invoke(*args: object) -> Result:
    return CliRunner().invoke(main, [*map(str, args)])


def rows(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def without_place(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row without the fields on where it was read, as live batches have no position in a file."""
    batch = {name: value for name, value in row["batch"].items() if name != "position"}
    return {name: value for name, value in row.items() if name != "source"} | {"batch": batch}


def test_live_rows_are_the_rows_of_the_files(active: KRaftBroker) -> None:
    live = rows(invoke("decode", "--bootstrap-server", active.bootstrap_server, "--strict"))
    copied = rows(invoke("decode", active.data_dir, "--strict"))
    assert len(live) > 5
    assert [without_place(row) for row in live] == [without_place(row) for row in copied][: len(live)]
    assert all(row["source"].startswith("kafka://") for row in live)


@pytest.mark.parametrize("formatter", ["offsets", "group-metadata", "dump-log"])
def test_live_dialects_are_those_of_the_files(active: KRaftBroker, formatter: str) -> None:
    asked = ("--formatter", formatter, "--kafka-version", "4.3.1", "--log-partition", "0")
    live = invoke("decode", "--bootstrap-server", active.bootstrap_server, *asked)
    copied = invoke("decode", active.data_dir, *asked)
    assert live.exit_code == copied.exit_code == 0
    if formatter == "dump-log":
        # Two header lines name the file; batches begin at other positions.
        strip = [line.split(" position: ")[0] for line in copied.stdout.splitlines()[2:]]
        assert [line.split(" position: ")[0] for line in live.stdout.splitlines()[2:]] == strip
    else:
        assert live.stdout == copied.stdout


def test_inspect_adds_up_live(active: KRaftBroker) -> None:
    files = rows(invoke("inspect", "--bootstrap-server", active.bootstrap_server))
    assert len(files) == 4 and all(file["adds_up"] for file in files)


def test_nobody_there_is_one_sentence() -> None:
    result = invoke("decode", "--bootstrap-server", "127.0.0.1:9")
    assert result.exit_code == 1
    assert "127.0.0.1:9" in result.stderr and "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "asked", [("--log-partition", "99"), ("--since", "99:0"), ("--log-partition", "0", "--since", "1:0")]
)
def test_a_partition_that_there_is_not_is_refused(active: KRaftBroker, asked: tuple[str, ...]) -> None:
    result = invoke("decode", "--bootstrap-server", active.bootstrap_server, *asked)
    assert result.exit_code == 2
    assert "__consumer_offsets has the partitions 0 to 3" in result.stderr


def test_columns_are_an_archives(active: KRaftBroker) -> None:
    result = invoke("decode", "--bootstrap-server", active.bootstrap_server, "--columns", "offset=o")
    assert result.exit_code == 2 and "--columns" in result.stderr
