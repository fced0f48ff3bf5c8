"""`expiry`: fields, what-if by retention, moments, what is supposed and said, and what is refused."""

import csv
import io
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from tests.corpora import FIXTURES
from tests.expiry.corpus_truth import Truth, corpora
from tests.replay.story import abort_marker, commit, tombstone, txn_commit
from tests.replay.story_segments import in_order, without_timestamps, write_log

EXPIRY = FIXTURES / "corpora/2.8.2-expiry/segments"
BROKERS = ("--retention", "1m", "--check-interval", "2s", "--kafka-version", "2.8.2")
DAY = 86_400_000
Row = dict[str, Any]


def invoke(*args: object) -> Result:
    return CliRunner().invoke(main, ["expiry", *map(str, args)])


def rows(*args: object) -> list[Row]:
    result = invoke(*args)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def expires(*args: object) -> list[tuple[str | None, int | None, str]]:
    return [
        (row["expires_at"], row["expires_in_ms"], row["rule"])
        for row in rows(*args)
        if row["status"] == "live"
    ]


@pytest.fixture
def one(tmp_path: Path) -> Path:
    """A simple group's commit at 1,000 ms, another's at 2,000 ms, and the end of the second at 3,000 ms."""
    told = (commit("g", "t", 0, 5, commit_timestamp=1_000), commit("h", "t", 0, 6, commit_timestamp=2_000))
    write_log(tmp_path, in_order(*told, tombstone("h", "t", 0)))
    return tmp_path


def test_fields_are_those_that_scripts_rely_on(one: Path) -> None:
    live, gone = rows(one, "--retention", "7d", "--kafka-version", "3.6")
    policy = {"release": "3.6", "retention_ms": 7 * DAY, "check_interval_ms": 600_000}
    assert live | policy == live and gone | policy == gone
    assert list(live)[:8] == [
        "group",
        "topic",
        "partition",
        "status",
        "expires_at",
        "expires_in_ms",
        "rule",
        "base_timestamp",
    ]
    assert (live["expires_at"], live["expires_in_ms"]) == ("1970-01-08T00:00:01.000Z", 7 * DAY - 2_000)
    assert (live["rule"], live["base_timestamp"], live["is_proven"]) == (
        "retention_since_commit",
        1_000,
        True,
    )
    assert list(gone)[:10] == [
        "group",
        "topic",
        "partition",
        "status",
        "removed_at",
        "cause",
        "confidence",
        "alternatives",
        "expected_at",
        "rule",
    ]
    assert (gone["removed_at"], gone["expected_at"]) == (
        "1970-01-01T00:00:03.000Z",
        "1970-01-08T00:00:02.000Z",
    )
    assert (gone["confidence"], gone["cause"]) == ("ambiguous", "group_deleted")
    # The other group's offset may have been the next to go: the log ends there.
    assert gone["alternatives"] == ["offsets_deleted", "topic_deleted"]
    assert gone["evidence"] == ["3:1", "3:2"]


def test_what_if_retention_were_another(one: Path) -> None:
    found = rows(one, "--retention", "7d", "--retention", "30d", "--retention", "1s")
    live = [(row["retention_ms"], row["expires_in_ms"]) for row in found if row["status"] == "live"]
    assert live == [(1_000, -1_000), (7 * DAY, 7 * DAY - 2_000), (30 * DAY, 30 * DAY - 2_000)]
    (gone,) = (row for row in found if row["status"] == "removed")
    assert gone["retention_ms"] == 7 * DAY


def test_the_moment_is_what_time_counts_from(one: Path) -> None:
    assert [row["expires_in_ms"] for row in rows(one, "--retention", "1d", "--as-of", 2_500)] == [
        DAY - 1_500,
        DAY - 500,
    ]
    assert [row["group"] for row in rows(one, "--as-of", "3:1")] == ["g"]


def test_what_is_asked_for_is_all_that_is_shown(one: Path) -> None:
    assert [row["status"] for row in rows(one, "--group", "h")] == ["removed"]
    assert [row["group"] for row in rows(one, "--topic", "t", "--partition", 0)] == ["g", "h"]
    assert rows(one, "--topic", "u") == []


def test_the_rule_is_that_of_the_release(one: Path) -> None:
    later = {
        version: expires(one, "--kafka-version", version, "--retention", "1d")[0][1]
        for version in ("2.0", "2.1")
    }
    assert later["2.0"] == (later["2.1"] or 0) + 1


def test_what_is_supposed_is_said(one: Path) -> None:
    said = invoke(one).stderr
    assert "by the rules of 3.9 (commits of version 2 or 3: 2.1 to 3.9)" in said
    assert "retention 7d (Kafka's default)" in said and "--kafka-version and --retention" in said
    assert "supposed" not in invoke(one, "--kafka-version", "3.6", "--retention", "7d").stderr
    assert "rules of" not in invoke(one, "--kafka-version", "3.6").stderr


def test_old_values_say_the_retention(tmp_path: Path) -> None:
    told = [commit("g", "t", at, 5, commit_timestamp=1_000, expire_timestamp=61_000) for at in range(3)]
    write_log(
        tmp_path, in_order(*told, commit("g", "t", 9, 5, commit_timestamp=1_000, expire_timestamp=5_000))
    )
    assert "retention 1m (as most values say)" in invoke(tmp_path).stderr
    found = expires(tmp_path, "--kafka-version", "1.1")
    assert [rule for _, _, rule in found] == ["retention_since_commit"] * 3 + ["expire_timestamp"]


