"""Every table of every command as it is on a terminal: a real one (a pseudo-terminal), of several widths.

No line is wider than the terminal, every row has one line, times are whole, and what is left out is named.
"""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click
import pytest
from click.testing import CliRunner

from offsets_tool.cli import main as tool
from offsets_tool.cli.layout import cell_width
from spark.cli import main as spark
from tests.corpora import CORPORA, FIXTURES
from tests.replay.story import commit, group_metadata, member
from tests.replay.story_segments import in_order, write_log

NAMES = ["", "-", "g" * 249, "注文" * 60, "🦊🦊", "two\nlines", "e\u0301" * 40]
WIDTHS = (40, 80, 120, 200)
_OF_TERMINALS = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")
VIEWS = ("--offsets", "--members", "--state")
pytestmark = pytest.mark.slow

OF_EVIDENCE = (
    "inspect",
    "decode",
    "groups",
    "offsets",
    "history",
    "rebalances",
    "expiry",
    "findings",
    "transactions",
    "lag",
)

_ALL = """
import contextlib, fcntl, io, json, struct, sys, termios
from offsets_tool.cli import main as tool

asked, is_shown = json.load(sys.stdin)
for width, command in asked:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    said = io.StringIO()
    said.isatty = lambda: is_shown
    with contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
        tool(command)
    sys.stdout.flush()
    print("\\x1e" + json.dumps(said.getvalue()) + "\\x1f", end="", flush=True)
"""


class Screen(NamedTuple):
    """What a command put on the terminal, and what it wrote to stderr."""

    lines: list[str]
    said: str
    raw: str
    """As the terminal got it, with escapes."""


