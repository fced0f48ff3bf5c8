"""`describe`: the columns of Kafka's own tool, members of every kind, and what is said of a group that is not there."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from tests.corpora import CORPORA
from tests.replay.story import commit, group_metadata, group_tombstone, member
from tests.replay.story_segments import Placed, in_order, write_log

NEWGROUPS = CORPORA / "4.3.1-newgroups/segments"
KIP848 = CORPORA / "4.3.1-kip848"


def invoke(*args: object) -> Result:
    return CliRunner().invoke(main, ["describe", *map(str, args)])


def rows(*args: object) -> list[dict[str, Any]]:
    result = invoke(*args)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def printed(name: str) -> list[dict[str, str]]:
    """Return the rows of a table of kafka-consumer-groups from the oracle's file, group after group."""
    found: list[dict[str, str]] = []
    header: list[str] = []
    for line in (KIP848 / "oracle" / name).read_text().splitlines():
        if line.startswith("GROUP"):
            header = re.split(r" {2,}| (?=[A-Z#])", line.strip())
        elif line.strip():
            found.append(dict(zip(header, line.split(), strict=False)))
    return found


def tabled(*args: object) -> list[dict[str, str]]:
    header, *lines = invoke(*args, "--format", "table").stdout.splitlines()
    return [dict(zip(header.split(), line.split(), strict=True)) for line in lines]


GROUPS = sorted({row["GROUP"] for row in printed("consumer-groups-offsets.txt")})
ASKED = [word for group in GROUPS for word in ("--group", group)]


def test_offsets_are_laid_out_as_kafkas_tool_prints_them() -> None:
    wanted = printed("consumer-groups-offsets.txt")
    shown = tabled(KIP848 / "segments", *ASKED)
    columns = ("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "CONSUMER-ID", "HOST", "CLIENT-ID")
    assert list(shown[0]) == list(wanted[0])

    def cells(lines: list[dict[str, str]]) -> list[tuple[str, ...]]:
        return sorted(tuple(line[column] for column in columns) for line in lines)

    assert cells(shown) == cells(wanted)
    assert {line["LAG"] for line in shown} == {line["LOG-END-OFFSET"] for line in shown} == {"-"}


def test_members_are_those_that_kafkas_tool_prints() -> None:
    wanted = printed("consumer-groups-members.txt")
    shown = tabled(KIP848 / "segments", *ASKED, "--members")
    columns = ("CONSUMER-ID", "#PARTITIONS", "CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-ASSIGNMENT")
    assert {tuple(line[column] for column in columns) for line in shown} == {
        tuple(line[column] for column in columns) for line in wanted
    }


def test_state_has_epochs_and_members() -> None:
    shown = {row["group"]: row for row in rows(KIP848 / "segments", *ASKED, "--state")}
    text = (KIP848 / "oracle/consumer-groups-state.txt").read_text()
    answered = {line.split()[0]: tuple(line.split()[-2:]) for line in text.splitlines() if line.strip()}
    assert answered.pop("GROUP") == ("STATE", "#MEMBERS") and len(answered) == 10
    for group, line in answered.items():
        row = shown[group]
        assert (row["state"], str(row["members"])) == line
    assert shown["search-cons-f689"]["assignor"] == "range"


def test_a_streams_member_has_tasks() -> None:
    row = rows(NEWGROUPS, "--group", "catalog-kstreams-30", "--members")[0]
    assert row["assignment"] is None and row["active_tasks"] == ["0_2", "1_0", "1_1", "2_1"]
    assert (row["standby_tasks"], row["topology_epoch"], row["member_epoch"]) == ([], 0, 6)
    table = invoke(NEWGROUPS, "--group", "catalog-kstreams-30", "--members", "--format", "table").stdout
    assert "ACTIVE: 0:[2];1:[0,1];2:[1]" in table


def test_a_share_groups_offsets_are_elsewhere() -> None:
    result = invoke(NEWGROUPS, "--group", "returns-share-64")
    assert "__share_group_state" in result.stderr
    assert all(json.loads(line)["committed_offset"] is None for line in result.stdout.splitlines())


def test_members_of_another_protocol_type_have_their_own_json() -> None:
    evidence = CORPORA / "1.1.1-connect/segments"
    found = rows(evidence, "--group", "quartz-mailer-connect", "--members", "--as-of", "1:2")
    assert found and all(row["assignment"] is None and row["subscription"] is None for row in found)
    assert all(row["subscription_data"]["url"].startswith("http://") for row in found)
    assert all(row["assignment_data"]["leader"] in {row["member_id"] for row in found} for row in found)


def test_a_partition_that_is_owned_without_a_commit_has_a_row(tmp_path: Path) -> None:
    assignment = bytes.fromhex("0000000000010001740000000200000000000000010000000000")
    owner = member("m-1", client_id="c", client_host="/h", assignment=assignment)
    write_log(
        tmp_path, in_order(group_metadata("g", 1, owner), commit("g", "t", 0, 4), commit("g", "u", 7, 5))
    )
    found = [
        (row["topic"], row["partition"], row["committed_offset"], row["member_id"])
        for row in rows(tmp_path, "--group", "g")
    ]
    assert found == [("t", 0, 4, "m-1"), ("t", 1, None, "m-1"), ("u", 7, 5, None)]


# ---- a group that is not there


def test_a_group_that_was_deleted_says_where(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(group_metadata("g", 1), group_tombstone("g"), commit("other", "t", 0, 1)))
    result = invoke(tmp_path, "--group", "g")
    assert result.exit_code == 1
    assert (
        "group 'g' is not there at the end of this log: it was deleted at 3:1 (1970-01-01T00:00:02.000Z)"
        in result.stderr
    )
    assert rows(tmp_path, "--group", "g", "--state", "--as-of", "3:1")[0]["state"] == "Empty"


def test_a_group_that_comes_later_says_where(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(commit("other", "t", 0, 1), commit("g", "t", 0, 1)))
    result = invoke(tmp_path, "--group", "g", "--as-of", "3:1")
    assert result.exit_code == 1 and "its first record is 3:1; choose a later --as-of" in result.stderr


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("h", "of 50 partitions it lives in 4, which is not in this evidence"),
        ("g", "of 4 partitions it lives in 3, which is in this evidence"),
    ],
)
def test_a_group_that_never_was_says_where_it_would_be(tmp_path: Path, group: str, said: str) -> None:
    write_log(tmp_path, in_order(commit("other", "t", 0, 1)))
    result = invoke(tmp_path, "--group", group, *(() if group == "h" else ("--partitions", 4)))
    assert result.exit_code == 1 and said in result.stderr, result.stderr


