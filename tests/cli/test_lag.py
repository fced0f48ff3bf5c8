"""`lag`: ends from directories, files and commits; a moment's lag beside each offset, and what is only a bound."""

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from offsets_tool.lag.rows import LagRow
from tests.corpora import LAG, every_corpus
from tests.lag.story import CREATED, STABLE
from tests.replay.story import commit
from tests.replay.story_segments import in_order, write_log

SAID = json.loads((LAG / "said.json").read_text())
PRINTED = "oracle/consumer-groups-offsets.txt"
CORPORA = [corpus for corpus in every_corpus() if (corpus / PRINTED).is_file()]
FIELDS = (*LagRow._fields, "is_proven")


def invoke(*args: object, command: str = "lag") -> Result:
    return CliRunner().invoke(main, [command, *map(str, args)])


def rows(*args: object, command: str = "lag") -> list[dict[str, Any]]:
    result = invoke(*args, command=command)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def record_of(printed: str) -> dict[tuple[str, str, int], tuple[int | None, int | None, int | None]]:
    """CURRENT-OFFSET, LOG-END-OFFSET and LAG as kafka-consumer-groups printed them."""
    lines = [line.split() for line in printed.splitlines()]
    lines = [line for line in lines if len(line) >= 6 and line[2].isdecimal()]
    numbers = [[None if text == "-" else int(text) for text in line[3:6]] for line in lines]
    return {
        (line[0], line[1], int(line[2])): tuple(known) for line, known in zip(lines, numbers, strict=True)
    }  # type: ignore[misc]


def shown(found: list[dict[str, Any]]) -> dict[tuple[str, str, int], tuple[Any, Any, Any]]:
    return {
        (row["group"], row["topic"], row["partition"]): (
            row["committed_offset"],
            row["end_offset"],
            row["lag"],
        )
        for row in found
    }


def test_directories_beside_the_log_are_used_by_themselves() -> None:
    found = rows(LAG / "broker")
    assert shown(found) == record_of(SAID["described"])
    assert all(tuple(row) == FIELDS for row in found)
    lost = {row["group"]: row["data_lost"] for row in found if row["topic"] == CREATED}
    assert lost == {"lag-at-end": 0, "lag-behind": 0, "lag-lost": 50}


def test_time_lag_is_that_of_the_record() -> None:
    (row,) = rows(LAG / "broker", "--group", "lag-behind", "--topic", "lag-appended")
    assert (row["time_lag_ms"], row["time_method"]) == (row["timestamp"] - SAID["appended"][3], "record")
    (row,) = rows(LAG / "broker", "--group", "lag-at-end", "--topic", "lag-appended")
    assert (row["time_lag_ms"], row["time_method"]) == (0, "caught up")


@pytest.fixture
def without_data_topics(tmp_path: Path) -> Path:
    """The same log without the data topics' directories."""
    ignored = shutil.ignore_patterns("lag-*")
    return Path(shutil.copytree(LAG / "broker", tmp_path / "bare", ignore=ignored))


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, ...]:
    for name in ("latest", "earliest"):
        (tmp_path / name).write_text(SAID[name])
    return (
        "--ends",
        f"{tmp_path}/latest",
        "--log-starts",
        f"{tmp_path}/earliest",
        "--ends-at",
        str(SAID["at"]),
    )


def test_files_of_ends_say_the_same(without_data_topics: Path, files: tuple[str, ...]) -> None:
    result = invoke(without_data_topics, *files)
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert shown(found) == record_of(SAID["described"])
    assert {(row["method"], row["confidence"], row["timestamp"]) for row in found} == {
        ("sampled", "exact", SAID["at"])
    }
    assert {row["data_lost"] for row in found if row["group"] == "lag-lost"} == {50}
    assert "are taken to stand then" in result.stderr


def test_without_any_ends_commits_are_a_lower_bound(without_data_topics: Path) -> None:
    result = invoke(without_data_topics, "--topic", CREATED, "--format", "table")
    assert [line.split()[4:6] for line in result.stdout.splitlines()[1:]] == [
        [">=400", ">=0"],
        [">=400", ">=67"],
        [">=400", ">=300"],
    ]
    assert "3 of 3 row(s) have a lower bound" in result.stderr


def test_where_a_group_was_before_it_went_back_still_bounds_the_end(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(commit("g", "t", 0, 90), commit("g", "t", 0, 10), commit("g", "u", 0, 5)))
    (row,) = rows(tmp_path, "--topic", "t")
    assert (row["committed_offset"], row["end_offset"], row["lag"], row["method"]) == (
        10,
        90,
        80,
        "lower bound",
    )
    # Also where only another topic's end is known.
    (tmp_path / "ends").write_text("u:0:7\n")
    (row,) = rows(tmp_path / "__consumer_offsets-3", "--topic", "t", "--ends", tmp_path / "ends")
    assert (row["end_offset"], row["lag"]) == (90, 80)


