"""What shows a state, lag or removals says the same by rows as event by event: output, notes and exit code at any moment."""

import gzip
import json
import sys
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner, Result

from bench.generator.batches import write_batches
from bench.generator.mixes import MIXES
from offsets_tool import read_histories
from offsets_tool.cli import main
from offsets_tool.columns.lane import availability
from offsets_tool.columns.lane.availability import ENGINE_VARIABLE, Engine, asking_for, lane_problem
from offsets_tool.evidence import lanes
from offsets_tool.evidence.sources import open_sources
from tests.corpora import FIXTURES
from tests.depth import DEEP, sample

pytestmark = pytest.mark.slow

LOGS = sorted(
    folder
    for name in ("3.9.2-compaction", "3.9.2-txn", "4.3.1-txn", "0.8.2.2-to-0.11.0.3-upgrade", "4.3.1-kip848")
    for folder in (FIXTURES / "corpora" / name).glob("segments")
)
ASKED = (
    ["offsets"],
    ["groups"],
    ["offsets", "--as-of", "0:40", "--as-of", "1:200"],
    ["offsets", "--as-of", "2020-01-01T00:00:00Z"],
    ["groups", "--coordinator", "new", "--strict"],
    ["offsets", "--group", "*-[a-m]*", "--topic", "?*", "--group", "nowhere-1", "--topic", "nowhere"],
    ["describe", "--group", "nobody-*", "--group", "search", "--state"],
    ["describe", "--group", "ledger-gone848-2a04", "--group", "shipping-race-59"],
    ["diff", "--from", "0:40", "--from", "1:200"],
    ["diff", "--from", "2026-11-21T00:00:00Z", "--to", "0:40"],
    ["transactions"],
    ["transactions", "--group", "*-[a-m]*"],
    ["transactions", "--as-of", "0:40", "--as-of", "1:200"],
    ["history"],
    ["history", "--format", "csv", "--wide"],
    ["assignments", "--over-time"],
    ["assignments", "--as-of", "0:40", "--as-of", "1:200"],
    ["assignments", "--audit", "--over-time"],
    ["lag"],
    ["lag", "--format", "table"],
    ["lag", "--as-of", "0:40", "--as-of", "1:200", "--format", "csv"],
    ["lag", "--group", "*-[a-m]*", "--topic", "?*"],
    ["expiry"],
    ["expiry", "--as-of", "0:40", "--as-of", "1:200", "--retention", "1m"],
    ["findings"],
    ["diagnose", "--as-of", "0:40", "--as-of", "1:200"],
)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.mark.parametrize(("log", "asked"), sample([(log, asked) for log in LOGS for asked in ASKED], 6))
def test_same_answer(log: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    plainly = run(*asked, str(log))
    monkeypatch.setenv(ENGINE_VARIABLE, Engine.FAST)
    by_rows = run(*asked, str(log))
    assert (by_rows.stdout, by_rows.stderr, by_rows.exit_code) == (
        plainly.stdout,
        plainly.stderr,
        plainly.exit_code,
    )


@pytest.mark.parametrize("log", sample(LOGS, 2))
def test_same_histories(log: Path) -> None:
    tables = []
    for engine in (Engine.REFERENCE, Engine.FAST):
        with asking_for(engine):
            rows = {name: table.to_pylist() for name, table in read_histories(log).items()}
        tables.append({name: sorted(map(repr, of_table)) for name, of_table in rows.items()})
    assert tables[0] == tables[1] and all(tables[0][name] for name in ("offset_history", "group_history"))


@pytest.mark.parametrize("mix", sample(list(MIXES), 3))
def test_same_expiry_and_history_of_what_brokers_write(
    tmp_path: Path, mix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_bytes(
        write_batches(MIXES[mix](Random(7)), 1 << (18 if DEEP else 15))
    )
    for asked in (["expiry"], ["expiry", "--as-of", "0:1000", "--retention", "1m"], ["history"]):
        monkeypatch.setenv(ENGINE_VARIABLE, Engine.REFERENCE)
        plainly = run(*asked, str(tmp_path))
        monkeypatch.setenv(ENGINE_VARIABLE, Engine.FAST)
        by_rows = run(*asked, str(tmp_path))
        assert plainly.exit_code == 0 and ("live" in plainly.stdout or asked == ["history"])
        assert (by_rows.stdout, by_rows.stderr, by_rows.exit_code) == (plainly.stdout, plainly.stderr, 0)


@pytest.mark.parametrize("mix", sample(list(MIXES), 3))
def test_same_lag_of_what_brokers_write(tmp_path: Path, mix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = tmp_path / "ends.csv"
    for number, clock in enumerate((lambda time: time, lambda time: time - time % 2000 * 3, lambda time: -1)):
        folder = tmp_path / f"__consumer_offsets-{number}"
        folder.mkdir()
        batches = (
            each._replace(timestamp=clock(each.timestamp)) for each in MIXES[mix](Random(7 + number // 2))
        )
        (folder / "00000000000000000000.log").write_bytes(write_batches(batches, 1 << (15 if DEEP else 13)))
    rows = run("offsets", str(tmp_path), "--format", "jsonl").stdout.splitlines()[::3]
    ends = [(row["topic"], row["partition"], row["committed_offset"]) for row in map(json.loads, rows)]
    lines = [
        f"{topic},{partition},{at},{max(0, (offset or 0) + more)}"
        for topic, partition, offset in ends
        for at, more in ((1_795_000_000_000, -500), (1_795_000_900_000, 100))
    ]
    known.write_text("topic,partition,at,end\n" + "\n".join(lines) + "\n")
    for asked in ([], ["--ends", str(known)], ["--as-of", "0:150", "--as-of", "1:90", "--as-of", "2:100"]):
        monkeypatch.setenv(ENGINE_VARIABLE, Engine.REFERENCE)
        plainly = run("lag", str(tmp_path), *asked)
        monkeypatch.setenv(ENGINE_VARIABLE, Engine.FAST)
        by_rows = run("lag", str(tmp_path), *asked)
        assert plainly.exit_code == 0 and "lower bound" in plainly.stdout
        assert (by_rows.stdout, by_rows.stderr, by_rows.exit_code) == (plainly.stdout, plainly.stderr, 0)


def test_segments_that_reach_into_each_other_are_read_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [log, *_] = sorted((FIXTURES / "corpora" / "4.3.1-txn").glob("segments/__consumer_offsets-*/*.log"))
    for name in ("00000000000000000000.log", "00000000000000000007.log"):
        folder = tmp_path / "__consumer_offsets-3"
        folder.mkdir(exist_ok=True)
        (folder / name).write_bytes(log.read_bytes())
    plainly = run("offsets", str(tmp_path))
    monkeypatch.setenv(ENGINE_VARIABLE, Engine.FAST)
    by_rows = run("offsets", str(tmp_path))
    assert plainly.exit_code == 0 and "at which the next segment begins" in plainly.stderr
    assert (by_rows.stdout, by_rows.stderr, by_rows.exit_code) == (plainly.stdout, plainly.stderr, 0)
    (folder / "00000000000000000007.log").rename(folder / "00000000000000000000.log.gz")
    (folder / "00000000000000000000.log.gz").write_bytes(gzip.compress(log.read_bytes()))
    by_rows = run("offsets", str(tmp_path))
    monkeypatch.undo()
    plainly = run("offsets", str(tmp_path))
    assert plainly.exit_code == 0 and "of segments that reach into each other are left out" in plainly.stderr
    assert (by_rows.stdout, by_rows.stderr, by_rows.exit_code) == (plainly.stdout, plainly.stderr, 0)


@pytest.fixture(scope="module")
def opened() -> list[str]:
    """The segments that were opened, in their order."""
    paths: list[str] = []

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and str(arguments[0]).endswith(".log"):
            paths.append(str(arguments[0]))

    sys.addaudithook(note)
    return paths


@pytest.mark.parametrize("engine", [Engine.REFERENCE, Engine.FAST])
@pytest.mark.parametrize(
    "command",
    [
        "transactions",
        "assignments",
        "assignments --audit",
        "expiry",
        "findings",
        "diagnose",
        "history",
        "history --format csv",
    ],
)
def test_state_and_histories_come_from_one_reading(
    command: str, engine: Engine, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENGINE_VARIABLE, engine)
    log = str(FIXTURES / "incidents" / "reset-to-earliest" / "segments")
    opened.clear()
    assert run("offsets", log).exit_code == 0
    for_state = opened.copy()
    opened.clear()
    assert run(*command.split(), log).exit_code == 0
    assert opened == for_state and opened


def test_rows_are_for_many_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = open_sources((str(LOGS[0]),))
    assert not lanes.rows_pay(sources)
    monkeypatch.setattr(availability, "PAYS_FROM", sum(source.size for source in sources))
    assert lanes.rows_pay(sources) == (lane_problem() is None)
