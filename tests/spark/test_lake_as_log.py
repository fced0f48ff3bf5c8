"""A lake is a LOG: every command that answers from histories says the same of a lake as of the log that it was made of."""

import json
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from click.testing import CliRunner

from offsets_tool import (
    group_rows,
    member_rows,
    offset_rows,
    open_evidence,
    read_events,
    read_findings,
    read_lag,
    review_of,
    snapshot_of,
)
from offsets_tool.cli import main
from offsets_tool.columns.lane.availability import Engine, asking_for
from offsets_tool.errors import UsageError
from offsets_tool.evidence.replaying import END
from spark.ingest.ingest import Request
from spark.run import run
from tests.corpora import CORPORA, INCIDENTS, LAG, REPLICATED
from tests.depth import DEEP, sample
from tests.report.pages import Parsed
from tests.spark.lakes import no_session

pytestmark = pytest.mark.spark

CORPORA_MADE: Final = ("3.9.2-txn", "4.1.2-compaction", "0.10.2.2-crash", "0.8.2.2-expiry", "4.3.1-codecs")
LOGS: Final = {
    "replicas": REPLICATED / "4.1.2-replicas" / "brokers",
    **{path.parent.name: path for path in sorted(INCIDENTS.glob("*/segments"))},
    **{name: CORPORA / name / "segments" for name in CORPORA_MADE},
    "nightly": REPLICATED / "4.1.2-nightly" / "copies",
    "lag": LAG / "broker",
}
COMMANDS: Final = (
    "groups",
    "groups --as-of MOMENT",
    "groups --group nobody",
    "groups --group GROUP --as-of MOMENT",
    "describe --all-groups",
    "describe --all-groups --state --as-of MOMENT",
    "describe --group GROUP",
    "describe --group GROUP --members",
    "describe --group GROUP --members --as-of MOMENT",
    "offsets",
    "offsets --as-of MOMENT",
    "offsets --coordinator classic",
    "offsets --group GROUP",
    "offsets --group GROUP --as-of MOMENT",
    "lag",
    "lag --group GROUP",
    "lag --group GROUP --as-of MOMENT",
    "expiry",
    "expiry --as-of MOMENT",
    "expiry --group GROUP",
    "expiry --group GROUP --retention 1d",
    "transactions",
    "history",
    "history --group GROUP",
    "rebalances",
    "rebalances --group GROUP",
    "assignments",
    "assignments --group GROUP --audit",
    "findings",
    "findings --group GROUP --since MOMENT",
    "diagnose",
    "diagnose --group GROUP",
    "explain --group GROUP",
    "explain --group GROUP --at MOMENT",
    "timeline",
    "timeline --group GROUP --all",
    "plan --as-of MOMENT",
    "plan --as-of MOMENT --group GROUP --format markdown",
    "copies --summary",
)
EXCEPTIONS: Final = {
    (
        "lag",
        "lag",
    ): "the log of a data topic says when a record was written, samples of its end say it less exactly",
}
"""What a lake says otherwise, by log and command, and why."""
NOTES: Final = ("supposed: by the rules of", "the lake's histories answer")
"""How notes begin that a lake says otherwise: which settings are supposed, its own job has said where its histories answer."""
ENGINES: Final = [Engine.REFERENCE, Engine.FAST] if DEEP else [Engine.AUTO]
_RECORD: Final = ("log_partition", "log_offset", "record_type", "value_json")
LakeOf = Callable[[str], Path]


class Said(NamedTuple):
    """What a command said of a LOG, whose name is left out."""

    code: int
    out: str
    notes: list[str]


