"""The picture of epochs (KIP-848 and its kin): of the group, of its target assignment, of its slowest member, and who is behind.

A member is behind while its epoch is below that of the target assignment.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import altair as alt

from offsets_tool.findings.sentences import count, was
from offsets_tool.history.rows import MemberHistoryRow
from offsets_tool.plots.bars import (
    LaneBar,
    bar_height,
    bar_set,
    in_lanes,
    lane_axis,
    lane_set,
    lanes_height,
    shown_bars,
)
from offsets_tool.plots.labels import elided
from offsets_tool.plots.marks import above
from offsets_tool.plots.picture import Picture, layered, sentence, stacked, whole_numbers
from offsets_tool.plots.sampling import LinePoint, thinned
from offsets_tool.plots.scene import GroupScene
from offsets_tool.plots.themes import BLUE, GREEN, ORANGE, VERMILLION
from offsets_tool.plots.time_axis import AT, TimeAxis
from offsets_tool.rebalances.members import GroupMembers
from offsets_tool.time_texts import duration_text
from offsets_tool.wire.json import JsonObject
from offsets_tool.wire.times import is_time

MOST_LATE: Final = 30
"""Members that have a lane: those that were behind the longest."""
_MOST_POINTS: Final = 200
_LINES: Final = {"group epoch": BLUE, "target assignment": ORANGE, "last of the members": GREEN}
_DASHES: Final = [[1, 0], [6, 3], [2, 2]]


def epoch_picture(scene: GroupScene) -> Picture | None:
    """Return the picture of a group's epochs; None where it has none in the window, as classic groups."""
    axis = scene.axis
    groups = [row for row in scene.groups if row.epoch is not None]
    if axis is None or not groups:
        return None
    late = list(_late(scene, axis))
    by_member: dict[str, int] = {}
    for bar in late:
        by_member[bar.lane] = by_member.get(bar.lane, 0) + bar.end - bar.begin
    lanes = sorted(by_member, key=lambda lane: (-by_member[lane], lane))[:MOST_LATE]
    panels, data = above(scene, axis)
    data["epochs"] = list(_epochs(scene, axis))
    panels.append(_lines(data["epochs"], axis, has_axis=not lanes))
    if lanes:
        chosen = set(lanes)
        bars = shown_bars((bar for bar in late if bar.lane in chosen), axis)
        data |= {"lanes": lane_set(lanes, axis), "late": bar_set(bars, lanes)}
        panels.append(_lanes(axis, lanes))
    return Picture(
        "epochs",
        f"Epochs of group {elided(scene.rows.group)}, and who was behind",
        _sentence(scene, by_member, len(lanes)),
        stacked(panels, data, axis),
    )


def _of_members(scene: GroupScene) -> Iterator[MemberHistoryRow]:
    for row in scene.rows.members:
        is_here = is_time(row.from_timestamp) and scene.has(row.from_timestamp, row.to_timestamp)
        if row.member_epoch is not None and is_here:
            yield row


def _late(scene: GroupScene, axis: TimeAxis) -> Iterator[LaneBar]:
    """Yield a bar for each time in which a member was behind the target assignment; its value says by how many epochs."""
    members = GroupMembers(scene.rows)
    targets = [row for row in scene.groups if row.assignment_epoch is not None]
    began = [row.from_log_offset for row in targets]
    for row in _of_members(scene):
        first = max(bisect_right(began, row.from_log_offset) - 1, 0)
        last = len(targets) if row.to_log_offset is None else bisect_left(began, row.to_log_offset)
        for target in targets[first:last]:
            behind = (target.assignment_epoch or 0) - max(row.member_epoch or 0, 0)
            begin = axis.clip(max(row.from_timestamp, target.from_timestamp))
            end = min(_end(row.to_timestamp, axis), _end(target.to_timestamp, axis))
            if behind > 0 and end > begin and (row.member_epoch or 0) >= 0:
                yield LaneBar(scene.labels.label(members.name(row.member_id)), begin, end, behind)


def _end(at: int | None, axis: TimeAxis) -> int:
    return axis.end if at is None else axis.clip(at)


