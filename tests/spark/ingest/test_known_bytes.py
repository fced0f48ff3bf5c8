"""Bytes that a lake knows from another path are neither decoded nor stored again, whichever copy they are in."""

import gzip
import shutil
import tarfile
from pathlib import Path

import pytest

from tests.evidence.copies import copy
from tests.replay.story import commit
from tests.replay.story_segments import in_order, segment
from tests.spark.histories import histories, rows
from tests.spark.lakes import content, ingest_here
from tests.spark.replay.test_copies import by_evidence, replay_here

LOG = in_order(*(commit("g", "t", 0, at) for at in range(12)))


def nights(folder: Path) -> list[Path]:
    return [copy(folder / f"night-{number}", LOG[: 4 * number]) for number in (1, 2, 3)]


def stored(lake: Path) -> list[tuple[int, str | None]]:
    """Return for each row of `sources` its number of records, and the night that stores them."""
    return [
        (row["records"], row["same_as"] and Path(row["same_as"]).parts[-3])
        for row in sorted(rows(lake, "sources"), key=lambda row: (row["path"], row["range_start"]))
    ]


def test_what_a_night_had_is_not_stored_again(tmp_path: Path) -> None:
    """Nor replayed again: nights of a log that only grows are one log, and go on from a checkpoint."""
    lake = tmp_path / "lake"
    for number, night in enumerate(nights(tmp_path)):
        done = ingest_here(lake, night, cluster="c")
        assert (done.stored, done.sums["records"]) == (4, 4 * number + 4)
        (row,) = replay_here(lake).partitions
        assert (row["records"], row["is_from_start"], row["copies"]) == (4, number == 0, [])
    assert stored(lake) == [
        (4, None),
        *[(4, "night-1"), (4, None)],
        *[(4, "night-1"), (4, "night-2"), (4, None)],
    ]
    assert sorted(row["log_offset"] for row in rows(lake, "log")) == list(range(12))
    assert histories(lake) == by_evidence(nights(tmp_path / "again"))
    assert ingest_here(lake, *tmp_path.glob("night-*"), cluster="c").run is None


def test_nights_at_once_are_stored_as_one_by_one(tmp_path: Path) -> None:
    together, single = tmp_path / "together", tmp_path / "single"
    found = nights(tmp_path)
    done = ingest_here(together, *reversed(found), cluster="c")
    for night in found:
        ingest_here(single, night, cluster="c")
    assert content(together) == content(single) and done.run == 3
    assert "3 copies of 1 log partition(s)" in done.notes[0]


def test_another_beginning_and_another_cluster_are_read(tmp_path: Path) -> None:
    one, other = copy(tmp_path / "a", LOG), copy(tmp_path / "b", [*LOG[:5], *LOG[6:]])
    for name, path in (("c", one), ("c", other), ("d", one)):
        ingest_here(tmp_path / "lake", path, cluster=name)
    assert [row["same_as"] for row in rows(tmp_path / "lake", "sources")] == [None] * 3


def test_a_tail_after_known_bytes_is_accounted_for(tmp_path: Path) -> None:
    """What is no batch behind what another copy has: told once, and no reason to read the copy or a third one otherwise."""
    lake, tail = tmp_path / "lake", b"no batch" * 20
    ingest_here(lake, copy(tmp_path / "a", LOG), cluster="c")
    for name in ("b", "b2"):
        ingest_here(lake, copy(tmp_path / name, segment(LOG) + tail), cluster="c")
    found = [(row["records"], row["tail_bytes"], row["tail_kind"]) for row in rows(lake, "sources")]
    assert sorted(found) == [*[(0, len(tail), "damage")] * 2, *[(12, 0, None)] * 3]
    assert ingest_here(lake, tmp_path / "b", tmp_path / "b2", cluster="c").run is None
    whole = copy(tmp_path / "d", [*LOG, *in_order(commit("g", "t", 0, 12), start=12)])
    assert ingest_here(lake, whole, cluster="c").stored == 1


@pytest.mark.parametrize("packed", ["gz", "tar"])
def test_what_is_read_as_a_whole_is_known_as_a_whole(tmp_path: Path, packed: str) -> None:
    """The same compressed file at two paths; the same segment in two tars."""
    paths = []
    for name in ("a", "b"):
        folder = copy(tmp_path / name, segment(LOG))
        (log,) = folder.rglob("*.log")
        if packed == "gz":
            (log.parent / f"{log.name}.gz").write_bytes(gzip.compress(log.read_bytes(), mtime=0))
            log.unlink()
            paths.append(folder)
        else:
            with tarfile.open(tmp_path / f"{name}.tar", "w") as tar:
                tar.add(folder, name)
            shutil.rmtree(folder)
            paths.append(tmp_path / f"{name}.tar")
    for path in paths:
        done = ingest_here(tmp_path / "lake", path, cluster="c")
    assert (done.stored, done.sums["records"]) == (0, len(LOG))
    assert not replay_here(tmp_path / "lake").problems
    assert histories(tmp_path / "lake") == by_evidence(paths)
