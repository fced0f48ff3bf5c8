"""A range's digest, taken as its bytes are reached."""

import hashlib
import random
from pathlib import Path

import pytest

from offsets_tool.errors import SourceError
from spark.ingest.digest import RangeDigest


@pytest.mark.parametrize("seed", range(4))
def test_in_steps_as_at_once(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    data, path = chance.randbytes(3 << 20), tmp_path / "file"
    path.write_bytes(data)
    start, *steps, end = sorted(chance.sample(range(len(data)), 6))
    running = RangeDigest(str(path), start)
    for step in steps:
        running.reach(step)
    assert running.upto(end) == hashlib.sha256(data[start:end]).hexdigest()
    assert running.upto(len(data)) == hashlib.sha256(data[start:]).hexdigest()


def test_nothing_reached(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    assert RangeDigest(str(path), 0).upto(0) == hashlib.sha256().hexdigest()
    with pytest.raises(SourceError):
        RangeDigest(str(tmp_path / "none"), 0)
