"""Time functions in turn, round after round, so that a noisy machine is noisy for all; results are medians.

Functions that use one core and never wait are timed by the CPU time of their process: what an idle core would take.
"""

import gc
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Final, NamedTuple

WARM_AT_MOST: Final = 12
WARM_AT_LEAST: Final = 3
ROUNDS_AT_LEAST: Final = 3
LONG_ENOUGH: Final = 4.0
"""Seconds after which an entry is warm, and has been timed: what takes longer has only the least number of rounds."""
ONCE: Final = 0.1
"""The spread of what is measured once: what two runs of the same code may differ by is not known of it."""
_NO_LONGER_FASTER: Final = 0.97
_TICK: Final = 1e-6
"""What takes less than the clock tells."""


class Entry(NamedTuple):
    """Something to be timed: `run` does it once and returns the seconds that it took."""

    name: str
    run: Callable[[], float]
    records: int
    rounds: int = 9
    """The most rounds; what takes long has fewer."""
    warms: bool = True
    """Whether it becomes faster by being run: not so a process of its own."""


class Ratio(NamedTuple):
    """How many times as much as ours a peer takes, of seconds or of bytes: the median of the rounds of one run.

    `spread` is half the distance between the lowest and the highest round, as a share of the median.
    """

    peer: str
    value: float
    spread: float


class Timed(NamedTuple):
    """The seconds of each round of an entry."""

    name: str
    records: int
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.seconds)

    @property
    def rate(self) -> float:
        """Return how many millions of records were read in a second, by the median."""
        return self.records / self.median / 1e6

    def against(self, peer: "Timed") -> Ratio:
        """Return how many times as long the peer takes for a record."""
        scale = self.records / peer.records
        return ratio(peer.name, [seconds * scale for seconds in peer.seconds], self.seconds)


def ratio(peer: str, theirs: Sequence[float], ours: Sequence[float]) -> Ratio:
    """Return how many times as much a peer takes in the rounds that both have; a single round has the spread ONCE."""
    rounds = [their / max(our, _TICK) for their, our in zip(theirs, ours, strict=False)]
    middle = median(rounds)
    spread = (max(rounds) - min(rounds)) / 2 / middle if len(rounds) > 1 else ONCE
    return Ratio(peer, middle, spread)


def timed(do: Callable[[], object], clock: Callable[[], float] = time.process_time) -> Callable[[], float]:
    """Return a function that runs `do` in this process, and returns the seconds by its CPU time or another clock."""

    def run() -> float:
        # What the entry before left behind is not for this one to clean up.
        gc.collect()
        began = clock()
        do()
        return clock() - began

    return run


def race(entries: Sequence[Entry]) -> dict[str, Timed]:
    """Warm up all entries, then time them in turn, round after round; return the times by name."""
    for entry in entries:
        if entry.warms:
            _warm(entry)
    seconds: dict[str, list[float]] = {entry.name: [] for entry in entries}
    for _ in range(max(entry.rounds for entry in entries)):
        for entry in entries:
            if _is_due(entry, seconds[entry.name]):
                seconds[entry.name].append(entry.run())
    return {entry.name: Timed(entry.name, entry.records, tuple(seconds[entry.name])) for entry in entries}


def _is_due(entry: Entry, seconds: Sequence[float]) -> bool:
    """Return whether an entry is timed once more, given its rounds until now."""
    return len(seconds) < entry.rounds and (len(seconds) < ROUNDS_AT_LEAST or sum(seconds) < LONG_ENOUGH)


def _warm(entry: Entry) -> None:
    """Run an entry until three runs in a row are no faster than the best before them, or it has run long enough."""
    best = spent = entry.run()
    since = runs = 0
    while since < WARM_AT_LEAST and runs < WARM_AT_MOST and (runs < WARM_AT_LEAST or spent < LONG_ENOUGH):
        took = entry.run()
        since = 0 if took < best * _NO_LONGER_FASTER else since + 1
        best, spent, runs = min(best, took), spent + took, runs + 1
