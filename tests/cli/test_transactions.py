"""`transactions`: open ones first and what they hold back, how the others ended, markers of producers that wrote nothing."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from tests.corpora import FIXTURES
from tests.replay.story import abort_marker, commit, commit_marker, txn_commit
from tests.replay.story_segments import in_order, write_log

TXN = FIXTURES / "corpora/3.9.2-txn"
FIELDS = (
    "producer_id",
    "producer_epoch",
    "outcome",
    "first_offset",
    "last_offset",
    "marker_log_offset",
    "marker_epoch",
    "first_timestamp",
    "age_ms",
    "groups",
    "pending",
    "log_partition",
    "last_stable_offset",
)


def invoke(*args: object) -> Result:
    return CliRunner().invoke(main, ["transactions", *map(str, args)])


def rows(*args: object) -> list[dict[str, Any]]:
    result = invoke(*args)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def mixed(folder: Path) -> None:
    """Write transactions of producers 1 (committed), 2 (open from 1 on), 3 (aborted), 4 (open from 6 on), 5 (a marker alone)."""
    records = (
        txn_commit(1, "g", "t", 0, 10),
        txn_commit(2, "g", "t", 1, 20),
        txn_commit(3, "h", "t", 0, 30),
        txn_commit(2, "h", "t", 2, 21),
        commit_marker(1),
        abort_marker(3),
        txn_commit(4, "h", "t", 1, 40),
        commit_marker(5),
        commit("g", "t", 5, 1),
    )
    write_log(folder, in_order(*records))


def test_open_ones_come_first_the_oldest_before_the_others(tmp_path: Path) -> None:
    mixed(tmp_path)
    found = rows(tmp_path)
    assert [(row["producer_id"], row["outcome"]) for row in found] == [
        (2, "open"),
        (4, "open"),
        (1, "committed"),
        (3, "aborted"),
        (5, "committed"),
    ]
    assert all(set(FIELDS) <= set(row) and row.keys() == found[0].keys() for row in found)


def test_an_open_transaction_says_what_is_pending_since_when_and_what_it_holds_back(tmp_path: Path) -> None:
    mixed(tmp_path)
    row = rows(tmp_path)[0]
    assert (row["first_offset"], row["last_offset"], row["marker_log_offset"], row["commits"]) == (
        1,
        3,
        None,
        2,
    )
    assert row["groups"] == ["g", "h"] and row["log_partition"] == 3 and row["last_stable_offset"] == 1
    pending = [
        (each["group"], each["partition"], each["committed_offset"], each["log_offset"])
        for each in row["pending"]
    ]
    assert pending == [("g", 1, 20, 1), ("h", 2, 21, 3)]
    # The record at offset 8 is the newest: seven seconds after the first.
    assert row["age_ms"] == 7_000
    stderr = invoke(tmp_path).stderr
    assert "partition 3: the last stable offset is 1, where producer 2 has a transaction open" in stderr
    assert "8 record(s) wait" in stderr


def test_ended_ones_last_until_their_marker(tmp_path: Path) -> None:
    mixed(tmp_path)
    committed, aborted, alone = rows(tmp_path)[2:]
    assert (committed["first_offset"], committed["marker_log_offset"], committed["age_ms"]) == (0, 4, 4_000)
    assert (aborted["first_offset"], aborted["marker_log_offset"], aborted["groups"]) == (2, 5, ["h"])
    assert committed["pending"] == []
    assert (alone["first_offset"], alone["marker_log_offset"], alone["age_ms"], alone["groups"]) == (
        None,
        7,
        None,
        [],
    )


def test_as_of_a_moment_the_same_transactions_are_open(tmp_path: Path) -> None:
    mixed(tmp_path)
    found = rows(tmp_path, "--as-of", "3:3")
    assert [(row["producer_id"], row["outcome"]) for row in found] == [(1, "open"), (2, "open"), (3, "open")]
    assert {row["last_stable_offset"] for row in found} == {0}
    # To a time, the age is counted to that time: the first record is of 1,000 ms.
    assert rows(tmp_path, "--as-of", 3_700)[0]["age_ms"] == 2_700


@pytest.mark.parametrize(
    ("asked", "age", "age_to", "until"),
    [
        ((), 7_000, "newest_record", 9_000),
        (("--as-of", "3:3"), 1_000, "newest_record", 3_000),
        (("--as-of", "9000"), 7_000, "as_of", 9_000),
        (("--as-of", "1970-01-02T00:00Z"), 86_398_000, "as_of", 86_400_000),
    ],
)
def test_an_age_says_what_it_counts_to(
    tmp_path: Path, asked: tuple[str, ...], age: int, age_to: str, until: int
) -> None:
    mixed(tmp_path)
    result = invoke(tmp_path, *asked)
    found = {row["producer_id"]: row for row in map(json.loads, result.stdout.splitlines())}
    open_ = found[2]
    assert (open_["age_ms"], open_["age_to"], open_["age_to_timestamp"]) == (age, age_to, until)
    is_newest = age_to == "newest_record"
    assert ("counts to the newest record, of 1970-01-01T00:00:0" in result.stderr) == is_newest
    assert ("--as-of now counts to the clock" in result.stderr) == is_newest
    assert age_to in invoke(tmp_path, *asked, "--format", "table").stdout


def test_the_age_of_what_has_ended_counts_to_its_marker(tmp_path: Path) -> None:
    mixed(tmp_path)
    assert [(row["producer_id"], row["age_to"], row["age_to_timestamp"]) for row in rows(tmp_path)[2:]] == [
        (1, "marker", 5_000),
        (3, "marker", 6_000),
        (5, None, None),
    ]
    write_log(tmp_path / "ended", in_order(txn_commit(1, "g", "t", 0, 10), commit_marker(1)))
    assert "counts to" not in invoke(tmp_path / "ended").stderr


def test_with_nothing_open_the_last_stable_offset_is_the_end(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(txn_commit(1, "g", "t", 0, 10), commit_marker(1), commit("g", "t", 0, 11)))
    result = invoke(tmp_path)
    assert json.loads(result.stdout)["last_stable_offset"] == 3 and result.stderr == ""


def test_filter_by_group_table_and_csv(tmp_path: Path) -> None:
    mixed(tmp_path)
    assert [row["producer_id"] for row in rows(tmp_path, "--group", "g")] == [2, 1]
    nobody = invoke(tmp_path, "--group", "nobody")
    assert nobody.stdout == "" and "nothing in this evidence has this name" in nobody.stderr
    lines = list(csv.DictReader(io.StringIO(invoke(tmp_path, "--format", "csv").stdout)))
    assert [line["PRODUCER-ID"] for line in lines] == ["2", "4", "1", "3", "5"]
    assert lines[4]["FIRST-OFFSET"] == "" and lines[0]["GROUPS"] == "g h"


def test_the_transactions_of_a_real_log() -> None:
    found = rows(TXN / "segments")
    assert sum(row["marker_log_offset"] is not None for row in found) == _markers()
    alone = [row for row in found if row["first_offset"] is None]
    assert [(row["producer_id"], row["outcome"]) for row in alone] == [(6, "aborted")]
    bumped = [
        row
        for row in found
        if row["marker_epoch"] is not None and row["marker_epoch"] > row["producer_epoch"]
    ]
    groups = [group.partition("-")[2].rpartition("-")[0] for row in bumped for group in row["groups"]]
    assert sorted(groups) == ["fence", "timeout"] and {row["outcome"] for row in bumped} == {"aborted"}


@pytest.mark.parametrize("corpus", ["3.7.2-txn", "3.9.2-txn", "4.3.1-txn"])
def test_what_is_open_is_what_the_broker_said_of_its_producers(corpus: str) -> None:
    """DescribeProducers tells where the current transaction of each producer starts."""
    folder = FIXTURES / "corpora" / corpus
    facts = json.loads((folder / "manifest.json").read_text())["checks"]["facts"]
    said = {
        (int(partition), each["producer_id"], each["epoch"], each["current_txn_start_offset"])
        for partition, producers in facts["describe_producers"].items()
        for each in producers
        if each["current_txn_start_offset"] is not None
    }
    assert said
    assert said == {
        (row["log_partition"], row["producer_id"], row["producer_epoch"], row["first_offset"])
        for row in rows(folder / "segments")
        if row["outcome"] == "open"
    }


def _markers() -> int:
    shown = CliRunner().invoke(main, ["decode", str(TXN / "segments"), "--type", "control"])
    return len(shown.stdout.splitlines())