def commands(log: Path) -> list[list[str]]:
    """Return a command line for each table, over usual names and over names that are hard to show."""
    kip848, mix, transactions = (
        str(CORPORA / name / "segments") for name in ("4.3.1-kip848", "2.4.1-mix", "3.9.2-txn")
    )
    groups = [word for name in NAMES for word in ("--group", name)]
    found = [["describe", kip848, "--group", "search-cons-f689", view] for view in VIEWS]
    found += [["describe", str(log), *groups, view] for view in VIEWS]
    found += [[name, str(log)] for name in OF_EVIDENCE]
    found += [
        ["decode", kip848],
        ["groups", kip848],
        ["rebalances", kip848],
        ["history", mix, "--group", "iris_pricing"],
        ["expiry", mix],
        ["diff", kip848, "--from", "3:60"],
        ["size", str(CORPORA / "3.9.2-compaction/segments")],
        ["size", str(log)],
        ["size", str(log), "--by", "partition"],
        ["diff", str(log), "--from", "3:0"],
    ]
    found += [["assignments", mix, *options] for options in ([], ["--over-time"], ["--audit"])]
    found += [
        ["inspect", transactions],
        ["transactions", transactions],
        ["lag", str(FIXTURES / "lag/broker")],
    ]
    return [*found, ["partition", *NAMES], ["schema"], ["schema", "StreamsGroupTopology"]]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of names that are hard to show."""
    folder = tmp_path_factory.mktemp("names")
    story = [commit(name, name or "t", 2**31 - 1, 2**62, metadata=name) for name in NAMES]
    story += [group_metadata(name, 2**31 - 1, member(name or "m")) for name in NAMES]
    story += [commit(name, "t", 0, 1, producer_id=place, attributes=16) for place, name in enumerate(NAMES)]
    write_log(folder, in_order(*story))
    return folder


def on_terminal(
    asked: Sequence[tuple[int, list[str]]], *, notes_too: bool = False, **environment: str
) -> list[Screen]:
    """Run commands in one process, each on a terminal of a number of columns, and return their screens.

    With `notes_too` stderr is that terminal too; `environment` has further variables of the process.
    """
    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in _OF_TERMINALS}
    env = {**kept, **environment}
    code = [sys.executable, "-c", _ALL]
    running = subprocess.Popen(code, stdin=subprocess.PIPE, stdout=theirs, stderr=subprocess.PIPE, env=env)
    os.close(theirs)
    assert running.stdin and running.stderr
    with running, running.stdin as stdin, running.stderr as stderr, os.fdopen(ours, "rb", 0) as screen:
        stdin.write(json.dumps([asked, notes_too]).encode())
        stdin.close()
        text = _drained(screen.fileno())
        assert running.wait() == 0, stderr.read()
    return [_screen(part) for part in text.split("\x1f") if part.strip()]


def _drained(terminal: int) -> str:
    read = b""
    while True:
        try:
            read += os.read(terminal, 1 << 16)
        except OSError:  # so a terminal ends whose last user is gone
            return read.decode()


def _screen(part: str) -> Screen:
    shown, _, said = part.partition("\x1e")
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown.replace("\r\n", "\n")).splitlines()
    return Screen(lines, json.loads(said.replace("\r\n", "")), shown)


def test_every_table_fits_its_terminal(log: Path) -> None:
    asked = [(width, command) for command in commands(log) for width in WIDTHS]
    for (width, command), (lines, said, _) in zip(asked, on_terminal(asked), strict=True):
        assert lines, (command, said)
        assert [line for line in lines if cell_width(line) > width] == [], command
        times = re.findall(r"\b20\d\d-\S*", "\n".join(lines))
        assert [time for time in times if not re.fullmatch(r".{10}T(.{12}|.{8})Z", time)] == [], command
        assert re.search(
            r"\b(GROUP|LOG-PARTITION|OUTCOME|SEVERITY|STATUS|group|source|type|field|offset)\b", lines[0]
        ), command


def test_each_row_has_one_line_also_where_names_are_endless(log: Path) -> None:
    """As many lines as rows; nothing, an empty name and a dash are told apart; --wide has all there is."""
    asked = [[name, str(log), *more] for more in ([], ["--wide"]) for name in ("groups", "offsets")]
    screens = on_terminal([(40, command) for command in asked])
    for screen, whole in zip(screens[:2], screens[2:], strict=True):
        assert len(screen.lines) == len(whole.lines) >= len(NAMES) + 1
        assert screen.lines[0].startswith("GROUP") and "left out" in screen.said
        assert "left out" not in whole.said and any("g" * 249 in line for line in whole.lines)
        assert any(re.match(r"g+…g+ ", line) for line in screen.lines)
        assert {line.split()[0] for line in whole.lines} >= {"''", "'-'"}


def test_columns_are_chosen_by_name(log: Path) -> None:
    asked = [["offsets", str(log), "--show", show] for show in ("partition,group", "nothing")]
    shown, unknown = on_terminal([(60, command) for command in asked])
    assert shown.lines[0].split() == ["PARTITION", "GROUP"] and "left out" not in shown.said
    assert unknown.lines == [] and "choose among GROUP, TOPIC" in unknown.said


@pytest.mark.parametrize("program", [tool, spark], ids=["offsets-tool", "offsets-spark"])
def test_every_command_with_a_table_can_show_it_wide(program: click.Group) -> None:
    for name in program.list_commands(None):  # type: ignore[arg-type]
        command = program.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        forms = [option.type for option in command.params if option.name == "format_"]
        # A report has one form, and sentences are no table.
        if not forms or "text" in getattr(forms[0], "choices", ()):
            continue
        assert {"format_", "wide", "show"} <= {option.name for option in command.params}, name


def test_retentions_that_are_compared_are_told_apart() -> None:
    mix = str(CORPORA / "2.4.1-mix/segments")
    (screen,) = on_terminal([(80, ["expiry", mix, "--retention", "7d", "--retention", "30d"])])
    assert "RETENTION" in screen.lines[0].split() and len(screen.lines) == len(set(screen.lines))


def test_a_file_and_a_pipe_get_everything(log: Path, tmp_path: Path) -> None:
    """Also where stdout is a terminal; COLUMNS is for terminals only."""
    file = tmp_path / "table.txt"
    asked = ["offsets", str(log), "--format", "table"]
    (screen,) = on_terminal([(60, [*asked, "--output", str(file)])])
    done = CliRunner(env={"COLUMNS": "60"}).invoke(tool, asked)
    assert screen.lines == [] and "left out" not in screen.said + done.stderr
    assert file.read_text() == done.stdout and "g" * 249 in done.stdout and "…" not in done.stdout
