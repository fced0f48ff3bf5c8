"""`offsets --format csv`, held against what kafka-consumer-groups --reset-offsets --from-file makes of a file."""

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from offsets_tool.cli import main
from offsets_tool.placement import partition_for
from offsets_tool.plans.reset_file import UNSAID, ResetLine, Unsayable
from offsets_tool.wire.text import shown, visible
from oracle.client import Oracle
from tests.cli.test_offsets import compacted, invoke
from tests.replay.stories import streams
from tests.replay.story import commit, txn_commit
from tests.replay.story_segments import in_order, write_log

ODD = (
    'a,"b"',
    "x\ry",
    "end\r",
    "tab\tx",
    " lead",
    "trail ",
    "#c",
    "back\\slash",
    "nul\0x",
    "é",
    '"',
    "'q'",
    "\u2028",
    "\x85",
    "\ufeffmark",
    "\ufffd",
    "?",
    "\\xff",
    "=1+1",
    "'=1",
    "-",
    "\x1b[2J",
    "\u202eright",
    "a;b",
    "x" * 999,
)


def test_csv_is_what_reset_offsets_reads_and_nothing_more(tmp_path: Path) -> None:
    odd = 'a,"b"'
    write_log(
        tmp_path,
        in_order(commit(odd, "t", 0, 5), txn_commit(1, "g", "t", 1, 7), commit("g", "t", 2, 8, metadata="x")),
    )
    result = invoke(tmp_path, "--format", "csv")
    assert result.stdout_bytes == b'"a,""b""",t,0,5\ng,t,2,8\n'
    assert next(csv.reader(io.StringIO(result.stdout))) == [odd, "t", "0", "5"]


def test_unknown_offsets_are_not_in_the_csv(tmp_path: Path) -> None:
    compacted(tmp_path)
    assert invoke(tmp_path, "--as-of", "3:6", "--format", "csv").stdout == "g,t,0,40\ng,t,2,50\n"


def test_an_offset_whose_newest_commit_was_not_understood_is_not_in_the_csv(tmp_path: Path) -> None:
    unread = commit("g", "t", 0, 6)._replace(value=b"\0\x63")
    write_log(tmp_path, in_order(commit("g", "t", 0, 5), commit("g", "t", 1, 5), unread))
    result = invoke(tmp_path, "--format", "csv")
    assert result.stdout == "g,t,1,5\n"
    assert "1 offset(s) are not in the file, as later records were not understood" in result.stderr


@pytest.mark.parametrize("group", ["orders-2", "search", "audit"])
def test_a_group_in_two_log_partitions_has_one_line(group: str, tmp_path: Path) -> None:
    """The topic had 8 partitions and has 50, as the others show; the tool would take the last line, whichever that is."""
    old, own = partition_for(group, 8), partition_for(group, 50)
    records = {old: [commit(group, "t", 0, 100)]}
    for name, offset in [(group, 900), *((f"svc-{number}", 7) for number in range(30))]:
        records.setdefault(partition_for(name, 50), []).append(commit(name, "t", 0, offset))
    for number, some in records.items():
        write_log(tmp_path, in_order(*some), partition=number)
    assert old != own
    result = invoke(tmp_path, "--format", "csv", "--partial", "--group", group)
    assert result.stdout == f"{group},t,0,900\n"
    assert f"group '{group}' lies in several partitions of __consumer_offsets" in result.stderr
    assert f"elsewhere than in {own}" in result.stderr
    for command in ("describe", "lag", "offsets"):
        lines = CliRunner().invoke(main, [command, str(tmp_path), "--group", group]).stdout.splitlines()
        assert [json.loads(line)["committed_offset"] for line in lines] == [900]
    alone = invoke(tmp_path, "--format", "csv", "--partial", "--group", group, "--log-partition", old)
    assert alone.stdout == f"{group},t,0,100\n"


def test_the_way_back_of_a_group_that_moved_is_to_what_it_had_where_it_lived(tmp_path: Path) -> None:
    for number, offset, at in ((3, 100, 1_000), (4, 900, 9_000)):
        placed = in_order(commit("g", "t", 0, offset, commit_timestamp=at), timestamp=at)
        write_log(tmp_path, placed, partition=number)
    args = ["plan", str(tmp_path), "--as-of", "1970-01-01T00:00:05Z", "--format"]
    result = CliRunner().invoke(main, [*args, "jsonl"])
    [row] = map(json.loads, result.stdout.splitlines())
    facts = [
        row[name] for name in ("action", "current_offset", "new_offset", "log_partition", "new_log_offset")
    ]
    assert facts == ["reset", 900, 100, 4, None]
    assert CliRunner().invoke(main, [*args, "csv"]).stdout == "g,t,0,100\n"


