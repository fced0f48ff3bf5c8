"""Colour is where a terminal shows it and nobody forbade it, and says nothing that a word does not say."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from offsets_tool.cli import main
from offsets_tool.cli.styles import PLAIN, Pen
from tests.cli.test_terminal import NAMES, Screen, on_terminal
from tests.corpora import CORPORA, FIXTURES
from tests.depth import DEEP
from tests.replay.story import commit
from tests.replay.story_segments import in_order, write_log

STORM = str(FIXTURES / "incidents/rebalance-storm/segments")
DELETED = str(CORPORA / "4.3.1-classic/segments")
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
COMMANDS = [
    *(["diagnose", log] for log in (STORM, DELETED)),
    *([name, log, "--group", "*"] for name in ("diagnose", "explain") for log in (STORM, DELETED)),
    *([name, log] for name in ("timeline", "findings", "rebalances") for log in (STORM, DELETED)),
]


def test_a_severity_has_its_colour_and_nothing_else_has() -> None:
    pen = Pen(True)
    assert pen.severity("CRITICAL  Group a") == "\x1b[1;31mCRITICAL\x1b[0m  Group a"
    assert pen.severity("NOTICES   rewind 2.").startswith("\x1b[36mNOTICES\x1b[0m ")
    for text in ("", "-", "criticality", "The CRITICAL part"):
        assert pen.severity(text) == text
    assert PLAIN.severity("warning") == "warning" and PLAIN.heading("GROUP") == "GROUP"


@pytest.mark.slow
def test_colour_adds_to_the_words_and_takes_none_away() -> None:
    asked = [(width, command) for command in COMMANDS for width in (80, 200)][:: 1 if DEEP else 5]
    coloured = on_terminal(asked, TERM="xterm")
    for switched_off in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"FORCE_COLOR": ""}):
        few = asked if DEEP or "NO_COLOR" in switched_off else asked[:2]
        plain = on_terminal(few, **{"TERM": "xterm", **switched_off})
        assert all(ESCAPE.search(screen.raw) for screen in coloured)
        assert not any("\x1b" in screen.raw for screen in plain)
        assert [ESCAPE.sub("", screen.raw) for screen in coloured[: len(few)]] == [
            screen.raw for screen in plain
        ]


@pytest.mark.parametrize(
    ("env", "is_styled"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": ""}, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, False),
    ],
)
def test_a_pipe_has_colour_where_it_is_forced(env: dict[str, str], is_styled: bool, tmp_path: Path) -> None:
    env = {"TERM": "xterm", **env}
    said = CliRunner(env=env).invoke(main, ["diagnose", STORM, "--group", "scoring"], color=True)
    assert said.exit_code == 0 and ("\x1b[1;33mWARNING\x1b[0m" in said.stdout) == is_styled
    for options in (["--format", "jsonl"], ["--output", str(tmp_path / "verdict.txt")]):
        said = CliRunner(env=env).invoke(main, ["diagnose", STORM, *options], color=True)
        assert said.exit_code == 0 and "\x1b" not in said.stdout
    assert b"\x1b" not in (tmp_path / "verdict.txt").read_bytes()


@pytest.mark.slow
def test_no_name_has_a_colour(tmp_path: Path) -> None:
    """Names that look like severities, or that hold escapes themselves, are shown as names."""
    names = [*NAMES, "CRITICAL", "warning", "\x1b[31mred"]
    log = write_log(tmp_path, in_order(*(commit(name, name or "t", 0, 5, metadata=name) for name in names)))
    asked = [(80, [name, str(log), "--group", "*"]) for name in ("diagnose", "explain", "timeline")]
    for screen in on_terminal(asked, TERM="xterm"):
        assert not re.search(r"\x1b\[[0-9;]*m(CRITICAL|warning|red)\b", screen.raw)
        assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]", ESCAPE.sub("", screen.raw))


@pytest.mark.slow
def test_a_note_on_a_terminal_is_wrapped_at_its_words() -> None:
    screens: list[Screen] = on_terminal(
        [(width, ["diagnose", STORM]) for width in (80, 200)], notes_too=True, TERM="xterm"
    )
    for width, screen in zip((80, 200), screens, strict=True):
        note = screen.said.rstrip("\n").split("\n")
        assert len(note) == (2 if width == 80 else 1) and all(len(line) <= width for line in note)
        assert " ".join(note).endswith("; --kafka-version and --retention say it better")