def _epochs(scene: GroupScene, axis: TimeAxis) -> Iterator[JsonObject]:
    groups = [row for row in scene.groups if row.epoch is not None]
    end = _end(groups[-1].to_timestamp, axis)
    series = {
        "group epoch": [LinePoint(axis.clip(row.from_timestamp), row.epoch or 0) for row in groups],
        "target assignment": [
            LinePoint(axis.clip(row.from_timestamp), row.assignment_epoch)
            for row in groups
            if row.assignment_epoch is not None
        ],
        "last of the members": list(_last_of(_of_members(scene), axis)),
    }
    for name, points in series.items():
        ordered = sorted(points, key=lambda point: point.at)
        if ordered:
            for point in thinned(
                [*ordered, LinePoint(max(end, ordered[-1].at), ordered[-1].value)], _MOST_POINTS
            ):
                yield {"k": name, "t": point.at, "v": point.value}


def _last_of(rows: Iterable[MemberHistoryRow], axis: TimeAxis) -> Iterator[LinePoint]:
    """Yield a point each time that the lowest epoch among all members changes."""
    held: dict[str, int] = {}
    lowest: int | None = None
    changes: list[tuple[int, int, str, int | None]] = []
    for row in rows:
        changes.append((row.from_log_offset, row.from_timestamp, row.member_id, row.member_epoch))
        if row.to_log_offset is not None and row.to_timestamp is not None and row.end_cause != "changed":
            changes.append((row.to_log_offset, row.to_timestamp, row.member_id, None))
    for _, at, member, epoch in sorted(changes, key=lambda change: change[0]):
        if epoch is None or epoch < 0:
            held.pop(member, None)
        else:
            held[member] = epoch
        now = min(held.values(), default=None)
        if now is not None and now != lowest:
            yield LinePoint(axis.clip(at), now)
        lowest = now


def _lines(rows: Sequence[JsonObject], axis: TimeAxis, *, has_axis: bool) -> alt.LayerChart:
    names = list(_LINES)
    legend = alt.Legend(title=None, orient="top", symbolType="stroke", symbolSize=300)
    base = alt.Chart(alt.NamedData("epochs")).transform_calculate(at=AT)
    y = whole_numbers("epoch", (row["v"] for row in rows))
    common: JsonObject = {"x": axis.x(has_axis=has_axis), "y": y}
    lines = base.mark_line(interpolate="step-after", strokeWidth=1.8).encode(
        **common,
        color=alt.Color("k:N", scale=alt.Scale(domain=names, range=list(_LINES.values())), legend=legend),
        strokeDash=alt.StrokeDash("k:N", scale=alt.Scale(domain=names, range=_DASHES), legend=legend),
    )
    points = base.mark_point(opacity=0, size=40).encode(
        **common,
        tooltip=[
            alt.Tooltip("k:N", title="of"),
            alt.Tooltip("v:Q", title="epoch", format=","),
            alt.Tooltip("at:N", title="since"),
        ],
    )
    return layered(lines, points, height=170)


def _lanes(axis: TimeAxis, lanes: Sequence[str]) -> alt.LayerChart:
    bars = (
        in_lanes("late")
        .mark_bar(height=bar_height(len(lanes)), color=VERMILLION, opacity=0.85)
        .encode(
            x=axis.x(),
            x2="t2",
            y=lane_axis(lanes),
            tooltip=[
                alt.Tooltip("l:N", title="member"),
                alt.Tooltip("v:Q", title="epochs behind the target", format=","),
                alt.Tooltip("at:N", title="since"),
            ],
        )
    )
    return layered(bars, height=lanes_height(len(lanes)), title="behind the target assignment")


def _sentence(scene: GroupScene, by_member: dict[str, int], lanes: int) -> str:
    epochs = [row.epoch for row in scene.groups if row.epoch is not None]
    members = len({row.member_id for row in _of_members(scene)})
    texts = [
        f"group epoch {epochs[0]:,} to {max(epochs):,}"
        if max(epochs) > epochs[0]
        else f"group epoch {epochs[0]:,}"
    ]
    if by_member:
        worst, late = max(by_member, key=lambda member: by_member[member]), len(by_member)
        texts.append(
            f"{late:,} of {count(members, 'member')} {was(late)} behind the target at some time, "
            f"the longest {worst}: {duration_text(by_member[worst])}"
        )
    else:
        texts.append(f"none of {count(members, 'member')} was behind the target")
    if lanes < len(by_member):
        texts.append(f"the {lanes} that were behind the longest are shown")
    return sentence(texts)
