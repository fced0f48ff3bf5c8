"""The picture of committed offsets over time: a panel for each partition, or of many, one for all and some for the oddest.

Between two commits far apart there is a silence, in which the offset held: it is no slope.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median_low
from typing import Final, NamedTuple

import altair as alt

from offsets_tool.findings.sentences import count
from offsets_tool.history.rows import OffsetEndCause, OffsetHistoryRow
from offsets_tool.plots.labels import elided
from offsets_tool.plots.marks import MOST_MARKS, above
from offsets_tool.plots.picture import DataSets, Picture, layered, sentence, stacked
from offsets_tool.plots.sampling import LinePoint, merged, silence_of, thinned
from offsets_tool.plots.scene import GroupScene
from offsets_tool.plots.themes import BLUE, ORANGE, VERMILLION
from offsets_tool.plots.time_axis import AT, TimeAxis
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.story.sentence import when
from offsets_tool.wire.json import JsonObject

LOSSES: Final = (
    OffsetEndCause.DELETED,
    OffsetEndCause.GROUP_DELETED,
    OffsetEndCause.ABSENT,
    OffsetEndCause.HIDDEN,
)
"""How an offset ends without a newer one."""


class TrackPoint(NamedTuple):
    """A committed offset, and from when on it held; the offset is None where it was removed."""

    at: int
    offset: int | None
    before: int | None = None
    """The offset that it went back from, or that was lost; None for a step ahead."""
    cause: str = ""
    is_carried: bool = False
    """Whether it was committed before the window."""

    @property
    def back(self) -> int:
        """How many offsets this commit went back; 0 if it did not."""
        return 0 if self.before is None or self.offset is None else self.before - self.offset


@dataclass(frozen=True)
class Track:
    """The committed offset of one partition over time."""

    partition: TopicPartition
    label: str
    points: tuple[TrackPoint, ...]
    end: int
    """Until when it is followed, epoch milliseconds."""

    @property
    def commits(self) -> list[TrackPoint]:
        """The commits in the window."""
        return [point for point in self.points if point.offset is not None and not point.is_carried]

    @property
    def backs(self) -> list[TrackPoint]:
        """The commits in the window that went back."""
        return [point for point in self.points if point.back]

    @property
    def removals(self) -> list[TrackPoint]:
        """The times in the window at which the offset was removed."""
        return [point for point in self.points if point.offset is None]

    @property
    def worst_back(self) -> int:
        """The largest step back, in offsets; 0 if there was none."""
        return max((point.back for point in self.points), default=0)

    def segments(self) -> Iterator[list[TrackPoint]]:
        """Yield the points in runs that silences and removals separate; a silence is much longer than the usual pause."""
        silence = self._silence()
        run: list[TrackPoint] = []
        for point in self.points:
            if run and (point.offset is None or point.at - run[-1].at > silence or run[-1].is_carried):
                yield run
                run = []
            if point.offset is not None:
                run.append(point)
        if run:
            yield run

    def holds(self) -> Iterator[tuple[int, int, int]]:
        """Yield begin, end and offset of each silence: a long time in which the offset held without a commit."""
        silence = self._silence()
        for point, after in pairwise((*self.points, TrackPoint(self.end, None))):
            if point.offset is not None and after.at > point.at:
                is_silent = point.is_carried or after.offset is None or after.at - point.at > silence
                if is_silent:
                    yield point.at, after.at, point.offset

    def _silence(self) -> float:
        whole = self.end - self.points[0].at if self.points else 0
        return silence_of([point.at for point in self.commits], whole)


def tracks_of(scene: GroupScene) -> list[Track]:
    """Return the tracks of the wanted partitions in the window, sorted by topic and partition."""
    by_partition: dict[TopicPartition, list[OffsetHistoryRow]] = {}
    for row in scene.offsets:
        by_partition.setdefault(TopicPartition(row.topic, row.partition), []).append(row)
    axis = scene.axis
    if axis is None:
        return []
    end = axis.end if scene.rows.newest_at is None else axis.clip(scene.rows.newest_at)
    return [
        Track(partition, scene.partition_label(*partition), tuple(_points(scene, rows)), end)
        for partition, rows in sorted(by_partition.items())
    ]


def _points(scene: GroupScene, rows: Sequence[OffsetHistoryRow]) -> Iterable[TrackPoint]:
    axis = scene.axis
    assert axis is not None
    for row in rows:
        is_carried = not scene.has(row.from_timestamp, row.from_timestamp)
        went_back = row.delta is not None and row.delta < 0 and not is_carried
        before = row.committed_offset - (row.delta or 0) if went_back else None
        yield TrackPoint(
            axis.clip(row.from_timestamp), row.committed_offset, before, row.begin_cause, is_carried
        )
        if (
            row.end_cause in LOSSES
            and row.to_timestamp is not None
            and scene.has(row.to_timestamp, row.to_timestamp)
        ):
            yield TrackPoint(axis.clip(row.to_timestamp), None, row.committed_offset, row.end_cause)


PANELS: Final = 6
"""Partitions that each have a panel of their own."""
APART: Final = 4
"""Partitions that have one beside all together, where they are more."""
_MOST_POINTS: Final = 160
_MOST_DOTS: Final = 80
"""Points of a panel up to which each has a dot."""
_BINS: Final = 100
_HEIGHTS: Final = {1: 220, 2: 130, 3: 100}
_LEAST_HEIGHT: Final = 76
_TIME: Final = alt.Tooltip("at:N", title="time")


def offset_picture(scene: GroupScene) -> Picture | None:
    """Return the picture of committed offsets; None where no partition has any in the window."""
    tracks, axis = tracks_of(scene), scene.axis
    if not tracks or axis is None:
        return None
    apart = tracks if len(tracks) <= PANELS else oddest(tracks)
    panels, data = above(scene, axis)
    if len(tracks) > len(apart):
        panels.append(_together(len(tracks), axis, has_axis=not apart))
        data["together"] = together_data(tracks, axis)
    for number, track in enumerate(apart):
        panels.append(_panel(track, number, len(apart), axis))
        data |= panel_data(track, number)
    return Picture(
        "committed-offsets",
        f"Committed offsets of group {elided(scene.rows.group)}",
        _sentence(tracks, apart),
        stacked(panels, data, axis),
    )


def oddest(tracks: Sequence[Track]) -> list[Track]:
    """Return the partitions that get panels of their own among many: those that lost their offset or went back, the worst first."""
    odd = [track for track in tracks if track.backs or track.removals]
    return sorted(odd, key=lambda track: (-track.worst_back, -len(track.removals), track.partition))[:APART]


def together_data(tracks: Sequence[Track], axis: TimeAxis) -> list[JsonObject]:
    """Return for each bin of time how far partitions had moved since their first offset: least, median and most."""
    steps = [_Steps(track) for track in tracks]
    rows: list[JsonObject] = []
    for begin, end in axis.bins(_BINS):
        moved = [at for step in steps if (at := step.moved(min(end, axis.end))) is not None]
        if moved:
            row = {
                "t": axis.clip(end),
                "lo": min(moved),
                "mid": median_low(moved),
                "hi": max(moved),
                "n": len(moved),
            }
            rows.append(
                {"t": axis.clip(begin)} | {name: row[name] for name in ("lo", "mid", "hi", "n")}
                if not rows
                else row
            )
    return rows


class _Steps:
    """A partition's offsets, to be asked for at ascending times."""

    def __init__(self, track: Track) -> None:
        self._times = [point.at for point in track.points]
        self._offsets = [point.offset for point in track.points]
        self._first = next(offset for offset in self._offsets if offset is not None)

    def moved(self, at: int) -> int | None:
        """Return how far the partition had moved from its first offset at a time; None while it had no offset."""
        number = bisect_right(self._times, at) - 1
        offset = self._offsets[number] if number >= 0 else None
        return None if offset is None else offset - self._first


