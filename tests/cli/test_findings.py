"""`findings`: fields, order, what is chosen, what is said where nothing is, and the table at a terminal's width."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from offsets_tool.findings.rows import Finding
from tests.corpora import FIXTURES

TXN = FIXTURES / "corpora/3.9.2-txn/segments"


def invoke(*args: object) -> Result:
    return CliRunner().invoke(main, ["findings", str(TXN), *map(str, args)])


def rows(*args: object) -> list[dict[str, Any]]:
    result = invoke(*args, "--format", "jsonl")
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_every_field_is_there_and_the_worst_comes_first() -> None:
    found = rows()
    assert all(tuple(row) == Finding._fields for row in found)
    assert [row["severity"] for row in found] == sorted(
        (row["severity"] for row in found), key=("critical", "warning", "notice").index
    )
    assert found[0]["kind"] == "offsets_deleted" and found[0]["from_at"] == "2026-11-21T12:22:39.617Z"


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        (("--severity", "critical"), set()),
        (("--group", "*-fence-*"), {"transaction_fenced"}),
        (("--kind", "hanging-transaction"), {"hanging_transaction"}),
        (("--topic", "pricing-loyalty.v2", "--severity", "warning"), {"offsets_deleted", "group_deleted"}),
        (("--topic", "pricing-loyalty.v2", "--partition", 1), {"offsets_deleted"}),
        (("--since", "2026-11-21T12:22:55Z"), {"hanging_transaction"}),
        (("--until", "2026-11-21T12:22:36Z"), {"transactions_aborted"}),
        (("--since", "2026-11-21T12:22:47Z", "--until", "2026-11-21T12:22:48Z"), {"transaction_timed_out"}),
        (("--since", "3:0"), {"hanging_transaction"}),
    ],
)
def test_options_choose(options: tuple[object, ...], kinds: set[str]) -> None:
    assert {row["kind"] for row in rows(*options)} == kinds


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--kind", "rewind"), "nothing is shown: none here matches --kind or --severity rewind"),
        (("--group", "nobody"), "group 'nobody' is not there"),
        (
            ("--until", "2020-01-01"),
            "no record is from the window asked for, and nothing is known of it: the records here are from",
        ),
        (("--group", "clicks-fence-75", "--severity", "critical"), "matches --kind or --severity critical"),
    ],
)
def test_where_nothing_is_shown_it_is_said_why(options: tuple[str, ...], said: str) -> None:
    result = invoke(*options, "--format", "jsonl")
    assert result.exit_code == 0 and result.stdout == "" and said in result.stderr


def test_a_kind_that_is_none_is_refused() -> None:
    result = invoke("--kind", "rewinds")
    assert result.exit_code == 2 and "rewind" in result.stderr


def test_the_table_has_the_sentence_first_of_all() -> None:
    heading, first, *_ = invoke("--format", "table").stdout.splitlines()
    assert heading.split()[:3] == ["SEVERITY", "FROM-AT", "TITLE"]
    assert "Group checkout-race-1227 lost 1 offset of topic pricing-loyalty.v2" in first
