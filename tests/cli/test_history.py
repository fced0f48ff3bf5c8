"""`history`: every change in the order of the log; what is shown changes nothing of what is replayed."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import history, main
from offsets_tool.columns.lane.availability import ENGINE_VARIABLE, Engine
from offsets_tool.history.change_log import Happening, HappeningKind
from tests.corpora import FIXTURES, corpora
from tests.replay.story import commit
from tests.replay.story_segments import in_order, segment, write_log

MIGRATED = FIXTURES / "corpora/4.3.1-kip848/segments"
TRANSACTIONS = FIXTURES / "corpora/3.7.2-txn/segments"
Row = dict[str, Any]


def invoke(*args: object) -> Result:
    return CliRunner().invoke(main, ["history", *map(str, args)])


def rows(*args: object) -> list[Row]:
    result = invoke(*args)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("corpus", corpora(), ids=lambda path: path.name)
def test_every_fixture_has_its_history(corpus: Path) -> None:
    shown = rows(corpus / "segments", "--strict")
    assert all(list(row) == ["written_at", *Happening._fields] for row in shown)
    places = [(row["log_partition"], row["log_offset"]) for row in shown]
    assert places == sorted(places) and places


def test_a_row_says_when_where_what_and_who() -> None:
    commits = rows(
        MIGRATED, "--group", "sessions-migrate-60", "--topic", "orders.inventory", "--partition", 0
    )
    assert {row["kind"] for row in commits} == {"offsets"}
    assert [(row["client_id"], row["generation"], row["member_epoch"]) for row in commits] == [
        ("cl-1", 1, None),
        ("cl-1", None, 2),
        ("cl-1", 4, None),
    ]
    first, second, _ = commits
    assert (first["written_at"], first["timestamp"]) == ("2026-11-21T12:08:25.537Z", 1795262905537)
    assert (first["log_partition"], first["log_offset"], first["what"]) == (3, 37, "commit")
    assert first["before"] is None
    assert second["before"] == first["after"]
    assert second["delta"] == 0


FILTERS: list[tuple[list[object], Any]] = [
    (["--group", "sessions-migrate-60"], lambda row: row["group"] == "sessions-migrate-60"),
    (["--topic", "orders.inventory"], lambda row: row["topic"] == "orders.inventory"),
    (
        ["--topic", "orders.inventory", "--partition", 2],
        lambda row: (row["topic"], row["partition"]) == ("orders.inventory", 2),
    ),
    (["--kind", "members"], lambda row: row["kind"] == "members"),
    (["--kind", "groups", "--kind", "offsets"], lambda row: row["kind"] in ("groups", "offsets")),
    (["--instance", "in-a"], lambda row: row["instance_id"] == "in-a"),
    (
        ["--member", "2S1hwR0AQC-J3vuvHETKkw"],
        lambda row: "2S1hwR0AQC-J3vuvHETKkw" in (row["member_id"], *row["joined"], *row["left"]),
    ),
    (["--since", "2026-11-21T12:08:25Z"], lambda row: row["timestamp"] >= 1795262905000),
    (["--until", "2026-11-21T12:08:25Z"], lambda row: row["timestamp"] < 1795262905000),
    (
        ["--since", "3:40", "--until", "3:60"],
        lambda row: row["log_partition"] == 3 and 40 <= row["log_offset"] < 60,
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("options", "holds"), FILTERS, ids=[" ".join(map(str, each)) for each, _ in FILTERS])
def test_filters_only_choose_what_is_shown(options: list[object], holds: Any) -> None:
    everything = rows(MIGRATED)
    expected = [row for row in everything if holds(row)]
    assert 0 < len(expected) < len(everything)
    assert rows(MIGRATED, *options) == expected


def test_a_static_member_keeps_its_history_under_another_id() -> None:
    mine = rows(MIGRATED, "--instance", "in-a", "--group", "inventory-static848-9586")
    assert len({row["member_id"] for row in mine}) == 2
    told = [row["what"] for row in mine if row["kind"] == "members"]
    assert told.count("joined") == 2
    assert [what for what in told if what in ("away", "replaced")] == ["away", "replaced"]
    assert {row["topic"] for row in mine if row["kind"] == "offsets"} == {"orders.inventory"}


@pytest.mark.parametrize("engine", [Engine.REFERENCE, Engine.FAST])
@pytest.mark.parametrize("options", [(), ("--format", "csv"), ("--group", "sessions-*", "--kind", "groups")])
def test_much_is_shown_of_a_second_reading(
    options: tuple[str, ...], engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENGINE_VARIABLE, engine)
    results = []
    for most in (history._MOST_KEPT, 20 * history._OF_ONE, 0):
        monkeypatch.setattr(history, "_MOST_KEPT", most)
        result = invoke(MIGRATED, *options)
        results.append((result.stdout, result.stderr, result.exit_code))
    assert results[0][0] and results[1:] == results[:1] * 2


def test_the_rules_can_be_forced() -> None:
    race = [TRANSACTIONS, "--group", "feeds-race-69", "--topic", "clicks.geo", "--partition", 1]
    told = [(row["log_offset"], row["what"]) for row in rows(*race)]
    assert told[-3:] == [(8, "no-op tombstone"), (9, "anomaly"), (9, "transaction committed")]
    new = [(row["log_offset"], row["what"]) for row in rows(*race, "--coordinator", "new")]
    assert new[-2:] == [(8, "tombstone"), (8, "tombstone")]


def test_topic_names_that_are_learnt_later_are_there_from_the_start() -> None:
    """Assignments of 4.3.1 have ids alone; the first commit that names a topic comes after them."""
    members = rows(MIGRATED, "--kind", "members", "--group", "search-cons-f689")
    first = next(row for row in members if row["after"] and row["after"].get("target_assignment"))
    assert {part.rpartition("-")[0] for part in first["after"]["target_assignment"]} == {
        "orders.inventory",
        "orders.risk.v7",
    }


def test_what_compaction_took_is_said() -> None:
    result = invoke(FIXTURES / "corpora/3.7.2-compaction/segments")
    assert result.exit_code == 0
    assert "are gone (compaction), and what they changed with them" in result.stderr
    assert invoke(FIXTURES / "corpora/4.3.1-kip848/segments").stderr == ""
    told = [json.loads(line) for line in result.stdout.splitlines()]
    unknown = [row for row in told if row["kind"] == "offsets" and row["member_id"] is None]
    assert False in {row["is_owner_known"] for row in unknown}


def test_a_table_and_csv_for_people() -> None:
    table = invoke(TRANSACTIONS, "--group", "feeds-race-69", "--format", "table")
    header, *lines = table.stdout.splitlines()
    assert header.split() == ["WRITTEN-AT", "LOG", "GROUP", "ABOUT", "WHAT", "BEFORE", "AFTER", "BY", "EPOCH"]
    assert any("0:9" in line and "anomaly: committed though" in line for line in lines)
    shown = invoke(MIGRATED, "--group", "sessions-migrate-60", "--format", "csv")
    read = list(csv.DictReader(io.StringIO(shown.stdout)))
    generation = next(row for row in read if row["WHAT"].startswith("generation 1"))
    assert generation["WHAT"].endswith("(+2 -0)")
    assert "state=Stable" in generation["AFTER"] and "generation=0" in generation["BEFORE"]
    commit = next(row for row in read if row["WHAT"] == "commit")
    assert (commit["ABOUT"], commit["AFTER"], commit["BY"], commit["EPOCH"]) == (
        "orders.inventory-1",
        "10",
        "cl-1",
        "1",
    )


def test_what_cannot_be_asked_is_refused_with_a_remedy() -> None:
    assert invoke(MIGRATED, "--partition", 1).exit_code == 2
    refused = invoke(MIGRATED, "--topic", "orders.inventory", "--kind", "members")
    assert refused.exit_code == 2
    assert "--kind offsets" in refused.stderr
    assert set(HappeningKind) == {"offsets", "groups", "members", "anomalies"}


def test_records_that_damage_took_are_not_laid_to_compaction_alone(tmp_path: Path) -> None:
    placed = in_order(commit("g", "t", 0, 1), commit("g", "t", 0, 2), commit("g", "t", 0, 3))
    log = next(write_log(tmp_path, placed).glob("*.log"))
    whole, batch = log.read_bytes(), len(segment(placed[:1]))
    log.write_bytes(whole[: 2 * batch - 1] + b"\xff" + whole[2 * batch :])
    for command, *asked in (["history"], ["expiry"], ["offsets", "--as-of", "3:3"]):
        result = CliRunner().invoke(main, [command, str(tmp_path), *asked])
        assert "1 record(s)" in result.stderr and "gone (compaction, or damage" in result.stderr
