"""`decode`: every record as JSON, filters, outputs, exit codes. What Kafka's dialects print is tested in tests/dialects."""

import base64
import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from tests.corpora import FIXTURES
from tests.replay.story import commit, group_metadata
from tests.replay.story_segments import in_order, write_log

CLASSIC = FIXTURES / "corpora" / "4.3.1-classic" / "segments"
TXN = FIXTURES / "corpora" / "4.3.1-txn" / "segments"


def invoke(*args: object) -> Result:
    return CliRunner().invoke(main, ["decode", *map(str, args)])


def rows(*args: object) -> list[dict[str, Any]]:
    result = invoke(*args)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture(scope="module")
def everything() -> list[dict[str, Any]]:
    return rows(CLASSIC, TXN, "--raw")


def group_of(row: dict[str, Any]) -> str | None:
    data = (row["key"] or {"data": {}})["data"]
    return data.get("group", data.get("groupId"))


def key_data(row: dict[str, Any]) -> dict[str, Any]:
    return (row["key"] or {"data": {}})["data"]


def test_every_row_says_where_it_stood_and_what_it_is(everything: list[dict[str, Any]]) -> None:
    assert len(everything) > 100
    for row in everything:
        assert {
            "source",
            "partition",
            "offset",
            "timestamp",
            "batch",
            "key",
            "value",
            "tombstone",
            "problem",
        } <= set(row)
        assert row["batch"]["base_offset"] <= row["offset"] <= row["batch"]["last_offset"]
        assert row["batch"]["crc_valid"] and row["problem"] is None
    assert {row["control"]["type"] for row in everything if "control" in row} == {"COMMIT", "ABORT"}
    assert any(row.get("blobs") for row in everything)


def places(chosen: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(row["source"], row["offset"]) for row in chosen]


