"""One wrong clock counts for nobody else: what commands say of a healthy group is the same as if that record had its true time."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from offsets_tool.cli import main
from tests.replay.story import commit, txn_commit
from tests.replay.story_segments import Placed, write_log
from tests.test_log_clock import WRONG, T

COUNT: Final = 12
COMMANDS: Final = (
    ("lag", "--group", "steady"),
    ("expiry", "--group", "steady", "--retention", "7d"),
    ("transactions",),
    ("findings", "--group", "steady"),
    ("findings", "--group", "streams"),
)


def placed(wrong: int | None, place: int, *, is_clients: bool) -> list[Placed]:
    """Return a log of two groups that read one partition, a record a minute, and an open transaction at its end."""
    found = []
    for number in range(COUNT):
        at = T + 60_000 * number
        said = at if wrong is None or number != place else wrong
        other = number % 2 == place % 2
        one = commit(
            "odd" if other else "steady", "t", 0, 100 + 10 * number - 5 * (not other), commit_timestamp=said
        )
        found.append(Placed(number, at if is_clients else said, one))
    end = T + 60_000 * COUNT
    open_ = txn_commit(7, "streams", "u", 0, 5, commit_timestamp=end)
    return [*found, Placed(COUNT, end, open_)]


def rows(folder: Path, command: tuple[str, ...]) -> list[dict[str, Any]]:
    done = CliRunner().invoke(main, [command[0], str(folder), *command[1:], "--format", "jsonl"])
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("place", [1, 6, COUNT - 1])
@pytest.mark.parametrize("is_clients", [False, True], ids=["brokers clock", "clients word"])
def test_what_is_said_of_others_is_the_same(
    tmp_path: Path, name: str, place: int, *, is_clients: bool
) -> None:
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    write_log(right, placed(None, place, is_clients=is_clients))
    write_log(wrong, placed(WRONG[name], place, is_clients=is_clients))
    for command in COMMANDS:
        expected, found = rows(right, command), rows(wrong, command)
        if command[0] == "lag":
            # A commit without its time bounds the end less well; it may not be false.
            for row, right_row in zip(found, expected, strict=True):
                assert row["lag_min"] <= right_row["lag_min"] and row["time_lag_min_ms"] <= 60_000 * COUNT
            found, expected = ([_certain(row) for row in some] for some in (found, expected))
        assert found == expected, command


def _certain(row: dict[str, Any]) -> dict[str, Any]:
    bounds = ("lag", "lag_min", "time_lag_ms", "time_lag_min_ms", "time_lag_max_ms", "end_offset")
    return {name: value for name, value in row.items() if name not in bounds}
