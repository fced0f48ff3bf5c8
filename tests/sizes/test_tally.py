"""Bytes add up to those of the segments, by the lane as by the reference reader; what is left is what Kafka's cleaner left."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from bench.generator.batches import write_batches
from bench.generator.mixes import MIXES
from tests.corpora import CORPORA, FIXTURES
from tests.depth import sample
from tests.expiry.log_cleaner import cleaned, stable
from tests.replay.random_logs import CONTROL, READERS, TRANSACTIONAL, Placed, RandomLog, ends, segment
from tests.sizes.sized_logs import Sized, sized

REPLICATED = FIXTURES / "corpora-replicated"
EVERY = sorted(path for folder in (CORPORA, REPLICATED, FIXTURES / "incidents") for path in folder.iterdir())


@pytest.mark.parametrize("folder", sample(EVERY, 3), ids=lambda path: path.name)
def test_the_rows_add_up_to_the_segments(folder: Path) -> None:
    found = Sized(folder)
    for rows in (found.groups, found.partitions):
        assert sum(row["bytes"] for row in rows) == sum(entry.bytes for entry in found.ledgers)
        assert sum(row["records"] for row in rows) == sum(entry.records for entry in found.ledgers)
        for row in rows:
            assert row["left_now_bytes"] <= row["bytes"] or row.get("part") == "empty batches"
            assert row["left_records"] <= row["left_now_records"] <= row["records"]
    assert sum(row["share"] for row in found.groups) == pytest.approx(1)


@pytest.mark.parametrize(
    "corpus",
    ["3.9.2-txn", "4.3.1-txn", "4.1.2-codecs", "2.8.2-logappend-gzip", "3.7.2-compaction", "0.11.0.3-mix"],
)
def test_the_lane_says_what_the_reference_reader_says(corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fast, reference = (sized(CORPORA / corpus, monkeypatch, fast=fast) for fast in (True, False))
    assert (fast.groups, fast.partitions) == (reference.groups, reference.partitions)


@pytest.mark.parametrize(
    "mix", [pytest.param(mix, marks=() if mix in ("commits", "rich") else pytest.mark.deep) for mix in MIXES]
)
def test_the_lane_sums_up_what_brokers_write(
    mix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    for codec in ("none", "lz4"):
        (folder / "00000000000000000000.log").write_bytes(
            write_batches(MIXES[mix](Random(7)), 1 << 14, codec)
        )
        fast, reference = (sized(tmp_path, monkeypatch, fast=fast) for fast in (True, False))
        assert (fast.groups, fast.partitions) == (reference.groups, reference.partitions)


def test_what_another_copy_has_more_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cleaner of broker 1 has left of its copy what one run would leave of the copy of broker 2."""
    found = Sized(REPLICATED / "4.1.2-replicas")
    by_copy: dict[str, dict[str, dict[str, Any]]] = {}
    for row in found.groups:
        if row["part"] == "group":
            by_copy.setdefault(Path(row["copy"]).name, {})[row["group"]] = row
    compared = 0
    for group, row in by_copy["1"].items():
        other = by_copy["2"][group]
        assert row["gone_at_least"] == other["records"] - row["records"] <= row["gone_at_most"]
        if not other["tombstones"]:
            assert (row["records"], row["bytes"]) == (other["left_now_records"], other["left_now_bytes"])
            compared += 1
    assert compared >= 6


def test_an_open_transaction_holds_the_cleaner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits, of which one is in a transaction that never ends, in three segments: the second is left alone too."""
    plain = RandomLog(5, READERS["2.8.2"]).grow(60).placed
    kept = [each for each in plain if not each.attributes & (CONTROL | TRANSACTIONAL)]
    batches = [
        each._replace(producer=(9, 0, 0), attributes=TRANSACTIONAL) if at == 15 else each
        for at, each in enumerate(kept)
    ]
    write_segments(tmp_path, batches, 10, 20)
    for fast in (True, False):
        found = sized(tmp_path, monkeypatch, fast=fast)
        (row,) = found.partitions
        bases = (batches[10].base_offset, batches[15].base_offset, batches[20].base_offset)
        assert (row["uncleanable_from"], row["first_unstable_offset"], row["active_from"]) == bases
        assert row["held_bytes"] == len(segment(batches[10:20]))
        assert row["open_producer_ids"] == [9]
        write_segments(
            tmp_path, [each._replace(producer=(-1, -1, -1), attributes=0) for each in batches], 10, 20
        )
        (free,) = sized(tmp_path, monkeypatch, fast=fast).partitions
        assert free["held_bytes"] == 0 and free["left_now_bytes"] < row["left_now_bytes"]
        write_segments(tmp_path, batches, 10, 20)


def random_logs() -> list[list[Placed]]:
    return [
        RandomLog(seed, READERS[release], 0.02 * (seed % 2)).grow(150).placed
        for seed, release in enumerate(("4.3.1", "2.8.2", "4.1.2", "4.3.1", "3.9.2", "4.3.1"))
    ]


def write_segments(folder: Path, placed: list[Placed], *bounds: int) -> None:
    """Write a segment for the batches up to each bound, and an active one for the rest."""
    directory = folder / "__consumer_offsets-0"
    directory.mkdir(parents=True, exist_ok=True)
    for path in directory.iterdir():
        path.unlink()
    for first, last in zip((0, *bounds), (*bounds, len(placed)), strict=True):
        part = placed[first:last]
        base = part[0].base_offset if part else ends(placed)[-1]
        (directory / f"{base:020}.log").write_bytes(segment(part))


@pytest.mark.parametrize("fast", [True, False], ids=["lane", "reference"])
def test_one_run_leaves_what_the_cleaner_leaves(
    tmp_path: Path, fast: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = 0
    for number, placed in enumerate(random_logs()):
        for seed in range(5):
            random = Random(100 * number + seed)
            bound = random.randint(0, stable(placed))
            if not bound or random.random() < 0.3:
                # Nothing to clean; or the cleaner's model drops tombstones, which no horizon has passed here.
                continue
            write_segments(tmp_path, placed, bound)
            found = sized(tmp_path, monkeypatch, fast=fast)
            left = cleaned(placed, Random(100 * number + seed))
            assert sum(row["left_now_records"] for row in found.groups) == len(ends(left))
            kept = sum(row["left_now_bytes"] for row in found.groups if row["part"] != "empty batches")
            assert kept == len(segment(left))
            compared += 1
    assert compared > 10
