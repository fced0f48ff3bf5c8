"""`groups`: one row a group of every kind, with the fields that scripts rely on; unknown where compaction took what would tell."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from tests.broker import KRaftBroker
from tests.corpora import FIXTURES
from tests.log.live.activity import GROUPS
from tests.replay.story import commit, group_metadata, group_tombstone, member
from tests.replay.story_segments import Placed, in_order, write_log

NEWGROUPS = FIXTURES / "corpora/4.3.1-newgroups/segments"
FIELDS = "group kind state generation epoch assignment_epoch protocol_type protocol leader members log_partition log_offset"


def invoke(*args: object) -> Result:
    return CliRunner().invoke(main, ["groups", *map(str, args)])


def rows(*args: object) -> list[dict[str, Any]]:
    result = invoke(*args)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_every_kind_of_group_has_the_same_fields() -> None:
    found = rows(NEWGROUPS)
    assert {row["kind"] for row in found} == {"classic", "consumer", "share", "streams"}
    assert all(list(row)[:12] == FIELDS.split() for row in found)
    by_name = {row["group"]: row for row in found}
    streams = by_name["audit-kmig-2"]
    assert (streams["state"], streams["epoch"], streams["assignment_epoch"], streams["topology_epoch"]) == (
        "Stable",
        2,
        2,
        0,
    )
    classic = by_name["returns-classic-81"]
    assert (classic["state"], classic["protocol"], classic["members"], classic["epoch"]) == (
        "Stable",
        "range",
        1,
        None,
    )


def test_a_group_through_its_life(tmp_path: Path) -> None:
    write_log(
        tmp_path,
        in_order(
            commit("g", "t", 0, 1),
            group_metadata("g", 1, member("m")),
            group_metadata("g", 2),
            group_tombstone("g"),
        ),
    )
    told = [
        [
            (row["kind"], row["state"], row["members"], row["generation"])
            for row in rows(tmp_path, "--as-of", f"3:{end}")
        ]
        for end in range(5)
    ]
    assert told == [
        [],
        [("simple", "Empty", 0, 0)],
        [("classic", "Stable", 1, 1)],
        [("classic", "Empty", 0, 2)],
        [("simple", "Empty", 0, 0)],
    ]


def test_a_group_whose_record_compaction_took_is_unknown(tmp_path: Path) -> None:
    placed = [
        Placed(5, 5, commit("g", "t", 0, 1)),
        Placed(6, 6, group_metadata("sure", 4)),
        Placed(7, 7, group_metadata("g", 9, member("m"))),
        Placed(8, 8, group_metadata("sure", 5)),
    ]
    write_log(tmp_path, placed)
    found = {row["group"]: row for row in rows(tmp_path, "--as-of", "3:7")}
    assert (found["sure"]["is_proven"], found["sure"]["generation"], found["sure"]["state"]) == (
        True,
        4,
        "Empty",
    )
    unknown = found["g"]
    assert (unknown["is_proven"], unknown["proven_again_from"]) == (False, 7)
    assert unknown["kind"] is unknown["state"] is unknown["members"] is None
    table = invoke(tmp_path, "--as-of", "3:7", "--format", "table").stdout.splitlines()
    assert table[1].split()[:4] == ["g", "-", "unknown", "-"]


def test_table_csv_and_filter() -> None:
    table = invoke(NEWGROUPS, "--format", "table", "--group", "feeds-consumer-66").stdout.splitlines()
    assert table[0].split()[:4] == ["GROUP", "TYPE", "STATE", "#MEMBERS"]
    assert [line.split()[:4] for line in table[1:]] == [["feeds-consumer-66", "consumer", "Stable", "1"]]
    lines = list(csv.DictReader(io.StringIO(invoke(NEWGROUPS, "--format", "csv").stdout)))
    assert [line["group"] for line in lines] == [row["group"] for row in rows(NEWGROUPS)]
    assert list(lines[0]) == FIELDS.split()


@pytest.mark.broker
def test_live_groups_are_what_the_brokers_own_tool_lists(active: KRaftBroker) -> None:
    said = active.run(
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
        *("--bootstrap-server", active.bootstrap_server, "--list", "--state"),
    )
    # Other tests leave groups in this broker whose names have spaces.
    words = [line.rsplit(maxsplit=1) for line in said.stdout.splitlines()[1:]]
    answered = {each[0]: each[1] for each in words if len(each) == 2 and each[0] in GROUPS}
    assert answered and GROUPS[0] not in answered
    shown = rows("--bootstrap-server", active.bootstrap_server)
    assert {row["group"]: row["state"] for row in shown if row["group"] in GROUPS} == answered


def test_a_name_is_found_as_a_table_and_as_json_lines_show_it(tmp_path: Path) -> None:
    """Also where it is empty, a dash, or has quotes itself: nothing is taken for another."""
    names = ["", "-", "''", " a", "a", "'a'"]
    write_log(tmp_path, in_order(*(commit(name, "t", 0, 1) for name in names)))
    table = invoke(tmp_path, "--format", "table", "--show", "group").stdout.splitlines()[1:]
    for name, shown in zip(sorted(names), table, strict=True):
        assert shown.strip() and shown != "-"
        assert name in {row["group"] for row in rows(tmp_path, "--group", shown)}
        assert name in {row["group"] for row in rows(tmp_path, "--group", name)}
