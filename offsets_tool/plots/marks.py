"""Findings and rebalances above a picture: a lane for each severity, one for rebalances, on the picture's own axis of time."""

from typing import Final

import altair as alt

from offsets_tool.findings.rows import Finding, Severity
from offsets_tool.plots.labels import shortened
from offsets_tool.plots.picture import AnyPanel, DataSets, layered
from offsets_tool.plots.sampling import merged
from offsets_tool.plots.scene import GroupScene, began_at
from offsets_tool.plots.themes import BLUE, ORANGE, PURPLE, VERMILLION
from offsets_tool.plots.time_axis import AT, TimeAxis
from offsets_tool.rebalances.rows import RebalanceRow
from offsets_tool.wire.json import JsonObject

MOST_MARKS: Final = 60
"""Marks of one lane; where there are more, those of one bin of time are one mark that says how many they are."""
REBALANCES: Final = "rebalances"
_LANES: Final = (*(severity.value for severity in Severity), REBALANCES)
_COLORS: Final = (VERMILLION, ORANGE, BLUE, PURPLE)
_SHAPES: Final = ("diamond", "triangle-up", "circle", "stroke")
_LANE_HEIGHT: Final = 15
_RANK: Final = {severity.value: rank for rank, severity in enumerate(reversed(Severity))}


def finding_marks(scene: GroupScene, axis: TimeAxis) -> list[JsonObject]:
    """Return the findings as data: lane `l`, time `t`, how many `n`, and what they say in `x`."""
    marks = []
    for lane in _LANES[:-1]:
        some = [pair for pair in scene.findings if pair[1].severity == lane]
        for (at, finding), number in merged(some, MOST_MARKS, lambda pair: pair[0], lambda pair: 0):
            marks.append({"l": lane, "t": axis.clip(at), "n": number, "x": _text(finding, number)})
    return marks


def _text(finding: Finding, number: int) -> str:
    more = f" - and {number - 1:,} more near it" if number > 1 else ""
    return shortened(finding.title) + more


def rebalance_marks(scene: GroupScene, axis: TimeAxis) -> list[JsonObject]:
    """Return the rebalances as data: from `t` to `t2`, how many `n`, and why in `x`."""
    found = merged(
        scene.rebalances, MOST_MARKS, lambda row: began_at(row) or 0, lambda row: row.duration_ms or 0
    )
    return [
        {
            "l": REBALANCES,
            "t": axis.clip(began_at(row) or 0),
            "t2": axis.clip(row.to_at or began_at(row) or 0),
            "n": number,
            "x": _why(row, number),
        }
        for row, number in found
    ]


def _why(row: RebalanceRow, number: int) -> str:
    step = f"generation {row.generation}" if row.epoch is None else f"epoch {row.epoch}"
    more = f" - and {number - 1:,} more near it" if number > 1 else ""
    return f"{step}: {row.cause.replace('_', ' ')}, {row.members} members{more}"


def above(scene: GroupScene, axis: TimeAxis) -> tuple[list[AnyPanel], DataSets]:
    """Return the panel of findings and rebalances that stands above others, and its data set; both empty without any."""
    marks = [*finding_marks(scene, axis), *rebalance_marks(scene, axis)]
    lanes = [lane for lane in _LANES if any(mark["l"] == lane for mark in marks)]
    return ([_strip(lanes, axis)], {"marks": marks}) if lanes else ([], {})


def _strip(lanes: list[str], axis: TimeAxis) -> alt.LayerChart:
    base = alt.Chart(alt.NamedData("marks")).transform_calculate(at=AT)
    common = {
        "x": axis.x(has_axis=False),
        "y": alt.Y("l:N", sort=lanes, title=None, axis=alt.Axis(ticks=False, domain=False)),
        "color": alt.Color("l:N", scale=alt.Scale(domain=list(_LANES), range=list(_COLORS)), legend=None),
        "tooltip": [
            alt.Tooltip("at:N", title="time"),
            alt.Tooltip("x:N", title="what"),
            alt.Tooltip("n:Q", title="marks here"),
        ],
    }
    shapes = alt.Shape("l:N", scale=alt.Scale(domain=list(_LANES), range=list(_SHAPES)), legend=None)
    is_rebalance = f"datum.l === '{REBALANCES}'"
    points = base.mark_point(filled=True, size=55, opacity=0.9).encode(**common, shape=shapes)
    layers: list[alt.Chart] = [points.transform_filter(f"!({is_rebalance})")]
    if REBALANCES in lanes:
        rebalances = base.transform_filter(is_rebalance)
        layers.append(rebalances.mark_bar(height=9, opacity=0.45).encode(**common, x2="t2"))
        layers.append(rebalances.mark_tick(thickness=2, height=11).encode(**common))
    return layered(*layers, height=_LANE_HEIGHT * len(lanes))
