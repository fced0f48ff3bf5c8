"""How many partitions each member held over time: a lane for each member, those that held the most first."""

from collections.abc import Mapping, Sequence

import altair as alt

from offsets_tool.findings.sentences import count, was
from offsets_tool.plots.bars import (
    MOST_LANES,
    LaneBar,
    bar_height,
    bar_set,
    bar_texts,
    in_lanes,
    lane_axis,
    lane_set,
    lanes_height,
    natural,
    shown_bars,
)
from offsets_tool.plots.labels import elided
from offsets_tool.plots.marks import above
from offsets_tool.plots.picture import Picture, layered, ramp_legend, sentence, stacked
from offsets_tool.plots.scene import GroupScene
from offsets_tool.plots.time_axis import TimeAxis
from offsets_tool.rebalances.members import GroupMembers
from offsets_tool.wire.json import JsonObject
from offsets_tool.wire.times import is_time


def member_load_picture(scene: GroupScene) -> Picture | None:
    """Return the picture of how many partitions members held; None where the group had no members in the window."""
    axis = scene.axis
    held = {} if axis is None else _partition_counts(scene, axis)
    if axis is None or not held:
        return None
    lanes = _lanes(held)
    weights = sorted(
        lanes, key=lambda lane: -sum(int(bar.value) * (bar.end - bar.begin) for bar in lanes[lane])
    )
    shown = sorted(weights[:MOST_LANES], key=lambda lane: (lanes[lane][0].begin, natural(lane)))
    bars = shown_bars((bar._replace(lane=lane) for lane in shown for bar in lanes[lane]), axis)
    panels, data = above(scene, axis)
    data["lanes"] = lane_set(shown, axis)
    data["held"] = [
        row | ({"w": f"{bar.value}"} if axis.points(bar.begin, bar.end) >= 8 * len(f"{bar.value}") else {})
        for row, bar in zip(bar_set(bars, shown), bars, strict=True)
    ]
    panels.append(_chart(axis, shown, max(int(bar.value) for some in held.values() for bar in some)))
    return Picture(
        "member-partitions",
        f"Partitions that members of group {elided(scene.rows.group)} held",
        _sentence(held, len(lanes) - len(shown)),
        stacked(panels, data, axis),
    )


def _partition_counts(scene: GroupScene, axis: TimeAxis) -> dict[str, list[LaneBar]]:
    """Return by member label its bars, whose values are how many partitions the member held."""
    members = GroupMembers(scene.rows)
    found: dict[str, list[LaneBar]] = {}
    for row in scene.rows.members:
        if is_time(row.from_timestamp) and scene.has(row.from_timestamp, row.to_timestamp):
            name = scene.labels.label(members.name(row.member_id))
            end = axis.end if row.to_timestamp is None else axis.clip(row.to_timestamp)
            held = len(set(row.held))
            found.setdefault(name, []).append(LaneBar(name, axis.clip(row.from_timestamp), end, held))
    return found


def _lanes(held: Mapping[str, Sequence[LaneBar]]) -> dict[str, Sequence[LaneBar]]:
    """Return by label the bars of each lane: one lane for each member, or where they are many for members with equal bars."""
    if len(held) <= MOST_LANES:
        return dict(held)
    alike: dict[tuple[tuple[int, int, str | int], ...], list[str]] = {}
    for name, bars in held.items():
        alike.setdefault(tuple((bar.begin, bar.end, bar.value) for bar in bars), []).append(name)
    return {
        names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more": held[names[0]]
        for names in (sorted(some, key=natural) for some in alike.values())
    }


def _chart(axis: TimeAxis, lanes: Sequence[str], most: int) -> alt.LayerChart:
    scale = alt.Scale(domain=[0, max(most, 1)])
    common: JsonObject = {"x": axis.x(), "y": lane_axis(lanes)}
    bars = (
        in_lanes("held")
        .mark_bar(height=bar_height(len(lanes)))
        .encode(
            **common,
            x2="t2",
            color=alt.Color(
                "v:Q",
                scale=scale,
                legend=ramp_legend("partitions", most),
            ),
            tooltip=[
                alt.Tooltip("l:N", title="member"),
                alt.Tooltip("v:Q", title="partitions held", format=","),
                alt.Tooltip("at:N", title="since"),
                alt.Tooltip("n:Q", title="records here"),
            ],
        )
    )
    return layered(bars, bar_texts("held", axis, lanes, is_on_color=False), height=lanes_height(len(lanes)))


def _sentence(held: Mapping[str, Sequence[LaneBar]], left: int) -> str:
    most = max((bar for bars in held.values() for bar in bars), key=lambda bar: int(bar.value))
    idle = sum(not any(bar.value for bar in bars) for bars in held.values())
    texts = [
        f"{count(len(held), 'member')}; at most {count(int(most.value), 'partition')} at once, held by {most.lane}"
    ]
    if idle:
        texts.append(f"{idle:,} of them never held any")
    if left:
        texts.append(f"{count(left, 'lane')} of members that held less {was(left)} left out")
    return sentence(texts)
