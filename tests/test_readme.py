"""The README's tour, run as it is printed: each command gives the lines below it (`...` stands for what is left out)."""

import doctest
import os
import re
import shutil
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import pytest

from offsets_tool.cli import main as tool
from spark.cli import main as spark
from tests.corpora import FIXTURES

ROOT = FIXTURES.parent
TEXT = (ROOT / "README.md").read_text()
REFERENCE = (ROOT / "docs" / "reference.md").read_text()
BLOCKS = re.findall(r"```\n(\$ .*?)```", TEXT, re.DOTALL)


def examples() -> list[tuple[str, list[str]]]:
    """Commands and the lines printed below them."""
    found = []
    for block in BLOCKS:
        lines = block.splitlines()
        for place, line in enumerate(lines):
            if line.startswith("$ "):
                found.append(
                    (line[2:], list(takewhile(lambda x: not x.startswith("$ "), lines[place + 1 :])))
                )
    return found


def check(command: str, shown: list[str], folder: Path, programs: Path) -> None:
    """Run a command of the tour in a folder, with the programs of another: each line shown is the beginning of one printed."""
    if "jq" in command and shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    (folder / "fixtures").symlink_to(FIXTURES)
    if "inspect" in command:
        command += " --format table"
    done = subprocess.run(
        ["bash", "-c", f"{command} 2>&1"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        env={
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "OFFSETS_TOOL_CACHE": os.environ.get("OFFSETS_TOOL_CACHE", str(ROOT / ".cache")),
        },
    )
    assert done.stdout
    printed = [" ".join(line.split()) for line in done.stdout.splitlines()]
    for line in shown:
        wanted = " ".join(line.split())
        assert wanted == "..." or any(out.startswith(wanted.removesuffix(" ...")) for out in printed), (
            wanted,
            printed,
        )


@pytest.mark.spark
@pytest.mark.parametrize(
    ("command", "shown"), examples(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_the_tour_gives_what_it_shows(command: str, shown: list[str], tmp_path: Path) -> None:
    check(command, shown, tmp_path, Path(sys.executable).parent)


def test_the_library_s_examples_are_true(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    examples = "\n".join(re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(examples, {}, "README.md", None, None)
    printed: list[str] = []
    assert test.examples and doctest.DocTestRunner().run(test, out=printed.append).failed == 0, "".join(
        printed
    )


def commands() -> list[str]:
    """Every command of both programs, as it is typed."""
    programs = {"offsets-tool": tool, "offsets-spark": spark}
    return [
        f"{name} {command}" for name, program in programs.items() for command in program.list_commands(None)
    ]  # type: ignore[arg-type]


def test_every_command_is_in_the_reference() -> None:
    assert [
        command for command in commands() if not re.search(rf"^\| `{command}[ `]", REFERENCE, re.MULTILINE)
    ] == []


def test_every_option_is_in_the_reference() -> None:
    """But `--help` and `--version`, which every program has."""
    options = {
        name
        for program in (tool, spark)
        for command in program.list_commands(None)  # type: ignore[arg-type]
        for option in program.get_command(None, command).params  # type: ignore[arg-type,union-attr]
        for name in option.opts
        if name.startswith("--")
    }
    assert sorted(name for name in options if f"`{name}" not in REFERENCE) == []


def test_every_command_answers_a_question_of_the_readme() -> None:
    questions = re.findall(r"^\| question \| command \|\n((?:\|.*\n)+)", TEXT, re.MULTILINE)
    assert len(questions) == 1
    assert [command for command in commands() if f"`{command}`" not in questions[0]] == []