def test_of_a_group_in_two_log_partitions_without_others_the_newest_commit_is_taken(tmp_path: Path) -> None:
    for number, offset, at in ((3, 100, 1_000), (4, 900, 2_000), (5, 800, 1_500)):
        write_log(tmp_path, in_order(commit("g", "t", 0, offset, commit_timestamp=at)), partition=number)
    assert invoke(tmp_path, "--format", "csv").stdout == "g,t,0,900\n"


def test_of_a_group_in_two_log_partitions_that_nothing_tells_apart_no_line_is_written(tmp_path: Path) -> None:
    for number, offset in ((3, 100), (4, 900)):
        write_log(tmp_path, in_order(commit("g", "t", 0, offset)), partition=number)
    result = invoke(tmp_path, "--format", "csv")
    assert result.stdout == "" and "what it has there is left out" in result.stderr
    plan = CliRunner().invoke(main, ["plan", str(tmp_path), "--as-of", "100000"])
    assert "what it has there is left out" in plan.stderr and "no committed offset" not in plan.output
    expiry = CliRunner().invoke(main, ["expiry", str(tmp_path), "--retention", "7d"])
    assert expiry.stdout == "" and "what it has there is left out" in expiry.stderr
    [row] = map(json.loads, invoke(tmp_path).stdout.splitlines())
    assert (row["committed_offset"], row["is_proven"]) == (None, False)


@pytest.mark.parametrize(
    "command", [("offsets",), ("expiry", "--retention", "7d"), ("describe", "--group", "g")]
)
def test_a_group_in_two_log_partitions_has_one_row_a_key(tmp_path: Path, command: tuple[str, ...]) -> None:
    for number, offset, at in ((3, 100, 1_000), (4, 900, 2_000)):
        write_log(tmp_path, in_order(commit("g", "t", 0, offset, commit_timestamp=at)), partition=number)
    result = CliRunner().invoke(main, [command[0], str(tmp_path), *command[1:], "--format", "jsonl"])
    [row] = map(json.loads, result.stdout.splitlines())
    assert (row["committed_offset"], row["log_partition"]) == (900, 4)
    if command[0] != "describe":
        assert "elsewhere than in 4, where it lives now, is left out" in result.stderr


def test_a_commit_that_was_not_understood_may_be_newer_than_all_in_the_other_log_partition(
    tmp_path: Path,
) -> None:
    """So nothing tells which log partition has the current offset, and what one of them says is not proven."""
    unread = commit("g", "t", 0, 900)._replace(value=b"\0\x63")
    write_log(tmp_path, in_order(commit("g", "t", 0, 100, commit_timestamp=1_000)), partition=3)
    write_log(tmp_path, in_order(unread, start=7, timestamp=9_000), partition=4)
    result = invoke(tmp_path, "--format", "csv")
    assert result.stdout == "" and "where it lives now" not in result.stderr
    for command in ("describe", "lag"):
        lines = CliRunner().invoke(main, [command, str(tmp_path), "--group", "g"]).stdout.splitlines()
        assert [json.loads(line)["committed_offset"] for line in lines] == [None]
    newer = commit("g", "t", 1, 7, commit_timestamp=9_000)
    write_log(tmp_path, in_order(unread, newer, start=7, timestamp=9_000), partition=4)
    result = invoke(tmp_path, "--format", "csv")
    assert result.stdout == "g,t,1,7\n" and "elsewhere than in 4, where it lives now" in result.stderr


def test_every_name_is_read_as_kafka_reads_it(tmp_path: Path, oracle: Oracle) -> None:
    write_log(tmp_path, in_order(*(commit(name, "t", 0, 5) for name in ODD)))
    text = invoke(tmp_path, "--format", "csv").stdout_bytes.decode()
    error, read = oracle.reset_plan(text)
    assert error is None and sorted(read) == sorted((name, "t", "0", "5") for name in ODD)
    assert {row[0] for row in csv.reader(io.StringIO(text, newline=""))} == set(ODD)


