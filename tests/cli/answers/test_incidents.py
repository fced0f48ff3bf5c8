"""Each incident that real brokers went through: its complaint is answered by one command, without jq, and first by what it was."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from offsets_tool.cli import main
from tests.corpora import INCIDENTS
from tests.depth import sample

pytestmark = pytest.mark.slow

Must = Mapping[str, Any]


def musts(folder: Path) -> list[Must]:
    expected: list[Must] = json.loads((folder / "expected.json").read_text())["must"]
    return expected


def settings(folder: Path) -> list[str]:
    """Return the options with the broker's settings, which a user with the incident would know."""
    config = json.loads((folder / "manifest.json").read_text())["config"]
    minutes = config.get("offsets.retention.minutes")
    interval = config.get("offsets.retention.check.interval.ms")
    retention = ["--retention", f"{minutes}m"] if minutes else []
    return [*retention, *(["--check-interval", f"{interval}ms"] if interval else [])]


def run(command: str, folder: Path, *options: str) -> str:
    done = CliRunner().invoke(main, [command, str(folder / "segments"), *options, *settings(folder)])
    assert done.exit_code == 0, done.stderr
    return done.stdout


def kinds_of(must: Must) -> set[str]:
    return {must["kind"]} if isinstance(must["kind"], str) else set(must["kind"])


ASKED: Final = sample(
    [
        (folder, group)
        for folder in sorted(INCIDENTS.iterdir())
        for group in dict.fromkeys(each["group"] for each in musts(folder) if each.get("group"))
    ],
    2,
)


@pytest.mark.parametrize(("folder", "group"), ASKED, ids=lambda value: getattr(value, "name", value))
def test_the_verdict_begins_with_what_it_was(folder: Path, group: str) -> None:
    wanted = set().union(*(kinds_of(each) for each in musts(folder) if each.get("group") == group))
    verdict = json.loads(run("diagnose", folder, "--group", group, "--format", "jsonl"))
    worst = verdict["findings"][0]
    assert worst["kind"] in wanted
    lines = run("diagnose", folder, "--group", group).splitlines()
    assert group in lines[0]
    assert lines[2].startswith(f"{worst['severity'].upper():<10}{worst['title']}.")
    assert lines[4] == f"          What to do: {worst['remedy']}"


@pytest.mark.parametrize(("folder", "group"), ASKED, ids=lambda value: getattr(value, "name", value))
def test_the_story_has_it_where_it_happened(folder: Path, group: str) -> None:
    (verdict,) = (
        json.loads(line)
        for line in run("diagnose", folder, "--group", group, "--format", "jsonl").splitlines()
    )
    worst = verdict["findings"][0]
    told = [line for line in run("explain", folder, "--group", group).splitlines() if worst["title"] in line]
    assert len(told) == 1 and f"  {worst['evidence'][0]} " in told[0]


def test_a_quiet_night_is_told_to_be_quiet() -> None:
    folder = INCIDENTS / "quiet-night"
    assert run("diagnose", folder).splitlines()[0] == "Nothing stands out in this log, of 5 groups."
