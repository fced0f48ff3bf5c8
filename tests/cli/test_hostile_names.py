r"""Names that are any bytes, through every command: each is told from all others, found by what is shown, and moves no terminal.

A group `\xff` and a group `\xfe` are two groups, neither of them a group `?`, and a name with an escape sequence is only a name.
"""

import csv
import io
import json
import os
import random
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from offsets_tool.cli.texts import csv_text
from offsets_tool.columns.lane.availability import ENGINE_VARIABLE, Engine
from offsets_tool.wire.text import decode_text, from_shown, shown, visible
from tests.replay.story import StoryRecord, commit, group_metadata, member, txn_commit
from tests.replay.story_segments import in_order, write_log

pytestmark = pytest.mark.slow

PARTS: Final = (
    *(
        b"\xff",
        b"\xfe",
        b"?",
        b"\\xff",
        b"\\x5cxff",
        b"\\",
        b"\xed\xa0\x80",
        b"\xc0\x80",
        b"\xc3",
        "\ufffd".encode(),
    ),
    *(b"\0", b"\n", b"\r\n", b"\t", b"\x1b]0;title\x07", b"\x1b[2J", b"\x7f", "\x9b31m\x85".encode()),
    *(
        part.encode()
        for part in ("\u202egnp.exe", "\u2066", "\u200b", "\u2028", "\ufeff", "\u00a0", "אב", "è", "中", "😀")
    ),
    *(b"=1+1", b"+1", b"-1", b"@SUM(A1)", b"'=1", b'"', b",", b" ", b"g"),
)
COMMANDS: Final = ("groups", "offsets", "history", "lag", "expiry", "transactions", "decode")
ASKED_FOR: Final = (b"\xff", b"\\xff", b"?", b"\n", b"\x1b]0;title\x07")
ALONE: Final = {"?": "[?]"}
"""What would mean others too, as a pattern."""


@cache
def names() -> tuple[str, ...]:
    """Return names that consist of one hostile part or of several, as Python holds them."""
    dice = random.Random(7)
    several = (b"".join(dice.choices(PARTS, k=dice.randint(2, 4))) for _ in range(8))
    return tuple(dict.fromkeys(decode_text(name) for name in (*PARTS, *several)))


