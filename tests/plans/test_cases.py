"""What a plan makes of each case of the table: rows and risks, the reset file, the pages."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from offsets_tool.plans.risks import RISKS
from tests.corpora import FIXTURES
from tests.plans.cases import CASES, PlanCase


def run(case: PlanCase, folder: Path, *more: str) -> Result:
    case.write(folder)
    return CliRunner().invoke(main, [*case.asked(folder), *more])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rows_have_their_actions_offsets_and_risks(case: PlanCase, tmp_path: Path) -> None:
    done = run(case, tmp_path)
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [
        (
            row["action"],
            row["current_offset"],
            row["new_offset"],
            tuple(each["risk"] for each in row["risks"]),
        )
        for row in rows
    ] == list(case.rows)
    for row in rows:
        assert [RISKS[each["risk"]].severity for each in row["risks"]] == [
            each["severity"] for each in row["risks"]
        ]


def test_every_risk_is_in_the_reference() -> None:
    lines = (FIXTURES.parent / "docs" / "reference.md").read_text().splitlines()
    for kind in RISKS.values():
        is_in_file = "no" if kind.is_left_out else "yes"
        assert f"| `{kind.name}` | {kind.severity} | {is_in_file} | {kind.means} |" in lines


def test_every_risk_has_a_case() -> None:
    assert {name for case in CASES for *_, names in case.rows for name in names} == set(RISKS)


def test_the_worst_risks_come_first() -> None:
    order = ["critical", "warning", "notice"]
    places = [order.index(kind.severity) for kind in RISKS.values()]
    assert places == sorted(places)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_file_has_what_is_to_be_set(case: PlanCase, tmp_path: Path) -> None:
    done = run(case, tmp_path, "--format", "csv")
    assert done.exit_code == 0, done.output
    offsets = [int(line.rpartition(",")[2]) for line in done.stdout.splitlines()]
    assert offsets == [new for action, _, new, _ in case.rows if action == "reset"]
    for name in {name for action, *_, names in case.rows if action == "leave" for name in names}:
        assert f"not in the file, {name}: " in done.stderr
    assert ("the file is empty" in done.stderr) is not bool(offsets)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_page_tells_each_risk_with_what_to_do(case: PlanCase, tmp_path: Path) -> None:
    for form in ("table", "markdown"):
        done = run(case, tmp_path, "--format", form)
        assert done.exit_code == 0, done.output
        text = done.stdout.replace("\\", "")
        for name in {name for *_, names in case.rows for name in names}:
            kind = RISKS[name]
            assert name in text and kind.means in text and kind.remedy in text
        assert ("--from-file" in text) is any(action == "reset" for action, *_ in case.rows)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_strict_ends_with_3_where_a_risk_is_critical_or_something_unread(
    case: PlanCase, tmp_path: Path
) -> None:
    is_bad = any(RISKS[name].severity == "critical" for *_, names in case.rows for name in names)
    is_damaged = case.name == "the log is damaged"
    # A name that is not UTF-8 is a problem of its record.
    done = run(case, tmp_path, "--strict")
    assert done.exit_code == (3 if is_bad or is_damaged else 0), done.output
