"""Files between two runs: grown, torn, overwritten, rewritten, gone, in pieces; each record is in the tables once."""

import hashlib
import os
import random
from pathlib import Path

import pytest

from offsets_tool.errors import SourceError
from spark.ingest import plan
from spark.ingest.ingest import Request, ingest
from tests.depth import DEEP
from tests.spark.lakes import (
    SEGMENT,
    comparable,
    content,
    ingest_here,
    no_session,
    plain,
    rows,
    rows_end,
    write_segment,
)


@pytest.mark.parametrize("seed", range(4 if DEEP else 2))
def test_a_grown_segment_is_read_on(tmp_path: Path, seed: int) -> None:
    data = SEGMENT.read_bytes()
    cuts = sorted(random.Random(seed).sample(range(len(data)), 2))
    for cut in (*cuts, len(data)):
        path = write_segment(tmp_path, data[:cut])
        ingest_here(tmp_path / "steps", path)
    ingest_here(tmp_path / "once", path)
    assert content(tmp_path / "steps", "log", "events") == content(tmp_path / "once", "log", "events")
    steps = rows(tmp_path / "steps", "sources")
    assert [row["range_start"] for row in steps] == [0, *(row["range_end"] for row in steps[:-1])]
    assert steps[-1]["range_end"] == len(data) and steps[-1]["tail_bytes"] == 0
    for row in steps:
        assert row["sha256"] == hashlib.sha256(data[row["range_start"] : row["range_end"]]).hexdigest()


def test_a_torn_tail_waits(tmp_path: Path) -> None:
    data = SEGMENT.read_bytes()
    path = write_segment(tmp_path, data[:-5])
    ingest_here(tmp_path / "lake", path)
    (row,) = rows(tmp_path / "lake", "sources")
    assert row["tail_kind"] == "torn tail" and row["tail_bytes"] > 0 and row["bytes_unreadable"] == 0
    assert row["range_end"] + row["tail_bytes"] == row["file_size"]
    assert row["file_sha256"] == hashlib.sha256(data[:-5]).hexdigest()
    write_segment(tmp_path, data[:-4])
    assert ingest_here(tmp_path / "lake", path).run is None


@pytest.mark.parametrize("first", [0, 50])
def test_a_file_without_a_whole_batch_goes_on_from_its_begin(tmp_path: Path, first: int) -> None:
    """Once, whatever order the rows of `sources` come in."""
    data = SEGMENT.read_bytes()
    for size in (first, first and first + 9, rows_end(data), len(data)):
        path = write_segment(tmp_path, data[:size])
        ingest_here(tmp_path / "lake", path)
        assert ingest_here(tmp_path / "lake", path).run is None
    ingest_here(tmp_path / "once", path)
    assert content(tmp_path / "lake", "log", "events") == content(tmp_path / "once", "log", "events")


def test_zeros_are_overwritten(tmp_path: Path) -> None:
    """A preallocated segment."""
    data = SEGMENT.read_bytes()
    half = rows_end(data)
    path = write_segment(tmp_path, data[:half] + bytes(len(data) - half))
    ingest_here(tmp_path / "lake", path)
    write_segment(tmp_path, data)
    ingest_here(tmp_path / "lake", path)
    ingest_here(tmp_path / "once", path)
    assert content(tmp_path / "lake", "events") == content(tmp_path / "once", "events")
    assert [row["tail_kind"] for row in rows(tmp_path / "lake", "sources")] == ["zero tail", None]


def test_damage_that_batches_follow_is_settled(tmp_path: Path) -> None:
    """Bytes that were a tail, and then have batches behind them."""
    data, half = SEGMENT.read_bytes(), rows_end(SEGMENT.read_bytes())
    path = write_segment(tmp_path, data[:half] + b"\xff" * 100)
    ingest_here(tmp_path / "lake", path)
    write_segment(tmp_path, data[:half] + b"\xff" * 100 + data[half:])
    ingest_here(tmp_path / "lake", path)
    first, second = rows(tmp_path / "lake", "sources")
    assert (first["range_end"], first["tail_bytes"], first["tail_kind"]) == (half, 100, "damage")
    assert second["range_start"] == half and second["bytes_unreadable"] == 100
    assert [(u["position"], u["size"]) for u in second["unreadable"]] == [(half, 100)]
    ingest_here(tmp_path / "whole", write_segment(tmp_path / "whole_log", data))
    assert len(rows(tmp_path / "lake", "events")) == len(rows(tmp_path / "whole", "events"))


@pytest.mark.parametrize("change", ["compacted", "shrunk", "same size"])
def test_a_rewritten_file_is_another_generation(tmp_path: Path, change: str) -> None:
    data, half = SEGMENT.read_bytes(), rows_end(SEGMENT.read_bytes())
    path = write_segment(tmp_path, data)
    ingest_here(tmp_path / "lake", path)
    other = {"compacted": data[half:], "shrunk": data[:half], "same size": data[half:] + data[:half]}[change]
    path.unlink()
    write_segment(tmp_path, other)
    ingest_here(tmp_path / "lake", path)
    ingest_here(tmp_path / "other", path)
    events = content(tmp_path / "lake", "events")["events"]
    again = [row | {"source": str(path)} for row in events if row["source"] == f"{path}#2"]
    assert sorted({row["source"] for row in events}) == [str(path), f"{path}#2"]
    assert again == content(tmp_path / "other", "events")["events"]
    assert [row["generation"] for row in rows(tmp_path / "lake", "sources")] == [1, 2]
    assert ingest_here(tmp_path / "lake", path).run is None