def story() -> Iterator[StoryRecord]:
    for number, name in enumerate(names()):
        yield commit(name, name, number, number, metadata=name)
        yield txn_commit(number + 1, name, f"t{name}", 0, 7)
        yield group_metadata(f"classic{name}", 1, member(f"{name}m"), protocol=name)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of one partition with all these names."""
    return write_log(tmp_path_factory.mktemp("log"), in_order(*story()))


def invoke(*args: object) -> Result:
    return CliRunner().invoke(main, [*map(str, args)])


def rows(*args: object) -> list[dict[str, Any]]:
    result = invoke(*args, "--format", "jsonl")
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def groups_in(row: dict[str, Any]) -> list[str]:
    """The groups that a row is about, as it shows them."""
    if "key" in row:
        data = row["key"]["data"]
        return [data.get("group", data.get("groupId"))]
    return list(row["groups"]) if "groups" in row else [row["group"]]


def assert_seen_by_people(text: str) -> None:
    """Assert that a text has no character that steers a terminal."""
    bad = {c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs")}
    assert not bad, bad


def all_groups() -> set[str]:
    return {*names(), *(f"classic{name}" for name in names())}


@pytest.mark.parametrize("command", COMMANDS)
def test_each_name_is_one_of_its_own_and_reads_back(log: Path, command: str) -> None:
    found = {from_shown(group) for row in rows(command, log) for group in groups_in(row)}
    told = all_groups() if command in ("groups", "history", "decode") else {*names()}
    assert told <= found <= all_groups()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_group_is_found_by_what_is_shown_of_it_and_no_other_is(log: Path, command: str) -> None:
    whole = rows(command, log)
    for name in map(decode_text, ASKED_FOR):
        expected = [row for row in whole if shown(name) in groups_in(row)]
        for asked in {shown(name), visible(shown(name))}:
            assert rows(command, log, "--group", ALONE.get(asked, asked)) == expected


@pytest.mark.parametrize("command", ["offsets", "history", "lag", "expiry", "decode"])
def test_a_topic_is_found_by_what_is_shown_of_it(log: Path, command: str) -> None:
    for name in map(decode_text, ASKED_FOR[:2]):
        found = rows(command, log, "--topic", shown(name))
        topics = [row["key"]["data"]["topic"] if "key" in row else row["topic"] for row in found]
        assert topics and set(topics) == {shown(name)}


def test_patterns_are_of_what_is_shown(log: Path) -> None:
    whole = rows("offsets", log)
    for pattern, begin in ((r"\xf*", r"\xf"), ("\udcff*", r"\xff"), (r"\x5cx*", r"\x5cx"), ("\n*", "\n")):
        assert rows("offsets", log, "--group", pattern) == [
            row for row in whole if row["group"].startswith(begin)
        ]


def test_bytes_on_the_command_line_name_a_group_as_its_escape_does(log: Path) -> None:
    assert rows("offsets", log, "--group", "\udcff") == rows("offsets", log, "--group", r"\xff") != []
    assert rows("partition", "\udcff")[0]["log_partition"] == rows("partition", "\ufffd")[0]["log_partition"]


@pytest.mark.parametrize("command", COMMANDS)
def test_tables_and_notes_obey_no_name(log: Path, command: str) -> None:
    table = invoke(command, log, "--format", "table")
    assert table.exit_code == 0
    assert_seen_by_people(table.stdout)
    assert_seen_by_people(table.stderr)
    assert table.stdout.count("\n") == len(rows(command, log)) + 1, "one line a row"


@pytest.mark.parametrize("name", [decode_text(name) for name in ASKED_FOR])
def test_describe_tells_each_group_in_full_and_in_notes(log: Path, name: str) -> None:
    for view in ("--offsets", "--members", "--state"):
        asked = shown(f"classic{name}").replace("?", "[?]")
        result = invoke("describe", log, "--group", asked, view, "--format", "table")
        assert result.exit_code == 0
        assert_seen_by_people(result.output)
        assert visible(shown(f"classic{name}")) in result.output
    missing = invoke("describe", log, "--group", shown(f"no{name}"))
    assert missing.exit_code == 1 and f"'{visible(shown(f'no{name}'))}'" in missing.stderr
    assert_seen_by_people(missing.stderr)


@pytest.mark.parametrize("command", [*COMMANDS, "findings"])
def test_json_steers_no_terminal_and_says_the_same(log: Path, command: str) -> None:
    text = invoke(command, log, "--format", "jsonl").stdout
    assert_seen_by_people(re.sub("[\u200b\u200d\ufeff]", "", text))


@pytest.mark.parametrize(
    "command", ["groups", "history", "lag", "expiry", "findings", "transactions", "decode", "inspect"]
)
def test_no_cell_of_csv_begins_a_formula(log: Path, command: str) -> None:
    text = invoke(command, log, "--format", "csv").stdout
    assert_seen_by_people(text)
    header, *cells = csv.reader(io.StringIO(text, newline=""))
    assert not [c for row in cells for c in row if re.match("[=+@\t\r]|-[^0-9]|-.*[^0-9]", c)]
    named = [name for name in ("group", "GROUP") if name in header]
    for name in named:
        texts = {row[header.index(name)] for row in cells} - {""}
        assert {from_shown(re.sub("^'", "", text)) for text in texts} <= all_groups() | {"=1", "'=1"}


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (-1, -1),
        (-1.5, -1.5),
        (None, None),
        ("-", "'-"),
        ("-1", "'-1"),
        ("'-1", "''-1"),
        ("it's", "it's"),
        (" =1", "' =1"),
        ("\uff1d1", "'\uff1d1"),
        ("\t=1", r"\x09=1"),
    ],
)
def test_cells_of_csv(value: object, cell: object) -> None:
    assert csv_text(value) == cell


@pytest.mark.parametrize("part", [b"\xff", b"\x1b]0;title\x07", b"\n", "\u202e".encode(), b"\\xff"])
def test_files_with_such_names_are_read_and_told(tmp_path: Path, part: bytes) -> None:
    folder = tmp_path / os.fsdecode(b"a" + part)
    write_log(folder, in_order(commit("g", "t", 0, 1), commit("g", "t", 0, 2)))
    (path,) = folder.rglob("*.log")
    path.write_bytes(path.read_bytes()[:-3])
    for command in (*COMMANDS, "findings", "inspect"):
        result = invoke(command, folder, "--format", "table" if command == "inspect" else "jsonl")
        assert result.exit_code == 0 and "unreadable" in result.stderr
        assert_seen_by_people(result.stderr)
    (row,) = rows("inspect", path)
    assert from_shown(row["source"]) == str(path)
    out = tmp_path / os.fsdecode(b"out" + part)
    assert invoke("offsets", folder, "--output", out).exit_code == 0 and out.exists()


@pytest.mark.parametrize("odd", ["\x1b]0;title\x07", "\n", "\u202e", "\x9b", "\udcff"])
def test_errors_say_such_names_in_one_line(log: Path, odd: str) -> None:
    for args in (
        [odd],
        [f"--{odd}"],
        ["offsets", f"no{odd}file"],
        ["offsets", log, "--format", odd],
        ["offsets", log, "--output", f"/no{odd}/such"],
        ["offsets", log, "--as-of", odd],
        ["decode", log, "--type", odd],
        ["decode", log, "--formatter", odd],
        ["decode", log, "--columns", f"{odd}=x"],
        ["expiry", log, "--retention", odd],
        ["lag", log, "--ends", f"no{odd}"],
        ["describe", log, f"--{odd}"],
        ["schema", odd],
    ):
        result = invoke(*args)
        assert result.exit_code in (1, 2), (args, result.output)
        assert_seen_by_people(result.stderr)
        assert result.stderr.rstrip("\n").rpartition("\n")[2].startswith("Error: "), args


def test_the_compiled_lane_shows_the_same(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_reference = {command: invoke(command, log, "--format", "jsonl").stdout for command in COMMANDS}
    monkeypatch.setenv(ENGINE_VARIABLE, Engine.FAST)
    for command in COMMANDS:
        assert invoke(command, log, "--format", "jsonl").stdout == by_reference[command]
