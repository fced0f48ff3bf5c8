"""`inspect`: the ledger adds up on sound, damaged and archived evidence, and says what `decode` shows."""

import csv
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from tests.cases import FIXTURES

CORPORA = sorted(path.parent for path in FIXTURES.glob("corpora/*/segments"))


def invoke(*args: object) -> Result:
    return CliRunner().invoke(main, [*map(str, args)])


def rows(*args: object) -> list[dict[str, Any]]:
    result = invoke(*args)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("corpus", CORPORA, ids=lambda path: path.name)
def test_the_ledger_of_every_corpus_adds_up(corpus: Path) -> None:
    files = rows("inspect", corpus / "segments", "--strict")
    shown = rows("decode", corpus / "segments")
    assert sum(file["records"] for file in files) == len(shown) > 0
    for file in files:
        assert file["adds_up"] and file["kept_raw"] == 0 and file["unreadable"] == []
        assert file["sha256"] == hashlib.sha256(Path(file["source"]).read_bytes()).hexdigest()
        assert sum(file["kinds"].values()) == file["records"]
        here = [row for row in shown if row["source"] == file["source"]]
        assert file["control"] == sum("control" in row for row in here)
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
    assert (file["records"], file["decoded"], file["kept_raw"]) == (2, 1, 1)
    assert file["reasons"] == {"unknown record type 99": 1}
    assert file["elsewhere"] == 1 and len(file["unreadable"]) == 1 and file["adds_up"]
    assert file["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()


def test_csv_has_one_line_a_file() -> None:
    result = invoke("inspect", FIXTURES / "corpora/4.3.1-txn/segments", "--format", "csv")
    table = list(csv.DictReader(io.StringIO(result.stdout)))
    assert len(table) == len(rows("inspect", FIXTURES / "corpora/4.3.1-txn/segments"))
    assert all(row["adds_up"] == "True" and row["magic"] == "2" for row in table)