@pytest.mark.parametrize(
    ("group", "topic", "offset", "line"),
    [
        ("two\nlines", "t", 5, '"two\nlines",t,0,5\n'),
        ("g", "two\nlines", 5, 'g,"two\nlines",0,5\n'),
        ("h", "t", -1, "h,t,0,-1\n"),
    ],
)
def test_what_kafka_reads_in_no_file_is_left_out_and_said(
    tmp_path: Path, oracle: Oracle, group: str, topic: str, offset: int, line: str
) -> None:
    """Its tool takes the whole file for broken."""
    error, _ = oracle.reset_plan(line)
    assert error is not None
    write_log(tmp_path, in_order(commit(group, topic, 0, offset), commit("g", "t", 0, 6)))
    result = invoke(tmp_path, "--format", "csv")
    assert oracle.reset_plan(result.stdout) == (None, [("g", "t", "0", "6")])
    assert f"1 offset(s) of group(s) '{visible(group)}'" in result.stderr


@pytest.mark.parametrize(("group", "topic"), [("\udcff", "t"), ("g", "t\udcc3"), ("\udced\udca0\udc80", "t")])
def test_no_name_that_java_would_read_as_another_is_in_the_csv(
    tmp_path: Path, group: str, topic: str
) -> None:
    """A reset file never names another group: to Java each such name is one with U+FFFD, and so may be another's."""
    others = [commit(name, "t", 0, 6) for name in ("?", "\ufffd", "\\xff")]
    write_log(tmp_path, in_order(commit(group, topic, 0, 5), commit(group, topic, 1, 5), *others))
    result = invoke(tmp_path, "--format", "csv")
    assert result.stdout_bytes.decode() == "?,t,0,6\n\\xff,t,0,6\n\ufffd,t,0,6\n"
    assert f"2 offset(s) of group(s) '{shown(group)}'" in result.stderr
    assert "are not UTF-8" in result.stderr and (shown(topic) in result.stderr or topic == "t")


# ---- what it would lack


def two_partitions(folder: Path) -> None:
    write_log(folder, in_order(commit("g", "t", 0, 5), commit("g", "t", 0, 6)), partition=3)
    write_log(folder, in_order(commit("h", "u", 0, 7)), partition=4)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--as-of", "3:2"), "no end, or 0, of partition(s) 4"),
        (
            ("--as-of", "3:2", "--as-of", "12:9"),
            "partition(s) 12 that --as-of names are not in this evidence",
        ),
        (("--as-of", "3:2", "--as-of", "4:0"), "no end, or 0, of partition(s) 4"),
        (("--as-of", "3:00", "--group", "g"), "no end, or 0, of partition(s) 3"),
        (("--as-of", "3:2", "--group", "h"), "no end, or 0, of partition(s) 4"),
    ],
)
def test_partitions_that_count_as_empty_need_partial(
    tmp_path: Path, asked: tuple[str, ...], said: str
) -> None:
    two_partitions(tmp_path)
    result = invoke(tmp_path, *asked, "--format", "csv", "--output", tmp_path / "reset.csv")
    assert result.exit_code == 2 and said in result.stderr and "add --partial" in result.stderr
    assert not (tmp_path / "reset.csv").exists()
    assert invoke(tmp_path, *asked, "--format", "csv", "--partial").exit_code == 0


@pytest.mark.parametrize(
    "asked",
    [
        ("--as-of", "3:2", "--as-of", "4:1"),
        ("--as-of", "3:2", "--group", "g"),
        ("--as-of", "3:2", "--topic", "t"),
        ("--as-of", "4000"),
    ],
)
def test_what_lacks_nothing_that_is_asked_for_needs_no_partial(
    tmp_path: Path, asked: tuple[str, ...]
) -> None:
    two_partitions(tmp_path)
    result = invoke(tmp_path, *asked, "--format", "csv")
    assert result.exit_code == 0 and "g,t,0,6\n" in result.stdout


def test_a_log_that_begins_behind_the_moment_needs_partial(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(commit("g", "t", 0, 5)), partition=3)
    write_log(tmp_path, in_order(commit("h", "u", 0, 7), start=90, timestamp=9_000), partition=4, base=90)
    result = invoke(tmp_path, "--as-of", "2000", "--format", "csv")
    assert (
        result.exit_code == 2
        and "of partition(s) 4 only segments from after that moment are here" in result.stderr
    )


