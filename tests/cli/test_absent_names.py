"""What is said of groups and topics that were asked for and of which nothing is shown, by every command and either lane."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from offsets_tool.placement import partition_for
from tests.corpora import CORPORA
from tests.replay.story import commit, group_metadata, group_tombstone, txn_commit
from tests.replay.story_segments import in_order, write_log

MOMENTS = ("groups", "offsets", "lag", "expiry", "transactions", "describe")
COMMANDS = (*MOMENTS, "decode", "history")
OFFSETS = ("offsets", "lag", "expiry", "decode", "history")
GROUPS = ("orders", "orders-dlq", "payments.v2", "search", "app-1", "app-2", "v[1]", "v1")


def invoke(*args: object) -> Result:
    return CliRunner().invoke(main, [*map(str, args)])


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Groups where they live in a topic of five partitions, each with three of the topic `t`."""
    folder = tmp_path_factory.mktemp("evidence")
    for number in range(5):
        groups = [group for group in GROUPS if partition_for(group, 5) == number]
        records = [
            telling
            for g in groups
            for telling in (
                txn_commit(1 + GROUPS.index(g), g, "t", 0, 1),
                *(commit(g, "t", p, 5) for p in (0, 1, 2)),
            )
        ]
        if number == partition_for("other", 5):
            records.append(commit("other", "payments", 0, 1))
        if records:
            write_log(folder, in_order(*records), partition=number)
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_a_mistyped_group_is_named_with_its_nearest(evidence: Path, command: str) -> None:
    result = invoke(command, evidence, "--group", "ordres", "--format", "jsonl")
    assert result.stdout == "" and result.exit_code == (1 if command == "describe" else 0)
    assert "group 'ordres' is not there" in result.stderr
    assert "nothing in this evidence has this name; nearest: 'orders'" in result.stderr
    assert (
        "of 5 partitions it lives in" in result.stderr
        and "(the groups here show the number)" in result.stderr
    )


@pytest.mark.parametrize("command", OFFSETS)
def test_a_mistyped_topic_and_a_partition_that_is_not_there(evidence: Path, command: str) -> None:
    topic = invoke(command, evidence, "--topic", "paymnets").stderr
    assert "topic 'paymnets' is not there" in topic and "nearest: 'payments'" in topic
    partition = invoke(command, evidence, "--topic", "t", "--partition", 9).stderr
    assert "topic 't' has no partition 9 in this evidence: it has 0 to 2" in partition
    apart = invoke(command, evidence, "--group", "orders", "--topic", "payments").stderr
    assert "topic 'payments' is in this evidence, but nothing of the group(s) asked for is committed" in apart


@pytest.mark.parametrize("command", COMMANDS)
def test_patterns_mean_many(evidence: Path, command: str) -> None:
    def found(*texts: str) -> set[str]:
        asked = [word for text in texts for word in ("--group", text)]
        lines = map(json.loads, invoke(command, evidence, *asked, "--format", "jsonl").stdout.splitlines())
        if command == "transactions":
            return {group for row in lines for group in row["groups"]}
        return {row["key"]["data"]["group"] if command == "decode" else row["group"] for row in lines}

    assert found("orders*") == {"orders", "orders-dlq"}
    assert found("app-?", "search") == {"app-1", "app-2", "search"}
    assert found("v[1]") == {"v1", "v[1]"} and found("v[[]1]") == {"v[1]"} and found("v1") == {"v1"}
    nobody = invoke(command, evidence, "--group", "zzz*")
    assert "group 'zzz*' is not there" in nobody.stderr and "lives in" not in nobody.stderr


def test_a_text_that_is_a_name_and_a_pattern_is_said(evidence: Path) -> None:
    said = "group 'v[1]' is there, and as a pattern it matches 1 other(s) too; write 'v[[]1]' for it alone"
    for command in ("offsets", "describe", "decode"):
        assert said in invoke(command, evidence, "--group", "v[1]").stderr
    assert said not in invoke("offsets", evidence, "--group", "v[[]1]").stderr


