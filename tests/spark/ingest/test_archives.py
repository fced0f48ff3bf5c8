"""Archives, packed copies and tars become rows of the same tables; a bad file among them is named and hides no other."""

import gzip
import hashlib
import json
import os
import tarfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from offsets_tool.errors import OffsetsToolError, UsageError
from spark.ingest.ingest import Writer
from tests.spark.lakes import (
    SEGMENT,
    bring,
    ingest_here,
    plain,
    rows,
    rows_end,
    write_segment,
)


def test_compressed_copies_and_tars(tmp_path: Path) -> None:
    data = SEGMENT.read_bytes()
    packed = tmp_path / "__consumer_offsets-4" / f"{0:020d}.log.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(data))
    tar = tmp_path / "night.tar"
    with tarfile.open(tar, "w") as opened:
        opened.add(SEGMENT, f"data/__consumer_offsets-4/{SEGMENT.name}")
    ingest_here(tmp_path / "lake", packed, tar)
    first, second = rows(tmp_path / "lake", "sources")
    assert first["sha256"] == first["file_sha256"] == hashlib.sha256(packed.read_bytes()).hexdigest()
    assert second["source"] == f"{tar}!/data/__consumer_offsets-4/{SEGMENT.name}"
    assert second["sha256"] == hashlib.sha256(data).hexdigest()
    assert first["records"] == second["records"] == len(plain(SEGMENT)["log"])
    os.utime(packed, (1, 1))
    os.utime(tar, (1, 1))
    assert ingest_here(tmp_path / "lake", packed, tar).run is None
    packed.write_bytes(gzip.compress(data[: rows_end(data)]))
    assert ingest_here(tmp_path / "lake", packed, tar).run == 2
    assert rows(tmp_path / "lake", "sources")[1]["source"] == f"{packed}#2"


def test_a_lake_is_an_archive_too(tmp_path: Path) -> None:
    """Delta: the log table of another lake. Parquet: its files."""
    ingest_here(tmp_path / "lake", SEGMENT)
    parquet = next((tmp_path / "lake" / "log").glob("*.parquet"))
    for name, archive in (("delta", tmp_path / "lake" / "log"), ("parquet", parquet)):
        lake = tmp_path / name
        ingest_here(lake, archive)
        (row,) = rows(lake, "sources")
        assert (row["kind"], row["source"]) == ("archive", str(archive))
        known = ("log_partition", "log_offset", "timestamp", "key", "value", "producer_id", "is_control")
        there = [{n: r[n] for n in known} for r in rows(lake, "log")]
        assert there == [{n: r[n] for n in known} for r in rows(tmp_path / "lake", "log")]
        assert ingest_here(lake, archive).run is None


def test_json_lines_that_are_no_records_are_named(tmp_path: Path) -> None:
    """A number that is wider than Kafka's is no record, and no reason to stop."""
    lines = [
        {"partition": 3, "offset": 7, "timestamp": 1, "key": "AAEAAWEAAWIAAAAA", "value": None},
        {"partition": 3, "offset": 8, "timestamp": 1, "key": None, "value": None, "producer_epoch": 1 << 15},
        {"partition": 1 << 31, "offset": 9, "timestamp": 1, "key": None, "value": None},
    ]
    archive = tmp_path / "topic.jsonl"
    archive.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ingest_here(tmp_path / "lake", archive)
    (row,) = rows(tmp_path / "lake", "sources")
    assert (row["records"], row["decoded_records"], len(row["unreadable"])) == (1, 1, 2)
    (event,) = rows(tmp_path / "lake", "events")
    assert (event["log_partition"], event["log_offset"], event["is_tombstone"]) == (3, 7, True)
    assert (event["group"], event["topic"], event["partition"]) == ("a", "b", 0)


def test_one_bad_file_of_an_archive_does_not_hide_the_others(tmp_path: Path) -> None:
    ingest_here(tmp_path / "lake", SEGMENT)
    parquet = next((tmp_path / "lake" / "log").glob("*.parquet"))
    folder = tmp_path / "archive"
    folder.mkdir()
    (folder / "a.parquet").write_bytes(parquet.read_bytes()[:500])
    (folder / "b.parquet").write_bytes(parquet.read_bytes())
    ingest_here(tmp_path / "other", folder)
    bad, good = rows(tmp_path / "other", "sources")
    assert (bad["records"], len(bad["unreadable"])) == (0, 1)
    assert bad["bytes"] == bad["bytes_unreadable"] == bad["file_size"] == 500
    assert good["records"] == len(rows(tmp_path / "lake", "log"))
    with pytest.raises(OffsetsToolError, match=r"a\.parquet"):
        ingest_here(tmp_path / "third", folder / "a.parquet")


@pytest.mark.spark
@pytest.mark.parametrize("writer", [Writer.ARROW, pytest.param(Writer.SPARK, marks=pytest.mark.deep)])
def test_one_bad_file_of_a_folder_does_not_hide_the_others(
    session: SparkSession, tmp_path: Path, writer: Writer
) -> None:
    """Segments too. A bad file is looked at again when it has changed; foreign JSON is nothing."""
    folder, lake = tmp_path / "data", tmp_path / "lake"
    sound = write_segment(folder, SEGMENT.read_bytes())
    packed = folder / "__consumer_offsets-4" / f"{9:020d}.log.gz"
    packed.write_bytes(gzip.compress(SEGMENT.read_bytes())[:-20])
    (folder / "night.tar").write_bytes(b"no tar")
    (folder / "__consumer_offsets-4" / f"{10:020d}.log").symlink_to(tmp_path / "nowhere")
    (folder / "notes.json").write_text('{"offset": 1}')
    (folder / "meta.properties").write_text("version=x")
    bring(session, lake, folder, writer=writer)
    found = {Path(row["path"]).name: row for row in rows(lake, "sources")}
    assert len(found) == 4 and found[sound.name]["records"] == len(plain(sound)["log"])
    for name, size in ((packed.name, packed.stat().st_size), ("night.tar", 6), (f"{10:020d}.log", 0)):
        row = found[name]
        assert (row["records"], row["bytes"], row["bytes_unreadable"]) == (0, size, size)
        assert [(u["size"], u["reason"][:16]) for u in row["unreadable"]] == [(size, "the whole file: ")]
    assert found[packed.name]["sha256"] == hashlib.sha256(packed.read_bytes()).hexdigest()
    assert bring(session, lake, folder, writer=writer).run is None
    packed.write_bytes(gzip.compress(SEGMENT.read_bytes()))
    (again,) = bring(session, lake, folder, writer=writer).sources
    assert (again["source"], again["records"]) == (f"{packed}#2", found[sound.name]["records"])
    packed.write_bytes(b"cut")
    with pytest.raises(OffsetsToolError, match="cannot be decompressed"):
        bring(session, lake, packed, writer=writer)


def test_columns_without_an_archive_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no archive with such columns"):
        ingest_here(tmp_path / "lake", SEGMENT, columns={"offset": "x"})


def test_bytes_of_json_lines_are_those_of_the_lines(tmp_path: Path) -> None:
    text = b'{"partition": 3, "offset": 7, "key": "AAEAAWEAAWIAAAAA", "value": null}\nbad\n'
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(text))
    (row,) = ingest_here(tmp_path / "lake", tmp_path / "a.jsonl.gz").sources
    assert (row["range_end"], row["bytes_unreadable"]) == (len(text), 4)
    assert (row["bytes_in_batches"], row["records"]) == (len(text) - 4, 1)