def test_a_touched_file_is_not_read_again(tmp_path: Path) -> None:
    path = write_segment(tmp_path, SEGMENT.read_bytes())
    ingest_here(tmp_path / "lake", path)
    os.utime(path, (1, 1))
    assert ingest_here(tmp_path / "lake", path).run is None


def test_a_file_rewritten_to_the_same_size_and_time_is_read_again(tmp_path: Path) -> None:
    data = bytearray(SEGMENT.read_bytes())
    path = write_segment(tmp_path, bytes(data))
    ingest_here(tmp_path / "lake", path)
    times = path.stat()
    # The base offset is under no checksum: the file is as sound as before.
    data[7] ^= 1
    write_segment(tmp_path, bytes(data))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert ingest_here(tmp_path / "lake", path).run is not None
    assert [row["generation"] for row in rows(tmp_path / "lake", "sources")] == [1, 2]
    assert ingest_here(tmp_path / "lake", path).run is None


def test_a_file_that_is_gone_stays_in_the_lake(tmp_path: Path) -> None:
    kept, gone = (
        write_segment(tmp_path, SEGMENT.read_bytes()),
        write_segment(tmp_path, SEGMENT.read_bytes(), 7),
    )
    ingest_here(tmp_path / "lake", tmp_path)
    before = content(tmp_path / "lake")
    gone.unlink()
    assert ingest_here(tmp_path / "lake", kept).run is None
    assert content(tmp_path / "lake") == before


def test_pieces_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_segment(tmp_path, SEGMENT.read_bytes())
    ingest_here(tmp_path / "whole", path)
    monkeypatch.setattr(plan, "PIECE", 700)
    monkeypatch.setattr(plan, "SMALLEST_UNIT", 1000)
    ingest_here(tmp_path / "pieces", path)
    pieces = rows(tmp_path / "pieces", "sources")
    assert len(pieces) > 3 and pieces[-1]["range_end"] == path.stat().st_size
    assert [row["range_start"] for row in pieces] == [0, *(row["range_end"] for row in pieces[:-1])]
    assert len(list((tmp_path / "pieces" / "log").glob("*.parquet"))) > 3
    assert content(tmp_path / "pieces", "log", "events") == content(tmp_path / "whole", "log", "events")


def test_damage_across_the_end_of_pieces_is_left_to_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tail begins in one piece and ends in another that has no batch at all."""
    monkeypatch.setattr(plan, "PIECE", 700)
    data, half = SEGMENT.read_bytes(), rows_end(SEGMENT.read_bytes())
    path = write_segment(tmp_path, data[:half] + b"\xff" * 3000)
    ingest_here(tmp_path / "lake", path)
    sources = rows(tmp_path / "lake", "sources")
    assert (sources[-1]["range_end"], sources[-1]["tail_bytes"]) == (half, 3000)
    write_segment(tmp_path, data[:half] + b"\xff" * 3000 + data[half:])
    ingest_here(tmp_path / "lake", path)
    sources = rows(tmp_path / "lake", "sources")
    assert [row["range_start"] for row in sources] == [0, *(row["range_end"] for row in sources[:-1])]
    assert sum(row["bytes_unreadable"] for row in sources) == 3000
    assert sources[-1]["range_end"] == len(data) + 3000


def test_what_goes_away_before_it_is_read_is_an_error_of_the_source(tmp_path: Path) -> None:
    """A stream reads again what Kafka's cleaner has replaced meanwhile, and knows it by this error."""
    lake, path, kept = tmp_path / "lake", write_segment(tmp_path, SEGMENT.read_bytes()), tmp_path / "kept"

    def set_aside(done: int, total: int) -> None:
        path.replace(kept)

    with pytest.raises(SourceError, match="; ingest again") as error:
        ingest(Request(paths=[str(tmp_path)], lake=str(lake)), no_session, set_aside)
    assert error.value.path == str(path) and rows(lake, "sources") == []
    kept.replace(path)
    assert ingest_here(lake, tmp_path).run == 1
    assert comparable(lake) == plain(path)


def test_empty_files_have_a_row(tmp_path: Path) -> None:
    lake, path = tmp_path / "lake", write_segment(tmp_path, b"")
    assert ingest_here(lake, path).run == 1
    (row,) = rows(lake, "sources")
    assert (row["bytes"], row["records"], row["file_size"]) == (0, 0, 0)
    assert ingest_here(lake, path).run is None
    write_segment(tmp_path, SEGMENT.read_bytes())
    assert ingest_here(lake, path).run == 2
    assert comparable(lake) == plain(path)
