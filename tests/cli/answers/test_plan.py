"""plan as a person uses it: its page on a terminal, the file that its own commands write, and what it refuses."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from offsets_tool.cli.layout import cell_width
from tests.cli.test_terminal import on_terminal
from tests.corpora import FIXTURES
from tests.replay.story import commit, txn_commit
from tests.replay.story_segments import in_order, write_log

INCIDENTS = FIXTURES / "incidents"


def plan(log: Path, *options: str) -> Result:
    return CliRunner().invoke(main, ["plan", str(log), *options])


def two_groups(folder: Path) -> Path:
    """Write two groups into two partitions of the log, each with an offset that moved ahead."""
    for partition, group in ((3, "g"), (4, "h's")):
        write_log(folder, in_order(commit(group, "t", 0, 5), commit(group, "t", 0, 9)), partition=partition)
    return folder


def steps_of(page: str) -> list[str]:
    """The command lines of a page."""
    return [line.strip() for line in page.splitlines() if line.startswith("  ") and line.strip()]


OPTIONS = [
    ("--as-of", "1000"),
    ("--as-of", "1970-01-01 01:00:01", "--tz", "+01:00", "--group", "h*", "--topic", "t", "--partition", "0"),
    ("--as-of", "3:1", "--partial"),
    ("--as-of", "1000", "--group", "g", "--group", "h's", "--retention", "7d", "--coordinator", "classic"),
]


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_the_command_of_a_page_writes_the_file_of_the_plan(options: tuple[str, ...], tmp_path: Path) -> None:
    log = two_groups(tmp_path / "a log")
    page = plan(log, *options, "--format", "table", "--strict")
    assert page.exit_code == 0, page.output
    (line,) = [line for line in steps_of(page.stdout) if line.startswith("offsets-tool plan ")]
    file = tmp_path / "reset.csv"
    words = [str(file) if word == "reset.csv" else word for word in shlex.split(line)[1:]]
    done = CliRunner().invoke(main, words)
    assert (done.exit_code, done.stdout) == (0, ""), done.output
    assert file.read_bytes() == plan(log, *options, "--format", "csv").stdout_bytes != b""


def test_a_time_before_now_is_written_as_the_time_that_it_was(tmp_path: Path) -> None:
    page = plan(two_groups(tmp_path), "--as-of", "-2h", "--format", "table").stdout
    assert "--as-of" not in page or "-2h" not in page
    assert re.match(r"Nothing is to be set for the way back to 20\d\d-\d\d-\d\dT", page)


def test_tools_before_2_4_take_a_file_for_each_group(tmp_path: Path) -> None:
    log, old = two_groups(tmp_path), ("--as-of", "1000", "--kafka-version", "2.3")
    refused = plan(log, *old, "--format", "csv")
    assert refused.exit_code == 2 and "choose one with --group" in refused.stderr
    assert plan(log, *old, "--group", "g", "--format", "csv").stdout == "t,0,5\n"
    commands = steps_of(plan(log, *old, "--format", "table").stdout)
    executed = [shlex.split(line) for line in commands if "--execute" in line]
    assert [(words[words.index("--from-file") + 1], words[-1]) for words in executed] == [
        ("reset-1.csv", "g"),
        ("reset-2.csv", "h's"),
    ]
    written = [shlex.split(line) for line in commands if line.startswith("offsets-tool")]
    for words, (file, _) in zip(written, ((w[w.index("--from-file") + 1], w) for w in executed), strict=True):
        assert words[-1] == file
        assert CliRunner().invoke(main, [*words[1:-1], str(tmp_path / file)]).exit_code == 0
        assert (tmp_path / file).read_text() == "t,0,5\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "say which with --as-of"),
        (("--as-of", "1000", "--format", "csv", "--show", "group"), "drop --show"),
        (("--as-of", "3:1", "--format", "csv"), "add --partial"),
    ],
)
def test_what_cannot_be_asked(options: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = plan(two_groups(tmp_path), *options)
    assert done.exit_code == 2 and said in done.stderr


def test_a_page_says_what_the_file_would_lack(tmp_path: Path) -> None:
    page = plan(two_groups(tmp_path), "--as-of", "3:1", "--format", "table").stdout
    assert "WARNING   the reset file would be incomplete: --as-of names no end" in page


def test_an_open_transaction_has_its_commands_even_where_nothing_is_to_be_set(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(commit("g", "t", 0, 5), txn_commit(7, "g", "t", 0, 6)))
    page = plan(tmp_path, "--as-of", "2000", "--format", "table").stdout
    assert [shlex.split(line) for line in steps_of(page)] == [
        ["kafka-transactions", "--bootstrap-server", "BROKER:9092", *words]
        for words in (
            ["find-hanging", "--topic", "__consumer_offsets", "--partition", "3"],
            ["abort", "--topic", "__consumer_offsets", "--partition", "3", "--start-offset", "1"],
        )
    ]


HARMED = [
    ("reset-to-earliest", "02:30:12", "payments", "set_since"),
    ("group-deleted", "02:26:54", "mailer", "deleted_since"),
    ("offsets-deleted", "02:38:00", "search", "deleted_since"),
    ("weekend-skipped", "02:20:44", "billing", "deleted_since"),
]
"""By incident, a moment before it, the group that it befell, and how a plan tells that."""


@pytest.mark.parametrize(("incident", "at", "group", "risk"), HARMED, ids=[each[0] for each in HARMED])
def test_who_was_harmed_is_told_from_who_only_read_on(incident: str, at: str, group: str, risk: str) -> None:
    page = plan(
        INCIDENTS / incident / "segments",
        "--as-of",
        f"2026-11-23T{at}Z",
        "--format",
        "table",
        "--show",
        "group,risks",
    )
    assert page.exit_code == 0, page.output
    lines = [line.split() for line in page.stdout.splitlines() if re.fullmatch(r"[a-z]+ +[a-z_ ]+", line)]
    risks = {(name, *found) for name, *found in lines}
    assert (group, risk) in risks
    assert {name for name, *found in risks if "read_on" in found} == {name for name, *_ in risks} - {group}


@pytest.mark.slow
def test_a_page_fits_its_terminal_and_says_which_columns_it_leaves_out() -> None:
    log = str(INCIDENTS / "reset-to-earliest" / "segments")
    asked = [(width, ["plan", log, "--as-of", "2026-11-23T02:30:12Z"]) for width in (80, 200)]
    narrow, wide = on_terminal(asked)
    for (width, _), screen in zip(asked, (narrow, wide), strict=True):
        # A path is one word of a command, however long it is.
        assert [line for line in screen.lines if cell_width(line) > width and log not in line] == []
        assert any("read_on" in line for line in screen.lines if line.startswith("ledger"))
    assert "columns left out: " in narrow.said and "left out: " not in wide.said.replace("left out of", "")
