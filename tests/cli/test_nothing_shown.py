"""An empty answer never stands alone: whatever was asked for, a note says why nothing is shown."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from offsets_tool.cli import main
from tests.corpora import FIXTURES
from tests.replay.story import commit, group_metadata
from tests.replay.story_segments import in_order, write_log

LOG = FIXTURES / "corpora/2.4.1-mix/segments"
NONE_OF = "nothing is shown: of what the other options leave, none matches --"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("decode --type ShareGroupMetadata", "nothing is shown: none here matches --type ShareGroupMetadata"),
        ("decode --type 99 --type control --since 2030-01-01", f"{NONE_OF}type 99, control"),
        ("decode --type 99 --group grove-orders", f"{NONE_OF}type 99"),
        ("decode --since 0:2 --until 0:2", "--since is not before --until"),
        ("decode --since 0:3 --until 4:3 --until 0:1 --since 4:9", "--since is not before --until"),
        ("decode --since now --until -2h", "--since is not before --until"),
        (
            "decode --until 0:0",
            "no record is from the window asked for, and nothing is known of it: partition 0 is here from offset 0 to",
        ),
        (
            "decode --since 4:99999",
            "no record is from the window asked for, and nothing is known of it: partition 4 is here from offset 0 to",
        ),
        (
            "decode --since 2030-01-01",
            "no record is from the window asked for, and nothing is known of it: the records here are from 2026-11-21T",
        ),
        ("decode --since 49:100", "partition 49 is not in this evidence"),
        ("history --kind members --until 0:0", f"{NONE_OF}kind members"),
        ("history --since 0:3 --until 0:2", "--since is not before --until"),
        ("history --kind anomalies", "nothing is shown: none here matches --kind anomalies"),
    ],
)
def test_records_that_are_not_there(asked: str, said: str) -> None:
    command, *options = asked.split()
    done = CliRunner().invoke(main, [command, str(LOG), *options])
    assert done.exit_code == 0 and done.stdout == "" and said in done.stderr


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("groups --as-of 3:0", "group at that moment"),
        ("offsets", "committed offset at the end of this log"),
        ("lag", "committed offset at the end of this log"),
        ("expiry", "committed offset at the end of this log"),
        ("transactions", "transaction at the end of this log"),
        ("findings", "finding at the end of this log"),
    ],
)
def test_what_nobody_has_at_a_moment(command: str, what: str, tmp_path: Path) -> None:
    write_log(tmp_path, in_order(group_metadata("g", 1)))
    done = CliRunner().invoke(main, [*command.split(), str(tmp_path)])
    assert (
        done.exit_code == 0 and done.stdout == "" and f"nothing is shown: there is no {what}" in done.stderr
    )


@pytest.mark.parametrize("command", ["decode", "history", "groups", "offsets", "lag", "transactions"])
def test_of_evidence_without_a_record_that_alone_is_said(command: str, tmp_path: Path) -> None:
    write_log(tmp_path, [])
    done = CliRunner().invoke(main, [command, str(tmp_path)])
    assert done.exit_code == 0 and done.stdout == ""
    assert done.stderr.startswith("this evidence has no record") and done.stderr.count("\n") == 1


def test_a_file_that_says_no_partition_is_held_to_the_same_texts(tmp_path: Path) -> None:
    there = next(write_log(tmp_path, in_order(commit("g", "t", 0, 1))).glob("*.log"))
    lone = there.rename(tmp_path / "copy.log")
    of_day = CliRunner().invoke(main, ["decode", str(lone), "--since", "12:31"])
    assert of_day.exit_code == 2 and "as a time of day it lacks the day" in of_day.stderr
    assert "--since '-2h' is 2" in CliRunner().invoke(main, ["decode", str(lone), "--since", "-2h"]).stderr