def test_as_of_a_time_the_end_is_interpolated(without_data_topics: Path, tmp_path: Path) -> None:
    at = SAID["at"]
    (tmp_path / "ends.csv").write_text(
        f"topic,partition,at,end\n{CREATED},0,{at - 400},380\n{CREATED},0,{at + 600},420\n"
    )
    (row,) = rows(
        without_data_topics,
        "--ends",
        tmp_path / "ends.csv",
        "--as-of",
        at + 100,
        "--topic",
        CREATED,
        "--group",
        "lag-behind",
    )
    assert row["timestamp"] == at + 100
    assert (row["method"], row["lag_min"], row["lag_max"]) == ("interpolated", 67, 87)
    assert row["end_offset"] == 400


def test_read_committed_counts_to_the_last_stable_offset() -> None:
    found = rows(LAG / "broker", "--topic", STABLE, "--read-committed")
    assert shown(found) == {
        ("lag-at-end", STABLE, 0): (6, 4, 0),
        ("lag-behind", STABLE, 0): (1, 4, 3),
    }
    assert {row["group"]: row["beyond_end"] for row in found} == {"lag-at-end": 2, "lag-behind": 0}


def test_csv_has_plain_numbers(without_data_topics: Path) -> None:
    result = invoke(without_data_topics, "--topic", CREATED, "--format", "csv")
    (first, *_) = csv.DictReader(io.StringIO(result.stdout))
    assert first["LAG"] == "0"
    assert first["METHOD"] == "lower bound"


def test_a_directory_that_cannot_be_read_costs_only_its_ends(tmp_path: Path) -> None:
    broken = Path(shutil.copytree(LAG / "broker", tmp_path / "broken"))
    (broken / "replication-offset-checkpoint").write_text("what\n")
    result = invoke(broken, "--topic", CREATED)
    assert result.exit_code == 0
    assert f"nothing more of {CREATED}-0 is taken from there" in result.stderr
    assert {json.loads(line)["method"] for line in result.stdout.splitlines()} == {"lower bound"}


def test_a_directory_with_nothing_in_use_is_none(tmp_path: Path) -> None:
    deleted = Path(shutil.copytree(LAG / "broker", tmp_path / "deleted"))
    for path in (deleted / f"{CREATED}-0").glob("*.log"):
        path.rename(path.with_name(f"{path.name}.deleted"))
    found = rows(deleted, "--topic", CREATED)
    assert {row["method"] for row in found} == {"lower bound"}


def test_a_high_watermark_below_the_end_is_said(tmp_path: Path) -> None:
    behind = Path(shutil.copytree(LAG / "broker", tmp_path / "behind"))
    path = behind / "replication-offset-checkpoint"
    path.write_text(path.read_text().replace(f"{CREATED} 0 400", f"{CREATED} 0 390"))
    assert "checkpointed at 390, the log ends at 400" in invoke(behind, "--topic", CREATED).stderr


def test_describe_has_the_same_ends() -> None:
    found = rows(LAG / "broker", "--group", "lag-behind", command="describe")
    described = {key: known for key, known in record_of(SAID["described"]).items() if key[0] == "lag-behind"}
    assert {
        (row["group"], row["topic"], row["partition"]): (
            row["committed_offset"],
            row["log_end_offset"],
            row["lag"],
        )
        for row in found
    } == described


@pytest.mark.parametrize("corpus", CORPORA, ids=lambda path: path.name)
def test_with_the_ends_that_kafka_printed_lag_is_what_it_printed(corpus: Path, tmp_path: Path) -> None:
    """Where Kafka's is negative, of commits beyond the end, ours is not known, and how far it is beyond is a number of its own."""
    printed = record_of((corpus / PRINTED).read_text())
    known = {key: said for key, said in printed.items() if said[1] is not None}
    ends = {f"{topic}:{partition}:{end}" for (_, topic, partition), (_, end, _) in known.items()}
    (tmp_path / "ends").write_text("\n".join(sorted(ends)))
    found = rows(corpus / "segments", "--ends", tmp_path / "ends")
    ours = shown(found)
    compared = {key: said for key, said in known.items() if key in ours}
    # Offsets went on expiring after Kafka had printed them.
    assert compared and (compared == known or "expiry" in corpus.name)
    for key, (committed, end, lag) in compared.items():
        assert ours[key] == (committed, end, None if lag is None or lag < 0 else lag), key
    assert {row["beyond_end"] for row in found} >= {max(0, -(lag or 0)) for _, _, lag in compared.values()}


def test_an_offset_that_compaction_took_has_no_lag(tmp_path: Path) -> None:
    first, _, last = in_order(commit("g", "t", 0, 1), commit("g", "u", 0, 5), commit("g", "u", 0, 9))
    write_log(tmp_path, [first, last])
    found = {row["topic"]: row for row in rows(tmp_path, "--as-of", "3:2")}
    assert found["u"]["is_proven"] is False
    assert found["u"]["lag"] is found["u"]["time_lag_ms"] is None
    assert found["t"]["is_proven"] is True


def test_ends_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / "ends").write_text("what is this\n")
    result = invoke(LAG / "broker", "--ends", tmp_path / "ends")
    assert result.exit_code == 1
    assert "a row needs `topic` and `partition`" in result.stderr or "has no end offsets" in result.stderr
