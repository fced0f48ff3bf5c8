"""`offsets --format csv`, held against what kafka-consumer-groups --reset-offsets --from-file makes of a file."""

import csv
import io
from pathlib import Path

import pytest

from tests.cli.test_offsets import compacted, invoke
from tests.oracle.client import Oracle
from tests.replay.placed import in_order, write_log
from tests.replay.story import commit, txn_commit

ODD = (
    "",
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


def test_every_name_is_read_as_kafka_reads_it(tmp_path: Path, oracle: Oracle) -> None:
    write_log(tmp_path, in_order(*(commit(name, "t", 0, 5) for name in ODD)))
    text = invoke(tmp_path, "--format", "csv").stdout_bytes.decode()
    error, read = oracle.reset_plan(text)
    assert error is None and sorted(read) == sorted((name, "t", "0", "5") for name in ODD)
    assert {row[0] for row in csv.reader(io.StringIO(text, newline=""))} == set(ODD)


@pytest.mark.parametrize(
    ("group", "offset", "line"), [("two\nlines", 5, '"two\nlines",t,0,5\n'), ("h", -1, "h,t,0,-1\n")]
)
def test_what_kafka_reads_in_no_file_is_left_out_and_said(
    tmp_path: Path, oracle: Oracle, group: str, offset: int, line: str
) -> None:
    """Its tool takes the whole file for broken."""
    error, _ = oracle.reset_plan(line)
    assert error is not None
    write_log(tmp_path, in_order(commit(group, "t", 0, offset), commit("g", "t", 0, 6)))
    result = invoke(tmp_path, "--format", "csv")
    assert oracle.reset_plan(result.stdout) == (None, [("g", "t", "0", "6")])
    assert f"1 offset(s) of group(s) {group!r} are left out" in result.stderr
