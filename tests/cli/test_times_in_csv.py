"""CSV is data: its times have the milliseconds that JSON lines have, in every command, so that rows keep their order."""

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from offsets_tool.cli import main
from tests.corpora import FIXTURES

INCIDENT: Final = FIXTURES / "incidents/weekend-read-again"
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")
_WITH_MILLISECONDS: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
COMMANDS: Final = (
    ("timeline",),
    ("timeline", "--all"),
    ("findings",),
    ("rebalances",),
    ("history",),
    ("expiry",),
    ("transactions", "--ended"),
    ("assignments", "--over-time"),
    ("inspect",),
    ("plan", "--as-of", "-2h"),
    ("decode",),
)


def cells(text: str) -> Iterator[str]:
    for row in csv.reader(io.StringIO(text)):
        yield from row


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    "log", [INCIDENT, FIXTURES / "corpora/3.9.2-txn/segments"], ids=lambda path: path.name
)
def test_times_have_milliseconds(command: tuple[str, ...], log: Path) -> None:
    result = CliRunner().invoke(main, [*command, str(log), "--format", "csv"])
    assert result.exit_code in {0, 2}, result.output
    times = [cell for cell in cells(result.stdout) if _TIME.match(cell) and " " not in cell]
    assert [time for time in times if not _WITH_MILLISECONDS.fullmatch(time)] == []


def test_tables_of_findings_and_of_a_timeline_are_to_the_second() -> None:
    for command in ("findings", "timeline"):
        text = CliRunner().invoke(main, [command, str(INCIDENT), "--format", "table", "--wide"]).stdout
        assert _TIME.search(text) and not _WITH_MILLISECONDS.search(text)
