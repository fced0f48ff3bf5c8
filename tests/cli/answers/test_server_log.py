"""--server-log on the commands that tell why: reasons with their lines, what was understood on stderr, wrong files and zones."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from tests.corpora import INCIDENTS

KILLED = INCIDENTS / "member-killed"
LOG = KILLED / "group-coordinator.log"


def run(command: str, *options: str) -> Result:
    """Run a command on the incident of a killed member."""
    words = [command, str(KILLED / "segments"), *options]
    return CliRunner().invoke(main, [*words, "--group", "sensors"] if command == "explain" else words)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("findings", "the broker's log says that its session timed out after 6s"),
        ("diagnose", "Seen at 1:23, 1:19; the broker's log says it at group-coordinator.log:20."),
        ("explain", "By the broker's log: the session of sensors-2 timed out (group-coordinator.log:21)."),
        ("timeline", "By the broker's log: sensors-1 asked to leave (group-coordinator.log:24)."),
    ],
)
def test_each_command_tells_what_the_broker_said(command: str, says: str) -> None:
    done = run(command, "--server-log", str(LOG))
    assert done.exit_code == 0 and says in done.stdout
    assert "group-coordinator.log: 41 of 41 lines are a coordinator's, in a known form" in done.stderr
    assert "its times are in UTC: 3 lines are generations and epochs of the records" in done.stderr
    assert "broker's log" not in run(command).stdout


def test_lines_are_evidence_in_json() -> None:
    done = run("timeline", "--server-log", str(LOG), "--format", "jsonl")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["evidence"] for row in rows if row["log_offset"] == 34] == [
        ["1:34", "group-coordinator.log:24"]
    ]


def test_a_verdict_s_next_commands_read_the_log_too() -> None:
    done = run("diagnose", "--group", "sensors", "--server-log", str(LOG))
    assert f"offsets-tool explain {KILLED / 'segments'} --server-log {LOG} --group sensors" in done.stdout
    assert "what the brokers' own logs say of it is told with their lines" in done.stdout


def test_a_zone_that_does_not_fit_is_said_and_its_times_are_not_used() -> None:
    done = run("findings", "--server-log", str(LOG), "--server-log-zone", "+05:00")
    assert "do not fit the records in the zone that is given, where they are 5h behind them" in done.stderr
    assert "the broker's log says" in done.stdout, "a member's own id needs no time"


def test_a_zone_that_there_is_not_is_refused() -> None:
    done = run("findings", "--server-log", str(LOG), "--server-log-zone", "Mars")
    assert done.exit_code == 2 and "--server-log-zone: there is no zone 'Mars'" in done.stderr


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.log", tmp_path):
        assert run("timeline", "--server-log", str(path)).exit_code == 2


def test_a_file_that_is_no_broker_s_log_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_bytes(b"\x00\xff\nhello\n")
    done = run("findings", "--server-log", str(tmp_path / "app.log"))
    assert (
        done.exit_code == 0
        and "app.log: none of its 2 lines is a group or transaction coordinator's" in done.stderr
    )
