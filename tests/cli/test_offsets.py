"""`offsets`: the moment asked for, what the log still proves of it, the CSV of Kafka's tool, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from tests.broker import KRaftBroker
from tests.corpora import FIXTURES
from tests.log.live.activity import GROUPS
from tests.replay.story import commit, commit_marker, group_metadata, group_tombstone, tombstone, txn_commit
from tests.replay.story_segments import Placed, in_order, without_timestamps, write_log

TXN = FIXTURES / "corpora/3.9.2-txn/segments"


def invoke(*args: object) -> Result:
    return CliRunner().invoke(main, ["offsets", *map(str, args)])


def rows(*args: object) -> list[dict[str, Any]]:
    result = invoke(*args)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def committed(*args: object) -> dict[str, int]:
    """Return the committed offsets of group g in topic t by partition."""
    return {row["partition"]: row["committed_offset"] for row in rows(*args)}


def commits(*offsets: int) -> list[Placed]:
    """Return commits of one key, a second apart from 1,000 ms on."""
    return in_order(*(commit("g", "t", 0, offset) for offset in offsets))


def test_fields_are_those_that_scripts_rely_on(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(commit("g", "t", 0, 5, metadata="m"), txn_commit(9, "g", "t", 0, 7)))
    (row,) = rows(tmp_path)
    names = "group topic partition committed_offset leader_epoch metadata commit_timestamp expire_timestamp topic_id"
    assert list(row)[:12] == [*names.split(), "log_partition", "log_offset", "pending"]
    assert (row["committed_offset"], row["metadata"], row["log_partition"], row["log_offset"]) == (
        5,
        "m",
        3,
        0,
    )
    (pending,) = row["pending"]
    assert (pending["producer_id"], pending["committed_offset"], pending["log_offset"]) == (9, 7, 1)
    assert row["is_proven"] is True


@pytest.mark.parametrize(
    ("as_of", "offset"),
    [
        ("999", None),
        ("1000", 1),
        ("1999", 1),
        ("1970-01-01T00:00:02Z", 2),
        ("9000", 3),
        ("3:1", 1),
        ("3:0", None),
        ("3:99", 3),
    ],
)
def test_a_time_is_inclusive_and_a_position_exclusive(tmp_path: Path, as_of: str, offset: int | None) -> None:
    write_log(tmp_path, commits(1, 2, 3))
    assert committed(tmp_path, "--as-of", as_of).get(0) == offset


def test_a_time_that_the_log_does_not_reach_is_said(tmp_path: Path) -> None:
    write_log(tmp_path, commits(1, 2))
    before = invoke(tmp_path, "--as-of", 999).stderr
    assert "is from 1970-01-01T00:00:00.999Z or before: the first is of 1970-01-01T00:00:01.000Z" in before
    later = invoke(tmp_path, "--as-of", 2_001)
    assert "the newest record here is of 1970-01-01T00:00:02.000Z" in later.stderr
    assert invoke(tmp_path, "--as-of", 1_500).stderr == "" == invoke(tmp_path, "--as-of", 2_000).stderr


def test_evidence_without_a_record_is_said(tmp_path: Path) -> None:
    folder = write_log(tmp_path, commits(1))
    (folder / "00000000000000000000.log").write_bytes(b"")
    for asked in ((), ("--as-of", 999), ("--as-of", "3:0")):
        assert invoke(tmp_path, *asked).stderr == "this evidence has no record to replay\n"


def test_ties_are_all_in(tmp_path: Path) -> None:
    write_log(tmp_path, [at._replace(timestamp=1_000) for at in commits(1, 2, 3)])
    assert committed(tmp_path, "--as-of", 1_000) == {0: 3}
    assert committed(tmp_path, "--as-of", 999) == {}


def test_a_time_ends_at_the_first_later_record_and_says_what_else_was_earlier(tmp_path: Path) -> None:
    times = (1_000, 5_000, 2_000, 3_000, 6_000)
    placed = [at._replace(timestamp=time) for at, time in zip(commits(1, 2, 3, 4, 5), times, strict=True)]
    write_log(tmp_path, placed)
    result = invoke(tmp_path, "--as-of", 4_000)
    assert json.loads(result.stdout)["committed_offset"] == 1
    assert "partition 3: 2 record(s) from 1 on have timestamps up to that time" in result.stderr
    assert "the oldest 3000 ms older than the record at 1" in result.stderr
    assert "--as-of 3:4 has them too" in result.stderr
    assert committed(tmp_path, "--as-of", "3:4") == {0: 4}


def test_clocks_that_go_back_before_the_moment_take_nothing_away(tmp_path: Path) -> None:
    placed = [at._replace(timestamp=time) for at, time in zip(commits(1, 2), (5_000, 1_000), strict=True)]
    write_log(tmp_path, placed)
    result = invoke(tmp_path, "--as-of", 5_000)
    assert json.loads(result.stdout)["committed_offset"] == 2 and "timestamps" not in result.stderr


def test_without_record_timestamps_the_commits_own_count(tmp_path: Path) -> None:
    records = [
        commit("g", "t", 0, at, version=1, commit_timestamp=at * 1_000, expire_timestamp=-1) for at in (1, 2)
    ]
    folder = write_log(tmp_path, [])
    (folder / "00000000000000000000.log").write_bytes(
        without_timestamps(in_order(records[0], tombstone("g", "t", 1), records[1]))
    )
    assert committed(tmp_path, "--as-of", 1_000) == {0: 1}
    assert committed(tmp_path, "--as-of", 2_000) == {0: 2}


def test_with_positions_partitions_that_are_not_named_are_empty(tmp_path: Path) -> None:
    write_log(tmp_path, commits(1, 2), partition=3)
    write_log(tmp_path, in_order(commit("h", "t", 0, 9)), partition=4)
    result = invoke(tmp_path, "--as-of", "3:1", "--as-of", "8:5", "--as-of", "9:0")
    assert [json.loads(line)["group"] for line in result.stdout.splitlines()] == ["g"]
    assert "1 other(s) count as empty" in result.stderr
    assert "partition 8 is not in this evidence" in result.stderr and "partition 9" not in result.stderr


def test_a_position_behind_the_end_is_said(tmp_path: Path) -> None:
    write_log(tmp_path, commits(1, 2))
    assert "the log of partition 3 ends at 2" in invoke(tmp_path, "--as-of", "3:7").stderr


# ---- what compaction made unknowable


def compacted(folder: Path) -> None:
    """Write a log of offsets 4 to 7 only: partition 0 has records before and after 6, 1 only from 6 on, 2 only before."""
    records = {4: (0, 40), 5: (2, 50), 6: (1, 60), 7: (0, 70)}
    write_log(
        folder,
        [Placed(at, at * 1_000, commit("g", "t", part, offset)) for at, (part, offset) in records.items()],
    )


def test_a_key_that_only_later_records_have_is_unknown_where_records_are_gone(tmp_path: Path) -> None:
    compacted(tmp_path)
    result = invoke(tmp_path, "--as-of", "3:6")
    found = {row["partition"]: row for row in map(json.loads, result.stdout.splitlines())}
    assert {at: (row["committed_offset"], row["is_proven"]) for at, row in found.items()} == {
        0: (40, True),
        1: (None, False),
        2: (50, True),
    }
    assert found[1]["proven_again_from"] == 6 and found[0]["proven_from"] == 4
    assert "4 record(s) from before this moment are gone" in result.stderr
    assert "every record is there only from 3:4 on" in result.stderr and "1 value(s)" in result.stderr


def test_at_the_end_of_a_compacted_log_everything_is_known(tmp_path: Path) -> None:
    compacted(tmp_path)
    result = invoke(tmp_path)
    assert all(json.loads(line)["is_proven"] for line in result.stdout.splitlines()) and result.stderr == ""


def test_where_nothing_is_gone_later_keys_simply_were_not_there(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(commit("g", "t", 0, 1), commit("g", "t", 1, 2)))
    result = invoke(tmp_path, "--as-of", "3:1")
    assert json.loads(result.stdout)["partition"] == 0 and result.stderr == ""


def test_a_gap_right_before_the_moment_counts(tmp_path: Path) -> None:
    write_log(tmp_path, [Placed(0, 1, commit("g", "t", 0, 1)), Placed(9, 9, commit("g", "t", 1, 1))])
    found = {row["partition"]: row["is_proven"] for row in rows(tmp_path, "--as-of", "3:5")}
    assert found == {0: True, 1: False}
    assert {row["proven_from"] for row in rows(tmp_path, "--as-of", "3:5")} == {5}


# ---- table


def test_a_table_has_a_dash_for_what_is_not_there(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(txn_commit(1, "g", "t", 1, 7)))
    header, line = invoke(tmp_path, "--format", "table").stdout.splitlines()
    assert header.split()[:4] == ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET"]
    assert line.split()[:4] == ["g", "t", "1", "-"] and "7 (producer 1)" in line


def test_filters(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(*(commit(g, t, p, 1) for g in "gh" for t in "tu" for p in (0, 1))))
    assert len(rows(tmp_path)) == 8
    assert len(rows(tmp_path, "--group", "g")) == 4
    (row,) = rows(tmp_path, "--group", "g", "--topic", "u", "--partition", 1)
    assert (row["group"], row["topic"], row["partition"]) == ("g", "u", 1)
    assert "nothing in this evidence has this name; nearest: 'g'" in invoke(tmp_path, "--group", "G").stderr
    result = invoke(tmp_path, "--partition", 1)
    assert result.exit_code == 2 and "name the topic with --topic" in result.stderr


# ---- whose coordinator


def test_a_group_that_was_deleted_under_its_offsets(tmp_path: Path) -> None:
    """The classic coordinator has a simple group then; that of 4.x answers nothing, and the log does not say whose it is."""
    write_log(tmp_path, in_order(group_metadata("g", 1), commit("g", "t", 0, 5), group_tombstone("g")))
    assert committed(tmp_path, "--coordinator", "classic") == {0: 5} == committed(tmp_path)
    result = invoke(tmp_path, "--coordinator", "new")
    assert result.stdout == "" and "1 committed offset(s) are of groups that were deleted" in result.stderr
    for asked in (("--group", "another"), ("--topic", "u")):
        assert "groups that were deleted" not in invoke(tmp_path, "--coordinator", "new", *asked).stderr


def test_another_partitions_proof_of_the_new_coordinator_holds(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(commit("g", "t", 0, 5), group_tombstone("g")), partition=3)
    assert committed(tmp_path) == {0: 5}
    write_log(tmp_path, in_order(group_metadata("first", 0, protocol_type="")), partition=4)
    assert rows(tmp_path) == []


def test_a_later_proof_holds_unless_the_classic_coordinator_wrote_before(tmp_path: Path) -> None:
    """A client deletes an offset while a commit for it is pending: to the new coordinator the commit is gone then."""
    pending, marker = txn_commit(9, "g", "t", 0, 7), commit_marker(9)
    proof = group_metadata("first", 0, protocol_type="")
    placed = in_order(pending, tombstone("g", "t", 0), marker, proof)
    placed[1] = placed[1]._replace(sequence=0)
    write_log(tmp_path / "new", placed)
    assert committed(tmp_path / "new", "--as-of", "3:3") == {}
    before = in_order(group_metadata("h", 1)) + [at._replace(offset=at.offset + 1) for at in placed]
    write_log(tmp_path / "upgraded", before)
    assert committed(tmp_path / "upgraded", "--as-of", "3:4") == {0: 7}


# ---- what cannot be


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--as-of", "yesterday"), "neither a time nor a place"),
        (("--as-of", "3:1", "--as-of", "1000"), "not both"),
        (("--as-of", "3:1", "--as-of", "3:2"), "names a log partition twice"),
        (("--coordinator", "old"), "'old' is not one of"),
        ((), "give evidence to read"),
    ],
)
def test_what_cannot_be_asked(tmp_path: Path, asked: tuple[str, ...], said: str) -> None:
    write_log(tmp_path, commits(1))
    result = invoke(*((tmp_path, *asked) if asked else ()))
    assert result.exit_code == 2 and said in result.stderr


# ---- real logs


def test_pending_offsets_of_a_real_log_are_apart() -> None:
    found = [row for row in rows(TXN, "--group", "pricing-hang-43") if row["topic"] == "pricing-loyalty.v2"]
    assert [
        (row["partition"], row["committed_offset"], [p["committed_offset"] for p in row["pending"]])
        for row in found
    ] == [
        (0, 5, [649]),
        (1, None, [601]),
        (2, 6, []),
    ]


def test_a_marker_makes_them_count(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(txn_commit(9, "g", "t", 0, 7), commit_marker(9)))
    assert committed(tmp_path, "--as-of", "3:1") == {0: None} and committed(tmp_path) == {0: 7}


@pytest.mark.broker
def test_live_offsets_are_what_the_brokers_own_tool_says(active: KRaftBroker) -> None:
    said = active.run(
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
        *("--bootstrap-server", active.bootstrap_server, "--describe", "--all-groups", "--offsets"),
    )
    lines = [line.split() for line in said.stdout.splitlines()]
    answered = {
        (line[0], line[1], line[2]): line[3] for line in lines if len(line) == 9 and line[0] in GROUPS
    }
    assert answered
    shown = rows("--bootstrap-server", active.bootstrap_server)
    assert {
        (row["group"], row["topic"], str(row["partition"])): str(row["committed_offset"])
        for row in shown
        if row["group"] in GROUPS
    } == answered


def test_what_cannot_be_is_hinted_at() -> None:
    """A commit that the living coordinator had forgotten: its log brings it back."""
    race = invoke(FIXTURES / "corpora/3.7.2-txn/segments")
    assert "0:9" in race.stderr and "history --kind anomalies" in race.stderr
    assert "anomalies" not in invoke(TXN, "--as-of", "2:11").stderr
