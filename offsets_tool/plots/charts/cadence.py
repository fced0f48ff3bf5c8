"""A heat map of commits over time, with a lane for each group or partition, and one for all of them above.

Bins of time have one length. A bin without commits is drawn as zero, not as a gap.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

import altair as alt

from offsets_tool.findings.sentences import count
from offsets_tool.plots.bars import (
    MOST_LANES,
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
from offsets_tool.plots.picture import (
    AnyPanel,
    DataSets,
    Picture,
    layered,
    ramp_legend,
    sentence,
    stacked,
    whole_numbers,
)
from offsets_tool.plots.scene import GroupScene
from offsets_tool.plots.themes import BLUE
from offsets_tool.plots.time_axis import AT, TimeAxis, axis_of, step_of
from offsets_tool.story.sentence import when
from offsets_tool.time_texts import duration_text
from offsets_tool.wire.json import JsonObject
from offsets_tool.wire.times import is_time

_BINS: Final = 60


def group_cadence_picture(scene: GroupScene) -> Picture | None:
    """Return the picture of when a group's partitions were committed; None without a commit in the window."""
    times: dict[str, list[int]] = {}
    for row in sorted(scene.rows.offsets.commits, key=lambda row: (row.topic, row.partition)):
        at = row.from_timestamp
        if is_time(at) and scene.has(at, at) and scene.wanted.has_offset(row.topic, row.partition):
            times.setdefault(scene.partition_label(row.topic, row.partition), []).append(at)
    if scene.axis is None or not times:
        return None
    axis = scene.axis
    panels, data = above(scene, axis)
    more, heat = heat_map(times, axis, "partition")
    title = f"When partitions of group {elided(scene.rows.group)} were committed"
    chart = stacked([*panels, *more], data | heat, axis)
    return Picture("commit-cadence", title, cadence_sentence(times, axis, "partition"), chart)


def heat_map(
    times: Mapping[str, Sequence[int]], axis: TimeAxis, thing: str
) -> tuple[list[AnyPanel], DataSets]:
    """Return the panels of a heat map and their data: one panel for all times, below it the lanes with the most times."""
    bins = axis.bins(_BINS)
    begins = [begin for begin, _ in bins]
    busiest = set(sorted(times, key=lambda lane: -len(times[lane]))[:MOST_LANES])
    lanes = [lane for lane in times if lane in busiest]
    total = _counts((at for some in times.values() for at in some), begins)
    cells = (
        LaneBar(lane, axis.clip(bins[number][0]), axis.clip(bins[number][1]), some)
        for lane in lanes
        for number, some in sorted(_counts(times[lane], begins).items())
    )
    data: DataSets = {
        "total": [
            {"t": axis.clip(begin), "t2": axis.clip(end), "v": total[number]}
            for number, (begin, end) in enumerate(bins)
        ],
        "cells": bar_set(shown_bars(cells, axis, len(bins) * len(lanes)), lanes),
        "lanes": lane_set(lanes, axis),
    }
    most = max(row["v"] for row in data["cells"])
    return [_total(axis, max(total.values())), _cells(lanes, thing, axis, most)], data


def _counts(times: Iterable[int], begins: Sequence[int]) -> Counter[int]:
    return Counter(max(bisect_right(begins, at) - 1, 0) for at in times)


def _total(axis: TimeAxis, most: int) -> alt.LayerChart:
    bars = (
        alt.Chart(alt.NamedData("total"))
        .transform_calculate(at=AT)
        .mark_bar(color=BLUE, binSpacing=0)
        .encode(
            x=axis.x(has_axis=False),
            x2="t2",
            y=whole_numbers("commits", [0, most], has_zero=True),
            y2=alt.datum(0),
            tooltip=[alt.Tooltip("at:N", title="from"), alt.Tooltip("v:Q", title="commits", format=",")],
        )
    )
    return layered(bars, height=70, title=f"commits every {duration_text(step_of(axis.length, _BINS))}")


def _cells(lanes: Sequence[str], thing: str, axis: TimeAxis, most: int) -> alt.LayerChart:
    common: JsonObject = {"x": axis.x(), "x2": "t2:T", "y": lane_axis(lanes)}
    legend = ramp_legend("commits", most)
    height = bar_height(len(lanes))
    ground = alt.Chart(alt.NamedData("lanes")).mark_bar(height=height, style="ground").encode(**common)
    cells = (
        in_lanes("cells")
        .mark_rect(height=height)
        .encode(
            **common,
            color=alt.Color(
                "v:Q",
                scale=alt.Scale(domain=[0, most]),
                legend=legend,
            ),
            tooltip=[
                alt.Tooltip("l:N", title=thing),
                alt.Tooltip("at:N", title="from"),
                alt.Tooltip("v:Q", title="commits in each bin", format=","),
            ],
        )
    )
    return layered(ground, cells, height=lanes_height(len(lanes)))


def cadence_sentence(times: Mapping[str, Sequence[int]], axis: TimeAxis, thing: str) -> str:
    """Return the sentence below a heat map: how many commits, the busiest bin, the longest silence."""
    every = sorted(at for some in times.values() for at in some)
    bins = axis.bins(_BINS)
    counts = _counts(every, [begin for begin, _ in bins])
    number, most = max(counts.items(), key=lambda pair: (pair[1], -pair[0]))
    step = duration_text(step_of(axis.length, _BINS))
    texts = [
        f"{count(len(every), 'commit')} of {count(len(times), thing)}, the last at {when(every[-1])}",
        f"the most in {step} were {most:,}, from {when(bins[number][0])}",
    ]
    silence = max(((after - before, before) for before, after in pairwise(every)), default=(0, 0))
    if silence[0]:
        texts.append(f"the longest time between two was {duration_text(silence[0])}, from {when(silence[1])}")
    if len(times) > MOST_LANES:
        texts.append(f"the {MOST_LANES} with the most are shown apart")
    return sentence(texts)


def topic_cadence_picture(times: Mapping[str, Sequence[int]]) -> Picture | None:
    """Return the picture of when groups committed; `times` has the times of commits by the group's label. None without any."""
    axis = axis_of(at for some in times.values() for at in some)
    if axis is None:
        return None
    panels, data = heat_map(times, axis, "group")
    return Picture(
        "groups-cadence",
        "When groups committed",
        cadence_sentence(times, axis, "group"),
        stacked(panels, data, axis),
    )