def test_aborted_commits_are_gone(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(txn_commit(9, "g", "t", 0, 5), abort_marker(9)))
    (row,) = rows(tmp_path)
    assert (row["cause"], row["confidence"], row["producer_id"]) == ("aborted", "certain", 9)
    assert row["evidence"] == ["3:0", "3:1"]


def test_the_oldest_format_has_no_times(tmp_path: Path) -> None:
    folder = tmp_path / "__consumer_offsets-3"
    folder.mkdir()
    told = in_order(
        commit("g", "t", 0, 5, commit_timestamp=1_000, version=0, legacy=True), tombstone("g", "t", 0)
    )
    (folder / f"{0:020}.log").write_bytes(without_timestamps(told))
    (row,) = rows(tmp_path, "--kafka-version", "0.8.2", "--retention", "1m")
    assert (row["removed_at"], row["cause"], row["confidence"]) == (None, "retention", "certain")
    assert row["expected_at"] == "1970-01-01T00:01:01.001Z"


def test_a_log_whose_beginning_is_missing_makes_nothing_certain(tmp_path: Path) -> None:
    told = (commit("g", "t", 0, 5, commit_timestamp=1_000), commit("g", "t", 1, 5, commit_timestamp=1_000))
    whole, part = tmp_path / "whole", tmp_path / "part"
    write_log(whole, in_order(*told, tombstone("g", "t", 0)))
    write_log(part, in_order(*told, tombstone("g", "t", 0), start=100), base=100)
    options = ("--kafka-version", "3.6", "--retention", "7d")
    (sure,), (unsure,) = (
        [row for row in rows(at, *options) if row["status"] == "removed"] for at in (whole, part)
    )
    assert (sure["cause"], sure["confidence"]) == ("offsets_deleted", "certain")
    assert (unsure["cause"], unsure["confidence"]) == ("offsets_deleted", "likely")


def test_a_topic_that_all_partitions_lost_was_deleted(tmp_path: Path) -> None:
    """Two groups in two log partitions, each of which keeps another topic."""
    for partition, group in ((3, "g"), (4, "h")):
        told = (commit(group, "t", 0, 5), commit(group, "u", 0, 5), tombstone(group, "t", 0))
        write_log(tmp_path, in_order(*told), partition=partition)
    gone = [
        row
        for row in rows(tmp_path, "--kafka-version", "3.6", "--retention", "7d")
        if row["status"] == "removed"
    ]
    assert [(row["cause"], row["confidence"]) for row in gone] == [("topic_deleted", "likely")] * 2
    assert [row["evidence"][-1] for row in gone] == ["4:2", "3:2"]
    (alone,) = (row for row in rows(tmp_path / "__consumer_offsets-3") if row["status"] == "removed")
    assert (alone["cause"], alone["confidence"]) == ("topic_deleted", "ambiguous")
    assert alone["alternatives"] == ["offsets_deleted"]


def test_csv_and_table_have_the_same_rows() -> None:
    shown = list(csv.DictReader(io.StringIO(invoke(EXPIRY, *BROKERS, "--format", "csv").stdout)))
    found = rows(EXPIRY, *BROKERS)
    assert [(row["STATUS"], row["GROUP"], row["WHY"]) for row in shown] == [
        (row["status"], row["group"], row.get("cause", row["rule"])) for row in found
    ]
    table = invoke(EXPIRY, *BROKERS, "--format", "table").stdout.splitlines()
    assert table[0].split() == list(shown[0]) and len(table) == len(shown) + 1
    assert any("never" in line and "subscribed" in line for line in table)


@pytest.mark.slow
@pytest.mark.parametrize("corpus", corpora(), ids=lambda path: path.name)
def test_nothing_is_explained_wrongly_by_the_command(corpus: Path) -> None:
    truth = Truth(corpus)
    if not any(path.stat().st_size for path in corpus.glob("segments/*/*.log")):
        pytest.skip("a corpus without records")
    options = ("--retention", f"{truth.retention_ms}ms", "--check-interval", f"{truth.check_interval_ms}ms")
    shown = rows(corpus / "segments", "--kafka-version", truth.kafka_version, "--strict", *options)
    for row in (
        row for row in shown if row["status"] == "removed" and row["cause"] not in ("aborted", "superseded")
    ):
        at = row["removed_at"] and _milliseconds(row["removed_at"])
        cause = truth.cause(row["group"], row["topic"], row["partition"], at)
        assert cause == row["cause"] or (row["confidence"] == "ambiguous" and cause in row["alternatives"])


def _milliseconds(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--retention", "soon"), "7d, 36h"),
        (("--retention", "0d"), "7d, 36h"),
        (("--check-interval", "10"), "--check-interval"),
        (("--kafka-version", "nine"), "X.Y"),
        (("--partition", "0"), "--topic"),
    ],
)
def test_what_cannot_be_is_refused_with_a_remedy(one: Path, options: tuple[str, ...], words: str) -> None:
    result = invoke(one, *options)
    assert result.exit_code == 2 and words in result.stderr


def test_help_has_an_example() -> None:
    assert "offsets-tool expiry" in invoke("--help").output
