"""Count events of a group in equal spans of time, from its first record to the end of the log.

Spans begin at round times, and one that is empty counts 0. Records without a time are left out.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from typing import Final, NamedTuple

from offsets_tool.as_of.selection import Wanted
from offsets_tool.findings.finder import time_or_none
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.rebalances.members import GroupMembers
from offsets_tool.rebalances.rebalance import rebalance_steps
from offsets_tool.story.commits import commit_rows
from offsets_tool.story.story import concerns
from offsets_tool.time_texts import UNITS

_ALL: Final = Wanted()
_AHEAD: Final = "Moved ahead"
_FEWEST: Final = 8
"""Fewer events than these are told, not drawn."""
_STEPS: Final = sorted(
    count * UNITS[unit]
    for unit, counts in {
        "ms": (1, 2, 5, 10, 20, 50, 100, 200, 500),
        "s": (1, 2, 5, 10, 15, 30),
        "m": (1, 2, 5, 10, 15, 30),
        "h": (1, 2, 3, 6, 12),
        "d": (1, 2, 7, 14, 30, 90, 365),
    }.items()
    for count in counts
)
"""The spans that people count in."""
_MOST: Final = 2**63 - 1


class Timed(NamedTuple):
    """Times of events (epoch milliseconds), and an amount for each; arrays of 64-bit numbers, as there may be millions."""

    at: "array[int]"
    numbers: "array[int]"


class SpanCounts(NamedTuple):
    """The name of what is counted, and its number in each span; at least one number is above 0."""

    name: str
    numbers: tuple[int, ...]


class Shapes(NamedTuple):
    """Counts of several kinds of events over the same spans of time."""

    from_at: int
    """When the first span begins, epoch milliseconds."""
    step_ms: int
    """How long each span is."""
    shapes: tuple[SpanCounts, ...]

    @property
    def until(self) -> int:
        """The time at which the last span ends, epoch milliseconds."""
        return self.from_at + self.step_ms * len(self.shapes[0].numbers)


class GroupEvents(NamedTuple):
    """The events of a group by kind, with their times; a kind without events is left out."""

    timed: dict[str, Timed]
    newest_at: int | None
    """When the newest record of its log partition was written."""

    def shapes(self, most: int) -> Shapes | None:
        """Return the counts in at most `most` spans, from first event to newest record; None for few events or one moment."""
        if sum(len(timed.at) for name, timed in self.timed.items() if name != _AHEAD) < _FEWEST:
            return None
        first = min(min(timed.at) for timed in self.timed.values())
        last = max(time_or_none(self.newest_at) or 0, *(max(timed.at) for timed in self.timed.values()))
        if first == last:
            return None
        step = _step(first, last, most)
        start, spans = first // step * step, last // step - first // step + 1
        drawn = (SpanCounts(name, _counts(timed, start, step, spans)) for name, timed in self.timed.items())
        return Shapes(start, step, tuple(drawn))


NO_EVENTS: Final = GroupEvents({}, None)
"""Of a group of which only the sums are wanted."""


def group_events(rows: GroupRows, wanted: Wanted = _ALL) -> GroupEvents:
    """Return a group's commits, how far they moved ahead, and its rebalances; `wanted` chooses the topics whose commits count."""
    commits = [row for row in commit_rows(rows) if concerns(wanted, row.topic, row.partition)]
    timed = {
        "Commits": _timed((row.from_timestamp, 1) for row in commits),
        _AHEAD: _timed((row.from_timestamp, row.delta) for row in commits),
        "Rebalances": _timed((step.at, 1) for step in rebalance_steps(rows, GroupMembers(rows))),
    }
    return GroupEvents({name: some for name, some in timed.items() if some.at}, rows.newest_at)


def _step(first: int, last: int, most: int) -> int:
    """Return the shortest span of time of which at most `most`, beginning at a round time, cover `first` to `last`."""
    index = bisect_left(_STEPS, True, key=lambda step: last // step - first // step < most)
    return _STEPS[index] if index < len(_STEPS) else -(-(last - first) // (most - 1))


def _counts(timed: Timed, start: int, step: int, spans: int) -> tuple[int, ...]:
    numbers = [0] * spans
    for at, number in zip(*timed, strict=True):
        numbers[(at - start) // step] += number
    return tuple(numbers)


def _timed(events: Iterable[tuple[int, int | None]]) -> Timed:
    timed = Timed(array("q"), array("q"))
    for at, number in events:
        if at >= 0 and number is not None and number > 0:
            timed.at.append(at)
            timed.numbers.append(min(number, _MOST))
    return timed
