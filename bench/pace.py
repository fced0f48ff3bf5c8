"""Time things against each other: one after another, again and again, so that a noisy machine is noisy for all; medians.

What uses one core and waits for nothing is timed by the CPU time of all threads of its process: what it would take on an idle core.
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
    """Seconds of each round."""

    name: str
    records: int
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.seconds)

    @property
    def rate(self) -> float:
        """Millions of records a second."""
        return self.records / self.median / 1e6


def timed(do: Callable[[], object], clock: Callable[[], float] = time.process_time) -> Callable[[], float]:
    """`do` in this process, by its CPU time or by another clock."""

    def run() -> float:
        began = clock()
        do()
        return clock() - began

    return run


def race(entries: Sequence[Entry]) -> dict[str, Timed]:
    """Time all entries in turn, round after round, after each has become as fast as it gets; return their medians by name."""
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