def _together(number: int, axis: TimeAxis, *, has_axis: bool) -> alt.LayerChart:
    base = alt.Chart(alt.NamedData("together")).transform_calculate(at=AT)
    tooltip = [
        _TIME,
        alt.Tooltip("lo:Q", title="least", format=","),
        alt.Tooltip("mid:Q", title="middle", format=","),
        alt.Tooltip("hi:Q", title="most", format=","),
        alt.Tooltip("n:Q", title="partitions", format=","),
    ]
    y = alt.Y("lo:Q", title="offsets moved", axis=alt.Axis(format="~s", tickCount=4))
    area = base.mark_area(orient="vertical", opacity=0.3, color=BLUE, interpolate="step-after").encode(
        x=axis.x(has_axis=has_axis), y=y, y2="hi:Q", tooltip=tooltip
    )
    line = base.mark_line(color=BLUE, interpolate="step-after").encode(x=axis.x(has_axis=has_axis), y="mid:Q")
    title = f"all {number:,} partitions, since the first offset of each: least, middle and most"
    return layered(area, line, height=130, title=title)


def panel_data(track: Track, number: int) -> DataSets:
    """Return the data sets of one partition's panel: its line, offsets held in silences, steps back, and removals."""
    holds = list(track.holds())
    sets = {
        "line": list(_line(track)),
        "hold": [
            {"t": begin, "t2": end, "v": offset}
            for (begin, end, offset), _ in merged(
                holds, MOST_MARKS, lambda hold: hold[0], lambda hold: hold[1] - hold[0]
            )
        ],
        "back": [
            {"t": point.at, "v": point.offset, "b": point.before, "n": times}
            for point, times in merged(
                track.backs, MOST_MARKS, lambda point: point.at, lambda point: point.back
            )
        ],
        "lost": [
            {"t": point.at, "v": point.before, "x": point.cause, "n": times}
            for point, times in merged(track.removals, MOST_MARKS, lambda point: point.at, lambda point: 0)
        ],
    }
    return {f"{name}{number}": rows for name, rows in sets.items() if rows}