def said(log: Path, command: str, *names: Path) -> Said:
    first, *words = command.split()
    result = CliRunner().invoke(main, [first, str(log), *words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    texts = [result.stdout, result.stderr]
    for name in (log, *names):
        texts = [text.replace(str(name), "LOG") for text in texts]
    out, notes = texts
    return Said(result.exit_code, out, [line for line in notes.splitlines() if not line.startswith(NOTES)])


@cache
def asked_of(log: Path) -> tuple[str, str]:
    """Return what commands ask for: a group of the log, and a moment halfway through what happened to it."""
    rows = [json.loads(line) for line in said(log, "history").out.splitlines()]
    group = min(row["group"] for row in rows if row["group"])
    of_group = [row for row in rows if row["group"] == group]
    middle = of_group[len(of_group) // 2]
    return group, f"{middle['log_partition']}:{middle['log_offset']}"


@pytest.fixture(scope="module")
def lake_of(tmp_path_factory: pytest.TempPathFactory) -> LakeOf:
    @cache
    def made(name: str) -> Path:
        lake = tmp_path_factory.mktemp("lake") / name
        list(run(Request(paths=[str(LOGS[name])], lake=str(lake)), no_session, "auto"))
        return lake

    return made


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", sample(list(LOGS), 12))
def test_a_lake_says_what_its_log_says(lake_of: LakeOf, name: str, engine: Engine) -> None:
    lake, log = lake_of(name), LOGS[name]
    group, moment = asked_of(log)
    with asking_for(engine):
        for each in COMMANDS:
            if (name, each) not in EXCEPTIONS:
                command = each.replace("GROUP", group).replace("MOMENT", moment)
                assert said(lake, command, log) == said(log, command), command


@pytest.mark.parametrize("name", ["reset-to-earliest", "3.9.2-txn", "replicas"])
def test_the_library_takes_a_lake_as_the_command_line_does(lake_of: LakeOf, name: str) -> None:
    group, moment = asked_of(LOGS[name])

    def answers(log: Path) -> list[object]:
        with open_evidence(log) as evidence:
            records = {(event.record.key, event.record.value) for event in evidence.events()}
        moments = [snapshot_of(log, as_of=as_of) for as_of in (END, moment)]
        review, events = review_of(log, group=group), read_events(log)
        return [
            records,
            [(offset_rows(each), group_rows(each), member_rows(each)) for each in moments],
            read_lag(log, group=group, as_of=moment).to_pylist(),
            read_findings(log, group=group).to_pylist(),
            set(zip(*(events.column(name).to_pylist() for name in _RECORD), strict=True)),
            (review.headlines, review.findings, review.timeline),
        ]

    assert answers(lake_of(name)) == answers(LOGS[name])


def test_records_are_those_of_the_table_log(lake_of: LakeOf) -> None:
    lake, log = lake_of("replicas"), LOGS["replicas"]
    rows = [json.loads(line) for line in said(lake, "inspect").out.splitlines()]
    assert {row["source"] for row in rows} == {"LOG/log"} and all(row["adds_up"] for row in rows)
    records = [json.loads(line) for line in said(lake, "decode").out.splitlines()]
    of_log = [json.loads(line) for line in said(log, "decode").out.splitlines()]
    asked = ("partition", "offset", "key", "value")
    keys = {json.dumps([row[name] for name in asked]) for row in records}
    assert keys == {json.dumps([row[name] for name in asked]) for row in of_log}
    assert json.loads(said(lake, "size --by group").out.splitlines()[0])["records"]


@pytest.mark.parametrize(
    "name", sample([path.parent.name for path in sorted(INCIDENTS.glob("*/segments"))], 13)
)
def test_the_page_of_a_lake_is_that_of_its_log(lake_of: LakeOf, tmp_path: Path, name: str) -> None:
    group, _ = asked_of(LOGS[name])
    for of in ("", f" --group {group}"):
        here, there = (
            sentences(source, tmp_path / "report.html", of, LOGS[name])
            for source in (lake_of(name), LOGS[name])
        )
        assert here == there and here


def sentences(log: Path, file: Path, of: str, *names: Path) -> list[str]:
    """Return what a report says, but for its list of files, its notes, which are those on stderr, and for how long names are."""
    assert said(log, f"report -o {file}{of}").code == 0
    text = Parsed(file.read_text()).text
    for name in (log, *names):
        text = text.replace(str(name), "LOG")
    text = re.sub(r"Noted while reading.*?(?=Findings \d)", "", text, flags=re.DOTALL)
    told = re.sub(r"\(\d+ characters\)|LOG/|__consumer_o…", "", text).split(". ")
    return [sentence for sentence in told if "Files as they were read" not in sentence]


def test_a_lake_without_its_checkpoints_is_replayed(lake_of: LakeOf, tmp_path: Path) -> None:
    name = "reset-to-earliest"
    lake = Path(shutil.copytree(lake_of(name), tmp_path / "lake"))
    assert "answer" in CliRunner().invoke(main, ["explain", str(lake), "--group", "payments"]).stderr
    for checkpoint in (lake / "_checkpoints").iterdir():
        # Its facts are at the beginning; they read.
        checkpoint.write_bytes(checkpoint.read_bytes()[:-20])
    for command in ("groups", "offsets --group payments", "expiry"):
        assert said(lake, command, LOGS[name]).out == said(LOGS[name], command).out
    shutil.rmtree(lake / "_checkpoints")
    for command in ("explain --group payments", "offsets --group payments"):
        assert said(lake, command, LOGS[name]) == said(LOGS[name], command)
    assert "answer" not in CliRunner().invoke(main, ["explain", str(lake), "--group", "payments"]).stderr


def test_of_several_clusters_one_is_named(tmp_path: Path) -> None:
    for cluster in ("east", "west"):
        log = LOGS["reset-to-earliest" if cluster == "east" else "3.9.2-txn"]
        list(run(Request(paths=[str(log)], lake=str(tmp_path), cluster=cluster), no_session, "auto"))
    for command in ("groups", "lag", "decode"):
        refused = said(tmp_path, command)
        assert (refused.code, refused.out) == (
            2,
            "",
        ) and "name one with --cluster, among east, west" in refused.notes[-1]
    east = said(tmp_path, "offsets --cluster east", LOGS["reset-to-earliest"])
    assert east == said(LOGS["reset-to-earliest"], "offsets")
    with pytest.raises(UsageError, match="among east, west"):
        snapshot_of(tmp_path)
    assert offset_rows(snapshot_of(tmp_path, cluster="east")) == offset_rows(
        snapshot_of(LOGS["reset-to-earliest"])
    )
    refusals = {
        "choose among east, west": said(tmp_path, "groups --cluster north"),
        "LOG... is none": said(LOGS["3.9.2-txn"], "groups --cluster east"),
        "is read alone": said(tmp_path, f"groups {LOGS['3.9.2-txn']}"),
    }
    assert all(reason in refused.notes[-1] for reason, refused in refusals.items())
