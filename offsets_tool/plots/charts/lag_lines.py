"""How far behind a group was over time: a line for each of a few partitions; of many, those that were behind the most and the rest.

Lag is known only where an end offset is: what the rows do not know is left blank, never drawn as zero.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

import altair as alt

from offsets_tool.findings.sentences import count
from offsets_tool.lag.rows import LagRow
from offsets_tool.plots.labels import elided
from offsets_tool.plots.marks import above
from offsets_tool.plots.picture import Picture, layered, sentence, stacked
from offsets_tool.plots.sampling import LinePoint, silence_of, thinned
from offsets_tool.plots.scene import GroupScene
from offsets_tool.plots.themes import DASHES, GREY, PALETTE
from offsets_tool.plots.time_axis import AT, TimeAxis
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.story.sentence import when
from offsets_tool.wire.json import JsonObject

LINES: Final = 6
"""Partitions that each have a line."""
SHARES: Final = 5
"""Of more, those that each have a part of the area, beside the rest."""
_MOST_POINTS: Final = 200
_MOST_DOTS: Final = 60
_BINS: Final = 80
_ByPlace = Mapping[TopicPartition, Sequence[LagRow]]


def lag_picture(scene: GroupScene) -> Picture | None:
    """Return the picture of a group's lag; None where none is known in the window."""
    axis = scene.axis
    by_partition: dict[TopicPartition, list[LagRow]] = {}
    for row in sorted(scene.lag, key=lambda row: row.timestamp):
        if row.lag is not None:
            by_partition.setdefault(TopicPartition(row.topic, row.partition), []).append(row)
    if axis is None or not by_partition:
        return None
    labels = {partition: scene.partition_label(*partition) for partition in by_partition}
    panels, data = above(scene, axis)
    if len(by_partition) <= LINES:
        ordered = sorted(by_partition)
        data["lag"] = [
            row for partition in ordered for row in _line(by_partition[partition], labels[partition], axis)
        ]
        panels.append(
            _lines(
                [labels[partition] for partition in ordered], axis, is_dotted=len(data["lag"]) <= _MOST_DOTS
            )
        )
    else:
        worst = sorted(by_partition, key=lambda partition: (-_peak(by_partition[partition])[0], partition))[
            :SHARES
        ]
        rest = f"{len(by_partition) - SHARES:,} others"
        data["lag"] = shares(by_partition, {partition: labels[partition] for partition in worst}, rest, axis)
        panels.append(_areas([*(labels[partition] for partition in worst), rest], axis))
    title = f"Lag of group {elided(scene.rows.group)}"
    return Picture("lag", title, _sentence(scene, by_partition, labels), stacked(panels, data, axis))


def _peak(rows: Sequence[LagRow]) -> tuple[int, int]:
    """Return the highest lag of these rows, and a number that sorts the earliest such time first."""
    highest = max(rows, key=lambda row: row.lag or 0)
    return highest.lag or 0, highest.timestamp


def _line(rows: Sequence[LagRow], label: str, axis: TimeAxis) -> Iterator[JsonObject]:
    """Yield the points of a partition's line; `s` numbers its pieces, which are apart where a gap is longer than usual."""
    silence = silence_of([row.timestamp for row in rows], axis.length)
    points = thinned([LinePoint(axis.clip(row.timestamp), row.lag or 0) for row in rows], _MOST_POINTS)
    piece = 0
    for before, point in pairwise([points[0], *points]):
        piece += point.at - before.at > silence
        yield {"l": label, "t": point.at, "v": point.value, "s": piece}


def shares(
    by_partition: _ByPlace, worst: Mapping[TopicPartition, str], rest: str, axis: TimeAxis
) -> list[JsonObject]:
    """Return for each bin of time the highest lag of each of the worst partitions, and the sum over all others."""
    bins = axis.bins(_BINS)
    sums: dict[str, list[int]] = {label: [0] * len(bins) for label in (*worst.values(), rest)}
    for partition, rows in by_partition.items():
        label, at, last = worst.get(partition, rest), 0, 0
        for number, (_, end) in enumerate(bins):
            highest = None
            while at < len(rows) and rows[at].timestamp < end:
                last = rows[at].lag or 0
                highest = max(highest or 0, last)
                at += 1
            sums[label][number] += last if highest is None else highest
    return [
        {"l": label, "r": rank, "t": axis.clip(bins[number][0]), "v": value}
        for rank, (label, values) in enumerate(sums.items())
        for number, value in enumerate(values)
    ]


def _lines(labels: Sequence[str], axis: TimeAxis, *, is_dotted: bool) -> alt.LayerChart:
    base = alt.Chart(alt.NamedData("lag")).transform_calculate(at=AT)
    legend = alt.Legend(title=None, orient="top", symbolType="stroke", symbolSize=300)
    color = alt.Color(
        "l:N", scale=alt.Scale(domain=list(labels), range=list(PALETTE[: len(labels)])), legend=legend
    )
    dash = alt.StrokeDash(
        "l:N",
        scale=alt.Scale(domain=list(labels), range=[list(each) for each in DASHES[: len(labels)]]),
        legend=legend,
    )
    y = alt.Y(
        "v:Q", title="lag, offsets", scale=alt.Scale(zero=True), axis=alt.Axis(format="~s", tickMinStep=1)
    )
    lines = base.mark_line(interpolate="step-after", strokeWidth=1.6).encode(
        x=axis.x(), y=y, color=color, strokeDash=dash, detail="s:N"
    )
    points = base.mark_point(filled=True, opacity=1 if is_dotted else 0, size=22).encode(
        x=axis.x(), y=y, color=color, tooltip=_tooltip()
    )
    return layered(lines, points, height=200)


def _areas(labels: Sequence[str], axis: TimeAxis) -> alt.LayerChart:
    colors = [*PALETTE[: len(labels) - 1], GREY]
    areas = (
        alt.Chart(alt.NamedData("lag"))
        .transform_calculate(at=AT)
        .mark_area(
            orient="vertical", interpolate="step-after", opacity=0.85, stroke="#808080", strokeWidth=0.5
        )
        .encode(
            x=axis.x(),
            y=alt.Y("v:Q", title="lag, offsets", stack="zero", axis=alt.Axis(format="~s", tickMinStep=1)),
            order="r:Q",
            color=alt.Color(
                "l:N",
                sort=list(labels),
                scale=alt.Scale(domain=list(labels), range=colors),
                legend=alt.Legend(title=None, orient="top", columns=3, symbolType="square"),
            ),
            tooltip=_tooltip(),
        )
    )
    return layered(areas, height=200, title="the highest of each partition in each bin of time, summed")


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("l:N", title="partition"),
        alt.Tooltip("at:N", title="time"),
        alt.Tooltip("v:Q", title="lag, offsets", format=","),
    ]


def _sentence(scene: GroupScene, by_partition: _ByPlace, labels: Mapping[TopicPartition, str]) -> str:
    peaks = {partition: _peak(rows) for partition, rows in by_partition.items()}
    worst = max(peaks, key=lambda partition: peaks[partition][0])
    highest, at = peaks[worst]
    texts = [
        f"{count(len(by_partition), 'partition')}; lag at most {count(highest, 'offset')}, of {labels[worst]} at {when(at)}"
    ]
    last = sum(rows[-1].lag or 0 for rows in by_partition.values())
    texts.append(f"{count(last, 'offset')} in all where each is last known")
    unknown = sum(row.lag is None for row in scene.lag)
    if unknown:
        texts.append(f"unknown, and not drawn, at {unknown:,} of {count(len(scene.lag), 'moment')}")
    return sentence(texts)
