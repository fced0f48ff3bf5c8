"""Bars in lanes: a bar is a value that held for a stretch of time; neighbours are merged where bars are too many to see.

Knows no row of a history.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import altair as alt

from offsets_tool.plots.time_axis import AT, TimeAxis, TimeStretch
from offsets_tool.wire.json import JsonObject

MOST_BARS: Final = 900
"""Bars of one picture."""
MOST_LANES: Final = 40
"""Lanes of one picture."""
_FEW: Final = 16
_WIDE: Final = 17
_NARROW: Final = 11
_CHARACTER: Final = 6.2
"""Points of a character in a bar."""
_NUMBERS: Final = re.compile(r"([0-9]+)")


class LaneBar(NamedTuple):
    """A value that held in a lane from one time to another, in epoch milliseconds."""

    lane: str
    begin: int
    end: int
    value: str | int
    text: str = ""
    times: int = 1
    """How many bars it stands for."""


def shown_bars(bars: Iterable[LaneBar], axis: TimeAxis, most: int = MOST_BARS) -> list[LaneBar]:
    """Return bars as they are; where there are more than `most`, one for each lane and bin of time, with what held longest.

    Neighbours of one value are one bar; each says how many it stands for.
    """
    joined = list(_joined(bars))
    if len(joined) <= most:
        return joined
    by_lane: dict[str, list[LaneBar]] = {}
    for bar in joined:
        by_lane.setdefault(bar.lane, []).append(bar)
    bins = axis.bins(max(most // len(by_lane), 8))
    return [bar for some in by_lane.values() for bar in _joined(_binned(some, bins, axis))]


def _joined(bars: Iterable[LaneBar]) -> Iterable[LaneBar]:
    """Yield bars, neighbours with the same value joined to one; bars of one lane come in the order of time."""
    open_bars: dict[str, LaneBar] = {}
    for bar in bars:
        before = open_bars.get(bar.lane)
        if before is not None and (before.value, before.text, before.end) == (bar.value, bar.text, bar.begin):
            open_bars[bar.lane] = before._replace(end=bar.end, times=before.times + bar.times)
            continue
        if before is not None:
            yield before
        open_bars[bar.lane] = bar
    yield from open_bars.values()


def _binned(bars: Sequence[LaneBar], bins: Sequence[TimeStretch], axis: TimeAxis) -> Iterable[LaneBar]:
    first = 0
    for begin, end in bins:
        while first < len(bars) and bars[first].end <= begin:
            first += 1
        held: dict[tuple[str | int, str], int] = {}
        began = 0
        for bar in bars[first:]:
            if bar.begin >= end:
                break
            key = (bar.value, bar.text)
            held[key] = held.get(key, 0) + max(min(bar.end, end) - max(bar.begin, begin), 1)
            began += bar.times if bar.begin >= begin else 0
        if held:
            value, text = max(held, key=lambda key: held[key])
            yield LaneBar(bars[0].lane, axis.clip(begin), axis.clip(end), value, text, began)


def bar_height(lanes: int) -> int:
    """Return the height of a bar in points for this number of lanes: two less than that of a lane."""
    return (_WIDE if lanes <= _FEW else _NARROW) - 2


def lane_axis(lanes: Sequence[str]) -> alt.Y:
    """Return the vertical channel of a chart: these lanes in this order, with their names on the left."""
    return alt.Y("l:N", sort=list(lanes), title=None, axis=alt.Axis(ticks=False, domain=False))


def lane_set(lanes: Sequence[str], axis: TimeAxis) -> list[JsonObject]:
    """Return the data set `lanes`: of each lane its number `i`, which rows of bars have, its name `l`, and the whole axis."""
    return [{"i": number, "l": lane, "t": axis.begin, "t2": axis.end} for number, lane in enumerate(lanes)]


def bar_set(bars: Iterable[LaneBar], lanes: Sequence[str]) -> list[JsonObject]:
    """Return bars as data: the number `i` of the lane, from `t` to `t2`, a value `v` and how many bars `n` each stands for."""
    numbers = {lane: number for number, lane in enumerate(lanes)}
    return [
        {"i": numbers[bar.lane], "t": bar.begin, "t2": bar.end, "v": bar.value, "n": bar.times}
        for bar in bars
    ]


def in_lanes(name: str) -> alt.Chart:
    """Return a chart over a data set, whose rows have the name `l` of their lane and their time `at` as a text."""
    names = alt.LookupData(alt.NamedData("lanes"), key="i", fields=["l"])
    made: alt.Chart = (
        alt.Chart(alt.NamedData(name)).transform_lookup(lookup="i", from_=names).transform_calculate(at=AT)
    )
    return made


def lanes_height(lanes: int) -> int:
    """Return the height of all lanes together, in points."""
    return max((bar_height(lanes) + 2) * lanes, 24)


def natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that orders names as a person does: consumer-2 before consumer-10."""
    return [
        (int(part), "") if part.isdecimal() and len(part) < 20 else (-1, part)
        for part in _NUMBERS.split(name)
    ]


def fitting(text: str, bar: LaneBar, axis: TimeAxis) -> dict[str, str]:
    """Return the text that fits into a bar as its field `w`; an empty dictionary where hardly any of it fits."""
    room = int(axis.points(bar.begin, bar.end) / _CHARACTER)
    if len(text) <= room:
        return {"w": text}
    return {"w": text[: room - 1] + "…"} if room >= 4 else {}


def bar_texts(
    name: str, axis: TimeAxis, lanes: Sequence[str], *, is_on_color: bool = True, has_axis: bool = True
) -> alt.Chart:
    """Return a chart of the texts in bars: the field `w` of those rows of a data set that have it.

    Bars of the palette's colours take black in either theme, others the theme's own ink.
    """
    color: JsonObject = {"color": "#000000"} if is_on_color else {}
    chart = in_lanes(name).transform_filter("isValid(datum.w)")
    texts = chart.mark_text(align="left", dx=3, fontSize=9, baseline="middle", **color)
    made: alt.Chart = texts.encode(x=axis.x(has_axis=has_axis), y=lane_axis(lanes), text="w:N")
    return made
