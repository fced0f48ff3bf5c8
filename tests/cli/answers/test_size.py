"""`size`: whose bytes they are, in rows that add up; whom to talk to, what holds the cleaner and what it took, in notes."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from offsets_tool.cli import main
from tests.corpora import FIXTURES
from tests.replay.story import commit, group_metadata, member, tombstone
from tests.replay.story_segments import Placed, archive_lines, in_order, write_log

COMPACTED = FIXTURES / "corpora/3.9.2-compaction/segments"
REPLICAS = FIXTURES / "corpora-replicated/4.1.2-replicas"


def invoke(*args: object) -> Result:
    return CliRunner().invoke(main, ["size", *map(str, args)])


def rows(*args: object) -> list[dict[str, Any]]:
    result = invoke(*args, "--format", "jsonl")
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_the_largest_group_comes_first_and_the_rows_add_up() -> None:
    found = rows(COMPACTED)
    files = COMPACTED.glob("__consumer_offsets-*/*.log")
    assert sum(row["bytes"] for row in found) == sum(path.stat().st_size for path in files)
    assert [row["bytes"] for row in found] == sorted((row["bytes"] for row in found), reverse=True)
    first = found[0]
    assert (first["group"], first["records"], first["keys"], first["left_records"]) == (
        "audit-hot-93",
        370,
        10,
        10,
    )
    (row,) = rows(COMPACTED, "--group", "audit-h*")
    assert row == first


def test_notes_say_whom_to_talk_to_and_what_is_gone() -> None:
    said = invoke(COMPACTED, "--format", "table").stderr
    assert "1 of 12 groups make 87% of the bytes; talk to: 'audit-hot-93' (87%)" in said
    assert "4,453 offset(s) of partition(s) 0, 1, 2 have no record any more" in said
    said = invoke(REPLICAS, "--format", "table").stderr
    assert "'orders-simple-b829' shows 7 record(s) in" in said and "and another copy 154" in said
    nobody = invoke(COMPACTED, "--group", "audit-hut-93")
    assert "nearest: 'audit-hot-93'" in nobody.stderr and nobody.stdout == ""


def test_a_group_that_wrote_more_than_it_shows(tmp_path: Path) -> None:
    """Alone in its partition: the gaps are its own."""
    write_log(tmp_path, [Placed(at, 1_000 * at, commit("g", "t", 0, at)) for at in (3, 290, 299)])
    result = invoke(tmp_path)
    assert (
        "'g' shows 3 record(s), and 297 offset(s) of partition 3, where no other group is, have none"
        in result.stderr
    )
    (row,) = map(json.loads, result.stdout.splitlines())
    assert (row["gone_at_least"], row["gone_at_most"]) == (None, 297)


def test_an_open_transaction_is_named(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(*(commit("g", "t", 0, at) for at in range(3))))
    pending = commit("g", "t", 0, 9, producer_id=77, attributes=16)
    write_log(tmp_path, in_order(pending, commit("g", "t", 0, 10), start=3), base=3)
    write_log(tmp_path, in_order(commit("g", "t", 0, 11), start=5), base=5)
    said = invoke(tmp_path, "--by", "partition", "--format", "table").stderr
    assert "an open transaction at 3:3 (producer 77) holds the cleaner of partition 3: it leaves" in said
    assert "from 3 on; `offsets-tool transactions` says whose it is" in said


def test_why_a_group_is_large(tmp_path: Path) -> None:
    story = [
        *(commit("often", "t", 0, at) for at in range(20)),
        *(group_metadata("wide", at, member("m")) for at in range(9)),
    ]
    write_log(tmp_path, in_order(*story))
    told = invoke(tmp_path, "--format", "table", "--show", "group,why").stdout
    assert "20 commit(s), 20 a partition, every 950ms" in told
    assert "9 record(s) of the group, " in told


def test_archives_have_rows_and_no_segments(tmp_path: Path) -> None:
    path = tmp_path / "archive.jsonl"
    path.write_text(archive_lines(in_order(commit("g", "t", 0, 1), commit("g", "t", 0, 2))))
    (row,) = rows(path)
    assert (row["records"], row["left_now_bytes"], row["left_records"], row["log_partition"]) == (
        2,
        None,
        1,
        3,
    )
    assert "one run" not in invoke(path).stderr


def test_a_tombstone_is_no_commit(tmp_path: Path) -> None:
    told = [
        commit("once", "t", 0, 1),
        tombstone("once", "t", 0),
        *(commit("twice", "t", 0, at) for at in (1, 2)),
    ]
    write_log(tmp_path, in_order(*told, tombstone("never", "t", 0)))
    said = {line.split()[0]: line for line in invoke(tmp_path, "--format", "table").stdout.splitlines()}
    assert "1 commit(s), 1 a partition, and 1 tombstone(s)" in said["once"] and "every" not in said["once"]
    assert "2 commit(s), 2 a partition, every" in said["twice"]
    assert "1 tombstone(s) of commits" in said["never"] and "commit(s)" not in said["never"]
    counted = {row["group"]: (row["commits"], row["commit_tombstones"]) for row in rows(tmp_path)}
    assert counted == {"once": (2, 1), "twice": (2, 0), "never": (1, 1)}


def test_many_groups_that_committed_once_are_told(tmp_path: Path) -> None:
    once = [commit(f"ci-{number}", "t", 0, 5) for number in range(100)]
    removed = [tombstone(f"ci-{number}", "t", 0) for number in range(30)]
    busy = [commit("service", "t", 0, at) for at in range(9)]
    write_log(tmp_path / "whole", in_order(*once, *busy, *removed))
    assert (
        "100 of 101 groups committed only once, and 30 of them lost it again: "
        in invoke(tmp_path / "whole").stderr
    )
    write_log(tmp_path / "few", in_order(*once[1:], *busy))
    # Of a busy group compaction leaves one commit, too.
    write_log(tmp_path / "compacted", [Placed(9 * at, 1_000, each) for at, each in enumerate(once)])
    for name in ("few", "compacted"):
        assert "only once" not in invoke(tmp_path / name).stderr
