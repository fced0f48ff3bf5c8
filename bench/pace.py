"""Time functions in turn, round after round, so that a noisy machine is noisy for all; results are medians.

Functions that use one core and never wait are timed by the CPU time of their process: what an idle core would take.
"""

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Final, NamedTuple

WARM_AT_MOST: Final = 12
WARM_AT_LEAST: Final = 3
_NO_LONGER_FASTER: Final = 0.97


class Entry(NamedTuple):
    """Something to be timed: `run` does it once and returns the seconds that it took."""

    name: str
    run: Callable[[], float]
    records: int
    rounds: int = 9
    warms: bool = True
    """Whether it becomes faster by being run: not so a process of its own."""


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


def timed(do: Callable[[], object], clock: Callable[[], float] = time.process_time) -> Callable[[], float]:
    """Return a function that runs `do` in this process, and returns the seconds by its CPU time or another clock."""

    def run() -> float:
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
    for number in range(max(entry.rounds for entry in entries)):
        for entry in entries:
            if number < entry.rounds:
                seconds[entry.name].append(entry.run())
    return {entry.name: Timed(entry.name, entry.records, tuple(seconds[entry.name])) for entry in entries}


def _warm(entry: Entry) -> None:
    """Run an entry until three runs in a row are no faster than the best before them."""
    best, since = entry.run(), 0
    for _ in range(WARM_AT_MOST):
        took = entry.run()
        since = 0 if took < best * _NO_LONGER_FASTER else since + 1
        best = min(best, took)
        if since == WARM_AT_LEAST:
            break
