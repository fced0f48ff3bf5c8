"""Tables in Arrow: the rows of the commands, with the columns that are declared; each with the options of its command."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from click.testing import CliRunner

import offsets_tool as api
from offsets_tool.cli import main
from offsets_tool.errors import SourceError, UsageError
from offsets_tool.evidence.answers.files import FileRow
from offsets_tool.findings.rows import Finding
from offsets_tool.history.assignments import AssignmentRow
from offsets_tool.lag.rows import LagRow
from offsets_tool.rebalances.rows import RebalanceRow
from offsets_tool.review.table_rows import TimelineRow
from offsets_tool.time_texts import time_text
from offsets_tool.wire.arrow import arrow_schema
from tests.corpora import CORPORA, FIXTURES

STORM = FIXTURES / "incidents/rebalance-storm/segments"
RESET = FIXTURES / "incidents/reset-to-earliest/segments"
SERVER_LOG = FIXTURES / "incidents/member-killed/group-coordinator.log"


class Case(NamedTuple):
    """A call of a function that reads a table, and the command line that shows the same rows."""

    read: Callable[..., pa.Table]
    row: type
    command: list[str]
    evidence: list[Path]
    options: dict[str, Any]
    flags: list[str]


CASES = [
    *(
        Case(read, row, command, [where / "segments"], {}, [])
        for read, row, command in (
            (api.read_findings, Finding, ["findings"]),
            (api.read_timeline, TimelineRow, ["timeline"]),
            (api.read_rebalances, RebalanceRow, ["rebalances"]),
            (api.read_assignments, AssignmentRow, ["assignments", "--over-time"]),
            (api.read_lag, LagRow, ["lag"]),
        )
        for where in (
            CORPORA / "2.4.1-mix",
            CORPORA / "4.2.1-newgroups",
            CORPORA / "0.8.2.2-gzip",
            CORPORA / "3.9.2-compaction",
        )
    ),
    Case(api.read_findings, Finding, ["findings"], [RESET], {"group": "payments"}, ["--group", "payments"]),
    Case(
        api.read_timeline,
        TimelineRow,
        ["timeline"],
        [RESET],
        {"group": ["pay*"], "since": "2026-11-23T02:30:12Z", "until": "1:100", "is_whole": True},
        ["--group", "pay*", "--since", "2026-11-23T02:30:12Z", "--until", "1:100", "--all"],
    ),
    Case(
        api.read_timeline,
        TimelineRow,
        ["timeline"],
        [FIXTURES / "incidents/member-killed/segments"],
        {"server_logs": [SERVER_LOG]},
        ["--server-log", str(SERVER_LOG)],
    ),
    Case(
        api.read_rebalances,
        RebalanceRow,
        ["rebalances"],
        [STORM],
        {"topic": "events", "since": "2026-11-23 03:28:10", "zone": "Europe/Berlin"},
        ["--topic", "events", "--since", "2026-11-23 03:28:10", "--tz", "Europe/Berlin"],
    ),
    Case(
        api.read_assignments,
        AssignmentRow,
        ["assignments"],
        [RESET],
        {"topic": "charges", "partition": 1, "as_of": "1:100", "is_over_time": False},
        ["--topic", "charges", "--partition", "1", "--as-of", "1:100"],
    ),
    Case(
        api.read_lag,
        LagRow,
        ["lag"],
        [FIXTURES / "lag/broker"],
        {"group": "lag-lost"},
        ["--group", "lag-lost"],
    ),
    Case(
        api.read_findings,
        Finding,
        ["findings"],
        [FIXTURES / "corpora-replicated/4.1.2-replicas/brokers"],
        {"view": "evidence"},
        ["--view", "evidence"],
    ),
]
_TIMES = {"from_timestamp": "from_at", "to_timestamp": "to_at"}


def printed(case: Case) -> list[dict[str, Any]]:
    asked = [*case.command, *map(str, case.evidence), *case.flags, "--format", "jsonl"]
    said = CliRunner().invoke(main, asked)
    assert said.exit_code == 0, said.output
    return [json.loads(line) for line in said.stdout.splitlines()]


def as_printed(case: Case, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of a table as JSON lines have them: times as text, lists for tuples."""
    named = _TIMES if case.row is AssignmentRow else {}
    return [
        {
            named.get(name, name): time_text(value) if name in named and value is not None else _text(value)
            for name, value in row.items()
        }
        for row in rows
    ]


def _text(value: Any) -> Any:
    if hasattr(value, "strftime"):
        return f"{value:%Y-%m-%dT%H:%M:%S}.{value.microsecond // 1000:03d}Z"
    return value


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case.read.__name__}-{case.evidence[0].parent.name}-{len(case.flags)}"
)
def test_tables_have_the_rows_of_the_command(case: Case) -> None:
    table = case.read(*case.evidence, **case.options)
    declared = arrow_schema(case.row)
    assert [(f.name, f.type) for f in table.schema][: len(declared)] == [(f.name, f.type) for f in declared]
    assert [f.metadata for f in table.schema][: len(declared)] == [f.metadata for f in declared]
    assert as_printed(case, table.to_pylist()) == printed(case)


@pytest.mark.parametrize(
    "evidence",
    [
        CORPORA / "3.9.2-txn/segments",
        CORPORA / "0.10.2.2-crash/segments",
        FIXTURES / "corpora-replicated/4.1.2-replicas/brokers",
    ],
    ids=lambda path: path.parent.name,
)
def test_files_are_those_that_inspect_shows(evidence: Path) -> None:
    table = api.read_files(evidence)
    assert table.schema.names == list(FileRow._fields)
    said = CliRunner().invoke(main, ["inspect", str(evidence), "--format", "jsonl"])
    shown = [row for line in said.stdout.splitlines() if "not_read" not in (row := json.loads(line))]
    for row, wanted in zip(table.to_pylist(), shown, strict=True):
        for name in set(FileRow._fields) & set(wanted) - {"kinds", "unreadable"}:
            assert row[name] == wanted[name], name
        assert {each["kind"]: each["records"] for each in row["kinds"]} == wanted["kinds"]
        assert [each["position"] for each in row["unreadable"]] == [
            each["position"] for each in wanted["unreadable"]
        ]


def test_a_review_s_tables_say_what_the_commands_say() -> None:
    review = api.review_of(STORM)
    tables = api.review_tables(review)
    assert tables["findings"].to_pylist() == api.read_findings(STORM).to_pylist()
    assert tables["timeline"].to_pylist() == api.read_timeline(STORM).to_pylist()
    assert sorted(map(str, tables["rebalances"].to_pylist())) == sorted(
        map(str, api.read_rebalances(STORM).to_pylist())
    )
    said = CliRunner().invoke(main, ["diagnose", str(STORM), "--format", "jsonl"])
    for row, wanted in zip(
        tables["groups"].to_pylist(), map(json.loads, said.stdout.splitlines()), strict=True
    ):
        for name in ("group", "severity", "state", "rebalances", "commits", "bytes", "lag", "log_partition"):
            assert row[name] == wanted[name], name
    histories = api.read_histories(STORM)
    for name in ("offset_history", "group_history", "member_history"):
        assert tables[name].schema == histories[name].schema
        assert tables[name].num_rows == histories[name].num_rows


def test_what_does_not_read_is_refused() -> None:
    with pytest.raises(UsageError, match="since"):
        api.read_findings(RESET, since="half past never")
    with pytest.raises(UsageError, match="--topic"):
        api.read_lag(RESET, partition=1)
    with pytest.raises(SourceError):
        api.read_timeline("no/such/folder")