def test_others_are_shown_beside_one_that_is_not_there(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(commit("g", "t", 0, 1)))
    result = invoke(tmp_path, "--group", "g", "--group", "nobody")
    assert result.exit_code == 1 and json.loads(result.stdout)["group"] == "g"
    assert "group 'nobody' is not there" in result.stderr


def test_a_group_that_is_unknown_is_not_called_absent(tmp_path: Path) -> None:
    write_log(tmp_path, [Placed(4, 4, commit("h", "t", 0, 1)), Placed(5, 5, group_metadata("g", 3))])
    result = invoke(tmp_path, "--group", "g", "--state", "--as-of", "3:5")
    assert result.exit_code == 0 and "its state at this moment is unknown" in result.stderr
    assert json.loads(result.stdout)["is_proven"] is False


def test_a_group_has_to_be_named(tmp_path: Path) -> None:
    result = invoke(tmp_path)
    assert result.exit_code == 2 and "--group" in result.stderr


@pytest.mark.parametrize("view", ["--offsets", "--members", "--state"])
def test_all_groups_are_those_that_groups_lists(view: str) -> None:
    """Each as if it were named; in JSON lines and CSV too."""
    listed = CliRunner().invoke(main, ["groups", str(NEWGROUPS)]).stdout.splitlines()
    names = [json.loads(line)["group"] for line in listed]
    shown = rows(NEWGROUPS, "--all-groups", view)
    assert shown == rows(NEWGROUPS, *(word for name in names for word in ("--group", name)), view)
    assert view != "--state" or sorted(row["group"] for row in shown) == sorted(names)
    csv = invoke(NEWGROUPS, "--all-groups", view, "--format", "csv").stdout.splitlines()
    assert len(csv) == len(shown) + 1 and csv[0].startswith("GROUP,")


def test_of_many_groups_without_members_a_few_are_named(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(*(commit(f"g{number}", "t", 0, 1) for number in range(9))))
    said = invoke(tmp_path, "--all-groups", "--members").stderr.splitlines()
    assert said == [
        *(f"group 'g{number}' has no members" for number in range(3)),
        "6 more group(s) for the same reason: no members",
    ]


@pytest.mark.parametrize("asked", [[], ["--all-groups", "--group", "g"]])
def test_groups_are_named_or_all_are_asked_for(asked: list[str]) -> None:
    result = invoke(NEWGROUPS, *asked)
    assert result.exit_code == 2 and "--group GROUP (repeatable), or --all-groups" in result.stderr