def test_a_partition_that_cannot_be_read_needs_partial(tmp_path: Path) -> None:
    two_partitions(tmp_path)
    log = tmp_path / "__consumer_offsets-4" / f"{0:020}.log"
    log.write_bytes(b"\xff" * 100)
    result = invoke(tmp_path, "--format", "csv")
    assert result.exit_code == 2 and "1 file(s) of partition(s) 4 cannot be read" in result.stderr
    assert invoke(tmp_path, "--format", "csv", "--partial").stdout == "g,t,0,6\n"


def test_what_is_left_out_of_the_file_is_said(tmp_path: Path) -> None:
    compacted(tmp_path)
    assert (
        "1 offset(s) that compaction made unknown"
        in invoke(tmp_path, "--as-of", "3:6", "--format", "csv").stderr
    )
    write_log(tmp_path / "txn", in_order(commit("g", "t", 0, 5), txn_commit(1, "g", "t", 1, 7)))
    assert "1 commit(s) of transactions that are open" in invoke(tmp_path / "txn", "--format", "csv").stderr
    torn = write_log(tmp_path / "torn", in_order(commit("g", "t", 0, 5))) / f"{0:020}.log"
    torn.write_bytes(torn.read_bytes() + torn.read_bytes()[:40])
    assert "commits may be missing: 1 file(s)" in invoke(tmp_path / "torn", "--format", "csv").stderr


def test_a_commit_whose_place_is_damaged_is_said_to_be_missing(tmp_path: Path) -> None:
    log = next(write_log(tmp_path, in_order(commit("g", "t", 0, 1), commit("h", "t", 0, 2))).glob("*.log"))
    whole = log.read_bytes()
    log.write_bytes(b"\x80" + whole[1:])
    done = invoke(tmp_path, "--format", "csv")
    assert done.stdout == "h,t,0,2\n" and "commits may be missing: 1 file(s)" in done.stderr


def test_partial_is_about_the_reset_file(tmp_path: Path) -> None:
    two_partitions(tmp_path)
    result = invoke(tmp_path, "--partial", "--format", "table")
    assert result.exit_code == 2 and "add --format csv" in result.stderr


def test_the_empty_group_id_is_left_out_because_kafka_refuses_it(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(commit("", "t", 0, 5), commit("g", "t", 0, 6)))
    done = invoke(tmp_path, "--format", "csv")
    assert done.stdout == "g,t,0,6\n" and "INVALID_GROUP_ID" in done.stderr and "--group" not in done.stderr


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (ResetLine("g", "t", 0, 0), None),
        (ResetLine("g", "t", 0, -1), Unsayable.NEGATIVE),
        (ResetLine("a\nb", "t", 0, -1), Unsayable.NEGATIVE),
        (ResetLine("a\nb", "t", 0, 1), Unsayable.LINE_FEED),
        (ResetLine("", "t", 0, 1), Unsayable.NO_GROUP),
        (ResetLine("\udcff", "t", 0, 1), Unsayable.NOT_TEXT),
    ],
)
def test_why_a_line_cannot_be_in_the_file(line: ResetLine, reason: Unsayable | None) -> None:
    assert line.unsayable is reason
    assert UNSAID.keys() == set(Unsayable)


def test_a_negative_offset_is_left_out_with_a_remedy_that_helps(tmp_path: Path) -> None:
    """No option sets it: Kafka's tool takes another number, and which one is to be decided."""
    write_log(tmp_path, in_order(commit("n", "t", 0, -7), commit("a\nb", "t", 0, 5), commit("g", "t", 0, 6)))
    done = invoke(tmp_path, "--format", "csv")
    [negative] = [line for line in done.stderr.splitlines() if "negative number" in line]
    [line_feed] = [line for line in done.stderr.splitlines() if "line feed" in line]
    assert done.stdout == "g,t,0,6\n"
    assert "'n'" in negative and "decide" in negative and "--to-offset" not in negative
    assert "--group" in line_feed and "--to-earliest" not in line_feed


def test_streams_groups_of_a_reset_file_are_named(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(streams.epoch(1), commit("foo", "t", 0, 5), commit("g", "t", 0, 6)))
    done = invoke(tmp_path, "--format", "csv", "--as-of", "3:3")
    assert (
        done.stdout.count("\n") == 2
        and "streams group(s) foo: reset these with kafka-streams-groups" in done.stderr
    )
