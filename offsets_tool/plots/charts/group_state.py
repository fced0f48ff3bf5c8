"""The picture of a group over time: its state, its generation or epoch, and its number of members, a panel for each."""

from collections.abc import Sequence
from typing import Final

import altair as alt

from offsets_tool.findings.sentences import count
from offsets_tool.history.rows import GroupHistoryRow
from offsets_tool.plots.bars import (
    LaneBar,
    bar_set,
    bar_texts,
    fitting,
    in_lanes,
    lane_axis,
    lane_set,
    shown_bars,
)
from offsets_tool.plots.labels import elided
from offsets_tool.plots.marks import above
from offsets_tool.plots.picture import Picture, layered, sentence, stacked, whole_numbers
from offsets_tool.plots.sampling import LinePoint, thinned
from offsets_tool.plots.scene import GroupScene
from offsets_tool.plots.themes import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILLION
from offsets_tool.plots.time_axis import AT, TimeAxis
from offsets_tool.wire.json import JsonObject

_STATES: Final = {
    "Stable": GREEN,
    "Empty": GREY,
    "Assigning": ORANGE,
    "Reconciling": BLUE,
    "NotReady": PURPLE,
    "Dead": VERMILLION,
}
"""The colour of each state; bars say its name too."""
_MOST_POINTS: Final = 300
_MOST_BARS: Final = 250
_LANE: Final = "state"


def group_state_picture(scene: GroupScene) -> Picture | None:
    """Return the picture of a group's states; None where it only has offsets, or had no state in the window."""
    axis = scene.axis
    rows = [row for row in scene.groups if row.kind != "simple"]
    if axis is None or not rows:
        return None
    bars = shown_bars(_state_bars(rows, axis), axis, _MOST_BARS)
    panels, data = above(scene, axis)
    data["lanes"] = lane_set([_LANE], axis)
    data["states"] = [
        row | fitting(str(bar.value), bar, axis)
        for row, bar in zip(bar_set(bars, [_LANE]), bars, strict=True)
    ]
    panels.append(_states(axis))
    name = "generation" if rows[-1].epoch is None else "epoch"
    for field, has_axis in ((name, False), ("members", True)):
        data[field] = _steps(rows, field, axis)
        panels.append(_line(field, data[field], axis, has_axis=has_axis))
    title = f"State, {name} and members of group {elided(scene.rows.group)}"
    return Picture("group-state", title, _sentence(rows, name), stacked(panels, data, axis))


def _end(row: GroupHistoryRow, axis: TimeAxis) -> int:
    return axis.end if row.to_timestamp is None else axis.clip(row.to_timestamp)


def _state_bars(rows: Sequence[GroupHistoryRow], axis: TimeAxis) -> list[LaneBar]:
    return [LaneBar(_LANE, axis.clip(row.from_timestamp), _end(row, axis), row.state) for row in rows]


def _steps(rows: Sequence[GroupHistoryRow], field: str, axis: TimeAxis) -> list[JsonObject]:
    """Return a numeric field of a group over time as data for a step line, with a null where the group does not exist."""
    points: list[LinePoint] = []
    for row in rows:
        value = getattr(row, field)
        if value is not None:
            points.append(LinePoint(axis.clip(row.from_timestamp), value))
    points.sort(key=lambda point: point.at)
    if points:
        points.append(LinePoint(max(_end(rows[-1], axis), points[-1].at), points[-1].value))
    return [{"t": point.at, "v": point.value} for point in thinned(points, _MOST_POINTS)]


def _states(axis: TimeAxis) -> alt.LayerChart:
    scale = alt.Scale(domain=list(_STATES), range=list(_STATES.values()))
    bars = (
        in_lanes("states")
        .mark_bar(height=20, stroke="#808080", strokeOpacity=0.6, strokeWidth=0.5)
        .encode(
            x=axis.x(has_axis=False),
            x2="t2",
            y=lane_axis([_LANE]),
            color=alt.Color("v:N", scale=scale, legend=None),
            tooltip=[
                alt.Tooltip("v:N", title="state"),
                alt.Tooltip("at:N", title="since"),
                alt.Tooltip("n:Q", title="records here"),
            ],
        )
    )
    return layered(bars, bar_texts("states", axis, [_LANE], has_axis=False), height=24)


def _line(field: str, rows: Sequence[JsonObject], axis: TimeAxis, *, has_axis: bool) -> alt.LayerChart:
    tooltip = [alt.Tooltip("at:N", title="time"), alt.Tooltip("v:Q", title=field, format=",")]
    base = alt.Chart(alt.NamedData(field)).transform_calculate(at=AT)
    y = whole_numbers(field, (row["v"] for row in rows), has_zero=field == "members")
    line = base.mark_line(interpolate="step-after", color=BLUE, strokeWidth=1.5).encode(
        x=axis.x(has_axis=has_axis), y=y
    )
    points = base.mark_point(opacity=0, size=40).encode(x=axis.x(has_axis=has_axis), y=y, tooltip=tooltip)
    return layered(line, points, height=90)


def _sentence(rows: Sequence[GroupHistoryRow], name: str) -> str:
    numbers = [getattr(row, name) for row in rows if getattr(row, name) is not None]
    members = [row.members for row in rows]
    states = {
        state: sum(row.state == state for row in rows) for state in dict.fromkeys(row.state for row in rows)
    }
    texts = []
    if numbers:
        to = f" to {max(numbers):,}" if max(numbers) > min(numbers) else ""
        texts = [f"{name} {min(numbers):,}{to}"]
    least, most = min(members), max(members)
    texts.append(count(most, "member") if least == most else f"{least:,} to {count(most, 'member')}")
    texts.append(", ".join(f"{state} {count(number, 'time')}" for state, number in states.items()))
    if rows[-1].end_cause in ("deleted", "absent"):
        texts.append("deleted at the end")
    return sentence(texts)
