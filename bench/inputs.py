"""The segments that a run reads, made from the seed once and kept in the cache folder until the generator changes.

BENCH_MB says how large the main ones are (USUAL by default); the others are in proportion.
"""

import hashlib
import os
import sys
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from bench.generator.batches import repeated, write_batches
from bench.generator.mixes import MIXES
from offsets_tool.errors import UsageError
from spark.runtime.jars import cache

SEED: Final = 20261121
USUAL: Final = 30
"""Megabytes of the main inputs: all tables together are measured within the time that `make bench` may take."""
_SIZES: Final = ("BENCH_MB", "BENCH_CLUSTERS")
_MEGABYTE: Final = 1 << 20


class Input(NamedTuple):
    """A segment: its mix, its size relative to BENCH_MB (before it is compressed; at least one batch), and its codec."""

    mix: str
    share: float = 1.0
    codec: str = "none"

    def path(self) -> Path:
        """Return the path of the segment, which is made if it does not exist; named and placed as brokers do."""
        size = max(1, int(self.share * megabytes() * _MEGABYTE))
        folder = _kept() / f"{self.mix}-{self.codec}-{size}" / "__consumer_offsets-0"
        path = folder / "00000000000000000000.log"
        if not path.exists():
            print(
                f"making {self.mix}, {self.codec}, {size / _MEGABYTE:.1f} MB (once)",
                file=sys.stderr,
                flush=True,
            )
            folder.mkdir(parents=True, exist_ok=True)
            staged = path.with_suffix(".making")
            staged.write_bytes(write_batches(MIXES[self.mix](Random(SEED)), size, self.codec))
            staged.replace(path)
        return path


def megabytes() -> float:
    """Return the size of the main inputs. UsageError if BENCH_MB is no positive number."""
    said = os.environ.get("BENCH_MB", str(USUAL))
    try:
        wanted = float(said)
    except ValueError:
        wanted = 0
    if not wanted > 0:
        raise UsageError(
            f"BENCH_MB is {said!r}: it takes the size of the main inputs in megabytes, as in BENCH_MB=20"
        )
    return wanted


def is_usual() -> bool:
    """Return whether sizes are as in every other run: what was measured of other sizes is not compared."""
    return not any(name in os.environ for name in _SIZES)


def write_large(of: Input, times: int, path: Path) -> int:
    """Write an input `times` times in a row, with continuous offsets; return the size in bytes. Memory holds one input."""
    content = of.path().read_bytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for part in repeated(content, times):
            file.write(part)
    return path.stat().st_size


def _kept() -> Path:
    """Return the cache folder of inputs, which changes with the code that generates them."""
    here = Path(__file__)
    sources = (*sorted((here.parent / "generator").glob("*.py")), here)
    identity = hashlib.sha256(b"".join(source.read_bytes() for source in sources))
    return cache() / "bench" / identity.hexdigest()[:12]