@pytest.mark.parametrize("command", [command for command in MOMENTS if command != "expiry"])
def test_not_at_this_moment_is_not_nowhere(tmp_path: Path, command: str) -> None:
    records = (
        group_metadata("gone", 1),
        group_tombstone("gone"),
        commit("there", "t", 0, 1),
        commit("later", "t", 0, 1),
    )
    write_log(tmp_path, in_order(*records))
    gone = invoke(command, tmp_path, "--group", "gone", "--as-of", "3:3").stderr
    assert (
        "group 'gone' is not there at that moment: it was deleted at 3:1 (1970-01-01T00:00:02.000Z)" in gone
    )
    later = invoke(command, tmp_path, "--group", "later", "--as-of", "3:3").stderr
    assert (
        "group 'later' is not there at that moment: its first record is 3:3; choose a later --as-of" in later
    )
    write_log(tmp_path, in_order(commit("elsewhere", "t", 0, 1)), partition=4)
    empty = invoke(command, tmp_path, "--group", "elsewhere", "--as-of", "3:3").stderr
    assert "partition 4, where it lives, counts as empty" in empty


def test_a_group_without_what_is_shown_is_not_called_absent(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(group_metadata("g", 1), commit("h", "t", 0, 1)))
    for command in ("offsets", "lag", "expiry", "transactions"):
        said = invoke(command, tmp_path, "--group", "g").stderr
        assert (
            "group 'g' is there at the end of this log, but has nothing that this command shows of it" in said
        )


@pytest.mark.parametrize("command", ["decode", "history"])
def test_what_a_range_leaves_out_is_told_from_what_is_nowhere(tmp_path: Path, command: str) -> None:
    write_log(tmp_path, in_order(commit("g", "t", 0, 1), commit("h", "t", 0, 2)))
    outside = invoke(command, tmp_path, "--group", "g", "--since", "3:1")
    assert outside.stdout == ""
    assert (
        "nothing matches all that was asked for together: there is group 'g' from 3:0 to 3:0"
        in outside.stderr
    )
    assert "together" not in invoke(command, tmp_path, "--group", "h", "--since", "3:1").stderr
    early = invoke(command, tmp_path, "--since", "2026-01-01").stderr
    assert "the records here are from 1970-01-01T00:00:01.000Z to 1970-01-01T00:00:02.000Z" in early
    elsewhere = invoke(command, tmp_path, "--since", "44:100").stderr
    assert "--since 44:100: partition 44 is not in this evidence" in elsewhere


def test_members_and_instances_have_patterns_and_nearest_names() -> None:
    log = CORPORA / "4.3.1-kip848/segments"
    rows = [json.loads(line) for line in invoke("history", log, "--kind", "members").stdout.splitlines()]
    member = next(row["member_id"] for row in rows if row["member_id"] and len(row["member_id"]) > 8)
    shown = invoke("history", log, "--member", f"{member[:6]}*").stdout
    assert shown and all(member[:6] in line for line in shown.splitlines())
    mistyped = invoke("history", log, "--member", f"{member}x", "--kind", "members")
    assert mistyped.stdout == "" and f"nearest: '{member}'" in mistyped.stderr
    assert (
        "--instance 'nobody': no member of what is asked for"
        in invoke("history", log, "--instance", "nobody").stderr
    )


def test_a_text_that_is_one_name_and_shows_another_is_said(tmp_path: Path) -> None:
    """A reset file has those of both, but for the empty group, which Kafka's tool refuses."""
    two = 2 * "'"
    write_log(tmp_path, in_order(commit("", "t", 0, 1), commit(two, "t", 0, 2)))
    both = invoke("offsets", tmp_path, "--group", two, "--format", "csv")
    assert both.stdout == f"{two},t,0,2\n" and "INVALID_GROUP_ID" in both.stderr
    assert f"group {two} is there, and tables show another name the same way" in both.stderr
    assert f"write {two + two} for it alone" in both.stderr
    alone = invoke("offsets", tmp_path, "--group", two + two, "--format", "csv")
    assert alone.stdout == f"{two},t,0,2\n" and "is there" not in alone.stderr


def test_the_nearest_name_may_be_no_utf8(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(*(commit(name, "t", 0, 1) for name in ("\udcff", "é*"))))
    result = invoke("groups", tmp_path, "--group", r"\xff\xff", "--format", "jsonl")
    assert r"nearest: '\xff'; of" in result.stderr
