"""Who owned which partition over time: a picture with a lane for each partition, and one with a lane for each member.

Partitions that always had the same owners are one lane, as assignors give ranges.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import altair as alt

from offsets_tool.findings.sentences import count
from offsets_tool.history.assignments import AssignmentRow, assignment_rows
from offsets_tool.plots.bars import (
    MOST_LANES,
    LaneBar,
    bar_height,
    bar_set,
    bar_texts,
    fitting,
    in_lanes,
    lane_axis,
    lane_set,
    lanes_height,
    natural,
    shown_bars,
)
from offsets_tool.plots.labels import elided
from offsets_tool.plots.marks import above
from offsets_tool.plots.picture import DataSets, Picture, layered, sentence, stacked
from offsets_tool.plots.scene import GroupScene
from offsets_tool.plots.themes import PALETTE
from offsets_tool.plots.time_axis import TimeAxis
from offsets_tool.rebalances.members import GroupMembers
from offsets_tool.wire.times import is_time

_FEW: Final = 16
"""Partitions that each have a lane, whoever owns others."""
_Owned = tuple[tuple[int, int, str], ...]
"""From when to when a partition was whose, in the order of time."""


def partition_owners_picture(scene: GroupScene) -> Picture | None:
    """Return the picture of partitions' owners; None where nobody owned any in the window."""
    axis, owned = scene.axis, _owned(scene)
    if axis is None or not owned:
        return None
    lanes = _lanes(owned, scene)
    names = sorted(lanes, key=lambda name: -len(lanes[name][1]))[:MOST_LANES]
    shown = [name for name in lanes if name in set(names)]
    bars = shown_bars(
        (LaneBar(name, begin, end, owner) for name in shown for begin, end, owner in lanes[name][1]), axis
    )
    owners = sorted({owner for one in owned.values() for *_, owner in one}, key=natural)
    panels, data = above(scene, axis)
    data |= {"lanes": lane_set(shown, axis), **_owner_sets(bars, shown, owners, axis)}
    panels.append(_chart(axis, shown))
    partitions = sum(len(places) for places, _ in lanes.values())
    left = partitions - sum(len(lanes[name][0]) for name in shown)
    return Picture(
        "partition-owners",
        f"Owners of the partitions of group {elided(scene.rows.group)}",
        _owners_sentence(owned, owners, left),
        stacked(panels, data, axis),
    )


def _owned(scene: GroupScene) -> dict[tuple[str, int], _Owned]:
    """Return by topic (or subtopology) and partition its owners in the window."""
    axis = scene.axis
    if axis is None:
        return {}
    members = GroupMembers(scene.rows)
    found: dict[tuple[str, int], list[tuple[int, int, str]]] = {}
    for row in assignment_rows(scene.rows.members):
        if (
            is_time(row.from_timestamp)
            and scene.has(row.from_timestamp, row.to_timestamp)
            and _is_wanted(scene, row)
        ):
            end = axis.end if row.to_timestamp is None else axis.clip(row.to_timestamp)
            owner = scene.labels.label(members.name(row.member_id))
            partition = (row.topic or f"subtopology {row.subtopology}", row.partition)
            found.setdefault(partition, []).append((axis.clip(row.from_timestamp), end, owner))
    return {partition: tuple(sorted(found[partition])) for partition in sorted(found)}


def _is_wanted(scene: GroupScene, row: AssignmentRow) -> bool:
    if row.topic is not None:
        return scene.wanted.has_offset(row.topic, row.partition)
    return not scene.wanted.topics and scene.wanted.partition in (None, row.partition)


def _lanes(
    owned: dict[tuple[str, int], _Owned], scene: GroupScene
) -> dict[str, tuple[list[tuple[str, int]], _Owned]]:
    """Return by label the partitions of a lane, and their owners: each partition alone if they are few."""
    by_owners: dict[tuple[str, object], list[tuple[str, int]]] = {}
    is_few = len(owned) <= _FEW
    for partition, owners in owned.items():
        by_owners.setdefault((partition[0], partition if is_few else owners), []).append(partition)
    return {_lane_label(places, scene): (places, owned[places[0]]) for places in by_owners.values()}


def _lane_label(places: Sequence[tuple[str, int]], scene: GroupScene) -> str:
    topic, numbers = scene.labels.label(places[0][0]), [partition for _, partition in places]
    first, last = numbers[0], numbers[-1]
    if first == last:
        return f"{topic}-{first}"
    if last - first == len(numbers) - 1:
        return f"{topic}-{first} to {last}"
    return f"{topic}-{first} and {len(numbers) - 1} more"


def _owner_sets(
    bars: Sequence[LaneBar], lanes: Sequence[str], owners: Sequence[str], axis: TimeAxis
) -> DataSets:
    """Return two data sets: bars, in which a number stands for the owner, and the names of owners by number."""
    numbers = {owner: number for number, owner in enumerate(owners)}
    rows = [
        row | {"v": numbers[str(bar.value)]} | fitting(str(bar.value), bar, axis)
        for row, bar in zip(bar_set(bars, lanes), bars, strict=True)
    ]
    shown = {row["v"] for row in rows}
    return {"owners": rows, "names": [{"v": number, "o": owners[number]} for number in sorted(shown)]}


def _chart(axis: TimeAxis, lanes: Sequence[str]) -> alt.LayerChart:
    names = alt.LookupData(alt.NamedData("names"), key="v", fields=["o"])
    colors = alt.Scale(domain=list(range(len(PALETTE))), range=list(PALETTE))
    bars = (
        in_lanes("owners")
        .transform_lookup(lookup="v", from_=names)
        .transform_calculate(c=f"datum.v % {len(PALETTE)}")
        .mark_bar(height=bar_height(len(lanes)), stroke="#808080", strokeOpacity=0.6, strokeWidth=0.5)
        .encode(
            x=axis.x(),
            x2="t2",
            y=lane_axis(lanes),
            color=alt.Color("c:N", scale=colors, legend=None),
            tooltip=[
                alt.Tooltip("l:N", title="partition"),
                alt.Tooltip("o:N", title="owner"),
                alt.Tooltip("at:N", title="since"),
                alt.Tooltip("n:Q", title="owners here"),
            ],
        )
    )
    return layered(bars, bar_texts("owners", axis, lanes), height=lanes_height(len(lanes)))


def _owners_sentence(owned: dict[tuple[str, int], _Owned], owners: Sequence[str], left: int) -> str:
    moved = [sum(before[2] != after[2] for before, after in pairwise(one)) for one in owned.values()]
    texts = [f"{count(len(owned), 'partition')} had {count(len(owners), 'owner')}"]
    if any(moved):
        texts.append(
            f"{sum(each > 0 for each in moved):,} of them changed hands, {sum(moved):,} times in all"
        )
    else:
        texts.append("none changed hands")
    if left:
        texts.append(
            f"{left:,} of those that changed hands the least are left out: name a topic or a partition to see them"
        )
    return sentence(texts)