def test_filters_show_what_they_name(everything: list[dict[str, Any]]) -> None:
    commits = [row for row in everything if row["key"] and row["key"]["type"] == 1]
    sample = commits[len(commits) // 2]
    group, data = group_of(sample), key_data(sample)
    at, partition, offset = sample["timestamp"], sample["partition"], sample["offset"]
    cases = (
        (["--group", group], lambda r: group_of(r) == group),
        (["--topic", data["topic"]], lambda r: key_data(r).get("topic") == data["topic"]),
        (
            ["--topic", data["topic"], "--partition", data["partition"]],
            lambda r: (
                (key_data(r).get("topic"), key_data(r).get("partition")) == (data["topic"], data["partition"])
            ),
        ),
        (["--type", "1"], lambda r: r["key"] and r["key"]["type"] == 1),
        (
            ["--type", "offset-commit", "--type", "control"],
            lambda r: "control" in r or (r["key"] and r["key"]["type"] == 1),
        ),
        (["--since", at], lambda r: r["timestamp"] >= at),
        (["--until", at], lambda r: r["timestamp"] < at),
        (
            ["--since", f"{partition}:{offset}"],
            lambda r: r["partition"] == partition and r["offset"] >= offset,
        ),
        (
            ["--until", f"{partition}:{offset}"],
            lambda r: r["partition"] == partition and r["offset"] < offset,
        ),
        (["--log-partition", partition], lambda r: r["partition"] == partition),
        (
            ["--group", group, "--type", "GroupMetadata"],
            lambda r: group_of(r) == group and r["key"]["type"] == 2,
        ),
    )
    for options, wanted in cases:
        expected = [row for row in everything if wanted(row)]
        assert places(rows(CLASSIC, TXN, *options)) == places(expected), options
    assert any(wanted(row) for _, wanted in cases for row in everything)


def test_times_are_utc_iso_or_epoch(everything: list[dict[str, Any]]) -> None:
    at = everything[10]["timestamp"]
    seconds = at // 1000
    from datetime import UTC, datetime

    iso = datetime.fromtimestamp(seconds, UTC).isoformat()
    assert places(rows(CLASSIC, TXN, "--since", iso)) == places(rows(CLASSIC, TXN, "--since", seconds * 1000))


REFUSED = (
    ([], "give evidence"),
    (["nowhere.log"], "does not exist"),
    ([CLASSIC, "--partition", "3"], "--topic"),
    ([CLASSIC, "--since", "yesterday"], "epoch milliseconds"),
    ([CLASSIC, "--since", "1:2", "--since", "2026-01-01"], "not both"),
    ([CLASSIC, "--type", "Nonsense"], "offsets-tool schema"),
    ([CLASSIC, "--type", "²"], "offsets-tool schema"),
    ([CLASSIC, "--since", "²"], "epoch milliseconds"),
    ([CLASSIC, "--output", "nowhere/out.jsonl"], "cannot be written"),
    ([CLASSIC, "--kafka-version", "4.3"], "--formatter"),
    ([CLASSIC, "--formatter", "offsets", "--format", "csv"], "--formatter"),
    ([CLASSIC, "--no-records"], "dump-log"),
    ([CLASSIC, "--columns", "x"], "NAME=COLUMN"),
    ([CLASSIC, "--bootstrap-server", "127.0.0.1:1"], "one or the other"),
)


@pytest.mark.parametrize(("args", "remedy"), REFUSED, ids=lambda value: str(value)[-30:])
def test_what_cannot_be_is_refused_with_a_remedy(args: list[object], remedy: str) -> None:
    result = invoke(*args)
    assert result.exit_code in (1, 2)
    assert remedy in result.stderr
    assert "Traceback" not in result.output and not result.stdout


def test_raw_bytes_are_an_archive_that_decodes_the_same(
    everything: list[dict[str, Any]], tmp_path: Path
) -> None:
    archive = tmp_path / "archive.jsonl"
    names = ("partition", "offset", "timestamp")
    with archive.open("w") as file:
        for row in everything:
            facts = {name: row[name] for name in names} | {
                "key": row["key_bytes"],
                "value": row["value_bytes"],
                "is_control": row["batch"]["is_control"],
                "producer_id": row["batch"]["producer_id"],
            }
            print(json.dumps(facts), file=file)
    again = rows(archive)
    for row, copy in zip(everything, again, strict=True):
        for name in (*names, "key", "value", "tombstone", "problem"):
            assert copy[name] == row[name]
        assert copy.get("control") == row.get("control")
        assert copy["producer_id"] == row["batch"]["producer_id"]


def test_csv_table_and_output_file(tmp_path: Path) -> None:
    out = tmp_path / "events.csv"
    assert invoke(CLASSIC, "--format", "csv", "--output", out).stdout == ""
    table = list(csv.DictReader(io.StringIO(out.read_text())))
    assert len(table) == len(rows(CLASSIC))
    assert table[0]["time"].endswith("Z") and {"OffsetCommit", "GroupMetadata"} <= {
        row["type"] for row in table
    }
    shown = invoke(CLASSIC, "--format", "table").stdout
    assert shown.splitlines()[0].split()[:4] == ["partition", "offset", "time", "type"]


def test_the_evidence_is_never_written_over(tmp_path: Path) -> None:
    original = next((TXN / "__consumer_offsets-1").glob("*.log"))
    copy, link = tmp_path / original.name, tmp_path / "out.jsonl"
    copy.write_bytes(original.read_bytes())
    link.symlink_to(copy)
    for command in ("decode", "inspect"):
        result = CliRunner().invoke(main, [command, str(copy), "--output", str(link)])
        assert result.exit_code == 2 and "part of the evidence" in result.stderr
    assert copy.read_bytes() == original.read_bytes()


def test_a_file_that_kafka_set_aside_is_shown_when_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "__consumer_offsets-1"
    folder.mkdir()
    original = next((TXN / "__consumer_offsets-1").glob("*.log"))
    (folder / f"{original.name}.deleted").write_bytes(original.read_bytes())
    named = f"./{folder.name}/{original.name}.deleted"
    for path, shown in ((named, True), (folder.name, False)):
        result = invoke(path, "--formatter", "offsets", "--kafka-version", "4.3")
        assert (result.stdout != "", "set aside" in result.stderr) == (shown, not shown)


def test_a_file_name_need_not_be_text(tmp_path: Path) -> None:
    original = next((TXN / "__consumer_offsets-1").glob("*.log"))
    copy = tmp_path / os.fsdecode(b"\xff-" + original.name.encode())
    copy.write_bytes(original.read_bytes())
    dumped = invoke(copy, "--formatter", "dump-log", "--kafka-version", "4.3")
    assert dumped.exit_code == 0 and "/\N{REPLACEMENT CHARACTER}-0000" in dumped.stdout.splitlines()[0]


def damaged_copy(folder: Path) -> Path:
    original = next((TXN / "__consumer_offsets-1").glob("*.log"))
    data = bytearray(original.read_bytes())
    data[len(data) // 2] ^= 0xFF
    copy = folder / original.name
    copy.write_bytes(data)
    return copy


def test_strict_exits_with_3_and_the_rest_is_still_shown(tmp_path: Path) -> None:
    copy = damaged_copy(tmp_path)
    strict, easy = invoke(copy, "--strict"), invoke(copy)
    assert (strict.exit_code, easy.exit_code) == (3, 0)
    assert strict.stdout == easy.stdout and len(easy.stdout.splitlines()) > 10
    assert "1 unreadable range(s)" in easy.stderr and str(copy) in easy.stderr


def test_a_record_that_cannot_be_read_is_shown_with_its_bytes(tmp_path: Path) -> None:
    key, value = b"\x00\x63strange", b"\x00\x00"
    archive = tmp_path / "strange.jsonl"
    text = {"partition": 1, "offset": 2, "timestamp": 3}
    text |= {"key": base64.b64encode(key).decode(), "value": base64.b64encode(value).decode()}
    archive.write_text(json.dumps(text) + "\n")
    (row,) = rows(archive)
    assert row["problem"] == "key: unknown record type 99 (byte 0)"
    assert (base64.b64decode(row["key_bytes"]), base64.b64decode(row["value_bytes"])) == (key, value)
    assert invoke(archive, "--strict").exit_code == 3


@pytest.mark.parametrize("format_", ["jsonl", "csv", "table"])
@pytest.mark.slow
def test_a_closed_pipe_ends_quietly(format_: str) -> None:
    command = f'"{sys.executable}" -m offsets_tool.cli decode "{CLASSIC}" "{TXN}" --format {format_}'
    for reader, lines in (("head -n 1", 1), ("true", 0)):
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {command} | {reader}"], capture_output=True, check=False
        )
        assert (len(done.stdout.splitlines()), done.returncode, done.stderr) == (lines, 0, b"")


COMPACTED = FIXTURES / "corpora" / "3.9.2-compaction" / "segments"


def test_gaps_are_no_problem_for_strict() -> None:
    asked = (COMPACTED, "--formatter", "dump-log", "--kafka-version", "3.9.2", "--strict")
    result = invoke(*asked)
    assert result.exit_code == 0
    assert "is followed by" in result.stderr


def strange_archive(folder: Path) -> Path:
    """Write an archive with a commit, a value of an unknown version, and another commit."""
    key = base64.b64encode(bytes.fromhex("0001000167000174") + bytes(4)).decode()
    good = base64.b64encode(b"\x00\x03" + bytes(12) + b"\x00\x00" + bytes(8)).decode()
    strange = base64.b64encode(b"\x00\x09" + bytes(20)).decode()
    archive = folder / "strange.jsonl"
    with archive.open("w") as file:
        for offset, value in enumerate((good, strange, good)):
            row = {"partition": 0, "offset": offset, "timestamp": 1, "key": key, "value": value}
            print(json.dumps(row), file=file)
    return archive


def test_where_kafka_throws_decoding_goes_on_unless_strict(tmp_path: Path) -> None:
    asked = (strange_archive(tmp_path), "--formatter", "offsets", "--kafka-version", "4.3")
    easy, strict = invoke(*asked), invoke(*asked, "--strict")
    assert (easy.exit_code, strict.exit_code) == (0, 3)
    assert easy.stdout.count('"key"') == 2 and strict.stdout.count('"key"') == 1
    for result in (easy, strict):
        assert "due to: Found an unknown record version 9 for 1 type" in result.stderr
    assert "1 record(s) with a problem" in easy.stderr


@pytest.mark.slow
@pytest.mark.parametrize("redirection", ["> /dev/full", "--output /dev/full", ">&-"])
def test_output_that_cannot_be_written_is_one_sentence(redirection: str) -> None:
    command = f'"{sys.executable}" -m offsets_tool.cli decode "{CLASSIC}" {redirection}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "file" in done.stderr and "Traceback" not in done.stderr


def test_a_table_tells_a_value_that_is_null_from_one_that_is_empty(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(commit("g", "t", 0, 1), group_metadata("g", 1, protocol_type="")))
    offset, group = invoke(tmp_path, "--format", "table", "--show", "value").stdout.splitlines()[1:]
    assert offset.startswith("offset=1 leaderEpoch=-1 metadata='' ")
    assert group.startswith("protocolType='' generation=1 protocol=- leader=- ")