def _line(track: Track) -> Iterator[JsonObject]:
    segments = list(track.segments())
    points = sum(map(len, segments))
    for number, segment in enumerate(segments):
        of = [LinePoint(point.at, point.offset or 0, point.before is not None) for point in segment]
        for point in thinned(of, max(_MOST_POINTS * len(segment) // points, 4)):
            yield {"t": point.at, "v": point.value, "s": number}


def _panel(track: Track, number: int, panels: int, axis: TimeAxis) -> alt.LayerChart:
    data = panel_data(track, number)
    has_axis = number == panels - 1
    height = _HEIGHTS.get(panels, _LEAST_HEIGHT)
    y = alt.Y(
        "v:Q",
        title="offset" if height > _LEAST_HEIGHT else None,
        scale=alt.Scale(zero=False, padding=6),
        axis=alt.Axis(tickCount=4),
    )
    common = {"x": axis.x(has_axis=has_axis), "y": y}

    layers: list[alt.Chart] = []
    if f"hold{number}" in data:
        layers.append(
            _over("hold", number)
            .mark_rule(strokeDash=[2, 3], color=BLUE, opacity=0.8)
            .encode(**common, x2="t2")
        )
    if f"line{number}" in data:
        is_dotted = len(data[f"line{number}"]) <= _MOST_DOTS
        tooltip = [_TIME, alt.Tooltip("v:Q", title="committed offset", format=",")]
        layers += [
            _over("line", number)
            .mark_line(interpolate="step-after", color=BLUE, strokeWidth=1.5)
            .encode(**common, detail="s:N"),
            _over("line", number)
            .mark_point(filled=True, size=16, color=BLUE, opacity=1 if is_dotted else 0)
            .encode(**common, tooltip=tooltip),
        ]
    layers += _odd_layers(number, common, data)
    return layered(*layers, height=height, title=track.label)


def _odd_layers(number: int, common: JsonObject, data: Collection[str]) -> Iterator[alt.Chart]:
    """Yield the charts that mark steps back and removals in a panel."""
    if f"back{number}" in data:
        tooltip = [
            _TIME,
            alt.Tooltip("b:Q", title="went back from", format=","),
            alt.Tooltip("v:Q", title="to", format=","),
            alt.Tooltip("n:Q", title="steps back here"),
        ]
        yield _over("back", number).mark_rule(color=VERMILLION, strokeWidth=1.5).encode(**common, y2="b:Q")
        yield (
            _over("back", number)
            .mark_point(filled=True, shape="triangle-down", size=70, color=VERMILLION, opacity=1)
            .encode(**common, tooltip=tooltip)
        )
    if f"lost{number}" in data:
        tooltip = [
            _TIME,
            alt.Tooltip("v:Q", title="lost offset", format=","),
            alt.Tooltip("x:N", title="how"),
            alt.Tooltip("n:Q", title="losses here"),
        ]
        yield (
            _over("lost", number)
            .mark_point(shape="M-1,-1L1,1M-1,1L1,-1", size=60, strokeWidth=2, color=ORANGE, opacity=1)
            .encode(**common, tooltip=tooltip)
        )


def _over(name: str, number: int) -> alt.Chart:
    return alt.Chart(alt.NamedData(f"{name}{number}")).transform_calculate(at=AT)


def _sentence(tracks: Sequence[Track], apart: Sequence[Track]) -> str:
    commits = [(point.at, track) for track in tracks for point in track.commits]
    texts = [f"{count(len(tracks), 'partition')}, {_commits([at for at, _ in commits])}"]
    backs = [(point.back, point.at, track) for track in tracks for point in track.backs]
    if backs:
        far, at, track = max(backs, key=lambda back: back[0])
        which = len({track.partition for *_, track in backs})
        often = f", {len(backs):,} times in all, the farthest" if len(backs) > 1 else ":"
        texts.append(
            f"{_of(which, len(tracks))} went back{often} {track.label} by {count(far, 'offset')} at {when(at)}"
        )
    else:
        texts.append("none went back")
    removals = [(point.at, track) for track in tracks for point in track.removals]
    if removals:
        which = len({track.partition for _, track in removals})
        texts.append(
            f"{_of(which, len(tracks))} lost the offset, the first at {when(min(at for at, _ in removals))}"
        )
    if len(apart) < len(tracks):
        texts.append(
            f"{len(apart)} are shown apart; name a topic or a partition to see others"
            if apart
            else "name a topic or a partition to see it alone"
        )
    return sentence(texts)


def _commits(times: Sequence[int]) -> str:
    if not times:
        return "no commit in this time"
    first, last = when(min(times)), when(max(times))
    return f"{count(len(times), 'commit')} " + (f"at {first}" if first == last else f"from {first} to {last}")


def _of(some: int, total: int) -> str:
    return "it" if total == 1 else f"{some:,} of them" if some < total else "all of them"
