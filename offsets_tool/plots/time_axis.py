"""The axis of time that several pictures share: in UTC on every machine, and with long silences drawn narrow.

Evidence may hold an hour of last week and a minute of last year. Where so much of the time is empty that what happened would be a
single line, the axis is cut: each stretch with records has its own part of the width, and the silence between is a strip that says
how long it is. Knows times alone.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import altair as alt

from offsets_tool.time_texts import UNITS, duration_text, time_text
from offsets_tool.wire.json import JsonObject
from offsets_tool.wire.times import LAST_MILLISECOND, is_time

WIDTH: Final = 680
"""Points from the first time to the last."""
TimeStretch = tuple[int, int]
"""The first and the last of some times, epoch milliseconds."""
AT: Final = "utcFormat(datum.t, '%Y-%m-%d %H:%M:%S.%L') + ' UTC'"
"""Vega's expression for the time of a mark, as tooltips show it."""
_GAP: Final = 26
"""Points of a silence that is cut out."""
_MOST_STRETCHES: Final = 5
_EMPTY: Final = 0.75
"""How much of the time one silence has to be before it is cut out."""
_CROWDED: Final = 0.1
"""At most how much of the time the busier side of it has."""
_LEAST_ROOM: Final = 500
"""Milliseconds at both ends of a stretch that is shorter than they are."""
_TICKS: Final = 8
_SHORT: Final = 6_000
"""Milliseconds of an axis whose ticks are parts of a second."""
_LABEL: Final = 78
"""Points for the label of a tick."""
_FORMAT: Final = {
    "milliseconds": "%H:%M:%S.%L",
    "seconds": "%H:%M:%S",
    "minutes": "%H:%M",
    "hours": "%H:%M",
    "day": "%b %d",
    "date": "%b %d",
    "week": "%b %d",
    "month": "%Y-%m",
    "year": "%Y",
}
_BARE: Final[JsonObject] = {"labels": False, "title": None, "ticks": False}
_TIME_LABEL: Final = "utcFormat(datum.value, '%H:%M:%S')"
_DATE_LABEL: Final = "utcFormat(datum.value, '%Y-%m-%d')"
_SHORT_LABEL: Final = "utcFormat(datum.value, '%H:%M:%S.%L')"
_STEPS: Final = tuple(
    unit * times
    for unit, several in (
        (UNITS["ms"], (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        (UNITS["s"], (1, 2, 5, 10, 15, 30)),
        (UNITS["m"], (1, 2, 5, 10, 15, 30)),
        (UNITS["h"], (1, 2, 3, 6, 12)),
        (UNITS["d"], (1, 2, 7, 14, 30, 90, 365, 3650, 36500)),
    )
    for times in several
)
"""Spans of time that a person counts in."""


class TimeAxis(NamedTuple):
    """The stretches of time that a picture shows, in the order of time, each with its share of the width in points."""

    stretches: tuple[TimeStretch, ...]
    parts: tuple[TimeStretch, ...]

    @property
    def begin(self) -> int:
        """The first time of the axis."""
        return self.stretches[0][0]

    @property
    def end(self) -> int:
        """The last time of the axis."""
        return self.stretches[-1][1]

    @property
    def is_cut(self) -> bool:
        """Whether silences between the stretches are drawn narrow."""
        return len(self.stretches) > 1

    @property
    def length(self) -> int:
        """The length of all stretches together, in milliseconds."""
        return sum(end - begin for begin, end in self.stretches)

    def x(self, field: str = "t", *, has_axis: bool = True) -> alt.X:
        """Return the horizontal channel of a field of epoch milliseconds; without `has_axis` for a panel that is not the lowest."""
        if not self.is_cut and self.length > _SHORT:
            axis = self._axis() if has_axis else alt.Axis(**_BARE, tickCount=_TICKS)
            return alt.X(f"{field}:T", scale=alt.Scale(type="utc", domain=[self.begin, self.end]), axis=axis)
        # As numbers: Vega-Lite takes of a domain of times the first and the last alone, and Vega one tick of a second.
        domain = [at for stretch in self.stretches for at in stretch]
        places = [at for part in self.parts for at in part]
        axis = self._number_axis() if has_axis else alt.Axis(**_BARE, values=self._ticks())
        return alt.X(
            f"{field}:Q", scale=alt.Scale(type="linear", domain=domain, range=places, nice=False), axis=axis
        )

    def _axis(self) -> alt.Axis:
        return alt.Axis(
            title=f"time, UTC ({self._dates()})",
            format=_FORMAT,
            tickCount=_TICKS,
            labelOverlap="greedy",
            labelSeparation=10,
        )

    def _number_axis(self) -> alt.Axis:
        cut = ", ".join(silence["x"] for silence in self.silences())
        is_short = min(end - begin for begin, end in self.stretches) <= _SHORT
        label = _SHORT_LABEL if is_short else _TIME_LABEL
        return alt.Axis(
            title=f"time, UTC ({self._dates()})" + (f"; without {cut} between" if cut else ""),
            values=self._ticks(),
            labelExpr=f"[{label}, {_DATE_LABEL}]" if cut else label,
            labelOverlap="greedy",
            labelSeparation=6,
        )

    def _ticks(self) -> list[int]:
        return [
            at
            for stretch, part in zip(self.stretches, self.parts, strict=True)
            for at in _ticks(stretch, part)
        ]

    def _dates(self) -> str:
        first, last = ((time_text(at) or "")[:10] for at in (self.begin, self.end))
        return first if first == last else f"{first} to {last}"

    def silences(self) -> list[JsonObject]:
        """Return the silences that are drawn narrow, as data: from `t` to `t2`, how long in `x`."""
        return [
            {"t": before[1], "t2": after[0], "x": duration_text(after[0] - before[1])}
            for before, after in pairwise(self.stretches)
        ]

    def bins(self, most: int) -> list[TimeStretch]:
        """Return about `most` bins of one round length, or a few more; no bin reaches over a silence."""
        step = step_of(self.length, most)
        return [
            (max(at, begin), min(at + step, end))
            for begin, end in self.stretches
            for at in range(begin // step * step, end, step)
        ]

    def points(self, begin: int, end: int) -> float:
        """Return how many points of the width lie between two times."""
        return self._point(end) - self._point(begin)

    def _point(self, at: int) -> float:
        for (begin, end), (left, right) in zip(self.stretches, self.parts, strict=True):
            if at <= end:
                return left + (right - left) * max(at - begin, 0) / (end - begin)
        return self.parts[-1][1]

    def clip(self, at: int) -> int:
        """Return a time limited to the axis: one outside becomes the nearer end."""
        return min(max(at, self.begin), self.end)


def step_of(length: int, most: int) -> int:
    """Return the shortest round span, in milliseconds, of which at most `most` fit into a length."""
    return next((step for step in _STEPS if length <= step * most), _STEPS[-1])


def axis_of(times: Iterable[int], since: int | None = None, until: int | None = None) -> TimeAxis | None:
    """Return the axis for these times (epoch milliseconds) from `since` to before `until`; None where there is none.

    Numbers that are no time of the calendar are left out.
    """
    low, high = since or 0, LAST_MILLISECOND if until is None else until
    distinct = sorted({at for at in times if is_time(at) and low <= at <= high})
    if not distinct:
        return None
    stretches = _cut(distinct)
    weights = [
        max(sum(begin <= at <= end for at in distinct) / len(distinct), 0.15) for begin, end in stretches
    ]
    room = WIDTH - _GAP * (len(stretches) - 1)
    parts, x = [], 0.0
    for weight in weights:
        wide = room * weight / sum(weights)
        parts.append((round(x), round(x + wide)))
        x += wide + _GAP
    return TimeAxis(tuple(_padded(stretches)), tuple(parts))


def _cut(distinct: Sequence[int], most: int = _MOST_STRETCHES) -> list[TimeStretch]:
    """Return ascending times as stretches: cut where one silence takes nearly all of the time."""
    first, last = distinct[0], distinct[-1]
    if most == 1 or last == first:
        return [(first, last)]
    number = max(range(1, len(distinct)), key=lambda number: distinct[number] - distinct[number - 1])
    before, after = distinct[:number], distinct[number:]
    busier = max(before, after, key=len)
    is_crowded = len(busier) >= 3 and busier[-1] - busier[0] < _CROWDED * (last - first)
    if after[0] - before[-1] < _EMPTY * (last - first) or not is_crowded:
        return [(first, last)]
    head = _cut(before, most - 1)
    return head + _cut(after, most - len(head))


def _padded(stretches: Sequence[TimeStretch]) -> Iterable[TimeStretch]:
    """Yield stretches with a margin at both ends, wider where a stretch is one moment; none overlaps another."""
    for number, (begin, end) in enumerate(stretches):
        room = max((end - begin) // 50, _LEAST_ROOM if end - begin < _LEAST_ROOM else 1)
        before = begin - stretches[number - 1][1] if number else begin
        after = stretches[number + 1][0] - end if number + 1 < len(stretches) else LAST_MILLISECOND - end
        yield begin - min(room, before // 3), min(end + max(min(room, after // 3), 1), LAST_MILLISECOND)


def _ticks(stretch: TimeStretch, part: TimeStretch) -> list[int]:
    begin, end = stretch
    most = max((part[1] - part[0]) // _LABEL, 1)
    step = step_of(end - begin, most)
    ticks = list(range(-(-begin // step) * step, end + 1, step))
    return ticks or [(begin + end) // 2]
