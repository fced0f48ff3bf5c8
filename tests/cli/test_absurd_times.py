"""Times at the edges of 64 bits and of the calendar, in every place of a log that has one: every command answers, for every row."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from tests.absurd_times import EDGES, write_absurd_times

pytestmark = pytest.mark.slow

COMMANDS = (
    ("inspect",),
    ("decode",),
    ("groups",),
    ("offsets",),
    ("describe", "--group", "simple-3"),
    ("history",),
    ("findings",),
    ("findings", "--since", "2020-01-01"),
    ("lag",),
    ("transactions",),
    ("expiry",),
    ("expiry", "--retention", "7d", "--kafka-version", "2.0"),
    ("expiry", "--retention", "2147483647m", "--kafka-version", "0.8.2", "--check-interval", "9223372036854775807ms"),
)  # fmt: skip


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_absurd_times(tmp_path_factory.mktemp("absurd"))


def run(*args: object) -> Result:
    return CliRunner().invoke(main, [*map(str, args)])


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_answers(log: Path, command: tuple[str, ...]) -> None:
    done = run(command[0], log, *command[1:], "--format", "jsonl")
    assert (done.exit_code, done.exception) == (0, None)
    assert "None" not in done.stderr
    for line in done.stdout.splitlines():
        numbers = [value for value in json.loads(line).values() if isinstance(value, int)]
        assert all(-(2**63) <= number < 2**63 for number in numbers)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_table_is_drawn(log: Path, command: tuple[str, ...]) -> None:
    named = () if command[0] in ("inspect", "describe") else ("--group", "simple-3")
    done = run(*command[:1], log, *command[1:], *named, "--format", "table")
    assert (done.exit_code, done.exception) == (0, None)


@pytest.mark.parametrize("at", EDGES)
def test_any_moment_is_shown_or_refused(log: Path, at: int) -> None:
    done = run("expiry", log, "--retention", "1m", "--as-of", at, "--format", "jsonl")
    assert done.exit_code in (0, 2) and (done.exit_code == 0 or len(done.stderr.splitlines()) == 1)


def test_what_no_clock_reaches_does_not_expire_and_says_so(log: Path) -> None:
    rows = [json.loads(line) for line in run("expiry", log, "--retention", "7d").stdout.splitlines()]
    live = [row for row in rows if row["status"] == "live"]
    assert {row["rule"] for row in live if row["commit_timestamp"] == 2**63 - 1} >= {"out_of_range"}
    for row in live:
        if row["rule"] == "out_of_range":
            assert (row["expires_at"], row["expires_in_ms"]) == (None, None)
        if row["group"].startswith("simple-") and row["commit_timestamp"] == EDGES[4]:
            assert row["expires_at"] == "2023-11-21T22:13:20.000Z"


def test_a_table_shows_the_number_of_a_time_outside_of_the_calendar(log: Path) -> None:
    shown = run("offsets", log, "--group", "simple-1", "--format", "table").stdout
    assert "9223372036854775807ms" in shown and "9999-12-31T23:59:59.999Z" in shown


@pytest.mark.parametrize(
    ("option", "text", "remedy"),
    [
        ("--retention", "999999999999d", "write at most 1491308d"),
        ("--retention", f"{10**40}w", "write at most"),
        ("--retention", "0d", "is no span of time"),
        ("--check-interval", "9223372036854775808ms", "write at most"),
    ],
)
def test_spans_that_no_broker_can_have_are_refused(log: Path, option: str, text: str, remedy: str) -> None:
    done = run("expiry", log, option, text)
    assert done.exit_code == 2 and remedy in done.stderr and len(done.stderr) < 200
