"""`inspect`: the ledger adds up on sound, damaged and archived evidence, and says what `decode` shows."""

import base64
import csv
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from tests.corpora import FIXTURES, corpora
from tests.log.encoded_batches import record, v2


def invoke(*args: object) -> Result:
    return CliRunner().invoke(main, [*map(str, args)])


def rows(*args: object) -> list[dict[str, Any]]:
    result = invoke(*args)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("corpus", corpora(), ids=lambda path: path.name)
def test_the_ledger_of_every_corpus_adds_up(corpus: Path) -> None:
    files = rows("inspect", corpus / "segments", "--strict")
    shown = rows("decode", corpus / "segments")
    assert sum(file["records"] for file in files) == len(shown) > 0
    for file in files:
        assert file["adds_up"] and file["raw_records"] == 0 and file["unreadable"] == []
        assert file["sha256"] == hashlib.sha256(Path(file["source"]).read_bytes()).hexdigest()
        assert sum(file["kinds"].values()) == file["records"]
        here = [row for row in shown if row["source"] == file["source"]]
        assert file["control_records"] == sum("control" in row for row in here)
        if here:
            assert file["first_offset"] <= here[0]["offset"] and here[-1]["offset"] <= file["last_offset"]


def test_damage_is_named_and_still_adds_up(tmp_path: Path) -> None:
    original = max(
        (FIXTURES / "corpora/4.3.1-txn/segments").rglob("*.log"), key=lambda path: path.stat().st_size
    )
    data = bytearray(original.read_bytes())
    data[len(data) // 2] ^= 0xFF
    copy = tmp_path / original.name
    copy.write_bytes(data + bytes(100))
    result = invoke("inspect", copy, "--strict")
    assert result.exit_code == 3 and "the ledger adds up" in result.stderr
    (file,) = [json.loads(line) for line in result.stdout.splitlines()]
    assert file["adds_up"] and file["bytes"] == len(data) + 100
    assert [found["kind"] for found in file["unreadable"]] == ["crc", "zero tail"]
    assert file["missing_offsets"] > 0


def test_an_archive_has_a_ledger_of_rows(tmp_path: Path) -> None:
    archive = tmp_path / "archive.jsonl"
    lines = [
        {"partition": 0, "offset": 1, "timestamp": 5, "key": "AAIAAWc=", "value": None},
        {"partition": 0, "offset": 2, "timestamp": 6, "key": "AGM=", "value": None},
        {"partition": 0, "offset": 3, "timestamp": 6, "key": None, "value": None, "topic": "other"},
    ]
    archive.write_text("".join(json.dumps(line) + "\n" for line in lines) + "no row\n")
    (file,) = rows("inspect", archive)
    assert (file["records"], file["decoded_records"], file["raw_records"]) == (2, 1, 1)
    assert file["reasons"] == {"unknown record type 99": 1}
    assert file["foreign_rows"] == 1 and len(file["unreadable"]) == 1 and file["adds_up"]
    assert file["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()


def test_csv_has_one_line_a_file() -> None:
    result = invoke("inspect", FIXTURES / "corpora/4.3.1-txn/segments", "--format", "csv")
    table = list(csv.DictReader(io.StringIO(result.stdout)))
    assert len(table) == len(rows("inspect", FIXTURES / "corpora/4.3.1-txn/segments"))
    assert all(row["adds_up"] == "True" and row["magic"] == "2" for row in table)


def archive_of(tmp_path: Path, *keys: bytes | None) -> Path:
    archive = tmp_path / "archive.jsonl"
    coded = (None if key is None else base64.b64encode(key).decode() for key in keys)
    lines = [
        {"partition": 7, "offset": offset, "timestamp": 5, "key": key, "value": None}
        for offset, key in enumerate(coded)
    ]
    archive.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return archive


@pytest.mark.parametrize("format_", ["table", "csv", "jsonl"])
def test_inspect_names_the_problems_itself(tmp_path: Path, format_: str) -> None:
    """Why, how many and where: in the rows of JSON lines, below a table; and nobody is sent to another command, or to this one."""
    archive = archive_of(tmp_path, b"\0\2\0\1g", b"\0\x63", b"\0\x63a", None, b"\0\2\0\1gtail")
    result = invoke("inspect", archive, "--format", format_)
    said = result.stderr
    if format_ == "jsonl":
        (row,) = (json.loads(line) for line in result.stdout.splitlines())
        assert [
            (p["records"], p["log_partition"], p["first_offset"], p["last_offset"]) for p in row["problems"]
        ] == [
            (2, 7, 1, 2),
            (1, 7, 3, 3),
            (1, 7, 4, 4),
        ]
        assert row["problems"][0]["kept_raw"] == "unknown record type 99" and row["other_problems"] == 0
    else:
        assert "2 records, 7:1 to 2, kept raw: key: unknown record type 99" in said
        assert "the record at 7:3 kept raw: the record has no key" in said
        assert "the record at 7:4 read, but: key: 4 trailing byte(s)" in said
    assert "4 record(s) with a problem" in said and "offsets-tool inspect" not in said


def test_of_many_problems_the_first_are_named_and_the_others_counted(tmp_path: Path) -> None:
    archive = archive_of(tmp_path, *(b"\0\2\0\1g" + b"x" * size for size in range(1_100)))
    (row,) = rows("inspect", archive)
    assert len(row["problems"]) == 1_000 and row["other_problems"] == 99
    said = invoke("inspect", archive, "--format", "table").stderr.splitlines()
    assert sum(": the record at 7:" in line for line in said) == 10
    assert any(line.startswith("1,089 more record(s) have other problems") for line in said)


@pytest.mark.parametrize("name", ["nothing", "offset", ""])
def test_a_formatter_that_is_not_there_is_told_with_all_that_are(name: str) -> None:
    result = invoke("decode", corpora()[0] / "segments", "--formatter", name)
    assert result.exit_code == 2
    for known in (
        "offsets",
        "group-metadata",
        "share-group",
        "dump-log",
        "kafka.server.OffsetManager$Offsets",
    ):
        assert known in result.stderr


def tombstone(offset: int) -> bytes:
    """Return a batch with a tombstone of group g, which always reads."""
    return v2(offset, [record(0, b"\0\2\0\1g", None)])


@pytest.mark.parametrize("command", ["inspect", "decode", "offsets", "diagnose"])
@pytest.mark.parametrize(
    ("end", "following", "code"),
    [
        (bytes(200_000), None, 0),
        (b"\xff" * 40 + bytes(1000), None, 3),
        (tombstone(2)[:-4] + bytes(1000), None, 3),
        (bytes(1000), tombstone(2), 0),
        (bytes(1000), tombstone(7), 3),
    ],
    ids=[
        "preallocated",
        "bytes that are none of Kafka's",
        "a torn batch",
        "the next segment begins right after it",
        "records between it and the next segment",
    ],
)
def test_zeros_at_the_end_of_a_log_hold_no_record(
    tmp_path: Path, command: str, end: bytes, following: bytes | None, code: int
) -> None:
    folder = tmp_path / "__consumer_offsets-3"
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(tombstone(0) + tombstone(1) + end)
    if following is not None:
        (folder / f"{int.from_bytes(following[:8], 'big'):020}.log").write_bytes(following)
    result = invoke(command, folder, "--strict", "--format", "text" if command == "diagnose" else "jsonl")
    assert result.exit_code == code
    assert ("zeros, which hold no record" in result.stderr) == (code == 0 or following is None)
