"""Nights in any order, ten of them in depth: the lake is that of all at once, though what was written last may come first."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark.ingest.ingest import Request
from spark.run import run
from tests.depth import DEEP
from tests.spark.lakes import CORPORA, Row, no_session
from tests.spark.stream.test_folder import content

NIGHTS = 10 if DEEP else 3
OF_FILES = ("source", "batch_position")
"""Columns that name a record's file and its place there."""
CASES = [
    pytest.param(corpus, seed, marks=[] if seed == 0 and corpus == "3.9.2-txn" else pytest.mark.deep)
    for corpus in ("3.9.2-txn", "4.1.2-newgroups", "2.8.2-compaction", "4.3.1-kip848")
    for seed in range(3)
]


def batches(data: bytes) -> Iterator[bytes]:
    """Yield the record batches of a segment."""
    at = 0
    while at < len(data):
        size = 12 + int.from_bytes(data[at + 8 : at + 12], "big")
        yield data[at : at + size]
        at += size


def write_nights(logs: Path, folder: Path) -> list[Path]:
    """Write the batches of each log partition to the directories of all nights, in each as the one segment that was new then."""
    nights = [folder / f"night-{number}" for number in range(NIGHTS)]
    for partition in sorted(logs.iterdir()):
        all_ = [batch for log in sorted(partition.glob("*.log")) for batch in batches(log.read_bytes())]
        for number, night in enumerate(nights):
            some = all_[number * len(all_) // NIGHTS : (number + 1) * len(all_) // NIGHTS]
            if some:
                to = night / partition.name / f"{int.from_bytes(some[0][:8], 'big'):020d}.log"
                to.parent.mkdir(parents=True, exist_ok=True)
                to.write_bytes(b"".join(some))
    return [night for night in nights if night.exists()]


def made(lake: Path, *nights: Path) -> dict[str, list[Row]]:
    """Run all jobs for one night after another, and return all rows of the tables without numbers of runs, times and files."""
    for night in nights:
        list(run(Request(paths=[str(night)], lake=str(lake), cluster="c"), no_session, "auto"))
    return {
        name: sorted(({k: v for k, v in row.items() if k not in OF_FILES} for row in table), key=repr)
        for name, table in content(lake).items()
    }


@pytest.mark.parametrize(("corpus", "seed"), CASES)
def test_shuffled_nights(tmp_path: Path, corpus: str, seed: int) -> None:
    nights = write_nights(CORPORA / corpus / "segments", tmp_path)
    expected = made(tmp_path / "at once", CORPORA / corpus / "segments")
    random.Random(seed).shuffle(nights)
    found = made(tmp_path / "lake", *nights)
    for name, table in expected.items():
        assert found[name] == table, name
    assert len(nights) == NIGHTS
    assert expected["offset_history"]
