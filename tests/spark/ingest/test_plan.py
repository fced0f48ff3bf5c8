"""Work is cut into pieces that add up, and packed into units of about one size."""

import os
import random
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.log.names import Segment
from spark.ingest.plan import (
    PIECE,
    SMALLEST_UNIT,
    FilePiece,
    IngestFile,
    digest,
    edges,
    find_files,
    in_units,
    plan,
)
from tests.spark.lakes import CORPORA, SEGMENT

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def file(size: int, name: str = "/a.log", *, continues: bool = True) -> IngestFile:
    return IngestFile(Segment(path=name, size=size), "c", "log", NOW, continues)


@pytest.mark.parametrize("size", [0, 1, 2 * PIECE, 2 * PIECE + 1, 10 * PIECE + 7])
def test_a_file_is_cut_into_even_pieces(size: int) -> None:
    pieces = [piece for unit in plan([file(size)], []) for piece in unit]
    assert (pieces[0].start, pieces[-1].end) == (0, size)
    assert all(left.end == right.start for left, right in pairwise(pieces))
    assert (len(pieces) == 1) == (size <= 2 * PIECE)
    assert max(piece.size for piece in pieces) <= max(2 * PIECE if len(pieces) == 1 else PIECE, 1)


def test_a_packed_file_is_one_piece() -> None:
    ((piece,),) = plan([file(9 * PIECE, continues=False)], [])
    assert (piece.start, piece.end, piece.size) == (0, None, 9 * PIECE)


@given(st.lists(st.integers(0, 3 * PIECE), max_size=40))
def test_units_keep_pieces_and_order(sizes: list[int]) -> None:
    pieces = [FilePiece(file(size, f"/{n}.log"), 1, 0, size) for n, size in enumerate(sizes)]
    units = in_units(pieces)
    assert [piece for unit in units for piece in unit] == pieces
    assert all(units)
    full = min(PIECE, max(SMALLEST_UNIT, sum(sizes) // 8))
    for unit in units:
        assert len(unit) == 1 or sum(piece.size for piece in unit) <= full
    for left, right in pairwise(units):
        assert sum(piece.size for piece in left) + right[0].size > full


def test_a_file_given_twice_is_one(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(SEGMENT.parent)
    assert find_files([str(SEGMENT), str(SEGMENT.parent), str(link)], None, None) == find_files(
        [str(SEGMENT)], None, None
    )


def test_files_are_found_in_the_order_of_the_log() -> None:
    files = find_files([str(CORPORA / "3.7.2-compaction" / "segments")], "c", None)
    places = [(f.segment.directory, f.segment.log_partition, f.segment.base_offset) for f in files]
    assert places == sorted(places) and len(files) > 3
    assert all(Path(f.segment.path).is_absolute() and f.cluster == "c" for f in files)


def known(place: IngestFile, data: bytes) -> dict[str, Any]:
    """Return the row of `sources` of a file that was read whole."""
    cluster, path, member, log_partition = place.identity
    return {
        "cluster": cluster,
        "path": path,
        "member": member,
        "log_partition": log_partition,
        "generation": 1,
        "run": 1,
        "range_start": 0,
        "range_end": len(data),
        "sha256": digest(place, 0, len(data)),
        "file_size": place.segment.size,
        "file_modified_at": place.modified_at,
        "edges_sha256": edges(place),
    }


@pytest.mark.parametrize(
    ("name", "size", "changed", "is_seen"),
    [
        ("a.log", 1000, 500, True),
        ("a.log", 1 << 20, 0, True),
        ("a.log", 1 << 20, (1 << 20) - 1, True),
        # Nobody reads all of what size, time, begin and end say is as it was.
        ("a.log", 1 << 20, 1 << 19, False),
        ("a.log.gz", 1 << 20, 9, True),
    ],
)
def test_a_file_of_the_same_size_and_time_is_looked_at(
    tmp_path: Path, name: str, size: int, changed: int, is_seen: bool
) -> None:
    data = bytearray(random.Random(1).randbytes(size))
    path = tmp_path / "__consumer_offsets-0" / name.replace("a", f"{0:020}")
    path.parent.mkdir()
    path.write_bytes(data)
    times = path.stat()
    (before,) = find_files([str(path)], "c", None)
    row = known(before, data)
    assert plan([before], [row]) == ()
    data[changed] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    (after,) = find_files([str(path)], "c", None)
    assert after == before
    assert [piece.generation for unit in plan([after], [row]) for piece in unit] == [2] * is_seen
