"""The axis of time that the pictures of one question share: in UTC wherever it is looked at, long silences drawn narrow.

Evidence may hold an hour of last week and a minute of last year. Where so much of the time is empty that what happened would be a
single line, the axis is cut: each stretch with records has its own part of the width, and the silence between is a strip that says
how long it is. Knows times alone.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import altair as alt

from offsets_tool.time_texts import UNITS, duration_text, time_text
from offsets_tool.wire.times import LAST_MILLISECOND, is_time

WIDTH: Final = 680
"""Points from the first time to the last."""
TimeStretch = tuple[int, int]
"""The first and the last of some times, epoch milliseconds."""
AT: Final = "utcFormat(datum.t, '%Y-%m-%d %H:%M:%S.%L') + ' UTC'"
"""Vega's expression for the time of a mark, as tooltips show it."""
_GAP: Final = 26
"""Points of a silence that is cut out."""
_MOST_GAPS: Final = 3
_EMPTY: Final = 0.85
"""How much of the axis has to be empty before it is cut."""
_CROWDED: Final = 0.1
"""At most how much of the axis the busiest stretch has where it is cut."""
_TICKS: Final = 8
_LABEL: Final = 70
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
_CUT_LABEL: Final = "[utcFormat(datum.value, '%H:%M:%S'), utcFormat(datum.value, '%Y-%m-%d')]"
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
    """The stretches of time that a picture shows, in the order of time, each with its points of the width."""

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
        """Milliseconds of all stretches together."""
        return sum(end - begin for begin, end in self.stretches)

    def x(self, field: str = "t", *, has_axis: bool = True) -> alt.X:
        """Return the channel of a field of epoch milliseconds; without `has_axis`, for a panel above another."""
        scale: dict[str, Any] = {
            "type": "utc",
            "domain": [at for stretch in self.stretches for at in stretch],
        }
        if self.is_cut:
            scale["range"] = [at for part in self.parts for at in part]
        axis = self._axis() if has_axis else alt.Axis(labels=False, title=None, ticks=False, tickCount=_TICKS)
        return alt.X(f"{field}:T", scale=alt.Scale(**scale), axis=axis)

    def _axis(self) -> alt.Axis:
        title = f"time, UTC ({self._dates()})"
        if not self.is_cut:
            return alt.Axis(
                title=title, format=_FORMAT, tickCount=_TICKS, labelOverlap=True, labelSeparation=10
            )
        ticks = [
            at
            for stretch, part in zip(self.stretches, self.parts, strict=True)
            for at in _ticks(stretch, part)
        ]
        return alt.Axis(title=title, values=ticks, labelExpr=_CUT_LABEL, labelOverlap=True, labelSeparation=6)

    def _dates(self) -> str:
        first, last = ((time_text(at) or "")[:10] for at in (self.begin, self.end))
        return first if first == last else f"{first} to {last}"

    def silences(self) -> list[dict[str, Any]]:
        """Return the silences that are drawn narrow, as data: from `t` to `t2`, how long in `x`."""
        return [
            {"t": before[1], "t2": after[0], "x": duration_text(after[0] - before[1])}
            for before, after in pairwise(self.stretches)
        ]

    def bins(self, most: int) -> list[TimeStretch]:
        """Return about so many bins of one length that a person counts in, or a few more; none reaches over a silence."""
        step = step_of(self.length, most)
        return [
            (at, at + step)
            for begin, end in self.stretches
            for at in range(begin // step * step, end + 1, step)
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
        """Return a time, or the end of the axis that is nearer where it is outside."""
        return min(max(at, self.begin), self.end)


def step_of(length: int, most: int) -> int:
    """Return the least span that a person counts in of which a length has at most `most`, in milliseconds."""
    return next((step for step in _STEPS if length <= step * most), _STEPS[-1])


def axis_of(times: Iterable[int], since: int | None = None, until: int | None = None) -> TimeAxis | None:
    """Return the axis for these times (epoch milliseconds) from `since` to before `until`; None where there is none.

    What is no time of the calendar is left out.
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
    parts, x = [], 0
    for weight in weights:
        wide = round(room * weight / sum(weights))
        parts.append((x, x + wide))
        x += wide + _GAP
    return TimeAxis(tuple(_padded(stretches)), tuple(parts))


def _cut(distinct: Sequence[int]) -> list[TimeStretch]:
    whole = distinct[-1] - distinct[0]
    gaps = sorted(pairwise(distinct), key=lambda gap: gap[0] - gap[1])
    for number in range(1, _MOST_GAPS + 1):
        cuts = sorted(gaps[:number])
        if sum(after - before for before, after in cuts) >= _EMPTY * whole > 0:
            edges = [distinct[0], *(at for cut in cuts for at in cut), distinct[-1]]
            stretches = list(zip(edges[::2], edges[1::2], strict=True))
            busiest = max(stretches, key=lambda some: sum(some[0] <= at <= some[1] for at in distinct))
            is_busy = sum(busiest[0] <= at <= busiest[1] for at in distinct) >= 3
            return (
                stretches
                if is_busy and busiest[1] - busiest[0] < _CROWDED * whole
                else [(distinct[0], distinct[-1])]
            )
    return [(distinct[0], distinct[-1])]


def _padded(stretches: Sequence[TimeStretch]) -> Iterable[TimeStretch]:
    """Yield stretches with a little room at both ends, a stretch of one moment with half a minute, none into another."""
    for number, (begin, end) in enumerate(stretches):
        room = max((end - begin) // 50, 1) if end > begin else 30_000
        before = begin - stretches[number - 1][1] if number else begin
        after = stretches[number + 1][0] - end if number + 1 < len(stretches) else LAST_MILLISECOND - end
        yield begin - min(room, before // 3), end + max(min(room, after // 3), 1)


def _ticks(stretch: TimeStretch, part: TimeStretch) -> list[int]:
    begin, end = stretch
    most = max((part[1] - part[0]) // _LABEL, 1)
    step = step_of(end - begin, most)
    ticks = list(range(-(-begin // step) * step, end + 1, step))
    return ticks or [(begin + end) // 2]
